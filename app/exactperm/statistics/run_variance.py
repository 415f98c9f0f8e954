"""How much the runs of an item vary, and how much the items: components of variance, exact and so of any order of the rows.

A run of item i is its true mean plus noise of the variance `within`; the true means have the variance `between` (one-way
analysis of variance with unequal numbers, Searle, Casella & McCulloch 1992, chapter 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..engine.lattice import Integers, Whole, exact_total
from .effects import Additive, on_lattice
from .paired import Column, Repeated, Scores, lengths_of


@dataclass(frozen=True, slots=True)
class Spread:
    """The variances of the runs of a system: None where no item has two, `between` also of a single item.

    `flips` is the share of items with two or more runs whose runs are not all equal.
    """

    samples: int
    within: Fraction | None
    flips: Fraction | None
    between: Fraction | None

    @property
    def icc(self) -> Fraction | None:
        """The share of `between` in the variance of one run."""
        if self.within is None or self.between is None:
            return None
        total = self.within + self.between
        return self.between / total if total else total


def spread_of(side: Column | Repeated) -> Spread | None:
    """Return the spread of a system's runs; None where every item has a single score."""
    if not isinstance(side, Repeated):
        return None
    lengths, runs, items = side.lengths, len(side.values), len(side.lengths)
    freedom = runs - items
    if freedom == 0:
        return Spread(runs, None, None, None)
    starts = np.cumsum(lengths) - lengths
    differ = np.maximum.reduceat(side.values, starts) != np.minimum.reduceat(side.values, starts)
    flips = Fraction(int(differ.sum()), int((lengths > 1).sum()))
    lattice = on_lattice(side.values)
    values = lattice.columns[0]
    if values.dtype != object and exact_total(np.abs(values)) >= 1 << 61:
        values = values.astype(object)
    sums: Whole = np.add.reduceat(values, starts)
    by_item = sum(
        (Fraction(_squares(sums[lengths == n]), n) for n in np.unique(lengths).tolist()), Fraction(0)
    )
    within = lattice.unit**2 * (_squares(values) - by_item) / freedom
    if items == 1:
        return Spread(runs, within, flips, None)
    among = lattice.unit**2 * (by_item - Fraction(exact_total(sums) ** 2, runs)) / (items - 1)
    typical = (runs - Fraction(_squares(lengths), runs)) / (items - 1)
    return Spread(runs, within, flips, max((among - within) / typical, Fraction(0)))


def _squares(values: Whole) -> int:
    """Return the exact sum of squares."""
    if values.dtype == object:
        return sum(value * value for value in values.tolist())
    high, low = values >> 30, values & (1 << 30) - 1
    return (exact_total(high * high) << 60) + (exact_total(high * low) << 31) + exact_total(low * low)


@dataclass(frozen=True, slots=True)
class DifferenceVariance:
    """The variance of one item's difference of means: of the items' true differences, and of their runs; `within` is that of one run of each system."""

    items: int
    between: Fraction
    runs: Fraction
    within: Fraction

    def error(self, *, items: int = 1, runs: int = 1) -> float:
        """Return the standard error of the mean difference with so many times the items and their runs; raises OverflowError."""
        return math.sqrt((self.between + self.runs / runs) / (self.items * items))


def difference_variance(
    data: Scores, spreads: tuple[Spread | None, Spread | None], effects: Additive | None
) -> DifferenceVariance | None:
    """Return the parts of the variance of an item's difference; None for one item, or without two runs of each system.

    `effects` are those of the mean difference; without them the items are fixed, and only their runs vary.
    """
    u, v = (None if spread is None else spread.within for spread in spreads)
    items = len(data.u)
    if u is None or v is None or items < 2:
        return None
    runs = u * _mean_of_inverses(lengths_of(data.u)) + v * _mean_of_inverses(lengths_of(data.v))
    if effects is None:
        return DifferenceVariance(items, Fraction(0), runs, u + v)
    total = _squares(effects.stay) - Fraction(exact_total(effects.stay) ** 2, items)
    # An effect is the difference over the number of items.
    among = (items * effects.unit) ** 2 * total / (items - 1)
    return DifferenceVariance(items, max(among - runs, Fraction(0)), runs, u + v)


def _mean_of_inverses(lengths: Integers) -> Fraction:
    sizes, counts = np.unique(lengths, return_counts=True)
    return sum(map(Fraction, counts.tolist(), sizes.tolist()), Fraction(0)) / len(lengths)
