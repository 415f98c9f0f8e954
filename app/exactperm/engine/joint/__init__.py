"""Null distributions of several sums at once."""
