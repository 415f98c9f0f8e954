"""The answer of a gate, as plain data: status, headers, JSON and reports all follow from `GateRecord.verdict`.

Fields are annotated as in `exactperm.answers.test`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from .reading import Note
from .test import (
    Alternative,
    BoundsKind,
    Curtailed,
    EValue,
    Log10PAnytime,
    Log10PValue,
    PAnytime,
    PValue,
    SensitivityRecord,
    SequentialRecord,
    SlicesRecord,
    TestRecord,
    identifier,
)

Policy = Literal["no_regression", "non_inferior", "improve", "equivalent", "at_least", "not_below"]
Verdict = Literal["pass", "fail", "inconclusive", "continue"]
OnInconclusive = Literal["pass", "fail"]
SliceRule = Literal["report", "fail_if_any"]
Procedure = Literal["permutation", "bootstrap", "tango_score", "e_value", "binomial", "convex_bound"]
# Policies of one system against a threshold; and those that fail only where something is shown.
TARGETS: tuple[Policy, ...] = ("at_least", "not_below")
PRESUMED: tuple[Policy, ...] = ("no_regression", "not_below")


@dataclass(frozen=True, slots=True)
class GateTerms:
    """The claim that a metric must support. `margin` is in the statistic's units and not negative.

    U is the candidate and V the baseline. The policies at_least and not_below have a `threshold` in its place, and for scores that
    are not right or wrong their `range`.
    """

    policy: Policy = "no_regression"
    margin: float = 0.0
    alpha: float = 0.05
    higher_is_better: bool = True
    threshold: float | None = None
    range: tuple[float, float] | None = None


TERMS = tuple(GateTerms.__slots__)
EVIDENCE = tuple(SequentialRecord.__slots__)


@dataclass(frozen=True, slots=True)
class OneSidedTest:
    """A one-sided test of one metric; see `Decision`."""

    procedure: Procedure
    alternative: Alternative
    difference: float
    p_value: PValue
    log10_p_value: Log10PValue
    p_value_bounds: tuple[float, float]
    p_value_bounds_kind: BoundsKind | Literal["asymptotic"]
    exact: bool
    min_attainable_p: Annotated[
        float | None, "The smallest p-value that any outcome could have had; null if unknown."
    ]


@dataclass(frozen=True, slots=True)
class EquivalenceRecord:
    """For the policy equivalent: the p-values of both one-sided tests, and of a difference of at least the margin.

    `p_value_above` is of U - V above -margin, `p_value_below` of U - V below +margin; `p_value_different` is twice the
    smaller one of U - V above +margin and below -margin, not adjusted for several metrics.
    """

    p_value_above: PValue
    log10_p_value_above: Log10PValue
    p_value_below: PValue
    log10_p_value_below: Log10PValue
    p_value_different: PValue
    log10_p_value_different: Log10PValue
    p_value_different_bounds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Decision(OneSidedTest):
    """The one-sided test that the verdict rests on, of the null hypothesis that the policy sets.

    `difference` is the hypothesised difference between null and alternative: -margin or +margin in the statistic's
    units, 0 without a margin and for thresholds. `alternative` is what a small p-value shows. For the policy equivalent this is the one of
    the two tests with the larger p-value; `equivalence` has both.
    """

    p_value_adjusted: Annotated[
        PValue, ("Adjusted by Holm's method over all metrics; equals p_value for a single metric.")
    ]
    log10_p_value_adjusted: Log10PValue
    significant: bool
    equivalence: Annotated[EquivalenceRecord | None, "Null for the other policies."] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSlices(SlicesRecord):
    """Tests of slices of the items on the policy's side, with its margin, the smallest p-value first; as in a test.

    `decision` is the test of the smallest p-value, adjusted with all others, where any slice may fail the gate
    (`fail_if_any`); null if slices are only reported.
    """

    decision: Decision | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRecord:
    """One comparison of a gate: its verdict, its terms, the decision, and the test of no difference.

    `hypothesis` and `reason` are sentences. `test` is one-sided in the gate's direction, with estimates, interval and
    null distribution.
    """

    name: str
    against: Annotated[str | None, "The baseline's name if the gate names several; null for V."] = None
    verdict: Verdict
    reason: str
    hypothesis: str
    policy: Policy
    margin: float
    alpha: float
    higher_is_better: bool
    threshold: float | None = None
    range: tuple[float, float] | None = None
    decision: Decision
    slices: Annotated[GateSlices | None, "Null without slices; `test.slices` is null in a gate."] = None
    sensitivity: Annotated[
        SensitivityRecord | None,
        (
            "The differences that the deciding test could have found, beyond the margin if there is one; null "
            "if unknown or too slow to compute."
        ),
    ] = None
    e_value: EValue = None
    log10_e_value: float | None = None
    p_anytime: PAnytime = None
    log10_p_anytime: Log10PAnytime = None
    curtailed: Curtailed = None
    test: TestRecord

    @property
    def terms(self) -> GateTerms:
        """The claim that it had to support."""
        return GateTerms(**{name: getattr(self, name) for name in TERMS})

    @property
    def deciding(self) -> Decision:
        """That of all items, or of the slices if their adjusted p-value is smaller."""
        of_slices = None if self.slices is None else self.slices.decision
        if of_slices is None or self.decision.log10_p_value_adjusted <= of_slices.log10_p_value_adjusted:
            return self.decision
        return of_slices


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRecord:
    """The answer of a gate: fail when a metric fails, else inconclusive when one is, else continue when one waits, else pass.

    Terms and p-value are those of the deciding metric.
    """

    id: Annotated[str, identifier("g")]
    verdict: Verdict
    passed: Annotated[
        bool,
        ("Whether the status is 200: the pull request may proceed, or more items are to come (continue)."),
    ]
    reason: str
    policy: Policy
    margin: float
    alpha: float
    higher_is_better: bool
    threshold: float | None = None
    range: tuple[float, float] | None = None
    on_inconclusive: OnInconclusive
    correction: Literal["holm"] | None
    p_value: Annotated[PValue, "The adjusted p-value of the deciding metric."]
    log10_p_value: Log10PValue
    e_value: EValue = None
    log10_e_value: float | None = None
    p_anytime: PAnytime = None
    log10_p_anytime: Log10PAnytime = None
    curtailed: Curtailed = None
    metrics: tuple[MetricRecord, ...]

    @classmethod
    def of(
        cls,
        *,
        digest: str,
        verdict: Verdict,
        reason: str,
        on_inconclusive: OnInconclusive,
        metrics: tuple[MetricRecord, ...],
    ) -> GateRecord:
        """The record with everything that follows from the metrics and the verdict."""
        metric = deciding(metrics, verdict)
        return cls(
            id=f"g_{digest}",
            verdict=verdict,
            passed=verdict in {"pass", "continue"}
            or (verdict == "inconclusive" and on_inconclusive == "pass"),
            reason=reason,
            on_inconclusive=on_inconclusive,
            correction="holm" if len(metrics) > 1 or slices_decide(metrics) else None,
            p_value=metric.deciding.p_value_adjusted,
            log10_p_value=metric.deciding.log10_p_value_adjusted,
            metrics=metrics,
            **{name: getattr(metric, name) for name in (*TERMS, *EVIDENCE)},
        )

    @property
    def family(self) -> str | None:
        """The family that the p-values are adjusted over; see `family_of`."""
        return family_of([metric.against for metric in self.metrics], slices_decide(self.metrics))

    @property
    def notes(self) -> tuple[Note, ...]:
        """How files were read, without repeating notes that metrics share."""
        return tuple(dict.fromkeys(note for metric in self.metrics for note in metric.test.notes))

    @property
    def deciding(self) -> MetricRecord:
        """The metric whose p-value the gate reports; see `deciding`."""
        return deciding(self.metrics, self.verdict)


def slices_decide(metrics: Sequence[MetricRecord]) -> int:
    """How many metrics may fail by any of their slices."""
    return sum(metric.slices is not None and metric.slices.decision is not None for metric in metrics)


def family_of(against: Sequence[str | None], slices: int = 0) -> str | None:
    """The size of a family in words, by its baselines' names; None for one test, which is not adjusted.

    `slices` are further tests, one for all slices of a metric.

    >>> family_of([None, None]), family_of(["main", "v1.2", None]), family_of(["main"]), family_of([None], 1)
    ('2 metrics', '3 comparisons', None, '2 tests')
    """
    if slices:
        return f"{len(against) + slices} tests"
    if len(against) < 2:
        return None
    return f"{len(against)} {'metrics' if set(against) == {None} else 'comparisons'}"


def deciding(metrics: Sequence[MetricRecord], verdict: Verdict) -> MetricRecord:
    """The deciding metric among those with the gate's verdict.

    A regression that was shown (or nearly) is decided by the smallest adjusted p-value, a claim that was not shown (or
    barely) by the largest. If both kinds decided, a shown regression precedes a missing claim, and a shown claim
    precedes one that was only not refuted:

    * fail, inconclusive: the no_regression or not_below metric with the smallest, else the other with the largest;
    * pass: the other with the largest, else the no_regression or not_below one with the smallest.

    Ties go to the first.
    """
    deciders = [metric for metric in metrics if metric.verdict == verdict]
    presumed = [metric for metric in deciders if metric.policy in PRESUMED]
    demanded = [metric for metric in deciders if metric.policy not in PRESUMED]
    if demanded and (verdict == "pass" or not presumed):
        return max(demanded, key=_log10_p)
    return min(presumed, key=_log10_p)


def _log10_p(metric: MetricRecord) -> float:
    return metric.deciding.log10_p_value_adjusted
