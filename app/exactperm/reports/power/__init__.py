"""Answers about power, as text, tables and a page."""
