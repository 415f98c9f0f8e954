"""Scores as the decimals that they print as, whatever their digits, on one lattice.

Sums read a score of more than 15 digits as the double it is, as its last digits are of arithmetic. Comparisons have no
such digits of their own, and an epsilon of 0.1 means the decimal: 0.3 and 0.2 are 0.1 apart, also beside a 1/3.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...engine.decimals import printed
from ...engine.lattice import EXACT_DOUBLE, Whole, decimal_lattice
from ..numbers import MAX_INTEGER
from ..paired import Column


def as_printed(*columns: Column) -> tuple[Fraction, tuple[Whole, ...]]:
    """(unit, the columns in units), shape (n,) each: int64 up to 2**59 in size, or Python integers."""
    if all(column.dtype == np.int64 for column in columns):
        if all(_largest(column) <= MAX_INTEGER for column in columns):
            return Fraction(1), tuple(column.astype(np.int64) for column in columns)
    elif all(column.dtype == np.float64 or _largest(column) < EXACT_DOUBLE for column in columns):
        plain = decimal_lattice(*(column.astype(np.float64) for column in columns))
        if plain is not None:
            return plain
    distinct = [np.unique(column, return_inverse=True) for column in columns]
    parts = [
        [(x, 0) if isinstance(x, int) else printed(x) for x in values.tolist()] for values, _ in distinct
    ]
    finest = max((places for part in parts for _, places in part), default=0)
    wide = (
        np.array([digits * 10 ** (finest - places) for digits, places in part], dtype=object)
        for part in parts
    )
    return Fraction(10) ** -finest, tuple(
        own[where.reshape(-1)] for own, (_, where) in zip(wide, distinct, strict=True)
    )


def _largest(column: Column) -> int:
    """The largest size of integers; Python integers, as |-2**63| has no int64."""
    return max(-int(column.min()), int(column.max())) if len(column) else 0
