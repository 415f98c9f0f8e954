"""How far a statistic of several sums is from its linear part: proven bounds."""
