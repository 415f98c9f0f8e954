"""Connections: limits, strict HTTP/1.1 parsing, the uvicorn protocol."""
