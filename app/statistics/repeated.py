"""One exact number per item: repeated samples averaged, and scores printed with rounding put back on their unit."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np

from ..engine.lattice import EXACT_DOUBLE, Integers, Whole
from ..errors import InvalidTest
from .additive_problem import require_items, require_same_length
from .numbers import MAX_INTEGER, MAX_WIDE_ITEMS, Lattice, on_lattice, total_of
from .paired import Column, Repeated, Scores

# Farther from a multiple of the unit than this share of it is not rounding.
TOLERANCE = Fraction(1, 4)
MAX_UNIT_PART = 10**15
# Of the least common multiple of the numbers of samples.
_MAX_COMMON_BITS = 2_000
_UNIT = re.compile(r"[0-9]{1,16}(\.[0-9]{1,16}|/[0-9]{1,16})?")
_ZERO = re.compile(r"/0+$")


def item_scores(data: Scores, unit: Fraction | None = None, *, exactly: bool = False) -> Lattice:
    """The columns u and v with one score per item, shape (N,) each.

    Means of repeated samples are exact on the lattice of the values over the least common multiple of the
    numbers of samples; only of many items, and when that outgrows 60 bits, are they doubles, correctly rounded,
    instead. `unit` puts every value on its nearest multiple of it first; `exactly` says that single scores are
    not to be rounded, however many. Raises InvalidTest.
    """
    require_items(len(data.u), "/u")
    require_same_length(len(data.u), len(data.v), "/v", ("u", "v"))
    values = [_values(data.u), _values(data.v)]
    if unit is None:
        lattice = on_lattice(*values, exactly=exactly)
    else:
        lattice = Lattice(unit, (_multiples(data.u, unit, "/u"), _multiples(data.v, unit, "/v")))
    return _means(data, lattice)


def samples_of(data: Scores) -> tuple[int, int] | None:
    """How many samples u and v have in all; None when there is one score per item."""
    if not isinstance(data.u, Repeated) and not isinstance(data.v, Repeated):
        return None
    return len(_values(data.u)), len(_values(data.v))


def unit_of(given: Any) -> Fraction | None:
    """The parameter `unit`: a positive number, or text such as "1/30"."""
    if given is None:
        return None
    text = repr(given) if isinstance(given, int | float) and not isinstance(given, bool) else str(given)
    # The pattern keeps exponents, and so enormous powers of ten, out of texts.
    written = isinstance(given, float) or (_UNIT.fullmatch(text) is not None and not _ZERO.search(text))
    unit = Fraction(text) if written and text not in {"nan", "inf", "-inf"} else Fraction(0)
    if not 0 < unit.numerator <= MAX_UNIT_PART or unit.denominator > MAX_UNIT_PART:
        detail = (
            'unit must be a positive number or fraction such as "1/30": what all scores are multiples of.'
        )
        raise InvalidTest.at("/statistic/unit", "not_a_unit", detail)
    return unit


def _values(side: Column | Repeated) -> Column:
    return side.values if isinstance(side, Repeated) else side


def _multiples(side: Column | Repeated, unit: Fraction, pointer: str) -> Integers:
    """The nearest multiple of the unit to each value; refuses values that are not near one."""
    values = _values(side).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # beyond all doubles is beyond EXACT_DOUBLE
        scaled = values * float(unit.denominator) / float(unit.numerator)
        nearest = np.rint(scaled)
        off = (np.abs(scaled - nearest) > float(TOLERANCE)) | (np.abs(nearest) >= EXACT_DOUBLE)
    if off.any():
        index = int(off.argmax())
        raise InvalidTest.at(
            f"{pointer}/{_item_pointer(side, index)}",
            "off_unit",
            f"That score is farther than unit/4 from every multiple of the unit {unit}: it is not a rounded multiple.",
        )
    return nearest.astype(np.int64)


def _item_pointer(side: Column | Repeated, index: int) -> str:
    if not isinstance(side, Repeated):
        return str(index)
    ends = np.cumsum(side.lengths)
    item = int(np.searchsorted(ends, index, side="right"))
    return f"{item}/{index - int(ends[item] - side.lengths[item])}"


def _means(data: Scores, lattice: Lattice) -> Lattice:
    sides = (data.u, data.v)
    lengths = [side.lengths if isinstance(side, Repeated) else None for side in sides]
    common = math.lcm(*(int(n) for sizes in lengths if sizes is not None for n in np.unique(sizes)))
    if common == 1:
        return lattice
    magnitude = sum(total_of(np.abs(column)) for column in lattice.columns)
    room = magnitude * common < MAX_INTEGER
    if room or (len(data.u) <= MAX_WIDE_ITEMS and common.bit_length() <= _MAX_COMMON_BITS):
        kind = np.int64 if room else object
        columns = tuple(
            _sums(column.astype(kind), sizes, common)
            for column, sizes in zip(lattice.columns, lengths, strict=True)
        )
        # A mean is off by no more than its samples are.
        return Lattice(lattice.unit / common, columns, lattice.error * common)
    rounded = [
        _rounded_means(column, sizes, lattice.unit)
        for column, sizes in zip(lattice.columns, lengths, strict=True)
    ]
    means = on_lattice(*rounded)
    before = math.ceil(lattice.error * lattice.unit / means.unit)
    return Lattice(means.unit, means.columns, means.error + before + _ulps(rounded, means.unit))


def _ulps(columns: list[Column], unit: Fraction) -> int:
    """The last place of the largest number, in units, rounded up: what rounding to doubles is off by at most."""
    largest = max(float(np.abs(column).max(initial=0.0)) for column in columns)
    return math.ceil(Fraction(math.ulp(largest)) / unit)


def _sums(values: Whole, lengths: Integers | None, common: int) -> Whole:
    """common * mean of each item."""
    if lengths is None:
        return values * common
    starts = np.cumsum(lengths) - lengths
    factors = np.array([common // n for n in lengths.tolist()], dtype=values.dtype)
    sums: Whole = np.add.reduceat(values, starts) * factors
    return sums


def _rounded_means(values: Whole, lengths: Integers | None, unit: Fraction) -> Column:
    """The double nearest to each item's mean."""
    sizes = np.ones(len(values), dtype=np.int64) if lengths is None else lengths
    starts = np.cumsum(sizes) - sizes
    sums = np.add.reduceat(values, starts).tolist()
    return np.array([float(Fraction(s, n) * unit) for s, n in zip(sums, sizes.tolist(), strict=True)])
