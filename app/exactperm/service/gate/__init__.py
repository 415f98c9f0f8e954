"""Gate requests: parse, roles, run."""
