"""Confidence intervals of a difference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from ..answers.test import ConfidenceInterval
from ..engine.bootstrap import monte_carlo
from ..engine.bootstrap.form import ResampleForm
from ..engine.bootstrap.law import WindowTooLongError
from ..engine.bootstrap.quantiles import bootstrap_law, evaluations_for, law_cost
from ..engine.intervals.interval import Ends, IntervalPlan, NotAnIntervalError, plan
from ..engine.lattice import Reals, exact_total
from ..engine.one_sum.monte_carlo import blocks
from ..engine.paired_proportions import tango_interval
from ..engine.plan import Budget
from ..presentation.numbers import p_number
from ..statistics.effects import Additive, Joint
from ..statistics.pairwise.correlation import Correlation
from ..statistics.runs import Runs
from ..statistics.scores import PairedBinary, Quantiles, binary_of
from .bootstrap import BootstrapTest, JointBootstrap
from .certificate import PlannedTest, Result
from .options import Options

# Intervals by inverting the permutation test, and Tango's of right and wrong


NOT_SHIFTED = "with another hypothesised difference the correction itself would be another one"


@dataclass(frozen=True, slots=True)
class IntervalResult:
    """An interval, or none; and warnings about it, (code, detail) each."""

    interval: ConfidenceInterval | None
    warnings: tuple[tuple[str, str], ...] = ()


class PlannedInterval(Protocol):
    """An interval that was planned and has not been computed."""

    @property
    def seconds(self) -> float:
        """Predicted time."""
        ...

    def solve(self, result: Result) -> IntervalResult:
        """Compute it, given the result of the test."""
        ...


def level_of(options: Options) -> Fraction | None:
    """The confidence level as written: 0.95 is 19/20, and 1 - 0.95 one twentieth."""
    return None if options.confidence_level is None else Fraction(repr(float(options.confidence_level)))


@dataclass(frozen=True, slots=True)
class Unavailable:
    """No interval, and the reason."""

    reason: str
    seconds: float = 0.0

    def solve(self, result: Result) -> IntervalResult:
        """No interval, with a warning."""
        return IntervalResult(
            None, (("interval_not_available", f"There is no confidence interval: {self.reason}."),)
        )


@dataclass(frozen=True, slots=True)
class Score:
    """Tango's interval of a difference of proportions, in the statistic's units."""

    seen: PairedBinary
    level: Fraction
    seconds: float = 1e-3

    def solve(self, result: Result) -> IntervalResult:
        """Asymptotic, so that it may disagree with the exact test about 0."""
        seen = self.seen
        low, high = tango_interval(seen.only_u, seen.only_v, seen.items, float(self.level))
        factor = float(seen.all_right)
        ends = low * factor, high * factor
        return IntervalResult(ConfidenceInterval(float(self.level), *ends, "tango_score", "approximate", 0.0))


@dataclass(frozen=True, slots=True)
class Inversion:
    """Every difference that the two-sided permutation test of shifted effects does not reject.

    It is two-sided for any alternative of the test. It contains 0 exactly when the two-sided p-value is above 1 - level.
    """

    problem: Additive
    level: Fraction
    planned: IntervalPlan
    decisive: bool

    @property
    def seconds(self) -> float:
        """Predicted time."""
        return self.planned.nanoseconds * 1e-9

    def solve(self, result: Result) -> IntervalResult:
        """The ends in the statistic's units, rounded outwards unless they are exact."""
        problem = self.problem
        try:
            ends = self.planned.solve()
        except NotAnIntervalError as error:
            return Unavailable(f"{error}").solve(result)
        sizes = len(problem.stay) if problem.sizes is None else exact_total(problem.sizes)
        factor = problem.unit * sizes
        if ends.low is None or ends.high is None:
            return IntervalResult(
                ConfidenceInterval(float(self.level), None, None, "test_inversion", "exact", 0.0)
            )
        off = 0 if problem.rounding is None else problem.rounding.each
        # Ends are means of effects, off by no more than any of them.
        scaled = Ends((ends.low - off) * factor, (ends.high + off) * factor, (ends.width + 2 * off) * factor)
        low, high = result.answer.bounds
        straddled = low <= 1 - self.level < high and not result.exact
        if self.decisive and not straddled:
            scaled = self._agreeing(scaled, inside=Fraction(result.answer.p_value) > 1 - self.level)
        return IntervalResult(_record(scaled, self.level))

    def _agreeing(self, ends: Ends, *, inside: bool) -> Ends:
        """The ends, with 0 on the side where the p-value puts it if the brackets of the ends leave that open."""
        low, high, width = ends.low, ends.high, ends.width
        assert low is not None
        assert high is not None
        if inside:
            # Rounded outwards, so that the interval loses nothing.
            return Ends(min(low, Fraction(0)), max(high, Fraction(0)), width + max(low, -high, Fraction(0)))
        # No subset's mean lies between 0 and this; see `subset_means`.
        least = self.problem.unit * int(np.gcd.reduce(self.problem.stay))
        if low <= 0 < low + width:
            return Ends(max(low, min(least, low + width)), high, width)
        if high - width < 0 <= high:
            return Ends(low, min(high, max(-least, high - width)), width)
        return ends


def _record(ends: Ends, level: Fraction) -> ConfidenceInterval:
    assert ends.low is not None
    assert ends.high is not None
    low, high = float(ends.low), float(ends.high)
    inner = float(ends.low + ends.width), float(ends.high - ends.width)
    if (low, high) == inner:
        return ConfidenceInterval(float(level), low, high, "test_inversion", "exact", 0.0)
    if Fraction(low) > ends.low:
        low = math.nextafter(low, -math.inf)
    if Fraction(high) < ends.high:
        high = math.nextafter(high, math.inf)
    width = math.nextafter(float(ends.width), math.inf)
    return ConfidenceInterval(float(level), low, high, "test_inversion", "bounded", width)


def pairs_not_shifted(name: str) -> Unavailable:
    """The reason why a statistic of pairs has no interval."""
    return Unavailable(
        f"{name} compares pairs of items: a constant added to one system's scores does not shift it by a constant, "
        "so that no difference can be hypothesised"
    )


def inversion(
    problem: Additive, options: Options, level: Fraction, budget: Budget, *, exact: bool
) -> PlannedInterval:
    """Plan the inversion of the two-sided test; `exact` says that the p-value of the answer is not sampled."""
    if problem.pairwise:
        return pairs_not_shifted(problem.name)
    if problem.corrected is not None:
        return Unavailable(f"the difference is corrected, and {NOT_SHIFTED}")
    if problem.swap is not None or problem.absolute or not problem.shiftable:
        return Unavailable(
            f"{problem.name} is not a difference of means or sums, so that no constant difference can be "
            "hypothesised; test: bootstrap gives a percentile interval where it applies"
        )
    try:
        planned = plan(problem.stay, problem.sizes, 1 - level, budget)
    except NotAnIntervalError as error:
        return Unavailable(f"{error}")
    decisive = exact and options.alternative == "two-sided" and problem.rounding is None
    return Inversion(problem, level, planned, decisive)


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
    if isinstance(problem, Runs):
        raise TypeError("a test that exchanges runs has no interval")  # refused before
    if isinstance(problem, Joint):
        return Unavailable(
            f"{problem.name} is a function of several sums, so that no constant difference can be hypothesised; "
            "test: bootstrap gives a percentile interval"
        )
    if isinstance(problem, Correlation):
        return pairs_not_shifted(problem.name)
    if isinstance(problem, Quantiles):
        return Unavailable(
            f"an interval of {problem.name} would need a test of every shift, which is not available; "
            "mean_difference has one"
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
        f"The interval {'leaves out 0' if inside else 'contains 0'}, and the two-sided p-value {p_number(p, float(1 - level))} is "
        f"{'above' if inside else 'not above'} {float(1 - level):.6g}: the interval is by "
        f"{_METHODS[computed.interval.method]}, the p-value by the test. Where they differ, the test decides."
    )
    return IntervalResult(computed.interval, (*computed.warnings, ("interval_disagrees", detail)))


def contains_zero(interval: ConfidenceInterval) -> bool:
    """Whether a difference of 0 is inside."""
    return (interval.low is None or interval.low <= 0.0) and (interval.high is None or interval.high >= 0.0)
