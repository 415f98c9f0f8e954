"""Repeated samples of right-or-wrong items: right every time (pass^k), right at least once (pass@k), and how they vary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ..errors import InvalidTest
from .paired import Column, Repeated, Scores, StatisticSpec

# What a right sample scores; a wrong one has 0.
_RIGHT = (1, 100)


def per_item(data: Scores, spec: StatisticSpec) -> Scores:
    """The data with one score per item where `repeats` is all or any; as it is for the mean, or without repeated samples.

    An item is right where all (the least), or any (the largest) of its samples is: no arithmetic, hence exact. Both
    systems need as many samples of an item, as more of them are less often all right, and more often right at all.

    Raises InvalidTest for samples that are not right or wrong, and for unequal numbers of them.
    """
    asked = spec.parameters.get("repeats")
    if asked not in {"all", "any"} or not any(isinstance(side, Repeated) for side in (data.u, data.v)):
        return data
    lengths = [
        side.lengths if isinstance(side, Repeated) else np.ones(len(side), dtype=np.int64)
        for side in (data.u, data.v)
    ]
    if len(lengths[0]) == len(lengths[1]) and (lengths[0] != lengths[1]).any():
        index = int((lengths[0] != lengths[1]).argmax())
        detail = (
            f"This item has {lengths[1][index]:,} samples in v and {lengths[0][index]:,} in u: with repeats={asked} both systems "
            "need as many of every item."
        )
        raise InvalidTest.at(f"/v/{index}", "unequal_repeats", detail)
    _require_right_or_wrong(data, str(asked))
    best = np.minimum if asked == "all" else np.maximum
    u, v = (_reduced(side, best) for side in (data.u, data.v))
    return replace(data, u=u, v=v)


def _require_right_or_wrong(data: Scores, asked: str) -> None:
    """Refuse samples that are neither 0 nor what a right one scores."""
    columns = [side.values if isinstance(side, Repeated) else side for side in (data.u, data.v)]
    for right in _RIGHT:
        if all(bool(((column == 0) | (column == right)).all()) for column in columns):
            return
    detail = f"With repeats={asked} every sample must be right or wrong: 1 or 0, or 100 or 0 throughout."
    raise InvalidTest.at("/statistic/repeats", "not_right_or_wrong", detail)


def _reduced(side: Column | Repeated, best: np.ufunc) -> Column:
    if not isinstance(side, Repeated):
        return side
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
