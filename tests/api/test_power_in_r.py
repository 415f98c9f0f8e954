"""Power as R has it: pwr's normal tests, and binary designs summed over R's own exact binomial tests."""

from __future__ import annotations

import shutil
import subprocess
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

ORACLE = Path(__file__).parents[1] / "oracles" / "power" / "pwr"
LINES = [line.split() for line in ORACLE.with_suffix(".txt").read_text("utf-8").splitlines()]
NORMAL = [list(map(float, line)) for line in takewhile(lambda line: line[0] != "p10", LINES[1:])]
BINARY = [list(map(float, line)) for line in LINES[len(NORMAL) + 2 :]]


def power(
    service: Any, design: dict[str, Any], n: float, alpha: float, two_sided: float, **more: Any
) -> float:
    question = {
        "solve": "power",
        "n": int(n),
        "alpha": alpha,
        "alternative": "two-sided" if two_sided else "greater",
    }
    answered = service.post("/v1/power", {"design": design, **question, **more})
    assert answered.status_code == 200, answered.text
    found: float = answered.json()["solution"]["power"]
    return found


def test_a_known_standard_deviation(service: Any) -> None:
    assert len(NORMAL) == 24 * 2
    for sd, effect, n, alpha, two_sided, expected in NORMAL:
        found = power(service, {"kind": "sd", "sd": sd}, n, alpha, two_sided, effect=effect)
        assert found == pytest.approx(expected, rel=1e-9), (sd, effect, n, alpha, two_sided)


def test_right_or_wrong_items(service: Any) -> None:
    assert len(BINARY) == 36
    for p10, p01, n, alpha, two_sided, expected in BINARY:
        found = power(service, {"kind": "binary", "p10": p10, "p01": p01}, n, alpha, two_sided)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-15), (p10, p01, n, alpha, two_sided)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_says_what_was_recorded() -> None:
    said = subprocess.run(["Rscript", ORACLE.with_suffix(".R")], capture_output=True, text=True, check=False)
    if "there is no package" in said.stderr:
        pytest.skip("pwr is not installed")
    assert said.stdout == ORACLE.with_suffix(".txt").read_text("utf-8")
