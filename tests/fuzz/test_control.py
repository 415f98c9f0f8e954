"""Samples with a control variate, through the front door, against every swap."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from random import Random
from secrets import randbits
from typing import Any

import pytest

from tests.fuzz.amount import GENERATED, TIMES
from tests.fuzz.asgi import CHEAP, InProcess, in_process
from tests.fuzz.control_cases import controlled_case

JSON = [(b"content-type", b"application/json")]
CASES = 50


@pytest.fixture(scope="module")
def roomy() -> Iterator[InProcess]:
    """With a budget for samples of every statistic: exact decisions on Matthews' correlation take their time."""
    with in_process(
        CHEAP.model_copy(
            update={"engine_budget_operations": 2_000_000_000, "engine_budget_bytes": 200_000_000}
        )
    ) as running:
        yield running


def answered(service: InProcess, kind: str, request: dict[str, Any]) -> dict[str, Any] | None:
    """The answer; None for a refusal of a statistic that has no value as observed."""
    found = service.ask("POST", f"/v1/tests/{kind}", b"", JSON, json.dumps(request).encode())
    result: dict[str, Any] = json.loads(found.body)
    if found.status == 422:
        assert {error["code"] for error in result["errors"]} == {"undefined_statistic"}, result
        return None
    assert found.status == 200, (result, request)
    return result


def check_controlled(answer: dict[str, Any], request: dict[str, Any]) -> None:
    """The estimate follows from what is said about it; nothing about it is called exact."""
    drawn, (low, high) = answer["method"]["monte_carlo"], answer["p_value_bounds"]
    assert (answer["method"]["exact"], answer["method"]["relative_error_bound"]) == (False, None)
    assert answer["p_value_bounds_kind"] == "confidence"
    assert drawn["samples"] == request["samples"]
    assert drawn["p_value_plain"] == (drawn["exceedances"] + 1) / (drawn["samples"] + 1)
    assert drawn["gained"] <= drawn["exceedances"]
    raw = drawn["control_p_value"] + (drawn["gained"] - drawn["lost"]) / drawn["samples"]
    expected = min(max(raw if raw > 0.0 else drawn["p_value_plain"], low), high)
    assert math.isclose(answer["p_value"], expected, rel_tol=1e-12)
    assert 0.0 < low <= answer["p_value"] <= high <= 1.0
    assert answer["min_attainable_p"] <= high
    assert answer["significant"] == (high <= answer["alpha"])
    straddles = low <= answer["alpha"] < high
    assert ("alpha_within_bounds" in {warning["code"] for warning in answer["warnings"]}) == straddles


@pytest.mark.slow
def test_controlled_intervals_hold_every_swap(roomy: InProcess) -> None:
    controlled, missed = 0, []
    for number in range(CASES * TIMES):
        seed = number if TIMES == 1 else randbits(63)
        kind, request, truth = controlled_case(Random(seed))
        answer = answered(roomy, kind, request)
        if truth is None or answer is None:
            assert truth is None
            assert answer is None
            continue
        drawn = answer["method"]["monte_carlo"]
        if drawn is None or drawn["control"] is None:
            continue
        controlled += 1
        assert drawn["control"] == "midpoint"
        check_controlled(answer, request)
        low, high = answer["p_value_bounds"]
        if not Fraction(low) * (1 - Fraction(1, 10**9)) <= truth <= Fraction(high) * (1 + Fraction(1, 10**9)):
            missed.append((seed, low, float(truth), high))
    GENERATED["samples with a control variate"] += controlled
    GENERATED["intervals of them that miss"] += len(missed)
    assert controlled >= CASES * TIMES // 2
    assert len(missed) <= max(controlled // 100, 1), missed
