"""exactperm: exact paired-permutation tests over HTTP."""

__version__ = "0.1.0"
