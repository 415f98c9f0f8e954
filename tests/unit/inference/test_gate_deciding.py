"""Which metric's p-value stands for the gate's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exactperm.answers.gate import GateRecord, GateTerms, MetricRecord, Policy, Verdict, deciding
from tests.unit.inference.gate_shorthands import decide, metric


def parts(*kinds: tuple[Policy, Verdict, float]) -> tuple[MetricRecord, ...]:
    (blank,) = decide(metric([1], [0])).metrics
    return tuple(
        replace(
            blank,
            name=str(index),
            terms=GateTerms(policy=policy),
            verdict=verdict,
            decision=replace(blank.decision, log10_p_value_adjusted=log10),
        )
        for index, (policy, verdict, log10) in enumerate(kinds)
    )


@pytest.mark.parametrize(
    ("verdict", "kinds", "expected"),
    [
        ("fail", [("no_regression", "fail", -2.0), ("no_regression", "fail", -3.0)], "1"),
        ("fail", [("improve", "fail", -0.1), ("improve", "fail", -0.01), ("improve", "pass", 0.0)], "1"),
        ("fail", [("improve", "fail", -0.1), ("no_regression", "fail", -2.0)], "1"),
        ("inconclusive", [("no_regression", "inconclusive", -0.5), ("no_regression", "pass", -9.0)], "0"),
        ("pass", [("no_regression", "pass", -0.5), ("no_regression", "pass", -1.0)], "1"),
        ("pass", [("improve", "pass", -5.0), ("improve", "pass", -2.0), ("no_regression", "pass", 0.0)], "1"),
        ("fail", [("improve", "fail", -0.5), ("improve", "fail", -0.5)], "0"),
    ],
)
def test_the_deciding_metric_is_the_one_the_verdict_hung_on(
    verdict: Verdict, kinds: list[tuple[Policy, Verdict, float]], expected: str
) -> None:
    found = parts(*kinds)
    assert deciding(found, verdict).name == expected
    assert (
        GateRecord.of(
            digest="0", verdict=verdict, reason="", on_inconclusive="pass", metrics=found
        ).deciding.name
        == expected
    )
