"""The bootstrap of a function of several sums does not depend on the unit of the numbers."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import pytest

ROWS = [[3, 1], [-1, 2], [2, -1], [4, 1], [1, 3]]


def truth(rows: list[list[int]], value: Callable[[int, int], int], side: str) -> float:
    """By all resamples: |t* - t| >= |t|, or one-sided."""
    values = []
    for drawn in itertools.product(rows, repeat=len(rows)):
        first, second = (sum(row[at] for row in drawn) for at in (0, 1))
        values.append(value(first, second))
    seen = value(sum(row[0] for row in rows), sum(row[1] for row in rows))
    shifts = [value - seen for value in values]
    if side == "two-sided":
        reached = sum(abs(shift) >= abs(seen) for shift in shifts)
    else:
        reached = sum(shift >= seen if side == "greater" else shift <= seen for shift in shifts)
    return reached / len(shifts)


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("unit", ["1e-12", "1e-9", "1", "1e9"])
def test_a_bootstrap_is_the_same_in_any_unit(service: Any, unit: str, side: str) -> None:
    rows = ",".join(f"[{one}{unit[1:]}, {other}{unit[1:]}]" for one, other in ROWS)
    body = (
        f'{{"stay": [{rows}], "statistic": {{"expression": "x1*x2"}}, "test": "bootstrap", "alternative": "{side}", '
        '"samples": 20000, "pmf": "none"}'
    )
    answer = service.body("/v1/tests/effects", body.encode()).json()
    low, high = answer["p_value_bounds"]
    assert low <= truth(ROWS, operator.mul, side) <= high


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
def test_small_numbers_decide_beside_large_ones(service: Any, side: str) -> None:
    """Without the second number half of the resamples would tie, which its sum decides."""
    rows = [[10**15, 1], [1, 3], [-2, 1], [1, 2], [0, 2]]
    body = {
        "stay": rows,
        "statistic": {"expression": "abs(x1)+x2"},
        "test": "bootstrap",
        "alternative": side,
        "samples": 20_000,
        "pmf": "none",
    }
    answer = service.post("/v1/tests/effects", body).json()
    low, high = answer["p_value_bounds"]
    assert low <= truth(rows, lambda first, second: abs(first) + second, side) <= high
