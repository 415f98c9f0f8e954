"""Paired columns of numbers on one integer lattice, exactly where that can be."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from app.engine.lattice import EXACT_DOUBLE, Integers, Reals, decimal_lattice
from app.errors import InvalidTest
from app.statistics.paired import Column
from app.statistics.problem import is_integral

# Room for the sum of effects in int64 (see engine.lattice.MAX_TOTAL).
_BITS = 59
MAX_INTEGER = 2**59
LARGEST_SUM = 1e300


def on_lattice(*columns: Column) -> tuple[Fraction, tuple[Integers, ...]]:
    """(unit, integer columns) with value = unit * integer.

    Integers keep unit 1; decimals get the power of ten that holds all of them; any other doubles the
    power of two of their last binary place, which is exact while it fits 60 bits with all items summed.
    Raises InvalidTest when it does not.
    """
    if is_integral(*columns):
        for column in columns:
            _refuse_beyond(column, MAX_INTEGER)
        return Fraction(1), tuple(column.astype(np.int64, copy=False) for column in columns)
    reals = tuple(column.astype(np.float64) for column in columns)
    for column in columns:
        if column.dtype == np.int64:
            _refuse_beyond(column, EXACT_DOUBLE)
    found = decimal_lattice(*reals)
    return found if found is not None else _binary_lattice(*reals)


def _refuse_beyond(column: Column, limit: int) -> None:
    if len(column) and not -limit <= int(column.min()) <= int(column.max()) <= limit:
        raise InvalidTest.at(
            "",
            "integer_too_large",
            f"An integer is beyond {limit} in size, more than can be summed exactly here: scale the data down.",
        )


def _binary_lattice(*columns: Reals) -> tuple[Fraction, tuple[Integers, ...]]:
    """Doubles are integers over a power of two; the finest place that leaves room for the sum.

    Places finer than 2**-60 of the sum of magnitudes are rounded to it: far below what the doubles
    themselves carry when they come from real-valued scores.
    """
    # Divided first, so that even the sum of the largest doubles is a double.
    total = sum(float(np.abs(column / len(column)).sum()) for column in columns) * len(columns[0])
    if not total < LARGEST_SUM:
        raise InvalidTest.at(
            "", "number_too_large", "The scores are too large to be summed: scale them down."
        )
    places = _BITS - math.frexp(total)[1]
    scaled = tuple(np.rint(np.ldexp(column, places)).astype(np.int64) for column in columns)
    unit = Fraction(1, 2**places) if places >= 0 else Fraction(2**-places)
    return unit, scaled
