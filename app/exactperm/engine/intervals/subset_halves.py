"""Ends for few units: subsets are counted exactly by halves, and the end is an exact subset mean.

Horowitz & Sahni 1974, as in `meet_in_the_middle`, on the sums over F of d - r s for one r after another; the last few
subset means between two hypotheses are listed as fractions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ..lattice import Integers
from .subset_means import Approximation, End, Grid, Units, end_of, search

# Ways are counted in int64.
MAX_UNITS = 62
MAX_STATES = 1 << 17
_LISTED = 1 << 16
_MOST_PAIRS = 1 << 20
# Evaluations of G per end, and nanoseconds of each per state; fitted by hand, not checked by the benchmark.
_EVALUATIONS, _NANOSECONDS = 6, 600
# Distance of the first evaluations from the guess, in standard errors.
_FIRST = 2.0**-10
# Relative error of ratios of doubles: a few units in the last place.
_ULPS = 2.0**-50
_NONE: Integers = np.zeros(0, dtype=np.int64)


def states(units: Units) -> int:
    """Return the number of sums of the larger half."""
    return max(math.prod(int(units.counts[j]) + 1 for j in half) for half in _halves(units))


def nanoseconds(units: Units) -> int:
    """Predict the nanoseconds of both ends."""
    return 1_000_000 + 2 * _EVALUATIONS * _NANOSECONDS * states(units)


def applies(units: Units) -> bool:
    """Return whether there are few enough units."""
    return units.n <= MAX_UNITS and states(units) <= MAX_STATES


def _halves(units: Units) -> tuple[list[int], list[int]]:
    """Split the distinct units into two parts with about equally many states."""
    lots: tuple[list[int], list[int]] = ([], [])
    weights = [0.0, 0.0]
    for j in np.argsort(-units.counts, kind="stable").tolist():
        side = int(weights[1] < weights[0])
        lots[side].append(j)
        weights[side] += math.log(float(units.counts[j]) + 1.0)
    return lots


@dataclass(frozen=True, slots=True)
class _Half:
    """Every sum of a half: effects, sizes and the numbers of subsets with them, shape (states,) each."""

    effects: Integers
    sizes: Integers
    ways: Integers

    def moved(self, r: Fraction) -> Integers:
        """Return the sums of d - r s, times r's denominator."""
        return np.asarray(self.effects * r.denominator - self.sizes * r.numerator, dtype=np.int64)


def _half(units: Units, lot: list[int]) -> _Half:
    effects = sizes = np.zeros(1, dtype=np.int64)
    ways = np.ones(1, dtype=np.int64)
    for j in lot:
        count = int(units.counts[j])
        chosen = np.arange(count + 1, dtype=np.int64)
        binomial = np.array([math.comb(count, k) for k in range(count + 1)], dtype=np.int64)
        effects = np.add.outer(effects, chosen * units.effects[j]).reshape(-1)
        sizes = np.add.outer(sizes, chosen * units.sizes[j]).reshape(-1)
        ways = np.multiply.outer(ways, binomial).reshape(-1)
    return _Half(effects, sizes, ways)


@dataclass(slots=True)
class _Subsets:
    """Counts of the subsets with mean <= r, cached by index."""

    units: Units
    grid: Grid
    most: int
    first: _Half
    second: _Half
    known: dict[int, int] = field(default_factory=dict)

    def count(self, index: int) -> int:
        """Count the subsets, including the empty one, with a mean up to the hypothesis."""
        if index not in self.known:
            r = self.grid.at(index)
            first, second = self.first.moved(r), self.second.moved(r)
            order = np.argsort(second, kind="stable")
            running = np.concatenate(([0], np.cumsum(self.second.ways[order])))
            queries = np.argsort(-first, kind="stable")  # bisection is quicker in sorted order
            reached = np.searchsorted(second[order], -first[queries], side="right")
            self.known[index] = int((running[reached] * self.first.ways[queries]).sum())
        return self.known[index]

    def has_room(self, index: int) -> bool:
        """Return whether exact integers can hold a hypothesis."""
        r = self.grid.at(index)
        return self.units.room(r.numerator, r.denominator)

    def side(self, index: int) -> int:
        """Decide as `Sides`: rejected if at most `most` subsets have a mean up to the hypothesis."""
        if not self.has_room(index):
            return 0
        return -1 if self.count(index) <= self.most else 1

    def few(self, low: int, high: int) -> bool:
        """Return whether the subset means in (low, high] can be listed."""
        if not (self.has_room(low) and self.has_room(high)):
            return False
        return self.count(high) - self.count(low) <= _LISTED

    def listed(self, low: int, high: int) -> tuple[Integers, Integers, Integers]:
        """List effects, sizes and numbers of the subsets with means in (low, high], shape (P,); empty if too many."""
        below, above = self.grid.at(low), self.grid.at(high)
        first, second = self.first.moved(above), self.second.moved(above)
        order = np.argsort(second, kind="stable")
        second = second[order]
        # mean > below means a moved sum above -(above - below) * size * denominator.
        slack = math.ceil((above - below) * above.denominator * self.units.total_size)
        stop = np.searchsorted(second, -first, side="right")
        start = np.searchsorted(second, -first - slack, side="left")
        pairs = stop - start
        if int(pairs.sum()) > _MOST_PAIRS:
            return _NONE, _NONE, _NONE
        left = np.repeat(np.arange(len(first)), pairs)
        right = order[
            np.arange(len(left)) - np.repeat(np.cumsum(pairs) - pairs, pairs) + np.repeat(start, pairs)
        ]
        effects = self.first.effects[left] + self.second.effects[right]
        sizes = self.first.sizes[left] + self.second.sizes[right]
        ways = self.first.ways[left] * self.second.ways[right]
        inside = effects * below.denominator > sizes * below.numerator
        return effects[inside], sizes[inside], ways[inside]

    def turning(self, low: int, high: int) -> Fraction | None:
        """Return the smallest subset mean in (low, high] up to which there are more than `most` subsets."""
        effects, sizes, ways = self.listed(low, high)
        if len(effects) == 0:
            return None
        means = effects / sizes
        order = np.argsort(means, kind="stable")
        reached = self.count(low) + np.cumsum(ways[order])
        at = means[order[min(int(np.searchsorted(reached, self.most, side="right")), len(order) - 1)]]
        # Fractions order what doubles cannot.
        near = np.abs(means - at) <= _ULPS * abs(at)
        total = self.count(low) + int(ways[means < at - _ULPS * abs(at)].sum())
        columns = (effects[near].tolist(), sizes[near].tolist(), ways[near].tolist())
        for mean, way in sorted((Fraction(e, s), w) for e, s, w in zip(*columns, strict=True)):
            total += way
            if total > self.most:
                return mean
        return None


def lower_end(units: Units, tail: Fraction) -> End:
    """Return the smallest r not rejected: the smallest subset mean with G(r) > `tail`, at most the observed one."""
    approximation = Approximation(units)
    guess = approximation.end(float(tail))
    # Two steps of the grid hold at most one fraction with such a denominator, where the integers have room.
    bits = (4 * units.total_size**2).bit_length()
    grid = Grid(
        Fraction(1, 1 << min(units.finest(2 * abs(Fraction(guess)) + Fraction(approximation.error)), bits))
    )
    first, second = (_half(units, lot) for lot in _halves(units))
    subsets = _Subsets(units, grid, math.floor(tail * (1 << units.n)), first, second)
    spread = round(Fraction(approximation.error * _FIRST) / grid.step)
    low, high = search(units, grid, subsets.side, guess, spread=spread, enough=subsets.few)
    if subsets.few(low, high):
        mean = subsets.turning(low, high)
        if mean is not None:
            return End(min(mean, units.observed), Fraction(0))
    return end_of(units, grid.at(low), grid.at(high))
