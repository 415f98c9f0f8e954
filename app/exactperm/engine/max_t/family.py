"""Families of sums with common signs, their statistics S / sqrt(sum d**2) in order, and thresholds in integers.

Westfall & Young 1993, *Resampling-Based Multiple Testing*, section 2.6 (step-down max T): with t_1 > ... > t_g the
distinct observed statistics, and R_i the tests whose statistic is at most t_i, the i-th probability is P(max over R_i
of T_k >= t_i). Under the null T_k is S_k / sqrt(D_k), where D_k = sum_i d_ki**2 is the same for all signs; so T_k >=
t_i means S_k >= c_ik, the least sufficient integer, and nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ..lattice import EXACT_DOUBLE, CanonicalForm, Integers, Reals, canonical_form, exact_total

# Products of squares below this are compared in 64 bits.
_ROOM = 2.0**61
# Below this, errors of square roots of doubles are less than a quarter.
_ROOTS = 2.0**48


@dataclass(frozen=True, eq=False)
class SignedSums:
    """The sums S_k = sum over units of e_i d_ik of one data set, with signs e_i = 1 or -1 common to all sums.

    Attributes
    ----------
    base
        Shape (n, B), a row for each swapping unit.
    first, second
        Shape (m,): d_k is base[:, first] - base[:, second], or base[:, first] alone where second is -1.
    """

    base: Integers
    first: Integers
    second: Integers

    def __len__(self) -> int:
        return len(self.first)

    @property
    def units(self) -> int:
        """n."""
        return len(self.base)

    def effects(self, k: int) -> Integers:
        """Return d_k, shape (n,)."""
        column = self.base[:, int(self.first[k])]
        return column - self.base[:, int(self.second[k])] if self.second[k] >= 0 else column.copy()

    @cached_property
    def forms(self) -> tuple[CanonicalForm, ...]:
        """The canonical form of each sum."""
        return tuple(canonical_form(self.effects(k)) for k in range(len(self)))

    @cached_property
    def observed(self) -> tuple[int, ...]:
        """The sums with all signs 1."""
        return tuple(exact_total(self.effects(k)) for k in range(len(self)))

    @cached_property
    def squares(self) -> tuple[int, ...]:
        """D_k, the sum of squares of each d_k."""
        return tuple(
            sum(
                (weight * half) ** 2 * count
                for weight, count in zip(form.weights.tolist(), form.counts.tolist(), strict=True)
            )
            for form in self.forms
            for half in (form.step // 2,)
        )

    @cached_property
    def grouped(self) -> tuple[Integers, Integers]:
        """The distinct rows of `base`, and their numbers of units."""
        if not self.units:
            return self.base, np.zeros(0, dtype=np.int64)
        rows, counts = np.unique(self.base, axis=0, return_counts=True)
        return rows, counts.astype(np.int64)

    @cached_property
    def doubles(self) -> bool:
        """Whether doubles hold every sum exactly."""
        sizes = np.abs(self.base).astype(np.float64).sum(axis=0)
        return float(sizes.max(initial=0.0)) < 0.25 * EXACT_DOUBLE

    @cached_property
    def products(self) -> Reals:
        """sum_i d_ij d_ik, rounded; shape (m, m)."""
        base = self.base.astype(np.float64)
        gram = np.zeros((base.shape[1] + 1, base.shape[1] + 1))
        gram[:-1, :-1] = base.T @ base
        rows = gram[self.first] - gram[self.second]
        return np.asarray(rows[:, self.first] - rows[:, self.second])


def signed_sums(base: Integers, first: Integers, second: Integers) -> SignedSums:
    """Return the sums; rows are shifted where only differences count, and units without an effect are dropped."""
    if len(second) and bool((second >= 0).all()):
        base = base - base[:, :1]
    return SignedSums(base[(base != 0).any(axis=1)], first, second)


@dataclass(frozen=True, eq=False)
class Family:
    """The tests of one or several data sets, whose signs are independent; of |S|, or of S unless `two_sided`."""

    parts: tuple[SignedSums, ...]
    two_sided: bool = True

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    @property
    def places(self) -> Iterator[tuple[int, SignedSums]]:
        """The index of the first test of each part, and the part."""
        start = 0
        for part in self.parts:
            yield start, part
            start += len(part)

    @cached_property
    def part_of(self) -> Integers:
        """The part of each test, shape (m,)."""
        return np.repeat(np.arange(len(self.parts)), [len(part) for part in self.parts])

    @cached_property
    def observed(self) -> tuple[int, ...]:
        """S_k, or |S_k|."""
        sums = [total for part in self.parts for total in part.observed]
        return tuple(abs(total) for total in sums) if self.two_sided else tuple(sums)

    @cached_property
    def squares(self) -> tuple[int, ...]:
        """D_k."""
        return tuple(square for part in self.parts for square in part.squares)

    @cached_property
    def forms(self) -> tuple[CanonicalForm, ...]:
        """The canonical form of each test's sum."""
        return tuple(form for part in self.parts for form in part.forms)

    @cached_property
    def _ranked(self) -> tuple[Integers, tuple[int, ...]]:
        """The step of each test, and a test of each step."""
        keys = [
            Fraction(total * abs(total), square) if square else Fraction(0)
            for total, square in zip(self.observed, self.squares, strict=True)
        ]
        distinct = {key: step for step, key in enumerate(sorted(set(keys), reverse=True))}
        members = {step: k for k, step in reversed([(k, distinct[key]) for k, key in enumerate(keys)])}
        steps = np.array([distinct[key] for key in keys], dtype=np.int64)
        return steps, tuple(members[step] for step in range(len(distinct)))

    @property
    def step(self) -> Integers:
        """The step of each test, 0 for the largest statistic, shape (m,): equal statistics share a step."""
        return self._ranked[0]

    @property
    def steps(self) -> int:
        """g, the number of distinct statistics."""
        return len(self._ranked[1])

    @cached_property
    def heights(self) -> Reals:
        """t_1 > ... > t_g, rounded."""
        return np.array(
            [
                self.observed[k] / math.sqrt(self.squares[k]) if self.squares[k] else 0.0
                for k in self._ranked[1]
            ]
        )

    @cached_property
    def thresholds(self) -> Integers:
        """c_ik, shape (g, m): T_k >= t_i iff S_k (or |S_k|) >= c_ik. Not increasing in i."""
        return np.array(
            [_least(self.observed[j], self.squares[j], self.squares) for j in self._ranked[1]], dtype=np.int64
        ).reshape(self.steps, len(self))

    def first(self, k: int, sums: Integers) -> Integers:
        """Return the first step i with T_k >= t_i where S_k is `sums`, g for none; in the shape of `sums`."""
        values = np.abs(sums) if self.two_sided else sums
        column = self.thresholds[::-1, k]
        return self.steps - np.searchsorted(column, values, "right")


def _least(total: int, square: int, squares: Sequence[int]) -> Sequence[int] | Integers:
    """Return the least integers c with c / sqrt(D_k) >= total / sqrt(square), for all D_k in `squares`.

    A sum without effects is 0, and so is its statistic.
    """
    if total == 0 or square == 0:
        return [0] * len(squares)
    size = abs(total)
    largest = max(squares)
    bound = float(size) * math.sqrt(largest / square) + 2.0
    if bound < _ROOTS and bound * bound * float(square) < _ROOM and float(size) ** 2 * largest < _ROOM:
        others = np.array(squares, dtype=np.int64)
        nearest = np.rint(size * np.sqrt(others / square)).astype(np.int64)
        difference = nearest * nearest * square - size * size * others
        least = nearest + (difference < 0) if total > 0 else -(nearest - (difference > 0))
        return np.where(others > 0, least, int(total > 0))
    return [_least_numerator(total, square, other) for other in squares]


def _least_numerator(total: int, square: int, other: int) -> int:
    if other == 0:
        return int(total > 0)
    top = total * total * other
    floor = math.isqrt(top // square)
    if total < 0:
        return -floor
    return floor if floor * floor * square == top else floor + 1
