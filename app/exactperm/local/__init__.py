"""Tests, gates and comparisons in this process, with no server: `from exactperm import test, gate, compare`."""
