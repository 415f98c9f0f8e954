"""The one entry of inference: data, statistic and options in; a record out.

Validate (reduce the data to a problem), plan (choose a method by its exact cost), run, reduce to a
record: the four steps have these names here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.engine.planner import Budget, Cost, Plan
from app.inference.additive import additive_test
from app.inference.cautions import cautions
from app.inference.digest import request_digest
from app.inference.joint import joint_test
from app.inference.options import Options
from app.inference.record import ItemLevel, MethodRecord, PlanAlternative, PlanRecord, TestRecord
from app.inference.resampled import bootstrap_test
from app.inference.solvable import Solvable
from app.statistics.catalogue import reduce
from app.statistics.joint import Joint
from app.statistics.paired import Paired, StatisticSpec

# Part of every id: raised whenever the same request would give other bytes.
ALGORITHM_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A test that was validated and planned, and has not run."""

    data: Paired
    spec: StatisticSpec
    options: Options
    solvable: Solvable
    item_level: Solvable | None = None

    @property
    def seconds(self) -> float:
        """Predicted engine time of the whole answer."""
        return self.solvable.seconds + (self.item_level.seconds if self.item_level else 0.0)


def run_test(data: Paired, spec: StatisticSpec, options: Options, budget: Budget) -> TestRecord:
    """Validate, plan, run and reduce one test; raises InvalidTest and PlanTooLarge."""
    return finish(prepare(data, spec, options, budget))


def prepare(data: Paired, spec: StatisticSpec, options: Options, budget: Budget) -> Prepared:
    """Validate and plan; nothing larger than the data itself is allocated."""
    item_level = None
    if data.pairing.clusters is not None:
        alone = replace(options, method="auto", pmf="none", exact_fraction=False, confidence_level=None)
        item_level = _solvable(
            replace(data, pairing=replace(data.pairing, clusters=None)), spec, alone, budget
        )
    return Prepared(data, spec, options, _solvable(data, spec, options, budget), item_level)


def _solvable(data: Paired, spec: StatisticSpec, options: Options, budget: Budget) -> Solvable:
    problem = reduce(data, spec)
    if options.test == "bootstrap":
        return bootstrap_test(problem, options, budget)
    if isinstance(problem, Joint):
        return joint_test(problem, options, budget)
    return additive_test(problem, options, budget)


def plan_test(data: Paired, spec: StatisticSpec, options: Options, budget: Budget) -> PlanRecord:
    """Say what `run_test` would do and cost, without doing it."""
    return plan_record(prepare(data, spec, options, budget))


def plan_record(prepared: Prepared) -> PlanRecord:
    """The plan of a prepared test."""
    plan = prepared.solvable.plan
    chosen = plan.chosen
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
    options, plan = prepared.options, prepared.solvable.plan
    found = prepared.solvable.solve()
    answer, exact = found.answer, plan.chosen.exact
    item_level = _item_level(prepared)
    return TestRecord(
        digest=request_digest(prepared.data, prepared.spec, options, ALGORITHM_VERSION),
        p_value=answer.p_value,
        log10_p_value=answer.log10_p_value,
        p_value_bounds=answer.bounds,
        p_value_bounds_kind="confidence" if answer.monte_carlo else "certified",
        p_value_fraction=answer.fraction,
        significant=answer.p_value <= options.alpha,
        alpha=options.alpha,
        min_attainable_p=found.attainable,
        alternative=options.alternative,
        test=options.test,
        statistic=found.statistic,
        items=found.items,
        method=MethodRecord(
            name=found.method or plan.chosen.method,
            exact=exact,
            relative_error_bound=answer.relative_error_bound,
            reason=_reason(plan, found.method),
            lattice=found.lattice,
            monte_carlo=answer.monte_carlo,
        ),
        null=found.null,
        warnings=cautions(options, found, item_level, exact=exact),
        name_u=options.name_u,
        name_v=options.name_v,
        item_level=item_level,
    )


def _reason(plan: Plan, method: str | None) -> str:
    if method in {None, plan.chosen.method}:
        return plan.reason
    return f"{plan.chosen.method} was planned, but its certificate proved too little here"


def _item_level(prepared: Prepared) -> ItemLevel | None:
    """What the test would say if the items of a cluster were independent."""
    if prepared.item_level is None:
        return None
    answer, chosen = prepared.item_level.solve().answer, prepared.item_level.plan.chosen
    return ItemLevel(answer.p_value, answer.log10_p_value, chosen.method, chosen.exact)
