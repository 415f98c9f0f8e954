"""The test of one additive statistic: one sum on a line."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..answers.test import ExactFraction, LatticeRecord, NullRecord, StatisticRecord
from ..engine.lattice import CanonicalForm, LatticeOverflowError, Whole, exact_total, form_and_sum
from ..engine.one_sum import methods, monte_carlo, wide_sums
from ..engine.one_sum.enumeration import ways_to_sums
from ..engine.one_sum.methods import costs
from ..engine.one_sum.summary import FEW, smallest_attainable
from ..engine.one_sum.wide_sums import WideForm, wide_form
from ..engine.plan import Budget, Cost, FractionOverBudget, Plan, choose
from ..engine.probability import SMALLEST, Region, mid_p, region, ties_of
from ..engine.real.form import RealForm, RealRegion, items_up, real_problem
from ..errors import InvalidTest
from ..statistics.effects import Additive, Rounding
from .brackets import before_samples, bracket_of_real, decides, most_steps, price_of_real
from .certificate import Answer, Result, bracketed, certified, certified_by, sampled
from .options import Options
from .record import (
    additive_items,
    holding,
    items_record,
    null_record,
    null_seconds,
    require_listable,
    statistic_record,
    times,
)

# Sums beyond 64 bits: exact if small, else certified for the original numbers


# Nanoseconds per operation, as the planner has them.
_MET, _LISTED, _BOUNDS = 12, 2, 8
_FRACTION_METHODS = ("meet_in_the_middle", "enumeration")


@dataclass(frozen=True, slots=True)
class RoundedTest:
    """An additive problem with a `form` rounded to 60 bits, but an answer for the unrounded numbers.

    `wide` is the sum in exact integers, None if it has too many doubles.
    """

    options: Options
    problem: Additive
    form: CanonicalForm
    observed: int
    wide: WideForm | None
    plan: Plan

    @property
    def seconds(self) -> float:
        """Predicted time: the p-value, its fraction, and the null distribution."""
        fraction = 0.0
        if self.options.exact_fraction and not self.plan.chosen.exact:
            fraction = min(cost.seconds for cost in self.plan.others if cost.exact)
        pictured = null_seconds(self.form, self.options.pmf)
        return self.plan.chosen.seconds + fraction + pictured

    def solve(self) -> Result:
        """Run the planned method and summarise the null."""
        problem, form, items = self.problem, self.form, items_record(self.problem, *_effects(self.problem))
        least_log10 = -items.nonzero * math.log10(2.0)
        by, answer = certified_by(self.plan.attempts, self._answer, least_log10=least_log10)
        return Result(
            answer=answer,
            by=by,
            lattice=LatticeRecord(float(problem.unit * form.step), len(form.weights), form.range),
            attainable_between=self._attainable(items.nonzero),
            items=items,
            statistic=self._statistic(),
            null=self._null(),
            warnings=() if by.exact else (("scores_rounded", _ROUNDED),),
        )

    def _null(self) -> NullRecord:
        """The law of the rounded sum, with the range of the unrounded sum: near zero, rounding may dominate."""
        problem, wide = self.problem, self.wide
        null = null_record(self.form, problem.unit, self.options.pmf, absolute=problem.absolute)
        if wide is None:
            null = holding(null, self._statistic().observed, symmetric=False)
            return replace(null, range_exact=False)
        unit = _rounding(problem).exact_unit
        low, high = wide.base, wide.base + wide.reach
        if not problem.absolute:
            return replace(null, mean=times(low + high, unit, 2), min=times(low, unit), max=times(high, unit))
        crosses, ends = low < 0 < high, (abs(low), abs(high))
        least = abs(wide.observed) if crosses else min(ends)
        few = crosses and wide.nonzero <= FEW
        if few:
            least = min(abs(low + more) for more in ways_to_sums(zip(wide.weights, wide.counts, strict=True)))
        return replace(
            null, min=times(least, unit), max=times(max(ends), unit), range_exact=few or not crosses
        )

    @property
    def attainable_at_most(self) -> float:
        """An upper bound of the least p-value of all outcomes."""
        return self._attainable(items_record(self.problem, *_effects(self.problem)).nonzero)[1]

    def _attainable(self, nonzero: int) -> tuple[float, float]:
        """Bounds of the smallest p-value that any outcome could have, equal if rounding does not matter."""
        alternative, problem = self.options.alternative, self.problem
        one_sided = alternative != "two-sided" and not problem.absolute
        as_they_are = _rounding(problem).exact is not None
        if as_they_are and (one_sided or (problem.swap is None and alternative != "less")):
            least = max(math.ldexp(1.0, int(not one_sided and nonzero > 0) - nonzero), SMALLEST)
            return least, least
        low, high = max(math.ldexp(1.0, -problem.items), SMALLEST), 1.0
        if as_they_are:
            low = max(math.ldexp(1.0, -nonzero), SMALLEST)
        if one_sided or alternative != "less":
            # At most both ends count, and an effect rounded to 0 may be another item that swaps.
            high = max(math.ldexp(1.0, int(not one_sided) - nonzero), SMALLEST) if nonzero else 1.0
        return low, high

    def _answer(self, by: Cost) -> Answer:
        """The unchecked answer of one method."""
        options, problem = self.options, self.problem
        exact = None
        if by.exact or options.exact_fraction:
            assert self.wide is not None
            all_sums = by.method == "enumeration"
            exact = certified(
                wide_sums.probability(
                    self.wide, options.alternative, absolute=problem.absolute, all_sums=all_sums
                )
            )
            if by.exact:
                return exact
        fraction = None if exact is None else exact.fraction
        if by.method == "bounds":
            return bracket_of_real(_real(problem, options), options, by, fraction)
        return replace(self._sampled(), fraction=fraction)

    def _sampled(self) -> Answer:
        """An estimate from the sums that are extreme or may be; the interval's lower end from those that are."""
        options, rounding = self.options, _rounding(self.problem)
        draw = options.samples, options.seed
        beyond, within = (
            monte_carlo.estimate(self.form, self._region(sign * rounding.most), samples=draw[0], seed=draw[1])
            for sign in (1, -1)
        )
        answer = sampled(beyond)
        return replace(answer, bounds=(min(within.interval()[0], answer.bounds[0]), answer.bounds[1]))

    def _region(self, wider: int) -> Region:
        """The values of T that are extreme, `wider` lattice units more of them at every end."""
        form, alternative, size = self.form, self.options.alternative, abs(self.observed)
        if self.problem.absolute and alternative == "less":
            return region(form, max(size + wider, 0), "less", absolute=True)
        if self.problem.absolute or alternative == "two-sided":
            return region(form, max(size - wider, 0), "two-sided")
        shift = -wider if alternative == "greater" else wider
        return region(form, self.observed + shift, alternative)

    def _statistic(self) -> StatisticRecord:
        problem, rounding = self.problem, _rounding(self.problem)
        total = self.observed * problem.unit
        if self.wide is not None:
            total = self.wide.observed * rounding.exact_unit
        return statistic_record(problem, float(abs(total) if problem.absolute else total))


_ROUNDED = (
    "The scores take more than 60 bits together. p_value_bounds hold for the original scores; the null "
    "distribution is for scores rounded to 60 bits. With fewer digits (`decimals`), all is exact."
)


def rounded_test(problem: Additive, form: CanonicalForm, options: Options, budget: Budget) -> RoundedTest:
    """Plan the test; raises InvalidTest and PlanTooLarge."""
    wide = None
    if _rounding(problem).exact is not None:
        stay, swap = _effects(problem)
        wide = wide_form(stay.tolist(), None if swap is None else swap.tolist())
    candidates = _costs(problem, form, wide, options)
    plan = choose(
        candidates, budget, method=options.method, where="the scores take more than 60 bits together"
    )
    if options.exact_fraction and not (candidates[0].exact and candidates[0].fits(budget)):
        listed = tuple(cost for cost in candidates if cost.exact)
        raise FractionOverBudget(_FRACTION_METHODS, listed, budget)
    return RoundedTest(options, problem, form, exact_total(problem.stay), wide, plan)


def _costs(
    problem: Additive, form: CanonicalForm, wide: WideForm | None, options: Options
) -> tuple[Cost, ...]:
    """The costs of the methods, in order of preference."""
    candidates = []
    if wide is not None:
        nanoseconds, held = wide.price()
        candidates.append(Cost("meet_in_the_middle", nanoseconds // _MET, held, float(_MET)))
        every = wide.price_of_all()
        if every is not None:
            candidates.append(Cost("enumeration", every[0] // _LISTED, every[1], float(_LISTED)))
    candidates.append(price_of_real(_real(problem, options), options, float(_BOUNDS)))
    whole = region(form, 0, "two-sided")
    candidates.append(next(c for c in costs(form, whole, options.samples) if c.method == "monte_carlo"))
    return tuple(candidates)


def _real(problem: Additive, options: Options) -> tuple[RealForm, RealRegion]:
    rounding = _rounding(problem)
    error = 0 if rounding.exact is not None else rounding.most
    return real_problem(*_effects(problem), options.alternative, absolute=problem.absolute, error=error)


def _effects(problem: Additive) -> tuple[Whole, Whole | None]:
    """The unrounded effects, if kept."""
    exact = _rounding(problem).exact
    if exact is None:
        return problem.stay, problem.swap
    return exact[0], exact[1] if len(exact) == 2 else None


def _rounding(problem: Additive) -> Rounding:
    assert problem.rounding is not None
    return problem.rounding


# Wins, ties and losses.
_SECONDS_PER_ITEM = 1e-9


@dataclass(frozen=True, slots=True)
class AdditiveTest:
    """An additive problem with its canonical form, its region and its plan.

    `tied_by` gives the mass at the observed value if the region is everything, so that p = 1 costs nothing.
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
        """The methods that may answer, in turn; `auto` brackets before it samples, and prices brackets only then."""
        samples_first = self.plan.chosen.method == "monte_carlo"
        if not samples_first:
            yield self.plan.chosen  # usually the only one, so that the others are not priced
        planned = self.plan.attempts
        yield from (cost for cost in planned[not samples_first :] if cost.method != "monte_carlo")
        if not self.plan.by_name and all(cost.method != "bounds" for cost in planned):
            bracket = before_samples(self.form, self.region, self.options, self.plan.budget)
            if bracket is not None:
                yield bracket
        yield from (cost for cost in planned if cost.method == "monte_carlo")

    def _settles(self, by: Cost, answer: Answer) -> bool:
        """Whether a bracket in place of an exact method decides about alpha."""
        return self.plan.by_name or by.method != "bounds" or decides(*answer.bounds, self.options.alpha)

    def _answer(self, by: Cost) -> Answer:
        """The unchecked answer of one method."""
        options, problem = self.options, self.problem
        if by.method == "monte_carlo":
            estimate = methods.sampled_probability(
                self.form, self.region, samples=options.samples, seed=options.seed
            )
            return sampled(estimate, self._fraction())
        if by.method == "bounds":
            bracket = methods.lattice_bracket(
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
            return certified(methods.exact_probability(by.method, self.form, self.region), self._fraction())
        ties = ties_of(self.form, self.observed, options.alternative, absolute=problem.absolute)
        tail, tied = methods.with_ties(method, self.form, self.region, ties)
        mid = mid_p(tail, tied)
        return certified(tail, self._fraction(), mid)

    def _least_log10(self) -> float:
        """log10 of the probability of the observed assignment, 2**-n; it must be in the region."""
        total, left = divmod(self.observed - self.form.offset, self.form.step)
        if left or not any(low <= total <= high for low, high in self.region.intervals):
            raise ArithmeticError("the observed sum is not among those at least as extreme")
        return -self.form.nonzero * math.log10(2.0)

    def _fraction(self) -> ExactFraction | None:
        """The exact fraction, if requested and not given by the method that runs."""
        if self.fraction_by is None:
            return None
        return certified(methods.exact_probability(self.fraction_by, self.form, self.region)).fraction


def additive_test(problem: Additive, options: Options, budget: Budget) -> AdditiveTest | RoundedTest:
    """Plan the test; raises InvalidTest and PlanTooLarge."""
    try:
        form, observed = form_and_sum(problem.stay, problem.swap)
    except LatticeOverflowError as error:
        raise InvalidTest.at(
            "", "effects_too_large", f"The data cannot be summed exactly: {error}."
        ) from error
    if options.pmf == "full":
        require_listable(form)
    if problem.rounding is not None:
        return rounded_test(problem, form, options, budget)
    tail = region(form, observed, options.alternative, absolute=problem.absolute)
    plan = methods.plan(
        form,
        tail,
        budget,
        method=options.method,
        samples=options.samples,
        precision=options.precision,
        alpha=None if options.exact_fraction else options.alpha,
    )
    fraction_by = None
    if options.exact_fraction and plan.chosen.method not in methods.FRACTION_METHODS:
        fraction_by = methods.cheapest_fraction(form, tail, budget).method
    tied_by = None
    if tail.covers(form):
        cost = methods.fft_cost(form)
        tied_by = cost if cost.fits(budget) else None
    return AdditiveTest(options, problem, form, observed, tail, plan, fraction_by, tied_by)
