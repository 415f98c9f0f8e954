"""Statistics: reduce named statistics of paired data to effects on an integer lattice."""
