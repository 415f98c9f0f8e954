"""The entry of inference: data, statistic and options in; a record out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal, Protocol, cast

from ..answers.plan import PlannedMethod, PlanRecord
from ..answers.test import (
    CorrectionRecord,
    EffectSize,
    Exchange,
    ItemLevel,
    ItemsRecord,
    MethodRecord,
    MissingRecord,
    Moved,
    NamesRecord,
    NullRecord,
    PairingRecord,
    PositionBiasRecord,
    RepeatsAdvice,
    RepeatsRecord,
    SpreadRecord,
    StatisticRecord,
    TestRecord,
    WarningRecord,
)
from ..engine.plan import (
    Budget,
    Cost,
    EngineError,
    FractionOverBudget,
    MethodDoesNotApply,
    NothingFits,
    OverBudget,
    Plan,
    TooManySteps,
)
from ..errors import Flaw, InvalidTest, PlanTooLarge
from ..presentation.numbers import p_number
from ..statistics.columns import filled, in_order_of_ids, k_of, missing_outcomes, require_bounded
from ..statistics.corpus import counted, counting_seconds
from ..statistics.correction import correction_seconds
from ..statistics.effects import Additive, Joint
from ..statistics.paired import (
    DataWarning,
    Paired,
    Pairing,
    Repeated,
    Scores,
    Segments,
    StatisticSpec,
    Systems,
)
from ..statistics.pairwise.correlation import Correlation
from ..statistics.pairwise.data import reduction_seconds
from ..statistics.reducers import Problem, reduce
from ..statistics.run_variance import DifferenceVariance, Spread, difference_variance, spread_of
from ..statistics.runs import Runs
from ..statistics.scores import Quantiles
from .additive import AdditiveTest, additive_test
from .bootstrap import bootstrap_test, refuse_pairs
from .certificate import PlannedTest, Result, mid_p_value, require, significant
from .correlation import correlation_test
from .intervals import IntervalResult, Inversion, PlannedInterval, interval_of, level_of, planned_interval
from .joint import JointTest, joint_test
from .options import Options, members, request_digest
from .quantile import quantile_test, refuse_bootstrap
from .record import differences_of, effect_size, holding, item_scores_of, most_moved
from .runs import GENERALISES_TO, BothTest, runs_test
from .sensitivity import PlannedSensitivity, SensitivityQuestion, planned_sensitivity
from .sequential import SequentialTest, runs_sequential_test, sequential_test
from .several_systems import systems_test
from .slices import PlannedSlices, SliceTest, planned_slices, refuse_for_slices
from .warnings import Dust, data_warnings, planned_dust, warnings_of

# The engine's errors as errors of a request: with a pointer to the field at fault, and advice


class engine_errors:  # noqa: N801  (used as contextlib's are)
    """Raise InvalidTest or PlanTooLarge where the engine refuses to plan."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, EngineError):
            raise request_error(error) from error


def request_error(error: EngineError) -> InvalidTest | PlanTooLarge:
    """The request's error for one of the engine's."""
    match error:
        case MethodDoesNotApply():
            names = ", ".join(error.applicable)
            detail = f"The method {error.method} does not apply to this test: use auto or one of {names}."
            return InvalidTest.at("/method", "method_not_applicable", detail)
        case OverBudget():
            planned = _planned(error.cost, error.budget)
            return _too_large("/method", f"{planned} {_fitting(error.fitting)}")
        case TooManySteps():
            return _too_large("/method", f"{error.reason} {_fitting(error.fitting)}")
        case NothingFits():
            # The last resort is sampling, whose cost grows with the number of samples.
            planned = _planned(error.cost, error.budget)
            advice = "Ask for fewer samples, or give fewer items."
            return _too_large("/samples", f"No method fits: {planned} {advice}")
        case FractionOverBudget():
            return _too_large("/exact_fraction", _no_fraction(error))
    raise TypeError(f"{type(error).__name__} is no error of a request")


def _too_large(pointer: str, detail: str) -> PlanTooLarge:
    return PlanTooLarge(detail, flaws=(Flaw(pointer, "plan_too_large", detail),))


def _planned(cost: Cost, budget: Budget) -> str:
    """A sentence with the four deciding numbers."""
    return (
        f"{cost.method} is planned at {cost.operations} operations and {cost.bytes} bytes; "
        f"{budget.operations} and {budget.bytes} are allowed."
    )


def _fitting(names: tuple[str, ...]) -> str:
    return f"{', '.join(names)} would fit." if names else "No other method would fit."


def _no_fraction(error: FractionOverBudget) -> str:
    budget = error.budget
    needs = " and ".join(
        f"{cost.method} ({cost.operations} operations, {cost.bytes} bytes)" for cost in error.costs
    )
    return (
        f"Only {' or '.join(error.methods)} gives an exact fraction: {needs or 'each of them'} would go "
        f"over the budget of {budget.operations} operations and {budget.bytes} bytes. Leave "
        "`exact_fraction` out."
    )


# The test of data with missing outcomes: complete items, and the fillings that are worst and best for U


@dataclass(frozen=True, slots=True)
class Fillings:
    """The planned tests of the two fillings, and how many outcomes are missing."""

    n: int
    worst: PlannedTest
    best: PlannedTest

    @property
    def seconds(self) -> float:
        """Predicted time of both."""
        return self.worst.seconds + self.best.seconds

    def solve(self, options: Options) -> tuple[MissingRecord, bool]:
        """The bounds, and whether p is at most alpha under every filling."""
        results = solved(self.worst), solved(self.best)
        differences = tuple(result.statistic.observed for result in results)
        lows, highs = zip(*(_ends(result) for result in results), strict=True)
        certain = all(significant(result.answer, options.alpha, options.significance) for result in results)
        low, high = min(lows), max(highs)
        if options.alternative == "two-sided" and differences[0] < 0.0 < differences[1]:
            high, certain = 1.0, False
        return MissingRecord(self.n, (differences[0], differences[1]), (low, high)), certain


def solved(test: Chosen) -> Result:
    """Run a test; only certified results are returned."""
    result = test.solve()
    require(result.answer, exact=result.exact, attainable=result.attainable_between[0])
    return result


def _ends(result: Result) -> tuple[float, float]:
    """The p-value twice where it is exact, else its bounds."""
    p = result.answer.p_value
    return (p, p) if result.exact else result.answer.bounds


def planned_fillings(data: Scores, spec: StatisticSpec, options: Options, budget: Budget) -> Fillings:
    """Plan both tests of data with missing outcomes. Raises InvalidTest if there are no bounds."""
    if options.test == "bootstrap":
        detail = "Missing outcomes have bounds in the permutation test: leave `test` out, or set `on_missing=drop`."
        raise InvalidTest.at("/on_missing", "no_missing_bounds", detail)
    if options.exchange != "items":
        detail = "Missing outcomes have bounds when items are exchanged: leave exchange out, or set `on_missing=drop`."
        raise InvalidTest.at("/on_missing", "no_missing_bounds", detail)
    require_bounded(data, spec)
    sides = filled(data, best=False), filled(data, best=True)
    worst, best = (planned_test(side, spec, options.alone(), budget) for side in sides)
    return Fillings(missing_outcomes(data), worst, best)


def missing_warning(missing: MissingRecord, complete: int, alpha: float) -> WarningRecord:
    """The warning that the p-value does not cover all items."""
    low, high = missing.p_value
    detail = (
        f"{missing.n:,} outcomes are missing: everything except `missing` is for the {complete:,} items "
        f"that both systems have. Whatever the missing outcomes are, p lies in [{p_number(low, alpha)}, "
        f"{p_number(high, alpha)}], and `significant` holds for all of it."
    )
    return WarningRecord("missing_outcomes", detail)


# Parts of the record of a test that are read off its data, its problem and its plan


def pairing_record(pairing: Pairing) -> PairingRecord | None:
    """The numbers of ids; None when items were paired by their order."""
    if pairing.matched is None:
        return None
    return PairingRecord(pairing.matched, pairing.only_u, pairing.only_v)


def repeats_record(
    data: Paired, spec: StatisticSpec, problem: Problem | Runs | None = None
) -> RepeatsRecord | None:
    """How repeated samples vary, None where no item has any; with advice where a `problem` exchanged their means or runs."""
    if not isinstance(data, Scores) or not (isinstance(data.u, Repeated) or isinstance(data.v, Repeated)):
        return None
    spreads = spread_of(data.u), spread_of(data.v)
    u, v = (None if spread is None else _spread_record(spread) for spread in spreads)
    parts = variance_of_difference(data, spec, problem, spreads)
    advice = None if parts is None else _advice(parts, fixed=isinstance(problem, Runs))
    return RepeatsRecord(spec.parameters.get("repeats") or "mean", u, v, k_of(spec), advice)


def variance_of_difference(
    data: Paired,
    spec: StatisticSpec,
    problem: Problem | Runs | None,
    spreads: tuple[Spread | None, Spread | None] | None = None,
) -> DifferenceVariance | None:
    """The variance of a mean difference, of fixed items if only runs are exchanged; None without runs of both systems."""
    if not isinstance(data, Scores) or not isinstance(problem, Runs | Additive):
        return None
    # The shares of a battle add up to 1: its models' runs are not independent.
    plain = all(
        each is None for each in (data.weights, data.correction, data.pairing.clusters, data.positions)
    )
    parameters = spec.parameters
    if (
        not plain
        or spec.name != "mean_difference"
        or "average" in parameters
        or (parameters.get("repeats") or "mean") != "mean"
    ):
        return None
    spreads = spreads or (spread_of(data.u), spread_of(data.v))
    return difference_variance(data, spreads, None if isinstance(problem, Runs) else problem)


def _spread_record(spread: Spread) -> SpreadRecord:
    numbers = spread.within, spread.flips, spread.between, spread.icc
    return SpreadRecord(spread.samples, *map(_double, numbers))


def _double(value: Fraction | None) -> float | None:
    """The nearest double; None beyond all doubles."""
    try:
        return None if value is None else float(value)
    except OverflowError:
        return None


# More items or more runs are worth it if the standard error becomes smaller by this factor.
_CLEARLY = 1.1


def _advice(parts: DifferenceVariance, *, fixed: bool) -> RepeatsAdvice | None:
    """The standard error of the mean difference; `fixed` items can only have more runs."""
    try:
        now, items, runs = parts.error(), parts.error(items=2), parts.error(runs=2)
    except OverflowError:
        return None
    say: Literal["items", "runs", "either"] = "items" if runs > _CLEARLY * items else "either"
    return RepeatsAdvice(now, items, runs, "runs" if fixed else say)


def correction_record(problem: Problem | Runs) -> CorrectionRecord | None:
    """How the difference was corrected; None where it is as it was."""
    made = problem.corrected if isinstance(problem, Additive) else None
    if made is None:
        return None
    chosen, raw = {name: float(value) for name, value in made.coefficients.items()}, float(made.raw)
    if made.of_labels is None:
        return CorrectionRecord("covariates", coefficients=chosen, difference=raw)
    return CorrectionRecord("labels", chosen["lambda"], made.labelled, raw, float(made.of_labels))


def of_data(
    data: Paired, spec: StatisticSpec, options: Options, problem: Problem | Runs | None = None
) -> dict[str, Any]:
    """What a record says of its data: what was exchanged, how items were paired, and how repeated samples vary."""
    exchange = exchange_of(data, options)
    return {
        "exchange": exchange,
        "generalises_to": None if exchange is None else GENERALISES_TO[exchange],
        "pairing": pairing_record(data.pairing),
        "repeats": repeats_record(data, spec, None if exchange is None else problem),
    }


def items_of_u(items: ItemsRecord, options: Options) -> ItemsRecord:
    """Wins are U's: with less of the statistic where lower is better."""
    if options.higher_is_better is not False:
        return items
    return replace(items, wins=items.losses, losses=items.wins)


def measured(statistic: StatisticRecord, options: Options) -> StatisticRecord:
    """The statistic with its options."""
    if options.metric is None and options.higher_is_better is None:
        return statistic
    return replace(statistic, metric=options.metric, higher_is_better=options.higher_is_better)


def reason_of(plan: Plan, by: Cost) -> str:
    """Why this method answered: as planned, or because the planned one could not."""
    if by.method == plan.chosen.method:
        return plan.reason
    if plan.chosen.method == "bounds" and by.exact:
        return f"alpha lies inside the bracket that was planned: {by.method}"
    if plan.chosen.method == "bounds" and by.method == "monte_carlo":
        return "the planned bracket turned out less informative than samples: monte_carlo, sampled"
    kind = "" if by.exact else ", a rigorous bracket" if by.method == "bounds" else ", sampled"
    return f"{plan.chosen.method} was planned, but could not prove its answer here: {by.method}{kind}"


# Part of every id: raised when the same request can get a different number; a new field alone does not raise it.
ALGORITHM_VERSION = "3"

# Effect sizes sort the scores.
_SECONDS_PER_ITEM = 5e-7
# The p-value by item stands beside that of clusters and decides nothing: an exact method may take so long for it.
_ASIDE_S = 1.0


Planned = (
    PlannedTest | PlannedInterval | Dust | Fillings | PlannedSensitivity | SequentialTest | PlannedSlices
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A validated and planned test, before its run."""

    data: Paired
    spec: StatisticSpec
    options: Options
    test: PlannedTest
    item_level: PlannedTest | None = None
    interval: PlannedInterval | None = None
    data_warnings: tuple[DataWarning, ...] = ()
    dust: Dust | None = None
    fillings: Fillings | None = None
    counting: float = 0.0
    sensitivity: PlannedSensitivity | None = None
    sequential: SequentialTest | None = None
    slices: PlannedSlices | None = None
    positions: PlannedTest | None = None

    @property
    def seconds(self) -> float:
        """Predicted engine time of the whole answer."""
        others = self._others
        seconds = self.counting + self.test.seconds
        if not others:
            return seconds
        described = 0.0 if self.interval is None else _SECONDS_PER_ITEM * self.test.problem.items
        return seconds + sum(part.seconds for part in others) + described

    @property
    def _others(self) -> list[Planned]:
        """The plans beside the test; usually none."""
        others = (
            self.item_level,
            self.interval,
            self.dust,
            self.fillings,
            self.sensitivity,
            self.sequential,
            self.slices,
            self.positions,
        )
        return [part for part in others if part is not None]

    @property
    def longest_seconds(self) -> float:
        """Its time at most, if all states must be decided exactly one by one.

        A bracket may take a multiple of its planned steps, which is too long for the event loop.
        """
        if self._brackets:
            return math.inf
        if isinstance(self.test, AdditiveTest) and not self._others:
            return self.seconds
        joint = [part for part in (self.test, self.item_level) if isinstance(part, JointTest)]
        beyond = sum(part.longest_seconds - part.seconds for part in joint)
        if self.sequential is not None:
            beyond += self.sequential.longest_seconds - self.sequential.seconds
        return self.seconds + beyond

    @property
    def _brackets(self) -> bool:
        """Whether any part is planned as a rigorous bracket, the price of which is likely and not proven."""
        dust = None if self.dust is None else self.dust.test
        filled = () if self.fillings is None else (self.fillings.worst, self.fillings.best)
        parts = (self.test, self.item_level, dust, *filled)
        planned = [part.plan.chosen.method for part in parts if part is not None]
        if isinstance(self.interval, Inversion):
            planned.append(self.interval.planned.method)
        return "bounds" in planned or (self.slices is not None and self.slices.brackets)


def run_test(data: Paired, spec: StatisticSpec, options: Options, budget: Budget) -> TestRecord:
    """Validate, plan, run and reduce one test; raises InvalidTest and PlanTooLarge."""
    return finish(prepare(data, spec, options, budget))


def prepare(
    data: Paired | Systems,
    spec: StatisticSpec,
    options: Options,
    budget: Budget,
    *,
    only_planned: bool = False,
) -> Prepared:
    """Validate and plan; nothing larger than the data itself is allocated.

    An `only_planned` test is never run: segments of texts are then sampled, not counted.
    """
    if isinstance(data, Systems):
        with engine_errors():
            return Prepared(cast("Paired", data), spec, options, systems_test(data, spec, options, budget))
    as_sent = data.pairing
    # A sequential test re-reads the items in their original order.
    if options.sequential is None and data.pairing.ids is not None:
        data = in_order_of_ids(data)
    original, given_spec, item_level, counting = data, spec, None, 0.0
    if options.significance == "mid_p" and options.test == "bootstrap":
        detail = "The bootstrap has no mid-p-value: leave significance out, or set test to permutation."
        raise InvalidTest.at("/significance", "mid_p_not_available", detail)
    fillings = None
    if isinstance(data, Scores) and data.gaps is not None:
        fillings = planned_fillings(data, spec, options, budget)
        data = replace(data, gaps=None)
    if isinstance(data, Segments):
        # Counted once for both levels; the digest is of the texts.
        counting = counting_seconds(data, spec) if only_planned else 0.0
        data, spec = counted(data, spec, estimated=only_planned)
    elif only_planned:
        counting = reduction_seconds(data, spec) + correction_seconds(data)
    if data.pairing.clusters is not None:
        by_item = replace(data, pairing=replace(data.pairing, clusters=None))
        short = replace(budget, patience_s=min(_ASIDE_S, budget.patience_s))
        item_level = planned_test(by_item, spec, options.alone(method="auto"), short)
    test = planned_test(data, spec, options, budget)
    interval = planned_interval(options, budget, test)
    dust = planned_dust(data, spec, options, partial(planned_test, budget=budget))
    # Averages are recognised at the end or at the top.
    warned = data_warnings(data if data.pairing is as_sent else replace(data, pairing=as_sent), spec)
    sensitivity = None if options.power is None else _planned_sensitivity(test, options, budget)
    sequential = None if options.sequential is None else _sequential(test, options, fillings, original, spec)
    slices = None
    if data.pairing.slices is not None:
        refuse_for_slices(options, gaps=fillings is not None)
        alone = options.alone(power=None)

        def of_slice(name: str, n: int, items: Paired) -> SliceTest:
            return SliceTest(name, n, planned_test(items, spec, alone, budget))

        slices = planned_slices(data, options.alpha, of_slice)
    positions = None
    if isinstance(data, Scores) and data.positions is not None:
        places = Scores(data.positions[:, 2], data.positions[:, 0])
        positions = planned_test(places, StatisticSpec("mean_difference"), Options(pmf="none"), budget)
    return Prepared(
        original,
        given_spec,
        options,
        test,
        item_level,
        interval,
        warned,
        dust,
        fillings,
        counting,
        sensitivity,
        sequential,
        slices,
        positions,
    )


def _planned_sensitivity(test: PlannedTest, options: Options, budget: Budget) -> PlannedSensitivity:
    assert options.power is not None
    if options.test == "bootstrap":
        raise InvalidTest.at("/power", "no_power", "Power is that of the permutation test: leave power out.")
    if options.power <= options.alpha:
        detail = "The power must be above alpha, the probability of a false alarm."
        raise InvalidTest.at("/power", "out_of_range", detail)
    wanted = SensitivityQuestion(options.power, options.alpha, options.alternative, options.significance)
    assert not isinstance(test.problem, Runs)
    return planned_sensitivity(test.problem, wanted, budget)


def _sequential(
    test: PlannedTest, options: Options, fillings: Fillings | None, data: Paired, spec: StatisticSpec
) -> SequentialTest:
    assert options.sequential is not None
    if options.test == "bootstrap" or options.significance == "mid_p" or fillings is not None:
        detail = (
            "E-values are for the permutation test of complete data: leave `test`, `significance` and "
            "`on_missing=bounds` out."
        )
        raise InvalidTest.at("/sequential", "not_available", detail)
    if isinstance(data, Scores) and data.weights is not None:
        detail = "Weighted items have no e-value: leave weights or sequential out."
        raise InvalidTest.at("/sequential", "not_available", detail)
    if isinstance(data, Scores) and data.correction is not None:
        detail = "Coefficients change with every new item, so that a corrected difference has no e-value: leave sequential out."
        raise InvalidTest.at("/sequential", "not_available", detail)
    if isinstance(test.problem, Runs):
        return runs_sequential_test(test.problem, data, spec, options.sequential, options.alternative)
    return sequential_test(test.problem, options.sequential, options.alternative)


def planned_test(data: Paired, spec: StatisticSpec, options: Options, budget: Budget) -> PlannedTest:
    """The test of the statistic alone, without interval and warnings about the data."""
    if isinstance(data, Scores) and data.correction is not None and options.test == "bootstrap":
        detail = "A bootstrap would choose other coefficients in every resample: set test to permutation."
        raise InvalidTest.at("/test", "correction_needs_permutation", detail)
    if isinstance(data, Scores) and data.weights is not None and options.test == "bootstrap":
        detail = (
            "A bootstrap draws items with equal probability, which would change the weights: leave weights "
            "out, or set test to permutation."
        )
        raise InvalidTest.at("/weights", "no_weights", detail)
    if options.exchange != "items":
        with engine_errors():
            runs = runs_test(data, spec, options, budget)
        if options.exchange == "runs":
            return runs
        return BothTest(planned_test(data, spec, replace(options, exchange="items"), budget), runs)
    return planned_problem(reduce(data, spec), options, budget)


def planned_problem(problem: Problem, options: Options, budget: Budget) -> PlannedTest:
    """The test of what data and a statistic were reduced to."""
    with engine_errors():
        if isinstance(problem, Quantiles):
            if options.test == "bootstrap":
                raise refuse_bootstrap(problem)
            return quantile_test(problem, options, budget)
        if isinstance(problem, Correlation):
            if options.test == "bootstrap":
                raise refuse_pairs()
            return correlation_test(problem, options, budget)
        if options.test == "bootstrap":
            return bootstrap_test(problem, options, budget)
        if isinstance(problem, Joint):
            return joint_test(problem, options, budget)
        return additive_test(problem, options, budget)


class Chosen(Protocol):
    """A test with its plan."""

    @property
    def plan(self) -> Plan:
        """Its method."""
        ...

    def solve(self) -> Result:
        """Run it."""
        ...


class Planning(Protocol):
    """A planned test with its predicted seconds."""

    @property
    def test(self) -> Chosen:
        """The test."""
        ...

    @property
    def seconds(self) -> float:
        """Of the whole answer."""
        ...


def plan_record(prepared: Planning) -> PlanRecord:
    """The plan and cost of `finish`."""
    plan = prepared.test.plan
    chosen = plan.chosen
    others = tuple(
        PlannedMethod(
            cost.method, cost.exact, cost.operations, cost.bytes, cost.seconds, plan.reason_against(cost)
        )
        for cost in plan.others
    )
    return PlanRecord(
        chosen.method, chosen.exact, chosen.operations, chosen.bytes, prepared.seconds, plan.reason, others
    )


def finish(prepared: Prepared) -> TestRecord:
    """Run a prepared test and make its record."""
    data, spec, options, result = prepared.data, prepared.spec, prepared.options, solved(prepared.test)
    item_level = _item_level(prepared)
    sizes, changed = _described(prepared)
    interval = IntervalResult(None)
    if prepared.interval is not None:
        interval = interval_of(prepared.interval, options, result)
    missing, certain = None, significant(result.answer, options.alpha, options.significance)
    if prepared.fillings is not None:
        missing, certain = prepared.fillings.solve(options)
    if prepared.sequential is not None:
        certain = prepared.sequential.rejects(options.alpha)
    slices = None if prepared.slices is None else prepared.slices.solve()
    return record_of(
        f"t_{request_digest(data, spec, options, ALGORITHM_VERSION, changed)}",
        prepared.test.plan,
        result,
        options,
        significant=certain,
        **of_data(data, spec, options, prepared.test.problem),
        null=_null(prepared, result),
        warnings=(
            *(() if missing is None else (missing_warning(missing, result.items.n, options.alpha),)),
            *(WarningRecord(warning.code, warning.detail) for warning in prepared.data_warnings),
            *warnings_of(options, result, item_level, exact=result.exact),
            *(() if slices is None else slices.warnings),
            *(() if prepared.dust is None else (prepared.dust.warning(),)),
            *(WarningRecord(code, detail) for code, detail in interval.warnings),
        ),
        item_level=item_level,
        missing=missing,
        slices=None if slices is None else slices.record,
        correction=correction_record(prepared.test.problem),
        position_bias=_position_bias(prepared),
        confidence_interval=interval.interval,
        effect_size=sizes,
        moved=changed,
        sensitivity=None if prepared.sensitivity is None else prepared.sensitivity.solve(),
        **({} if prepared.sequential is None else members(prepared.sequential.record(options.alpha))),
    )


def exchange_of(data: Paired, options: Options) -> Exchange | None:
    """The exchanged units that the answer names; none for a bootstrap, or for one score per item unless requested."""
    if options.exchange != "items":
        return options.exchange
    repeated = isinstance(data, Scores) and (isinstance(data.u, Repeated) or isinstance(data.v, Repeated))
    return "items" if repeated and options.test == "permutation" else None


def record_of(identity: str, plan: Plan, result: Result, options: Options, **others: Any) -> TestRecord:
    """The record of a result: its p-value, method and statistic, and `others`, which come from elsewhere."""
    answer = result.answer
    return TestRecord(
        id=identity,
        p_value=answer.p_value,
        log10_p_value=answer.log10_p_value,
        p_value_bounds=answer.bounds,
        p_value_bounds_kind="confidence" if answer.monte_carlo else "certified",
        p_value_fraction=None if answer.fraction is None else answer.fraction.in_decimal(),
        mid_p_value=mid_p_value(answer),
        alpha=options.alpha,
        min_attainable_p=result.attainable,
        alternative=options.alternative,
        test=options.test,
        exchanges=result.exchanges,
        statistic=measured(result.statistic, options),
        items=items_of_u(result.items, options),
        method=MethodRecord(
            name=result.by.method,
            exact=result.exact,
            relative_error_bound=answer.relative_error_bound,
            reason=reason_of(plan, result.by),
            lattice=result.lattice,
            monte_carlo=answer.monte_carlo,
        ),
        names=NamesRecord(options.name_u, options.name_v),
        **others,
    )


def _null(prepared: Prepared, result: Result) -> NullRecord:
    """The null distribution; for swaps its range includes the observed value, which is one of them."""
    problem = prepared.test.problem
    if prepared.options.test == "bootstrap":
        return result.null
    symmetric = isinstance(problem, Quantiles) or (isinstance(problem, Joint) and problem.mirrored)
    return holding(result.null, result.statistic.observed, symmetric=symmetric)


def _described(prepared: Prepared) -> tuple[EffectSize | None, Moved | None]:
    """Effect sizes, and the items that moved most, when an interval was requested."""
    level, data, spec = level_of(prepared.options), prepared.data, prepared.spec
    if level is None:
        return None, None
    problem, lower = prepared.test.problem, prepared.options.higher_is_better is False
    if isinstance(data, Scores) and (data.weights is not None or data.correction is not None):
        # Effect sizes count all items alike, and their scores; the moved items are those that moved the statistic.
        return None, most_moved(
            differences_of(prepared.item_level.problem if prepared.item_level else problem),
            data.pairing,
            lower_is_better=lower,
        )
    scores = item_scores_of(data, spec)
    by_item = prepared.item_level.problem if prepared.item_level else problem
    each = differences_of(by_item) if scores is None else scores[0] - scores[1]
    sizes = effect_size(data, spec, problem, scores, level, lower_is_better=lower)
    return sizes, most_moved(each, data.pairing, lower_is_better=lower)


def _position_bias(prepared: Prepared) -> PositionBiasRecord | None:
    """How often each place won, and the test that swaps the places of all battles of an item."""
    data, test = prepared.data, prepared.positions
    if test is None or not isinstance(data, Scores) or data.positions is None:
        return None
    second, ties, first = data.positions.sum(axis=0).tolist()
    return PositionBiasRecord(first, second, ties, solved(test).answer.p_value)


def _item_level(prepared: Prepared) -> ItemLevel | None:
    """The test as if the items of a cluster were independent."""
    if prepared.item_level is None:
        return None
    result = solved(prepared.item_level)
    return ItemLevel(result.answer.p_value, result.answer.log10_p_value, result.by.method, result.exact)
