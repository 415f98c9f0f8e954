"""Functions of integer sums, computed fast with a bound on the error or exactly; and the cost of one state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Protocol

import flint

from ..engine.lattice import Integers
from ..errors import InvalidTest
from . import formula
from .evaluation import (
    Approximation,
    Exact,
    Ratios,
    Tangent,
    approximate,
    ratios,
    ratios_on,
    tangent,
    value_at,
)
from .formula import Call, Linear, Node, Product, Quotient, Sum, children, is_rational


def ratio_at(node: Node, row: Sequence[int]) -> tuple[int, int]:
    """Return numerator and denominator at one state, shape (k,), not in lowest terms; a denominator of 0 means
    undefined.

    This is `evaluation.ratios` for a single row, without arrays. A denominator other than 0 is positive.
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


def _divided(top: tuple[int, int], bottom: tuple[int, int]) -> tuple[int, int]:
    """Divide: 0/0 is 0, and x/0 is undefined for any other x."""
    (above, below), (divisor, beneath) = top, bottom
    if below == 0 or beneath == 0:
        return 0, 0
    if divisor == 0:
        return 0, int(above == 0)
    sign = 1 if divisor > 0 else -1
    return sign * above * beneath, sign * below * divisor


class Quantity(Protocol):
    """A function of integer sums that can be computed fast with a bound, and exactly."""

    def approximate(self, sums: Sequence[Integers]) -> Approximation:
        """Return the values where the k `sums` broadcast against each other, and bounds on their error."""
        ...

    def value_at(self, row: Sequence[int], *, last: bool) -> Exact | None:
        """Return the value at a state at the working precision; None where undefined; may raise UnresolvedError."""
        ...

    def ratios(self, states: Integers, room: int) -> Ratios | None:
        """Return the exact values at each row of `states`, shape (P, k); None when they are not fractions."""
        return None

    def ratios_on(self, sums: Sequence[Integers], room: int) -> Ratios | None:
        """Return the exact values where the k `sums` broadcast against each other, in int64; None where impossible.

        `room` is a factor that may multiply every numerator and denominator.
        """
        return None

    def cost(self, peaks: Sequence[int]) -> StateCost:
        """Return the cost of a state whose sums are at most `peaks` in size, shape (k,)."""
        ...

    def tangent(self, point: Sequence[flint.arb]) -> Tangent | None:
        """Return value and gradient at a point, shape (k,), at the working precision; None where not implemented.

        Raises NotSmoothError where there is no gradient.
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
        """Return whether no sum occurs: the value is the same everywhere."""
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


# The cost of one state of a formula, in nanoseconds, from the sizes of the numbers involved: the double-precision
# filter, the comparison in integers of a rational formula, and one evaluation in balls of another. Rates were measured
# on an ordinary core with CPython 3.11, NumPy 2 and python-flint 0.8.


# Bits of the balls that compare irrational values, tried in turn until one decides.
PRECISIONS = (256, 4096)
# The number of cached costs, which the price and the decisions of a test share.
_CACHE_SIZE = 8
# Numerators and denominators of more digits than some 5,000 take milliseconds for each state, and no double holds a
# thirteenth of them: such a statistic is surely a mistake.
MAX_BITS = 1 << 14
INT64_BITS = 61

# For a formula, for each of its nodes and terms, for those beyond the cache, and for functions.
_FILTER, _FILTER_NODE, _FILTER_BEYOND, _FILTER_FUNCTION = 8.0, 2.0, 4.0, 6.0
_CACHED = 40
_CALL_NODE = 15_000.0
_OBJECT = 60.0
_DIGIT_BITS, _DIGIT_NS, _KARATSUBA = 30, 0.9, 70
_GCD_NS = 0.4
# Integers seldom reach the bounds on their sizes; this is the share they need.
_USUAL = 0.4
_FRACTION = 800.0
# Of a node of a ball formula, and of an exponential or logarithm of a long or short argument, at each of PRECISIONS.
_BALL_NODE = (1_400.0, 2_400.0)
_TRANSCENDENTAL = (800.0, 45_000.0)
_TRANSCENDENTAL_OF_SHORT = (1_000.0, 9_000.0)
_SHORT_BITS = 64
# Sorting the states, and looking up earlier decisions.
_STATE = 3_500.0


@dataclass(frozen=True, slots=True)
class StateCost:
    """Nanoseconds for a state; `call` for a call of the filter, even of few states.

    `filter` is in double precision; `exact` where that does not decide and values are fractions (None when they are
    not); `balls` at each of `PRECISIONS` where values are not fractions (empty when they are).
    """

    filter: float
    exact: float | None
    balls: tuple[float, ...] = ()
    call: float = 0.0

    @property
    def undecided(self) -> float:
        """Return the highest cost of a state that the filter leaves open."""
        return sum(self.balls) if self.exact is None else self.exact


@dataclass(frozen=True, slots=True)
class _Size:
    """Bits of numerator and denominator, the most bits of an intermediate result, and the integer work so far."""

    numerator: int
    denominator: int
    largest: int
    work: float


@lru_cache(maxsize=_CACHE_SIZE)
def state_cost(node: Node, peaks: tuple[int, ...]) -> StateCost:
    """Return the cost of a formula whose sums x_i are at most peaks[i] in size."""
    nodes, functions = _counted(node)
    first = _FILTER + _FILTER_NODE * nodes + _FILTER_BEYOND * max(nodes - _CACHED, 0)
    first += _FILTER_FUNCTION * functions
    call = _CALL_NODE * nodes
    if is_rational(node):
        size = _size(node, peaks)
        if size.largest < INT64_BITS - 2:
            return StateCost(first, 20.0 * nodes + 100.0, call=call)
        compared = 2.0 * _product(size.largest, size.largest) + _OBJECT
        return StateCost(first, _USUAL * (size.work + compared), call=call)
    fractions = _fraction_work(node, peaks)
    short = _short_arguments(node, peaks)
    balls = tuple(
        _STATE + fractions + at_node * nodes + of_long * (functions - short) + of_short * short
        for at_node, of_long, of_short in zip(
            _BALL_NODE, _TRANSCENDENTAL, _TRANSCENDENTAL_OF_SHORT, strict=True
        )
    )
    return StateCost(first, None, balls, call)


def require_small(node: Node, peaks: Sequence[int], pointer: str) -> None:
    """Refuse a formula whose exact values may have numerators or denominators of more than MAX_BITS bits."""
    bits = _largest(node, peaks)
    if bits > MAX_BITS:
        detail = (
            f"Exact values of this expression may have numerators or denominators of {bits:,} bits; at most "
            f"{MAX_BITS:,} are supported. Use smaller constants or fewer factors: a common constant factor "
            "changes no p-value."
        )
        raise InvalidTest.at(pointer, "expression_too_large", detail)


def _counted(node: Node) -> tuple[int, int]:
    """Count the nodes and terms of a formula, and its roots, logarithms and exponentials."""
    nodes = 1 + max(len(node.terms) - 1, 0) if isinstance(node, Linear) else 1
    functions = int(isinstance(node, Call) and node.function in {"log", "exp"})
    for child in children(node):
        more, calls = _counted(child)
        nodes, functions = nodes + more, functions + calls
    return nodes, functions


def _short_arguments(node: Node, peaks: Sequence[int]) -> int:
    """Count the exponentials and logarithms of short fractions."""
    count = sum(_short_arguments(child, peaks) for child in children(node))
    if isinstance(node, Call) and node.function in {"log", "exp"} and is_rational(node.arguments[0]):
        count += _size(node.arguments[0], peaks).largest <= _SHORT_BITS
    return count


def _largest(node: Node, peaks: Sequence[int]) -> int:
    """Return the largest number of bits of any integer in the parts of the formula computed in fractions."""
    if is_rational(node):
        return _size(node, peaks).largest
    return max(_largest(child, peaks) for child in children(node))


def _fraction_work(node: Node, peaks: Sequence[int]) -> float:
    """Return the extra cost of the rational parts of an irrational formula: fractions are reduced at each node."""
    if is_rational(node):
        nodes, _ = _counted(node)
        digits = _size(node, peaks).largest / _DIGIT_BITS
        return nodes * (_FRACTION + _GCD_NS * digits * digits)
    return sum(_fraction_work(child, peaks) for child in children(node))


def _size(node: Node, peaks: Sequence[int]) -> _Size:
    if isinstance(node, Linear):
        bits = (
            max([abs(node.constant).bit_length(), *(_bits(c) + _bits(peaks[i]) for i, c in node.terms)])
            + len(node.terms).bit_length()
        )
        below = node.divisor.bit_length()
        return _Size(bits, below, max(bits, below), _OBJECT * (len(node.terms) + 1))
    parts = [_size(child, peaks) for child in children(node)]
    total = parts[0]
    if len(parts) == 1:
        return _Size(total.numerator, total.denominator, total.largest, total.work + _OBJECT)
    for part in parts[1:]:
        total = _joined(node, total, part)
    return total


def _bits(number: int) -> int:
    return abs(number).bit_length()


def _joined(node: Node, left: _Size, right: _Size) -> _Size:
    """Return the size and the work of two parts of a product, a quotient, a sum, or of min and max."""
    crossed = _product(left.numerator, right.denominator) + _product(right.numerator, left.denominator)
    work = left.work + right.work
    if isinstance(node, Product):
        above, below = left.numerator + right.numerator, left.denominator + right.denominator
        work += _product(left.numerator, right.numerator) + _product(left.denominator, right.denominator)
    elif isinstance(node, Quotient):
        above, below = left.numerator + right.denominator, left.denominator + right.numerator
        work += crossed + 8.0 * _OBJECT
    else:
        above = max(left.numerator + right.denominator, right.numerator + left.denominator) + 1
        below = left.denominator + right.denominator
        more = _OBJECT if isinstance(node, Sum) else 6.0 * _OBJECT
        work += crossed + _product(left.denominator, right.denominator) + more
    return _Size(above, below, max(above, below, left.largest, right.largest), work)


def _product(left: int, right: int) -> float:
    """Return the nanoseconds of a product of two Python integers of this many bits: by digits, then by Karatsuba's
    method.
    """
    long, short = max(left, right) / _DIGIT_BITS + 1.0, min(left, right) / _DIGIT_BITS + 1.0
    steps = short if short < _KARATSUBA else _KARATSUBA**0.415 * short**0.585
    return _OBJECT + _DIGIT_NS * long * steps
