"""Confidence intervals by inverting a test of flipped signs, whose p-value jumps at the means of subsets.

Under the hypothesis that unit i's effect is symmetric about r s_i (s_i its size, r the true mean), flipping the units
of F subtracts 2 sum over F from the sum of d_i - r s_i, which leaves it at least as large when

    sum over F of d_i <= r * sum over F of s_i,

    always true for the empty F. So p_greater(r) = G(r) = P(mean over a random F <= r), a step function that rises at
    the 2**n - 1 subset means; two-sided p is 2 G(r) below the observed mean, 1 at it, and the mirror image above
    (Hartigan 1969, typical values; Tritchler 1984, *On inverting permutation tests*, JASA 79; Lehmann 1975, section
    2.5). {r : p(r) > alpha} is therefore the closed interval from the smallest subset mean with 2 G > alpha, at most
    the observed one, to its mirror image. When 2 / 2**n > alpha nothing is rejected, and it has no ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy import special

from ..lattice import MAX_TOTAL, Integers, Reals

# A search stops after this many evaluations of G.
_MAX_EVALUATIONS = 200
_ITERATIONS = 40


@dataclass(frozen=True)
class Units:
    """The distinct (effect, size) of the units, shape (U,) each, and how many units have each.

    Effects are integers with greatest common divisor 1, and so are the positive sizes; r is in units of their
    ratio. Units without size are omitted, as they do not depend on r. Absolute effects add up to less than 2**61,
    as `canonical_form` ensures.
    """

    effects: Integers
    sizes: Integers
    counts: Integers

    @cached_property
    def n(self) -> int:
        """The number of units, including those without a difference."""
        return int(self.counts.sum())

    @cached_property
    def total_effect(self) -> int:
        """The exact sum of all effects."""
        return int((self.effects * self.counts).sum())

    @cached_property
    def total_size(self) -> int:
        """The exact sum of all sizes; no subset mean has a larger denominator."""
        return int((self.sizes * self.counts).sum())

    @cached_property
    def reach(self) -> int:
        """The sum of absolute effects."""
        return int((np.abs(self.effects) * self.counts).sum())

    @cached_property
    def observed(self) -> Fraction:
        """The mean of all units."""
        return Fraction(self.total_effect, self.total_size)

    @cached_property
    def lowest(self) -> Fraction:
        """The smallest mean of one unit: no subset has a smaller one."""
        ratios = self.effects / self.sizes
        near = np.flatnonzero(ratios <= ratios.min() + 1e-12 * np.abs(ratios).max())
        pairs = zip(self.effects[near].tolist(), self.sizes[near].tolist(), strict=True)
        return min(Fraction(d, s) for d, s in pairs)

    def mirrored(self) -> Units:
        """Exchange U and V."""
        return Units(-self.effects[::-1], self.sizes[::-1], self.counts[::-1])

    def room(self, numerator: int, denominator: int) -> bool:
        """Return whether the sums of d * denominator - s * numerator fit the engine's integers."""
        return self.reach * denominator + abs(numerator) * self.total_size < MAX_TOTAL

    def finest(self, r: Fraction) -> int:
        """Return the largest k >= 0 with `room` for r in steps of 2**-k."""
        most = MAX_TOTAL // (self.reach + math.ceil(abs(r) * self.total_size) + 1)
        return max(most.bit_length() - 1, 0)


def units_of(effects: Integers, sizes: Integers | None) -> tuple[Units, Fraction] | None:
    """Return the units and the scale of r: the true mean of `effects` per one of `sizes` is scale * r.

    None if some unit has an effect but no size, so that no shift explains it, or there is no size at all.
    """
    if sizes is not None:
        sized = sizes > 0
        if not sized.any() or effects[~sized].any():
            return None
        effects, sizes = effects[sized], sizes[sized]
    divisor = max(int(np.gcd.reduce(effects)), 1)
    portion = 1 if sizes is None else int(np.gcd.reduce(sizes))
    if sizes is None or int(sizes.min()) == int(sizes.max()):
        distinct, counts = np.unique(effects, return_counts=True)
        alike = np.ones(len(distinct), dtype=np.int64)
        return Units(distinct // divisor, alike, counts.astype(np.int64)), Fraction(divisor, portion)
    order = np.lexsort((sizes, effects))
    effects, sizes = effects[order] // divisor, sizes[order] // portion
    first = np.flatnonzero(np.concatenate(([True], (np.diff(effects) != 0) | (np.diff(sizes) != 0))))
    counts = np.diff(np.concatenate((first, [len(effects)])))
    return Units(effects[first], sizes[first], counts.astype(np.int64)), Fraction(divisor, portion)


@dataclass(frozen=True, slots=True)
class End:
    """The lower end of an interval, in [at, at + width]; exact where the width is 0."""

    at: Fraction
    width: Fraction


@dataclass(frozen=True, slots=True)
class Grid:
    """The grid of hypotheses: r = index * step."""

    step: Fraction

    def at(self, index: int) -> Fraction:
        """Return the hypothesis of an index."""
        return index * self.step

    def near(self, r: float | Fraction) -> int:
        """Return the index of the hypothesis nearest to r."""
        return round(Fraction(r) / self.step)


# Decides by its index whether a hypothesis is rejected: -1 certainly, +1 certainly not, 0 unknown.
Sides = Callable[[int], int]


def search(
    units: Units,
    grid: Grid,
    side: Sides,
    guess: float,
    *,
    spread: int = 1,
    goal: int = 1,
    enough: Callable[[int, int], bool] | None = None,
    within: tuple[int, int] | None = None,
) -> tuple[int, int]:
    """Return (low, high): indices of a hypothesis certainly rejected and of one above certainly not rejected.

    They are at most 2 `goal` apart, unless `side` returns 0 in between or `enough(low, high)` stops the search. The
    first two evaluations are `spread` steps to either side of `guess`; `within` is such a pair known already.
    """
    bottom = math.ceil(units.lowest / grid.step) - 1
    top = math.ceil(units.observed / grid.step)

    def certain(index: int) -> int:
        return -1 if index <= bottom else 1 if index >= top else side(index)

    low, high, blind = _enclosed(certain, within or (bottom, top), grid.near(guess), max(spread, 1))
    for _ in range(_MAX_EVALUATIONS):
        if blind is None:
            if high - low <= 2 * goal or (enough is not None and enough(low, high)):
                break
            middle = (low + high) // 2
        elif max(blind[0] - low, high - blind[1]) <= goal:
            break
        else:
            below = blind[0] - low >= high - blind[1]
            middle = (low + blind[0]) // 2 if below else (blind[1] + high + 1) // 2
        verdict = certain(middle)
        low, high = (middle, high) if verdict < 0 else (low, middle) if verdict > 0 else (low, high)
        if verdict == 0:
            blind = (min(blind[0], middle), max(blind[1], middle)) if blind else (middle, middle)
    return low, high


def _enclosed(
    certain: Sides, ends: tuple[int, int], guess: int, spread: int
) -> tuple[int, int, tuple[int, int] | None]:
    """Bracket by exponential search on both sides of the guess; also return the stretch where `certain` gave 0."""
    low, high = ends
    unknown: list[int] = []
    guess = min(max(guess, low), high)
    for direction in (-1, 1):
        step = spread
        while low < (probe := guess + direction * step) < high:
            verdict = certain(probe)
            if verdict < 0:
                low = probe
            elif verdict > 0:
                high = probe
            else:
                unknown.append(probe)
            if verdict == direction:
                break
            step *= 4
    unknown = [index for index in unknown if low < index < high]
    return low, high, (min(unknown), max(unknown)) if unknown else None


def end_of(units: Units, low: Fraction, high: Fraction) -> End:
    """Return the end in (low, high], exactly when only one subset mean can lie there.

    Different fractions with denominators up to S, the sum of all sizes, are at least 1 / S**2 apart.
    """
    high = min(high, units.observed)
    size = units.total_size
    if 2 * size * size * (high - low) <= 1:
        only = high.limit_denominator(size)
        if low < only <= high:
            return End(only, Fraction(0))
    return End(low, high - low)


def edgeworth(z: float, fourth: float, sixth: float) -> float:
    """Approximate P(X > z) of a symmetric sum with standardised cumulants `fourth` and `sixth`, to O(1 / n**2).

    Feller 1971, volume II, chapter XVI; the odd cumulants are zero.
    """
    he3 = z * (z * z - 3.0)
    he5 = z * (z**4 - 10.0 * z * z + 15.0)
    he7 = z * (z**6 - 21.0 * z**4 + 105.0 * z * z - 105.0)
    correction = fourth / 24.0 * he3 + sixth / 720.0 * he5 + fourth * fourth / 1152.0 * he7
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return 0.5 * math.erfc(z / math.sqrt(2.0)) + density * correction


@dataclass(frozen=True)
class Approximation:
    """G(r) by Edgeworth's expansion of the sum of +-(d - r s), for a first guess of an end and the slope there."""

    units: Units

    @cached_property
    def _columns(self) -> tuple[Reals, Reals, Reals]:
        units = self.units
        return units.effects.astype(np.float64), units.sizes.astype(np.float64), units.counts.astype(float)

    @cached_property
    def centre(self) -> float:
        """The observed mean."""
        return float(self.units.observed)

    @cached_property
    def error(self) -> float:
        """The standard error of the mean."""
        effects, sizes, counts = self._columns
        squares = np.square(effects - self.centre * sizes)
        return math.sqrt(float((counts * squares).sum())) / self.units.total_size

    def tail(self, r: float) -> float:
        """Approximate G(r)."""
        effects, sizes, counts = self._columns
        moved = effects - r * sizes
        squares = np.square(moved)
        second = float((counts * squares).sum())
        if second == 0.0:
            return 1.0
        fourth = -2.0 * float((counts * squares * squares).sum()) / second**2
        sixth = 16.0 * float((counts * squares**3).sum()) / second**3
        z = (self.centre - r) * self.units.total_size / math.sqrt(second)
        rough = 0.5 * math.erfc(z / math.sqrt(2.0))
        # Far in the tail the expansion may fail; the normal law then replaces it.
        expanded = edgeworth(z, fourth, sixth)
        return expanded if 0.3 * rough <= expanded <= 3.0 * rough else rough

    def end(self, tail: float) -> float:
        """Approximate the r with G(r) = `tail` < 1/2, by Newton's method on the normal scale, with slope 1 / error."""
        if self.error == 0.0:  # doubles do not resolve the units' differences
            return self.centre
        quantile = float(special.ndtri(tail))
        r = self.centre + self.error * quantile
        for _ in range(_ITERATIONS):
            step = self.error * (quantile - float(special.ndtri(max(self.tail(r), 1e-300))))
            r += max(min(step, 2.0 * self.error), -2.0 * self.error)
            if abs(step) <= 1e-9 * self.error:
                break
        return min(r, self.centre)
