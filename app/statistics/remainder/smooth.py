"""Corpus scores as formulas, and one system's score out of a difference of two: what `remainder` can bound."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .. import formula
from ..corpus_scores import BLEU_ORDERS, Bleu, Chrf, Difference
from ..formula import Linear, Node, Sum
from ..quantity import Formula, Quantity


def score_node(quantity: Quantity, middle: Sequence[int]) -> Node | None:
    """f of a statistic f(U) - f(V), as a formula of U's m sums; None where it has no such form.

    `middle` has the sign of each sum at the midpoint. Where every sum of it that is positive stays so, the formula
    is the score: orders of n-grams without any are left out.
    """
    if isinstance(quantity, Formula):
        return _first(quantity.node, len(middle))
    if not isinstance(quantity, Difference):
        return None
    if isinstance(quantity.score, Bleu):
        return _bleu(middle)
    return _chrf(quantity.score, middle) if isinstance(quantity.score, Chrf) else None


def _first(node: Node, half: int) -> Node | None:
    """The parts that are about the first `half` of the sums; None where some part is about both halves."""
    parts = node.parts if isinstance(node, Sum) else (node,)
    kept: list[Node] = []
    for part in parts:
        if isinstance(part, Linear):
            terms = [(index, Fraction(c, part.divisor)) for index, c in part.terms if index < half]
            kept.append(formula.linear(terms, Fraction(0)))
            continue
        used = formula.variables(part)
        if not used or max(used) < half:
            kept.append(part)
        elif min(used) < half:
            return None
    return formula.add(*kept) if kept else None


def _bleu(middle: Sequence[int]) -> Node | None:
    """100 exp(min(0, 1 - ref / sys) + mean of the logarithms of c_n / t_n); None where an order has no match."""
    if min(middle) <= 0:
        return None
    logarithms = [
        formula.scale(formula.call("log", [formula.variable(2 + order)]), sign)
        for order in range(2 * BLEU_ORDERS)
        for sign in [Fraction(1 if order < BLEU_ORDERS else -1, BLEU_ORDERS)]
    ]
    excess = formula.subtract(formula.number(1), formula.divide(formula.variable(1), formula.variable(0)))
    penalty = formula.call("min", [formula.number(0), excess])
    return formula.scale(formula.call("exp", [formula.add(penalty, *logarithms)]), Fraction(100))


def _chrf(score: Chrf, middle: Sequence[int]) -> Node | None:
    """100 (1 + beta^2) / (beta^2 / recall + 1 / precision), both means over the orders that there are."""
    n, factor = score.orders, score.beta**2
    used = [k for k in range(n) if middle[k] > 0 and middle[n + k] > 0]
    if not used:
        return None
    mean = Fraction(1, len(used))
    precision, recall = (
        formula.add(*(formula.divide(formula.variable(2 * n + k), formula.variable(at + k)) for k in used))
        for at in (0, n)
    )
    one = formula.number(1)
    below = formula.add(formula.scale(formula.divide(one, recall), factor), formula.divide(one, precision))
    return formula.divide(formula.number(100 * (1 + factor) * mean), below)
