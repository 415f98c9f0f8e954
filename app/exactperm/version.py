"""The version of exactperm; keep pyproject.toml and the Dockerfile in step."""

__version__ = "0.1.0"
