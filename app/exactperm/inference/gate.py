"""Gates: whether a candidate may replace its baseline, by one or several metrics.

`prepare_metric` validates and plans; `finish_gate` runs the tests, adjusts them together and decides.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import get_args

from ..answers.gate import (
    TARGETS,
    EquivalenceRecord,
    GateRecord,
    GateSlices,
    GateTerms,
    MetricRecord,
    OnInconclusive,
    Policy,
    deciding,
    family_of,
    slices_decide,
)
from ..answers.test import SequentialRecord, TestRecord
from ..engine.plan import Budget
from ..engine.probability import SMALLEST
from ..errors import InvalidTest, choices_of
from ..statistics.catalogue import DEFAULT_EXPRESSION
from ..statistics.expression import POINTER, parse
from ..statistics.formula import Call, is_even
from ..statistics.paired import Effects, Paired, StatisticSpec
from ..statistics.reducers import Problem
from ..statistics.runs import Runs
from .additive import AdditiveTest, RoundedTest
from .certificate import SMALLEST_NORMAL
from .one_sided import (
    Favoured,
    MarginTest,
    Outcome,
    Question,
    ShiftedTest,
    TangoSensitivity,
    TangoTest,
    favoured,
    greatest_known,
    margin_test,
    over_fillings,
    question_of,
    without_margin,
)
from .options import Options, Sequential, members
from .paired import Prepared, finish, prepare
from .record import differences_of
from .sensitivity import PlannedSensitivity, SensitivityQuestion, sensitivity_if_any
from .sequential import SequentialTest, runs_sequential_test, sequential_test
from .slices import AdjustedSlices, PlannedSlices, SliceTest, planned_slices
from .target import TargetTest, target_test
from .verdict import (
    Judgement,
    hypothesis,
    judgements,
    overall,
    overall_reason,
    reason,
    slices_reason,
    verdict_of,
    words_of,
)
from .warnings import refuse_undecidable

# The gate policy `equivalent`


@dataclass(frozen=True, slots=True)
class EquivalenceTest:
    """Four one-sided tests of a margin.

    `above` is greater than -margin and `below` less than +margin: both are shown of equivalent systems. `beyond` is
    greater than +margin and `short` less than -margin: either shows that they are not.
    """

    above: MarginTest
    below: MarginTest
    beyond: MarginTest
    short: MarginTest

    @property
    def seconds(self) -> float:
        """Predicted time of all four."""
        return sum(test.seconds for test in (self.above, self.below, self.beyond, self.short))

    def run(self) -> Outcome:
        """The test with the larger p-value of both, with bounds of the larger, and the results of the others."""
        above, below = self.above.run(), self.below.run()
        larger = max(above, below, key=lambda outcome: outcome.log10_p_value)
        lows, highs = zip(above.p_value_bounds, below.p_value_bounds, strict=True)
        either = self.beyond.run(), self.short.run()
        low, high = (min(ends) for ends in zip(*(one.p_value_bounds for one in either), strict=True))
        record = EquivalenceRecord(
            p_value_above=above.p_value,
            log10_p_value_above=above.log10_p_value,
            p_value_below=below.p_value,
            log10_p_value_below=below.log10_p_value,
            p_value_different=min(1.0, 2.0 * min(one.p_value for one in either)),
            log10_p_value_different=min(0.0, math.log10(2.0) + min(one.log10_p_value for one in either)),
            p_value_different_bounds=(min(1.0, 2.0 * low), min(1.0, 2.0 * high)),
        )
        return replace(
            larger,
            p_value_bounds=(max(lows), max(highs)),
            min_attainable_p=greatest_known(above.min_attainable_p, below.min_attainable_p),
            exact=above.exact and below.exact,
            equivalence=record,
            ratio=None if above.ratio is None or below.ratio is None else max(above.ratio, below.ratio),
        )


def equivalence_test(prepared: Prepared, terms: GateTerms, budget: Budget) -> EquivalenceTest:
    """Plan the four tests; raises what `margin_test` raises."""
    margin = Fraction(repr(float(terms.margin)))
    return EquivalenceTest(
        above=margin_test(prepared, Question("greater", -margin), budget),
        below=margin_test(prepared, Question("less", margin), budget),
        beyond=margin_test(prepared, Question("greater", margin), budget),
        short=margin_test(prepared, Question("less", -margin), budget),
    )


# Sequential gates: an e-value in place of the p-value


@dataclass(frozen=True, slots=True)
class AnytimeTest:
    """The policy's one-sided question, put to the e-value of the differences less the margin."""

    question: Question
    test: SequentialTest
    alpha: float

    @property
    def seconds(self) -> float:
        """Predicted time."""
        return 2.0 * self.test.seconds

    @property
    def longest_seconds(self) -> float:
        """The exact comparison, if doubles do not decide."""
        return self.seconds + self.test.longest_seconds - self.test.seconds

    def record(self) -> SequentialRecord:
        """The e-value for the answer."""
        return self.test.record(self.alpha)

    def run(self) -> Outcome:
        """The p-value of any time, 1 / e; its upper bound is at most alpha only where the e-value is certain to reach 1 / alpha."""
        e_value = self.test.e_value()
        # The sum with every difference on the side of the alternative.
        form, up = self.test.form, self.question.alternative == "greater"
        most = self.test.e_value(form.offset + form.step * form.range * up)
        low, high = _inverse(e_value.log_e + e_value.error), _inverse(e_value.log_e - e_value.error)
        if low < SMALLEST_NORMAL:
            low = 0.0  # a subnormal double has not the digits of its logarithm
        if self.test.rejects(self.alpha):
            high = min(high, self.alpha)
        else:
            high = max(high, math.nextafter(self.alpha, 1.0))
            low = max(low, math.nextafter(self.alpha, 1.0)) if low <= self.alpha < high else low
        record, planned = self.record(), self.test.asked.planned_n
        return Outcome(
            procedure="e_value",
            alternative=self.question.alternative,
            difference=float(self.question.difference),
            p_value=min(max(record.p_anytime, low), high),
            log10_p_value=record.log10_p_anytime,
            p_value_bounds=(low, high),
            p_value_bounds_kind="certified",
            exact=True,
            min_attainable_p=_inverse(most.log_e),
            waiting=planned is None
            or self.test.items < planned,  # with all planned items, the verdict must not wait
        )


def _inverse(log_e: float) -> float:
    """1 / e as a p-value: at most 1, and never 0; rounded up where it is subnormal."""
    p = math.exp(-max(log_e, 0.0))
    return p if p >= SMALLEST_NORMAL else p + SMALLEST


def anytime_test(
    prepared: Prepared, terms: GateTerms, question: Question, sequential: Sequential
) -> AnytimeTest:
    """Plan it; raises InvalidTest for what has no e-value."""
    if terms.policy == "equivalent":
        detail = "There is no e-value of equivalence: leave sequential out, or choose another policy."
        raise InvalidTest.at("/sequential", "not_available", detail)
    asked = sequential, question.alternative, question.difference
    problem = prepared.test.problem
    if isinstance(problem, Runs):
        test = runs_sequential_test(problem, prepared.data, prepared.spec, *asked)
    else:
        test = sequential_test(problem, *asked)
    return AnytimeTest(question, test, terms.alpha)


# Default power of reports; seconds that its computation may take.
_POWER, _LONGEST_S = 0.8, 0.25
# A least p-value below alpha by this factor is small enough after any adjustment.
_SURELY_ENOUGH = 1_000.0


# The slices of a gate


@dataclass(frozen=True, slots=True)
class GateSlicesTest:
    """The slices of a metric; `fail_if_any` where they decide."""

    planned: PlannedSlices
    fail_if_any: bool
    favoured: tuple[Favoured, ...] = ()

    @property
    def seconds(self) -> float:
        """Predicted time."""
        return self.planned.seconds + sum(one.seconds for one in self.favoured)

    def outcome(self, question: Question, slices: AdjustedSlices) -> Outcome:
        """The test of the smallest p-value."""
        least, record = slices.least, slices.record
        for one in self.favoured:
            if least > self.planned.alpha / _SURELY_ENOUGH:
                least = min(least, len(self.planned.tests) * one.p_value())
        asymptotic = any(isinstance(test.margin, TangoTest) for test in self.planned.tests)
        return Outcome(
            procedure="tango_score" if asymptotic else "permutation",
            alternative=question.alternative,
            difference=float(question.difference),
            p_value=record.p_value,
            log10_p_value=slices.log10_p_value,
            p_value_bounds=record.p_value_bounds,
            p_value_bounds_kind="asymptotic" if asymptotic else record.p_value_bounds_kind,
            exact=record.exact and not asymptotic,
            min_attainable_p=least if slices.least_known else None,
            attainable_at_most=least,
        )


def _slices(test: Prepared, metric: Metric, question: Question, budget: Budget) -> GateSlicesTest | None:
    """The slices with the policy's margin; raises InvalidTest where they may not decide."""
    terms, slices = metric.terms, test.slices
    if metric.fail_if_any and slices is None:
        detail = "Any slice may fail the gate, and there are none: give `slices`, a label for each item, or leave this rule out."
        raise InvalidTest.at("/slices", "slices_missing", detail)
    if metric.fail_if_any and terms.policy != "no_regression":
        detail = (
            f"A slice fails a gate by having become worse, which the policy {terms.policy} does not ask: use no_regression, or "
            "report the slices."
        )
        choices = choices_of("policy", {"no_regression": "Fail when all items, or any slice, are worse"})
        raise InvalidTest.at("/policy", "fail_if_any_needs_no_regression", detail, choices)
    if slices is None:
        return None
    if terms.margin and terms.policy != "equivalent":
        without = {one.name: one for one in slices.tests}

        def with_margin(name: str, n: int, items: Paired) -> SliceTest:
            plain = without[name].test
            margin = margin_test(replace(test, data=items, test=plain), question, budget)
            return SliceTest(name, n, plain, margin)

        slices = planned_slices(test.data, terms.alpha, with_margin)
    favours = [favoured(one.test, budget) for one in slices.tests] if metric.fail_if_any else []
    return GateSlicesTest(
        slices, metric.fail_if_any, tuple(favour for favour in favours if favour is not None)
    )


@dataclass(frozen=True, slots=True)
class Metric:
    """One test of a gate as requested: U is the candidate, V the baseline.

    `options.alternative` is left at its default: the policy decides it. `terms.alpha` is used, not `options.alpha`.
    `against` is the baseline's name, where there are several; each is a metric of its own. `fail_if_any`: a slice that became
    worse fails the gate.
    """

    name: str
    data: Paired
    spec: StatisticSpec
    options: Options
    terms: GateTerms
    against: str | None = None
    fail_if_any: bool = False


@dataclass(frozen=True, slots=True)
class PreparedMetric:
    """A validated and planned metric; `margin` is None without a margin."""

    name: str
    terms: GateTerms
    question: Question
    test: Prepared | TargetTest
    margin: MarginTest | None = None
    against: str | None = None
    sensitivity: PlannedSensitivity | TangoSensitivity | None = None
    favoured: Favoured | None = None
    slices: GateSlicesTest | None = None

    @property
    def seconds(self) -> float:
        """Predicted time of both its tests, of their sensitivity and of slices."""
        parts = (self.test, self.margin, self.sensitivity, self.favoured, self.slices)
        return sum([part.seconds for part in parts if part is not None])

    @property
    def longest_seconds(self) -> float:
        """The highest predicted cost."""
        margin = (
            self.margin.longest_seconds - self.margin.seconds if isinstance(self.margin, AnytimeTest) else 0.0
        )
        return self.seconds + self.test.longest_seconds - self.test.seconds + margin


@dataclass(frozen=True, slots=True)
class PreparedGate:
    """A validated and planned gate, before its run."""

    metrics: tuple[PreparedMetric, ...]

    @property
    def seconds(self) -> float:
        """Predicted engine seconds of all its tests."""
        return sum(metric.seconds for metric in self.metrics)

    @property
    def longest_seconds(self) -> float:
        """Their upper bound."""
        return sum(metric.longest_seconds for metric in self.metrics)


def prepare_metric(metric: Metric, budget: Budget) -> PreparedMetric:
    """Validate and plan the ordinary test, one-sided in the gate's direction, and the test of the margin.

    Raises
    ------
        InvalidTest: with pointers into the request (/u/3, /alternative), or into the terms (/margin, /policy, /alpha).
        PlanTooLarge: a test is over the budget.
    """
    terms = metric.terms
    _require_terms(terms)
    if metric.options.alternative != "two-sided":
        detail = "The policy decides which side a gate tests: leave alternative out."
        raise InvalidTest.at("/alternative", "alternative_by_policy", detail)
    if terms.policy in TARGETS:
        if metric.data.pairing.slices is not None or metric.fail_if_any:
            detail = f"Slices are tested between two systems, and the policy {terms.policy} has one: leave slices out."
            raise InvalidTest.at("/slices", "not_available", detail)
        alone = replace(metric.options, alpha=terms.alpha, higher_is_better=terms.higher_is_better)
        target = target_test(metric.data, metric.spec, alone, terms)
        refuse_undecidable(target.data_warnings)
        return PreparedMetric(metric.name, terms, Question(target.alternative, Fraction(0)), target)
    question = question_of(terms)
    options = replace(
        metric.options,
        alternative=question.alternative,
        alpha=terms.alpha,
        higher_is_better=terms.higher_is_better,
    )
    test = prepare(metric.data, metric.spec, options, budget)
    refuse_undecidable(test.data_warnings)
    _require_direction(test)
    margin = _margin(test, terms, question, budget)
    sensitivity = _sensitivity(test, margin, terms, budget)
    could_fail = _favoured(test, margin, budget) if terms.policy == "no_regression" else None
    slices = _slices(test, metric, question, budget)
    test = replace(test, slices=None)
    return PreparedMetric(
        metric.name, terms, question, test, margin, metric.against, sensitivity, could_fail, slices
    )


def _favoured(test: Prepared, margin: MarginTest | None, budget: Budget) -> Favoured | None:
    """The bound of the least p-value of all outcomes, if that may be unknown: without it no gate may pass."""
    if margin is None:
        return favoured(test.test, budget)
    return favoured(margin.test, budget) if isinstance(margin, ShiftedTest) else None


def _sensitivity(
    test: Prepared, margin: MarginTest | None, terms: GateTerms, budget: Budget
) -> PlannedSensitivity | TangoSensitivity | None:
    """The sensitivity of the deciding test, if cheap; reports of gates always include it."""
    options = test.options
    problem: Problem | Runs
    power = _POWER if options.power is None else options.power
    if power <= terms.alpha:
        return None
    if isinstance(margin, TangoTest):
        tango = TangoSensitivity(margin, power, terms.alpha)
        return tango if tango.seconds <= _LONGEST_S else None
    if isinstance(margin, ShiftedTest):
        problem = margin.test.problem
    elif margin is None and options.test == "permutation":
        problem = test.test.problem
    else:
        return None
    if isinstance(problem, Runs) or options.exchange != "items":
        return None
    wanted = SensitivityQuestion(power, terms.alpha, options.alternative, options.significance)
    planned = sensitivity_if_any(problem, wanted, budget)
    # A margin's lattice may be fine, and a sentence is not worth a wait.
    return planned if planned is not None and planned.seconds <= _LONGEST_S else None


def _margin(test: Prepared, terms: GateTerms, question: Question, budget: Budget) -> MarginTest | None:
    """The test that decides in place of the ordinary one, if any."""
    if test.options.sequential is not None:
        return anytime_test(test, terms, question, test.options.sequential)
    if terms.policy == "equivalent":
        return equivalence_test(test, terms, budget)
    if terms.margin:
        return margin_test(test, question, budget)
    if test.fillings is not None:
        return over_fillings(test, lambda filled: ShiftedTest(question, _additive(filled)))
    return None


def _additive(filled: Prepared) -> AdditiveTest | RoundedTest:
    """The test of a filling; only additive statistics have any."""
    assert isinstance(filled.test, AdditiveTest | RoundedTest)
    return filled.test


def _require_terms(terms: GateTerms) -> None:
    if terms.policy not in get_args(Policy):
        detail = f"The policy must be one of: {', '.join(get_args(Policy))}."
        raise InvalidTest.at("/policy", "unknown_policy", detail)
    if not (math.isfinite(terms.margin) and terms.margin >= 0.0):
        raise InvalidTest.at("/margin", "out_of_range", "The margin must be a number, at least 0.")
    if terms.policy == "equivalent" and not terms.margin:
        detail = "Systems are equivalent within a margin: give the policy equivalent a margin above 0."
        raise InvalidTest.at("/margin", "margin_needed", detail)
    _require_threshold(terms)
    if not 0.0 < terms.alpha < 1.0:
        raise InvalidTest.at("/alpha", "out_of_range", "alpha must lie between 0 and 1.")


def _require_threshold(terms: GateTerms) -> None:
    """Refuse a threshold without its policies, and these policies without one or with a margin."""
    if terms.policy not in TARGETS:
        name = "threshold" if terms.threshold is not None else "range"
        if getattr(terms, name) is not None:
            detail = f"`{name}` is for one system without a baseline: set the policy to at_least or not_below, or leave it out."
            raise InvalidTest.at(f"/{name}", "threshold_not_expected", detail, choices_of("policy", _TARGETS))
        return
    if terms.threshold is None:
        detail = f"The policy {terms.policy} compares one system with a threshold: give the `threshold`, such as 0.9."
        raise InvalidTest.at("/threshold", "threshold_missing", detail)
    if terms.margin:
        detail = "A threshold has no margin: leave the margin out, or move the threshold by it."
        raise InvalidTest.at("/margin", "margin_not_available", detail)


_TARGETS = {
    "at_least": "Pass only if shown to be better than the threshold",
    "not_below": "Fail only if shown to be worse",
}


def _require_direction(test: Prepared) -> None:
    """Refuse |S|, S * S and their like, which are as large when the candidate is worse as when it is better."""
    even = isinstance(test.test, AdditiveTest | RoundedTest) and test.test.problem.absolute
    if isinstance(test.data, Effects):
        text = str(test.spec.parameters.get("expression", DEFAULT_EXPRESSION))
        width = 1 if test.data.stay.ndim == 1 else test.data.stay.shape[1]
        root = parse(text, [f"x{index + 1}" for index in range(width)])
        even |= (isinstance(root, Call) and root.function == "abs") or is_even(root, width)
    if even:
        detail = (
            "An expression that does not change with the effects' signs cannot tell which system is "
            "better: give the gate an expression without abs and squares."
        )
        raise InvalidTest.at(POINTER, "no_direction", detail)


def finish_gate(
    metrics: Sequence[PreparedMetric], on_inconclusive: OnInconclusive, algorithm: str
) -> GateRecord:
    """Run every test, adjust the p-values together (Holm 1979) and decide.

    `algorithm` is the version that goes into the digest. Raises InvalidTest without metrics: nothing compared is
    never a pass.
    """
    if not metrics:
        raise InvalidTest.at("/metrics", "empty", "There are no metrics: a gate needs at least one.")
    records = [
        metric.test.record() if isinstance(metric.test, TargetTest) else finish(metric.test)
        for metric in metrics
    ]
    outcomes = [_outcome(metric, record) for metric, record in zip(metrics, records, strict=True)]
    of_metrics = [None if metric.slices is None else metric.slices.planned.solve() for metric in metrics]
    deciders = {
        at: metric.slices.outcome(metric.question, one)
        for at, (metric, one) in enumerate(zip(metrics, of_metrics, strict=True))
        if metric.slices is not None and one is not None and metric.slices.fail_if_any
    }
    judged = judgements(
        [*outcomes, *deciders.values()], [metrics[at].terms for at in (*range(len(metrics)), *deciders)]
    )
    of_slices = dict(zip(deciders, judged[len(metrics) :], strict=True))
    against = [metric.against for metric in metrics]
    family = family_of(against, len(deciders))
    decided = tuple(
        _metric_record(
            metric, records[at], outcomes[at], judged[at], family, of_metrics[at], of_slices.get(at)
        )
        for at, metric in enumerate(metrics)
    )
    verdict = overall([metric.verdict for metric in decided])
    return GateRecord.of(
        digest=_digest(decided, on_inconclusive, algorithm),
        verdict=verdict,
        reason=overall_reason(
            decided, verdict, deciding(decided, verdict), family_of(against), on_inconclusive
        ),
        on_inconclusive=on_inconclusive,
        metrics=decided,
    )


def _outcome(metric: PreparedMetric, record: TestRecord) -> Outcome:
    if isinstance(metric.test, TargetTest):
        return metric.test.outcome(record)
    if metric.margin:
        outcome = metric.margin.run()
    else:
        outcome = without_margin(metric.question, record, metric.test.options.significance)
    if metric.favoured is None or outcome.min_attainable_p is not None:
        return outcome
    return replace(outcome, attainable_at_most=metric.favoured.p_value())


def _metric_record(
    metric: PreparedMetric,
    record: TestRecord,
    outcome: Outcome,
    judgement: Judgement,
    family: str | None,
    slices: AdjustedSlices | None,
    of_slices: Judgement | None,
) -> MetricRecord:
    same = not outcome.missing and not isinstance(metric.test, TargetTest) and _is_same(metric.test, record)
    verdict = verdict_of(metric.terms.policy, judgement.finding, same=same, waiting=outcome.waiting)
    words = words_of(metric.terms, metric.against)
    why = reason(metric.terms, judgement, record, family, words, same=same)
    if slices is not None:
        record = replace(record, warnings=(*record.warnings, *slices.warnings))
    if slices is not None and of_slices is not None:
        theirs = verdict_of(metric.terms.policy, of_slices.finding, same=same)
        both = [why, slices_reason(metric.terms, of_slices, slices.record.worst, family, words)]
        why = " ".join(both if overall([verdict, theirs]) == verdict else both[::-1])
        verdict = overall([verdict, theirs])
    return MetricRecord(
        name=metric.name,
        against=metric.against,
        hypothesis=hypothesis(metric.terms, record.statistic, words),
        verdict=verdict,
        reason=why,
        decision=judgement.decision,
        slices=None
        if slices is None
        else GateSlices(**members(slices.record), decision=None if of_slices is None else of_slices.decision),
        sensitivity=None if metric.sensitivity is None else metric.sensitivity.solve(),
        test=record,
        **members(metric.terms),
        **(members(metric.margin.record()) if isinstance(metric.margin, AnytimeTest) else {}),
    )


def _is_same(test: Prepared, record: TestRecord) -> bool:
    """Whether both systems have the same value on every item, and no earlier batch says otherwise."""
    if record.items.nonzero or record.statistic.observed:
        return False
    if test.options.sequential is not None and test.options.sequential.prior_log_e:
        return False
    # Within a cluster items may differ and make up for each other.
    return test.item_level is None or not differences_of(test.item_level.problem).any()


def _digest(metrics: Sequence[MetricRecord], on_inconclusive: OnInconclusive, algorithm: str) -> str:
    """SHA-256, in hex, of everything that determines the gate's answer: names, terms, tests, version."""
    requested = [
        [
            metric.name,
            # Ids are as old as gates without thresholds, several baselines and slices.
            {name: value for name, value in asdict(metric.terms).items() if value is not None},
            metric.test.id.removeprefix("t_"),
            *([] if metric.against is None else [metric.against]),
            *(["fail_if_any"] if slices_decide([metric]) else []),
        ]
        for metric in metrics
    ]
    settings = {"metrics": requested, "on_inconclusive": on_inconclusive, "algorithm": algorithm}
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
