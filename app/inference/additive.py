"""The test of one additive statistic: one sum on a line."""

from __future__ import annotations

from dataclasses import dataclass

from app.engine import additive_planner, solve
from app.engine.lattice import CanonicalForm, LatticeOverflowError, canonical_form, exact_total
from app.engine.null import Probability, Region, region
from app.engine.planner import Budget, Plan
from app.errors import InvalidTest
from app.inference.answers import Answer, bracketed, certified, sampled, smallest_attainable
from app.inference.null_record import null_record, null_seconds, require_listable
from app.inference.options import Options
from app.inference.record import Fraction2, ItemsRecord, LatticeRecord, StatisticRecord
from app.inference.rounded import RoundedTest, rounded_test
from app.inference.solvable import Findings
from app.statistics.problem import Additive

# Wins, ties and losses.
_SECONDS_PER_ITEM = 1e-9
# A certificate worse than this is no answer: the next method is asked.
PROVEN = 1e-6


@dataclass(frozen=True, slots=True)
class AdditiveTest:
    """An additive problem with its canonical form, its region and its plan."""

    options: Options
    problem: Additive
    form: CanonicalForm
    observed: int
    region: Region
    plan: Plan
    fraction_by: str | None
    budget: Budget

    @property
    def seconds(self) -> float:
        """Predicted time: the p-value, the fraction beside it, and the null distribution."""
        beside = sum(cost.seconds for cost in self.plan.others if cost.method == self.fraction_by)
        pictured = null_seconds(self.form, self.options.pmf)
        return self.plan.chosen.seconds + beside + pictured + _SECONDS_PER_ITEM * self.problem.items

    def solve(self) -> Findings:
        """Run the planned method and summarise the null."""
        options, problem, form = self.options, self.problem, self.form
        method, answer = self._answer()
        return Findings(
            answer=answer,
            method=method,
            lattice=LatticeRecord(float(problem.unit * form.step), len(form.weights), form.range),
            attainable=smallest_attainable(form, options.alternative, absolute=problem.absolute),
            items=items_record(problem, form),
            statistic=self._statistic(),
            null=null_record(form, problem.unit, options.pmf, absolute=problem.absolute),
        )

    def _answer(self) -> tuple[str, Answer]:
        """The method that gave the answer, and the answer."""
        method, options = self.plan.chosen.method, self.options
        if method == "monte_carlo":
            found = solve.by_sampling(self.form, self.region, samples=options.samples, seed=options.seed)
            return method, sampled(found, self._fraction())
        if method == "bounds":
            bracket = solve.in_bounds(self.form, self.region, options.precision)
            return method, bracketed(bracket, self._fraction())
        method, probability = self._certain()
        return method, certified(probability, self._fraction())

    def _certain(self) -> tuple[str, Probability]:
        """The planned exact method; the next one that fits where its certificate proves too little."""
        methods = [self.plan.chosen.method]
        if self.options.method == "auto":
            methods += [cost.method for cost in self.plan.others if cost.exact and cost.fits(self.budget)]
        for method in methods:
            found = solve.exactly(method, self.form, self.region)
            if found.relative_error_bound <= PROVEN:
                return method, found
        raise InvalidTest.at(
            "/method",
            "not_certified",
            f"The method {methods[-1]} cannot prove its answer here, and no other exact one fits the budget: use "
            "rational or monte_carlo, or raise the budget.",
        )

    def _fraction(self) -> Fraction2 | None:
        """The exact fraction, when it was asked for and the method that runs does not give it."""
        if self.fraction_by is None:
            return None
        return certified(solve.exactly(self.fraction_by, self.form, self.region)).fraction

    def _statistic(self) -> StatisticRecord:
        problem = self.problem
        total = abs(self.observed) if problem.absolute else self.observed
        return StatisticRecord(
            name=problem.name,
            observed=float(total * problem.unit),
            u=None if problem.score_u is None else float(problem.score_u),
            v=None if problem.score_v is None else float(problem.score_v),
        )


def additive_test(problem: Additive, options: Options, budget: Budget) -> AdditiveTest | RoundedTest:
    """Plan the test; raises InvalidTest and PlanTooLarge."""
    try:
        form = canonical_form(problem.stay, problem.swap)
    except LatticeOverflowError as error:
        raise InvalidTest.at(
            "", "effects_too_large", f"The data cannot be summed exactly: {error}."
        ) from error
    require_listable(form, options.pmf)
    if problem.rounding is not None:
        return rounded_test(problem, form, options, budget)
    observed = exact_total(problem.stay)
    tail = region(form, observed, options.alternative, absolute=problem.absolute)
    plan = additive_planner.plan(
        form, tail, budget, method=options.method, samples=options.samples, precision=options.precision
    )
    fraction_by = None
    if options.exact_fraction and plan.chosen.method not in additive_planner.FRACTION_METHODS:
        fraction_by = additive_planner.cheapest_fraction(form, tail, budget).method
    return AdditiveTest(options, problem, form, observed, tail, plan, fraction_by, budget)


def items_record(problem: Additive, form: CanonicalForm) -> ItemsRecord:
    """Counts of items and, per swapping unit, of U's wins, ties and losses (stay against swap)."""
    other = 0 if problem.swap is None else problem.swap  # without a swap effect it is -stay
    wins, losses = int((problem.stay > other).sum()), int((problem.stay < other).sum())
    return ItemsRecord(
        n=problem.items,
        nonzero=form.nonzero,
        clusters=problem.clusters,
        wins=wins,
        ties=len(problem.stay) - wins - losses,
        losses=losses,
    )
