"""Null distributions of one integer sum."""
