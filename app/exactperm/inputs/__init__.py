"""Read bytes into values: JSON and delimited text, columns of numbers and labels, pairing by id."""
