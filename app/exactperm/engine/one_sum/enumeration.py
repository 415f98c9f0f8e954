"""`enumeration`: all 2**n sums, in exact integers (Fisher 1935, section 21; the procedure of the CS478 hand-out).

`meet_in_the_middle`: those of two halves, for any weights, lattice or not, and n up to about 46.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..lattice import CanonicalForm, Integers
from ..probability import CERTAIN, IMPOSSIBLE, Interval, Probability, Region, from_fraction


def probability(form: CanonicalForm, region: Region) -> Probability:
    """P(T in region) by counting; an exact fraction. Memory and time grow as 2**n."""
    return CERTAIN if region.covers(form) else with_ties(form, region, ())[0]


def with_ties(form: CanonicalForm, region: Region, ties: tuple[int, ...]) -> tuple[Probability, Probability]:
    """P(T in region) and P(T in ties), values of T, by counting the same sums."""
    sums = subset_sums(np.repeat(form.weights, form.counts))
    inside = 0
    for low, high in region.intervals:
        inside += int(np.count_nonzero((sums >= low) & (sums <= high)))
    tied = sum(int(np.count_nonzero(sums == value)) for value in ties)
    return from_fraction(inside, form.nonzero), from_fraction(tied, form.nonzero) if tied else IMPOSSIBLE


def subset_sums(weights: Integers) -> Integers:
    """The sums of all subsets of `weights`, shape (2**n,), in no particular order."""
    sums = np.zeros(1 << len(weights), dtype=np.int64)
    filled = 1
    for weight in weights.tolist():
        np.add(sums[:filled], weight, out=sums[filled : 2 * filled])
        filled *= 2
    return sums


# `meet_in_the_middle`.
#
# Horowitz & Sahni 1974: all sums of each half are sorted, and for every sum of one half the number of
# sums of the other that lands in the region is found by bisection. Time and memory 2**(n/2); the count
# is exact, so ties are.

_BLOCK = 1 << 20


def probability_by_halves(form: CanonicalForm, region: Region) -> Probability:
    """P(T in region) as an exact fraction. Time and memory grow as 2**(n/2)."""
    return CERTAIN if region.covers(form) else with_ties_by_halves(form, region, ())[0]


def with_ties_by_halves(
    form: CanonicalForm, region: Region, ties: tuple[int, ...]
) -> tuple[Probability, Probability]:
    """P(T in region) and P(T in ties), values of T, as exact fractions from the same sorted sums."""
    weights = np.repeat(form.weights, form.counts)
    # Alternate weights go to either half, so that both span the same range.
    first, second = (np.sort(subset_sums(half)) for half in (weights[::2], weights[1::2]))
    tied = _tied(first, second, [max(value, form.range - value) for value in ties])
    inside = 0
    for interval, times in _mirrored_once(form, region):
        inside += times * sum(
            _landing(first[start : start + _BLOCK], second, interval, form.range)
            for start in range(0, len(first), _BLOCK)
        )
    return from_fraction(inside, form.nonzero), from_fraction(tied, form.nonzero) if tied else IMPOSSIBLE


def _tied(first: Integers, second: Integers, values: list[int]) -> int:
    """How many pairs, one sum of each half, add up to each of the values, together; equal values are counted once each."""
    if not values:
        return 0
    sums, counts = np.unique(second, return_counts=True)
    tied = 0
    for value in set(values):
        for start in range(0, len(first), _BLOCK):
            wanted = value - first[start : start + _BLOCK]
            place = np.minimum(np.searchsorted(sums, wanted), len(sums) - 1)
            tied += values.count(value) * int(counts[place][sums[place] == wanted].sum())
    return tied


def bisections(form: CanonicalForm, region: Region) -> int:
    """Return the number of bisections in one half for each sum of the other."""
    return sum((low > 0) + (high < form.range) for (low, high), _ in _mirrored_once(form, region))


def _mirrored_once(form: CanonicalForm, region: Region) -> list[tuple[Interval, int]]:
    """(interval, how often it counts): of two mirror images, which hold as many assignments, one is counted twice."""
    intervals = region.intervals
    if len(intervals) == 2 and intervals[0] == (form.range - intervals[1][1], form.range - intervals[1][0]):
        return [(intervals[1], 2)]
    return [(interval, 1) for interval in intervals]


def _landing(block: Integers, second: Integers, interval: Interval, top: int) -> int:
    """How many pairs, one sum in `block` and one in `second`, add up to a value in the interval of {0, ..., top}."""
    low, high = interval
    reached = len(second) * len(block)
    if high < top:
        reached = int(np.searchsorted(second, high - block, side="right").sum())
    return reached - (int(np.searchsorted(second, low - block, side="left").sum()) if low > 0 else 0)


# Subsets counted in Python integers


def ways_to_sums(groups: Iterable[tuple[int, int]]) -> dict[int, int]:
    """{sum: number of subsets} of groups (weight, count) of equal weights, in Python integers."""
    ways = {0: 1}
    for weight, count in groups:
        choices = [(weight * chosen, times) for chosen, times in enumerate(binomials(count))]
        if len(ways) == 1:  # most have but one group
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
    """The binomial coefficients of `count`, one from the other: math.comb would begin anew for each."""
    row = [1]
    for chosen in range(count // 2):
        row.append(row[-1] * (count - chosen) // (chosen + 1))
    return row + row[: (count + 1) // 2][::-1]
