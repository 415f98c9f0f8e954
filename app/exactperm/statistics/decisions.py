"""Exact decisions about the states that double precision leaves open, each made once, within an allowance of work.

Integers for a rational formula; balls of 256, then 4096 bits otherwise. Two irrational values that agree to 4096 bits
count as tied; where the allowance runs out first, the test is refused.

For G-mean and Matthews' correlation such agreement is a proof, as long as the sums are below 2^30 (of G-mean 2^60). The
sign to be decided is that of x = +-z_1 +- z_2 +- z_3 +- z_4, z_i the root of n_i / d_i <= 1 with d_i < 2^120. With L =
d_1 d_2 d_3 d_4 < 2^480, L x is an algebraic integer, a sum of four integer multiples of roots of integers, and its
conjugates are among the sums with other signs, each below 2^482. If x is not 0 the product of its conjugates is a whole
number and not 0. There are at most eight, or sixteen that are eight and their negatives; so |L x| > 2^-(7 * 482), and
|x| > 2^-3854.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from ..engine.lattice import Integers
from ..engine.probability import Alternative
from ..errors import InvalidTest, PlanTooLarge
from .evaluation import Approximation, Exact, Ratios, UnresolvedError, magnitude, minus, sign_of
from .quantity import PRECISIONS, Quantity, StateCost

_U = 2.0**-52
_LARGEST = sys.float_info.max
# A ball of at most this relative radius has a single nearest double, except for very rare midpoints.
_SURE = 2.0**-120
# Cached decisions: a state that recurs in another block costs nothing.
_REMEMBERED = 1 << 16


class Decisions:
    """Decides which states are at least as extreme as the observed one, shape (k,).

    `allowance_ns` bounds the work, counted by `cost` and not by a clock, so that the same test always has the same
    outcome. Without a `cost` nothing is counted.
    """

    def __init__(
        self,
        quantity: Quantity,
        observed: Sequence[int],
        side: Alternative,
        cost: StateCost | None = None,
        allowance_ns: float = math.inf,
    ) -> None:
        self.quantity = quantity
        self.observed = list(observed)
        self.side = side
        self.target = exact_value(quantity, self.observed)
        self.met_undefined = False
        self._cost = cost
        self._left_ns = allowance_ns
        self._known: dict[bytes, bool] = {}
        self._targets: dict[int, Exact | UnresolvedError | None] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Pickle everything except balls, which do not pickle: another process recomputes the target."""
        return {**self.__dict__, "target": None, "_targets": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.target = exact_value(self.quantity, self.observed)

    def of(self, states: Integers) -> NDArray[np.bool_]:
        """Decide each state, shape (P, k).

        Raises
        ------
            PlanTooLarge: more states need exact decisions than the allowance covers. InvalidTest: a value is too large
            to be computed at all.
        """
        if isinstance(self.target, Fraction):
            room = _room(self.target)
            if self._cost is not None and self._cost.exact is not None:
                self._spend(len(states) * self._cost.exact)
            ratios = self.quantity.ratios(states, room)
            if ratios is not None:
                self.met_undefined |= bool((ratios.denominator == 0).any())
                return compared(ratios, self.target, self.side)
        # A repeated state is decided once.
        rows, where = np.unique(states, axis=0, return_inverse=True)
        decided = [self._decided(row) for row in rows]
        return np.asarray(decided, dtype=bool)[where.reshape(-1)]

    def of_few(self, sums: Sequence[Integers]) -> NDArray[np.bool_] | None:
        """Decide where the k `sums` broadcast against each other, in int64; None where that is impossible.

        No filter in double precision precedes it, because this costs no more, and so uses no allowance.
        """
        if not isinstance(self.target, Fraction):
            return None
        ratios = self.quantity.ratios_on(sums, _room(self.target))
        if ratios is None:
            return None
        self.met_undefined |= not ratios.denominator.all()
        return compared(ratios, self.target, self.side)

    def _decided(self, row: Integers) -> bool:
        key = row.tobytes()
        known = self._known.get(key)
        if known is None:
            known = self.reaches(row.tolist())
            if len(self._known) < _REMEMBERED:
                self._known[key] = known
        return known

    def reaches(self, row: list[int]) -> bool:
        """Return whether t(row) is as extreme as t(observed), at as many bits as needed."""
        if row == self.observed:
            return True
        for index in range(len(PRECISIONS)):
            try:
                return self.at_precision(row, index)
            except UnresolvedError:
                continue
        raise uncomputable()

    def at_precision(self, row: list[int], index: int) -> bool:
        """Decide at PRECISIONS[index]; raises UnresolvedError where that precision is not enough."""
        if self._cost is not None and self._cost.balls:
            self._spend(self._cost.balls[index])
        last = index == len(PRECISIONS) - 1
        with flint.ctx.workprec(PRECISIONS[index]):
            there = self._target_at(index, last=last)
            here = self.quantity.value_at(row, last=last)
            if here is None or there is None:
                self.met_undefined = True
                return True
            if self.side == "two-sided":
                here, there = magnitude(here), magnitude(there)
            sign = sign_of(minus(here, there), last=last)
        return sign <= 0 if self.side == "less" else sign >= 0

    def _target_at(self, index: int, *, last: bool) -> Exact | None:
        if index not in self._targets:
            try:
                self._targets[index] = self.quantity.value_at(self.observed, last=last)
            except UnresolvedError as unresolved:
                self._targets[index] = unresolved
        target = self._targets[index]
        if isinstance(target, UnresolvedError):
            raise UnresolvedError
        return target

    def _spend(self, nanoseconds: float) -> None:
        self._left_ns -= nanoseconds
        if self._left_ns < 0.0:
            detail = (
                "Too many outcomes have nearly or exactly the observed value: telling them apart would "
                "take much longer than planned. Write the statistic so that equal values are equal "
                "fractions (without sqrt, log and exp where they cancel), or ask for method monte_carlo "
                "with fewer samples."
            )
            raise PlanTooLarge(detail)


def exact_value(quantity: Quantity, row: Sequence[int]) -> Exact | None:
    """Return the value at one state, as a Fraction or a ball of 256 bits or more; None where undefined.

    Raises InvalidTest for a value too large to be computed.
    """
    for bits in PRECISIONS:
        with flint.ctx.workprec(bits):
            try:
                return quantity.value_at(row, last=bits == PRECISIONS[-1])
            except UnresolvedError:
                continue
    raise uncomputable()


def nearest(quantity: Quantity, row: Sequence[int]) -> float | None:
    """Return the double nearest to the value at one state, None where undefined; 0 for a value that 4096 bits do not
    distinguish from 0.

    Raises InvalidTest as `exact_value` does.
    """
    for bits in PRECISIONS:
        with flint.ctx.workprec(bits):
            try:
                value = quantity.value_at(row, last=bits == PRECISIONS[-1])
            except UnresolvedError:
                continue
            if value is None or isinstance(value, Fraction):
                return None if value is None else as_float(value)
            if value.rad() < abs(value.mid()) * _SURE:
                return as_float(value)
            if bits == PRECISIONS[-1]:
                return 0.0 if value.contains(0) else as_float(value)
    raise uncomputable()


def _room(target: Fraction) -> int:
    """Return the square of the factor by which `compared` multiplies."""
    return 2 * max(abs(target.numerator), target.denominator)


def uncomputable() -> InvalidTest:
    """Return the refusal of a value that no precision holds: exp of exp of a large number."""
    detail = (
        "A value of this expression is too large to be computed under some assignment of the items: make the argument "
        "of exp smaller, or use its logarithm."
    )
    return InvalidTest.at("/statistic", "value_too_large", detail)


def compared(ratios: Ratios, target: Fraction, side: Alternative) -> NDArray[np.bool_]:
    """Return which fractions are at least as extreme as the target; undefined ones count as extreme."""
    numerator = ratios.numerator if side != "two-sided" else np.abs(ratios.numerator)
    aim = abs(target) if side == "two-sided" else target
    left = numerator * aim.denominator
    right = ratios.denominator * aim.numerator
    reached = left <= right if side == "less" else left >= right
    return np.asarray(reached | (ratios.denominator == 0), dtype=bool)


def as_float(value: Exact) -> float:
    """Return the nearest double (for a ball, to its midpoint), the largest one on overflow."""
    if isinstance(value, Fraction):
        return divided(value.numerator, value.denominator)
    number = float(value.mid())
    return 0.0 if math.isnan(number) else max(-_LARGEST, min(number, _LARGEST))


def divided(above: int, below: int) -> float:
    """Return the double nearest to a quotient of integers, the largest one on overflow; 0 of a zero divisor."""
    try:
        number = above / below if above and below else 0.0
    except OverflowError:
        number = math.inf if (above > 0) == (below > 0) else -math.inf
    return max(-_LARGEST, min(number, _LARGEST))


def settled(
    result: Approximation, target: Exact, side: Alternative
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return (certainly extreme, certainly not) for each state."""
    value, aim = result.value, as_float(target)
    radius = 0.0 if isinstance(target, Fraction) else 2.0 * float(target.rad())
    if side == "two-sided":
        value, aim = np.abs(value), abs(aim)
    with np.errstate(all="ignore"):
        # The target and the subtraction are rounded as well.
        margin = result.error + (_U * np.abs(value) + (2.0 * _U * abs(aim) + radius))
        gap = aim - value if side == "less" else value - aim
        return gap > margin, gap < -margin


# Values beyond doubles, which are refused, never infinite or wrong


# Beyond this a difference, a mean or a spread of values would overflow.
LARGEST = 1e307
# Doubles keep no digits of values smaller than this.
SMALLEST = 1e-290


def require_representable(value: Exact, pointer: str) -> None:
    """Refuse a value that no double holds; raises InvalidTest."""
    size = as_float(magnitude(value))
    if size > LARGEST:
        raise too_large(pointer, "for the observed data")
    if size < SMALLEST and (value > 0 or value < 0):
        detail = (
            "The statistic is smaller than 1e-290 for the observed data: multiply it by a constant, "
            "which changes no p-value."
        )
        raise InvalidTest.at(pointer, "value_too_small", detail)


def too_large(pointer: str, where: str) -> InvalidTest:
    """Return the refusal of a value beyond `LARGEST`."""
    detail = f"The statistic is beyond 1e307 {where}: divide it by a constant, which changes no p-value."
    return InvalidTest.at(pointer, "value_too_large", detail)
