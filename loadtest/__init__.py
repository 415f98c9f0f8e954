"""Measurements of exactperm beside the published algorithms; nothing in `exactperm` imports this package."""
