"""Statistics of pairs of items (AUC, rank correlations): linear in the swaps, so that each is one sum of effects."""
