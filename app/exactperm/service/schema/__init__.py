"""Request models."""
