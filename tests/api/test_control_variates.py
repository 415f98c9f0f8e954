"""Every report says of samples with a control variate that they have one: of tests, of gates, in pictures."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest


def labels(control: bool) -> dict[str, Any]:
    """Macro F1 of three classes, which has a linear part; or scores, whose samples need none."""
    draw = random.Random(7)
    gold = [draw.randrange(3) for _ in range(60)]
    u, v = ([g if draw.random() < skill else draw.randrange(3) for g in gold] for skill in (0.8, 0.6))
    drawn = {"method": "monte_carlo", "samples": 1000, "seed": 3}
    if not control:
        return {"u": u, "v": v, **drawn}
    statistic = {"name": "f1", "average": "macro"}
    named = {"gold": list(map(str, gold)), "u": list(map(str, u)), "v": list(map(str, v))}
    return {**named, "statistic": statistic, **drawn}


def asked(service: Any, gate: bool, control: bool, form: str) -> str:
    kind, body = ("predictions" if control else "scores"), labels(control)
    if gate:
        asked_for = {"kind": kind, "request": body, "policy": "improve"}
        answer = service.post(f"/v1/gate?fail_status=200&format={form}", asked_for)
    else:
        answer = service.post(f"/v1/tests/{kind}?format={form}", body)
    assert answer.status_code == 200, answer.text
    text = str(answer.text)
    return " ".join((re.sub(r"<[^>]*>", " ", text) if form == "html" else text).split())


@pytest.mark.parametrize("gate", [False, True], ids=["test", "gate"])
@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_what_is_sampled_is_said_to_have_its_control_variate(service: Any, form: str, gate: bool) -> None:
    controlled, plain = (asked(service, gate, control, form) for control in (True, False))
    assert "sampled, with a control variate" in controlled
    assert "control variate" not in plain
    assert re.search(r"sampled\b(?!,? with a control variate)", plain)
    # Nowhere is the certainty of the p-value "sampled" and nothing more.
    assert not re.findall(r"\(sampled[,)](?! with a control variate)|\bis sampled\.|\bsampled;", controlled)


def test_a_picture_says_so_in_its_subtitle_and_to_who_cannot_see_it(service: Any) -> None:
    drawn = service.post("/v1/tests/predictions?format=svg", labels(control=True)).text
    described = re.search(r"<desc[^>]*>([^<]*)</desc>", drawn)
    assert described is not None
    assert "sampled, with a control variate." in described[1]
    words = " ".join(re.sub(r"<(desc|title)[^>]*>[^<]*</\1>|<[^>]*>", " ", drawn).split())
    assert "sampled, with a control variate (monte_carlo)" in words
    assert "control variate" not in service.post("/v1/tests/scores?format=svg", labels(control=False)).text
