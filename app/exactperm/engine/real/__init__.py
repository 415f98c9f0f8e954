"""Rigorous brackets for real-valued effects."""
