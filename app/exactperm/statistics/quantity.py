"""A function of integer sums that is computed fast with a bound on its error, and exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import flint

from ..engine.lattice import Integers
from . import formula
from .approximation import Approximation, approximate
from .exact_value import Exact, Ratios, ratios, ratios_on, value_at
from .formula import Linear, Node, Product, Quotient, Sum
from .gradient import Tangent, tangent
from .state_cost import StateCost, state_cost

# A rational formula at one state, in Python's integers


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
        return None

    def ratios_on(self, sums: Sequence[Integers], room: int) -> Ratios | None:
        """The exact values where the k `sums` broadcast against each other, in int64; None where that cannot be.

        `room` is a factor that may multiply every numerator and denominator.
        """
        return None

    def cost(self, peaks: Sequence[int]) -> StateCost:
        """What a state costs whose sums are at most `peaks` in size, shape (k,)."""
        ...

    def tangent(self, point: Sequence[flint.arb]) -> Tangent | None:
        """Value and gradient at a point, shape (k,), at the working precision; None where nothing computes it.

        Raises NotSmoothError where there is none.
        """
        return None


@dataclass(frozen=True)
class Formula(Quantity):
    """A formula tree as a quantity."""

    node: Node

    @cached_property
    def rational(self) -> bool:
        """Whether values are fractions."""
        return formula.is_rational(self.node)

    @cached_property
    def constant(self) -> bool:
        """Whether no sum occurs: the value is the same everywhere."""
        return not formula.variables(self.node)

    def approximate(self, sums: Sequence[Integers]) -> Approximation:
        """See Quantity."""
        return approximate(self.node, sums)

    def value_at(self, row: Sequence[int], *, last: bool) -> Exact | None:
        """See Quantity."""
        if not self.rational:
            return value_at(self.node, row, last=last)
        # One division at the end instead of a common divisor at every step.
        above, below = ratio_at(self.node, row)
        return Fraction(above, below) if below else None

    def ratios(self, states: Integers, room: int) -> Ratios | None:
        """See Quantity."""
        return ratios(self.node, states, room) if self.rational else None

    def ratios_on(self, sums: Sequence[Integers], room: int) -> Ratios | None:
        """See Quantity."""
        return ratios_on(self.node, sums, room) if self.rational else None

    def cost(self, peaks: Sequence[int]) -> StateCost:
        """See Quantity."""
        if self.constant:
            return StateCost(0.0, 0.0)
        return state_cost(self.node, tuple(peaks))

    def tangent(self, point: Sequence[flint.arb]) -> Tangent:
        """See Quantity."""
        return tangent(self.node, point)
