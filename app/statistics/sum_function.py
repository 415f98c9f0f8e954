"""`FunctionOf` a vector of sums: the statistic's values, and which states are as extreme as the observed one.

Comparisons are decided in double precision where the error bound settles them, else exactly (see `decisions`). A state
where the formula is undefined (x/0 for x other than 0, the logarithm of zero) counts as extreme on every side: no
p-value gets smaller by it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..engine.lattice import Integers, Reals
from ..engine.probability import Alternative
from .approximation import Approximation
from .decisions import Decisions, as_float, exact_value, nearest, settled
from .exact_value import ball
from .formula_range import range_of
from .joint_problem import Price
from .price import peaks_of, price_of
from .quantity import Formula, Quantity
from .state_cost import StateCost

_U = 2.0**-52
# States at a time: what is computed about them stays in the cache.
_BLOCK = 1 << 15
# Of so few states the exact values are as quick as their bounds in double precision.
_FEW = 1 << 12
# Of a value that is off by more than this part of it, the exact one is looked up, as long as all take no more than this
# time; far below it underflow is lost.
_DIGITS, _LOST, _EXACT_NS = 2.0**-40, 1e-300, 5e7


@dataclass(frozen=True)
class FunctionOf:
    """t = h(S) of a vector of sums, as the engine takes it (`joint.SumFunction`)."""

    quantity: Quantity

    def values(self, sums: Sequence[Integers]) -> Reals:
        """t where the k `sums` broadcast against each other: finite doubles, 0 where t is undefined.

        Where terms cancel, the doubles nearest to the exact values: of one state, of a few, and of those that may be the
        least or the greatest one.
        """
        if self._constant:
            shape = np.broadcast_shapes(*(column.shape for column in sums))
            return np.full(shape, self._doubles(np.zeros((1, len(sums)), dtype=np.int64))[0])
        result = self.quantity.approximate(sums)
        values = np.array(result.value, dtype=np.float64)
        unsure = np.broadcast_to(~np.isfinite(result.error), values.shape)
        if result.undefined is not None:
            unsure = unsure & ~result.undefined
        unsure = unsure | self._cancelled(sums, result, values)
        if unsure.any():
            values[unsure] = self._doubles(_rows(sums, unsure))
        if result.undefined is not None:
            values[result.undefined] = 0.0
        return values if np.isfinite(values).all() else np.asarray(np.nan_to_num(values, copy=False))

    def _cancelled(self, sums: Sequence[Integers], result: Approximation, values: Reals) -> NDArray[np.bool_]:
        """Where the error may show in the first digits, and exact values are worth their time."""
        if values.size == 1:
            return np.asarray(np.full(values.shape, bool(result.error.any())))
        if not isinstance(self.quantity, Formula):
            return np.zeros(values.shape, dtype=bool)
        error = np.where(np.isfinite(result.error), result.error, 0.0)
        cancelled: NDArray[np.bool_] = error > _DIGITS * np.abs(values) + 2.0 * _LOST
        if not cancelled.any():
            return cancelled
        peaks = [max(-int(column.min()), int(column.max())) for column in sums]
        most = min(_FEW, _EXACT_NS / self.quantity.cost(peaks).undecided)
        if np.count_nonzero(cancelled) > most:
            least, greatest = values - error, values + error
            cancelled &= (least <= greatest.min()) | (greatest >= least.max())
            if np.count_nonzero(cancelled) > most:
                return np.zeros(values.shape, dtype=bool)
        return cancelled

    @property
    def _constant(self) -> bool:
        return isinstance(self.quantity, Formula) and self.quantity.constant

    def _doubles(self, states: Integers) -> list[float]:
        """The doubles nearest to the exact values, 0 where there is none."""
        result = self.quantity.ratios(states, 1)
        if result is None:
            return [nearest(self.quantity, row) or 0.0 for row in states.tolist()]
        pairs = zip(result.numerator.tolist(), result.denominator.tolist(), strict=True)
        return [as_float(Fraction(above, below)) if below else 0.0 for above, below in pairs]

    def undefined(self, sums: Sequence[Integers]) -> NDArray[np.bool_]:
        """See `joint.SumFunction`."""
        result = self.quantity.approximate(sums)
        none = np.zeros(result.value.shape, dtype=bool)
        if result.undefined is not None:
            none |= result.undefined
        unsure = ~np.isfinite(np.broadcast_to(result.error, none.shape)) & ~none
        if unsure.any():
            none[unsure] = [exact_value(self.quantity, row) is None for row in _rows(sums, unsure).tolist()]
        return none

    def price(self, stay: Integers, swap: Integers, side: Alternative) -> Price:
        """See `joint.SumFunction`."""
        return price_of(self.quantity, stay, swap, side)

    def extreme(self, sums: Sequence[Integers], observed: Integers, side: Alternative) -> NDArray[np.bool_]:
        """Where the k `sums` are at least as extreme as `observed`, shape (k,); of their common shape."""
        return self.extreme_by(Decisions(self.quantity, observed.tolist(), side), sums)

    def deciding(
        self,
        stay: Integers,
        swap: Integers,
        side: Alternative,
        allowance_ns: float,
        observed: Integers | None = None,
    ) -> _Deciding:
        """See `joint.SumFunction`."""
        cost: StateCost = self.quantity.cost(peaks_of(stay, swap))
        sums = stay.sum(axis=0) if observed is None else observed
        decisions = Decisions(self.quantity, sums.tolist(), side, cost, allowance_ns)
        return _Deciding(self, decisions)

    def extreme_by(self, decisions: Decisions, sums: Sequence[Integers]) -> NDArray[np.bool_]:
        """`extreme` by decisions that remember what they have worked out."""
        shape = np.broadcast_shapes(*(column.shape for column in sums))
        if decisions.target is None or self._constant:
            return np.ones(shape, dtype=bool)
        if not shape:
            return self._block(decisions, sums)
        if 0 < math.prod(shape) <= _FEW:
            few = decisions.of_few(sums)
            if few is not None:
                return few
        extreme = np.empty(shape, dtype=bool)
        step = max(1, _BLOCK // max(math.prod(shape[1:]), 1))
        for start in range(0, shape[0], step):
            chosen = slice(start, start + step)
            block = [_along(column, chosen, len(shape)) for column in sums]
            extreme[chosen] = self._block(decisions, block)
        return extreme

    def settled(
        self, low: Sequence[Reals], high: Sequence[Reals], observed: Integers, side: Alternative
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
        result = range_of(self.quantity.node, low, high)
        least, most, aim = result.low, result.high, as_float(target)
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

    def _block(self, decisions: Decisions, sums: Sequence[Integers]) -> NDArray[np.bool_]:
        result = self.quantity.approximate(sums)
        assert decisions.target is not None
        yes, no = settled(result, decisions.target, decisions.side)
        if result.undefined is not None:
            decisions.met_undefined |= bool(result.undefined.any())
            yes = yes | result.undefined
        yes, unsure = np.array(yes), np.asarray(~(yes | no))
        if unsure.any():
            yes[unsure] = decisions.of(_rows(sums, unsure))
        return yes


@dataclass(frozen=True, slots=True)
class _Deciding:
    """The decisions of one test, which remember what they met."""

    function: FunctionOf
    decisions: Decisions

    @property
    def met_undefined(self) -> bool:
        return self.decisions.met_undefined

    def __call__(self, sums: Sequence[Integers]) -> NDArray[np.bool_]:
        return self.function.extreme_by(self.decisions, sums)


def _rows(sums: Sequence[Integers], where: NDArray[np.bool_]) -> Integers:
    """The states at the marked places, shape (P, k)."""
    return np.stack([np.broadcast_to(column, where.shape)[where] for column in sums], axis=1)


def _along(column: Integers, chosen: slice, dimensions: int) -> Integers:
    """The part of a broadcast column on a slice of the first axis."""
    varies = column.ndim == dimensions and column.shape[0] > 1
    return column[chosen] if varies else column


def score_of(quantity: Quantity, row: Sequence[int]) -> Fraction | float | None:
    """A system's own score: a Fraction when it is one, a double when irrational, None where undefined."""
    value = exact_value(quantity, row)
    if value is None or isinstance(value, Fraction):
        return value
    return as_float(ball(value))
