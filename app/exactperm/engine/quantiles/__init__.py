"""Differences of medians and quantiles: order statistics of two samples whose units swap."""
