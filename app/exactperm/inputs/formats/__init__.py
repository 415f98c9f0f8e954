"""Readers of the evaluation files people already hold: one module a format, `catalogue.read` for all of them."""
