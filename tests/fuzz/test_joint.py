"""Statistics of several sums through the front door, against every swap in fractions."""

from __future__ import annotations

import json
from fractions import Fraction
from random import Random

from hypothesis import given, strategies as st

from tests.fuzz.asgi import GENERATED, InProcess, examples
from tests.fuzz.joint_cases import joint_case

JSON = [(b"content-type", b"application/json")]


@examples(200)
@given(st.integers(0, 2**63))
def test_a_joint_statistic_equals_every_swap_in_fractions(service: InProcess, seed: int) -> None:
    case = joint_case(Random(seed))
    truth = case.p_value()
    answered = service.ask("POST", f"/v1/tests/{case.kind}", b"", JSON, json.dumps(case.request).encode())
    result = json.loads(answered.body)
    GENERATED["joint cases"] += 1
    if truth is None:
        assert answered.status == 422, result
        assert {error["code"] for error in result["errors"]} == {"undefined_statistic"}
        return
    if answered.status == 422 and case.request["method"] != "auto":
        codes = {error["code"] for error in result["errors"]}
        assert codes <= {"plan_too_large", "method_not_applicable", "not_certified"}, result
        GENERATED["joint cases refused by the method they asked for"] += 1
        return
    assert answered.status == 200, (answered.body[:500], case.request)
    low, high = result["p_value_bounds"]
    assert result["p_value_bounds_kind"] == "certified", case.request
    assert result["method"]["exact"]
    assert Fraction(low) <= truth <= Fraction(high), (case.request, result["p_value"], truth)
    bound = Fraction(result["method"]["relative_error_bound"])
    assert abs(Fraction(result["p_value"]) - truth) <= bound * truth + Fraction(1, 2**1074)
    if result["p_value_fraction"] is not None:
        fraction = result["p_value_fraction"]
        assert Fraction(int(fraction["numerator"]), 2 ** fraction["log2_denominator"]) == truth
    assert result["min_attainable_p"] <= result["p_value"] * (1 + 1e-12)
