"""The exact bootstrap of a mean."""
