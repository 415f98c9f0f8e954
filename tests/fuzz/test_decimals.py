"""Scores of mixed magnitude tie as they are written, however they are handed over."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from typing import Any

import pytest

from tests.fuzz import decimals
from tests.fuzz.amount import GENERATED, TIMES
from tests.fuzz.asgi import InProcess

CASES = 250
BODIES = {"application/json": "as_json", "text/csv": "as_csv", "application/x-ndjson": "as_lines"}


@pytest.mark.parametrize("block", range(10))
def test_ties_are_those_of_the_decimals_as_written(service: InProcess, block: int) -> None:
    source = random.Random(block if TIMES == 1 else None)
    for _ in range(CASES * TIMES // 10):
        case = decimals.case(source)
        GENERATED["mixed decimals"] += 1
        expected = decimals.p_value(case)
        answers = []
        for media, body in BODIES.items():
            query = b"" if media == "application/json" else b"alternative=" + case.alternative.encode()
            answered = service.ask(
                "POST", "/v1/tests/scores", query, [(b"content-type", media.encode())], getattr(case, body)()
            )
            assert answered.status == 200, (case, answered.body[:500])
            answers.append(json.loads(answered.body))
        for answer in answers:
            judge(answer, expected, case)
            assert (answer["id"], answer["p_value"]) == (answers[0]["id"], answers[0]["p_value"]), case


def judge(answer: dict[str, Any], expected: Fraction, case: decimals.Case) -> None:
    """So few items are listed, and their p-value is the fraction itself."""
    assert answer["method"]["exact"], case
    assert answer["p_value"] == pytest.approx(float(expected), rel=1e-15), (case, expected)
    low, high = answer["p_value_bounds"]
    assert Fraction(low) <= expected <= Fraction(high) or math.isclose(low, float(expected), rel_tol=1e-15), (
        case
    )
