"""Rank correlations whose denominators change with the swaps: Spearman's rho, Kendall's tau-b and tau-c of tied scores.

A system's value is the sum over terms of weight * N / R: N counts pairs as the kernels do, R = sqrt(D G) depends on
gold and on which of the system's scores tie. N_U - N_V is linear in the swaps, and nearly so is D_U - D_V; D_U + D_V
and N_U + N_V stay in narrow ranges. This decides nearly all swaps by two matrix products. Counted ties decide the
others, as every R is at least |N| (Cauchy & Schwarz for rho and tau-b), and finally N_U + N_V.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import fsum, sqrt

import numpy as np
from numpy.typing import NDArray

from ...engine.lattice import Integers, Reals
from ...engine.probability import Alternative
from ...engine.quantiles.swaps import random_swaps
from .. import formula
from ..quantity import Formula
from ..sum_function import FunctionOf
from .kernels import Gold
from .tie_counts import States, Swaps, TieCounts

# A filter in doubles leaves values this near to the observed one to exact decisions.
_NEAR = 1e-9
# The number of swaps for the means and for predicting work, and their seed, which no request can have.
_TRIED, _SEED = 64, 1 << 100
# Limits on the swaps whose sums are examined: their number, and their coins.
_SUMMED, _COINS = 1_024, 1 << 22
# Units of a matrix product, about, where groups are smaller, and the largest number of cells of all per item.
_UNITS_OF_A_PRODUCT, _MOST_CELLS = 16, 16
# Sums of sixteenths below this are exact in single precision.
_SINGLE = 1 << 20


@dataclass(frozen=True, slots=True)
class _Sums:
    """The part that is linear in the swaps, and bounds on the rest, for the groups of each term.

    `products` are (first unit, last, first group, last, matrix): swaps of units times the matrix give half of what these take from N_U - N_V
    of these groups, then from D_U - D_V, which are `none`, shape (2, k), without swaps. The true D_U - D_V is within `off`, shape (terms,), and D_U + D_V is in `whole`,
    shape (2, terms).
    """

    units: Integers
    products: list[tuple[int, int, int, int, NDArray[np.floating]]]
    kind: type[np.floating]
    none: Reals
    off: Reals
    whole: Reals


def _outer(one: tuple[Reals, Reals], other: tuple[Reals, Reals]) -> tuple[Reals, Reals]:
    """Return the least and the greatest product of numbers in two ranges."""
    ends = [x * y for x in one for y in other]
    return np.minimum(np.minimum(*ends[:2]), np.minimum(*ends[2:])), np.maximum(
        np.maximum(*ends[:2]), np.maximum(*ends[2:])
    )


def _scaled(ends: tuple[Reals, Reals], factors: tuple[Reals, Reals]) -> tuple[Reals, Reals]:
    """Return the same where one range is of positive numbers."""
    low, high = ends
    return np.minimum(*(low * factor for factor in factors)), np.maximum(
        *(high * factor for factor in factors)
    )


@dataclass(frozen=True)
class Correlation(TieCounts):
    """A rank correlation as a function of the swaps."""

    @property
    def by_unit(self) -> Reals:
        """Return the contribution of each unit to the numerators, with the weights of its groups; shape (M,)."""
        units = self.items if self.clusters is None else self.clusters
        totals = np.zeros(units)
        group = np.repeat(np.arange(len(self.sizes)), self.sizes)
        np.add.at(totals, self.unit, self.effects / self._most[group])
        return totals

    @property
    def _most(self) -> Reals:
        """Return the largest numerator of each group, up to a factor; the same for all groups that are added."""
        sizes = self.sizes.astype(np.float64) ** self._power
        return sizes if len(self.weights) == len(sizes) else np.ones(len(sizes))

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

    def exchanged(self, swaps: NDArray[np.bool_]) -> Correlation:
        """Return the outcome with some units of `swapping` swapped, shape (units,)."""
        each = self.swapped(swaps[None])[0]
        return replace(
            self,
            u=np.where(each, self.v, self.u),
            v=np.where(each, self.u, self.v),
            effects=np.where(each, -self.effects, self.effects),
        )

    @cached_property
    def observed(self) -> list[int]:
        """The observed sums."""
        each = np.zeros((1, len(self.u)), dtype=bool)
        return [int(column[0]) for column in self.sums(self.states(each), self.both(each))]

    def _score(self, system: int) -> float:
        """Return a system's value."""
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
        """The observed t."""
        return float(self.function.values([np.array([x]) for x in self.observed])[0])

    @cached_property
    def sign(self) -> int:
        """The exact sign of the observed t."""
        mirrored = [np.array([self.observed[4 * (k // 4) + (k + 2) % 4]]) for k in range(len(self.observed))]
        start = np.array(self.observed)
        up = bool(self.function.extreme(mirrored, start, "less").all())
        return int(up) - int(bool(self.function.extreme(mirrored, start, "greater").all()))

    def extreme(self, swaps: Swaps, side: Alternative) -> NDArray[np.bool_]:
        """Return which swaps of the units of `swapping`, shape (P, units), are at least as extreme as the data."""
        yes, no = self._decided_by_sums(swaps, side)
        at = np.flatnonzero(~(yes | no))
        if len(at):
            yes[at] = self._extreme(self.swapped(swaps[at]), side)
        return yes

    def _extreme(self, each: Swaps, side: Alternative) -> NDArray[np.bool_]:
        """Decide swaps of items, by their ties."""
        states = self.states(each)
        yes, no = self._decided(states, side)
        at = np.flatnonzero(~(yes | no))
        if len(at):
            some = States(states.apart[at], states.below_u[at], states.below_v[at])
            both = self.both(each[at])
            more, less = self._compare(*self._range(some, both), side)
            yes[at] = more
            near = np.flatnonzero(~(more | less))
            if len(near):
                columns = [column[near] for column in self.sums(some, both)]
                yes[at[near]] = self.function.extreme(columns, np.array(self.observed), side)
        return np.asarray(yes)

    @cached_property
    def _sums(self) -> _Sums | None:
        """The linear part; None for tau_c, with denominators of distinct values, and where clusters span many groups."""
        if self.measure == "tau_c":
            return None
        k, n, power = len(self.sizes), self.sizes, self._power
        group = np.repeat(np.arange(k), n)
        moving = self.u != self.v
        width = int(self.cells[-1])
        # Of a cell's P values c are U's: |2 c - P| is at most `come`, and of the same parity.
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
        none = np.add.reduceat(effects, self.starts[:-1]).T
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
        return _Sums(units[order], products, kind, none, self._by_term(off[None])[0], self._by_term(whole))

    @cached_property
    def _both_bounds(self) -> Reals:
        """Bounds of N_U + N_V of each term, shape (2, terms)."""
        pairs = self._pairs
        most = np.where(pairs.most < 0, np.inf, pairs.most)
        return self._by_term(np.stack([pairs.base - most, pairs.base + most]))

    def _decided_by_sums(
        self, swaps: Swaps, side: Alternative
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return (certainly extreme, certainly not) by the sums alone, for swaps of units; shape (P,) each."""
        sums = self._sums
        if sums is None:
            return np.zeros(len(swaps), dtype=bool), np.zeros(len(swaps), dtype=bool)
        if not np.array_equal(sums.units, np.arange(len(sums.units))):
            swaps = swaps[:, sums.units]
        swapped = swaps.astype(sums.kind)
        linear = np.zeros((len(swaps), *sums.none.shape))
        for a, b, first, last, matrix in sums.products:
            linear[:, :, first:last] = (swapped[:, a:b] @ matrix).reshape(len(swaps), 2, last - first)
        linear *= -2.0
        linear += sums.none
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
        steep, flat = (gold / (r_u * r_v * (r_u + r_v)) for r_u, r_v in ((u_low, v_low), (u_high, v_high)))
        falling = _scaled((less, more), (flat, steep))
        both = self._bound_both(apart, u_high, v_high)
        means = _scaled((apart, apart), (1.0 / u_high + 1.0 / v_high, 1.0 / u_low + 1.0 / v_low))
        slopes = _outer((-falling[1], -falling[0]), both)
        weights = 0.5 * np.array([float(weight) for weight in self.weights])
        return self._compare((means[0] + slopes[0]) @ weights, (means[1] + slopes[1]) @ weights, side)

    def _bound_both(self, apart: Reals, most_u: Reals, most_v: Reals) -> tuple[Reals, Reals]:
        """Bound N_U + N_V of each term, shape (P, terms), from N_U - N_V and the largest |N_U| and |N_V|."""
        low, high = self._both_bounds
        return (
            np.maximum(np.maximum(-2.0 * most_u - apart, -2.0 * most_v + apart), low),
            np.minimum(np.minimum(2.0 * most_u - apart, 2.0 * most_v + apart), high),
        )

    def _decided(self, states: States, side: Alternative) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return (certainly extreme, certainly not) where N_U + N_V is unknown, shape (P,) each."""
        return self._compare(*self._range(states), side)

    def _compare(
        self, low: Reals, high: Reals, side: Alternative
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return (certainly extreme, certainly not) from bounds of t."""
        aim = self.difference
        if side == "two-sided":
            ends = np.abs(low), np.abs(high)
            low, high = np.where((low < 0) & (high > 0), 0.0, np.minimum(*ends)), np.maximum(*ends)
            aim = abs(aim)
        more, less = low > aim + _NEAR, high < aim - _NEAR
        return (less, more) if side == "less" else (more, less)

    @cached_property
    def _pilot(self) -> Swaps:
        """Return a few swaps of items that no estimate uses under any seed."""
        return self.swapped(next(random_swaps(self.swapping[0], _TRIED, _TRIED, _SEED)))

    def undecided(self, side: Alternative) -> tuple[float, float]:
        """Return the shares of swaps whose ties are counted, and that need N_U + N_V."""
        count = self.swapping[0]
        tried = max(min(_SUMMED, _COINS // max(count, 1)), _TRIED)
        swaps = next(random_swaps(count, 1 << (tried - 1).bit_length(), tried, _SEED))
        yes, no = self._decided_by_sums(swaps, side)
        few = swaps[~(yes | no)]
        counted = (len(few) + 0.5) / (tried + 0.5)
        few = few[:_TRIED]
        open_ = 0
        if len(few):
            yes, no = self._decided(self.states(self.swapped(few)), side)
            open_ = int(np.count_nonzero(~(yes | no)))
        return counted, counted * (open_ + 0.5) / (len(few) + 0.5)

    def _range(self, states: States, both: Integers | None = None) -> tuple[Reals, Reals]:
        """Bound t, up to rounding, where N_U + N_V (`both`) is unknown or known; shape (P,) each."""
        apart = self._by_term(states.apart)
        bounds, roots = [], []
        for below in (states.below_u, states.below_v):
            root, most = self._roots(below)
            roots.append(root)
            bounds.append(most)
        if both is None:
            low, high = self._bound_both(apart, *bounds)
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
        """Return (divisor of N, largest |N|) of each term, shape (P, terms)."""
        if self.measure == "tau_c":
            n = (self.sizes * self.sizes).astype(np.float64)
            root = n * (below - 1) / np.maximum(below, 1)
            return np.where(root > 0.0, root, 1.0), np.broadcast_to(n, below.shape)
        root = self._roots_of(self._by_term(below))
        return np.where(root > 0.0, root, 1.0), root * (1.0 + 1e-12)

    def _roots_of(self, below: Reals) -> Reals:
        """Return R for the D of each term, shape (..., terms)."""
        gold = np.array([float(max(g, 1)) for g in self._gold_of_terms])
        return np.asarray(np.sqrt(below * gold) / float(self._factor))

    def values(self, swaps: Swaps) -> Reals:
        """Return t, shape (P,), for swaps of the units of `swapping`, shape (P, units)."""
        each = self.swapped(swaps)
        return self.function.values(self.sums(self.states(each), self.both(each)))

    def line(self, spread: int) -> tuple[Integers, Fraction]:
        """Return (effects of the units of `swapping`, their unit) whose sum with signs is nearly t.

        With R = sqrt(D G), t = (N_U - N_V) (1 / R_U + 1 / R_V) / 2 + (N_U + N_V) (1 / R_U - 1 / R_V) / 2 for each term,
        with the means of D and N_U + N_V from a few swaps, and the change of D from half-full cells. The standard
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
    """Return the mean of a correlation over data sets."""
    cells, starts = (
        [int(problem.cells[-1]) for problem in problems],
        [int(problem.starts[-1]) for problem in problems],
    )
    groups = [len(problem.sizes) for problem in problems]

    def numbered(columns: Iterable[Integers], sizes: Sequence[int]) -> Integers:
        """Concatenate columns of codes, each offset by the sizes of those before."""
        before = np.cumsum([0, *sizes[:-1]])
        return np.concatenate([column + first for column, first in zip(columns, before, strict=True)])

    origin = np.zeros(1, dtype=np.int64)
    clustered = any(problem.clusters is not None for problem in problems)
    return replace(
        problems[0],
        u=numbered((problem.u for problem in problems), cells),
        v=numbered((problem.v for problem in problems), cells),
        cells=np.concatenate([origin, numbered((problem.cells[1:] for problem in problems), cells)]),
        starts=np.concatenate([origin, numbered((problem.starts[1:] for problem in problems), starts)]),
        gold=Gold(
            numbered((problem.gold.group for problem in problems), groups),
            sum(groups),
            np.concatenate([problem.gold.rank for problem in problems]),
        ),
        effects=np.concatenate([problem.effects for problem in problems]),
        unit=numbered(
            (problem.unit for problem in problems),
            [int(problem.unit.max(initial=0)) + 1 for problem in problems],
        ),
        fixed=np.concatenate([problem.fixed for problem in problems]),
        term=numbered((problem.term for problem in problems), [len(problem.weights) for problem in problems]),
        weights=tuple(weight / len(problems) for problem in problems for weight in problem.weights),
        items=sum(problem.items for problem in problems),
        clusters=sum(problem.items if problem.clusters is None else problem.clusters for problem in problems)
        if clustered
        else None,
    )
