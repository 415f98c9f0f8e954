"""The sums that a formula depends on: the values of its linear forms instead of the sums it is given.

F1 of tp, fp and fn depends on tp and 2 tp + fp + fn alone, so that its state moves on a lattice of rank two and
not three. A formula is rewritten over its distinct linear forms where they span less than its sums do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import flint
import numpy as np

from ..engine.lattice import MAX_TOTAL, Integers
from . import formula
from .formula import Call, Linear, Node, Product, Quotient, Sum
from .joint_problem import Joint
from .quantity import Formula
from .reduction import totals
from .sum_function import FunctionOf

# The integer coefficients of a form, in lowest terms, the first of them positive.
Terms = tuple[tuple[int, int], ...]
# A formula of more forms is left as it is: it is a sum over many classes, and its forms are its sums.
_MAX_FORMS = 64
# How many formulas of the last requests are kept rewritten.
_KEPT = 32


def in_linear_forms(problem: Joint) -> Joint:
    """The same problem over the values of the formula's linear forms; as it is where that gains nothing."""
    function = problem.function
    if not isinstance(function, FunctionOf) or not isinstance(function.quantity, Formula):
        return problem
    forms, node = _rewritten(function.quantity.node)
    if node is None:
        return problem
    stay, swap = _values(forms, problem.stay), _values(forms, problem.swap)
    if stay is None or swap is None:
        return problem
    return replace(problem, stay=stay, swap=swap, function=FunctionOf(Formula(node)))


@lru_cache(maxsize=_KEPT)
def _rewritten(node: Node) -> tuple[tuple[Terms, ...], Node | None]:
    """The distinct linear forms, and the formula over them; None where they span no less than its sums."""
    forms = tuple(dict.fromkeys(_primitive(line)[0] for line in formula.lines(node) if line.terms))
    used = sorted({index for form in forms for index, _ in form})
    if len(forms) > _MAX_FORMS or _rank(forms, used) == len(used):
        return forms, None
    return forms, _over(node, {form: index for index, form in enumerate(forms)})


def _primitive(line: Linear) -> tuple[Terms, int]:
    """The terms of a form without their common factor, and that factor, which has the sign of the first."""
    factor = math.gcd(*(coefficient for _, coefficient in line.terms))
    factor = factor if line.terms[0][1] > 0 else -factor
    return tuple((index, coefficient // factor) for index, coefficient in line.terms), factor


def _rank(forms: Sequence[Terms], used: list[int]) -> int:
    if all(len(form) == 1 for form in forms):
        return len(forms)
    at = {index: position for position, index in enumerate(used)}
    table = [[0] * len(used) for _ in forms]
    for row, form in zip(table, forms, strict=True):
        for index, coefficient in form:
            row[at[index]] = coefficient
    return int(flint.fmpz_mat(table).rank())


def _values(forms: Sequence[Terms], effects: Integers) -> Integers | None:
    """The forms' values at each row of `effects`, shape (M, k) -> (M, forms); None where a sum may not fit."""
    sizes = totals(np.abs(effects))
    values = np.zeros((len(effects), len(forms)), dtype=np.int64)
    for at, form in enumerate(forms):
        if sum(abs(coefficient) * sizes[index] for index, coefficient in form) >= MAX_TOTAL // 4:
            return None
        for index, coefficient in form:
            if sizes[index]:
                values[:, at] += coefficient * effects[:, index]
    return values


def _over(node: Node, position: dict[Terms, int]) -> Node:
    """The formula with every linear form as a sum of its own."""
    if isinstance(node, Linear):
        if not node.terms:
            return node
        terms, factor = _primitive(node)
        return Linear(((position[terms], factor),), node.constant, node.divisor)
    if isinstance(node, Sum):
        return Sum(tuple(_over(part, position) for part in node.parts))
    if isinstance(node, Product):
        return Product(_over(node.left, position), _over(node.right, position))
    if isinstance(node, Quotient):
        return Quotient(_over(node.numerator, position), _over(node.denominator, position))
    return Call(node.function, tuple(_over(argument, position) for argument in node.arguments))
