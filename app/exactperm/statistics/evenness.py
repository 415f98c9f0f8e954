"""Whether an expression has the same value whichever of its sums changes sign: |S|, S * S, max(S, -S), |S1| + |S2|."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from .formula import Linear, Node, Product, Quotient, Sum, variables

# Points of no particular shape; few enough to cost nothing, and of several magnitudes.
SCALES = (0.013, 0.37, 1.9, 23.0, 710.0)
CLOSE = 1e-9
ONE_ARGUMENT: Mapping[str, Callable[[float], float]] = {
    "abs": math.fabs,
    "sqrt": math.sqrt,
    "log": math.log,
    "exp": math.exp,
}


def is_even(node: Node, width: int) -> bool:
    """Whether it is, at every point that was tried.

    A point where either side has no value tells nothing; without any that tells, the answer is no.
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
    return ONE_ARGUMENT[node.function](values[0])
