"""Leaderboards: the tests of many pairs of systems, adjusted, and what follows from them."""
