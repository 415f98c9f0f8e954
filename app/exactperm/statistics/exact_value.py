"""Exact values of a formula: fractions by the million in integer arrays, balls where it is irrational.

`ratios` cross-multiplies without ever reducing, in int64 when a bound on every intermediate result fits and
in Python integers when not. `value_at` is one state at a time: a Fraction wherever no sqrt, log or exp is in
the way, else a ball of python-flint's arb at the working precision (Johansson 2017, Arb).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from ..engine.lattice import Integers
from .formula import Call, Linear, Node, Product, Quotient, Sum

Exact = Fraction | flint.arb
# int64 or Python integers, shape (P,) or ().
Whole = NDArray[Any]
INT64_ROOM = 2**62


class UnresolvedError(ArithmeticError):
    """A sign has to be known, and the working precision does not show it."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """numerator / denominator, not in lowest terms; a denominator of 0 means undefined, else it is positive."""

    numerator: Whole
    denominator: Whole


def ratios(node: Node, states: Integers, room: int = 1) -> Ratios:
    """A rational formula at each row of `states`, shape (P, k).

    In int64 when that leaves `room` as a further factor of every result, else in Python integers.
    """
    peaks = (
        [max(abs(int(column.min())), abs(int(column.max()))) for column in states.T] if len(states) else []
    )
    fits = bool(peaks) and _bounds(node, peaks).largest * room < INT64_ROOM
    columns = states.T if fits else states.T.astype(object)
    return _spread(_ratios(node, columns, columns.dtype), (len(states),), columns.dtype)


def ratios_on(node: Node, sums: Sequence[Integers], room: int) -> Ratios | None:
    """A rational formula where the k `sums` broadcast against each other; of their common shape, which is not empty or ().

    In int64 alone; None where that may not leave `room` as a further factor of every result.
    """
    peaks = [max(-int(column.min()), int(column.max())) for column in sums]
    if _bounds(node, peaks).largest * room >= INT64_ROOM:
        return None
    shape = np.broadcast_shapes(*(column.shape for column in sums))
    kind = np.dtype(np.int64)
    return _spread(_ratios(node, sums, kind), shape, kind)


def _spread(ratio: Ratios, shape: tuple[int, ...], kind: np.dtype[Any]) -> Ratios:
    # Numbers without a shape turn into Python integers, which NumPy would take for int64 again.
    parts = (np.asarray(part, dtype=kind) for part in (ratio.numerator, ratio.denominator))
    return Ratios(*(part if part.shape == shape else np.broadcast_to(part, shape) for part in parts))


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Bounds on |numerator|, the denominator, and every intermediate result."""

    numerator: int
    denominator: int
    largest: int


def _bounds(node: Node, peaks: Sequence[int]) -> _Bounds:
    if isinstance(node, Linear):
        size = abs(node.constant) + sum(abs(c) * peaks[i] for i, c in node.terms)
        largest = max(size, node.divisor, *(abs(c) for _, c in node.terms), 1)
        return _Bounds(size, node.divisor, largest)
    if isinstance(node, Product):
        one, other = _bounds(node.left, peaks), _bounds(node.right, peaks)
        return _bounded(one.numerator * other.numerator, one.denominator * other.denominator, one, other)
    if isinstance(node, Quotient):
        one, other = _bounds(node.numerator, peaks), _bounds(node.denominator, peaks)
        return _bounded(
            one.numerator * other.denominator, max(one.denominator * other.numerator, 1), one, other
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
        # One-element arrays: those of no dimensions become bare integers, whose type would be guessed anew.
        above: Whole | None = (
            np.full(1, node.constant, dtype=kind) if node.constant or not node.terms else None
        )
        for index, coefficient in node.terms:
            term = columns[index] if coefficient == 1 else coefficient * columns[index]
            above = term if above is None else above + term
        return Ratios(np.asarray(above), np.full(1, node.divisor, dtype=kind))
    if isinstance(node, Product):
        one, other = _ratios(node.left, columns, kind), _ratios(node.right, columns, kind)
        return Ratios(one.numerator * other.numerator, one.denominator * other.denominator)
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
    """The formula at one state; None when undefined there.

    Raises UnresolvedError when a ball round zero is divided by, or its root or logarithm taken (at the
    `last` precision such a ball is taken for zero), and for an exponential that is too large to be computed.
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
    """The value as a ball at the working precision."""
    if isinstance(value, Fraction):
        return flint.arb(flint.fmpq(value.numerator, value.denominator))
    return value


def _applied(operation: Callable[[Any, Any], Any], left: Exact, right: Exact) -> Exact:
    """The operation on two fractions; on balls where either is none."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return operation(left, right)  # type: ignore[no-any-return]
    return operation(ball(left), ball(right))  # type: ignore[no-any-return]


def magnitude(value: Exact) -> Exact:
    """|value|."""
    return abs(value) if isinstance(value, Fraction) else value.__abs__()


def minus(left: Exact, right: Exact) -> Exact:
    """left - right."""
    return _applied(operator.sub, left, right)


def sign_of(value: Exact, *, last: bool) -> int:
    """-1, 0 or 1; raises UnresolvedError, or takes what may be zero for zero at the `last` precision."""
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
        raise UnresolvedError  # its exponent needs more bits than there are
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
