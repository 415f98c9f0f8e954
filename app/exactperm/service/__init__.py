"""A request from bytes to a rendered response, as a worker runs it. Knows no web framework."""
