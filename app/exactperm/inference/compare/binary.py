"""Systems that are right or wrong on every item: all pairs at once, from matrix products and binomial tails.

Any two values will do for right and wrong. With b items on which only U is right, and c on which only V is, the null of
b given n = b + c is Binomial(n, 1/2): the sign test, which is McNemar's exact test (1947).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ...engine.lattice import Integers, Reals
from ...statistics.labels import items_right
from ...statistics.numbers import on_lattice
from ...statistics.paired import Column, Item, StatisticSpec, Systems
from ...statistics.problems import single_items
from ..options import Options
from .binomial_tests import binomial_seconds, binomial_tests, quotients
from .pair_tests import PairTests

Flags = NDArray[np.bool_]  # shape (N,)
Table = NDArray[np.bool_]  # shape (K, N)

# Items at a time in a product, so that converted columns take little memory; sums of as many ones are floats exactly.
_ITEMS = 1 << 16
_OF_SCORES = ("mean_difference", "sum_difference", "sign")
_OF_PREDICTIONS = ("accuracy", "exact_match", "token_accuracy")
# Seconds for each multiplication, and for each value that is read.
_PER_PRODUCT, _PER_VALUE = 1e-10, 1.5e-8
_LONGEST = 3.0


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
    """The tests of `pairs`, shape (m, 2): positions in the systems by code point."""

    systems: BinarySystems
    options: Options
    pairs: Integers

    @property
    def seconds(self) -> float:
        """Predicted time of all pairs."""
        count, items = map(int, self.systems.right.shape)
        products = count * count * items * (1 if self.systems.there is None else 2)
        return products * _PER_PRODUCT + count * items * _PER_VALUE + binomial_seconds(len(self.pairs), items)

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
        systems, (u, v) = self.systems, self.pairs[start:stop].T
        n = systems.sizes[u] if systems.common is None else systems.common[u, v]
        more, less = systems.only[u, v], systems.only[v, u]
        differences = self._differences(more - less, n)
        return binomial_tests((u, v), n, n, (more, less), differences, self.options, len(self.pairs))

    def _differences(self, more: Integers, items: Integers) -> Reals:
        """The statistic as the nearest double, shape (m,)."""
        if self.systems.signs:
            return more.astype(np.float64)
        step = self.systems.right_value - self.systems.wrong_value
        return quotients(more, step, items if self.systems.mean else np.ones_like(items))


def binary_systems(systems: Systems, spec: StatisticSpec) -> BinarySystems | None:
    """The systems as right or wrong; None where they are not, or the statistic is another one.

    Columns of different lengths, without `present`, are another room's to refuse: None.
    """
    if not single_items(systems.pairing) or systems.weights is not None:
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
    # As a pair with both values reads them.
    lattice = on_lattice(np.array(values))
    low, high = (int(value) * lattice.unit for value in lattice.columns[0])
    return BinarySystems(*placed, low, high, mean=spec.name != "sum_difference", signs=spec.name == "sign")


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
