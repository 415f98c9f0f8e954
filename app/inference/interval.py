"""Which interval belongs to a test, and whether it agrees with the p-value about 0.

Intervals are two-sided whatever the alternative. Means and sums of scores: inversion of the exact test. Items that are
right or wrong, each by itself: Tango's score interval, as no constant difference can be added to 0 and 1. Bootstrap:
percentiles. Anything else has none, and a warning says so.
"""

from __future__ import annotations

from fractions import Fraction

from ..engine.plan import Budget
from ..presentation.numbers import number
from ..statistics.joint_problem import Joint
from ..statistics.paired_binary import binary_of
from ..statistics.pairwise.correlation import Correlation
from ..statistics.quantiles import Quantiles
from .bootstrap_test import BootstrapTest, JointBootstrap
from .confidence import (
    IntervalResult,
    PlannedInterval,
    Score,
    Unavailable,
    inversion,
    level_of,
    pairs_not_shifted,
)
from .options import Options
from .percentile import Percentile
from .prepared import PlannedTest, Result
from .record import ConfidenceInterval

_METHODS = {
    "tango_score": "Tango's score method, which is asymptotic",
    "bootstrap_percentile": "percentiles of the bootstrap distribution",
    "test_inversion": "inverting the exact permutation test",
}


def planned_interval(options: Options, budget: Budget, test: PlannedTest) -> PlannedInterval | None:
    """The interval, None when no `confidence_level` was given."""
    level = level_of(options)
    if level is None:
        return None
    if isinstance(test, BootstrapTest | JointBootstrap):
        return Percentile(test, level, budget)
    problem = test.problem
    if isinstance(problem, Joint):
        return Unavailable(
            f"{problem.name} is a function of several sums, so that no constant difference can be hypothesised; "
            "test: bootstrap gives a percentile interval"
        )
    if isinstance(problem, Correlation):
        return pairs_not_shifted(problem.name)
    if isinstance(problem, Quantiles):
        return Unavailable(
            f"an interval of {problem.name} would need a test of every shift, which is not offered; mean_difference has one"
        )
    seen = binary_of(problem)
    if seen is not None:
        return Score(seen, level)
    return inversion(problem, options, level, budget, exact=test.plan.chosen.method != "monte_carlo")


def interval_of(planned: PlannedInterval, options: Options, result: Result) -> IntervalResult:
    """Compute it, with a warning when it disagrees with the p-value about 0."""
    computed = planned.solve(result)
    level = level_of(options)
    if computed.interval is None or level is None or options.alternative != "two-sided":
        return computed
    p = result.answer.p_value
    inside = Fraction(p) > 1 - level
    if contains_zero(computed.interval) == inside:
        return computed
    detail = (
        f"The interval {'leaves out 0' if inside else 'contains 0'}, and the two-sided p-value {number(p, float(1 - level), 1.0)} is "
        f"{'above' if inside else 'not above'} {float(1 - level):.6g}: the interval is by "
        f"{_METHODS[computed.interval.method]}, the p-value by the test. Where they differ, the test decides."
    )
    return IntervalResult(computed.interval, (*computed.warnings, ("interval_disagrees", detail)))


def contains_zero(interval: ConfidenceInterval) -> bool:
    """Whether a difference of 0 is inside."""
    return (interval.low is None or interval.low <= 0.0) and (interval.high is None or interval.high >= 0.0)
