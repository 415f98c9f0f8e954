"""A rational formula at one state, in Python's integers."""

from __future__ import annotations

from collections.abc import Sequence

from .formula import Linear, Node, Product, Quotient, Sum


def ratio_at(node: Node, row: Sequence[int]) -> tuple[int, int]:
    """Numerator and denominator at one state, shape (k,), not in lowest terms; a denominator of 0 means undefined.

    The same as `exact_value.ratios` for a single row, without arrays. A denominator other than 0 is positive.
    """
    if isinstance(node, Linear):
        return node.constant + sum(
            coefficient * row[index] for index, coefficient in node.terms
        ), node.divisor
    if isinstance(node, Product):
        (above, below), (other, beneath) = ratio_at(node.left, row), ratio_at(node.right, row)
        return above * other, below * beneath
    if isinstance(node, Quotient):
        return _divided(ratio_at(node.numerator, row), ratio_at(node.denominator, row))
    if isinstance(node, Sum):
        above, below = ratio_at(node.parts[0], row)
        for part in node.parts[1:]:
            other, beneath = ratio_at(part, row)
            above, below = above * beneath + other * below, below * beneath
        return above, below
    parts = [ratio_at(argument, row) for argument in node.arguments]
    if any(below == 0 for _, below in parts):
        return 0, 0
    above, below = parts[0]
    if node.function == "abs":
        return abs(above), below
    for other, beneath in parts[1:]:
        smaller = above * beneath <= other * below
        if smaller != (node.function == "min"):
            above, below = other, beneath
    return above, below


def _divided(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """one / other: 0/0 is 0, and x/0 undefined for another x."""
    (above, below), (divisor, beneath) = one, other
    if below == 0 or beneath == 0:
        return 0, 0
    if divisor == 0:
        return 0, int(above == 0)
    sign = 1 if divisor > 0 else -1
    return sign * above * beneath, sign * below * divisor
