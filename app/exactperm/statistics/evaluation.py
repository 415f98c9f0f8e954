"""Values of a formula in double precision with error bounds, exact values, and slopes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from ..engine.lattice import EXACT_DOUBLE, Integers, Reals
from .formula import Call, Linear, Node, Product, Quotient, Sum

# Double precision, with a rigorous bound on the error. The bounds make a float filter exact: a comparison that they do
# not settle is left to exact values. The standard model of floating point (Higham 2002, Accuracy and Stability, section
# 2.2), with 2**-52 in place of 2**-53 to cover the rounding of the bounds.


_U = 2.0**-52
# NumPy's exp and log are within a few units in the last place.
_LIBRARY = 8.0 * _U
# A bound, with a wide margin, on the loss to underflow in a result or in its error bound.
_LOST = 1e-300


@dataclass(frozen=True, slots=True)
class Approximation:
    """Values, and bounds on their absolute error (of the same shape or one for all); infinite where unknown.

    `undefined` marks states that certainly have no value (0 here); None when there are none.
    """

    value: Reals
    error: Reals
    undefined: NDArray[np.bool_] | None = None


def approximate(node: Node, sums: Sequence[Integers]) -> Approximation:
    """Evaluate the formula where the `sums` broadcast against each other, in their common shape."""
    shape = np.broadcast_shapes(*(column.shape for column in sums))
    columns = [column.astype(np.float64) for column in sums]
    with np.errstate(all="ignore"):
        result = _visit_approximated(node, columns)
        error = result.error * (1.0 + 1e-6) + _LOST
        known = np.isfinite(result.value) & np.isfinite(error)
        if not known.all():
            error = np.where(known, error, np.inf)
    undefined = None if result.undefined is None else np.broadcast_to(result.undefined, shape)
    return Approximation(np.broadcast_to(result.value, shape), np.asarray(error), undefined)


def _visit_approximated(node: Node, columns: Sequence[Reals]) -> Approximation:
    if isinstance(node, Linear):
        return _linear(node, columns)
    if isinstance(node, Sum):
        return _sum([_visit_approximated(part, columns) for part in node.parts])
    if isinstance(node, Product):
        return _product(_visit_approximated(node.left, columns), _visit_approximated(node.right, columns))
    if isinstance(node, Quotient):
        return _quotient_approximated(
            _visit_approximated(node.numerator, columns), _visit_approximated(node.denominator, columns)
        )
    return _call_approximated(node, [_visit_approximated(argument, columns) for argument in node.arguments])


def _linear(node: Linear, columns: Sequence[Reals]) -> Approximation:
    """Evaluate a linear form, exactly while every partial sum is an integer below 2**53."""
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
    """Return the double nearest to an integer, infinite beyond the largest."""
    try:
        return float(integer)
    except OverflowError:
        return np.inf if integer > 0 else -np.inf


def _peak(values: Reals) -> float:
    return float(np.abs(values).max(initial=0.0))


def _size(values: Reals, *errors: Reals) -> Reals:
    """Return |values|, or only the largest when the bounds are single numbers as well."""
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


def _quotient_approximated(above: Approximation, below: Approximation) -> Approximation:
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
    """Divide by integers: 0/0 is 0 and x/0 is undefined; either is possible where x is uncertain."""
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


def _call_approximated(node: Call, arguments: list[Approximation]) -> Approximation:
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
    """Return sqrt(x), which near zero may be undefined or anything up to sqrt(x + e), e the error of x."""
    impossible = x + e < 0.0
    value = np.sqrt(np.maximum(x, 0.0))
    unknown = (x <= e) & (e > 0.0)
    safe = np.where(value > 0.0, value, 1.0)
    error = np.where(unknown, np.inf, e / safe + _U * value)
    return Approximation(value, error, _either(undefined, impossible))


# Exact values: fractions by the million in integer arrays, balls where the formula is irrational. `ratios`
# cross-multiplies without reducing, in int64 if a bound on every intermediate result fits and else in Python integers.
# `value_at` takes one state at a time: a Fraction wherever there is no sqrt, log or exp, else a ball of python-flint's
# arb at the working precision (Johansson 2017, Arb).


Exact = Fraction | flint.arb
# int64 or Python integers, shape (P,) or ().
Whole = NDArray[Any]
INT64_ROOM = 2**62


class UnresolvedError(ArithmeticError):
    """The working precision does not determine a sign."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """A fraction numerator / denominator, not in lowest terms; the denominator is positive, or 0 where undefined."""

    numerator: Whole
    denominator: Whole


def ratios(node: Node, states: Integers, room: int = 1) -> Ratios:
    """Evaluate a rational formula at each row of `states`, shape (P, k), in int64 when that leaves `room` as a
    further factor of every result, else in Python integers.
    """
    peaks = (
        [max(abs(int(column.min())), abs(int(column.max()))) for column in states.T] if len(states) else []
    )
    fits = bool(peaks) and _bounds(node, peaks).largest * room < INT64_ROOM
    columns = states.T if fits else states.T.astype(object)
    return _spread(_ratios(node, columns, columns.dtype), (len(states),), columns.dtype)


def ratios_on(node: Node, sums: Sequence[Integers], room: int) -> Ratios | None:
    """Evaluate a rational formula where the k `sums` broadcast against each other, in their common shape, which is not
    empty or ().

    Only in int64; None where that may not leave `room` as a further factor of every result.
    """
    peaks = [max(-int(column.min()), int(column.max())) for column in sums]
    if _bounds(node, peaks).largest * room >= INT64_ROOM:
        return None
    shape = np.broadcast_shapes(*(column.shape for column in sums))
    kind = np.dtype(np.int64)
    return _spread(_ratios(node, sums, kind), shape, kind)


def _spread(ratio: Ratios, shape: tuple[int, ...], kind: np.dtype[Any]) -> Ratios:
    # Scalars turn into Python integers, which NumPy would read as int64 again.
    parts = (np.asarray(part, dtype=kind) for part in (ratio.numerator, ratio.denominator))
    return Ratios(*(part if part.shape == shape else np.broadcast_to(part, shape) for part in parts))


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Bound |numerator|, the denominator, and every intermediate result."""

    numerator: int
    denominator: int
    largest: int


def _bounds(node: Node, peaks: Sequence[int]) -> _Bounds:
    if isinstance(node, Linear):
        size = abs(node.constant) + sum(abs(c) * peaks[i] for i, c in node.terms)
        largest = max(size, node.divisor, *(abs(c) for _, c in node.terms), 1)
        return _Bounds(size, node.divisor, largest)
    if isinstance(node, Product):
        left, right = _bounds(node.left, peaks), _bounds(node.right, peaks)
        return _bounded(left.numerator * right.numerator, left.denominator * right.denominator, left, right)
    if isinstance(node, Quotient):
        left, right = _bounds(node.numerator, peaks), _bounds(node.denominator, peaks)
        return _bounded(
            left.numerator * right.denominator, max(left.denominator * right.numerator, 1), left, right
        )
    parts = [_bounds(child, peaks) for child in (node.parts if isinstance(node, Sum) else node.arguments)]
    total = parts[0]
    for part in parts[1:]:
        above = total.numerator * part.denominator + part.numerator * total.denominator
        total = _bounded(above, total.denominator * part.denominator, total, part)
    return total


def _bounded(numerator: int, denominator: int, *parts: _Bounds) -> _Bounds:
    return _Bounds(numerator, denominator, max(numerator, denominator, *(part.largest for part in parts)))


def _ratios(node: Node, columns: Whole | Sequence[Integers], kind: np.dtype[Any]) -> Ratios:
    if isinstance(node, Linear):
        # One-element arrays: zero-dimensional ones become bare integers, whose type NumPy would infer again.
        above: Whole | None = (
            np.full(1, node.constant, dtype=kind) if node.constant or not node.terms else None
        )
        for index, coefficient in node.terms:
            term = columns[index] if coefficient == 1 else coefficient * columns[index]
            above = term if above is None else above + term
        return Ratios(np.asarray(above), np.full(1, node.divisor, dtype=kind))
    if isinstance(node, Product):
        left, right = _ratios(node.left, columns, kind), _ratios(node.right, columns, kind)
        return Ratios(left.numerator * right.numerator, left.denominator * right.denominator)
    if isinstance(node, Quotient):
        return _divided(_ratios(node.numerator, columns, kind), _ratios(node.denominator, columns, kind))
    parts = [
        _ratios(child, columns, kind) for child in (node.parts if isinstance(node, Sum) else node.arguments)
    ]
    if isinstance(node, Call):
        return _called(node, parts)
    total = parts[0]
    for part in parts[1:]:
        total = Ratios(
            total.numerator * part.denominator + part.numerator * total.denominator,
            total.denominator * part.denominator,
        )
    return total


def _divided(above: Ratios, below: Ratios) -> Ratios:
    divisor = below.numerator
    if (divisor > 0).all() and below.denominator.all():
        return Ratios(above.numerator * below.denominator, above.denominator * divisor)
    sign = np.where(divisor < 0, -1, 1)
    numerator = above.numerator * below.denominator * sign
    denominator = above.denominator * divisor * sign
    nothing = (divisor == 0) & (above.numerator == 0)
    nothing = nothing & (above.denominator != 0) & (below.denominator != 0)
    # Undefined below stays undefined: its denominator of 0 is not among the factors.
    denominator = np.where(below.denominator == 0, 0, denominator)
    return Ratios(numerator, np.where(nothing, 1, denominator))


def _called(node: Call, parts: list[Ratios]) -> Ratios:
    total = parts[0]
    if node.function == "abs":
        return Ratios(np.abs(total.numerator), total.denominator)
    for part in parts[1:]:
        left = total.numerator * part.denominator
        right = part.numerator * total.denominator
        first = left <= right if node.function == "min" else left >= right
        denominator = np.where(first, total.denominator, part.denominator)
        undefined = (total.denominator == 0) | (part.denominator == 0)
        total = Ratios(np.where(first, total.numerator, part.numerator), np.where(undefined, 0, denominator))
    return total


def value_at(node: Node, row: Sequence[int], *, last: bool = False) -> Exact | None:
    """Evaluate the formula at one state; None when undefined there.

    Raises UnresolvedError for a division by a ball around zero, or its root or logarithm (at the `last` precision
    such a ball counts as zero), and for an exponential that is too large to be computed.
    """
    if isinstance(node, Linear):
        return Fraction(node.constant + sum(c * row[i] for i, c in node.terms), node.divisor)
    if isinstance(node, Product):
        left, right = value_at(node.left, row, last=last), value_at(node.right, row, last=last)
        return None if left is None or right is None else _applied(operator.mul, left, right)
    if isinstance(node, Quotient):
        above = value_at(node.numerator, row, last=last)
        below = value_at(node.denominator, row, last=last)
        return None if above is None or below is None else _over(above, below, last=last)
    members = node.parts if isinstance(node, Sum) else node.arguments
    values: list[Exact] = []
    for member in members:
        value = value_at(member, row, last=last)
        if value is None:
            return None
        values.append(value)
    if isinstance(node, Call):
        return _function(node.function, values, last=last)
    return reduce(partial(_applied, operator.add), values)


def ball(value: Exact) -> flint.arb:
    """Return the value as a ball at the working precision."""
    if isinstance(value, Fraction):
        return flint.arb(flint.fmpq(value.numerator, value.denominator))
    return value


def _applied(operation: Callable[[Any, Any], Any], left: Exact, right: Exact) -> Exact:
    """Apply the operation to two fractions, or to balls where either is not a fraction."""
    if not (isinstance(left, Fraction) and isinstance(right, Fraction)):
        left, right = ball(left), ball(right)
    value: Exact = operation(left, right)
    return value


def magnitude(value: Exact) -> Exact:
    """Return |value|."""
    return abs(value) if isinstance(value, Fraction) else value.__abs__()


def minus(left: Exact, right: Exact) -> Exact:
    """Return left - right."""
    return _applied(operator.sub, left, right)


def sign_of(value: Exact, *, last: bool) -> int:
    """Return -1, 0 or 1; raises UnresolvedError, except at the `last` precision, where a possible zero counts as
    zero.
    """
    if value > 0:
        return 1
    if value < 0:
        return -1
    if last or isinstance(value, Fraction) or value.is_zero():
        return 0
    raise UnresolvedError


def _over(above: Exact, below: Exact, *, last: bool) -> Exact | None:
    if sign_of(below, last=last) == 0:
        return Fraction(0) if sign_of(above, last=last) == 0 else None
    return _applied(operator.truediv, above, below)


def _function(name: str, values: list[Exact], *, last: bool) -> Exact | None:
    first = values[0]
    if name == "abs":
        return magnitude(first)
    if name in {"min", "max"}:
        return _extremum(name, values)
    if name == "exp":
        return _exponential(first)
    sign = sign_of(first, last=last)
    if name == "sqrt":
        if sign <= 0:
            return Fraction(0) if sign == 0 else None
        return _square_root(first)
    if sign <= 0:
        return None
    return Fraction(0) if first == 1 and isinstance(first, Fraction) else ball(first).log()


def _exponential(value: Exact) -> Exact:
    if value == 0 and isinstance(value, Fraction):
        return Fraction(1)
    power: flint.arb = ball(value).exp()
    if not power.is_finite():
        raise UnresolvedError  # its exponent needs too many bits
    return power


def _extremum(name: str, values: list[Exact]) -> Exact:
    best = values[0]
    for value in values[1:]:
        if isinstance(best, Fraction) and isinstance(value, Fraction):
            best = min(best, value) if name == "min" else max(best, value)
        else:
            best = ball(best).min(ball(value)) if name == "min" else ball(best).max(ball(value))
    return best


def _square_root(value: Exact) -> Exact:
    if isinstance(value, Fraction):
        above, below = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if above * above == value.numerator and below * below == value.denominator:
            return Fraction(above, below)
    return ball(value).sqrt()


# The gradient at a point, in balls: forward differentiation of the tree. 0/0 is 0. At a corner (the absolute value at
# zero, a tie of min or max) a slope is the mean of those of both sides. There is no slope where the formula has no
# value, or is infinitely steep (the root of zero).


class NotSmoothError(ArithmeticError):
    """There is no gradient at this point, or the working precision does not determine it."""


@dataclass(frozen=True, slots=True)
class Tangent:
    """A value, and the slope in each sum that it depends on; sums that are missing have slope 0."""

    value: flint.arb
    slopes: Mapping[int, flint.arb]


def tangent(node: Node, point: Sequence[flint.arb]) -> Tangent:
    """Return the formula's tangent at a point, shape (k,), at the working precision; raises NotSmoothError."""
    result = _visit(node, point)
    if not result.value.is_finite() or not all(slope.is_finite() for slope in result.slopes.values()):
        raise NotSmoothError
    return result


def combined(*parts: tuple[flint.arb | int, Tangent]) -> dict[int, flint.arb]:
    """Return the slopes of the sum of factor * tangent."""
    slopes: dict[int, flint.arb] = {}
    for factor, part in parts:
        for index, slope in part.slopes.items():
            grown = factor * slope
            slopes[index] = slopes[index] + grown if index in slopes else grown
    return slopes


def _visit(node: Node, point: Sequence[flint.arb]) -> Tangent:
    if isinstance(node, Linear):
        total: flint.arb = sum((c * point[i] for i, c in node.terms), flint.arb(node.constant))
        return Tangent(total / node.divisor, {i: flint.arb(c) / node.divisor for i, c in node.terms})
    if isinstance(node, Sum):
        parts = [_visit(part, point) for part in node.parts]
        whole = sum((part.value for part in parts), flint.arb(0))
        return Tangent(whole, combined(*((1, part) for part in parts)))
    if isinstance(node, Product):
        left, right = _visit(node.left, point), _visit(node.right, point)
        return Tangent(left.value * right.value, combined((right.value, left), (left.value, right)))
    if isinstance(node, Quotient):
        return _quotient(_visit(node.numerator, point), _visit(node.denominator, point))
    return _call(node, [_visit(argument, point) for argument in node.arguments])


def _quotient(above: Tangent, below: Tangent) -> Tangent:
    if below.value.contains(0):
        if below.value.is_zero() and above.value.is_zero():
            return Tangent(flint.arb(0), {})
        raise NotSmoothError
    ratio = above.value / below.value
    each = 1 / below.value
    return Tangent(ratio, combined((each, above), (-ratio * each, below)))


def _call(node: Call, arguments: list[Tangent]) -> Tangent:
    first = arguments[0]
    if node.function == "abs":
        side = _side(first.value)
        return Tangent(abs(first.value), combined((flint.arb(side), first)))
    if node.function in {"min", "max"}:
        for other in arguments[1:]:
            side = _side(first.value - other.value) * (-1 if node.function == "min" else 1)
            half = flint.arb(side) / 2
            value = other.value if side < 0 else first.value
            first = Tangent(value, combined((half + 0.5, first), (0.5 - half, other)))
        return first
    x = first.value
    if node.function == "exp":
        return Tangent(x.exp(), combined((x.exp(), first)))
    if not x > 0:
        raise NotSmoothError
    if node.function == "sqrt":
        return Tangent(x.sqrt(), combined((1 / (2 * x.sqrt()), first)))
    return Tangent(x.log(), combined((1 / x, first)))


def _side(value: flint.arb) -> int:
    """Return the sign; 0 where unknown."""
    return 1 if value > 0 else -1 if value < 0 else 0
