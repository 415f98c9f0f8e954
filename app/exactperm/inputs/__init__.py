"""Bytes to values: readers of JSON and delimited text, columns of numbers and labels, pairing by id."""
