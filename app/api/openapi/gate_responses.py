"""The gate's answer, as the OpenAPI document describes it. It is written by `app.service.gate.run`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ...inference.gate.record import OnInconclusive, Policy, Procedure, Verdict
from ...inference.options import Alternative
from ...inference.record import BoundsKind
from .responses import Runtime, Said, TestSaid, Versions


class GateTermsAnswer(Said):
    """What had to be shown."""

    policy: Policy
    margin: float
    alpha: float
    higher_is_better: bool


class DecisionAnswer(Said):
    """The one-sided test that a verdict rests on: of `difference`, which separates the hypotheses."""

    procedure: Procedure
    alternative: Alternative
    difference: float
    p_value: Annotated[float, Field(gt=0, le=1)]
    log10_p_value: Annotated[float, Field(le=0)]
    p_value_bounds: tuple[float, float]
    p_value_bounds_kind: BoundsKind | Literal["asymptotic"]
    exact: bool
    min_attainable_p: float
    p_value_adjusted: Annotated[
        float, Field(gt=0, le=1, description="By Holm's method over all metrics; p_value itself for one.")
    ]
    log10_p_value_adjusted: Annotated[float, Field(le=0)]
    significant: bool


class MetricAnswer(GateTermsAnswer):
    """One metric: what had to be shown, what was found, the verdict, and the test of no difference."""

    name: str
    verdict: Verdict
    reason: str
    hypothesis: str
    decision: DecisionAnswer
    test: TestSaid


class GateAnswer(GateTermsAnswer):
    """The answer of a gate. Policy, margin and so on are those of the metric that decided."""

    id: Annotated[str, Field(pattern="^g_[0-9a-f]{16}$")]
    verdict: Verdict
    passed: Annotated[bool, Field(description="Whether the status is 200.")]
    reason: str
    on_inconclusive: OnInconclusive
    correction: Literal["holm"] | None
    p_value: Annotated[float, Field(gt=0, le=1, description="The one that decided, adjusted.")]
    log10_p_value: Annotated[float, Field(le=0)]
    metrics: list[MetricAnswer]
    runtime: Runtime
    versions: Versions
    signature: str
