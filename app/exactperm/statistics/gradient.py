"""The gradient of a formula at a point, in balls: forward differentiation of the tree.

Values follow `formula`: 0/0 is 0. At a corner (the size of zero, a tie of min or max) a slope is the mean of those of
both sides. There is none where the formula has no value, or rises without bound (the root of zero).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import flint

from .formula import Call, Linear, Node, Product, Quotient, Sum


class NotSmoothError(ArithmeticError):
    """There is no gradient at this point, or the working precision does not show it."""


@dataclass(frozen=True, slots=True)
class Tangent:
    """A value, and the slope in each sum that it depends on; sums that are missing have slope 0."""

    value: flint.arb
    slopes: Mapping[int, flint.arb]


def tangent(node: Node, point: Sequence[flint.arb]) -> Tangent:
    """The formula's tangent at a point, shape (k,), at the working precision; raises NotSmoothError."""
    result = _visit(node, point)
    if not result.value.is_finite() or not all(slope.is_finite() for slope in result.slopes.values()):
        raise NotSmoothError
    return result


def combined(*parts: tuple[flint.arb | int, Tangent]) -> dict[int, flint.arb]:
    """The slopes of the sum of factor * tangent."""
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
    """Its sign; 0 where that is not known."""
    return 1 if value > 0 else -1 if value < 0 else 0
