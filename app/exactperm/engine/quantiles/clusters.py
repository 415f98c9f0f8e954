"""P(F(b) <= s, F(x) <= r) where items swap in clusters: a table of two dimensions, one unit after another.

Its dimensions are what F(b) and what F(x) - F(b) have more than their least: few values lie between b and x where p is not
small. Units that change F(b) alone are a table of one dimension. Positive numbers are halved, added and multiplied.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..lattice import Integers
from ..probability import UNIT_ROUNDOFF
from .form import QuantileForm

# Fitted nanoseconds: of one quadrant, of a value in it, of a unit, of an addition; of an addition in integers.
_QUADRANT, _VALUE, _UNIT, _CELL, _INTEGER = 60_000, 16.0, 5_000.0, 1.3, 60.0
_LEAST_NORMAL, _NO_UNDERFLOW = 2.0**-1022, 1_000
Table = NDArray[Any]


class ClusterLaw:
    """The joint law of two counts of one sample, unit by unit."""

    def __init__(self, form: QuantileForm) -> None:
        self._form = form
        self.error = 1.01 * (form.units + form.items + 200) * UNIT_ROUNDOFF
        # What may have underflowed in a quadrant, absolutely; up to so many units all numbers are multiples of 2**-1000.
        many = form.units > _NO_UNDERFLOW
        self.lost = 4.0 * float(form.items) ** 2 * form.units * _LEAST_NORMAL if many else 0.0

    def price(self, at: int, below: int) -> tuple[float, float, float]:
        """Nanoseconds of `quadrant` and of `count`, and the bytes they hold."""
        first, between, _, _ = self._moves(at, below)
        mixed = between != 0
        width, height = int(first[mixed].sum()) + 1, int(np.abs(between).sum()) + 1
        line = int(first[~mixed].sum()) + 1
        cells = width * height * int(np.count_nonzero(mixed)) / 3.0 + line * int(
            np.count_nonzero(first[~mixed])
        )
        fixed = _QUADRANT + _VALUE * self._form.items + _UNIT * len(first)
        product = 12.0 * width * height
        return fixed + product + _CELL * cells, fixed + _INTEGER * (cells + product), 32.0 * width * height

    def quadrant(self, at: int, below: int) -> tuple[float, int]:
        """P(Q_U > values[below], Q_V <= values[at]), at <= below, as a mantissa and an exponent."""
        return float(self._solved(at, below, np.ones(1), 0.5)), 0

    def count(self, at: int, below: int) -> int:
        """The same probability times 2**units, an integer."""
        first, between, _, _ = self._moves(at, below)
        moving = int(np.count_nonzero((first != 0) | (between != 0)))
        one = np.ones(1, dtype=object)
        return int(self._solved(at, below, one, 1)) << (self._form.units - moving)

    def _moves(self, at: int, below: int) -> tuple[Integers, Integers, int, int]:
        """(what each unit adds to F(at), and to F(below) - F(at), or not; s; r): F is counted from where none adds."""
        form = self._form
        low = [np.bincount(form.unit[x <= at], minlength=form.units) for x in (form.own, form.other)]
        all_ = [np.bincount(form.unit[x <= below], minlength=form.units) for x in (form.own, form.other)]
        first = low[0] - low[1]
        between = all_[0] - all_[1] - first
        # The choice of each unit that adds less to F(at) is where it is counted from.
        turned = (first < 0) | ((first == 0) & (between < 0))
        start = int(low[1].sum() + first[turned].sum())
        start_below = start + int((all_[1] - low[1]).sum() + between[turned].sum())
        sign = np.where(turned, -1, 1)
        s = int(low[0].sum() + low[1].sum()) - form.place - start
        return first * sign, between * sign, s, form.place - 1 - start_below

    def _solved(self, at: int, below: int, one: Table, half: float) -> Any:
        first, between, s, r = self._moves(at, below)
        mixed = between != 0
        line = one
        for move in np.sort(first[~mixed & (first > 0)]).tolist():
            line = _added(line[:, None], move, 0, half)[:, 0]
        table, least = one[:, None], 0
        for move, across in sorted(zip(first[mixed].tolist(), between[mixed].tolist(), strict=True)):
            table = _added(table, move, across, half)
            least += min(across, 0)
        x = np.arange(table.shape[0])[:, None]
        left = np.minimum(s - x, r - x - (np.arange(table.shape[1])[None, :] + least))
        sums = np.concatenate((np.zeros(1, dtype=line.dtype), np.cumsum(line)))
        return (table * sums[np.clip(left + 1, 0, len(line))]).sum()


def _added(table: Table, move: int, across: int, half: float) -> Table:
    """The table with one more unit, which adds (move, across) with probability 1/2; move >= 0."""
    rows, columns = table.shape
    wider = np.zeros((rows + move, columns + abs(across)), dtype=table.dtype)
    halved = table * half
    stay = max(-across, 0)
    wider[:rows, stay : stay + columns] = halved
    moved = max(across, 0)
    wider[move:, moved : moved + columns] += halved
    return wider
