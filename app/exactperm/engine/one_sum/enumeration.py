"""`enumeration`: all 2**n sums, in exact integers (Fisher 1935, section 21; the procedure of the CS478 hand-out)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..lattice import CanonicalForm, Integers
from ..probability import CERTAIN, IMPOSSIBLE, Probability, Region, from_fraction


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
