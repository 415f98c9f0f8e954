"""Sums of independent finite laws: the contributions of each item, with numbers of ways (section 18 of the README)."""
