"""Comparisons of many systems to a line, Markdown, CSV and HTML."""
