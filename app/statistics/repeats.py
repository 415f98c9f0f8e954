"""Repeated samples of right-or-wrong items: right every time (pass^k), right at least once (pass@k), and how they vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ..engine.lattice import Integers
from ..errors import Choice, InvalidTest, marked
from .paired import Column, Repeated, Scores, StatisticSpec

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
    asked = _asked(spec, (data.u, data.v))
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
    asked = _asked(spec, tuple(columns.values()))
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
        lengths = _lengths(column)
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


def _asked(spec: StatisticSpec, columns: Sequence[Column | Repeated]) -> str | None:
    """`all` or `any`, where there is something to ask it of."""
    asked = spec.parameters.get("repeats")
    several = any(isinstance(column, Repeated) for column in columns)
    return str(asked) if asked in {"all", "any"} and several else None


def _lengths(side: Column | Repeated) -> Integers:
    return side.lengths if isinstance(side, Repeated) else np.ones(len(side), dtype=np.int64)


def _require_right_or_wrong(sides: Sequence[Column | Repeated], asked: str) -> None:
    """Refuse samples that are neither 0 nor what a right one scores."""
    columns = [side.values if isinstance(side, Repeated) else side for side in sides]
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
