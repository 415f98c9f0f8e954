"""Holm's step-down adjustment: several tests at once, the chance of any false finding at most alpha."""

from __future__ import annotations

import math
from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given (Holm 1979, *Scandinavian Journal of Statistics* 6:65-70).

    The k-th smallest of m is multiplied by m - k + 1, is at least the one before it, and at most 1. Monotone in
    every p-value, so that bounds may be adjusted like the values they bound.
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    for factor, index in _steps(p_values):
        largest = max(largest, min(factor * p_values[index], 1.0))
        adjusted[index] = largest
    return adjusted


def holm_log10(log10_p_values: Sequence[float]) -> list[float]:
    """The same in logarithms, for p-values too small for a double."""
    adjusted, largest = [0.0] * len(log10_p_values), -math.inf
    for factor, index in _steps(log10_p_values):
        largest = max(largest, min(math.log10(factor) + log10_p_values[index], 0.0))
        adjusted[index] = largest
    return adjusted


def _steps(values: Sequence[float]) -> list[tuple[int, int]]:
    """(factor, index), the smallest value first."""
    order = sorted(range(len(values)), key=values.__getitem__)
    return [(len(values) - rank, index) for rank, index in enumerate(order)]
