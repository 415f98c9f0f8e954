"""Formulas over sums: trees in normal form, from expressions and named statistics.

Any part that is linear in the sums is folded into one `Linear` node with integer coefficients, so that additive
statistics are recognised (`as_linear`), and a ratio of linear forms is one `Quotient` of two exact integers. Division:
0/0 is 0; x/0 for another x is undefined, as are the logarithm of a number that is not positive and the square root of a
negative one (see `sum_function`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, get_args

FunctionName = Literal["abs", "min", "max", "sqrt", "log", "exp"]
FUNCTIONS: tuple[FunctionName, ...] = get_args(FunctionName)
# The number of cached formulas in a derived form: nearly all requests use the same few.
_CACHE_SIZE = 32
RATIONAL_FUNCTIONS = frozenset({"abs", "min", "max"})


@dataclass(frozen=True, slots=True)
class Linear:
    """(sum of coefficient * x_index + constant) / divisor: integers in lowest terms, divisor > 0."""

    terms: tuple[tuple[int, int], ...] = ()
    constant: int = 0
    divisor: int = 1

    @property
    def value(self) -> Fraction | None:
        """The value of the form when it holds no sum, else None."""
        return None if self.terms else Fraction(self.constant, self.divisor)


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of at least two parts."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """Return left * right."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Quotient:
    """numerator / denominator; 0/0 is 0."""

    numerator: Node
    denominator: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A function of one argument, or min and max of several."""

    function: FunctionName
    arguments: tuple[Node, ...]


Node = Linear | Sum | Product | Quotient | Call


def number(value: Fraction | int) -> Linear:
    """Return a constant."""
    fraction = Fraction(value)
    return Linear((), fraction.numerator, fraction.denominator)


def variable(index: int) -> Linear:
    """Return the sum x_index."""
    return Linear(((index, 1),))


def scale_variable(index: int, unit: Fraction) -> Linear:
    """Return unit * x_index."""
    return linear([(index, unit)], Fraction(0))


def linear(coefficients: Iterable[tuple[int, Fraction]], constant: Fraction) -> Linear:
    """Return the sum of coefficient * x_index + constant, in lowest terms; indices may repeat."""
    gathered: dict[int, Fraction] = {}
    for index, coefficient in coefficients:
        gathered[index] = gathered[index] + coefficient if index in gathered else coefficient
    kept = sorted((index, coefficient) for index, coefficient in gathered.items() if coefficient)
    divisor = math.lcm(constant.denominator, *(c.denominator for _, c in kept))
    return Linear(
        tuple((index, c.numerator * (divisor // c.denominator)) for index, c in kept),
        constant.numerator * (divisor // constant.denominator),
        divisor,
    )


def add(*parts: Node) -> Node:
    """Add the parts, with everything linear folded into one node."""
    flat = [p for part in parts for p in (part.parts if isinstance(part, Sum) else (part,))]
    lines = [part for part in flat if isinstance(part, Linear)]
    others = _collected([part for part in flat if not isinstance(part, Linear)])
    total = linear(
        ((i, Fraction(c, line.divisor)) for line in lines for i, c in line.terms),
        sum((Fraction(line.constant, line.divisor) for line in lines), Fraction(0)),
    )
    kept: list[Node] = [*others] if others and total.value == 0 else [*others, total]
    return kept[0] if len(kept) == 1 else Sum(tuple(kept))


def _collected(parts: Sequence[Node]) -> list[Node]:
    """Collect like terms. Terms that cancel stay with factor 0, because they may be undefined somewhere."""
    factors: dict[Node, Fraction] = {}
    alone: dict[Node, Node] = {}
    for part in parts:
        factor, base = _split(part)
        if base in factors:
            alone.pop(base, None)
        else:
            alone[base] = part
        factors[base] = factors.get(base, Fraction(0)) + factor
    return [alone[base] if base in alone else scale(base, factor) for base, factor in factors.items()]


def _split(node: Node) -> tuple[Fraction, Node]:
    """Split a node into a number and another node."""
    if isinstance(node, Product):
        if isinstance(node.left, Linear) and node.left.value is not None:
            return node.left.value, node.right
        factor, left = _split(node.left)
        return (factor, node) if factor == 1 else (factor, Product(left, node.right))
    if isinstance(node, Quotient):
        factor, numerator = _split(node.numerator)
        return (factor, node) if factor == 1 else (factor, Quotient(numerator, node.denominator))
    return Fraction(1), node


def subtract(left: Node, right: Node) -> Node:
    """Return left - right."""
    return add(left, scale(right, Fraction(-1)))


def scale(node: Node, factor: Fraction) -> Node:
    """Return factor * node, with the factor moved to where the node is linear."""
    if isinstance(node, Linear):
        return linear(
            ((i, factor * Fraction(c, node.divisor)) for i, c in node.terms),
            factor * Fraction(node.constant, node.divisor),
        )
    if factor == 1:
        return node
    # No node is dropped: 0 * (1/0) stays undefined.
    if factor:
        if isinstance(node, Sum):
            return Sum(tuple(scale(part, factor) for part in node.parts))
        if isinstance(node, Product):
            return multiply(scale(node.left, factor), node.right)
        if isinstance(node, Quotient):
            return divide(scale(node.numerator, factor), node.denominator)
    return Product(number(factor), node)


def multiply(left: Node, right: Node) -> Node:
    """Return left * right."""
    for factor, other in ((left, right), (right, left)):
        if isinstance(factor, Linear) and factor.value is not None:
            return scale(other, factor.value)
    return Product(left, right)


def divide(numerator: Node, denominator: Node) -> Node:
    """Return numerator / denominator; two linear forms get integer coefficients without a common factor."""
    if isinstance(denominator, Linear):
        below = denominator.value
        if below:
            return scale(numerator, 1 / below)
        if isinstance(numerator, Linear):
            if below is not None and numerator.value == 0:
                return number(0)
            return _integral_quotient(numerator, denominator)
    return Quotient(numerator, denominator)


def _integral_quotient(above: Linear, below: Linear) -> Quotient:
    common = math.gcd(above.divisor, below.divisor)
    up, down = below.divisor // common, above.divisor // common
    shared = math.gcd(
        up * math.gcd(above.constant, *(c for _, c in above.terms)),
        down * math.gcd(below.constant, *(c for _, c in below.terms)),
    )
    shared = max(shared, 1)
    return Quotient(_times(above, up, shared), _times(below, down, shared))


def _times(line: Linear, factor: int, shared: int) -> Linear:
    return Linear(
        tuple((i, c * factor // shared) for i, c in line.terms), line.constant * factor // shared, 1
    )


def call(function: FunctionName, arguments: Sequence[Node]) -> Node:
    """Apply the function to the arguments; abs, min and max of numbers are computed."""
    values = [node.value if isinstance(node, Linear) else None for node in arguments]
    numbers = [value for value in values if value is not None]
    if len(numbers) == len(values):
        if function == "abs":
            return number(abs(numbers[0]))
        if function in {"min", "max"}:
            return number(min(numbers) if function == "min" else max(numbers))
    return Call(function, tuple(arguments))


def substitute(node: Node, replacement: Callable[[int], Linear]) -> Node:
    """Replace every x_i by `replacement(i)`, and fold again."""

    def replaced(line: Linear) -> Node:
        parts: list[Node] = [scale(replacement(i), Fraction(c, line.divisor)) for i, c in line.terms]
        return add(*parts, number(Fraction(line.constant, line.divisor)))

    return _mapped(node, replaced)


def with_lines(node: Node, known: Mapping[Linear, Linear]) -> Node:
    """Replace some of the linear forms, and fold again."""
    return _mapped(node, lambda line: known.get(line, line))


def _mapped(node: Node, replaced: Callable[[Linear], Node]) -> Node:
    if isinstance(node, Linear):
        return replaced(node)
    if isinstance(node, Sum):
        return add(*(_mapped(part, replaced) for part in node.parts))
    if isinstance(node, Product):
        return multiply(_mapped(node.left, replaced), _mapped(node.right, replaced))
    if isinstance(node, Quotient):
        return divide(_mapped(node.numerator, replaced), _mapped(node.denominator, replaced))
    return call(node.function, [_mapped(argument, replaced) for argument in node.arguments])


def lines(node: Node) -> Iterator[Linear]:
    """Return every linear form of the formula."""
    if isinstance(node, Linear):
        yield node
    for child in children(node):
        yield from lines(child)


def children(node: Node) -> tuple[Node, ...]:
    """Return the children of this node."""
    if isinstance(node, Sum):
        return node.parts
    if isinstance(node, Product):
        return node.left, node.right
    if isinstance(node, Quotient):
        return node.numerator, node.denominator
    return node.arguments if isinstance(node, Call) else ()


def variables(node: Node) -> frozenset[int]:
    """Return the indices of the sums that occur."""
    if isinstance(node, Linear):
        return frozenset(index for index, _ in node.terms)
    return frozenset().union(*map(variables, children(node)))


def is_rational(node: Node) -> bool:
    """Return whether the value is a fraction for integer sums: no sqrt, log or exp anywhere."""
    if isinstance(node, Call) and node.function not in RATIONAL_FUNCTIONS:
        return False
    return all(map(is_rational, children(node)))


@lru_cache(maxsize=_CACHE_SIZE)
def difference_of(node: Node, arity: int) -> Node:
    """Return f(x_0 .. x_{m-1}) - f(x_m .. x_{2m-1}), f of m sums: system U's score minus system V's."""
    parts = node.parts if isinstance(node, Sum) else (node,)
    # Part by part, so that equal systems differ by exactly 0, even in doubles.
    return add(*(subtract(part, substitute(part, lambda index: variable(index + arity))) for part in parts))


# Evenness of a formula in each of its sums: |S|, S * S, max(S, -S), |S1| + |S2|


# Arbitrary points of several magnitudes, few enough to cost nothing.
SCALES = (0.013, 0.37, 1.9, 23.0, 710.0)
CLOSE = 1e-9
UNARY_FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    "abs": math.fabs,
    "sqrt": math.sqrt,
    "log": math.log,
    "exp": math.exp,
}


def is_even(node: Node, width: int) -> bool:
    """Return whether the formula is even at every point tried.

    Points where either side has no value are skipped; if all are, the answer is no.
    """
    tested = False
    for scale in SCALES:
        point = [scale * math.sin(1.0 + 2.3 * index) for index in range(width)]
        here = _value(node, point)
        for index in sorted(variables(node)):
            there = _value(node, [-x if position == index else x for position, x in enumerate(point)])
            if not (math.isfinite(here) and math.isfinite(there)):
                continue
            if not math.isclose(here, there, rel_tol=CLOSE):
                return False
            tested = True
    return tested


def _value(node: Node, point: Sequence[float]) -> float:
    try:
        return _evaluated(node, point)
    except (ArithmeticError, ValueError):
        return math.nan


def _evaluated(node: Node, point: Sequence[float]) -> float:
    if isinstance(node, Linear):
        total = math.fsum(coefficient * point[index] for index, coefficient in node.terms)
        return (total + node.constant) / node.divisor
    if isinstance(node, Sum):
        return math.fsum(_evaluated(part, point) for part in node.parts)
    if isinstance(node, Product):
        return _evaluated(node.left, point) * _evaluated(node.right, point)
    if isinstance(node, Quotient):
        above, below = _evaluated(node.numerator, point), _evaluated(node.denominator, point)
        return 0.0 if above == below == 0.0 else above / below
    values = [_evaluated(argument, point) for argument in node.arguments]
    if node.function in ("min", "max"):
        return min(values) if node.function == "min" else max(values)
    return UNARY_FUNCTIONS[node.function](values[0])
