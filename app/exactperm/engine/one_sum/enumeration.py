"""`enumeration`: all 2**n sums, in exact integers (Fisher 1935, section 21; the procedure of the CS478 hand-out).

`meet_in_the_middle`: the sums of two halves, for any weights, lattice or not, and n up to about 46.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..lattice import CanonicalForm, Integers
from ..probability import CERTAIN, IMPOSSIBLE, Interval, Probability, Region, from_fraction


def probability(form: CanonicalForm, region: Region) -> Probability:
    """Return P(T in region) as an exact fraction, by counting. Memory and time grow as 2**n."""
    return CERTAIN if region.covers(form) else with_ties(form, region, ())[0]


def with_ties(form: CanonicalForm, region: Region, ties: tuple[int, ...]) -> tuple[Probability, Probability]:
    """Return P(T in region) and P(T in ties), `ties` being values of T, by counting the same sums."""
    sums = subset_sums(np.repeat(form.weights, form.counts))
    inside = 0
    for low, high in region.intervals:
        inside += int(np.count_nonzero((sums >= low) & (sums <= high)))
    tied = sum(int(np.count_nonzero(sums == value)) for value in ties)
    return from_fraction(inside, form.nonzero), from_fraction(tied, form.nonzero) if tied else IMPOSSIBLE


def subset_sums(weights: Integers) -> Integers:
    """Return the sums of all subsets of `weights`, shape (2**n,), in no particular order."""
    sums = np.zeros(1 << len(weights), dtype=np.int64)
    filled = 1
    for weight in weights.tolist():
        np.add(sums[:filled], weight, out=sums[filled : 2 * filled])
        filled *= 2
    return sums


# `meet_in_the_middle` (Horowitz & Sahni 1974): all sums of each half are sorted, and bisection counts, for every sum of
# one half, the sums of the other that land in the region. Time and memory grow as 2**(n/2); counts and ties are exact.

_BLOCK = 1 << 20


def probability_by_halves(form: CanonicalForm, region: Region) -> Probability:
    """Return P(T in region) as an exact fraction. Time and memory grow as 2**(n/2)."""
    return CERTAIN if region.covers(form) else with_ties_by_halves(form, region, ())[0]


def with_ties_by_halves(
    form: CanonicalForm, region: Region, ties: tuple[int, ...]
) -> tuple[Probability, Probability]:
    """Return P(T in region) and P(T in ties), `ties` being values of T, as fractions from the same sorted sums."""
    weights = np.repeat(form.weights, form.counts)
    # Weights alternate between the halves, so that both span about the same range.
    first, second = (np.sort(subset_sums(half)) for half in (weights[::2], weights[1::2]))
    tied = _tied_pairs(first, second, [max(value, form.range - value) for value in ties])
    inside = 0
    for interval, times in _weighted_intervals(form, region):
        inside += times * sum(
            _pairs_in_interval(first[start : start + _BLOCK], second, interval, form.range)
            for start in range(0, len(first), _BLOCK)
        )
    return from_fraction(inside, form.nonzero), from_fraction(tied, form.nonzero) if tied else IMPOSSIBLE


def _tied_pairs(first: Integers, second: Integers, values: list[int]) -> int:
    """Count the pairs, one sum of each half, that add up to one of `values`; a repeated value counts repeatedly."""
    if not values:
        return 0
    sums, counts = np.unique(second, return_counts=True)
    tied = 0
    for value in set(values):
        for start in range(0, len(first), _BLOCK):
            missing = value - first[start : start + _BLOCK]
            place = np.minimum(np.searchsorted(sums, missing), len(sums) - 1)
            tied += values.count(value) * int(counts[place][sums[place] == missing].sum())
    return tied


def bisections(form: CanonicalForm, region: Region) -> int:
    """Return the number of bisections in one half for each sum of the other."""
    return sum((low > 0) + (high < form.range) for (low, high), _ in _weighted_intervals(form, region))


def _weighted_intervals(form: CanonicalForm, region: Region) -> list[tuple[Interval, int]]:
    """Return (interval, multiplicity); two mirror images, with equally many assignments, become one counted twice."""
    intervals = region.intervals
    if len(intervals) == 2 and intervals[0] == (form.range - intervals[1][1], form.range - intervals[1][0]):
        return [(intervals[1], 2)]
    return [(interval, 1) for interval in intervals]


def _pairs_in_interval(block: Integers, second: Integers, interval: Interval, top: int) -> int:
    """Count the pairs, one sum in `block` and one in `second`, with a total in `interval`, inside {0, ..., top}."""
    low, high = interval
    reached = len(second) * len(block)
    if high < top:
        reached = int(np.searchsorted(second, high - block, side="right").sum())
    return reached - (int(np.searchsorted(second, low - block, side="left").sum()) if low > 0 else 0)


# Subsets counted in Python integers


def ways_to_sums(groups: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return {sum: number of subsets} for groups (weight, count) of equal weights, in Python integers."""
    ways = {0: 1}
    for weight, count in groups:
        choices = [(weight * chosen, times) for chosen, times in enumerate(binomials(count))]
        if len(ways) == 1:  # most forms have only one group
            ((total, number),) = ways.items()
            ways = {total + more: number * times for more, times in choices}
            continue
        spread: dict[int, int] = {}
        for total, number in ways.items():
            for more, times in choices:
                spread[total + more] = spread.get(total + more, 0) + number * times
        ways = spread
    return ways


def binomials(count: int) -> list[int]:
    """Return the binomial coefficients of `count`, each from the last; math.comb would start over for each."""
    row = [1]
    for chosen in range(count // 2):
        row.append(row[-1] * (count - chosen) // (chosen + 1))
    return row + row[: (count + 1) // 2][::-1]
