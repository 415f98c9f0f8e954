"""Power: the probability that a test detects a true difference."""
