"""Counts of rank correlations under the swaps: concordant pairs of each system, and the ties of its scores.

A correlation is the sum over terms of weight * N / R: N counts pairs as the kernels do, R = sqrt(D G) depends on gold and on which of
the system's scores tie. N_U - N_V is linear in the swaps; N_U + N_V is quadratic in their signs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import gcd, isqrt

import numpy as np
from numpy.typing import NDArray

from ...engine.lattice import Integers
from .kernels import Gold, kendall, midranks_by_group
from .order import Placed

# Larger groups are counted swap by swap, because a table of all pairs would take 64 MB.
_MOST_IN_A_TABLE = 4_000
# The bits of an irrational root: it scales t and its scores, and does not affect decisions.
_ROOT_BITS = 128
# Values whose ties are counted at once, few enough for the cache.
_COUNTED_AT_ONCE = 1 << 18
Swaps = NDArray[np.bool_]


def root_of(square: int) -> Fraction:
    """Return the square root of a positive integer: exact where rational, else approximate."""
    root = isqrt(square)
    if root * root == square:
        return Fraction(root)
    return Fraction(isqrt(square << 2 * _ROOT_BITS), 1 << _ROOT_BITS)


@dataclass(frozen=True, slots=True)
class States:
    """For P swaps and k groups: N_U - N_V, and the effect of each system's ties on the denominators; shape (P, k)
    each.
    """

    apart: Integers
    below_u: Integers
    below_v: Integers


@dataclass(frozen=True, slots=True)
class _Pairs:
    """N_U + N_V = base + s' table s / 2 for signs s of a group's items, which differs from base by at most `most`.

    Shape (k,) each; `most` is -1 for a group that is too large, and rho keeps no tables.
    """

    base: Integers
    most: Integers
    tables: dict[int, NDArray[np.float32]]


def _apart(values: NDArray[np.int32], others: NDArray[np.int32], rows: slice) -> NDArray[np.int32]:
    """Return all differences in each group of some rows of `values` from `others`, shape (g, rows, n)."""
    return np.asarray(values[:, rows, None] - others[:, None])


def _signs(values: NDArray[np.int32], others: NDArray[np.int32], rows: slice) -> NDArray[np.int8]:
    return np.asarray(np.sign(_apart(values, others, rows)), dtype=np.int8)


@dataclass(frozen=True)
class TieCounts:
    """The scores of two systems by the cells that they tie in; items in the order of their groups, shape (N,).

    `measure` is rho, tau_b or tau_c. `u` and `v` are cells, one for each distinct value of a group, ascending; `cells`
    and `starts`, shape (k + 1,), are where each group's cells and items begin. `effects` are those of N_U - N_V; `unit`
    is the unit with which an item swaps. `fixed` groups have the denominator without ties under every swap. `term` is
    the quotient to which a group is added, and `weights` are those of the quotients.
    """

    name: str
    measure: str
    u: Integers
    v: Integers
    cells: Integers
    starts: Integers
    gold: Gold
    effects: Integers
    unit: Integers
    fixed: NDArray[np.bool_]
    term: Integers
    weights: tuple[Fraction, ...]
    items: int
    clusters: int | None = None

    @cached_property
    def sizes(self) -> Integers:
        """The number of items of each group, shape (k,)."""
        return np.diff(self.starts)

    @cached_property
    def swapping(self) -> tuple[int, Integers]:
        """Return the number of units that a swap changes, and the index among them of each item; that number for the
        other items.
        """
        codes, unit = np.unique(self.unit, return_inverse=True)
        unit = unit.reshape(-1)
        # A unit with equally many items in a cell before and after is unchanged.
        width = int(self.cells[-1])
        keys, where = np.unique(
            np.concatenate([unit * width + self.u, unit * width + self.v]), return_inverse=True
        )
        moved = np.zeros(len(keys), dtype=np.int64)
        np.add.at(moved, where.reshape(-1), np.repeat([1, -1], len(unit)))
        effects = np.zeros(len(codes), dtype=np.int64)
        np.add.at(effects, unit, np.abs(self.effects))
        changes = effects > 0
        changes[(keys // width)[moved != 0]] = True
        by_unit = np.full(len(codes), int(changes.sum()))
        by_unit[changes] = np.arange(int(changes.sum()))
        return int(changes.sum()), np.asarray(by_unit[unit])

    @cached_property
    def gold_below(self) -> list[int]:
        """For each group: twice the pairs of unlike gold for tau_b, the same in cubes for rho, classes for tau_c."""
        counts = [
            np.bincount(self.gold.rank[a:b]) for a, b in zip(self.starts, self.starts[1:], strict=False)
        ]
        if self.measure == "tau_c":
            return [int(np.count_nonzero(sizes)) for sizes in counts]
        power = self._power
        return [
            int(sizes.sum()) ** power - int(sizes.sum()) - sum(t**power - t for t in sizes.tolist())
            for sizes in counts
        ]

    @property
    def _power(self) -> int:
        return 3 if self.measure == "rho" else 2

    @cached_property
    def _factor(self) -> Fraction:
        return Fraction(3, 2) if self.measure == "rho" else Fraction(1)

    @cached_property
    def _gold_of_terms(self) -> list[int]:
        totals = [0] * len(self.weights)
        for term, below in zip(self.term.tolist(), self.gold_below, strict=True):
            totals[term] += below
        return totals

    def constant_divisors(self) -> tuple[list[Fraction], Fraction] | None:
        """Return (the divisor of N in each group, a factor of all quotients); None where swaps, or unlike roots, rule
        out one sum.

        Added groups have divisors that add up to that of their sum.
        """
        moving = self.u != self.v
        cells = int(self.cells[-1])
        come = np.bincount(np.concatenate([self.u[moving], self.v[moving]]), minlength=cells)
        stay = np.bincount(self.u[~moving], minlength=cells)
        group = np.repeat(np.arange(len(self.sizes)), np.diff(self.cells))
        loose = np.zeros(len(self.sizes), dtype=bool)
        loose[group[(come > 0) & (come + stay > 1)]] = True
        below = self._below(np.bincount(self.u, minlength=cells)[None])[0].tolist()
        if self.measure == "tau_c":
            loose &= ~self._has_all_classes(come + stay)
        # 0 / 0 counts as 0 in the mean, which no divisor expresses.
        if (loose & ~self.fixed).any() or (self.measure == "tau_c" and min(below) < 2):
            return None
        if self.measure == "tau_c":
            return [
                Fraction(int(n) ** 2 * (m - 1), m) for n, m in zip(self.sizes, below, strict=True)
            ], Fraction(1)
        if len(self.weights) < len(below):
            of_all = sum(below) * sum(self.gold_below)
            if of_all == 0:
                return None
            # Any shares are valid.
            return [Fraction(1, len(below))] * len(below), self._factor / root_of(of_all)
        squares = [x * y for x, y in zip(below, self.gold_below, strict=True)]
        like = [isqrt(squares[0] * square) for square in squares]
        if 0 in squares or any(
            part * part != squares[0] * square for part, square in zip(like, squares, strict=True)
        ):
            return None
        common = gcd(*like)
        return [Fraction(part // common) for part in like], self._factor * root_of(squares[0]) / common

    def _has_all_classes(self, most: Integers) -> NDArray[np.bool_]:
        """Return, for each group, whether U has as many values as gold has classes under every swap; `most` items can
        be in a cell.
        """
        enough = []
        for a, b, classes, n in zip(self.cells, self.cells[1:], self.gold_below, self.sizes, strict=False):
            largest = np.cumsum(np.sort(most[a:b])[::-1])
            enough.append(int(np.searchsorted(largest, n)) + 1 >= classes)
        return np.array(enough)

    def swapped(self, swaps: Swaps) -> Swaps:
        """Return which items are swapped, for swaps of the units of `swapping`, shape (P, units); shape (P, N)."""
        kept = np.concatenate([swaps, np.zeros((len(swaps), 1), dtype=bool)], axis=1)
        return np.asarray(kept[:, self.swapping[1]])

    def _parts(self, each: Swaps) -> Iterator[Swaps]:
        """Split swaps of items into parts whose ties are counted at once."""
        rows = max(_COUNTED_AT_ONCE // (len(self.u) + int(self.cells[-1])), 1)
        return (each[first : first + rows] for first in range(0, len(each), rows))

    def states(self, each: Swaps) -> States:
        """Return the states of swaps of items, shape (P, N)."""
        parts = [self._states(part) for part in self._parts(each)]
        return States(
            np.concatenate([part.apart for part in parts]),
            np.concatenate([part.below_u for part in parts]),
            np.concatenate([part.below_v for part in parts]),
        )

    def _states(self, each: Swaps) -> States:
        apart = np.add.reduceat(self.effects - each * (2 * self.effects), self.starts[:-1], axis=1)
        counts = self._counts(each)
        return States(apart, self._below(counts), self._below(self._pooled - counts))

    @cached_property
    def _pooled(self) -> Integers:
        return np.asarray(np.bincount(np.concatenate([self.u, self.v]), minlength=int(self.cells[-1])))

    def _counts(self, each: Swaps, weights: Integers | None = None) -> Integers:
        """Count U's values in each cell, or sum the weights of their items; shape (P, C)."""
        width = int(self.cells[-1])
        # Several times as fast as a choice of u or v.
        at = each * (self.v - self.u) + (self.u + width * np.arange(len(each))[:, None])
        shares = None if weights is None else np.broadcast_to(weights, each.shape).reshape(-1)
        counts = np.bincount(at.reshape(-1), shares, minlength=width * len(each)).reshape(len(each), width)
        return np.asarray(counts.astype(np.int64, copy=False))

    def _below(self, counts: Integers) -> Integers:
        first, n = self.cells[:-1], self.sizes
        if self.measure == "tau_c":
            distinct = np.add.reduceat((counts > 0).astype(np.int64), first, axis=1)
            distinct = np.where(self.fixed, n, distinct)
            return np.asarray(np.minimum(distinct, np.array(self.gold_below)), dtype=np.int64)
        # t^2 - t, or t^3 - t.
        cubes = counts * (counts - 1) * (counts + 1 if self._power == 3 else 1)
        ties = np.add.reduceat(cubes, first, axis=1)
        return np.asarray(n**self._power - n - np.where(self.fixed, 0, ties))

    def both(self, each: Swaps) -> Integers:
        """Return N_U + N_V of each group, shape (P, k)."""
        if self.measure == "rho":
            return np.concatenate([self._both_of_rho(part) for part in self._parts(each)])
        return self._both_of_tau(each)

    def _both_of_rho(self, each: Swaps) -> Integers:
        """Return 2 sum_i G_i (values below x_i less those above), by counting in cells."""
        doubled = midranks_by_group(self.gold)
        counts, sums = self._counts(each), self._counts(each, doubled)
        all_sums = np.bincount(np.concatenate([self.u, self.v]), np.tile(doubled, 2), int(self.cells[-1]))
        total = np.zeros((len(each), len(self.sizes)), dtype=np.int64)
        for held, weighed in ((counts, sums), (self._pooled - counts, all_sums.astype(np.int64) - sums)):
            upto = np.cumsum(held, axis=1)
            before = self.starts[:-1]
            sign = 2 * upto - held - np.repeat(2 * before + self.sizes, np.diff(self.cells))
            total += 2 * np.add.reduceat(weighed * sign, self.cells[:-1], axis=1)
        return total

    def _both_of_tau(self, each: Swaps) -> Integers:
        columns = []
        for group, (a, b) in enumerate(zip(self.starts.tolist(), self.starts.tolist()[1:], strict=False)):
            if b - a <= _MOST_IN_A_TABLE:
                base, table = int(self._pairs.base[group]), self._pairs.tables[group]
                signs = np.where(each[:, a:b], np.float32(-1), np.float32(1))
                quadratic = ((signs @ table) * signs).sum(axis=1, dtype=np.float64)
                columns.append(base + np.rint(quadratic / 2).astype(np.int64))
            else:
                columns.append(np.array([self._counted(row[a:b], a, b) for row in each], dtype=np.int64))
        return np.stack(columns, axis=1)

    @cached_property
    def _pairs(self) -> _Pairs:
        """The pairs of all groups that are not too large."""
        k = len(self.sizes)
        pairs = _Pairs(np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64), {})
        rank = midranks_by_group(self.gold) if self.measure == "rho" else self.gold.rank
        for n in np.unique(self.sizes[self.sizes <= _MOST_IN_A_TABLE]).tolist():
            alike = np.flatnonzero(self.sizes == n)
            step, height = max(_COUNTED_AT_ONCE // (n * n), 1), max(_COUNTED_AT_ONCE // n, 1)
            for first in range(0, len(alike), step):
                groups = alike[first : first + step]
                at = self.starts[groups][:, None] + np.arange(n)
                u, v, gold = (column[at].astype(np.int32) for column in (self.u, self.v, rank))
                tables = np.empty((len(groups), 0 if self.measure == "rho" else n, n), dtype=np.float32)
                for row in range(0, n, height):
                    rows = slice(row, row + height)
                    order = _apart(gold, gold, rows) if self.measure == "rho" else _signs(gold, gold, rows)
                    like, unlike = (_signs(u, x, rows) + _signs(v, y, rows) for x, y in ((u, v), (v, u)))
                    pairs.base[groups] += ((like + unlike) * order).sum(axis=(1, 2), dtype=np.int64)
                    table = (like - unlike) * order
                    pairs.most[groups] += np.abs(table).sum(axis=(1, 2), dtype=np.int64)
                    if self.measure != "rho":
                        tables[:, rows] = table
                if self.measure != "rho":
                    pairs.tables.update(zip(groups.tolist(), tables, strict=True))
        known = self.sizes <= _MOST_IN_A_TABLE
        return replace(pairs, base=pairs.base // 2, most=np.where(known, pairs.most // 2, -1))

    def _counted(self, swapped: NDArray[np.bool_], a: int, b: int) -> int:
        gold = self.gold.take(np.arange(a, b))
        total = 0
        for x, y in ((self.u, self.v), (self.v, self.u)):
            code = np.where(swapped, y[a:b], x[a:b])
            system = Placed(code, code, code + 1)
            total += int(kendall((system,), (system,), gold).sum())
        return total

    def sums(self, states: States, both: Integers) -> list[Integers]:
        """Return the arguments of `function`, k arrays of shape (P,)."""
        above = (both + states.apart) // 2, (both - states.apart) // 2
        below = states.below_u, states.below_v
        if self.measure == "tau_c":
            above = above[0] * below[0], above[1] * below[1]
            n = self.sizes * self.sizes
            below = n * (below[0] - 1), n * (below[1] - 1)
        columns: list[Integers] = []
        for term in range(len(self.weights)):
            groups = self.term == term
            for top, bottom in zip(above, below, strict=True):
                # 0/0 is 0; so is 0/1, which needs no exact decision.
                columns += [top[:, groups].sum(axis=1), np.maximum(bottom[:, groups].sum(axis=1), 1)]
        return columns
