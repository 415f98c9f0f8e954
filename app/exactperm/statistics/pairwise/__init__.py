"""Statistics of pairs of items (AUC, correlations of ranks): linear in the swaps, so that one sum of effects is all of them."""
