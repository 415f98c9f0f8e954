"""Statistics of pairs against their definitions under all swaps: ties, groups, clusters, events, every scale."""

from __future__ import annotations

import json
import random

import pytest

from tests.fuzz import pair_cases
from tests.fuzz.amount import GENERATED, TIMES
from tests.fuzz.asgi import InProcess

CASES = 20


@pytest.mark.parametrize("name", pair_cases.NAMES)
def test_pairs_are_those_of_the_definition(service: InProcess, name: str) -> None:
    source = random.Random(name if TIMES == 1 else None)
    for _ in range(CASES * TIMES):
        case = pair_cases.case(source, name)
        answered = service.ask(
            "POST", "/v1/tests/predictions", b"", [(b"content-type", b"application/json")],
            json.dumps({**case.body, "exact_fraction": True}).encode(),
        )  # fmt: skip
        said = json.loads(answered.body)
        try:
            wanted = pair_cases.answer(case)
        except ZeroDivisionError:
            wanted = None
        if wanted is None:
            codes = {flaw["code"] for flaw in said["errors"]}
            assert answered.status == 422, case
            assert codes <= {"no_comparable_pair", "constant_scores", "unknown_positive"}, (case, said)
            GENERATED["statistics of pairs without a pair"] += 1
            continue
        GENERATED[f"cases of {name}, all swaps"] += 1
        u, v, p = wanted
        assert answered.status == 200, (case, said)
        assert said["method"]["exact"], case
        fraction = said["p_value_fraction"]
        assert (said["statistic"]["u"], said["statistic"]["v"]) == pytest.approx(
            (float(u), float(v)), abs=1e-15
        ), case
        assert said["p_value"] == pytest.approx(float(p), rel=1e-12), (case, float(p))
        assert int(fraction["numerator"]) * p.denominator == p.numerator * 2 ** int(
            fraction["log2_denominator"]
        ), case
