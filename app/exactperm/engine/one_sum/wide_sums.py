"""`meet_in_the_middle` for effects of any size, in Python integers.

Horowitz & Sahni 1974: the sums of each half, with the number of ways to reach each, so that equal effects cost little;
then one pass over both for each end of a tail. Exact, including ties.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from ..lattice import Integers
from ..probability import Alternative, Probability, from_fraction
from .enumeration import subset_sums, ways_to_sums

# (nanoseconds, bytes) of a distinct sum as a Python integer, and of a sum in two arrays; checked by
# `python -m loadtest.bench --section plan`.
_PER_STATE = (4_000, 250)
_PER_ROW = (400, 100)
_BITS_PER_STATE = 512  # longer integers cost more
# Bits of a sum in each of two arrays; up to 2**5 of them are added without overflow.
_LIMB = 57
_MASK = (1 << _LIMB) - 1
_MOST_ROWS = 26
_MOST_GROUPS = 256
_NEVER = (1 << 200, 1 << 200)

Counts = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class WideForm:
    """S = base + sum_j weights[j] * Binomial(counts[j], 1/2) in exact integers; `observed` is S of the data."""

    base: int
    weights: tuple[int, ...]
    counts: tuple[int, ...]
    observed: int

    @property
    def nonzero(self) -> int:
        """n, the number of items whose swap changes the sum."""
        return sum(self.counts)

    @property
    def reach(self) -> int:
        """The largest S minus the smallest."""
        return sum(w * c for w, c in zip(self.weights, self.counts, strict=True))

    def price(self) -> tuple[int, int]:
        """Predict the nanoseconds and bytes of `probability` by halves."""
        nanoseconds, held = min(self._listed(), self._grouped())
        return 30_000 + nanoseconds, held

    def _grouped(self) -> tuple[int, int]:
        """Predict (nanoseconds, bytes) with the distinct sums of each half."""
        if (
            len(self.weights) > _MOST_GROUPS
        ):  # such a half has 2**128 sums, and multiplying a million counts takes minutes
            return _NEVER
        states = sum(math.prod(count + 1 for _, count in half) for half in _halves(self))
        longer = 1 + sum(self.weights).bit_length() // _BITS_PER_STATE
        return _PER_STATE[0] * longer * states, _PER_STATE[1] * longer * states

    def _listed(self) -> tuple[int, int]:
        """Predict (nanoseconds, bytes) with all sums of each half."""
        return self._rows((self.nonzero + 1) // 2, 2)

    def price_of_all(self) -> tuple[int, int] | None:
        """Predict the nanoseconds and bytes of `probability` with `all_sums`; None if these are too many or large."""
        price = self._rows(self.nonzero, 1)
        return None if price == _NEVER else price

    def _rows(self, items: int, times: int) -> tuple[int, int]:
        if items > _MOST_ROWS or self.reach.bit_length() > 2 * _LIMB:
            return _NEVER
        return _PER_ROW[0] * times << items, _PER_ROW[1] * times << items

    def at_most(self, *, all_sums: bool = False) -> Counts:
        """Return a function that counts the assignments with sum_j weights[j] B_j at most its argument."""
        weights = [w for w, c in zip(self.weights, self.counts, strict=True) for _ in range(c)]
        if all_sums:
            return _listing(weights, [])
        if self._listed() < self._grouped():
            return _listing(weights[::2], weights[1::2])
        first, second = (_sums(half) for half in _halves(self))
        return lambda limit: _walk(first, second, limit)


def wide_form(stay: list[int], swap: list[int] | None) -> WideForm:
    """Return the form of effects, one integer per unit each; `swap` None means -stay."""
    other = [-x for x in stay] if swap is None else swap
    groups = Counter(abs(a - b) for a, b in zip(stay, other, strict=True) if a != b)
    weights = tuple(sorted(groups))
    base = sum(map(min, stay, other))
    return WideForm(base, weights, tuple(groups[w] for w in weights), sum(stay))


def probability(
    form: WideForm, alternative: Alternative, *, absolute: bool, all_sums: bool = False
) -> Probability:
    """Return P(S at least as extreme as observed), with the alternatives of `probability.region`, as an exact fraction.

    `all_sums` lists all 2**n sums (`enumeration`); only where `price_of_all` is not None.
    """
    observed = form.observed
    size = abs(observed)
    every = 1 << form.nonzero
    at_most = form.at_most(all_sums=all_sums)
    if absolute and alternative == "less":
        inside = at_most(size - form.base) - at_most(-size - 1 - form.base)
    elif size == 0 and (absolute or alternative == "two-sided"):
        inside = every
    elif absolute or alternative == "two-sided":
        below = at_most(-size - form.base)
        mirrored = 2 * form.base + form.reach == 0
        inside = 2 * below if mirrored else below + every - at_most(size - 1 - form.base)
    elif alternative == "greater":
        inside = every - at_most(observed - 1 - form.base)
    else:
        inside = at_most(observed - form.base)
    return from_fraction(inside, form.nonzero)


def _halves(form: WideForm) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Split the (weight, count) into halves with about equally many sums."""
    first: list[tuple[int, int]] = []
    second: list[tuple[int, int]] = []
    size = [1, 1]
    for weight, count in sorted(zip(form.weights, form.counts, strict=True), key=lambda pair: -pair[1]):
        into = 0 if size[0] <= size[1] else 1
        (first, second)[into].append((weight, count))
        size[into] *= count + 1
    return first, second


def _sums(half: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return all sums of a half, ascending, and the cumulative numbers of ways to reach them."""
    ways = ways_to_sums(half)
    totals = sorted(ways)
    return totals, list(accumulate(ways[total] for total in totals))


def _walk(first: tuple[list[int], list[int]], second: tuple[list[int], list[int]], limit: int) -> int:
    """Count the pairs of sums, one of each half, that add up to at most `limit`."""
    totals, cumulative = second
    ways, before = 0, 0
    stop = len(totals)
    for total, upto in zip(*first, strict=True):
        while stop and total + totals[stop - 1] > limit:
            stop -= 1
        if stop == 0:
            break
        ways += (upto - before) * cumulative[stop - 1]
        before = upto
    return ways


def _listing(first: list[int], second: list[int]) -> Counts:
    """Return `WideForm.at_most` from all sums of halves of at most 26 weights, each sum in two arrays of 57 bits."""
    (high_a, low_a), (high_b, low_b) = (_limbs(half) for half in (first, second))
    high_b, low_b = high_b + (low_b >> _LIMB), low_b & _MASK
    reach = sum(first) + sum(second)

    def at_most(limit: int) -> int:
        limit = min(max(limit, -1), reach)
        low = (limit & _MASK) - low_a
        high = (limit >> _LIMB) - high_a + (low >> _LIMB)
        low &= _MASK
        # Sort the sums of the second half together with the limit less each sum of the first half.
        order = np.lexsort((np.concatenate([low_b, low]), np.concatenate([high_b, high])))
        of_second = order < len(low_b)
        return int(np.cumsum(of_second)[~of_second].sum())

    return at_most


def _limbs(weights: list[int]) -> tuple[Integers, Integers]:
    """Return all sums of the upper and of the lower limbs of `weights`, shape (2**n,) each."""
    upper = np.array([w >> _LIMB for w in weights], dtype=np.int64)
    lower = np.array([w & _MASK for w in weights], dtype=np.int64)
    return subset_sums(upper), subset_sums(lower)
