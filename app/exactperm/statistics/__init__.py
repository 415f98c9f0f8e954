"""What is tested: named statistics become additive effects on an integer lattice."""
