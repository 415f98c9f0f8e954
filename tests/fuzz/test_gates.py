"""Gates through the front door, against every swap in fractions."""

from __future__ import annotations

import json
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.fuzz.amount import GENERATED, examples
from tests.fuzz.asgi import InProcess
from tests.fuzz.gate_cases import GateMetric, gate_case, verdicts

JSON = [(b"content-type", b"application/json")]
WORST = ("fail", "inconclusive", "pass")


@examples(60)
@given(st.integers(0, 2**63))
def test_a_gate_says_what_every_swap_in_fractions_says(service: InProcess, seed: int) -> None:
    request, metrics = gate_case(Random(seed))
    defined = all(metric.values()[0] is not None for metric in metrics)
    answered = service.ask("POST", "/v1/gate", b"", JSON, json.dumps(request).encode())
    answer = json.loads(answered.body)
    GENERATED["gates"] += 1
    if not defined:
        assert answered.status == 422, request
        assert {error["code"] for error in answer["errors"]} == {"undefined_statistic"}
        return
    if answered.status == 422:
        codes = {error["code"] for error in answer["errors"]}
        assert codes <= {"labels_never_match", "one_item"}, (request, answer)
        assert ("one_item" in codes) == any(metric.items == 1 for metric in metrics), (request, answer)
        GENERATED["gates refused by their labels, or for one item"] += 1
        return
    assert answered.status in {200, 409}, (request, answer)
    expected = verdicts(metrics)
    for metric, own, truth in zip(metrics, answer["metrics"], expected, strict=True):
        assert own["verdict"] == truth.verdict, (request, own["reason"])
        assert own["decision"]["p_value_adjusted"] == pytest.approx(float(truth.p_adjusted), rel=1e-9), (
            request
        )
        if truth.least is not None:
            assert own["decision"]["min_attainable_p"] == pytest.approx(float(truth.least), rel=1e-9), request
        judge_test(metric, own["test"], request)
        GENERATED[f"verdicts {truth.verdict}"] += 1
    overall = min((truth.verdict for truth in expected), key=WORST.index)
    passed = overall == "pass" or (overall == "inconclusive" and request["on_inconclusive"] == "pass")
    assert (answer["verdict"], answer["passed"]) == (overall, passed), request
    assert answered.status == (200 if passed else 409)


def judge_test(metric: GateMetric, test: dict[str, Any], request: dict[str, Any]) -> None:
    """The test of no difference beside the decision: its p, the least one, and a range that holds what was observed."""
    values = metric.values()
    toward = 1 if test["alternative"] == "greater" else -1
    known = [value for value in values if value is not None]
    if test["alternative"] != "two-sided":
        largest = max(toward * value for value in known)
        least = Fraction(sum(value is None or toward * value == largest for value in values), len(values))
    else:
        largest = max(abs(value) for value in known)
        least = Fraction(sum(value is None or abs(value) == largest for value in values), len(values))
    assert test["min_attainable_p"] == pytest.approx(float(least), rel=1e-9), request
    low, high = test["null"]["min"], test["null"]["max"]
    assert low <= test["statistic"]["observed"] <= high, request
    assert test["null"]["range_exact"], request
    if len(known) == len(values):
        assert (low, high) == pytest.approx((float(min(known)), float(max(known))), rel=1e-9, abs=1e-12), (
            request
        )
