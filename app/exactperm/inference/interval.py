"""Which interval belongs to a test, and whether it agrees with the p-value about 0.

Intervals are two-sided whatever the alternative. Means and sums of scores: inversion of the exact test. Items that are
right or wrong, each by itself: Tango's score interval, as no constant difference can be added to 0 and 1. Bootstrap:
percentiles. Anything else has none, and a warning says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..answers.test import ConfidenceInterval
from ..engine.bootstrap import monte_carlo
from ..engine.bootstrap.form import ResampleForm
from ..engine.bootstrap.law import WindowTooLongError
from ..engine.bootstrap.quantiles import bootstrap_law, evaluations_for, law_cost
from ..engine.lattice import Reals
from ..engine.one_sum.monte_carlo import blocks
from ..engine.plan import Budget
from ..presentation.numbers import number
from ..statistics.pairwise.correlation import Correlation
from ..statistics.problems import Joint
from ..statistics.scores import Quantiles, binary_of
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
from .prepared import PlannedTest, Result

# The percentile interval of the paired bootstrap: quantiles of the bootstrap distribution itself


METHOD = "bootstrap_percentile"
# The law's quantiles take a cumulative probability this close below q for q.
_TIE = 1e-12
_ENDS = 2


@dataclass(frozen=True, slots=True)
class Percentile:
    """The percentiles of one bootstrap; exact where its law fits the budget, else of its resamples."""

    test: BootstrapTest | JointBootstrap
    level: Fraction
    budget: Budget

    @property
    def seconds(self) -> float:
        """Predicted time; resamples of several sums are drawn for the p-value anyway."""
        if isinstance(self.test, JointBootstrap):
            return 0.0
        if self._fits(self.test.form):
            return _cost(self.test.form)[0] * 1e-9
        return self.test.plan.chosen.seconds

    def solve(self, result: Result) -> IntervalResult:
        """The interval of the statistic, in its units."""
        tail = (1 - self.level) / 2
        if isinstance(self.test, JointBootstrap):
            assert result.resampled is not None
            return IntervalResult(self._sampled(result.resampled, tail))
        form, unit = self.test.form, self.test.unit
        ends = _exact(form, tail) if self._fits(form) else None
        if ends is None:
            samples, seed = self.test.options.samples, self.test.options.seed
            drawn = [monte_carlo.draw_block(form, seed, block)[:size] for block, size in blocks(samples)]
            totals = form.offset + form.step * np.concatenate(drawn).astype(np.float64)
            return IntervalResult(self._sampled(totals * float(unit), tail))
        low, high = (float(end * unit) for end in ends)
        return IntervalResult(ConfidenceInterval(float(self.level), low, high, METHOD, "exact", 0.0))

    def _fits(self, form: ResampleForm) -> bool:
        operations, held = _cost(form)
        return operations <= self.budget.operations and held <= self.budget.bytes

    def _sampled(self, values: Reals, tail: Fraction) -> ConfidenceInterval:
        ordered = np.sort(values)
        rank = max(math.ceil(tail * len(ordered)), 1)
        low, high = float(ordered[rank - 1]), float(ordered[-rank])
        return ConfidenceInterval(float(self.level), low, high, METHOD, "sampled", 0.0)


def _cost(form: ResampleForm) -> tuple[int, int]:
    """Nanoseconds and bytes of the two ends."""
    return law_cost(form, evaluations_for(form, _ENDS))


def _exact(form: ResampleForm, tail: Fraction) -> tuple[int, int] | None:
    """The smallest sum x with P(S* <= x) >= tail, and the largest with P(S* >= x) >= tail."""
    if form.range == 0:
        return form.observed, form.observed
    try:
        law = bootstrap_law(form, evaluations_for(form, _ENDS))
    except WindowTooLongError:
        return None
    return law.quantile(float(tail)), law.quantile(float(1 - tail) + 2.0 * _TIE)


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
