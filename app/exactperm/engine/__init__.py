"""Pure numerics: exact null distributions of sums of independent two-valued effects."""
