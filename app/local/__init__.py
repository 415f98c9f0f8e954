"""Tests and gates in this process, with no server: `from exactperm import test, gate`."""
