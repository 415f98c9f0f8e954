"""Which requests may be answered in the web process at all: those whose price is known before anything is prepared.

All others wait while the web process computes, health probes among them. So only kinds of tests whose cost is a matter of
how many items they have, and of few; what a formula, an interval or a resampling costs, its numbers decide. The planner's
prediction is asked on top of this.
"""

from __future__ import annotations

from ..statistics.paired import Counts, Effects, Paired, Predictions, Scores, Segments, StatisticSpec
from .gate.parse import GateAsked
from .parse import Asked

# Their prices are counts of steps; those of the others depend on what the numbers are.
METHODS = frozenset({"auto", "fft", "dp", "enumeration", "meet_in_the_middle", "monte_carlo"})
LABEL_STATISTICS = frozenset({"accuracy", "exact_match", "token_accuracy"})
COUNT_STATISTICS = frozenset({"f1", "precision", "recall", "accuracy", "jaccard", "ratio"})
ADDITIVE_EXPRESSIONS = frozenset({None, "x1"})
MOST_JOINT_ITEMS = 500  # the lattice of several sums is found in all their columns together
MOST_INTERVAL_ITEMS = 500
MOST_METRICS = 4


def may_run(asked: Asked | GateAsked) -> bool:
    """Whether preparing a request is certain to be a matter of milliseconds."""
    if isinstance(asked, GateAsked):
        return len(asked.metrics) <= MOST_METRICS and all(may_run(metric.asked) for metric in asked.metrics)
    options, items = asked.options, _items(asked.data)
    return (
        options.test == "permutation"
        and options.method in METHODS
        and options.pmf != "full"
        and not options.exact_fraction
        and (options.confidence_level is None or items <= MOST_INTERVAL_ITEMS)
        and _simple(asked.data, asked.spec, items)
    )


def _simple(data: Paired, spec: StatisticSpec, items: int) -> bool:
    """Whether no formula, no text and no structure has to be worked out."""
    match data:
        case Scores():
            return True
        case Effects():
            return data.stay.ndim == 1 and spec.parameters.get("expression") in ADDITIVE_EXPRESSIONS
        case Counts():
            return spec.name in COUNT_STATISTICS and items <= MOST_JOINT_ITEMS
        case Predictions():
            return spec.name in LABEL_STATISTICS
        case Segments():
            return False


def _items(data: Paired) -> int:
    if isinstance(data, Effects):
        return len(data.stay)
    return len(next(iter(data.u.values()), ())) if isinstance(data, Counts) else len(data.u)
