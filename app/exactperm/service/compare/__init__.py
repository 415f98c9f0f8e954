"""Comparisons of many systems: from bytes to a validated `Comparison`."""
