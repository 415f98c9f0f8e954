"""Which requests the web process may compute itself: those whose cost is known before anything is prepared.

All others, and health probes, wait while the web process computes. So only tests whose cost depends on the number of
items alone are allowed, and few items; the cost of a formula, an interval or a resampling depends on the data. The
planner's prediction has to allow them as well.
"""

from __future__ import annotations

import numpy as np

from ..statistics.paired import (
    Counts,
    Effects,
    Paired,
    Predictions,
    Repeated,
    Scores,
    Segments,
    StatisticSpec,
)
from .compare.parse import ParsedCompare
from .gate.parse import ParsedGate
from .parse import ParsedTest, n_items
from .power.parse import ParsedPower

# Their costs are numbers of steps; those of other methods depend on the data.
METHODS = frozenset({"auto", "fft", "dp", "enumeration", "meet_in_the_middle", "monte_carlo"})
LABEL_STATISTICS = frozenset({"accuracy", "exact_match", "token_accuracy"})
COUNT_STATISTICS = frozenset({"f1", "precision", "recall", "accuracy", "jaccard", "ratio"})
ADDITIVE_EXPRESSIONS = frozenset({None, "x1"})
SIZE = "abs(x1)"
MOST_JOINT_ITEMS = 500  # the lattice of several sums comes from all their columns together
MOST_INTERVAL_ITEMS = 500
MOST_METRICS = 4
ADJUSTED_IN_PLACE = frozenset({"bonferroni", "holm", "hochberg", "bh", "by", "none"})
# Of a comparison: pairs on all data sets, and values of all systems.
MOST_PAIRS = 100
MOST_VALUES = 5_000


def is_small_power(parsed: ParsedPower) -> bool:
    """Whether a question about power has no pilot, or a small one."""
    return parsed.pilot is None or is_small_test(parsed.pilot)


def is_small_gate(parsed: ParsedGate) -> bool:
    """Whether a gate is of few small tests."""
    return len(parsed.metrics) <= MOST_METRICS and all(
        is_small_test(metric.test) for metric in parsed.metrics
    )


def is_small_test(parsed: ParsedTest) -> bool:
    """Whether a test is certain to be prepared within milliseconds."""
    options, items = parsed.options, n_items(parsed.data)
    return (
        options.test == "permutation"
        and options.method in METHODS
        and options.pmf != "full"
        and not options.exact_fraction
        and (options.confidence_level is None or items <= MOST_INTERVAL_ITEMS)
        and (_simple(parsed.data, parsed.spec, items) or _is_tail_of_size(parsed))
    )


def _is_tail_of_size(parsed: ParsedTest) -> bool:
    """Whether |S| is tested for being large, which is S in two tails.

    A test for being small takes what no plan knows: the least |S| that there is, and its law even where none is shown.
    """
    data, options = parsed.data, parsed.options
    return (
        isinstance(data, Effects)
        and data.stay.ndim == 1
        and parsed.spec.parameters.get("expression") == SIZE
        and options.alternative != "less"
        and options.pmf == "summary"
    )


def is_small_board(parsed: ParsedCompare) -> bool:
    """Whether a comparison is of few scores in few pairs, without intervals."""
    comparison = parsed.comparison
    boards, options = comparison.datasets.values(), comparison.options
    pairs = values = 0
    for board in boards:
        pairs += len(board.columns) ** 2 // 2
        for column in board.columns.values():
            if not isinstance(column, np.ndarray | Repeated):
                return False
            values += len(column)
    return (
        options.method in METHODS - {"monte_carlo"}
        and options.confidence_level is None
        and comparison.adjust in ADJUSTED_IN_PLACE
        and pairs <= MOST_PAIRS
        and values <= MOST_VALUES
    )


def _simple(data: Paired, spec: StatisticSpec, items: int) -> bool:
    """Whether there is no formula, text or structure to evaluate."""
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
