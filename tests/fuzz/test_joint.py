"""Statistics of several sums through the front door, against every swap in fractions."""

from random import Random

from hypothesis import given, strategies as st

from tests.fuzz.asgi import GENERATED, InProcess, examples, judge_certified
from tests.fuzz.joint_cases import joint_case


@examples(200)
@given(st.integers(0, 2**63))
def test_a_joint_statistic_equals_every_swap_in_fractions(service: InProcess, seed: int) -> None:
    case = joint_case(Random(seed))
    truth = case.p_value()
    status, result = service.post(f"/v1/tests/{case.kind}", case.request)
    GENERATED["joint cases"] += 1
    if truth is None:
        assert status == 422, result
        assert {error["code"] for error in result["errors"]} == {"undefined_statistic"}
        return
    if status == 422 and case.request["method"] != "auto":
        codes = {error["code"] for error in result["errors"]}
        assert codes <= {"plan_too_large", "method_not_applicable", "not_certified"}, result
        GENERATED["joint cases refused by the method they asked for"] += 1
        return
    assert status == 200, (result, case.request)
    assert result["p_value_bounds_kind"] == "certified", case.request
    assert result["method"]["exact"]
    judge_certified(result, truth, case.request)
    assert result["min_attainable_p"] <= result["p_value"] * (1 + 1e-12)
