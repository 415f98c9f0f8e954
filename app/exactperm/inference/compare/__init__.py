"""Leaderboards: the tests of many pairs of systems, adjustments, and conclusions."""
