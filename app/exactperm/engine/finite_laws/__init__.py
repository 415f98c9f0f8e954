"""Sums of independent finite laws: what an item may contribute, with the number of ways to each value (section 18)."""
