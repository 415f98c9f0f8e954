"""What a gate decides, as plain data: verdict, status, headers and reports are all read off `GateRecord.verdict`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..options import Alternative
from ..record import BoundsKind, TestRecord

Policy = Literal["no_regression", "non_inferior", "improve"]
Verdict = Literal["pass", "fail", "inconclusive"]
OnInconclusive = Literal["pass", "fail"]
Procedure = Literal["permutation", "bootstrap", "tango_score"]


@dataclass(frozen=True, slots=True)
class GateTerms:
    """What was asked of one metric. `margin` is in the statistic's units, at least 0.

    U is the candidate and V the baseline.
    """

    policy: Policy = "no_regression"
    margin: float = 0.0
    alpha: float = 0.05
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True)
class Decision:
    """The one-sided test that the verdict rests on, of the hypothesis that the policy puts to the proof.

    `difference` is the hypothesised difference that separates null and alternative: -margin or +margin in the
    statistic's units, 0 without a margin. `alternative` is what a small p-value shows. `p_value_adjusted` is Holm's
    (equal to `p_value` when there is one metric).
    """

    procedure: Procedure
    alternative: Alternative
    difference: float
    p_value: float
    log10_p_value: float
    p_value_bounds: tuple[float, float]
    p_value_bounds_kind: BoundsKind | Literal["asymptotic"]
    exact: bool
    min_attainable_p: float
    p_value_adjusted: float
    log10_p_value_adjusted: float
    significant: bool


@dataclass(frozen=True, slots=True)
class MetricRecord:
    """One metric of a gate: what was to be shown, what was found, and the verdict.

    `hypothesis` and `reason` are sentences. `test` is the ordinary test of a difference of 0, one-sided in the
    gate's direction, with estimates, interval and null distribution.
    """

    name: str
    terms: GateTerms
    hypothesis: str
    verdict: Verdict
    reason: str
    decision: Decision
    test: TestRecord


@dataclass(frozen=True, slots=True)
class GateRecord:
    """The answer of a gate: fail when a metric fails, else inconclusive when one is, else pass."""

    digest: str
    verdict: Verdict
    reason: str
    on_inconclusive: OnInconclusive
    correction: Literal["holm"] | None
    metrics: tuple[MetricRecord, ...]

    @property
    def passed(self) -> bool:
        """Whether a pull request may go on: the one field that status, headers and reports are read off."""
        return self.verdict == "pass" or (self.verdict == "inconclusive" and self.on_inconclusive == "pass")

    @property
    def notes(self) -> tuple[str, ...]:
        """How files were read, each note once, whatever number of metrics has it."""
        return tuple(dict.fromkeys(note for metric in self.metrics for note in metric.test.notes))

    @property
    def deciding(self) -> MetricRecord:
        """The metric that the gate's own p-value is taken from; see `deciding`."""
        return deciding(self.metrics, self.verdict)


def deciding(metrics: Sequence[MetricRecord], verdict: Verdict) -> MetricRecord:
    """Of the metrics with the gate's verdict, the one on which it hung.

    A regression shown (or nearly shown) hangs on the smallest adjusted p-value, something not shown (or barely shown)
    on the largest. Where both kinds decided together, a demonstrated regression comes before what is missing, and what
    was demonstrated before what was only not refuted:

    * fail, inconclusive: the no_regression metric with the smallest, else the other with the largest;
    * pass: the non_inferior or improve metric with the largest, else the no_regression one with the smallest.

    The first of several that tie.
    """
    deciders = [metric for metric in metrics if metric.verdict == verdict]
    presumed = [metric for metric in deciders if metric.terms.policy == "no_regression"]
    demanded = [metric for metric in deciders if metric.terms.policy != "no_regression"]
    if demanded and (verdict == "pass" or not presumed):
        return max(demanded, key=_log10_p)
    return min(presumed, key=_log10_p)


def _log10_p(metric: MetricRecord) -> float:
    return metric.decision.log10_p_value_adjusted
