"""The test of one additive statistic: one sum on a line."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ..answers.test import Fraction2, LatticeRecord
from ..engine import methods
from ..engine.lattice import CanonicalForm, LatticeOverflowError, form_and_sum
from ..engine.one_sum import planner
from ..engine.one_sum.attainable import smallest_attainable
from ..engine.plan import Budget, Cost, Plan
from ..engine.probability import Region, region, ties_of, without_half
from ..engine.real.form import items_up
from ..errors import InvalidTest
from ..statistics.problems import Additive
from .certificate import certified_by
from .items import additive_items, statistic_record
from .null_record import null_record, null_seconds, require_listable, times
from .options import Options
from .p_value import Answer, bracketed, certified, most_steps, sampled
from .prepared import Result
from .rounded_test import RoundedTest, rounded_test

# Wins, ties and losses.
_SECONDS_PER_ITEM = 1e-9


@dataclass(frozen=True, slots=True)
class AdditiveTest:
    """An additive problem with its canonical form, its region and its plan.

    `tied_by` gives the mass at the observed value where the region is everything, so that p = 1 costs nothing.
    """

    options: Options
    problem: Additive
    form: CanonicalForm
    observed: int
    region: Region
    plan: Plan
    fraction_by: str | None
    tied_by: Cost | None = None

    @property
    def seconds(self) -> float:
        """Predicted time: the p-value, its fraction, and the null distribution."""
        fraction = 0.0
        if self.fraction_by is not None:
            fraction = sum(cost.seconds for cost in self.plan.others if cost.method == self.fraction_by)
        pictured = null_seconds(self.form, self.options.pmf)
        each = _SECONDS_PER_ITEM * self.problem.items
        tied = 0.0 if self.tied_by is None else self.tied_by.seconds
        return self.plan.chosen.seconds + fraction + pictured + each + tied

    def solve(self) -> Result:
        """Run the planned method and summarise the null."""
        options, problem, form = self.options, self.problem, self.form
        total = abs(self.observed) if problem.absolute else self.observed
        by, answer = certified_by(
            self._methods(), self._answer, least_log10=self._least_log10(), settles=self._settles
        )
        return Result(
            answer=answer,
            by=by,
            lattice=LatticeRecord(times(form.step, problem.unit), len(form.weights), form.range),
            attainable_between=smallest_attainable(form, options.alternative, absolute=problem.absolute),
            items=additive_items(problem, form),
            statistic=statistic_record(problem, times(total, problem.unit)),
            null=null_record(form, problem.unit, options.pmf, absolute=problem.absolute),
        )

    def _methods(self) -> Iterable[Cost]:
        """What may answer, in turn; before it samples, `auto` brackets, which is priced only when it comes to that."""
        if self.plan.chosen.exact:
            yield self.plan.chosen  # mostly the only one, and then the others are not even priced
        planned = self.plan.in_turn[1 if self.plan.chosen.exact else 0 :]
        yield from (cost for cost in planned if cost.method != "monte_carlo")
        if not self.plan.asked and all(cost.method != "bounds" for cost in planned):
            bracket = planner.narrowest_bracket(
                self.form, self.region, self.options.precision, self.plan.budget
            )
            if bracket.fits(self.plan.budget):
                yield bracket
        yield from (cost for cost in planned if cost.method == "monte_carlo")

    def _settles(self, by: Cost, answer: Answer) -> bool:
        """Whether a bracket that is run in the place of an exact method decides about alpha."""
        low, high = answer.bounds
        return self.plan.asked or by.method != "bounds" or not low <= self.options.alpha <= high

    def _answer(self, by: Cost) -> Answer:
        """The answer of one method, not checked yet."""
        options, problem = self.options, self.problem
        if by.method == "monte_carlo":
            estimate = methods.by_sampling(self.form, self.region, samples=options.samples, seed=options.seed)
            return sampled(estimate, self._fraction())
        if by.method == "bounds":
            bracket = methods.in_bounds(
                self.form,
                self.region,
                options.precision if by.precision is None else by.precision,
                chosen=items_up(self.form, problem.stay, problem.swap),
                steps=most_steps(by),
            )
            return bracketed(bracket, options.precision, self._fraction())
        certain = self.region.covers(self.form)
        method = by.method if not certain else None if self.tied_by is None else self.tied_by.method
        if method is None:
            return certified(methods.exactly(by.method, self.form, self.region), self._fraction())
        ties = ties_of(self.form, self.observed, options.alternative, absolute=problem.absolute)
        found, tied = methods.with_ties(method, self.form, self.region, ties)
        return certified(found, self._fraction(), without_half(found, tied))

    def _least_log10(self) -> float:
        """log10 of the observed assignment's own probability, 2**-n; it must be in the region."""
        total, left = divmod(self.observed - self.form.offset, self.form.step)
        if left or not any(low <= total <= high for low, high in self.region.intervals):
            raise ArithmeticError("the observed sum is not among those at least as extreme")
        return -self.form.nonzero * math.log10(2.0)

    def _fraction(self) -> Fraction2 | None:
        """The exact fraction, when it was requested and the method that runs does not give it."""
        if self.fraction_by is None:
            return None
        return certified(methods.exactly(self.fraction_by, self.form, self.region)).fraction


def additive_test(problem: Additive, options: Options, budget: Budget) -> AdditiveTest | RoundedTest:
    """Plan the test; raises InvalidTest and PlanTooLarge."""
    try:
        form, observed = form_and_sum(problem.stay, problem.swap)
    except LatticeOverflowError as error:
        raise InvalidTest.at(
            "", "effects_too_large", f"The data cannot be summed exactly: {error}."
        ) from error
    require_listable(form, options.pmf)
    if problem.rounding is not None:
        return rounded_test(problem, form, options, budget)
    tail = region(form, observed, options.alternative, absolute=problem.absolute)
    plan = planner.plan(
        form,
        tail,
        budget,
        method=options.method,
        samples=options.samples,
        precision=options.precision,
        alpha=None if options.exact_fraction else options.alpha,
    )
    fraction_by = None
    if options.exact_fraction and plan.chosen.method not in planner.FRACTION_METHODS:
        fraction_by = planner.cheapest_fraction(form, tail, budget).method
    tied_by = None
    if tail.covers(form):
        cost = planner.fft_cost(form)
        tied_by = cost if cost.fits(budget) else None
    return AdditiveTest(options, problem, form, observed, tail, plan, fraction_by, tied_by)
