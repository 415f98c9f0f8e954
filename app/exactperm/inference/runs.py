"""Test a difference by exchanging runs, or items and runs, whose p-value is the larger of two."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from ..answers.test import (
    ExactFraction,
    Exchange,
    ExchangedTest,
    ExchangesRecord,
    GeneralisesTo,
    LatticeRecord,
)
from ..engine.finite_laws import methods
from ..engine.finite_laws.form import CoarseLaws, FiniteLaws, coarse_region, region, ties_of
from ..engine.plan import Budget, Cost, FractionOverBudget, Plan
from ..engine.probability import SMALLEST, Region, mid_p
from ..errors import InvalidTest
from ..statistics.columns import EXCHANGE_RUNS
from ..statistics.paired import Paired, StatisticSpec
from ..statistics.reducers import Problem
from ..statistics.runs import WITHOUT_RUNS, Runs, reduce_runs, require_runs
from .certificate import Answer, PlannedTest, Result, bracketed, certified, certified_by, mid_p_value, sampled
from .options import Options
from .record import items_record, laws_seconds, null_of_laws, statistic_record, times

GENERALISES_TO: dict[Exchange, GeneralisesTo] = {
    "items": "new items",
    "runs": "new runs of these items",
    "both": "new runs and new items",
}
_ROUNDED = (
    "No 64-bit lattice holds the sum of these runs: p_value_bounds hold for the original scores, and the null distribution is for "
    "rounded ones. With fewer digits (`decimals`), all is exact."
)
# Predicted nanoseconds of listing the laws, for each run.
_SECONDS_PER_RUN = 2e-6


@dataclass(frozen=True, slots=True)
class RunsTest:
    """A difference of means, sums or pass rates whose runs are reassigned, with its region and plan."""

    options: Options
    problem: Runs
    region: Region
    plan: Plan
    fraction_by: Cost | None
    pictured: float
    coarse: CoarseLaws | None = None

    @property
    def form(self) -> FiniteLaws:
        """The laws of the units."""
        return self.problem.form

    @property
    def seconds(self) -> float:
        """Predicted time: the p-value, its fraction, and the null distribution."""
        fraction = 0.0 if self.fraction_by is None else self.fraction_by.seconds
        listed = _SECONDS_PER_RUN * sum(self.problem.samples or (2 * self.problem.items, 0))
        return self.plan.chosen.seconds + fraction + self.pictured + listed

    def solve(self) -> Result:
        """Run the planned method and summarise the null."""
        problem, form = self.problem, self.form
        by, answer = certified_by(self.plan.attempts, self._answer, least_log10=self._least / math.log(10.0))
        attainable = methods.smallest_attainable(form, self.options.alternative)
        # Rounding may join the largest values.
        least = attainable if problem.coarse is None else max(math.exp(self._least), SMALLEST)
        null = null_of_laws(form, problem.unit, self.options.pmf)
        return Result(
            answer=answer,
            by=by,
            lattice=None
            if problem.coarse is not None
            else LatticeRecord(times(form.step, problem.unit), len(form.laws), form.range),
            attainable_between=(least, attainable),
            items=items_record(problem, problem.ahead, np.zeros_like(problem.ahead), int(form.counts.sum())),
            statistic=statistic_record(problem, times(problem.observed, problem.unit)),
            null=null
            if problem.coarse is None
            else replace(null, mean=float(problem.coarse.mean * problem.unit), range_exact=False),
            warnings=() if problem.coarse is None or by.exact else (("scores_rounded", _ROUNDED),),
        )

    @property
    def _least(self) -> float:
        """The logarithm of a lower bound on the probability of every assignment of the runs."""
        if self.problem.coarse is not None:  # rounding joins ways
            return -math.fsum(count * math.log(sum(law.values())) for law, count in self.problem.coarse.laws)
        pairs = zip(self.form.laws, self.form.counts.tolist(), strict=True)
        return -math.fsum(count * math.log(law.total) for law, count in pairs)

    def _answer(self, by: Cost) -> Answer:
        """The unchecked answer of one method."""
        options, form, coarse, observed = self.options, self.form, self.coarse, self.problem.observed
        if by.method == "monte_carlo":
            draw = partial(methods.estimate, form, samples=options.samples, seed=options.seed)
            answer = sampled(draw(self.region), self._fraction())
            if self.problem.coarse is None:
                return answer
            # Of rounded laws the region has all that may be as extreme; what certainly is bounds p from below.
            inner = coarse_region(self.problem.coarse, observed, options.alternative, outer=False)
            return replace(answer, bounds=(sampled(draw(inner)).bounds[0], answer.bounds[1]))
        if by.method == "bounds":
            assert coarse is not None
            bracket = methods.in_bounds(coarse, observed, options.alternative, self._least)
            return bracketed(bracket, options.precision, self._fraction())
        if by.method == "enumeration":
            assert coarse is not None
            tail, tied = methods.enumerated(coarse, observed, options.alternative)
        else:
            ties = ties_of(form, observed, options.alternative)
            tail, tied = methods.with_ties(by.method, form, self.region, ties)
        return certified(tail, self._fraction(), mid_p(tail, tied))

    def _fraction(self) -> ExactFraction | None:
        """The exact fraction, if requested and not given by the method that runs."""
        if self.fraction_by is None:
            return None
        return certified(methods.with_ties(self.fraction_by.method, self.form, self.region, ())[0]).fraction


@dataclass(frozen=True, slots=True)
class BothTest:
    """The test that exchanges items, and the one that exchanges runs: it rejects where both do (Berger 1982, intersection-union)."""

    items: PlannedTest
    runs: RunsTest

    @property
    def options(self) -> Options:
        """The options of both."""
        return self.runs.options

    @property
    def problem(self) -> Problem | Runs:
        """The test that exchanges items."""
        return self.items.problem

    @property
    def plan(self) -> Plan:
        """The longer plan."""
        return max(self.items.plan, self.runs.plan, key=lambda plan: plan.chosen.seconds)

    @property
    def seconds(self) -> float:
        """Predicted time of both."""
        return self.items.seconds + self.runs.seconds

    def solve(self) -> Result:
        """Run both tests; all but the p-value is that of the test with the larger p-value."""
        results = self.items.solve(), self.runs.solve()
        larger = max(results, key=lambda result: result.answer.p_value)
        low, high = (max(ends) for ends in zip(*(each.attainable_between for each in results), strict=True))
        return replace(
            larger,
            answer=_larger(*(result.answer for result in results)),
            attainable_between=(low, high),
            warnings=tuple(dict.fromkeys(warning for result in results for warning in result.warnings)),
            exchanges=ExchangesRecord(*map(_exchanged, results)),
        )


def _larger(first: Answer, second: Answer) -> Answer:
    """The larger p-value, as certain as the less certain one."""
    larger, other = (first, second) if first.p_value >= second.p_value else (second, first)
    mids = [answer.mid for answer in (first, second)]
    mid = None if None in mids else max((mid for mid in mids if mid is not None), key=lambda mid: mid.log_p)
    low, high = (max(ends) for ends in zip(first.bounds, second.bounds, strict=True))
    if high <= larger.bounds[1]:
        return replace(larger, bounds=(max(low, larger.bounds[0]), high), mid=mid)
    # The other one may be larger, so neither is exact.
    return replace(
        larger,
        bounds=(low, high),
        relative_error_bound=None if other.monte_carlo else high / larger.p_value - 1.0,
        fraction=None,
        monte_carlo=larger.monte_carlo or other.monte_carlo,
        bracket=other.monte_carlo is None,
        mid=None,
    )


def _exchanged(result: Result) -> ExchangedTest:
    answer = result.answer
    return ExchangedTest(
        answer.p_value, answer.log10_p_value, answer.bounds, mid_p_value(answer), result.by.method
    )


def runs_test(
    data: Paired, spec: StatisticSpec, options: Options, budget: Budget, margin: Fraction = Fraction(0)
) -> RunsTest:
    """Plan the test that exchanges runs; raises InvalidTest and what the engine raises."""
    refuse_beside_runs(options)
    return planned_laws(reduce_runs(require_runs(data, spec.name), spec, margin), options, budget)


def planned_laws(problem: Runs, options: Options, budget: Budget) -> RunsTest:
    """Plan the test of a sum of finite laws; raises InvalidTest and what the engine raises."""
    form = problem.form
    if problem.coarse is None:
        tail = region(form, problem.observed, options.alternative)
    else:
        tail = coarse_region(problem.coarse, problem.observed, options.alternative, outer=True)
    plan, coarse = methods.plan(
        form,
        budget,
        method=options.method,
        samples=options.samples,
        precision=options.precision,
        coarse=problem.coarse,
    )
    fraction_by = None
    if options.exact_fraction and plan.chosen.method not in methods.FRACTION_METHODS:
        if problem.coarse is not None:
            raise FractionOverBudget(methods.FRACTION_METHODS, (), budget)
        fraction_by = methods.fraction_cost(form, budget)
    return RunsTest(options, problem, tail, plan, fraction_by, laws_seconds(form, options.pmf), coarse)


def refuse_beside_runs(options: Options) -> None:
    """Refuse options that a test that exchanges runs does not have; raises InvalidTest."""
    if options.test == "bootstrap":
        detail = "Exchanging runs is a permutation test: leave exchange out, or set test to permutation."
        raise InvalidTest.at("/exchange", "exchange_needs_permutation", detail, WITHOUT_RUNS)
    for name in ("confidence_level", "power"):
        if getattr(options, name) is not None:
            detail = f"A test that exchanges runs has no confidence interval and no power: leave {name} or exchange out."
            raise InvalidTest.at(f"/{name}", "exchange_has_no_interval", detail, WITHOUT_RUNS)
    if options.sequential is not None and options.exchange == "both":
        detail = "E-values are for exchanging items or runs, not both: choose one of them, or leave sequential out."
        raise InvalidTest.at("/sequential", "not_available", detail, (*WITHOUT_RUNS, EXCHANGE_RUNS))
