"""The largest of several standardised sums with common signs: laws, bounds and samples of it."""
