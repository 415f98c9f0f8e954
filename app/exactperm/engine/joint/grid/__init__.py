"""Several sums by dynamic programming and Fourier transforms on a grid."""
