"""Repeated samples of right-or-wrong items: right every time (pass^k), right at least once (pass@k), and how they vary."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..engine.lattice import EXACT_DOUBLE, Integers, Whole, exact_total
from ..errors import Choice, InvalidTest, marked
from .numbers import MAX_INTEGER, MAX_WIDE_ITEMS, Lattice, on_lattice
from .paired import Column, Repeated, Scores, StatisticSpec, lengths_of, samples_in
from .problems import require_items, require_same_length

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
    values = [samples_in(data.u), samples_in(data.v)]
    if unit is None:
        lattice = on_lattice(*values, exactly=exactly)
    else:
        lattice = Lattice(unit, (_multiples(data.u, unit, "/u"), _multiples(data.v, unit, "/v")))
    return _means(data, lattice)


def samples_of(data: Scores) -> tuple[int, int] | None:
    """How many samples u and v have in all; None when there is one score per item."""
    if not isinstance(data.u, Repeated) and not isinstance(data.v, Repeated):
        return None
    return len(samples_in(data.u)), len(samples_in(data.v))


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


def _multiples(side: Column | Repeated, unit: Fraction, pointer: str) -> Integers:
    """The nearest multiple of the unit to each value; refuses values that are not near one."""
    values = samples_in(side).astype(np.float64)
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
    magnitude = sum(exact_total(np.abs(column)) for column in lattice.columns)
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


# Samples of right-or-wrong items: right every time (pass^k), right at least once (pass@k)


# What a right sample scores; a wrong one has 0.
_RIGHT = (1, 100)


def per_item(data: Scores, spec: StatisticSpec) -> Scores:
    """The data with one score per item where `repeats` is all or any; as it is for the mean, or without repeated samples.

    An item is right where all (the least), or any (the largest) of its samples is: no arithmetic, hence exact.

    Raises InvalidTest for samples that are not right or wrong, and for unequal numbers of them, whatever they become:
    more samples are less often all right, more often right at all, and vary less about their mean, so that exchanging
    them would change the law though the systems are the same.
    """
    if len(data.u) == len(data.v):
        _require_as_many({"/u": data.u, "/v": data.v}, {})
    asked = _rule_of_repeats(spec, (data.u, data.v))
    if asked is None:
        return data
    _require_right_or_wrong((data.u, data.v), asked)
    u, v = (_reduced(side, asked) for side in (data.u, data.v))
    return replace(data, u=u, v=v)


def per_item_systems(
    columns: Mapping[str, Column | Repeated], present: Mapping[str, Integers], spec: StatisticSpec
) -> Mapping[str, Column | Repeated]:
    """The same for the columns of many systems, by name; `present` as `Systems` has it.

    Raises InvalidTest with pointers `<name>/<item of its column>`.
    """
    _require_as_many(columns, present)
    asked = _rule_of_repeats(spec, tuple(columns.values()))
    if asked is None:
        return columns
    _require_right_or_wrong(tuple(columns.values()), asked)
    return {name: _reduced(column, asked) for name, column in columns.items()}


def _require_as_many(columns: Mapping[str, Column | Repeated], present: Mapping[str, Integers]) -> None:
    """Refuse an item of which one column has more samples than another; raises InvalidTest at `<name>/<item>`."""
    if not any(isinstance(column, Repeated) for column in columns.values()):
        return
    last = max(int(own[-1]) for own in present.values()) if present else -1
    known = np.zeros(max(last + 1, *map(len, columns.values())), dtype=np.int64)
    for name, column in columns.items():
        lengths = lengths_of(column)
        where = present[name] if name in present else np.arange(len(lengths))
        before = known[where]
        differ = (before != lengths) & (before > 0)
        if differ.any():
            index = int(differ.argmax())
            raise unequal_runs(f"{name}/{index}", int(lengths[index]), int(before[index]))
        known[where] = lengths


def unequal_runs(
    pointer: str, here: int, other: int, item: str = "This item", choices: tuple[Choice, ...] = ()
) -> InvalidTest:
    """The refusal of an item that was run `here` times, and `other` times by another system."""
    detail = (
        f"{item} has {here:,} {'run' if here == 1 else 'runs'} here and {other:,} in another system. Results of more runs "
        "follow another law, so that even a system and itself would differ: give both as many runs of every item, and "
        "leave out those that one has more of."
    )
    return InvalidTest.at(pointer, "unequal_repeats", detail, choices)


def _rule_of_repeats(spec: StatisticSpec, columns: Sequence[Column | Repeated]) -> str | None:
    """`all` or `any`, where there is something to ask it of."""
    asked = spec.parameters.get("repeats")
    several = any(isinstance(column, Repeated) for column in columns)
    return str(asked) if asked in {"all", "any"} and several else None


def _require_right_or_wrong(sides: Sequence[Column | Repeated], asked: str) -> None:
    """Refuse samples that are neither 0 nor what a right one scores."""
    columns = [samples_in(side) for side in sides]
    for right in _RIGHT:
        if all(bool(((column == 0) | (column == right)).all()) for column in columns):
            return
    detail = f"With {marked('repeats', asked)} every sample must be right or wrong: 1 or 0, or 100 or 0 throughout."
    raise InvalidTest.at("/statistic/repeats", "not_right_or_wrong", detail)


def _reduced(side: Column | Repeated, asked: str) -> Column:
    if not isinstance(side, Repeated):
        return side
    best = np.minimum if asked == "all" else np.maximum
    starts = np.cumsum(side.lengths) - side.lengths
    reduced: Column = best.reduceat(side.values, starts)
    return reduced


@dataclass(frozen=True, slots=True)
class Spread:
    """How the samples of one system's items vary.

    `variance` is the mean square about the items' own means, pooled over the items with degrees of freedom k - 1; None
    where no item has two samples. `flips` is the share of the items with two samples or more whose samples are not all
    the same; None where there is no such item.
    """

    samples: int
    variance: float | None
    flips: float | None


def spread_of(side: Column | Repeated) -> Spread | None:
    """The spread of a system's samples; None where every item has a single score."""
    if not isinstance(side, Repeated):
        return None
    starts = np.cumsum(side.lengths) - side.lengths
    several = side.lengths > 1
    samples, freedom = len(side.values), int((side.lengths - 1).sum())
    if freedom == 0:
        return Spread(samples, None, None)
    low, high = np.minimum.reduceat(side.values, starts), np.maximum.reduceat(side.values, starts)
    values = side.values.astype(np.float64)
    means = np.add.reduceat(values, starts) / side.lengths
    off = values - np.repeat(means, side.lengths)
    # Items whose samples agree have no variance, whatever the rounding of their mean.
    off[np.repeat(low == high, side.lengths)] = 0.0
    with np.errstate(over="ignore"):
        squares = off * off
    variance = float(np.sum(squares)) / freedom
    flips = Fraction(int((low != high).sum()), int(several.sum()))
    return Spread(samples, variance if np.isfinite(variance) else None, float(flips))
