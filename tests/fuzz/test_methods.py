"""Every method against every other, and all against counting, through the front door."""

from __future__ import annotations

import json
from fractions import Fraction
from random import Random

from hypothesis import given, strategies as st

from tests.fuzz.amount import GENERATED, examples
from tests.fuzz.asgi import InProcess
from tests.fuzz.sum_cases import METHODS, sum_case

JSON = [(b"content-type", b"application/json")]
REFUSALS = {"plan_too_large", "method_not_applicable", "not_certified"}
# One answer in a hundred may lie outside of a 99 % interval: no more than so many standard errors outside.
SAMPLED_WITHIN = 7.0


@examples(60)
@given(st.integers(0, 2**63))
def test_every_method_holds_the_counted_p_value(service: InProcess, seed: int) -> None:
    case = sum_case(Random(seed))
    truth = case.p_value()
    for method in METHODS:
        body = json.dumps({**case.request, "method": method}).encode()
        answered = service.ask("POST", "/v1/tests/effects", b"", JSON, body)
        result = json.loads(answered.body)
        GENERATED["answers of one sum by every method"] += 1
        if answered.status == 422 and method != "auto":
            assert {error["code"] for error in result["errors"]} <= REFUSALS, result
            continue
        assert answered.status == 200, (result, case)
        p = Fraction(result["p_value"])
        if result["p_value_bounds_kind"] == "confidence":
            error = result["method"]["monte_carlo"]["standard_error"]
            assert abs(float(p - truth)) <= SAMPLED_WITHIN * max(error, 1e-4), (method, case)
            continue
        low, high = map(Fraction, result["p_value_bounds"])
        assert low <= truth <= high, (method, case, result["p_value"], float(truth))
        bound = result["method"]["relative_error_bound"]
        assert abs(p - truth) <= Fraction(bound) * truth + Fraction(1, 2**1074), (method, case)
        if result["p_value_fraction"] is not None:
            fraction = result["p_value_fraction"]
            assert Fraction(int(fraction["numerator"]), 2 ** fraction["log2_denominator"]) == truth
