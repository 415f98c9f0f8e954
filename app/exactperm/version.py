"""The version of exactperm; pyproject.toml and the Dockerfile have the same."""

__version__ = "0.1.0"
