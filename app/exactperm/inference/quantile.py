"""The test of a difference of medians or quantiles."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..answers.test import ExactFraction, LatticeRecord, NullRecord
from ..engine.lattice import Reals, Whole
from ..engine.plan import Budget, Cost, Plan
from ..engine.probability import SMALLEST
from ..engine.quantiles import methods, planner, swaps
from ..engine.quantiles.form import Profile, QuantileForm, profile, quantile_form, swapping
from ..errors import InvalidTest
from ..statistics.scores import Quantiles, quantile_signs
from .certificate import Answer, Result, certified, certified_by, sampled
from .options import Options
from .record import items_record, sampled_null_record, statistic_record

# Sorting, thresholds, wins, ties and losses.
_SECONDS_PER_ITEM = 3e-6
# All swaps of so many units are listed for the null distribution; else so many are drawn, in about this time.
_LISTED_UNITS = 10
_MOST_LISTED = 1 << 20  # values
_MOST_DRAWN, _LEAST_DRAWN, _LOOK_S = 4096, 64, 0.1
_SECONDS_PER_VALUE = 4.2e-8
_SAMPLED = (
    "The moments and the picture of the null distribution were sampled, and its range unless "
    "`null.range_exact`; `method` refers to the p-value."
)


@dataclass(frozen=True, slots=True)
class QuantileTest:
    """A difference of quantiles with its plan; `known` are the possible counts of values."""

    options: Options
    problem: Quantiles
    form: QuantileForm
    known: Profile
    plan: Plan
    nonzero: int
    fraction_by: Cost | None = None

    @property
    def observed(self) -> int:
        """t as observed, in parts of the values' unit."""
        return self.form.observed

    @property
    def seconds(self) -> float:
        """Predicted time: the p-value, its fraction, and the null distribution."""
        fraction = 0.0 if self.fraction_by is None else self.fraction_by.seconds
        looked = 1 << self.nonzero if self._listed else self._drawn
        if self._all_listed and not self._largest_is_a_quadrant:
            looked += 2 << self.nonzero
        each = _SECONDS_PER_VALUE * looked + _SECONDS_PER_ITEM
        return self.plan.chosen.seconds + fraction + each * self.problem.items

    @property
    def _listed(self) -> bool:
        return self.nonzero <= _LISTED_UNITS

    @property
    def _drawn(self) -> int:
        affordable = int(_LOOK_S / (_SECONDS_PER_VALUE * self.problem.items))
        return min(max(affordable, _LEAST_DRAWN), _MOST_DRAWN)

    def solve(self) -> Result:
        """Run the planned method and summarise the null."""
        drawn: list[Whole] = []
        least = -self.nonzero * math.log10(2.0)
        by, answer = certified_by(
            self.plan.attempts, lambda cost: self._answer(cost, drawn), least_log10=least
        )
        problem, signs = self.problem, quantile_signs(self.problem)
        return Result(
            answer=answer,
            by=by,
            lattice=LatticeRecord(
                self._part, len(self.form.values), int(self.form.values[-1] - self.form.values[0])
            ),
            attainable_between=self._attainable_between(),
            items=items_record(problem, signs, None, self.nonzero),
            statistic=statistic_record(problem, float(problem.score_u - problem.score_v)),
            null=self._null(drawn),
            warnings=() if self._listed else (("null_sampled", _SAMPLED),),
        )

    def _answer(self, by: Cost, drawn: list[Whole]) -> Answer:
        """The answer of one method, not checked yet; to `drawn` it adds the statistic's values in samples, if any."""
        options, form = self.options, self.form
        if by.method != "monte_carlo":
            probability = methods.exact_probability(by.method, form, self.known, options.alternative)
            return certified(probability, self._fraction())
        estimate, values = swaps.sampled(
            form, options.alternative, samples=options.samples, seed=options.seed, kept=_MOST_DRAWN
        )
        drawn.append(values)
        return sampled(estimate, self._fraction())

    def _fraction(self) -> ExactFraction | None:
        """The exact fraction, if requested and not given by the method that runs."""
        if self.fraction_by is None:
            return None
        by = self.fraction_by.method
        return certified(
            methods.exact_probability(by, self.form, self.known, self.options.alternative)
        ).fraction

    def _null(self, drawn: list[Whole]) -> NullRecord:
        if self._listed:
            values = np.concatenate(list(swaps.every(self.form)))
        elif drawn:
            values = drawn[-1]
        else:
            values = np.concatenate(list(swaps.draws(self.form, self._drawn, self.options.seed)))
        scaled = self._in_units(values)
        record = sampled_null_record(scaled, np.ones(len(scaled)), self.options.pmf, symmetric=True)
        if self._listed:
            return record
        if self.form.alone:
            largest = methods.greatest(self.form)
        elif self._all_listed:
            largest = max(int(values.max()) for values in swaps.every(self.form))
        else:
            return replace(record, range_exact=False)
        most = float(largest * self.problem.unit / self.form.share.denominator)
        return replace(record, min=-most, max=most)

    @property
    def _part(self) -> float:
        return float(self.problem.unit / self.form.share.denominator)

    def _in_units(self, values: Whole) -> Reals:
        top, bottom = self.problem.unit.numerator, self.problem.unit.denominator * self.form.share.denominator
        # Integers divide with one rounding; a few distinct values are many.
        distinct, where = np.unique(values, return_inverse=True)
        return np.array([value * top / bottom for value in distinct.tolist()])[where.reshape(-1)]

    @property
    def knows_attainable(self) -> bool:
        """Whether the least p-value of any outcome is known."""
        return self._all_listed or self._largest_is_a_quadrant

    @property
    def _largest_is_a_quadrant(self) -> bool:
        return self.form.alone and not self.form.share

    @property
    def _all_listed(self) -> bool:
        """Whether all swaps are so few that they are tried for this alone."""
        return self.nonzero <= _LISTED_UNITS or (self.problem.items << self.nonzero) <= _MOST_LISTED

    def _attainable_between(self) -> tuple[float, float]:
        """Bounds of the least p-value of any outcome, that of the largest t: equal where it is known."""
        if self.nonzero == 0:
            return 1.0, 1.0
        both = self.options.alternative == "two-sided"
        least = methods.attainable(self.form, self.known)
        if least is None and self._all_listed:
            least = swaps.most_extreme(self.form)
        if least is None:
            return max(math.ldexp(1.0, int(both) - self.nonzero), SMALLEST), 1.0
        # t is symmetric about zero, so that both ends are as far out; where all t are 0 they are one.
        known = min(max(least.p * (2 if both else 1), SMALLEST), 1.0) if least.log_p < 0.0 else 1.0
        return known, known


def quantile_test(problem: Quantiles, options: Options, budget: Budget) -> QuantileTest:
    """Plan the test; raises InvalidTest and PlanTooLarge."""
    units = problem.items if problem.codes is None else problem.clusters or 0
    form = quantile_form(problem.u, problem.v, problem.codes, units, problem.place, problem.share)
    known = profile(form)
    plan = planner.plan(
        form,
        known,
        options.alternative,
        budget,
        method=options.method,
        samples=options.samples,
        where=_place(problem),
    )
    fraction_by = None
    if options.exact_fraction and plan.chosen.method not in planner.FRACTION_METHODS:
        candidates = planner.costs(form, known, options.alternative, options.samples)
        fraction_by = planner.cheapest_fraction(candidates, budget)
    return QuantileTest(options, problem, form, known, plan, len(swapping(form)), fraction_by)


def _place(problem: Quantiles) -> str:
    """Which order statistic is compared, in words."""
    between = f" and {float(problem.share):.4g} of the way to the next" if problem.share else ""
    return f"value {problem.place:,} of {problem.items:,} in order{between} ({problem.interpolation})"


def refuse_bootstrap(problem: Quantiles) -> InvalidTest:
    """The bootstrap of an order statistic has few values, and is not offered."""
    detail = (
        f"{problem.name} has no bootstrap here: resamples of an order statistic take few values, and its law is known only "
        "roughly from them. Use the permutation test, or the mean."
    )
    return InvalidTest.at("/test", "not_bootstrapped", detail)
