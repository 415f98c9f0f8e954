"""Systems whose scores lie on one common lattice: a column of integers each."""

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
from ...engine.lattice import EXACT_DOUBLE, Integers, Reals, decimal_lattice, sum_by_cluster
from ...engine.probability import SMALLEST
from ...statistics.effects import MAX_INTEGER, is_integral, on_lattice, single_items
from ...statistics.labels import items_right
from ...statistics.paired import Column, Item, StatisticSpec, Systems
from ...statistics.scores import signed_ranks
from ..options import Options
from .pair_tests import BinomialValues, PairTests

# Systems that are right or wrong on every item: all pairs at once, from matrix products


Flags = NDArray[np.bool_]  # shape (N,)
Table = NDArray[np.bool_]  # shape (K, N)

# Items at a time in a product, so that converted columns take little memory; sums of as many ones are floats exactly.
_ITEMS = 1 << 16
_OF_SCORES = ("mean_difference", "sum_difference", "sign")
_OF_PREDICTIONS = ("accuracy", "exact_match", "token_accuracy")
# Seconds for each multiplication, and for each value that is read.
_PER_PRODUCT, _PER_VALUE = 1e-10, 1.5e-8


@dataclass(frozen=True)
class BinarySystems:
    """K systems, right or wrong on N items.

    Attributes
    ----------
    right
        Shape (K, N), false also where a system has no value; `there` says where it has, None for everywhere.
    wrong_value, right_value
        The two values, exactly; wrong is the smaller one.
    mean
        Whether a score is a mean over items, not a sum.
    counted
        Whether the difference of a pair is b - c, that of the sign test.
    """

    right: Table
    there: Table | None
    wrong_value: Fraction
    right_value: Fraction
    mean: bool
    counted: bool

    @cached_property
    def sizes(self) -> Integers:
        """The number of items of each system, shape (K,)."""
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

    def signs(self, u: Integers, v: Integers) -> tuple[Integers, Integers, Integers]:
        """Of m pairs: the items that both have, and on how many of them u alone, v alone is right; shape (m,) each."""
        items = self.sizes[u] if self.common is None else self.common[u, v]
        return items, self.only[u, v], self.only[v, u]

    @property
    def seconds(self) -> float:
        """Predicted time of the counts of all pairs."""
        count, items = map(int, self.right.shape)
        products = count * count * items * (1 if self.there is None else 2)
        return products * _PER_PRODUCT + count * items * _PER_VALUE

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


def binary_systems(systems: Systems, spec: StatisticSpec) -> BinarySystems | None:
    """The systems as right or wrong; None if they are not, or for other statistics.

    None also for columns of different lengths without `present`, which are refused elsewhere.
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
    return BinarySystems(*placed, low, high, mean=spec.name != "sum_difference", counted=spec.name == "sign")


def _two_values(columns: Sequence[Column]) -> tuple[float, float] | None:
    """The smallest and the largest score, if all scores are one of these."""
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
        items = systems.present.get(name)
        truth = gold if items is None else [gold[item] for item in items.tolist()]
        if len(truth) != len(column):
            return []
        right.append(items_right(truth, cast("Sequence[Item]", column)) == 1)
    return right


def _placed(systems: Systems, right: Sequence[Flags]) -> tuple[Table, Table | None] | None:
    """The rows of all systems at the items' positions, and which they have; None if these do not fit."""
    if not right:
        return None
    present = [systems.present.get(name) for name in systems.names]
    complete = {len(row) for row, items in zip(right, present, strict=True) if items is None}
    if systems.pairing.clusters is not None:
        complete.add(len(systems.pairing.clusters))
    if len(complete) > 1 or 0 in map(len, right):
        return None
    if not systems.present:
        return np.array(right), None
    size = max([*complete, *(int(items[-1]) + 1 for items in present if items is not None)])
    table, there = np.zeros((len(right), size), dtype=np.bool_), np.zeros((len(right), size), dtype=np.bool_)
    for at, (row, items) in enumerate(zip(right, present, strict=True)):
        where = slice(None) if items is None else items
        table[at, where], there[at, where] = row, True
    return table, there


# Sign tests of many pairs at once, the null Binomial(n, 1/2)


# Seconds for each pair, and for each round of Pascal's rule.
_PER_PAIR, _PER_ROUND = 2e-6, 2e-6
# What all fractions of a board may take together, as `BinomialValues` counts it: half a second.
_WORK = 4e9
# Times as many units this is below 2**53.
_PLAIN = 1 << 24


def binomial_seconds(pairs: int, units: int) -> float:
    """Predicted time of the tests of so many pairs."""
    return pairs * _PER_PAIR * (1.0 + math.sqrt(units) / 100.0) + min(units, 1_000) * _PER_ROUND


def binomial_tests(
    pairs: Integers,
    counts: tuple[Integers, Integers, Integers],
    differences: Reals,
    options: Options,
    board: int,
) -> PairTests:
    """The sign tests of `pairs`, shape (m, 2), of the `board` pairs of a board.

    `counts`, shape (m,) each, are the items, all of which swap, those on which u has more, and less; `differences` is the statistic.
    """
    u, v = pairs.T
    n, more, less = counts
    wins, losses = (less, more) if options.higher_is_better is False else (more, less)
    two_sided = options.alternative == "two-sided"
    heads = np.maximum(more, less) if two_sided else wins if options.alternative == "greater" else losses
    differ = more + less
    tails = _two_sided(differ, heads) if two_sided else upper_tails(differ, heads)
    exact = tails.error == 0.0
    low, high = tails.p * (1.0 - tails.error), tails.p * (1.0 + tails.error)
    log_width = 1.01 * tails.log_error / math.log(10.0)
    values = BinomialValues(differ, heads, two_sided, _WORK / max(board, 1))
    return PairTests(
        u=u,
        v=v,
        n=n,
        wins=wins,
        ties=n - differ,
        losses=losses,
        difference=differences,
        sign=np.sign(wins - losses),
        p=tails.p,
        p_low=np.where(exact, tails.p, np.maximum(np.nextafter(low, 0.0), 0.0)),
        p_high=np.where(exact, tails.p, np.minimum(np.nextafter(high, 2.0), 1.0)),
        log10_p=tails.log10_p,
        log10_low=tails.log10_p - log_width,
        log10_high=np.minimum(tails.log10_p + log_width, 0.0),
        attainable=log10_power_of_two(np.minimum(int(two_sided) - differ, 0)),
        method=("binomial",) * len(u),
        exact=np.ones(len(u), dtype=bool),
        sampled=np.zeros(len(u), dtype=bool),
        fraction=values.fraction,
        attained=values.attained,
        null_key=values.null_key,
        support=values.support,
    )


def quotients(totals: Integers, step: Fraction, items: Integers) -> Reals:
    """totals * step / items as the nearest doubles, shape (m,); nothing divided by no items is 0."""
    below = np.maximum(items, 1)
    large = max(int(np.abs(totals).max(initial=0)), int(below.max(initial=1)))
    if max(step.numerator, step.denominator) < _PLAIN and large < 1 << 28:
        # Both are integers that doubles hold: rounded once.
        return np.asarray((totals * step.numerator) / (below * step.denominator))
    both = zip(totals.tolist(), below.tolist(), strict=True)
    return np.array([float(step * total / n) for total, n in both], dtype=np.float64)


def _two_sided(n: Integers, heads: Integers) -> Tails:
    """Twice the tail of the larger count, and at most one; `heads` >= n / 2."""
    tails = upper_tails(n, heads)
    certain = 2 * heads - n <= 1
    log10_p = np.where(certain, 0.0, np.minimum(tails.log10_p + np.log10(2.0), 0.0))
    # A tail that underflows is the smallest double, and so is twice it.
    p = np.where(log10_p < np.log10(SMALLEST), SMALLEST, np.minimum(2.0 * tails.p, 1.0))
    return Tails(
        p=np.where(certain, 1.0, p),
        log10_p=log10_p,
        error=np.where(certain, 0.0, tails.error),
        log_error=np.where(certain, 0.0, tails.log_error + 2.0**-50 * (1.0 + np.abs(tails.log10_p))),
    )


_STATISTICS = ("mean_difference", "sum_difference", "sign", "signed_rank")


@dataclass(frozen=True)
class IntegerSystems:
    """K systems with scores unit * integers on N items.

    Attributes
    ----------
    values
        Shape (K, N), 0 where a system has no value; `there` says where it has, None for everywhere.
    unit
        What the integers count.
    clusters, n_clusters
        The code of each item, shape (N,), where items swap together.
    """

    spec: StatisticSpec
    values: Integers
    there: NDArray[np.bool_] | None
    unit: Fraction
    clusters: Integers | None
    n_clusters: int | None

    @cached_property
    def scores(self) -> tuple[Fraction, ...]:
        """The mean of each system, or the sum."""
        totals = self.values.sum(axis=1).tolist()
        if self.spec.name == "sum_difference":
            return tuple(total * self.unit for total in totals)
        return tuple(total * self.unit / n for total, n in zip(totals, self.sizes.tolist(), strict=True))

    @cached_property
    def sizes(self) -> Integers:
        """The number of items of each system, shape (K,)."""
        if self.there is None:
            return np.full(len(self.values), self.values.shape[1], dtype=np.int64)
        return np.asarray(self.there.sum(axis=1), dtype=np.int64)

    @cached_property
    def swapping(self) -> Integers:
        """The values to subtract, shape (K, M); for means and sums, clusters are added up first."""
        if self.clusters is None or self.n_clusters is None or not self.linear:
            return self.values
        return np.ascontiguousarray(sum_by_cluster(self.values.T, self.clusters, self.n_clusters).T)

    @property
    def linear(self) -> bool:
        """Whether the statistic is a difference of means or sums."""
        return self.spec.name in {"mean_difference", "sum_difference"}

    def items(self, u: int, v: int) -> int:
        """How many items both have."""
        return self.values.shape[1] if self.there is None else int((self.there[u] & self.there[v]).sum())

    def effects(self, u: int, v: int) -> Integers:
        """The effect of each unit with the systems as observed, shape (M,)."""
        difference: Integers = self.swapping[u] - self.swapping[v]
        if self.there is not None:
            difference = difference[self.there[u] & self.there[v]]
        if self.linear:
            return difference
        if self.spec.name == "sign":
            effects = np.asarray(np.sign(difference), dtype=np.int64)
        else:
            effects, _ = signed_ranks(difference, str(self.spec.parameters.get("zero_method") or "wilcox"))
        if self.clusters is None or self.n_clusters is None:
            return effects
        return sum_by_cluster(effects, self.clusters, self.n_clusters)

    def signs(self, u: Integers, v: Integers) -> tuple[Integers, Integers, Integers]:
        """Of m pairs of a sign test: the items that both have, those with a larger value of u, of v; shape (m,) each."""
        counts = np.zeros((3, len(u)), dtype=np.int64)
        for at, pair in enumerate(zip(u.tolist(), v.tolist(), strict=True)):
            effects = self.effects(*pair)
            counts[:, at] = len(effects), np.count_nonzero(effects > 0), np.count_nonzero(effects < 0)
        return counts[0], counts[1], counts[2]

    @property
    def are_signs(self) -> bool:
        """Whether pairs are sign tests of single items, which are binomial."""
        return self.spec.name == "sign" and self.clusters is None

    def step(self, items: int) -> Fraction:
        """The change of a pair's statistic per unit of an effect, for this many items."""
        if self.spec.name == "sign":
            return Fraction(1)
        if self.spec.name == "signed_rank":
            return Fraction(1, 2)
        return self.unit / items if self.spec.name == "mean_difference" else self.unit


def integer_systems(systems: Systems, spec: StatisticSpec) -> IntegerSystems | None:
    """The systems on one lattice; None if they are not scores, or no 64-bit lattice holds them."""
    pairing = systems.pairing
    if systems.kind != "scores" or spec.name not in _STATISTICS or spec.parameters.get("unit") is not None:
        return None
    if systems.weights is not None:
        return None
    columns = list(systems.columns.values())
    if not all(isinstance(column, np.ndarray) and len(column) for column in columns):
        return None
    clusters = None if single_items(pairing) else pairing.clusters
    if clusters is not None and systems.present:
        return None  # the members of a cluster differ from pair to pair
    lattice = _common_lattice(cast("list[Column]", columns))
    size = _size(systems)
    if lattice is None or size is None:
        return None
    unit, whole = lattice
    values, there = np.zeros((len(columns), size), dtype=np.int64), None
    if systems.present:
        there = np.zeros((len(columns), size), dtype=np.bool_)
    for at, (name, column) in enumerate(zip(systems.names, whole, strict=True)):
        where = systems.present.get(name, slice(None))
        values[at, where] = column
        if there is not None:
            there[at, where] = True
    return IntegerSystems(
        spec, values, there, unit, clusters, pairing.n_clusters if clusters is not None else None
    )


def _size(systems: Systems) -> int | None:
    """N; None if the columns do not agree on it."""
    complete = {len(column) for name, column in systems.columns.items() if name not in systems.present}
    if systems.pairing.clusters is not None:
        complete.add(len(systems.pairing.clusters))
    if len(complete) > 1:
        return None
    return max([*complete, *(int(items[-1]) + 1 for items in systems.present.values())])


def _common_lattice(columns: Sequence[Column]) -> tuple[Fraction, Sequence[Integers]] | None:
    """(unit, integers) of all columns; None if they have no common decimal unit, or are too large to be added.

    Scores with more digits are read as doubles and compared pair by pair.
    """
    if is_integral(*columns):
        unit, whole = Fraction(1), tuple(column.astype(np.int64, copy=False) for column in columns)
    else:
        integral = (column for column in columns if column.dtype == np.int64)
        if any(_largest(column) > EXACT_DOUBLE for column in integral):
            return None
        plain = decimal_lattice(*(column.astype(np.float64) for column in columns))
        if plain is None:
            return None
        unit, whole = plain
    room = sum(_largest(column) * len(column) for column in whole)
    return (unit, whole) if room < MAX_INTEGER else None


def _largest(column: Column) -> int:
    return int(max(abs(int(column.max(initial=0))), abs(int(column.min(initial=0)))))
