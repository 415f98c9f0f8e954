"""The one entry of inference: data, statistic and options in; a record out.

Validate (reduce the data to a problem), plan (choose a method by its exact cost), run, reduce to a
record: the four steps have these names here.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.engine import planner, solve
from app.engine.lattice import CanonicalForm, LatticeOverflowError, canonical_form, exact_total
from app.engine.null import Region, region
from app.engine.planner import Budget, Cost, Plan
from app.errors import InvalidTest
from app.inference.answers import Answer, certified, sampled, smallest_attainable
from app.inference.cautions import cautions
from app.inference.digest import request_digest
from app.inference.null_record import null_record
from app.inference.options import Options
from app.inference.record import (
    Fraction2,
    ItemsRecord,
    LatticeRecord,
    MethodRecord,
    PlanAlternative,
    PlanRecord,
    StatisticRecord,
    TestRecord,
)
from app.statistics.catalogue import reduce
from app.statistics.paired import Paired, StatisticSpec
from app.statistics.problem import Additive

# Part of every id: raised whenever the same request would give other bytes.
ALGORITHM_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A test that was validated and planned, and has not run."""

    data: Paired
    spec: StatisticSpec
    options: Options
    problem: Additive
    form: CanonicalForm
    observed: int
    region: Region
    plan: Plan
    fraction_by: str | None


def run_test(data: Paired, spec: StatisticSpec, options: Options, budget: Budget) -> TestRecord:
    """Validate, plan, run and reduce one test; raises InvalidTest and PlanTooLarge."""
    return finish(prepare(data, spec, options, budget))


def prepare(data: Paired, spec: StatisticSpec, options: Options, budget: Budget) -> Prepared:
    """Validate and plan; nothing larger than the data itself is allocated."""
    problem = reduce(data, spec)
    try:
        form = canonical_form(problem.stay, problem.swap)
    except LatticeOverflowError as error:
        raise InvalidTest.at(
            "", "effects_too_large", f"The data cannot be summed exactly: {error}."
        ) from error
    observed = exact_total(problem.stay)
    tail = region(form, observed, options.alternative, absolute=problem.absolute)
    plan = planner.plan(form, tail, budget, method=options.method, samples=options.samples)
    fraction_by = None
    if options.exact_fraction and plan.chosen.method not in planner.FRACTION_METHODS:
        fraction_by = planner.cheapest_fraction(form, tail, budget).method
    return Prepared(data, spec, options, problem, form, observed, tail, plan, fraction_by)


def plan_test(data: Paired, spec: StatisticSpec, options: Options, budget: Budget) -> PlanRecord:
    """Say what `run_test` would do and cost, without doing it."""
    return plan_record(prepare(data, spec, options, budget))


def plan_record(prepared: Prepared) -> PlanRecord:
    """The plan of a prepared test."""
    chosen, plan = prepared.plan.chosen, prepared.plan
    others = tuple(
        PlanAlternative(
            cost.method, cost.exact, cost.operations, cost.bytes, cost.seconds, _against(cost, chosen)
        )
        for cost in plan.others
    )
    return PlanRecord(
        chosen.method, chosen.exact, chosen.operations, chosen.bytes, chosen.seconds, plan.reason, others
    )


def _against(cost: Cost, chosen: Cost) -> str:
    if not cost.exact:
        return "sampled: only where nothing exact fits"
    ratio = cost.seconds / chosen.seconds if chosen.exact else 0.0
    return f"about {ratio:.3g} times the cost" if ratio else "over the budget"


def finish(prepared: Prepared) -> TestRecord:
    """Run a prepared test and reduce what comes out to a record."""
    options, problem, form = prepared.options, prepared.problem, prepared.form
    answer = _run(prepared)
    method = MethodRecord(
        name=prepared.plan.chosen.method,
        exact=prepared.plan.chosen.exact,
        relative_error_bound=answer.relative_error_bound,
        reason=prepared.plan.reason,
        lattice=LatticeRecord(float(problem.unit * form.step), len(form.weights), form.range),
        monte_carlo=answer.monte_carlo,
    )
    attainable = smallest_attainable(form, options.alternative, absolute=problem.absolute)
    items = items_record(problem, form)
    return TestRecord(
        digest=request_digest(prepared.data, prepared.spec, options, ALGORITHM_VERSION),
        p_value=answer.p_value,
        log10_p_value=answer.log10_p_value,
        p_value_bounds=answer.bounds,
        p_value_bounds_kind="certified" if prepared.plan.chosen.exact else "confidence",
        p_value_fraction=answer.fraction or _fraction(prepared),
        significant=answer.p_value <= options.alpha,
        alpha=options.alpha,
        min_attainable_p=attainable,
        alternative=options.alternative,
        test=options.test,
        statistic=_statistic_record(prepared),
        items=items,
        method=method,
        null=null_record(form, problem.unit, options.pmf, absolute=problem.absolute),
        warnings=cautions(options, items, attainable, answer.bounds, exact=prepared.plan.chosen.exact),
        name_u=options.name_u,
        name_v=options.name_v,
    )


def _run(prepared: Prepared) -> Answer:
    method = prepared.plan.chosen.method
    if method == "monte_carlo":
        options = prepared.options
        return sampled(
            solve.by_sampling(prepared.form, prepared.region, samples=options.samples, seed=options.seed)
        )
    return certified(solve.exactly(method, prepared.form, prepared.region))


def _fraction(prepared: Prepared) -> Fraction2 | None:
    """The exact fraction, when it was asked for and the method that ran does not give it."""
    if prepared.fraction_by is None:
        return None
    return certified(solve.exactly(prepared.fraction_by, prepared.form, prepared.region)).fraction


def _statistic_record(prepared: Prepared) -> StatisticRecord:
    problem = prepared.problem
    total = abs(prepared.observed) if problem.absolute else prepared.observed
    return StatisticRecord(
        name=problem.name,
        observed=float(total * problem.unit),
        u=None if problem.score_u is None else float(problem.score_u),
        v=None if problem.score_v is None else float(problem.score_v),
    )


def items_record(problem: Additive, form: CanonicalForm) -> ItemsRecord:
    """Counts of items and, per swapping unit, of U's wins, ties and losses (stay against swap)."""
    other = -problem.stay if problem.swap is None else problem.swap
    wins, losses = int((problem.stay > other).sum()), int((problem.stay < other).sum())
    return ItemsRecord(
        n=problem.items,
        nonzero=form.nonzero,
        clusters=problem.clusters,
        wins=wins,
        ties=len(problem.stay) - wins - losses,
        losses=losses,
    )
