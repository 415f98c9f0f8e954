"""Effects of several numbers, small beside large: exact ones are right, brackets hold, and what is neither is refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from tests.fuzz import effect_cases
from tests.fuzz.amount import GENERATED, TIMES
from tests.fuzz.asgi import InProcess

CASES, BLOCKS, ALPHA = 200, 10, Fraction(1, 20)
JSON = [(b"content-type", b"application/json")]
REFUSALS = {
    "undefined_statistic",
    "value_too_large",
    "value_too_small",
    "expression_too_large",
    "number_too_long",
    "plan_too_large",
    "method_not_applicable",
    "not_certified",
}
# One answer in a hundred may lie outside of a 99 % interval: no more than so many standard errors beyond it.
SAMPLED_WITHIN = 7.0
# The short form of so few cases may have no bracket.
FEWEST_RIGHT = 0.5


@pytest.mark.parametrize("block", range(BLOCKS))
def test_effects_of_several_numbers_are_right_bracketed_or_refused(service: InProcess, block: int) -> None:
    source = Random(block if TIMES == 1 else None)
    cases = CASES * TIMES // BLOCKS
    right = 0
    for _ in range(cases):
        case = effect_cases.case(source)
        answered = service.ask("POST", "/v1/tests/effects", b"", JSON, case.body)
        outcome = judge(case, answered.status, json.loads(answered.body))
        right += outcome == "right"
        GENERATED[f"effects of several numbers: {outcome}"] += 1
        if source.random() < 0.1:
            judge_gate(case, service)
    assert right > FEWEST_RIGHT * cases


def judge(case: effect_cases.Case, status: int, said: dict[str, Any]) -> str:
    """What became of one: "right", "bracketed", "sampled" or "refused"; fails where it is wrong."""
    truth = case.truth(case.alternative)
    if status != 200:
        assert status == 422, (case, status, said)
        codes = {flaw["code"] for flaw in said["errors"]}
        assert codes <= REFUSALS, (case, said)
        assert truth is None or "undefined_statistic" not in codes, case
        return "refused"
    assert truth is not None, (case, said)
    wanted, observed = truth
    assert math.isclose(said["statistic"]["observed"], float(observed), rel_tol=1e-15), (case, observed, said)
    if said["p_value_bounds_kind"] == "confidence":
        # Of rounded sums the interval reaches from what is surely extreme to what may be.
        slack = SAMPLED_WITHIN * max(said["method"]["monte_carlo"]["standard_error"], 1e-3)
        low, high = said["p_value_bounds"]
        assert low - slack <= wanted <= high + slack, (case, wanted, said)
        return "sampled"
    p = Fraction(said["p_value"])
    low, high = map(Fraction, said["p_value_bounds"])
    assert low <= wanted <= high, (case, wanted, said)
    # A verdict never rests on what the bracket leaves open.
    assert not said["significant"] or wanted <= ALPHA, (case, wanted, said)
    if not said["method"]["exact"]:
        return "bracketed"
    bound = Fraction(said["method"]["relative_error_bound"])
    assert abs(p - wanted) <= bound * wanted, (case, wanted, said)
    fraction = said["p_value_fraction"]
    if fraction is not None:
        assert Fraction(int(fraction["numerator"]), 2 ** fraction["log2_denominator"]) == wanted, (case, said)
    return "right"


def judge_gate(case: effect_cases.Case, service: InProcess) -> None:
    """A gate passes only where the true p-value is at most alpha, unless it says that it sampled."""
    answered = service.ask("POST", "/v1/gate", b"", JSON, case.gate)
    assert answered.status in {200, 409, 422}, (case, answered)
    said = json.loads(answered.body)
    GENERATED[f"gates of several numbers: {said.get('verdict', 'refused')}"] += 1
    if answered.status == 200 and said["verdict"] == "pass":
        truth = case.truth("greater")
        sampled = said["metrics"][0]["decision"]["p_value_bounds_kind"] == "confidence"
        assert truth is not None, case
        assert truth[0] <= ALPHA or sampled, (case, truth, said)
