"""`meet_in_the_middle` for effects of any size, in Python integers.

As Horowitz & Sahni 1974: the sums of either half, here each with the number of ways to reach it, so that equal
effects cost next to nothing; then one walk along both for each end of a tail. Exact, ties included.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate

from app.engine.null import Alternative, Probability, from_fraction

# Of time, a step of a walk in nanoseconds; of memory, an integer with its count.
NANOSECONDS_PER_STATE = 1_500
BYTES_PER_STATE = 250
_BITS_PER_STATE = 512  # longer integers cost more


@dataclass(frozen=True, slots=True)
class WideForm:
    """S = base + sum_j weights[j] * Binomial(counts[j], 1/2) in exact integers; `observed` is the S that was seen."""

    base: int
    weights: tuple[int, ...]
    counts: tuple[int, ...]
    observed: int

    @property
    def nonzero(self) -> int:
        """The number of effects that a swap changes."""
        return sum(self.counts)

    def price(self) -> tuple[int, int]:
        """Predicted nanoseconds and bytes."""
        states = sum(math.prod(count + 1 for _, count in half) for half in _halves(self))
        longer = 1 + sum(self.weights).bit_length() // _BITS_PER_STATE
        return 30_000 + NANOSECONDS_PER_STATE * longer * states, BYTES_PER_STATE * longer * states


def wide_form(stay: list[int], swap: list[int] | None) -> WideForm:
    """The form of effects, one integer per unit each; `swap` None is -stay."""
    other = [-x for x in stay] if swap is None else swap
    groups = Counter(abs(a - b) for a, b in zip(stay, other, strict=True) if a != b)
    weights = tuple(sorted(groups))
    base = sum(map(min, stay, other))
    return WideForm(base, weights, tuple(groups[w] for w in weights), sum(stay))


def probability(form: WideForm, alternative: Alternative, *, absolute: bool) -> Probability:
    """P(S at least as extreme as observed) as an exact fraction; the alternatives are those of `null.region`."""
    seen = form.observed
    size = abs(seen)
    every = 1 << form.nonzero
    halves = [_sums(half) for half in _halves(form)]
    if absolute and alternative == "less":
        inside = _at_most(halves, size - form.base) - _at_most(halves, -size - 1 - form.base)
    elif absolute or alternative == "two-sided":
        below = _at_most(halves, -size - form.base)
        inside = every if size == 0 else below + every - _at_most(halves, size - 1 - form.base)
    elif alternative == "greater":
        inside = every - _at_most(halves, seen - 1 - form.base)
    else:
        inside = _at_most(halves, seen - form.base)
    return from_fraction(inside, form.nonzero)


def _halves(form: WideForm) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(weight, count) of either half, with about as many sums each."""
    first: list[tuple[int, int]] = []
    second: list[tuple[int, int]] = []
    size = [1, 1]
    for weight, count in sorted(zip(form.weights, form.counts, strict=True), key=lambda pair: -pair[1]):
        into = 0 if size[0] <= size[1] else 1
        (first, second)[into].append((weight, count))
        size[into] *= count + 1
    return first, second


def _sums(half: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """All sums of a half, ascending, and the number of ways to reach at most each, cumulatively."""
    ways = {0: 1}
    for weight, count in half:
        spread: dict[int, int] = {}
        for chosen in range(count + 1):
            more, times = weight * chosen, math.comb(count, chosen)
            for total, number in ways.items():
                spread[total + more] = spread.get(total + more, 0) + number * times
        ways = spread
    totals = sorted(ways)
    return totals, list(accumulate(ways[total] for total in totals))


def _at_most(halves: list[tuple[list[int], list[int]]], limit: int) -> int:
    """The number of ways in which a sum of each half add up to at most `limit`."""
    (first, reached), (second, cumulative) = halves
    found, before = 0, 0
    place = len(second)
    for total, upto in zip(first, reached, strict=True):
        while place and total + second[place - 1] > limit:
            place -= 1
        if place == 0:
            break
        found += (upto - before) * cumulative[place - 1]
        before = upto
    return found
