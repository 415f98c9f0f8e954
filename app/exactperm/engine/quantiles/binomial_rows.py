"""Binomial(m, 1/2) with separate exponents, so that nothing underflows, and a bound on the relative error.

A row is a pair of arrays: number = mantissa * 2**exponent. Factorials keep 120 bits, so each mantissa is rounded once.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from ..lattice import Integers, Reals
from ..probability import UNIT_ROUNDOFF

Row = tuple[Reals, Integers]

_ROW_BITS = 120
# Numbers that differ by a factor below 2**900 are added directly in doubles.
_SPAN = 900
# The largest number of cached entries of all rows.
_MOST_CACHED = 1 << 22


class BinomialRows:
    """Rows for up to `most` flips; see `chances` and `tails`."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._tails: dict[int, Row] = {}
        self._held = 0

    @cached_property
    def _factorials(self) -> Row:
        mantissas, exponents = np.empty(self.most + 1), np.empty(self.most + 1, dtype=np.int64)
        value, exponent = 1, 0
        for index in range(self.most + 1):
            value *= max(index, 1)
            excess = max(value.bit_length() - _ROW_BITS, 0)
            value, exponent = value >> excess, exponent + excess
            mantissas[index], power = math.frexp(value)
            exponents[index] = exponent + power
        return mantissas, exponents

    def chances(self, flips: int) -> Row:
        """Return P(X = j) for j = 0..flips, each with a relative error of at most 8 u."""
        mantissas, exponents = self._factorials[0][: flips + 1], self._factorials[1][: flips + 1]
        numbers, power = np.frexp(mantissas[flips] / (mantissas * mantissas[::-1]))
        shift = int(exponents[flips]) - flips
        return numbers, shift - exponents - exponents[::-1] + power

    def chances_at(self, flips: int, ones: Integers) -> Row:
        """Return P(X = j) for each j of `ones`, from 0 to flips, with a relative error of at most 8 u."""
        mantissas, exponents = self._factorials
        numbers, power = np.frexp(mantissas[flips] / (mantissas[ones] * mantissas[flips - ones]))
        return numbers, int(exponents[flips]) - flips - exponents[ones] - exponents[flips - ones] + power

    def tails(self, flips: int) -> Row:
        """Return P(X <= j) for j = 0..flips, each with a relative error of at most (flips + 10) u."""
        known = self._tails.get(flips)
        if known is None:
            if self._held + flips > _MOST_CACHED:
                self._tails.clear()
                self._held = 0
            known = self._tails[flips] = _accumulated(*self.chances(flips))
            self._held += flips + 1
        return known

    def error(self, flips: int) -> float:
        """Bound the relative error of a sum of products of a chance and two tails, with `flips` flips in total."""
        return 1.01 * (flips + 40) * UNIT_ROUNDOFF


def _accumulated(mantissas: Reals, exponents: Integers) -> Row:
    """Accumulate from the left, in pieces whose range fits doubles."""
    rising = np.maximum.accumulate(exponents)
    sums, powers = np.empty(len(mantissas)), np.empty(len(mantissas), dtype=np.int64)
    start, carried, power = 0, 0.0, 0
    while start < len(mantissas):
        base = int(rising[start])
        stop = int(np.searchsorted(rising, base + _SPAN, side="right"))
        # Numbers that underflow here are below 2**-1000 of their sums.
        piece = np.ldexp(mantissas[start:stop], exponents[start:stop] - base)
        piece[0] += math.ldexp(carried, power - base)
        sums[start:stop], shift = np.frexp(np.cumsum(piece))
        powers[start:stop] = shift + base
        carried, power, start = float(sums[stop - 1]), int(powers[stop - 1]), stop
    return sums, powers


def summed(numbers: Reals, exponents: Integers) -> tuple[float, int]:
    """Sum positive numbers; return a mantissa and an exponent."""
    if len(numbers) == 0:
        return 0.0, 0
    base = int(exponents.max())
    return float(np.ldexp(numbers, np.maximum(exponents - base, -2000)).sum()), base
