"""What an interval for the difference is made of: by inverting the permutation test, or Tango's for right and wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from ..answers.test import ConfidenceInterval
from ..engine.intervals.interval import Ends, IntervalPlan, NotAnIntervalError, plan
from ..engine.lattice import exact_total
from ..engine.paired_proportions import tango_interval
from ..engine.plan import Budget
from ..statistics.problems import Additive
from ..statistics.scores import PairedBinary
from .options import Options
from .prepared import Result


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
    """The confidence level as it was written: 0.95 is 19/20 here, and 1 - 0.95 one twentieth."""
    return None if options.confidence_level is None else Fraction(repr(float(options.confidence_level)))


@dataclass(frozen=True, slots=True)
class Unavailable:
    """There is no interval, and why."""

    reason: str
    seconds: float = 0.0

    def solve(self, result: Result) -> IntervalResult:
        """None, and the reason."""
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

    Always two-sided, whatever alternative the test has. It contains 0 exactly when the two-sided p-value is above
    1 - level.
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
            # Outwards, so that whatever belongs to it stays.
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
    """Why a statistic of pairs has no interval."""
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
