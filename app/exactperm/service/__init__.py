"""A request from bytes to a rendered response, without a web framework."""
