"""P(F(b) <= s, F(x) <= r), with every item swapping alone from three binomials, or in clusters from a table.

See section 17 of the README: an item with its smaller value of rank at most b and the larger one above x moves both
counts, one with the larger value in between F(b) alone, one with the smaller value in between F(x) alone.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..lattice import Integers
from ..probability import UNIT_ROUNDOFF
from .binomial_rows import BinomialRows, Row, summed
from .form import Profile, QuantileForm

# Fitted nanoseconds of a quadrant, an item in it, and a term of the sum; the same in integers, and of a bit.
_QUADRANT, _ITEM, _TERM = 45_000, 1.2, 26.0
_COUNT, _INTEGERS, _BIT = 9_000, 350.0, 0.35


class ItemLaw:
    """The joint law of two counts of U's values, with items that swap alone."""

    def __init__(self, form: QuantileForm, known: Profile) -> None:
        self._place, self._known, self._units = form.place, known, form.units
        self._low, self._high = np.minimum(form.ranks_u, form.ranks_v), np.maximum(form.ranks_u, form.ranks_v)
        self._rows = BinomialRows(form.items)
        self._sums: dict[int, list[int]] = {}

    @cached_property
    def error(self) -> float:
        """A bound on the relative error of `quadrant`."""
        return self._rows.error(self._units)

    # With separate exponents, nothing underflows.
    lost = 0.0

    def price(self, at: int, below: int) -> tuple[float, float, float]:
        """Predict the nanoseconds of `quadrant` and of `count`, and their bytes."""
        both, first, second, reach = self._counts(at, below)
        steps = max(min(both, *reach), 0) + 1
        flips = both + first + second
        inexact = _QUADRANT + _ITEM * len(self._low) + _TERM * (steps + 0.3 * (first + second))
        exact = _COUNT + _ITEM * len(self._low) + steps * (_INTEGERS + _BIT * flips)
        return inexact, exact, 400.0 * flips

    def quadrant(self, at: int, below: int) -> tuple[float, int]:
        """Return P(Q_U > values[below], Q_V <= values[at]), at <= below, as a mantissa and an exponent."""
        both, first, second, (s, r) = self._counts(at, below)
        steps = min(both, s, r) + 1
        if steps <= 0:
            return 0.0, 0
        numbers, exponents = self._rows.chances(both)
        lower, upper = self._falling(first, s, steps), self._falling(second, r, steps)
        return summed(numbers[:steps] * lower[0] * upper[0], exponents[:steps] + lower[1] + upper[1])

    def _falling(self, flips: int, start: int, steps: int) -> Row:
        """Return P(X <= start - j) for j = 0..steps - 1."""
        numbers, exponents = self._rows.tails(flips)
        at = np.minimum(start - np.arange(steps), flips)
        return numbers[at], exponents[at]

    def count(self, at: int, below: int) -> int:
        """Return the probability of `quadrant` times 2**units, an integer."""
        both, first, second, (s, r) = self._counts(at, below)
        lower, upper = self._integer_sums(first), self._integer_sums(second)
        total, ways = 0, 1
        for j in range(min(both, s, r) + 1):
            total += ways * lower[min(s - j, first)] * upper[min(r - j, second)]
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
        """Return (items of both counts, of the first alone, of the second alone, (s, r))."""
        known = self._known
        both = int(np.count_nonzero((self._low <= at) & (self._high > below)))
        s = int(known.pooled[at] - self._place - known.least[at])
        r = int(self._place - 1 - known.least[below])
        return both, int(known.spread[at]) - both, int(known.spread[below]) - both, (s, r)


# P(F(b) <= s, F(x) <= r) where items swap in clusters: a table of two dimensions, built unit by unit. Its axes are F(b)
# and F(x) - F(b) less their minima: few values lie between b and x where p is not small. Units that change only F(b)
# have a table of one dimension. All numbers are positive.


# Fitted nanoseconds of a quadrant, a value in it, a unit, an addition, and an addition in integers.
_CLUSTERED_QUADRANT, _VALUE, _UNIT, _CELL, _INTEGER = 60_000, 16.0, 5_000.0, 1.3, 60.0
_LEAST_NORMAL, _NO_UNDERFLOW = 2.0**-1022, 1_000
Table = NDArray[Any]


class ClusterLaw:
    """The joint law of two counts of U's values, unit by unit."""

    def __init__(self, form: QuantileForm) -> None:
        self._form = form
        self.error = 1.01 * (form.units + form.items + 200) * UNIT_ROUNDOFF
        # A bound on the underflow in a quadrant; up to _NO_UNDERFLOW units, all numbers are multiples of 2**-1000.
        many = form.units > _NO_UNDERFLOW
        self.lost = 4.0 * float(form.items) ** 2 * form.units * _LEAST_NORMAL if many else 0.0

    def price(self, at: int, below: int) -> tuple[float, float, float]:
        """Predict the nanoseconds of `quadrant` and of `count`, and their bytes."""
        first, between, _, _ = self._moves(at, below)
        mixed = between != 0
        width, height = int(first[mixed].sum()) + 1, int(np.abs(between).sum()) + 1
        line = int(first[~mixed].sum()) + 1
        cells = width * height * int(np.count_nonzero(mixed)) / 3.0 + line * int(
            np.count_nonzero(first[~mixed])
        )
        fixed = _CLUSTERED_QUADRANT + _VALUE * self._form.items + _UNIT * len(first)
        product = 12.0 * width * height
        return fixed + product + _CELL * cells, fixed + _INTEGER * (cells + product), 32.0 * width * height

    def quadrant(self, at: int, below: int) -> tuple[float, int]:
        """Return P(Q_U > values[below], Q_V <= values[at]), at <= below, as a mantissa and an exponent."""
        return float(self._solved(at, below, np.ones(1), 0.5)), 0

    def count(self, at: int, below: int) -> int:
        """Return the probability of `quadrant` times 2**units, an integer."""
        first, between, _, _ = self._moves(at, below)
        moving = int(np.count_nonzero((first != 0) | (between != 0)))
        unit = np.ones(1, dtype=object)
        return int(self._solved(at, below, unit, 1)) << (self._form.units - moving)

    def _moves(self, at: int, below: int) -> tuple[Integers, Integers, int, int]:
        """Return (what each unit may add to F(at), and to F(below) - F(at); s; r), F counted from where none adds."""
        form = self._form
        low = [np.bincount(form.unit[x <= at], minlength=form.units) for x in (form.ranks_u, form.ranks_v)]
        all_ = [
            np.bincount(form.unit[x <= below], minlength=form.units) for x in (form.ranks_u, form.ranks_v)
        ]
        first = low[0] - low[1]
        between = all_[0] - all_[1] - first
        # The count starts from the choice of each unit that adds less to F(at).
        turned = (first < 0) | ((first == 0) & (between < 0))
        start = int(low[1].sum() + first[turned].sum())
        start_below = start + int((all_[1] - low[1]).sum() + between[turned].sum())
        sign = np.where(turned, -1, 1)
        s = int(low[0].sum() + low[1].sum()) - form.place - start
        return first * sign, between * sign, s, form.place - 1 - start_below

    def _solved(self, at: int, below: int, unit: Table, half: float) -> Any:
        first, between, s, r = self._moves(at, below)
        mixed = between != 0
        line = unit
        for move in np.sort(first[~mixed & (first > 0)]).tolist():
            line = _added(line[:, None], move, 0, half)[:, 0]
        table, least = unit[:, None], 0
        for move, across in sorted(zip(first[mixed].tolist(), between[mixed].tolist(), strict=True)):
            table = _added(table, move, across, half)
            least += min(across, 0)
        x = np.arange(table.shape[0])[:, None]
        left = np.minimum(s - x, r - x - (np.arange(table.shape[1])[None, :] + least))
        sums = np.concatenate((np.zeros(1, dtype=line.dtype), np.cumsum(line)))
        return (table * sums[np.clip(left + 1, 0, len(line))]).sum()


def _added(table: Table, move: int, across: int, half: float) -> Table:
    """Add a unit to the table, which contributes (move, across) with probability 1/2; move >= 0."""
    rows, columns = table.shape
    wider = np.zeros((rows + move, columns + abs(across)), dtype=table.dtype)
    halved = table * half
    stay = max(-across, 0)
    wider[:rows, stay : stay + columns] = halved
    moved = max(across, 0)
    wider[move:, moved : moved + columns] += halved
    return wider
