"""Results of a gate, of a plan, and of `/v1/meta`; see `results`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..answers.gate import Decision, EquivalenceRecord
from ..answers.plan import PlannedMethod
from .notebook import GateInNotebook
from .plan_notebook import PlanInNotebook
from .results import Evidence, Runtime, Sensitivity, TestResult, Versions

Verdict = Literal["pass", "fail", "inconclusive", "continue"]

# Classes of answers that the client reads as they are.
Equivalence = EquivalenceRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricResult(Evidence):
    """One metric of a gate; or one against the baseline of this name, where there are several."""

    name: str
    against: str | None = None
    verdict: Verdict
    reason: str
    hypothesis: str
    policy: str
    margin: float
    alpha: float
    higher_is_better: bool
    decision: Decision
    sensitivity: Sensitivity | None = None
    test: TestResult
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def terms(self) -> MetricResult:
        """What the metric had to show: policy, margin, alpha and higher_is_better are its own members."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult(GateInNotebook, Evidence):
    """The answer of a gate; `passed` is what a script should look at."""

    id: str
    verdict: Verdict
    passed: bool
    reason: str
    policy: str
    margin: float
    alpha: float
    higher_is_better: bool
    on_inconclusive: str
    correction: str | None = None
    p_value: float
    log10_p_value: float
    metrics: tuple[MetricResult, ...]
    runtime: Runtime | None = None
    versions: Versions | None = None
    signature: str | None = None
    permalink: str | None = field(default=None, compare=False)
    raw: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(PlanInNotebook):
    """The method and cost of a test, and the alternatives."""

    kind: str
    method: str
    exact: bool
    operations: float
    bytes: float
    seconds: float
    reason: str
    alternatives: tuple[PlannedMethod, ...]
    versions: Versions
    raw: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """What a server can do and how far it goes; `raw` has statistics, formats and media types as well."""

    versions: Versions
    limits: Mapping[str, float]
    tests: tuple[str, ...]
    methods: tuple[str, ...]
    raw: Mapping[str, Any] = field(repr=False, compare=False)
