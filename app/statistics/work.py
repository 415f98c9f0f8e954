"""How long a statistic takes to decide about a state in double precision: for the prices of plans."""

from __future__ import annotations

from app.statistics import formula
from app.statistics.corpus_scores import Bleu, Chrf, Difference
from app.statistics.formula import Linear, Node
from app.statistics.joint import SumFunction
from app.statistics.sum_function import Formula, FunctionOf, Quantity

# Measured: whatever the formula, for each of its nodes and terms, and for those that no longer fit the cache.
_ANY, _EACH, _BEYOND = 8.0, 2.0, 6.0
_CACHED = 40
_BLEU, _CHRF_ORDER = 45.0, 10.0
_UNKNOWN = 100.0


def nanoseconds(function: SumFunction) -> float:
    """Time per state of `extreme`, or of `values`, while no exact comparison is needed."""
    return _ANY + _of(function.quantity) if isinstance(function, FunctionOf) else _UNKNOWN


def _of(quantity: Quantity) -> float:
    if isinstance(quantity, Formula):
        steps = _steps(quantity.node)
        return _EACH * steps + _BEYOND * max(steps - _CACHED, 0)
    if isinstance(quantity, Difference):
        return 2.0 * _of(quantity.score)
    if isinstance(quantity, Bleu):
        return _BLEU
    return _CHRF_ORDER * quantity.orders if isinstance(quantity, Chrf) else _UNKNOWN


def _steps(node: Node) -> int:
    terms = len(node.terms) if isinstance(node, Linear) else 1
    return max(terms, 1) + sum(map(_steps, formula.children(node)))
