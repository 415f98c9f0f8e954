"""`FunctionOf` a vector of sums: the statistic's values, and which states are as extreme as the observed one.

Comparisons are decided in double precision where the error bound settles them, else exactly: by integers for
a rational formula, by balls of 256 bits and more for the others. Two irrational values that agree to 4096 bits
count as tied. A state where the formula is undefined (x/0 for x other than 0, the logarithm of nought) counts as
extreme on every side: no p-value gets smaller by it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import flint
import numpy as np
from numpy.typing import NDArray

from app.engine.lattice import Integers, Reals
from app.statistics import formula
from app.statistics.approximation import Approximation, approximate
from app.statistics.exact_value import (
    Exact,
    Ratios,
    UnresolvedError,
    ball,
    magnitude,
    minus,
    ratios,
    sign_of,
    value_at,
)
from app.statistics.formula import Node
from app.statistics.formula_range import range_of
from app.statistics.joint import Side

PRECISIONS = (256, 1024, 4096)
_U = 2.0**-52
# States at a time: what is computed about them stays in the cache.
_BLOCK = 1 << 15


class Quantity(Protocol):
    """A function of integer sums that can be computed fast with a bound, and exactly."""

    def approximate(self, sums: Sequence[Integers]) -> Approximation:
        """The values where the k `sums` broadcast against each other, and bounds on their error."""
        ...

    def value_at(self, row: Sequence[int], *, last: bool) -> Exact | None:
        """The value at one state at the working precision; None where undefined; may raise UnresolvedError."""
        ...

    def ratios(self, states: Integers, room: int) -> Ratios | None:
        """The exact values at each row of `states`, shape (P, k); None when they are not fractions."""
        ...


@dataclass(frozen=True)
class Formula:
    """A formula tree as a quantity."""

    node: Node

    @cached_property
    def rational(self) -> bool:
        """Whether values are fractions."""
        return formula.is_rational(self.node)

    def approximate(self, sums: Sequence[Integers]) -> Approximation:
        """See Quantity."""
        return approximate(self.node, sums)

    def value_at(self, row: Sequence[int], *, last: bool) -> Exact | None:
        """See Quantity."""
        return value_at(self.node, row, last=last)

    def ratios(self, states: Integers, room: int) -> Ratios | None:
        """See Quantity."""
        return ratios(self.node, states, room) if self.rational else None


@dataclass(frozen=True)
class FunctionOf:
    """t = h(S) of a vector of sums, as the engine takes it (`joint.SumFunction`)."""

    quantity: Quantity

    def values(self, sums: Sequence[Integers]) -> Reals:
        """t where the k `sums` broadcast against each other: finite doubles, 0 where t is undefined."""
        found = self.quantity.approximate(sums)
        values = np.array(found.value, dtype=np.float64)
        unsure = np.broadcast_to(~np.isfinite(found.error), values.shape)
        if unsure.any():
            exact = [exact_value(self.quantity, row) for row in _rows(sums, unsure).tolist()]
            values[unsure] = [0.0 if value is None else as_float(value) for value in exact]
        if found.undefined is not None:
            values[found.undefined] = 0.0
        return np.asarray(np.nan_to_num(values, copy=False))

    def extreme(self, sums: Sequence[Integers], observed: Integers, side: Side) -> NDArray[np.bool_]:
        """Where the k `sums` are at least as extreme as `observed`, shape (k,); of their common shape."""
        shape = np.broadcast_shapes(*(column.shape for column in sums))
        target = exact_value(self.quantity, observed.tolist())
        if target is None:
            return np.ones(shape, dtype=bool)
        if not shape:
            return self._block(sums, observed, target, side)
        extreme = np.empty(shape, dtype=bool)
        step = max(1, _BLOCK // max(math.prod(shape[1:]), 1))
        for start in range(0, shape[0], step):
            chosen = slice(start, start + step)
            block = [_along(column, chosen, len(shape)) for column in sums]
            extreme[chosen] = self._block(block, observed, target, side)
        return extreme

    def settled(
        self, low: Sequence[Reals], high: Sequence[Reals], observed: Integers, side: Side
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(certainly extreme, certainly not) for boxes of states, each sum between `low` and `high`, shape (M,).

        Both are False where the range of the formula over the box does not tell.
        """
        nothing = np.zeros(len(low[0]), dtype=bool)
        target = exact_value(self.quantity, observed.tolist())
        if target is None:
            return ~nothing, nothing
        if not isinstance(self.quantity, Formula):
            return nothing, nothing
        found = range_of(self.quantity.node, low, high)
        least, most, aim = found.low, found.high, as_float(target)
        if side == "two-sided":
            crosses = (least < 0.0) & (most > 0.0)
            ends = np.abs(least), np.abs(most)
            least, most, aim = np.where(crosses, 0.0, np.minimum(*ends)), np.maximum(*ends), abs(aim)
        # The target is rounded, or the middle of a ball.
        margin = 4.0 * _U * abs(aim) + 1e-300
        if not isinstance(target, Fraction):
            margin += 2.0 * float(target.rad())
        above, below = least > aim + margin, most < aim - margin
        return (below, above) if side == "less" else (above, below)

    def _block(
        self, sums: Sequence[Integers], observed: Integers, target: Exact, side: Side
    ) -> NDArray[np.bool_]:
        found = self.quantity.approximate(sums)
        yes, no = _settled(found, target, side)
        if found.undefined is not None:
            yes = yes | found.undefined
        yes, unsure = np.array(yes), np.asarray(~(yes | no))
        if unsure.any():
            yes[unsure] = self._exactly(_rows(sums, unsure), observed, target, side)
        return yes

    def _exactly(self, states: Integers, observed: Integers, target: Exact, side: Side) -> NDArray[np.bool_]:
        if isinstance(target, Fraction):
            room = 2 * max(abs(target.numerator), target.denominator)
            found = self.quantity.ratios(states, room)
            if found is not None:
                return _compared(found, target, side)
        # A state that comes twice is worked out once.
        rows, where = np.unique(states, axis=0, return_inverse=True)
        start: list[int] = observed.tolist()
        decided = [self._reaches(row, start, side) for row in rows.tolist()]
        return np.asarray(decided, dtype=bool)[where.reshape(-1)]

    def _reaches(self, row: list[int], observed: list[int], side: Side) -> bool:
        """Whether t(row) is as extreme as t(observed), at as many bits as it takes."""
        if row == observed:
            return True
        for bits in PRECISIONS:
            last = bits == PRECISIONS[-1]
            with flint.ctx.workprec(bits):
                try:
                    here = self.quantity.value_at(row, last=last)
                    there = self.quantity.value_at(observed, last=last)
                    if here is None or there is None:
                        return True
                    if side == "two-sided":
                        here, there = magnitude(here), magnitude(there)
                    sign = sign_of(minus(here, there), last=last)
                except UnresolvedError:
                    continue
            return sign <= 0 if side == "less" else sign >= 0
        return True


def _rows(sums: Sequence[Integers], where: NDArray[np.bool_]) -> Integers:
    """The states at the marked places, shape (P, k)."""
    return np.stack([np.broadcast_to(column, where.shape)[where] for column in sums], axis=1)


def _along(column: Integers, chosen: slice, dimensions: int) -> Integers:
    """The part of a broadcast column on a slice of the first axis."""
    varies = column.ndim == dimensions and column.shape[0] > 1
    return column[chosen] if varies else column


def exact_value(quantity: Quantity, row: Sequence[int]) -> Exact | None:
    """The value at one state, as a Fraction or a ball of 256 bits or more; None where undefined."""
    for bits in PRECISIONS:
        with flint.ctx.workprec(bits):
            try:
                return quantity.value_at(row, last=bits == PRECISIONS[-1])
            except UnresolvedError:
                continue
    return None


def as_float(value: Exact) -> float:
    """The nearest double (for a ball, of its middle), the largest one when it overflows."""
    try:
        found = float(value) if isinstance(value, Fraction) else float(value.mid())
    except OverflowError:
        found = np.inf if value > 0 else -np.inf
    return float(np.nan_to_num(found))


def _settled(found: Approximation, target: Exact, side: Side) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(certainly extreme, certainly not) for each state."""
    value, aim = found.value, as_float(target)
    radius = 0.0 if isinstance(target, Fraction) else 2.0 * float(target.rad())
    if side == "two-sided":
        value, aim = np.abs(value), abs(aim)
    with np.errstate(all="ignore"):
        # The target and the subtraction are rounded too.
        margin = found.error + (_U * np.abs(value) + (2.0 * _U * abs(aim) + radius))
        gap = aim - value if side == "less" else value - aim
        return gap > margin, gap < -margin


def _compared(found: Ratios, target: Fraction, side: Side) -> NDArray[np.bool_]:
    numerator = found.numerator if side != "two-sided" else np.abs(found.numerator)
    aim = abs(target) if side == "two-sided" else target
    left = numerator * aim.denominator
    right = found.denominator * aim.numerator
    reached = left <= right if side == "less" else left >= right
    return np.asarray(reached | (found.denominator == 0), dtype=bool)


def score_of(quantity: Quantity, row: Sequence[int]) -> Fraction | float | None:
    """A system's own score: a Fraction when it is one, a double when irrational, None where undefined."""
    value = exact_value(quantity, row)
    if value is None or isinstance(value, Fraction):
        return value
    return as_float(ball(value))
