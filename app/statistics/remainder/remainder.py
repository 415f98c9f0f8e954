"""The linear part of a difference of scores, and how far the difference is from it at the most.

t = f(m + s) - f(m - s) with m the midpoint of both systems' sums, which no swap changes: t / 2 is the odd part of f, and
`arithmetic` carries its slope l and the bounds of |t / 2 - l . s| through the formula of f.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ...engine.lattice import EXACT_DOUBLE, Integers, Reals
from ..formula import Call, Linear, Node, Product, Quotient, Sum
from ..joint_problem import Joint
from ..reduction import totals
from ..sum_function import FunctionOf
from .arithmetic import Arithmetic, UnboundedError
from .part import Part
from .smooth import score_node
from .spread import Reaches, Spread, Strip, spread_of

# Covariances of more sums, or of so many units, take long (additions), and so do longer formulas.
MOST_SUMS, _MOST_ADDED, _MOST_NODES = 128, 400_000_000, 512
# All roundings of the bounds together, denominators keeping a thousandth of their size.
_WIDER = 1.0 + 1e-6


@dataclass(frozen=True, eq=False)
class Remainder:
    """|t / 2 - slope . s| <= relative |slope . s| + absolute, but for a probability of exp(log_outside).

    Under these bounds the statistic has a value. `reaches` goes on counting events; `nodes` are those of the formula.
    """

    slope: Reals
    relative: float
    absolute: float
    reaches: Reaches
    nodes: int


@dataclass(frozen=True, eq=False)
class Midpoint:
    """f as a formula of m sums, `twice` the midpoint, shape (m,), and the spread of s; `differences` of shape (N, m)."""

    node: Node
    twice: tuple[int, ...]
    differences: Integers
    spread: Spread
    # Of the formula's linear forms, by identity, for all bounds that are tried.
    lines: dict[int, tuple[float, Reals]] = field(default_factory=dict)

    def remainder(self, log_odds: float, strip: Strip | None = None) -> Remainder | None:
        """The bounds where each event has the probability exp(-log_odds), in a strip; None where there are none."""
        reaches = Reaches(self.spread, log_odds, strip)
        try:
            with np.errstate(all="ignore"):
                walk = _Walk(Arithmetic(reaches), self.twice, self.lines)
                part = walk.visit(self.node)
            relative = reaches.of_squares(part.relative.squares) if part.relative.squares else 0.0
            absolute = reaches.of_squares(part.rest.squares) if part.rest.squares else 0.0
        except (UnboundedError, OverflowError, ZeroDivisionError):
            return None
        relative = _WIDER * (relative + part.relative.constant)
        absolute = _WIDER * (absolute + part.rest.constant)
        if not (relative < 1.0 and math.isfinite(absolute) and part.reach > 0.0):
            return None
        return Remainder(part.slope, relative, absolute, reaches, walk.nodes)


def midpoint_of(problem: Joint) -> Midpoint | None:
    """The statistic about its midpoint; None where it is no difference of scores that can be bounded."""
    function, half = problem.function, problem.stay.shape[1] // 2
    if not problem.mirrored or not isinstance(function, FunctionOf) or not 0 < half <= MOST_SUMS:
        return None
    u, v = problem.stay[:, :half], problem.stay[:, half:]
    if len(problem.stay) * half**2 > _MOST_ADDED:
        return None
    twice = [one + other for one, other in zip(totals(u), totals(v), strict=True)]
    if max(totals(np.abs(u))) + max(totals(np.abs(v))) >= EXACT_DOUBLE:
        return None
    node = score_node(function.quantity, twice)
    if node is None:
        return None
    differences = u - v
    return Midpoint(node, tuple(twice), differences, spread_of(differences))


class _Walk:
    """The formula in parts, each node once."""

    def __init__(
        self, arithmetic: Arithmetic, twice: Sequence[int], lines: dict[int, tuple[float, Reals]]
    ) -> None:
        self._do, self._twice, self._lines = arithmetic, twice, lines
        # By identity: a formula is a tree, and to hash a node is to walk what is under it.
        self._known: dict[int, Part] = {}

    @property
    def nodes(self) -> int:
        """How many there were."""
        return len(self._known)

    def visit(self, node: Node) -> Part:
        known = self._known.get(id(node))
        if known is None:
            if len(self._known) >= _MOST_NODES:
                raise UnboundedError
            known = self._known[id(node)] = self._visit(node)
        return known

    def _visit(self, node: Node) -> Part:
        do = self._do
        if isinstance(node, Linear):
            if id(node) not in self._lines:
                self._lines[id(node)] = self._line(node)
            return do.linear(*self._lines[id(node)])
        if isinstance(node, Sum):
            return do.add([self.visit(part) for part in node.parts])
        if isinstance(node, Product):
            return do.multiply(self.visit(node.left), self.visit(node.right))
        if isinstance(node, Quotient):
            return do.divide(self.visit(node.numerator), self.visit(node.denominator))
        return self._call(node)

    def _line(self, node: Linear) -> tuple[float, Reals]:
        """Its value at the midpoint, and its coefficients, each rounded once."""
        middle = Fraction(node.constant) + Fraction(sum(c * self._twice[i] for i, c in node.terms), 2)
        slope = np.zeros(len(self._twice))
        for index, coefficient in node.terms:
            slope[index] = float(Fraction(coefficient, node.divisor))
        return float(middle / node.divisor), slope

    def _call(self, node: Call) -> Part:
        do, arguments = self._do, [self.visit(argument) for argument in node.arguments]
        first = arguments[0]
        if node.function == "exp":
            return do.exp(first)
        if node.function == "log":
            return do.log(first)
        if node.function == "sqrt":
            return do.exp(do.scale(do.log(first), 0.5))
        if node.function == "abs":
            return do.size(first)
        sign = 1.0 if node.function == "min" else -1.0
        for other in arguments[1:]:
            # max(x, y) = -min(-x, -y).
            least = do.least(do.scale(first, sign), do.scale(other, sign))
            first = do.scale(least, sign)
        return first
