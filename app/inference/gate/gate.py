"""The gate: whether a candidate may replace its baseline, by one or several metrics.

`prepare_metric` validates and plans; `finish_gate` runs the tests, adjusts them together and decides.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import get_args

from ...engine.plan import Budget
from ...errors import InvalidTest
from ...statistics.entry_words import DEFAULT_EXPRESSION
from ...statistics.evenness import is_even
from ...statistics.expression import POINTER, parse
from ...statistics.formula import Call
from ...statistics.paired import Effects, Paired, StatisticSpec
from ...statistics.problem import Problem
from ..additive_test import AdditiveTest
from ..data_warnings import refuse_undecidable
from ..favoured import Favoured, favoured
from ..items import differences_of
from ..options import Options
from ..paired_test import Prepared, finish, prepare
from ..record import TestRecord
from ..rounded_test import RoundedTest
from ..sensitivity import PlannedSensitivity, SensitivityQuestion, sensitivity_if_any
from .anytime import AnytimeTest, anytime_test
from .decision import Judgement, judgements, overall, verdict_of
from .equivalence import EquivalenceTest, equivalence_test
from .fillings import over_fillings
from .margin import Question, ShiftedTest, TangoTest, margin_test, question_of, without_margin
from .outcome import MarginTest, Outcome
from .record import GateRecord, GateTerms, MetricRecord, OnInconclusive, Policy, deciding, family_of
from .sentences import hypothesis, overall_reason, reason
from .tango_sensitivity import TangoSensitivity

# Reports say what was found 4 times in 5, unless another power was asked for; seconds that this may take.
_POWER, _LONGEST_S = 0.8, 0.25


@dataclass(frozen=True, slots=True)
class Metric:
    """One test of a gate as requested: U is the candidate, V the baseline.

    `options.alternative` is left at its default: the policy decides it. `terms.alpha` is used, not `options.alpha`.
    `against` is the baseline's name, where there are several; each is a metric of its own.
    """

    name: str
    data: Paired
    spec: StatisticSpec
    options: Options
    terms: GateTerms
    against: str | None = None


@dataclass(frozen=True, slots=True)
class PreparedMetric:
    """A metric that was validated and planned, and has not run; `margin` is None without a margin."""

    name: str
    terms: GateTerms
    question: Question
    test: Prepared
    margin: MarginTest | EquivalenceTest | AnytimeTest | None
    against: str | None = None
    sensitivity: PlannedSensitivity | TangoSensitivity | None = None
    favoured: Favoured | None = None

    @property
    def seconds(self) -> float:
        """Predicted time of both its tests, and of what else is said of them."""
        parts = (self.test, self.margin, self.sensitivity, self.favoured)
        return sum(part.seconds for part in parts if part is not None)

    @property
    def longest_seconds(self) -> float:
        """What they take at the most."""
        margin = (
            self.margin.longest_seconds - self.margin.seconds if isinstance(self.margin, AnytimeTest) else 0.0
        )
        return self.seconds + self.test.longest_seconds - self.test.seconds + margin


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
    margin: MarginTest | EquivalenceTest | AnytimeTest | None
    if options.sequential is not None:
        margin = anytime_test(test, terms, question, options.sequential)
    else:
        margin = _margin(test, terms, question, budget)
    sensitivity = _sensitivity(test, margin, terms, budget)
    could_fail = _favoured(test, margin, budget) if terms.policy == "no_regression" else None
    return PreparedMetric(metric.name, terms, question, test, margin, metric.against, sensitivity, could_fail)


def _favoured(
    test: Prepared, margin: MarginTest | EquivalenceTest | AnytimeTest | None, budget: Budget
) -> Favoured | None:
    """What bounds the least p-value of all outcomes, where it may not be known: without it no gate may pass."""
    if margin is None:
        return favoured(test.test, budget)
    return favoured(margin.test, budget) if isinstance(margin, ShiftedTest) else None


def _sensitivity(
    test: Prepared,
    margin: MarginTest | EquivalenceTest | AnytimeTest | None,
    terms: GateTerms,
    budget: Budget,
) -> PlannedSensitivity | TangoSensitivity | None:
    """What the deciding test could have found, where that is quickly said: a report of a gate says so unasked."""
    options = test.options
    problem: Problem
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
    asked = SensitivityQuestion(power, terms.alpha, options.alternative, options.significance)
    planned = sensitivity_if_any(problem, asked, budget)
    # A margin's lattice may be fine; nobody waits for a sentence.
    return planned if planned is not None and planned.seconds <= _LONGEST_S else None


def _margin(
    test: Prepared, terms: GateTerms, question: Question, budget: Budget
) -> MarginTest | EquivalenceTest | None:
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
    if not 0.0 < terms.alpha < 1.0:
        raise InvalidTest.at("/alpha", "out_of_range", "alpha must lie between 0 and 1.")


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
            "An expression that has the same value whichever effects change sign does not say which system is better: "
            "give a gate the expression without abs, and without squares."
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
    records = [finish(metric.test) for metric in metrics]
    outcomes = [_outcome(metric, record) for metric, record in zip(metrics, records, strict=True)]
    judged = judgements(outcomes, [metric.terms for metric in metrics])
    family = family_of([metric.against for metric in metrics])
    decided = tuple(
        _metric_record(metric, record, outcome, judgement, family)
        for metric, record, outcome, judgement in zip(metrics, records, outcomes, judged, strict=True)
    )
    verdict = overall([metric.verdict for metric in decided])
    return GateRecord.of(
        digest=_digest(decided, on_inconclusive, algorithm),
        verdict=verdict,
        reason=overall_reason(decided, verdict, deciding(decided, verdict), on_inconclusive),
        on_inconclusive=on_inconclusive,
        metrics=decided,
    )


def _outcome(metric: PreparedMetric, record: TestRecord) -> Outcome:
    if metric.margin:
        outcome = metric.margin.run()
    else:
        outcome = without_margin(metric.question, record, metric.test.options.significance)
    if metric.favoured is None or outcome.min_attainable_p is not None:
        return outcome
    return replace(outcome, attainable_at_most=metric.favoured.p_value())


def _metric_record(
    metric: PreparedMetric, record: TestRecord, outcome: Outcome, judgement: Judgement, family: str | None
) -> MetricRecord:
    same = not outcome.missing and _is_same(metric.test, record)
    verdict = verdict_of(metric.terms.policy, judgement.finding, same=same, waiting=outcome.waiting)
    return MetricRecord(
        name=metric.name,
        against=metric.against,
        terms=metric.terms,
        hypothesis=hypothesis(metric.terms, record.statistic, metric.against),
        verdict=verdict,
        reason=reason(metric.terms, judgement, record, family, metric.against, same=same),
        decision=judgement.decision,
        sensitivity=None if metric.sensitivity is None else metric.sensitivity.solve(),
        sequential=metric.margin.record() if isinstance(metric.margin, AnytimeTest) else None,
        test=record,
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
    """SHA-256, in hex, of what the gate's answer is a function of: names, terms, tests, version."""
    requested = [
        [metric.name, asdict(metric.terms), metric.test.digest, *_named(metric.against)] for metric in metrics
    ]
    settings = {"metrics": requested, "on_inconclusive": on_inconclusive, "algorithm": algorithm}
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _named(against: str | None) -> list[str]:
    """Nothing where there is none, so that answers without one keep their ids."""
    return [] if against is None else [against]
