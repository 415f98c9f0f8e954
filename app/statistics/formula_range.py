"""The range of a formula over boxes of sums: interval arithmetic in doubles, rounded outwards.

Moore 1966, *Interval Analysis*: replacing every operation by the interval of its results gives an interval that holds
all values. It is exact, but for rounding, where every sum occurs in one direction only, as in a difference of ratios.
An operation that may be undefined gives the whole line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..engine.lattice import Reals
from .approximation import to_double
from .formula import Call, Linear, Node, Product, Quotient, Sum

# Relative widening of each result: eight roundings, where NumPy's functions take at most four.
_WIDER = 8.0 * 2.0**-52
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Range:
    """Everything lies between `low` and `high`, shape (M,) each; infinite where nothing is known."""

    low: Reals
    high: Reals


def range_of(node: Node, low: Sequence[Reals], high: Sequence[Reals]) -> Range:
    """The range of the formula where the k sums lie between `low` and `high`, shape (M,) each."""
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
    """Rounded outwards; what is no number is the whole line."""
    low, high = low - (_WIDER * np.abs(low) + _TINY), high + (_WIDER * np.abs(high) + _TINY)
    return Range(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))


def _known(result: Range, sure: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Range:
    return Range(np.where(sure, result.low, -np.inf), np.where(sure, result.high, np.inf))


def _linear(node: Linear, low: Sequence[Reals], high: Sequence[Reals]) -> Range:
    total = _wider(np.asarray(to_double(node.constant)), np.asarray(to_double(node.constant)))
    for index, coefficient in node.terms:
        factor = to_double(coefficient)
        one, other = factor * low[index], factor * high[index]
        if coefficient < 0:
            one, other = other, one
        term = _wider(one, other)
        total = _wider(total.low + term.low, total.high + term.high)
    divisor = to_double(node.divisor)
    return total if node.divisor == 1 else _wider(total.low / divisor, total.high / divisor)


def _product(left: Range, right: Range) -> Range:
    corners = (left.low * right.low, left.low * right.high, left.high * right.low, left.high * right.high)
    # A maximum with something that is no number is none, and becomes the whole line.
    return _wider(
        np.asarray(np.minimum.reduce(np.broadcast_arrays(*corners))),
        np.asarray(np.maximum.reduce(np.broadcast_arrays(*corners))),
    )


def _call(node: Call, arguments: list[Range]) -> Range:
    result = _applied(node, arguments)
    # What may be undefined stays the whole line: no function makes a bound out of it.
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
