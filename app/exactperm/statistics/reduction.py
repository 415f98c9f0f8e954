"""The reduction of a formula and integer columns to a problem, additive where the formula is linear."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import cast

import flint
import numpy as np

from ..engine.lattice import MAX_TOTAL, Integers, exact_total
from ..errors import InvalidTest
from . import formula
from .decisions import exact_value, nearest, require_representable
from .effects import Additive, Joint, clustered, single_items
from .formula import Call, Linear, Node, Quotient
from .paired import Pairing
from .quantity import Formula, Quantity, require_small
from .sum_function import FunctionOf

Score = Fraction | float
# The number of cached folded formulas.
_CACHE_SIZE = 32
# Up to this many integers, Python adds as quickly as NumPy, and exactly.
_FEW = 256


def difference_of_scores(
    name: str, node: Node, u: Integers, v: Integers, pairing: Pairing, pointer: str = ""
) -> Additive | Joint:
    """Return the test of t = f(sums of u) - f(sums of v), counts of shape (N, m), f the formula `node` over m sums.

    A count that no swap changes is a constant, so that a ratio over a shared denominator is additive. Raises
    InvalidTest at `pointer`, or at /u or /v, when the score of a system is undefined.
    """
    totals_u, totals_v = totals(u), totals(v)
    require_room(totals_u, totals_v)
    if pointer:
        require_small(node, [u + v for u, v in zip(totals_u, totals_v, strict=True)], pointer)
    score = Formula(node)
    scores = [
        observed_score(score, totals_u, pointer or "/u"),
        observed_score(score, totals_v, pointer or "/v"),
    ]
    items, u, v = len(u), clustered(u, pairing), clustered(v, pairing)
    moves = u - v
    shared = {index for index in range(u.shape[1]) if not moves[:, index].any()}
    folded = _folded(node) if not shared else _with_totals(node, {i: totals_u[i] for i in shared})
    effects = _line(folded, moves)
    if effects is None:
        folded = _with_constant_forms(folded, moves, totals_u)
        effects = _line(folded, moves)
        if effects is not None and not effects.any():
            # No swap changes the score, though counts differ; these counts define its units.
            effects = None
    if effects is not None:
        unit = Fraction(1, folded.divisor) if isinstance(folded, Linear) else Fraction(1)
        exact = [Fraction(score) for score in scores]
        sizes = _shares(node, u, moves)
        return Additive(
            name,
            effects,
            None,
            unit,
            items,
            pairing.n_clusters,
            score_u=exact[0],
            score_v=exact[1],
            sizes=sizes,
            shiftable=sizes is not None,
            all_right=_all_right(node, (u, v), sizes) if single_items(pairing) else None,
        )
    function = FunctionOf(Formula(formula.difference_of(node, u.shape[1])))
    stay, swap = np.hstack([u, v]), np.hstack([v, u])
    return Joint(name, stay, swap, function, items, pairing.n_clusters, True, scores[0], scores[1])


@lru_cache(maxsize=_CACHE_SIZE)
def _folded(node: Node) -> Node:
    return _with_totals(node, {})


def _with_totals(node: Node, known: Mapping[int, int]) -> Node:
    """Replace the sums that no swap changes by numbers, and fold the formula again."""
    return formula.substitute(
        node, lambda index: formula.number(known[index]) if index in known else formula.variable(index)
    )


def _with_constant_forms(node: Node, moves: Integers, sums: list[int]) -> Node:
    """Replace the linear forms that no swap changes by numbers: tp + fn, where both have the same gold."""
    known: dict[Linear, Linear] = {}
    for line in formula.lines(node):
        if len(line.terms) > 1 and line not in known:
            effects = _line(line, moves)
            if effects is not None and not effects.any():
                above = sum(coefficient * sums[index] for index, coefficient in line.terms) + line.constant
                known[line] = formula.number(Fraction(above, line.divisor))
    return formula.with_lines(node, known) if known else node


def function_of_sums(
    name: str, node: Node, stay: Integers, swap: Integers | None, pairing: Pairing, pointer: str = ""
) -> Additive | Joint:
    """Return the test of t = h(sums of stay or swap), effects (N, k), h the formula `node`; swap None means -stay."""
    sizes = totals(np.abs(stay))
    others = sizes if swap is None else totals(np.abs(swap))
    require_room(sizes, others)
    require_small(node, [x + y for x, y in zip(sizes, others, strict=True)], pointer)
    observed_score(Formula(node), totals(stay), pointer)
    items, stay = len(stay), clustered(stay, pairing)
    swap = None if swap is None else clustered(swap, pairing)
    inner = node.arguments[0] if isinstance(node, Call) and node.function == "abs" else node
    if isinstance(inner, Linear) and inner.constant == 0:
        effects, mirrored = _line(inner, stay), None if swap is None else _line(inner, swap)
        if effects is not None and (swap is None or mirrored is not None):
            unit = Fraction(1, inner.divisor)
            absolute = inner is not node
            return Additive(
                name,
                effects,
                mirrored,
                unit,
                items,
                pairing.n_clusters,
                absolute,
                shiftable=mirrored is None and not absolute,
            )
    other = -stay if swap is None else swap
    return Joint(name, stay, other, FunctionOf(Formula(node)), items, pairing.n_clusters)


def _shares(node: Node, u: Integers, moves: Integers) -> Integers | None:
    """Return the denominators of a ratio over a shared denominator, shape (M,): reference words, or gold entities.

    A shift of the ratio is one of the numerators in their proportion. None for anything else.
    """
    if not isinstance(node, Quotient) or not isinstance(node.denominator, Linear):
        return None
    below = node.denominator
    changes = _line(below, moves)
    if below.constant or changes is None or changes.any():
        return None
    sizes = _line(below, u)
    # Without reference words there is no ratio to shift.
    return sizes if sizes is not None and (sizes >= 0).all() and sizes.any() else None


def _all_right(node: Node, columns: tuple[Integers, Integers], sizes: Integers | None) -> Fraction | None:
    """Return 1 for a ratio whose items have equal sizes and are wholly right or wholly wrong; else None."""
    if sizes is None or not isinstance(node, Quotient) or not isinstance(node.numerator, Linear):
        return None
    above, below = node.numerator, node.denominator
    if above.constant or not isinstance(below, Linear) or (sizes != sizes[0]).any():
        return None
    # Numerator and denominator in common parts: n / N versus d / D is n D versus d N.
    whole = int(sizes[0]) * above.divisor
    for column in columns:
        values = _line(above, column)
        if values is None or whole >= MAX_TOTAL:
            return None
        if not all(value in (0, whole) for value in (np.unique(values) * below.divisor).tolist()):
            return None
    return Fraction(1)


def _line(node: Node, effects: Integers, sizes: list[int] | None = None) -> Integers | None:
    """Return divisor * node at each row, without its constant; None when not linear or too large to be summed.

    `sizes` are the sums of absolute values of each column, where known.
    """
    if not isinstance(node, Linear):
        return None
    if sizes is None:
        sizes = totals(np.abs(effects))
    if sum(abs(coefficient) * sizes[index] for index, coefficient in node.terms) >= MAX_TOTAL // 4:
        return None
    values = np.zeros(len(effects), dtype=np.int64)
    for index, coefficient in node.terms:
        if sizes[index]:
            values += coefficient * effects[:, index]
    return values


def totals(counts: Integers) -> list[int]:
    """Return the exact sum of each column, shape (N, m)."""
    if len(counts) <= _FEW:
        return [sum(column) for column in counts.T.tolist()]
    if counts.size and _largest(counts) < (1 << 62) // len(counts):
        totals: list[int] = counts.sum(axis=0).tolist()
        return totals
    return [exact_total(column) for column in counts.T]


def _largest(counts: Integers) -> int:
    # Python integers, because |-2**63| does not fit int64.
    return max(-int(counts.min()), int(counts.max()))


def require_room(*sums: list[int]) -> None:
    """Refuse counts whose totals over both systems outgrow the engine's integers."""
    if any(sum(map(abs, column)) >= MAX_TOTAL // 2 for column in zip(*sums, strict=True)):
        raise InvalidTest.at("", "integer_too_large", "The sums reach 2**60, more than can be added exactly.")


def observed_score(quantity: Quantity, row: list[int], pointer: str) -> Score:
    """Return the score of the observed sums; refuse an undefined one."""
    value = exact_value(quantity, row)
    if value is None:
        raise InvalidTest.at(
            pointer,
            "undefined_statistic",
            "The statistic is undefined for the observed data: it divides by zero, or takes the logarithm "
            "or the square root of a number that has none (only 0/0 is defined, as 0).",
        )
    require_representable(value, pointer)
    return value if isinstance(value, Fraction) else nearest(quantity, row) or 0.0


# A formula rewritten over its linear forms instead of the original sums: F1 of tp, fp and fn depends only on tp and 2
# tp + fp + fn, so its state moves on a lattice of rank two instead of three. A formula is rewritten where its forms
# span less than its sums.


# The integer coefficients of a form, in lowest terms, the first of them positive.
Terms = tuple[tuple[int, int], ...]
# A formula of more forms is left alone: it is a sum over many classes, and its forms are its sums.
_MAX_FORMS = 64
# The number of cached rewritten formulas.
_REWRITTEN_CACHE_SIZE = 32


def in_linear_forms(problem: Joint) -> Joint:
    """Rewrite the problem over the values of the formula's linear forms; return it unchanged where that gains
    nothing.
    """
    function = problem.function
    if not isinstance(function.quantity, Formula):
        return problem
    forms, node = _rewritten(function.quantity.node)
    if node is None:
        return problem
    stay, swap = _values(forms, problem.stay), _values(forms, problem.swap)
    if stay is None or swap is None:
        return problem
    return replace(problem, stay=stay, swap=swap, function=FunctionOf(Formula(node)))


@lru_cache(maxsize=_REWRITTEN_CACHE_SIZE)
def _rewritten(node: Node) -> tuple[tuple[Terms, ...], Node | None]:
    """Return the distinct linear forms, and the formula over them; None where they span no less than its sums."""
    forms = tuple(dict.fromkeys(_primitive(line)[0] for line in formula.lines(node) if line.terms))
    used = sorted({index for form in forms for index, _ in form})
    if len(forms) > _MAX_FORMS or _rank(forms, used) == len(used):
        return forms, None
    known: dict[Linear, Linear] = {}
    for line in formula.lines(node):
        if line.terms:
            terms, factor = _primitive(line)
            known[line] = Linear(((forms.index(terms), factor),), line.constant, line.divisor)
    return forms, formula.with_lines(node, known)


def _primitive(line: Linear) -> tuple[Terms, int]:
    """Divide the terms of a form by their common factor, which has the sign of the first; return both."""
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
    """Return the forms' values at each row of `effects`, shape (M, k) -> (M, forms); None where a sum may not fit."""
    sizes = totals(np.abs(effects))
    columns = [_line(Linear(form), effects, sizes) for form in forms]
    if any(column is None for column in columns):
        return None
    return np.stack(cast("list[Integers]", columns), axis=1)
