"""P(F(b) <= s, F(x) <= r) where every item swaps by itself: three binomials and one sum.

See section 17 of the README: an item with its smaller value of rank at most b and the larger one above x moves both
counts, one with the larger value in between F(b) alone, one with the smaller value in between F(x) alone.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .binomial_rows import BinomialRows, Row, summed
from .form import QuantileForm
from .staircase import Profile

# Fitted nanoseconds: of one quadrant, of an item in it, and of a term of the sum; the same in integers, and of a bit of them.
_QUADRANT, _ITEM, _TERM = 45_000, 1.2, 26.0
_COUNT, _INTEGERS, _BIT = 9_000, 350.0, 0.35


class ItemLaw:
    """The joint law of two counts of one sample, item by item."""

    def __init__(self, form: QuantileForm, known: Profile) -> None:
        self._place, self._known, self._units = form.place, known, form.units
        self._low, self._high = np.minimum(form.own, form.other), np.maximum(form.own, form.other)
        self._rows = BinomialRows(form.items)
        self._sums: dict[int, list[int]] = {}

    @cached_property
    def error(self) -> float:
        """A bound on the relative error of `quadrant`."""
        return self._rows.error(self._units)

    # Exponents of their own: nothing underflows.
    lost = 0.0

    def price(self, at: int, below: int) -> tuple[float, float, float]:
        """Nanoseconds of `quadrant` and of `count`, and the bytes they hold."""
        both, first, second, reach = self._counts(at, below)
        steps = max(min(both, *reach), 0) + 1
        flips = both + first + second
        inexact = _QUADRANT + _ITEM * len(self._low) + _TERM * (steps + 0.3 * (first + second))
        exact = _COUNT + _ITEM * len(self._low) + steps * (_INTEGERS + _BIT * flips)
        return inexact, exact, 400.0 * flips

    def quadrant(self, at: int, below: int) -> tuple[float, int]:
        """P(Q_U > values[below], Q_V <= values[at]), at <= below, as a mantissa and an exponent."""
        both, first, second, (s, r) = self._counts(at, below)
        steps = min(both, s, r) + 1
        if steps <= 0:
            return 0.0, 0
        numbers, exponents = self._rows.chances(both)
        one, other = self._falling(first, s, steps), self._falling(second, r, steps)
        return summed(numbers[:steps] * one[0] * other[0], exponents[:steps] + one[1] + other[1])

    def _falling(self, flips: int, start: int, steps: int) -> Row:
        """P(X <= start - j) for j = 0..steps - 1."""
        numbers, exponents = self._rows.tails(flips)
        at = np.minimum(start - np.arange(steps), flips)
        return numbers[at], exponents[at]

    def count(self, at: int, below: int) -> int:
        """The same probability times 2**units, an integer."""
        both, first, second, (s, r) = self._counts(at, below)
        one, other = self._integer_sums(first), self._integer_sums(second)
        total, ways = 0, 1
        for j in range(min(both, s, r) + 1):
            total += ways * one[min(s - j, first)] * other[min(r - j, second)]
            ways = ways * (both - j) // (j + 1)
        return total << (self._units - both - first - second)

    def _integer_sums(self, flips: int) -> list[int]:
        known = self._sums.get(flips)
        if known is None:
            known, total, ways = [], 0, 1
            for j in range(flips + 1):
                total += ways
                known.append(total)
                ways = ways * (flips - j) // (j + 1)
            if len(self._sums) >= 64:
                self._sums.clear()
            self._sums[flips] = known
        return known

    def _counts(self, at: int, below: int) -> tuple[int, int, int, tuple[int, int]]:
        """(items of both counts, of the first alone, of the second alone, (s, r))."""
        known = self._known
        both = int(np.count_nonzero((self._low <= at) & (self._high > below)))
        s = int(known.pooled[at] - self._place - known.least[at])
        r = int(self._place - 1 - known.least[below])
        return both, int(known.spread[at]) - both, int(known.spread[below]) - both, (s, r)
