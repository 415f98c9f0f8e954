"""Several web processes on one address, under a parent that starts, watches and replaces them."""
