import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import pytest

from exactperm.answers.gate import Decision, GateRecord, GateTerms, MetricRecord, Verdict
from exactperm.answers.test import (
    ConfidenceInterval,
    Discordant,
    EffectSize,
    ItemsRecord,
    LatticeRecord,
    MethodRecord,
    Moved,
    NamesRecord,
    NullRecord,
    StatisticRecord,
    TestRecord,
    WarningRecord,
)
from exactperm.inference.options import members

RECORD = TestRecord(
    id=f"t_{'9f86d081884c7d65' * 4}",
    p_value=0.0625,
    log10_p_value=-1.2041199826559248,
    p_value_bounds=(0.0625, 0.0625),
    p_value_bounds_kind="certified",
    p_value_fraction=None,
    significant=False,
    alpha=0.05,
    min_attainable_p=0.0625,
    alternative="two-sided",
    test="permutation",
    statistic=StatisticRecord("mean_difference", 0.056, 0.866, 0.81),
    items=ItemsRecord(n=5, nonzero=5, clusters=None, wins=5, ties=0, losses=0),
    method=MethodRecord("fft", True, 3.1e-14, "cheapest exact method", LatticeRecord(0.01, 4, 46), None),
    null=NullRecord(0.0, 0.021, -0.056, 0.056, None, None, None),
    warnings=(WarningRecord("alpha_unattainable", "No result could be significant."),),
    names=NamesRecord("U", "V"),
)

DESCRIBED = replace(
    RECORD,
    confidence_interval=ConfidenceInterval(0.95, 0.02, 0.07, "test_inversion", "exact", 0.0),
    effect_size=EffectSize(2.18, 0.68, Discordant(6, 1, 6.0, 0.73, 276.0)),
    moved=Moved(("q-17", "q-3"), ("q-5",)),
)
GATE_TEST = replace(DESCRIBED, names=NamesRecord("candidate", "baseline"), alternative="greater", warnings=())
HOSTILE = [
    "a\r\nINFO forged line",
    "a | b || c",
    "=cmd|' /C calc'!A0",
    "＝1+1",
    "\t=1+1",
    "\r@SUM(A1)",
    "-2+3",
    "`</code><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "&lt;b&gt; &amp; &#x3c;",
    "]]></system-out><failure/>",
    "</style></title><body onload=x>",
    "{{ 7 * 7 }}{% raw %}",
    "@everyone [x](javascript:alert(1)) ![y](//z)",
    "\u202ereversed\u2066\u2028next\x00\x1b[31m\ufeff",
    "\ud800 alone \udfff",
    "\ufffe\uffff",
    "مرحبا שלום",
    "👩‍🔬 résumé 😀",
    "\\",
    "",
    "   ",
    "long" * 5000,
]


@pytest.fixture
def described() -> TestRecord:
    """A test with an interval, effect sizes and the items that moved most."""
    return DESCRIBED


@pytest.fixture(params=HOSTILE, ids=range(len(HOSTILE)))
def hostile(request: pytest.FixtureRequest) -> str:
    """A hostile label, or one in another script."""
    return str(request.param)


@pytest.fixture
def record() -> Callable[..., TestRecord]:
    def make(**changes: Any) -> TestRecord:
        return replace(RECORD, **changes)

    return make


def metric_of(
    test: TestRecord,
    *,
    name: str = "mean_difference",
    verdict: Verdict = "pass",
    reason: str = "p = 0.03125 <= alpha = 0.05: the candidate is significantly better than the baseline.",
    p: float = 0.03125,
    adjusted: float | None = None,
    kind: Literal["certified", "confidence", "asymptotic"] = "certified",
    **terms: Any,
) -> MetricRecord:
    shown = p if adjusted is None else adjusted
    decision = Decision(
        procedure="tango_score" if kind == "asymptotic" else "permutation",
        alternative="greater",
        difference=0.0,
        p_value=p,
        log10_p_value=math.log10(p),
        p_value_bounds=(p, p),
        p_value_bounds_kind=kind,
        exact=kind == "certified",
        min_attainable_p=0.03125,
        p_value_adjusted=shown,
        log10_p_value_adjusted=math.log10(shown),
        significant=shown <= 0.05,
    )
    wanted = "The candidate is shown to be better than the baseline."
    return MetricRecord(
        name=name,
        verdict=verdict,
        reason=reason,
        hypothesis=wanted,
        decision=decision,
        test=test,
        **members(GateTerms(**terms)),
    )


@pytest.fixture
def gate() -> Callable[..., GateRecord]:
    """A gate of (name, verdict) metrics, or of given metrics; its verdict is the worst of theirs."""

    def make(
        *metrics: MetricRecord | tuple[str, Verdict],
        on_inconclusive: Literal["pass", "fail"] = "pass",
        test: TestRecord = GATE_TEST,
    ) -> GateRecord:
        made = tuple(
            each if isinstance(each, MetricRecord) else metric_of(test, name=each[0], verdict=each[1])
            for each in metrics
        )
        verdicts = {metric.verdict for metric in made}
        order: tuple[Verdict, ...] = ("fail", "inconclusive", "pass")
        verdict = next(each for each in order if each in verdicts)
        return GateRecord.of(
            digest="ab" * 32,
            verdict=verdict,
            reason="The reason.",
            on_inconclusive=on_inconclusive,
            metrics=made,
        )

    return make
