"""Systems that are right or wrong on every item: all pairs at once, from matrix products and binomial tails.

Any two values will do for right and wrong. With b items on which only U is right, and c on which only V is, the null of
b given n = b + c is Binomial(n, 1/2): the sign test, which is McNemar's exact test (1947).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ...engine.binomial_tails import Tails, log10_power_of_two, upper_tails
from ...engine.lattice import Integers, Reals
from ...statistics.additive_problem import single_items
from ...statistics.labels import items_right
from ...statistics.numbers import on_lattice
from ...statistics.paired import Column, Item, StatisticSpec
from ...statistics.systems import Systems
from ..options import Options
from .binomial_values import BinomialValues
from .pair_tests import PairTests

Flags = NDArray[np.bool_]  # shape (N,)
Table = NDArray[np.bool_]  # shape (K, N)

# Items at a time in a product, so that converted columns take little memory; sums of as many ones are floats exactly.
_ITEMS = 1 << 16
_OF_SCORES = ("mean_difference", "sum_difference", "sign")
_OF_PREDICTIONS = ("accuracy", "exact_match", "token_accuracy")
# Seconds for each multiplication, each value read, each pair, and each round of Pascal's rule.
_PER_PRODUCT, _PER_VALUE, _PER_PAIR, _PER_ROUND = 1e-10, 4e-9, 2e-6, 2e-6
_LONGEST = 3.0
# Times as many items this is below 2**53.
_PLAIN = 1 << 24


@dataclass(frozen=True)
class BinarySystems:
    """K systems, right or wrong on N items.

    Attributes
    ----------
    right
        Shape (K, N), false also where a system has no value; `there` says where it has, None for everywhere.
    wrong_value, right_value
        What the two are worth: exact, wrong is the smaller one.
    mean
        Whether a score is a mean over items, not a sum.
    signs
        Whether the difference of a pair is b - c, that of the sign test.
    """

    right: Table
    there: Table | None
    wrong_value: Fraction
    right_value: Fraction
    mean: bool
    signs: bool

    @cached_property
    def sizes(self) -> Integers:
        """How many items each system has, shape (K,)."""
        if self.there is None:
            return np.full(len(self.right), self.right.shape[1], dtype=np.int64)
        return np.asarray(self.there.sum(axis=1), dtype=np.int64)

    @cached_property
    def scores(self) -> tuple[Fraction, ...]:
        """The mean or the sum of each system."""
        rights = self.right.sum(axis=1).tolist()
        return tuple(self._score(r, n) for r, n in zip(rights, self.sizes.tolist(), strict=True))

    def _score(self, right: int, items: int) -> Fraction:
        total: Fraction = right * self.right_value + (items - right) * self.wrong_value
        return total / items if self.mean else total

    @cached_property
    def only(self) -> Integers:
        """only[u, v]: on how many items that both have u alone is right, shape (K, K)."""
        return self._products()[0]

    @cached_property
    def common(self) -> Integers | None:
        """common[u, v]: how many items both have, shape (K, K); None where all have all."""
        return self._products()[1]

    def _products(self) -> tuple[Integers, Integers | None]:
        systems, items = self.right.shape
        only = np.zeros((systems, systems), dtype=np.int64)
        common = None if self.there is None else np.zeros((systems, systems), dtype=np.int64)
        for start in range(0, items, _ITEMS):
            right = self.right[:, start : start + _ITEMS].astype(np.float32)
            if self.there is None or common is None:
                there = np.ones_like(right)
            else:
                there = self.there[:, start : start + _ITEMS].astype(np.float32)
                common += np.rint(there @ there.T).astype(np.int64)
            only += np.rint(right @ (there - right).T).astype(np.int64)
        return only, common


@dataclass(frozen=True)
class BinaryPairs:
    """The tests of `pairs`, positions in the systems by code point."""

    systems: BinarySystems
    options: Options
    pairs: Integers

    @property
    def seconds(self) -> float:
        """Predicted time of all pairs."""
        count, items = map(int, self.systems.right.shape)
        products = count * count * items * (1 if self.systems.there is None else 2)
        read, rounds = count * items, min(items, 1_000)
        return (
            products * _PER_PRODUCT
            + read * _PER_VALUE
            + len(self.pairs) * _PER_PAIR * (1.0 + math.sqrt(items) / 100.0)
            + rounds * _PER_ROUND
        )

    @property
    def longest_seconds(self) -> float:
        """A bound on it: no step depends on the values."""
        return _LONGEST * self.seconds

    @property
    def methods(self) -> tuple[str, ...]:
        """One for all pairs."""
        return ("binomial",)

    def solve(self, start: int = 0, stop: int | None = None) -> PairTests:
        """The tests of a slice of the pairs."""
        systems, lower = self.systems, self.options.higher_is_better is False
        u, v = self.pairs[start:stop].T
        b, c = systems.only[u, v], systems.only[v, u]
        n = systems.sizes[u] if systems.common is None else systems.common[u, v]
        wins, losses = (c, b) if lower else (b, c)
        alternative = self.options.alternative
        two_sided = alternative == "two-sided"
        heads = np.maximum(b, c) if two_sided else wins if alternative == "greater" else losses
        differ = b + c
        tails = _two_sided(differ, heads) if two_sided else upper_tails(differ, heads)
        log_width = 1.01 * tails.log_error / np.log(10.0)
        values = BinomialValues(differ, heads, two_sided)
        least = int(two_sided) - differ
        return PairTests(
            u=u,
            v=v,
            n=n,
            wins=wins,
            ties=n - differ,
            losses=losses,
            difference=self._differences(b - c, n),
            sign=np.sign(wins - losses),
            p=tails.p,
            p_low=np.where(tails.error == 0.0, tails.p, np.nextafter(tails.p * (1.0 - tails.error), 0.0)),
            p_high=np.where(
                tails.error == 0.0, tails.p, np.minimum(np.nextafter(tails.p * (1.0 + tails.error), 2.0), 1.0)
            ),
            log10_p=tails.log10_p,
            log10_low=tails.log10_p - log_width,
            log10_high=np.minimum(tails.log10_p + log_width, 0.0),
            attainable=log10_power_of_two(np.minimum(least, 0)),
            method=("binomial",) * len(u),
            exact=np.ones(len(u), dtype=bool),
            sampled=np.zeros(len(u), dtype=bool),
            fraction=values.fraction,
            attained=values.attained,
            null_key=values.null_key,
            support=values.support,
        )

    def _differences(self, more: Integers, items: Integers) -> Reals:
        """The statistic as the nearest double, shape (m,)."""
        if self.systems.signs:
            return more.astype(np.float64)
        step = self.systems.right_value - self.systems.wrong_value
        below = np.maximum(items, 1) if self.systems.mean else np.ones_like(items)
        if max(step.numerator, step.denominator) < _PLAIN:
            # Both are integers that doubles hold: rounded once.
            return np.asarray((more * step.numerator) / (below * step.denominator))
        both = zip(more.tolist(), below.tolist(), strict=True)
        return np.array([float(step * b / n) for b, n in both], dtype=np.float64)


def _two_sided(n: Integers, heads: Integers) -> Tails:
    """Twice the tail of the larger count, and at most one; `heads` >= n / 2."""
    tails = upper_tails(n, heads)
    certain = 2 * heads - n <= 1
    double = np.log10(2.0)
    return Tails(
        p=np.where(certain, 1.0, np.minimum(2.0 * tails.p, 1.0)),
        log10_p=np.where(certain, 0.0, np.minimum(tails.log10_p + double, 0.0)),
        error=np.where(certain, 0.0, tails.error),
        log_error=np.where(certain, 0.0, tails.log_error + 2.0**-50 * (1.0 + np.abs(tails.log10_p))),
    )


def binary_systems(systems: Systems, spec: StatisticSpec) -> BinarySystems | None:
    """The systems as right or wrong; None where they are not, or the statistic is another one.

    Columns of different lengths, without `present`, are another room's to refuse: None.
    """
    if not single_items(systems.pairing):
        return None
    values: tuple[float, float] | None = None
    right: list[Flags] = []
    if systems.kind == "scores" and spec.name in _OF_SCORES and spec.parameters.get("unit") is None:
        columns = [column for column in systems.columns.values() if isinstance(column, np.ndarray)]
        values = _two_values(columns) if len(columns) == len(systems.columns) else None
        if values is not None:
            right = [column != values[0] for column in columns]
    elif systems.kind == "predictions" and spec.name in _OF_PREDICTIONS:
        right, values = _right_on(systems, spec), (0, 1)
    placed = _placed(systems, right)
    if values is None or placed is None:
        return None
    low, high = (exact_number(value) for value in values)
    return BinarySystems(*placed, low, high, mean=spec.name != "sum_difference", signs=spec.name == "sign")


def exact_number(value: float) -> Fraction:
    """A score as the decimal it is written as, as every test reads it."""
    lattice = on_lattice(np.array([value]))
    return int(lattice.columns[0][0]) * lattice.unit


def _two_values(columns: Sequence[Column]) -> tuple[float, float] | None:
    """The smallest and the largest score, if there are no others."""
    filled = [column for column in columns if len(column)]
    if not filled:
        return None
    low: float = min(column.min().item() for column in filled)
    high: float = max(column.max().item() for column in filled)
    only = all(bool(((column == low) | (column == high)).all()) for column in filled)
    return (low, high) if only else None


def _right_on(systems: Systems, spec: StatisticSpec) -> list[Flags]:
    """On which of its items each system is right; none where items are sequences whose labels are counted."""
    gold = cast("Sequence[Item]", systems.gold)
    if spec.name != "exact_match" and any(isinstance(item, list | tuple) for item in gold):
        return []
    right = []
    for name, column in systems.columns.items():
        own = systems.present.get(name)
        truth = gold if own is None else [gold[item] for item in own.tolist()]
        if len(truth) != len(column):
            return []
        right.append(items_right(truth, cast("Sequence[Item]", column)) == 1)
    return right


def _placed(systems: Systems, right: Sequence[Flags]) -> tuple[Table, Table | None] | None:
    """The rows of all systems at the items' positions, and which they have; None if these do not fit."""
    if not right:
        return None
    own = [systems.present.get(name) for name in systems.names]
    complete = {len(row) for row, items in zip(right, own, strict=True) if items is None}
    if systems.pairing.clusters is not None:
        complete.add(len(systems.pairing.clusters))
    if len(complete) > 1 or 0 in map(len, right):
        return None
    if not systems.present:
        return np.array(right), None
    size = max([*complete, *(int(items[-1]) + 1 for items in own if items is not None)])
    table, there = np.zeros((len(right), size), dtype=np.bool_), np.zeros((len(right), size), dtype=np.bool_)
    for at, (row, items) in enumerate(zip(right, own, strict=True)):
        where = slice(None) if items is None else items
        table[at, where], there[at, where] = row, True
    return table, there
