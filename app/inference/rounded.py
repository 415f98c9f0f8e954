"""The test of a sum that no 64 bits hold: exact where it is small, else certified for the numbers as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.engine import bounds, monte_carlo, wide_sums
from app.engine.bounds_price import steps_and_bytes
from app.engine.lattice import CanonicalForm, Whole, exact_total
from app.engine.null import Region, region
from app.engine.planner import Budget, Cost, Plan, costs
from app.engine.real_form import RealForm, RealRegion
from app.engine.rounded_form import real_problem
from app.engine.wide_sums import WideForm, wide_form
from app.errors import Flaw, InvalidTest, PlanTooLarge
from app.inference.answers import Answer, bracketed, certified, sampled, smallest_attainable
from app.inference.null_record import null_record, null_seconds
from app.inference.options import Options
from app.inference.record import ItemsRecord, LatticeRecord, StatisticRecord
from app.inference.solvable import Findings
from app.statistics.problem import Additive, Rounding

# Nanoseconds per operation, as the planner has them.
_MET = 12
_METHODS = ("meet_in_the_middle", "bounds", "monte_carlo")


@dataclass(frozen=True, slots=True)
class RoundedTest:
    """An additive problem whose `form` is rounded to 60 bits, and whose answer is not.

    `wide` is the sum in exact integers, None where it is of too many doubles to be kept.
    """

    options: Options
    problem: Additive
    form: CanonicalForm
    observed: int
    wide: WideForm | None
    plan: Plan

    @property
    def seconds(self) -> float:
        """Predicted time."""
        return self.plan.chosen.seconds + null_seconds(self.form, self.options.pmf)

    def solve(self) -> Findings:
        """Run the planned method and summarise the null."""
        options, problem, form = self.options, self.problem, self.form
        cautions: tuple[tuple[str, str], ...] = ()
        if self.plan.chosen.method != "meet_in_the_middle":
            cautions = (("scores_rounded", _ROUNDED),)
        return Findings(
            answer=self._answer(),
            lattice=LatticeRecord(float(problem.unit * form.step), len(form.weights), form.range),
            attainable=smallest_attainable(form, options.alternative, absolute=problem.absolute),
            items=self._items(),
            statistic=self._statistic(),
            null=null_record(form, problem.unit, options.pmf, absolute=problem.absolute),
            cautions=cautions,
        )

    def _answer(self) -> Answer:
        options, problem = self.options, self.problem
        method = self.plan.chosen.method
        if method == "meet_in_the_middle":
            assert self.wide is not None
            return certified(wide_sums.probability(self.wide, options.alternative, absolute=problem.absolute))
        if method == "bounds":
            return bracketed(bounds.bracket(*_real(problem, options), precision=options.precision))
        return self._sampled()

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

    def _items(self) -> ItemsRecord:
        problem = self.problem
        stay, swap = _effects(problem)
        other = 0 if swap is None else swap  # without a swap effect it is -stay
        wins, losses = int((stay > other).sum()), int((stay < other).sum())
        ties = len(stay) - wins - losses
        return ItemsRecord(problem.items, wins + losses, problem.clusters, wins, ties, losses)

    def _statistic(self) -> StatisticRecord:
        problem, rounding = self.problem, _rounding(self.problem)
        total = self.observed * problem.unit
        if self.wide is not None:
            total = self.wide.observed * rounding.exact_unit
        return StatisticRecord(
            name=problem.name,
            observed=float(abs(total) if problem.absolute else total),
            u=None if problem.score_u is None else float(problem.score_u),
            v=None if problem.score_v is None else float(problem.score_v),
        )


_ROUNDED = (
    "The scores take more than 60 bits together. p_value_bounds hold for the scores as they are; the null "
    "distribution beside them is of scores rounded to 60 bits. Fewer digits (`decimals`) are taken exactly."
)


def rounded_test(problem: Additive, form: CanonicalForm, options: Options, budget: Budget) -> RoundedTest:
    """Plan the test; raises InvalidTest and PlanTooLarge."""
    wide = None
    if _rounding(problem).exact is not None:
        stay, swap = _effects(problem)
        wide = wide_form(stay.tolist(), None if swap is None else swap.tolist())
    observed = exact_total(problem.stay)
    plan = _plan(_costs(problem, form, wide, options), wide, options, budget)
    return RoundedTest(options, problem, form, observed, wide, plan)


def _costs(
    problem: Additive, form: CanonicalForm, wide: WideForm | None, options: Options
) -> tuple[Cost, ...]:
    """What the methods would cost, in the order in which they are preferred."""
    found = []
    if wide is not None:
        nanoseconds, held = wide.price()
        found.append(Cost("meet_in_the_middle", nanoseconds // _MET, held))
    found.append(Cost("bounds", *steps_and_bytes(*_real(problem, options), options.precision)))
    whole = region(form, 0, "two-sided")
    found.append(next(c for c in costs(form, whole, options.samples) if c.method == "monte_carlo"))
    return tuple(found)


def _plan(candidates: tuple[Cost, ...], wide: WideForm | None, options: Options, budget: Budget) -> Plan:
    fitting = [cost for cost in candidates if cost.fits(budget)]
    pointer = "/samples"
    if options.exact_fraction:
        fitting = [cost for cost in fitting if cost.method == "meet_in_the_middle"]
        pointer = "/exact_fraction"
    if options.method != "auto":
        if options.method not in _METHODS or (options.method == "meet_in_the_middle" and wide is None):
            detail = (
                f"The scores take more than 60 bits together, and {options.method} does not apply: use auto, or "
                "fewer digits (`decimals`)."
            )
            raise InvalidTest.at("/method", "method_not_applicable", detail)
        fitting = [cost for cost in fitting if cost.method == options.method]
        pointer = "/method"
    if not fitting:
        cost = next((cost for cost in candidates if cost.method == options.method), candidates[0])
        detail = (
            f"{cost.method} is planned at {cost.operations} operations and {cost.bytes} bytes; "
            f"{budget.operations} and {budget.bytes} are allowed."
        )
        raise PlanTooLarge(detail, flaws=(Flaw(pointer, "plan_too_large", detail),))
    chosen = fitting[0]
    reason = "asked for" if options.method != "auto" else _WHY[chosen.method]
    return Plan(chosen, reason, tuple(cost for cost in candidates if cost is not chosen))


_WHY = {
    "meet_in_the_middle": "the only exact method for scores of more than 60 bits together",
    "bounds": "the scores take more than 60 bits together, and are too many to be listed: a rigorous bracket",
    "monte_carlo": "the scores take more than 60 bits together, and a bracket does not fit the budget: sampled",
}


def _real(problem: Additive, options: Options) -> tuple[RealForm, RealRegion]:
    rounding = _rounding(problem)
    error = 0 if rounding.exact is not None else rounding.most
    return real_problem(*_effects(problem), options.alternative, absolute=problem.absolute, error=error)


def _effects(problem: Additive) -> tuple[Whole, Whole | None]:
    """The effects as they are, where they are kept."""
    exact = _rounding(problem).exact
    if exact is None:
        return problem.stay, problem.swap
    return exact[0], exact[1] if len(exact) == 2 else None


def _rounding(problem: Additive) -> Rounding:
    assert problem.rounding is not None
    return problem.rounding
