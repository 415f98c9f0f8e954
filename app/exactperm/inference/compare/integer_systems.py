"""Systems whose scores lie on one common lattice: a column of integers each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ...engine.lattice import EXACT_DOUBLE, Integers, decimal_lattice, sum_by_cluster
from ...statistics.numbers import MAX_INTEGER
from ...statistics.paired import Column, StatisticSpec, Systems
from ...statistics.problems import is_integral, single_items
from ...statistics.scores import signed_ranks

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
        """How many items each system has, shape (K,)."""
        if self.there is None:
            return np.full(len(self.values), self.values.shape[1], dtype=np.int64)
        return np.asarray(self.there.sum(axis=1), dtype=np.int64)

    @cached_property
    def swapping(self) -> Integers:
        """What differences are taken of, shape (K, M): for means and sums clusters are added up before."""
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

    def step(self, items: int) -> Fraction:
        """What one unit of an effect adds to the statistic of a pair with so many items."""
        if self.spec.name == "sign":
            return Fraction(1)
        if self.spec.name == "signed_rank":
            return Fraction(1, 2)
        return self.unit / items if self.spec.name == "mean_difference" else self.unit


def integer_systems(systems: Systems, spec: StatisticSpec) -> IntegerSystems | None:
    """The systems on one lattice; None where they are not scores, or where no 64-bit lattice holds all of them."""
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
        return None  # whom a cluster consists of differs from pair to pair
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
    return max([*complete, *(int(own[-1]) + 1 for own in systems.present.values())])


def _common_lattice(columns: Sequence[Column]) -> tuple[Fraction, Sequence[Integers]] | None:
    """(unit, integers) of all columns; None where they are no decimals together, or too large to be added.

    Scores with more digits are read as doubles where they are compared with others like them, pair by pair.
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
