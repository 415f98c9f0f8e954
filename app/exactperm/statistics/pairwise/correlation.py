"""Rank correlations whose denominators move with the swaps: Spearman's rho, Kendall's tau-b and tau-c of tied scores.

A system's value is the sum over terms of weight * N / R: N counts pairs as the kernels do, R = sqrt(D G) depends on gold and on
which of the system's scores tie. N_U - N_V is linear in the swaps, and so is D_U - D_V, but for a little of rho's; D_U + D_V and
N_U + N_V stay in narrow ranges. That decides on nearly all swaps by two products of matrices. On the others the counted ties
decide, as every R is at least as large as |N| (Cauchy & Schwarz for rho and tau-b), and last N_U + N_V.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import fsum, gcd, isqrt, sqrt

import numpy as np
from numpy.typing import NDArray

from ...engine.lattice import Integers, Reals
from ...engine.probability import Alternative
from ...engine.quantiles.swaps import random_swaps
from .. import formula
from ..quantity import Formula
from ..sum_function import FunctionOf
from .kernels import Gold, kendall, midranks_by_group
from .order import Placed

# A group of more items is counted swap by swap: a table of all its pairs would take 64 MB.
_MOST_IN_A_TABLE = 4_000
# A filter in doubles leaves what is so near to the observed value to exact decisions.
_NEAR = 1e-9
# Of an irrational root so many bits are kept: it scales t and its scores, and decides nothing.
_ROOT_BITS = 128
# Of so many swaps the means are taken, and the work of others is predicted; with a seed that no request can have.
_TRIED, _SEED = 64, 1 << 100
# Of up to so many swaps the sums are looked at, as long as these are so many coins.
_SUMMED, _COINS = 1_024, 1 << 22
# Values whose ties are counted at once: so many stay in the cache.
_COUNTED_AT_ONCE = 1 << 18
# A product of matrices has about so many units where groups are smaller, and all have no more cells for an item than these.
_UNITS_OF_A_PRODUCT, _MOST_CELLS = 16, 16
# Sums of sixteenths below this are exact in single precision.
_SINGLE = 1 << 20
Swaps = NDArray[np.bool_]


def root_of(square: int) -> Fraction:
    """The square root of a positive integer: exactly where it is one, else nearly."""
    root = isqrt(square)
    if root * root == square:
        return Fraction(root)
    return Fraction(isqrt(square << 2 * _ROOT_BITS), 1 << _ROOT_BITS)


@dataclass(frozen=True, slots=True)
class States:
    """Of P swaps and k groups: N_U - N_V, and what the ties of each system make of the denominators; shape (P, k) each."""

    apart: Integers
    below_u: Integers
    below_v: Integers


@dataclass(frozen=True, slots=True)
class _Pairs:
    """N_U + N_V = base + s' table s / 2 for signs s of a group's items, which differs from base by at most `most`.

    Shape (k,) each; `most` is -1 of a group that is too large, and rho keeps no tables.
    """

    base: Integers
    most: Integers
    tables: dict[int, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class _Sums:
    """What is linear in the swaps, and how far the rest can be from it, for the groups of each term.

    `products` are (first unit, last, first group, last, matrix): signs of units times the matrix give N_U - N_V of these groups,
    then D_U - D_V, when `rest`, shape (2, k), is added. The true D_U - D_V is within `off`, shape (terms,), and D_U + D_V is in `whole`,
    shape (2, terms).
    """

    units: Integers
    products: list[tuple[int, int, int, int, NDArray[np.floating]]]
    kind: type[np.floating]
    rest: Reals
    off: Reals
    whole: Reals


def _outer(one: tuple[Reals, Reals], other: tuple[Reals, Reals]) -> tuple[Reals, Reals]:
    """The least and the greatest product of numbers between the ends of two ranges."""
    ends = [x * y for x in one for y in other]
    return np.minimum(np.minimum(*ends[:2]), np.minimum(*ends[2:])), np.maximum(
        np.maximum(*ends[:2]), np.maximum(*ends[2:])
    )


def _apart(one: NDArray[np.int32], other: NDArray[np.int32], rows: slice) -> NDArray[np.int32]:
    """Of each group all differences, of some items in `one`, shape (g, rows, n)."""
    return np.asarray(one[:, rows, None] - other[:, None])


def _signs(one: NDArray[np.int32], other: NDArray[np.int32], rows: slice) -> NDArray[np.int8]:
    return np.asarray(np.sign(_apart(one, other, rows)), dtype=np.int8)


@dataclass(frozen=True)
class Correlation:
    """A rank correlation as a function of the swaps; items in the order of their groups, shape (N,).

    `measure` is rho, tau_b or tau_c. `u` and `v` are cells, one for each distinct value of a group, ascending; `cells` and `starts`,
    shape (k + 1,), are where each group's cells and items begin. `effects` are those of N_U - N_V; `unit` says with which unit
    an item swaps. `fixed` groups have the denominator of no ties, whatever is swapped. `term` says which groups are added before they
    are divided, `weights` how much each quotient counts.
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
        """Items of each group, shape (k,)."""
        return np.diff(self.starts)

    @cached_property
    def swapping(self) -> tuple[int, Integers]:
        """How many units a swap changes, and which of them, in order, each item belongs to; their number for the others."""
        codes, unit = np.unique(self.unit, return_inverse=True)
        unit = unit.reshape(-1)
        # A unit with as many of its items in a cell before and after is as it was.
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

    @property
    def by_unit(self) -> Reals:
        """What each unit adds to the numerators, weighed as its groups are; shape (M,)."""
        units = self.items if self.clusters is None else self.clusters
        found = np.zeros(units)
        group = np.repeat(np.arange(len(self.sizes)), self.sizes)
        np.add.at(found, self.unit, self.effects / self._most[group])
        return found

    @property
    def _most(self) -> Reals:
        """The largest numerator of each group, but for a factor; the same for all groups that are added."""
        own = self.sizes.astype(np.float64) ** self._power
        return own if len(self.weights) == len(own) else np.ones(len(own))

    @cached_property
    def gold_below(self) -> list[int]:
        """Of each group: pairs of unlike gold (twice) of tau_b, the same of cubes of rho, classes of tau_c."""
        counts = [
            np.bincount(self.gold.rank[a:b]) for a, b in zip(self.starts, self.starts[1:], strict=False)
        ]
        if self.measure == "tau_c":
            return [int(np.count_nonzero(own)) for own in counts]
        power = self._power
        return [
            int(own.sum()) ** power - int(own.sum()) - sum(t**power - t for t in own.tolist())
            for own in counts
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

    @cached_property
    def function(self) -> FunctionOf:
        """t of the sums N_U, D_U, N_V, D_V of each term, in this order."""
        parts = []
        for term, (weight, gold) in enumerate(zip(self.weights, self._gold_of_terms, strict=True)):
            values = [
                formula.divide(formula.variable(top), self._root(formula.variable(top + 1), gold))
                for top in (4 * term, 4 * term + 2)
            ]
            parts += [
                formula.scale(value, sign * weight * self._factor)
                for sign, value in zip((1, -1), values, strict=True)
            ]
        return FunctionOf(Formula(formula.add(*parts)))

    def _root(self, below: formula.Node, gold: int) -> formula.Node:
        if self.measure == "tau_c":
            return below
        return formula.call("sqrt", [formula.scale(below, Fraction(gold))])

    def constant_divisors(self) -> tuple[list[Fraction], Fraction] | None:
        """(what N of each group is divided by, a factor of all quotients); None where swaps, or unlike roots, make it no sum.

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
        # 0 / 0 counts as 0 in the mean, which no divisor says.
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
            # Any shares will do.
            return [Fraction(1, len(below))] * len(below), self._factor / root_of(of_all)
        squares = [one * other for one, other in zip(below, self.gold_below, strict=True)]
        like = [isqrt(squares[0] * square) for square in squares]
        if 0 in squares or any(
            one * one != squares[0] * square for one, square in zip(like, squares, strict=True)
        ):
            return None
        common = gcd(*like)
        return [Fraction(one // common) for one in like], self._factor * root_of(squares[0]) / common

    def _has_all_classes(self, most: Integers) -> NDArray[np.bool_]:
        """Of each group: whether U has as many values as gold has classes under every swap; `most` items can be in a cell."""
        enough = []
        for a, b, classes, n in zip(self.cells, self.cells[1:], self.gold_below, self.sizes, strict=False):
            largest = np.cumsum(np.sort(most[a:b])[::-1])
            enough.append(int(np.searchsorted(largest, n)) + 1 >= classes)
        return np.array(enough)

    def swapped(self, swaps: Swaps) -> Swaps:
        """Which items are swapped, for swaps of the units of `swapping`, shape (P, units); shape (P, N)."""
        kept = np.concatenate([swaps, np.zeros((len(swaps), 1), dtype=bool)], axis=1)
        return np.asarray(kept[:, self.swapping[1]])

    def exchanged(self, swaps: NDArray[np.bool_]) -> Correlation:
        """The outcome with some units of `swapping` swapped, shape (units,)."""
        each = self.swapped(swaps[None])[0]
        return replace(
            self,
            u=np.where(each, self.v, self.u),
            v=np.where(each, self.u, self.v),
            effects=np.where(each, -self.effects, self.effects),
        )

    def _parts(self, each: Swaps) -> Iterator[Swaps]:
        """Swaps of items whose ties are counted at once."""
        rows = max(_COUNTED_AT_ONCE // (len(self.u) + int(self.cells[-1])), 1)
        return (each[first : first + rows] for first in range(0, len(each), rows))

    def states(self, each: Swaps) -> States:
        """Of swaps of items, shape (P, N)."""
        parts = [self._states(part) for part in self._parts(each)]
        return States(
            np.concatenate([part.apart for part in parts]),
            np.concatenate([part.below_u for part in parts]),
            np.concatenate([part.below_v for part in parts]),
        )

    def _states(self, each: Swaps) -> States:
        apart = np.add.reduceat(np.where(each, -self.effects, self.effects), self.starts[:-1], axis=1)
        counts = self._counts(each)
        return States(apart, self._below(counts), self._below(self._pooled - counts))

    @cached_property
    def _pooled(self) -> Integers:
        return np.asarray(np.bincount(np.concatenate([self.u, self.v]), minlength=int(self.cells[-1])))

    def _counts(self, each: Swaps, weights: Integers | None = None) -> Integers:
        """How many of U's values are in each cell, or the sum of their items' weights; shape (P, C)."""
        width = int(self.cells[-1])
        at = np.where(each, self.v, self.u) + width * np.arange(len(each))[:, None]
        shares = None if weights is None else np.broadcast_to(weights, each.shape).reshape(-1)
        found = np.bincount(at.reshape(-1), shares, minlength=width * len(each)).reshape(len(each), width)
        return np.asarray(found.astype(np.int64, copy=False))

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
        """N_U + N_V of each group, shape (P, k)."""
        if self.measure == "rho":
            return np.concatenate([self._both_of_rho(part) for part in self._parts(each)])
        return self._both_of_tau(each)

    def _both_of_rho(self, each: Swaps) -> Integers:
        """2 sum_i G_i (values below x_i less those above), by counting in cells."""
        doubled = midranks_by_group(self.gold)
        counts, sums = self._counts(each), self._counts(each, doubled)
        all_sums = np.bincount(np.concatenate([self.u, self.v]), np.tile(doubled, 2), int(self.cells[-1]))
        total = np.zeros((len(each), len(self.sizes)), dtype=np.int64)
        for own, weighed in ((counts, sums), (self._pooled - counts, all_sums.astype(np.int64) - sums)):
            upto = np.cumsum(own, axis=1)
            before = self.starts[:-1]
            sign = 2 * upto - own - np.repeat(2 * before + self.sizes, np.diff(self.cells))
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
        """The pairs of all groups that are not too large for it."""
        k = len(self.sizes)
        found = _Pairs(np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64), {})
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
                    like, unlike = (
                        _signs(u, one, rows) + _signs(v, other, rows) for one, other in ((u, v), (v, u))
                    )
                    found.base[groups] += ((like + unlike) * order).sum(axis=(1, 2), dtype=np.int64)
                    table = (like - unlike) * order
                    found.most[groups] += np.abs(table).sum(axis=(1, 2), dtype=np.int64)
                    if self.measure != "rho":
                        tables[:, rows] = table
                if self.measure != "rho":
                    found.tables.update(zip(groups.tolist(), tables, strict=True))
        known = self.sizes <= _MOST_IN_A_TABLE
        return replace(found, base=found.base // 2, most=np.where(known, found.most // 2, -1))

    def _counted(self, swapped: NDArray[np.bool_], a: int, b: int) -> int:
        gold = self.gold.take(np.arange(a, b))
        total = 0
        for one, other in ((self.u, self.v), (self.v, self.u)):
            code = np.where(swapped, other[a:b], one[a:b])
            system = Placed(code, code, code + 1)
            total += int(kendall((system,), (system,), gold).sum())
        return total

    def sums(self, states: States, both: Integers) -> list[Integers]:
        """What `function` takes, k arrays of shape (P,)."""
        above = (both + states.apart) // 2, (both - states.apart) // 2
        below = states.below_u, states.below_v
        if self.measure == "tau_c":
            above = above[0] * below[0], above[1] * below[1]
            n = self.sizes * self.sizes
            below = n * (below[0] - 1), n * (below[1] - 1)
        columns: list[Integers] = []
        for term in range(len(self.weights)):
            own = self.term == term
            for top, bottom in zip(above, below, strict=True):
                # 0/0 is 0, and so is 0/1, which needs no exact decision.
                columns += [top[:, own].sum(axis=1), np.maximum(bottom[:, own].sum(axis=1), 1)]
        return columns

    @cached_property
    def observed(self) -> list[int]:
        """The sums as observed."""
        each = np.zeros((1, len(self.u)), dtype=bool)
        return [int(column[0]) for column in self.sums(self.states(each), self.both(each))]

    def _score(self, system: int) -> float:
        """A system's value."""
        sums = list(self.observed)
        for term in range(len(self.weights)):
            sums[4 * term + 2 * (1 - system)] = 0
        value = float(self.function.values([np.array([x]) for x in sums])[0])
        return value if system == 0 else -value + 0.0

    @cached_property
    def score_u(self) -> float:
        """U's value."""
        return self._score(0)

    @cached_property
    def score_v(self) -> float:
        """V's value."""
        return self._score(1)

    @cached_property
    def difference(self) -> float:
        """t as observed."""
        return float(self.function.values([np.array([x]) for x in self.observed])[0])

    @cached_property
    def sign(self) -> int:
        """The sign of t as observed, exactly."""
        mirrored = [np.array([self.observed[4 * (k // 4) + (k + 2) % 4]]) for k in range(len(self.observed))]
        start = np.array(self.observed)
        up = bool(self.function.extreme(mirrored, start, "less").all())
        return int(up) - int(bool(self.function.extreme(mirrored, start, "greater").all()))

    def extreme(self, swaps: Swaps, side: Alternative) -> NDArray[np.bool_]:
        """Which swaps of the units of `swapping`, shape (P, units), are at least as extreme as the data."""
        yes, no = self._decided_by_sums(swaps, side)
        at = np.flatnonzero(~(yes | no))
        if len(at):
            yes[at] = self._extreme(self.swapped(swaps[at]), side)
        return yes

    def _extreme(self, each: Swaps, side: Alternative) -> NDArray[np.bool_]:
        """The same of swaps of items, by their ties."""
        states = self.states(each)
        yes, no = self._decided(states, side)
        at = np.flatnonzero(~(yes | no))
        if len(at):
            some = States(states.apart[at], states.below_u[at], states.below_v[at])
            both = self.both(each[at])
            more, less = self._compared(*self._range(some, both), side)
            yes[at] = more
            near = np.flatnonzero(~(more | less))
            if len(near):
                columns = [column[near] for column in self.sums(some, both)]
                yes[at[near]] = self.function.extreme(columns, np.array(self.observed), side)
        return np.asarray(yes)

    @cached_property
    def _sums(self) -> _Sums | None:
        """None of tau_c, whose denominators count distinct values, and where clusters meet too many groups."""
        if self.measure == "tau_c":
            return None
        k, n, power = len(self.sizes), self.sizes, self._power
        group = np.repeat(np.arange(k), n)
        moving = self.u != self.v
        width = int(self.cells[-1])
        # Of a cell's P values c are U's: |2 c - P| is at most `come`, and odd as it is.
        come = np.bincount(np.concatenate([self.u[moving], self.v[moving]]), minlength=width)
        held, squares = self._pooled, np.stack([come * come, come % 2])
        if power == 2:
            ties, slope, off = (held * held + squares) // 2 - held, held.astype(np.float64), np.zeros(width)
        else:
            # With d = 2 c - P, the cubes differ by d (3 P^2 + d^2) / 4: the best line through d^3 is 3 / 4 come^2 d.
            ties = held * ((held * held + 3 * squares) // 4 - 1)
            slope, off = 0.75 * held * held + 0.1875 * come * come, come**3 / 16.0
        whole = 2 * (n**power - n) - np.where(self.fixed, 0, np.add.reduceat(ties, self.cells[:-1], axis=1))
        off = np.where(self.fixed, 0.0, np.add.reduceat(off, self.cells[:-1]))
        effects = np.stack(
            [self.effects, np.where(self.fixed[group], 0.0, slope[self.v] - slope[self.u])], axis=1
        )
        count, of_item = self.swapping
        swaps = of_item < count
        rest = np.add.reduceat(np.where(swaps[:, None], 0.0, effects), self.starts[:-1]).T
        most = np.add.reduceat(np.abs(effects), self.starts[:-1]).max(initial=0.0)
        kind: type[np.floating] = np.float32 if most < _SINGLE else np.float64
        # Units in the order of their first groups.
        units, where = np.unique(of_item[swaps], return_index=True)
        order = np.argsort(where, kind="stable")
        place = np.empty(count, dtype=np.int64)
        place[units[order]] = np.arange(count)
        products: list[tuple[int, int, int, int, NDArray[np.floating]]] = []
        step, cells = max(_UNITS_OF_A_PRODUCT * k // max(len(self.u), 1), 1), 0
        for first in range(0, k, step):
            last = min(first + step, k)
            items = np.arange(self.starts[first], self.starts[last])
            items = items[swaps[items]]
            if len(items) == 0:
                continue
            at = place[of_item[items]]
            a, b, groups = int(at.min()), int(at.max()) + 1, last - first
            cells += 2 * groups * (b - a)
            if cells > _MOST_CELLS * len(self.u):
                return None
            matrix = np.zeros((b - a, 2 * groups))
            np.add.at(matrix, (at - a, group[items] - first), effects[items, 0])
            np.add.at(matrix, (at - a, group[items] - first + groups), effects[items, 1])
            products.append((a, b, first, last, matrix.astype(kind)))
        return _Sums(units[order], products, kind, rest, self._by_term(off[None])[0], self._by_term(whole))

    @cached_property
    def _both_between(self) -> Reals:
        """N_U + N_V of each term is between these, shape (2, terms)."""
        pairs = self._pairs
        most = np.where(pairs.most < 0, np.inf, pairs.most)
        return self._by_term(np.stack([pairs.base - most, pairs.base + most]))

    def _decided_by_sums(
        self, swaps: Swaps, side: Alternative
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(certainly extreme, certainly not) by the sums alone, for swaps of units; shape (P,) each."""
        sums = self._sums
        if sums is None:
            return np.zeros(len(swaps), dtype=bool), np.zeros(len(swaps), dtype=bool)
        if not np.array_equal(sums.units, np.arange(len(sums.units))):
            swaps = swaps[:, sums.units]
        signs = swaps.astype(sums.kind)
        signs *= -2
        signs += 1
        linear = np.zeros((len(swaps), *sums.rest.shape))
        for a, b, first, last, matrix in sums.products:
            linear[:, :, first:last] = (signs[:, a:b] @ matrix).reshape(len(swaps), 2, last - first)
        linear += sums.rest
        apart, differ = self._by_term(linear[:, 0]), self._by_term(linear[:, 1])
        # Where D may be 0, N is 0 with it, and 1 does as well for D.
        off = sums.off + (sums.whole[0] - np.abs(differ) - sums.off < 2.0)
        less, more = differ - off, differ + off
        (u_low, u_high), (v_low, v_high) = (
            [
                self._roots_of(np.maximum(0.5 * (whole + end), 1.0))
                for whole, end in zip(sums.whole, ends, strict=True)
            ]
            for ends in ((less, more), (-more, -less))
        )
        # 1 / R_U - 1 / R_V = (D_V - D_U) G / (R_U R_V (R_U + R_V)).
        gold = self._roots_of(np.ones(len(self.weights))) ** 2
        steep, flat = (
            gold / (one * other * (one + other)) for one, other in ((u_low, v_low), (u_high, v_high))
        )
        falling = _outer((less, more), (flat, steep))
        both = self._both_by_apart(apart, u_high, v_high)
        means = _outer((apart, apart), (1.0 / u_high + 1.0 / v_high, 1.0 / u_low + 1.0 / v_low))
        slopes = _outer((-falling[1], -falling[0]), both)
        weights = 0.5 * np.array([float(weight) for weight in self.weights])
        return self._compared((means[0] + slopes[0]) @ weights, (means[1] + slopes[1]) @ weights, side)

    def _both_by_apart(self, apart: Reals, most_u: Reals, most_v: Reals) -> tuple[Reals, Reals]:
        """N_U + N_V of each term is between these where N_U - N_V and the largest |N_U| and |N_V| are known, shape (P, terms)."""
        low, high = self._both_between
        return (
            np.maximum(np.maximum(-2.0 * most_u - apart, -2.0 * most_v + apart), low),
            np.minimum(np.minimum(2.0 * most_u - apart, 2.0 * most_v + apart), high),
        )

    def _decided(self, states: States, side: Alternative) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(certainly extreme, certainly not) where N_U + N_V is not known, shape (P,) each."""
        return self._compared(*self._range(states), side)

    def _compared(
        self, low: Reals, high: Reals, side: Alternative
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The same for bounds of t."""
        aim = self.difference
        if side == "two-sided":
            ends = np.abs(low), np.abs(high)
            low, high = np.where((low < 0) & (high > 0), 0.0, np.minimum(*ends)), np.maximum(*ends)
            aim = abs(aim)
        more, less = low > aim + _NEAR, high < aim - _NEAR
        return (less, more) if side == "less" else (more, less)

    @cached_property
    def _pilot(self) -> Swaps:
        """A few swaps of items that no estimate uses, whatever its seed."""
        return self.swapped(next(random_swaps(self.swapping[0], _TRIED, _TRIED, _SEED)))

    def undecided(self, side: Alternative) -> tuple[float, float]:
        """The shares of swaps whose ties are counted, and that need N_U + N_V: most where the systems' ties are unlike."""
        count = self.swapping[0]
        tried = max(min(_SUMMED, _COINS // max(count, 1)), _TRIED)
        left = []
        for swaps in random_swaps(count, _TRIED, tried, _SEED):
            yes, no = self._decided_by_sums(swaps, side)
            left.append(swaps[~(yes | no)])
        few = np.concatenate(left)
        counted = (len(few) + 0.5) / (tried + 0.5)
        few = few[:_TRIED]
        open_ = 0
        if len(few):
            yes, no = self._decided(self.states(self.swapped(few)), side)
            open_ = int(np.count_nonzero(~(yes | no)))
        return counted, counted * (open_ + 0.5) / (len(few) + 0.5)

    def _range(self, states: States, both: Integers | None = None) -> tuple[Reals, Reals]:
        """Bounds of t, up to rounding, where N_U + N_V (`both`) is not known, and where it is; shape (P,) each."""
        apart = self._by_term(states.apart)
        bounds, roots = [], []
        for below in (states.below_u, states.below_v):
            root, most = self._roots(below)
            roots.append(root)
            bounds.append(most)
        if both is None:
            low, high = self._both_by_apart(apart, *bounds)
        else:
            low = high = self._by_term(both)
        weights = np.array([float(weight) for weight in self.weights])
        slope = 0.5 * weights * (1.0 / roots[0] - 1.0 / roots[1])
        middle = 0.5 * weights * apart * (1.0 / roots[0] + 1.0 / roots[1])
        ends = slope * low, slope * high
        return (middle + np.minimum(*ends)).sum(axis=1), (middle + np.maximum(*ends)).sum(axis=1)

    def _by_term(self, groups: Integers | Reals) -> Reals:
        if len(self.weights) == len(self.sizes):
            return groups.astype(np.float64)
        return np.stack(
            [groups[:, self.term == term].sum(axis=1) for term in range(len(self.weights))], axis=1
        ).astype(np.float64)

    def _roots(self, below: Integers | Reals) -> tuple[Reals, Reals]:
        """(what N is divided by, the largest |N|) of each term, shape (P, terms)."""
        if self.measure == "tau_c":
            n = (self.sizes * self.sizes).astype(np.float64)
            root = n * (below - 1) / np.maximum(below, 1)
            return np.where(root > 0.0, root, 1.0), np.broadcast_to(n, below.shape)
        root = self._roots_of(self._by_term(below))
        return np.where(root > 0.0, root, 1.0), root * (1.0 + 1e-12)

    def _roots_of(self, below: Reals) -> Reals:
        """R of D of each term, shape (..., terms)."""
        gold = np.array([float(max(g, 1)) for g in self._gold_of_terms])
        return np.asarray(np.sqrt(below * gold) / float(self._factor))

    def values(self, swaps: Swaps) -> Reals:
        """t of swaps of the units of `swapping`, shape (P, units); shape (P,)."""
        each = self.swapped(swaps)
        return self.function.values(self.sums(self.states(each), self.both(each)))

    def line(self, spread: int) -> tuple[Integers, Fraction]:
        """(effects of the units of `swapping`, their unit): the sum of signs times effects that nearly is t.

        With R = sqrt(D G), t = (N_U - N_V) (1 / R_U + 1 / R_V) / 2 + (N_U + N_V) (1 / R_U - 1 / R_V) / 2 for each term, of which the means
        of D and N_U + N_V are those of a few swaps, and the change of D is that of cells which are half full. The standard
        deviation is about `spread` steps.
        """
        states, group = self.states(self._pilot), np.repeat(np.arange(len(self.sizes)), self.sizes)
        below = (states.below_u + states.below_v) / 2.0
        roots = self._roots(below)[0].mean(axis=0)[self.term]
        slopes = np.array([float(self.weights[term]) for term in self.term.tolist()]) / roots
        effects = slopes[group] * self.effects
        if self.measure != "tau_c":
            both = self._by_term(self.both(self._pilot)).mean(axis=0)[self.term]
            whole = np.maximum(self._by_term(below).mean(axis=0), 1.0)[self.term]
            half = self._pooled / 2.0
            more = self._power * half ** (self._power - 1)
            moved = np.where(self.fixed[group], 0.0, more[self.u] - more[self.v])
            effects = effects + (slopes * both / (4.0 * whole))[group] * moved
        count, of_item = self.swapping
        sums = np.zeros(count + 1)
        np.add.at(sums, of_item, effects)
        size = sqrt(fsum((sums[:count] ** 2).tolist()))
        if not size > 0.0:
            return np.zeros(count, dtype=np.int64), Fraction(1)
        return np.rint(sums[:count] * (spread / size)).astype(np.int64), Fraction(size / spread)


def joined(problems: Sequence[Correlation]) -> Correlation:
    """The mean over data sets of one correlation."""
    cells, starts, terms, units = 0, 0, 0, 0
    parts, of_cells, of_starts = [], [np.zeros(1, dtype=np.int64)], [np.zeros(1, dtype=np.int64)]
    for one in problems:
        parts.append(
            (
                one.u + cells,
                one.v + cells,
                one.gold,
                one.effects,
                one.unit + units,
                one.fixed,
                one.term + terms,
            )
        )
        of_cells.append(one.cells[1:] + cells)
        of_starts.append(one.starts[1:] + starts)
        cells, starts = cells + int(one.cells[-1]), starts + int(one.starts[-1])
        units, terms = units + int(one.unit.max(initial=0)) + 1, terms + len(one.weights)
    u, v, gold, effects, unit, fixed, term = zip(*parts, strict=True)
    groups = np.cumsum([0, *(len(one.sizes) for one in problems)])
    whole = Gold(
        np.concatenate([own.group + first for own, first in zip(gold, groups, strict=False)]),
        int(groups[-1]),
        np.concatenate([own.rank for own in gold]),
    )
    clustered = any(one.clusters is not None for one in problems)
    return replace(
        problems[0],
        u=np.concatenate(u),
        v=np.concatenate(v),
        cells=np.concatenate(of_cells),
        starts=np.concatenate(of_starts),
        gold=whole,
        effects=np.concatenate(effects),
        unit=np.concatenate(unit),
        fixed=np.concatenate(fixed),
        term=np.concatenate(term),
        weights=tuple(weight / len(problems) for one in problems for weight in one.weights),
        items=sum(one.items for one in problems),
        clusters=sum(one.items if one.clusters is None else one.clusters for one in problems)
        if clustered
        else None,
    )
