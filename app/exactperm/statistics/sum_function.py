"""Functions of a vector of sums: the statistic's values, and which states are as extreme as the observed one.

Comparisons are decided in double precision where the error bound settles them, else exactly (see `decisions`). A state
where the formula is undefined (x/0 for x other than 0, the logarithm of zero) counts as extreme on every side, so that
no p-value becomes smaller.
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
from .decisions import LARGEST, Decisions, as_float, divided, exact_value, nearest, settled, too_large
from .evaluation import Approximation, UnresolvedError, ball, to_double
from .formula import Call, Linear, Node, Product, Quotient, Sum
from .quantity import Formula, Quantity, StateCost

# Predicted cost of deciding and evaluating states, known before any method runs


_GROUPS = 64
_MOST_STATES = 4096
_LEAST_STATES = 256
_LOOK_NS = 1_500_000.0
_ENTRIES = 4_000_000
_CLOSER = 3
_FRACTION_NS, _DIVISION_NS = 1_500.0, 500.0
# Doubles add these integers exactly, and by BLAS.
_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Price:
    """Nanoseconds for a state; 0 where every state has the same value.

    `call_ns` is for a call, even of few states; `filter_ns` for double precision; `open_ns` for the exact decisions
    of the expected share of states; `value_ns` for the statistic's value; `worst_ns` the most that an exact
    decision takes, where that is much.
    """

    call_ns: float = 0.0
    filter_ns: float = 0.0
    open_ns: float = 0.0
    value_ns: float = 0.0
    worst_ns: float = 0.0

    @property
    def work(self) -> float:
        """Return the expected cost of deciding a state."""
        return self.filter_ns + self.open_ns


def price_of(quantity: Quantity, stay: Integers, swap: Integers | None, side: Alternative) -> Price:
    """Price a state of the test of `stay` against `swap`, shape (N, k) each; without `swap`, of the bootstrap."""
    cost = quantity.cost(peaks_of(stay, stay if swap is None else swap))
    if cost.undecided == 0.0:
        return Price()
    if swap is not None and cost.exact is not None and cost.exact < cost.filter + 1_000.0:
        # 64-bit integers, all at once: examining the data would cost more than it saves.
        return Price(cost.call, cost.filter, 0.0, cost.filter)
    states = _sample(stay, swap, max(_LEAST_STATES, int(_LOOK_NS / cost.filter)))
    decisions = Decisions(quantity, stay.sum(axis=0).tolist(), side)
    if decisions.target is None:
        return Price(cost.call, cost.filter, 0.0, cost.filter, cost.undecided)
    value = quantity.approximate(list(states.T))
    yes, no = settled(value, decisions.target, side)
    undefined = np.zeros(len(states), dtype=bool) if value.undefined is None else value.undefined
    open_ = np.flatnonzero(np.broadcast_to(~(yes | no | undefined), (len(states),)))
    unknown = np.broadcast_to(~np.isfinite(value.error) & ~undefined, (len(states),))
    lost = float(_lost(quantity, value, np.broadcast_to(value.value, (len(states),))).mean())
    each = _each(decisions, states[open_[:_CLOSER]], cost)
    share, unvalued = len(open_) / len(states), float(np.count_nonzero(unknown)) / len(states)
    valued = unvalued * _valued(decisions, states[unknown][:_CLOSER], cost)
    if lost * _FEW <= _most_exact(cost):
        valued += lost * (_DIVISION_NS + cost.undecided / 2)
    return Price(cost.call, cost.filter, share * each, cost.filter + valued, cost.undecided)


def peaks_of(stay: Integers, swap: Integers) -> list[int]:
    """Return a bound on |x_i| under any assignment, shape (k,)."""
    largest = np.maximum(np.abs(stay), np.abs(swap))
    return [int(total) for total in largest.sum(axis=0).tolist()]


def _sample(stay: Integers, swap: Integers | None, most: int) -> Integers:
    """Sample sums, shape (P, k), of at most 64 groups of units, swapped or drawn with replacement as a whole."""
    units, width = stay.shape
    groups = min(units, _GROUPS)
    count = min(_MOST_STATES, most, max(_LEAST_STATES, _ENTRIES // (groups * width)))
    starts = np.arange(groups) * units // groups
    random = np.random.default_rng(0)
    if swap is None:
        times = random.multinomial(groups, np.full(groups, 1.0 / groups), size=count)
        return np.asarray(times @ np.add.reduceat(stay, starts, axis=0), dtype=np.int64)
    moved = np.add.reduceat(swap - stay, starts, axis=0)
    coins = random.integers(0, 2, size=(count, groups))
    if float(np.abs(moved.astype(np.float64)).sum(axis=0).max()) < _EXACT:
        away = np.rint(coins.astype(np.float64) @ moved.astype(np.float64)).astype(np.int64)
    else:
        away = coins @ moved
    return np.asarray(stay.sum(axis=0) + away, dtype=np.int64)


def _each(decisions: Decisions, states: Integers, cost: StateCost) -> float:
    """Predict the nanoseconds of a state that the filter leaves open: one precision, or all where unknown."""
    if cost.exact is not None:
        return cost.exact
    climbs = 0
    for row in states.tolist():
        try:
            decisions.at_precision(row, 0)
        except UnresolvedError:
            climbs += row != decisions.observed
    share = climbs / max(len(states), 1)
    return cost.balls[0] + share * sum(cost.balls[1:])


def _valued(decisions: Decisions, states: Integers, cost: StateCost) -> float:
    """Predict the nanoseconds of the exact value of a state without a double."""
    if cost.exact is not None or not len(states):
        return cost.undecided + _FRACTION_NS
    return _each(decisions, states, cost)


# The range of a formula over boxes of sums: interval arithmetic in doubles, rounded outwards


# Relative widening of each result: eight roundings, where NumPy's functions take at most four.
_WIDER = 8.0 * 2.0**-52
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Range:
    """Everything lies between `low` and `high`, shape (M,) each; infinite where nothing is known."""

    low: Reals
    high: Reals


def range_of(node: Node, low: Sequence[Reals], high: Sequence[Reals]) -> Range:
    """Return the range of the formula where the k sums lie between `low` and `high`, shape (M,) each."""
    with np.errstate(all="ignore"):
        result = _visit(node, low, high)
    shape = np.broadcast_shapes(*(column.shape for column in low))
    return Range(np.broadcast_to(result.low, shape), np.broadcast_to(result.high, shape))


def _visit(node: Node, low: Sequence[Reals], high: Sequence[Reals]) -> Range:
    if isinstance(node, Linear):
        return _linear(node, low, high)
    if isinstance(node, Sum):
        parts = [_visit(part, low, high) for part in node.parts]
        total = parts[0]
        for part in parts[1:]:
            total = _wider(total.low + part.low, total.high + part.high)
        return total
    if isinstance(node, Product):
        return _product(_visit(node.left, low, high), _visit(node.right, low, high))
    if isinstance(node, Quotient):
        below = _visit(node.denominator, low, high)
        reciprocal = _wider(1.0 / below.high, 1.0 / below.low)
        crosses = (below.low <= 0.0) & (below.high >= 0.0)
        return _known(_product(_visit(node.numerator, low, high), reciprocal), ~crosses)
    return _call(node, [_visit(argument, low, high) for argument in node.arguments])


def _wider(low: Reals, high: Reals) -> Range:
    """Round outwards; NaN becomes the whole line."""
    low, high = low - (_WIDER * np.abs(low) + _TINY), high + (_WIDER * np.abs(high) + _TINY)
    return Range(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))


def _known(result: Range, sure: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Range:
    return Range(np.where(sure, result.low, -np.inf), np.where(sure, result.high, np.inf))


def _linear(node: Linear, low: Sequence[Reals], high: Sequence[Reals]) -> Range:
    total = _wider(np.asarray(to_double(node.constant)), np.asarray(to_double(node.constant)))
    for index, coefficient in node.terms:
        factor = to_double(coefficient)
        first, last = factor * low[index], factor * high[index]
        if coefficient < 0:
            first, last = last, first
        term = _wider(first, last)
        total = _wider(total.low + term.low, total.high + term.high)
    divisor = to_double(node.divisor)
    return total if node.divisor == 1 else _wider(total.low / divisor, total.high / divisor)


def _product(left: Range, right: Range) -> Range:
    corners = (left.low * right.low, left.low * right.high, left.high * right.low, left.high * right.high)
    # A maximum that is not a number becomes the whole line.
    return _wider(
        np.asarray(np.minimum.reduce(np.broadcast_arrays(*corners))),
        np.asarray(np.maximum.reduce(np.broadcast_arrays(*corners))),
    )


def _call(node: Call, arguments: list[Range]) -> Range:
    result = _applied(node, arguments)
    # A possibly undefined value stays the whole line: no function turns it into a bound.
    unknown = [(argument.low == -np.inf) & (argument.high == np.inf) for argument in arguments]
    return _known(result, ~np.logical_or.reduce(np.broadcast_arrays(*unknown)))


def _applied(node: Call, arguments: list[Range]) -> Range:
    first = arguments[0]
    if node.function == "abs":
        crosses = (first.low < 0.0) & (first.high > 0.0)
        low, high = np.abs(first.low), np.abs(first.high)
        return Range(np.where(crosses, 0.0, np.minimum(low, high)), np.maximum(low, high))
    if node.function in {"min", "max"}:
        pick = np.minimum if node.function == "min" else np.maximum
        low, high = first.low, first.high
        for other in arguments[1:]:
            low, high = pick(low, other.low), pick(high, other.high)
        return Range(low, high)
    if node.function == "exp":
        return _wider(np.exp(first.low), np.exp(first.high))
    apply = np.sqrt if node.function == "sqrt" else np.log
    return _known(_wider(apply(first.low), apply(first.high)), first.low > 0.0)


# The function


_U = 2.0**-52
# States at a time, whose intermediate results stay in the cache.
_BLOCK = 1 << 15
# Up to this many states, exact values are as quick as bounds in double precision.
_FEW = 1 << 12
# A value with a larger relative error is replaced by the exact one, if all take at most this time. Smaller ones may
# underflow.
_DIGITS, _LOST, _EXACT_NS = 2.0**-40, 1e-300, 5e7


def _lost(quantity: Quantity, result: Approximation, values: Reals) -> NDArray[np.bool_]:
    """Mark where terms of a formula cancel, so that the error of the double may show in its first digits."""
    if not isinstance(quantity, Formula):
        return np.zeros(values.shape, dtype=bool)
    error = np.where(np.isfinite(result.error), result.error, 0.0)
    return np.asarray(error > _DIGITS * np.abs(values) + 2.0 * _LOST)


def _most_exact(cost: StateCost) -> float:
    return min(_FEW, _EXACT_NS / cost.undecided)


@dataclass(frozen=True)
class FunctionOf:
    """t = h(S) of a vector of sums."""

    quantity: Quantity

    def values(self, sums: Sequence[Integers]) -> Reals:
        """Return t where the k `sums` broadcast against each other: finite doubles, 0 where t is undefined.

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
        """Mark where the error may show in the first digits, and exact values are worth their time."""
        if values.size == 1:
            return np.asarray(np.full(values.shape, bool(result.error.any())))
        cancelled = _lost(self.quantity, result, values)
        if not cancelled.any():
            return cancelled
        peaks = [max(-int(column.min()), int(column.max())) for column in sums]
        most = _most_exact(self.quantity.cost(peaks))
        error = np.where(np.isfinite(result.error), result.error, 0.0)
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
        """Return the doubles nearest to the exact values, 0 where there is none."""
        result = self.quantity.ratios(states, 1)
        if result is None:
            return [nearest(self.quantity, row) or 0.0 for row in states.tolist()]
        pairs = zip(result.numerator.tolist(), result.denominator.tolist(), strict=True)
        return [divided(above, below) for above, below in pairs]

    def undefined(self, sums: Sequence[Integers]) -> NDArray[np.bool_]:
        """Mark where the sums have no value (x/0, the logarithm of zero), in their common shape."""
        result = self.quantity.approximate(sums)
        none = np.zeros(result.value.shape, dtype=bool)
        if result.undefined is not None:
            none |= result.undefined
        unsure = ~np.isfinite(np.broadcast_to(result.error, none.shape)) & ~none
        if unsure.any():
            none[unsure] = [exact_value(self.quantity, row) is None for row in _rows(sums, unsure).tolist()]
        return none

    def price(self, stay: Integers, swap: Integers | None, side: Alternative) -> Price:
        """Price a state from the data: of `stay` against `swap`, shape (N, k) each; without `swap`, of the bootstrap."""
        return price_of(self.quantity, stay, swap, side)

    def extreme(self, sums: Sequence[Integers], observed: Integers, side: Alternative) -> NDArray[np.bool_]:
        """Mark where the k `sums` are at least as extreme as `observed`, shape (k,); ties are exact.

        greater: t >= t0; less: t <= t0; two-sided: |t| >= |t0|.
        """
        return self.extreme_by(Decisions(self.quantity, observed.tolist(), side), sums)

    def deciding(
        self,
        stay: Integers,
        swap: Integers,
        side: Alternative,
        allowance_ns: float,
        observed: Integers | None = None,
    ) -> Deciding:
        """Return `extreme` for the observed sums of `stay`, or for others, with limited exact work in all its calls.

        Decisions are cached from call to call, and raise PlanTooLarge when the work exceeds the limit.
        """
        cost: StateCost = self.quantity.cost(peaks_of(stay, swap))
        sums = stay.sum(axis=0) if observed is None else observed
        decisions = Decisions(self.quantity, sums.tolist(), side, cost, allowance_ns)
        return Deciding(self, decisions)

    def extreme_by(self, decisions: Decisions, sums: Sequence[Integers]) -> NDArray[np.bool_]:
        """Decide `extreme` by cached decisions."""
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
        """Return (certainly extreme, certainly not) for boxes of states, each sum between `low` and `high`, shape (M,).

        Both are False where the range of the formula over the box does not decide.
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
class Deciding:
    """Decides about states, counting those without a value as extreme; caches decisions."""

    function: FunctionOf
    decisions: Decisions

    @property
    def met_undefined(self) -> bool:
        """Return whether a state without a value was met."""
        return self.decisions.met_undefined

    def __call__(self, sums: Sequence[Integers]) -> NDArray[np.bool_]:
        """Mark where sums that broadcast against each other are at least as extreme as the observed ones."""
        return self.function.extreme_by(self.decisions, sums)


def _rows(sums: Sequence[Integers], where: NDArray[np.bool_]) -> Integers:
    """Return the states at the marked positions, shape (P, k)."""
    return np.stack([np.broadcast_to(column, where.shape)[where] for column in sums], axis=1)


def _along(column: Integers, chosen: slice, dimensions: int) -> Integers:
    """Slice a broadcast column along the first axis."""
    varies = column.ndim == dimensions and column.shape[0] > 1
    return column[chosen] if varies else column


def score_of(quantity: Quantity, row: Sequence[int]) -> Fraction | float | None:
    """Return the score of a system: a Fraction when rational, a double when irrational, None where undefined."""
    value = exact_value(quantity, row)
    if value is None or isinstance(value, Fraction):
        return value
    return as_float(ball(value))


def values_of(function: FunctionOf, sums: Sequence[Integers]) -> Reals:
    """Return the statistic's values where the `sums` broadcast against each other; refuse one that is too large."""
    values = np.asarray(function.values(sums))
    if values.size and float(np.abs(values).max()) > LARGEST:
        raise too_large("/statistic", "under some assignment of the items")
    return values
