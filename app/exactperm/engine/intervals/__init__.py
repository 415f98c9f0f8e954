"""Confidence intervals by inverting exact tests."""
