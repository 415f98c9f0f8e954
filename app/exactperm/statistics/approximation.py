"""Values of a formula in double precision, each with a rigorous bound on its error.

The bounds are what makes a float filter exact: a comparison that the bound does not settle is left to
`exact_value`. Standard model of floating point (Higham 2002, Accuracy and Stability, section 2.2), with
2**-52 where 2**-53 would do, which covers the rounding of the bounds themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..engine.lattice import EXACT_DOUBLE, Integers, Reals
from .formula import Call, Linear, Node, Product, Quotient, Sum

_U = 2.0**-52
# NumPy's exp and log are within a few units in the last place.
_LIBRARY = 8.0 * _U
# What underflow may have taken from a result, or from the bound on its error; far more than that.
_LOST = 1e-300


@dataclass(frozen=True, slots=True)
class Approximation:
    """Values, and bounds on their absolute error (of the same shape or one for all); infinite where unknown.

    `undefined` marks where there certainly is no value (it is 0 here); None when that is nowhere.
    """

    value: Reals
    error: Reals
    undefined: NDArray[np.bool_] | None = None


def approximate(node: Node, sums: Sequence[Integers]) -> Approximation:
    """The formula where the `sums` broadcast against each other; of their common shape."""
    shape = np.broadcast_shapes(*(column.shape for column in sums))
    columns = [column.astype(np.float64) for column in sums]
    with np.errstate(all="ignore"):
        result = _visit(node, columns)
        error = result.error * (1.0 + 1e-6) + _LOST
        known = np.isfinite(result.value) & np.isfinite(error)
        if not known.all():
            error = np.where(known, error, np.inf)
    undefined = None if result.undefined is None else np.broadcast_to(result.undefined, shape)
    return Approximation(np.broadcast_to(result.value, shape), np.asarray(error), undefined)


def _visit(node: Node, columns: Sequence[Reals]) -> Approximation:
    if isinstance(node, Linear):
        return _linear(node, columns)
    if isinstance(node, Sum):
        return _sum([_visit(part, columns) for part in node.parts])
    if isinstance(node, Product):
        return _product(_visit(node.left, columns), _visit(node.right, columns))
    if isinstance(node, Quotient):
        return _quotient(_visit(node.numerator, columns), _visit(node.denominator, columns))
    return _call(node, [_visit(argument, columns) for argument in node.arguments])


def _linear(node: Linear, columns: Sequence[Reals]) -> Approximation:
    """Exact while every partial sum is an integer below 2**53."""
    value = np.asarray(to_double(node.constant))
    bound = abs(to_double(node.constant))
    for index, coefficient in node.terms:
        factor = to_double(coefficient)
        term = columns[index] if coefficient == 1 else factor * columns[index]
        value = value + term
        bound += abs(factor) * _peak(columns[index])
    error = 0.0 if bound < EXACT_DOUBLE else _U * (len(node.terms) + 2) * bound
    if node.divisor != 1:
        divisor = to_double(node.divisor)
        value, error = value / divisor, (error + _U * bound) / divisor + _LOST
        if not np.isfinite(divisor):
            error = np.inf
    return Approximation(value, np.asarray(error))


def to_double(integer: int) -> float:
    """The double nearest to an integer, infinite beyond the largest."""
    try:
        return float(integer)
    except OverflowError:
        return np.inf if integer > 0 else -np.inf


def _peak(values: Reals) -> float:
    return float(np.abs(values).max(initial=0.0))


def _size(values: Reals, *errors: Reals) -> Reals:
    """|values|; or their largest alone when the bounds are single numbers too."""
    if all(error.ndim == 0 for error in errors):
        return np.asarray(_peak(values))
    return np.asarray(np.abs(values))


def _either(*masks: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    present = [mask for mask in masks if mask is not None]
    if not present:
        return None
    return np.asarray(np.logical_or.reduce(np.broadcast_arrays(*present)))


def _sum(parts: list[Approximation]) -> Approximation:
    value, error = parts[0].value, parts[0].error
    for part in parts[1:]:
        value = value + part.value
        error = error + part.error
        error = error + _U * _size(value, error)
    return Approximation(value, error, _either(*(part.undefined for part in parts)))


def _product(left: Approximation, right: Approximation) -> Approximation:
    value = left.value * right.value
    bounds = (left.error, right.error)
    error = (
        _size(left.value, *bounds) * right.error
        + _size(right.value, *bounds) * left.error
        + left.error * right.error
        + _U * _size(value, *bounds)
    )
    # Zero times anything is zero, without rounding.
    lost = _LOST if error.ndim == 0 else np.where(_is_zero(left) | _is_zero(right), 0.0, _LOST)
    return Approximation(value, error + lost, _either(left.undefined, right.undefined))


def _is_zero(factor: Approximation) -> NDArray[np.bool_]:
    return np.asarray((factor.value == 0.0) & (factor.error == 0.0))


def _quotient(above: Approximation, below: Approximation) -> Approximation:
    undefined = _either(above.undefined, below.undefined)
    if not below.error.any():
        return _exact_denominator(above, below, undefined)
    value = above.value / below.value
    room = np.abs(below.value) - below.error
    error = (above.error + np.abs(value) * below.error) / room + _U * np.abs(value) + _LOST
    unknown = ~(room > 0.0)
    return Approximation(np.where(unknown, 0.0, value), np.where(unknown, np.inf, error), undefined)


def _exact_denominator(
    above: Approximation, below: Approximation, undefined: NDArray[np.bool_] | None
) -> Approximation:
    """Division by integers: 0/0 is 0, x/0 undefined, and one of the two whenever x is not certain."""
    zero = below.value == 0.0
    none_zero = not zero.any()
    divisor = below.value if none_zero else np.where(zero, 1.0, below.value)
    value = above.value / divisor
    exact = not above.error.any()
    error = above.error / np.abs(divisor) + _LOST if not exact else above.error
    error = error + _U * _size(value, error)
    if none_zero:
        return Approximation(value, error, undefined)
    certain = np.abs(above.value) > above.error
    if not exact:
        error = np.where(zero & ~certain, np.inf, error)
    return Approximation(np.where(zero, 0.0, value), error, _either(undefined, zero & certain))


def _call(node: Call, arguments: list[Approximation]) -> Approximation:
    first, undefined = arguments[0], _either(*(argument.undefined for argument in arguments))
    if node.function == "abs":
        return Approximation(np.abs(first.value), first.error, undefined)
    if node.function in {"min", "max"}:
        pick = np.minimum if node.function == "min" else np.maximum
        value, error = first.value, first.error
        for other in arguments[1:]:
            value, error = pick(value, other.value), np.maximum(error, other.error)
        return Approximation(value, error, undefined)
    x, e = first.value, first.error
    if node.function == "exp":
        value = np.exp(x)
        error = value * (np.expm1(e) + _LIBRARY) * (1.0 + _LIBRARY) + _LOST
        return Approximation(value, error, undefined)
    if node.function == "sqrt":
        return _root(x, e, undefined)
    impossible, unknown = x + e <= 0.0, x <= e
    value = np.where(unknown, 0.0, np.log(np.where(unknown, 1.0, x)))
    error = np.where(unknown, np.inf, e / np.where(unknown, 1.0, x - e) + _LIBRARY * np.abs(value))
    return Approximation(value, error, _either(undefined, impossible))


def _root(x: Reals, e: Reals, undefined: NDArray[np.bool_] | None) -> Approximation:
    """sqrt(x); within the error of zero it may be undefined or anything up to sqrt(x + e)."""
    impossible = x + e < 0.0
    value = np.sqrt(np.maximum(x, 0.0))
    unknown = (x <= e) & (e > 0.0)
    safe = np.where(value > 0.0, value, 1.0)
    error = np.where(unknown, np.inf, e / safe + _U * value)
    return Approximation(value, error, _either(undefined, impossible))
