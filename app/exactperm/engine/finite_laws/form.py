"""Finite local laws and their canonical form.

Unit i contributes the value x_ik with probability h_ik, independently of the others. A coin, {0, v} with 1/2 each, is
the special case of `lattice.CanonicalForm`. Laws are integers: values on a common lattice, and their numbers of ways.
Equal laws are grouped, so that the cost depends on the number of distinct laws.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from ..lattice import MAX_TOTAL, Integers, LatticeOverflowError, Reals
from ..probability import Alternative, Region, clipped_region, log_ratio


@dataclass(frozen=True, slots=True)
class Law:
    """A law on the integers: `values` ascending from zero, and their numbers of `ways`, without a common divisor."""

    values: tuple[int, ...]
    ways: tuple[int, ...]

    @property
    def top(self) -> int:
        """The largest value."""
        return self.values[-1]

    @property
    def total(self) -> int:
        """The number of all ways."""
        return sum(self.ways)

    @property
    def mean(self) -> Fraction:
        """The mean."""
        return Fraction(sum(x * w for x, w in zip(self.values, self.ways, strict=True)), self.total)

    def reflected(self) -> Law:
        """Return the law of `top` minus the value."""
        return Law(tuple(self.top - value for value in self.values[::-1]), self.ways[::-1])


@dataclass(frozen=True, eq=False)
class FiniteLaws:
    """S = offset + step * T, T the sum of counts[g] independent draws from laws[g], for every g.

    T lives on {0, ..., range}, and need not be symmetric. `items` is N, including items with a single value.
    """

    offset: int
    step: int
    laws: tuple[Law, ...]
    counts: Integers
    items: int

    @cached_property
    def range(self) -> int:
        """W, the largest value of T, exactly."""
        return sum(law.top * count for law, count in zip(self.laws, self.counts.tolist(), strict=True))

    @cached_property
    def mean(self) -> Fraction:
        """E T, exactly."""
        means = (law.mean * count for law, count in zip(self.laws, self.counts.tolist(), strict=True))
        return sum(means, Fraction(0))

    @property
    def of_s(self) -> list[tuple[Mapping[int, int], int]]:
        """The laws in the units of S, and their numbers; the first one is the offset."""
        laws = zip(self.laws, self.counts.tolist(), strict=True)
        scaled = (
            ({self.step * value: ways for value, ways in zip(law.values, law.ways, strict=True)}, count)
            for law, count in laws
        )
        return [({self.offset: 1}, 1), *scaled]

    @cached_property
    def values(self) -> Integers:
        """The values of the laws, shape (G, K), the last one repeated where a law has fewer."""
        longest = max((len(law.values) for law in self.laws), default=1)
        padded = [law.values + law.values[-1:] * (longest - len(law.values)) for law in self.laws]
        return np.array(padded, dtype=np.int64).reshape(len(self.laws), longest)

    @cached_property
    def log_chances(self) -> Reals:
        """The logarithms of their probabilities, shape (G, K), minus infinity where a law has fewer values."""
        logs = np.full(self.values.shape, -math.inf)
        for row, law in zip(logs, self.laws, strict=True):
            total = law.total
            row[: len(law.ways)] = [log_ratio(ways, total) for ways in law.ways]
        return logs

    @cached_property
    def tops(self) -> Reals:
        """The ranges of the laws, shape (G,)."""
        return np.array([float(law.top) for law in self.laws])

    @cached_property
    def variance(self) -> float:
        """The variance of T, not of S."""
        chances = np.exp(self.log_chances)
        values = self.values.astype(np.float64)
        means = (chances * values).sum(axis=1, keepdims=True)
        return float(self.counts @ (chances * np.square(values - means)).sum(axis=1))

    @cached_property
    def reflected(self) -> FiniteLaws:
        """The form of range - T."""
        top = self.offset + self.step * self.range
        form = FiniteLaws(
            -top, self.step, tuple(law.reflected() for law in self.laws), self.counts, self.items
        )
        form.__dict__["reflected"] = self
        return form


def grouped_laws(laws: Iterable[tuple[Mapping[int, int], int]], items: int) -> FiniteLaws:
    """Return the canonical form of N = `items` units from (law, number of units); a law counts ways by value.

    The lattice is the coarsest: its step is the gcd of all differences inside laws. Raises LatticeOverflowError
    when the sum of the largest sizes is 2**61 or more.
    """
    listed = list(laws)
    lowest = [min(law) for law, _ in listed]
    spread = sum(count * (max(law) - least) for (law, count), least in zip(listed, lowest, strict=True))
    offset = sum(count * least for (_, count), least in zip(listed, lowest, strict=True))
    if spread + abs(offset) >= MAX_TOTAL:
        raise LatticeOverflowError("the sum of the largest values is 2**61 or more")
    step = 0
    for (law, _), least in zip(listed, lowest, strict=True):
        step = math.gcd(step, *(value - least for value in law))
    return _on_lattice(listed, items, step or 1)


def _on_lattice(laws: Iterable[tuple[Mapping[int, int], int]], items: int, step: int) -> FiniteLaws:
    """Group equal laws, whose values above the least one are rounded to multiples of `step`."""
    groups: Counter[Law] = Counter()
    offset = 0
    for law, count in laws:
        lowest = min(law)
        offset += count * lowest
        if len(law) > 1:
            rounded: dict[int, int] = {}
            for value in sorted(law):
                at = (2 * (value - lowest) + step) // (2 * step)
                rounded[at] = rounded.get(at, 0) + law[value]
            if len(rounded) > 1:
                common = math.gcd(*rounded.values())
                groups[Law(tuple(rounded), tuple(ways // common for ways in rounded.values()))] += count
    ordered = sorted(groups, key=lambda law: (law.top, law.values, law.ways))
    counts = np.array([groups[law] for law in ordered], dtype=np.int64)
    return FiniteLaws(offset, step, tuple(ordered), counts, items)


@dataclass(frozen=True, slots=True)
class CoarseLaws:
    """Laws whose values are rounded to multiples of `form.step` from the middle of each: S differs from `start` + step * T by at most `error`.

    `mean` is the exact E S. All are in the units of S, which may be of any length; so are the `laws` before rounding, whose values are
    exact if they are `listed`, and whose numbers of ways always are. The form's offset is `start`, perhaps half an integer, rounded down.
    """

    form: FiniteLaws
    start: Fraction
    error: Fraction
    mean: Fraction
    laws: Sequence[tuple[Mapping[int, int], int]]
    listed: bool = True

    @property
    def sums(self) -> int:
        """An upper bound of the number of values of S, at most a million; a million if they are not listed."""
        sums = 1 if self.listed else 10**6
        for law, count in self.laws:
            sums = min(sums * len(law) ** min(count, 20), 10**6)
        return sums


def coarse_laws(
    laws: Sequence[tuple[Mapping[int, int], int]],
    items: int,
    steps: float,
    unit: int = 1,
    error: Fraction = Fraction(0),
) -> CoarseLaws:
    """Round laws (see `grouped_laws`) to multiples of `unit`, so that a standard deviation of S has about so many `steps`; alike from both ends.

    S may already differ by `error` from that of these laws; finer steps than a fourth of it would bring nothing.
    """
    variances, mean = list[float](), Fraction(0)
    for law, count in laws:
        total = sum(law.values())
        middle = Fraction(sum(value * ways for value, ways in law.items()), total)
        mean += count * middle
        spread = (
            sum((Fraction(value - math.floor(middle)) ** 2 * ways for value, ways in law.items())) / total
            - (middle - math.floor(middle)) ** 2
        )
        variances.append(count * float(spread))
    units = sum(count for law, count in laws if len(law) > 1)
    fourth = error / (2 * units) if units else Fraction(0)
    # The largest sum of values fits, also where nearly all of a law is on few of them.
    fits = sum(count * (max(law) - min(law)) for law, count in laws) // (unit * (MAX_TOTAL >> 1)) + 1
    step = unit * max(int(math.sqrt(math.fsum(variances)) / unit / steps), int(fourth / unit), fits)
    twice, rounded = 0, list[tuple[Mapping[int, int], int]]()
    for law, count in laws:
        ends = min(law) + max(law)
        moved: Counter[int] = Counter()
        for value in sorted(law):
            away = (abs(2 * value - ends) + step) // (2 * step)
            moved[away if 2 * value > ends else -away] += law[value]
        lowest = min(moved)
        twice += count * (ends + 2 * step * lowest)
        rounded.append(({step * (value - lowest): ways for value, ways in moved.items()}, count))
    form = replace(_on_lattice(rounded, items, step), offset=twice // 2)
    return CoarseLaws(
        form, Fraction(twice, 2), error + Fraction(units * step, 2), mean, laws, listed=not error
    )


def coarse_region(coarse: CoarseLaws, observed: int, alternative: Alternative, *, outer: bool) -> Region:
    """Return the rounded values that may be in the `region`, or those that certainly are."""
    moved = coarse.start - coarse.form.offset
    room = coarse.error if outer else -coarse.error
    return region(coarse.form, observed - moved, alternative, coarse.mean - moved, room)


def region(
    form: FiniteLaws,
    observed: int | Fraction,
    alternative: Alternative,
    mean: Fraction | None = None,
    room: Fraction = Fraction(0),
) -> Region:
    """Return the values of T at least as extreme as the observed sum S = `observed`.

    `two-sided` is |S - E S| >= |observed - E S|, compared as fractions; E S is `mean`, that of the laws by default. With
    `room` the values that lack at most so much of S, or, if negative, exceed it by as much.
    """
    mean = form.offset + form.step * form.mean if mean is None else mean
    two = alternative == "two-sided"
    distance = abs(observed - mean)
    above = (mean + distance if two else Fraction(observed)) - room
    below = (mean - distance if two else Fraction(observed)) + room
    upper = math.ceil((above - form.offset) / form.step), form.range
    lower = 0, math.floor((below - form.offset) / form.step)
    if not two:
        return clipped_region(form.range, [upper if alternative == "greater" else lower])
    if lower[1] + 1 >= upper[0]:
        return Region(((0, form.range),))
    return clipped_region(form.range, [lower, upper])


def ties_of(form: FiniteLaws, observed: int, alternative: Alternative) -> tuple[int, ...]:
    """Return the one or two values of T in the `region` that are as extreme as the observed sum, ascending."""
    at = Fraction(observed - form.offset, form.step)
    tied = {at} if alternative != "two-sided" else {at, 2 * form.mean - at}
    return tuple(sorted(int(t) for t in tied if t.denominator == 1 and 0 <= t <= form.range))


# The law of an item with several runs, reassigned between the two systems. Of n runs of U and m runs of V, all C(n + m,
# n) choices of U's runs are equally likely under the null that they are independent draws of one law (Mantel & Haenszel
# 1959 for right or wrong; van Elteren 1960 for scores).


def relabelled(u: Sequence[int], v: Sequence[int], of_u: int, of_v: int) -> dict[int, int]:
    """Count the ways to each of_u * (sum of U's runs) - of_v * (V's), for integer runs, shapes (n,) and (m,)."""
    runs, n, m = [*u, *v], len(u), len(v)
    low, high, total = min(runs), max(runs), sum(runs)
    if all(run in (low, high) for run in runs):
        step = high - low
        counts = right_or_wrong(runs.count(high) if step else 0, n + m, n)
        sums = {low * n + step * part: ways for part, ways in counts.items()}
    elif m < n:
        sums = {total - part: ways for part, ways in subset_sums(runs, m).items()}
    else:
        sums = subset_sums(runs, n)
    return {(of_u + of_v) * part - of_v * total: ways for part, ways in sums.items()}


def steps_to_list(runs: Sequence[int], taken: int) -> int:
    """Estimate the steps of `relabelled` for ascending integer runs, shape (n + m,)."""
    few = min(taken, len(runs) - taken)
    if runs[few] in (runs[0], runs[-1]) and all(run in (runs[0], runs[-1]) for run in runs):
        return few
    sums = sum(runs[len(runs) - few :]) - sum(runs[:few]) + 1
    return min(math.comb(len(runs), few), sums) * few * len(runs) // 4


def right_or_wrong(right: int, runs: int, taken: int) -> dict[int, int]:
    """Return the hypergeometric law of the number of right runs among `taken` runs, with `right` right runs in all."""
    wrong = runs - right
    return {
        part: math.comb(right, part) * math.comb(wrong, taken - part)
        for part in range(max(0, taken - wrong), min(taken, right) + 1)
    }


def subset_sums(values: Sequence[int], taken: int) -> dict[int, int]:
    """Return {sum: number of subsets} over all subsets of `taken` values, by a table of (number, sum)."""
    table: list[Counter[int]] = [Counter({0: 1}), *(Counter[int]() for _ in range(taken))]
    for index, value in enumerate(values):
        for count in range(min(index, taken - 1), -1, -1):
            longer = table[count + 1]
            for part, ways in table[count].items():
                longer[part + value] += ways
    return dict(table[taken])
