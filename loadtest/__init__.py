"""Measurements of exactperm beside the published algorithms; nothing in `app` imports this package."""
