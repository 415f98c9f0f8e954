"""Values of formulas beside the p-value: those of fractions, where doubles lose what cancels."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

LONG = "((((1e-3/x1)+(x1+x1))+((x1*x1)/(x1/1e6)))/min((min(x1,x1)+x1),(x1-(x1-x1)))) - 1e6 - 2"
EFFECTS: list[tuple[str, Callable[[Fraction], Fraction], list[int], list[int]]] = [
    (LONG, lambda a: (Fraction(1, 1000) / a + 2 * a + a * 10**6) / a - 10**6 - 2, [9, 5], [8, 6]),
    ("(3/x1)*x1 - 3", lambda _: Fraction(0), [14, 9, 3], [9, 14, 1]),
    ("(3/x1)*x1 - 3 + x1/1e20", lambda a: a / 10**20, [14, 9, 3], [9, 14, 1]),
]


@pytest.mark.parametrize(("expression", "value", "stay", "swap"), EFFECTS)
def test_what_cancels_is_exact(
    service: Any, expression: str, value: Callable[[Fraction], Fraction], stay: list[int], swap: list[int]
) -> None:
    body = {"stay": stay, "swap": swap, "statistic": {"expression": expression}, "pmf": "none"}
    answer = service.post("/v1/tests/effects", body).json()
    values = [value(Fraction(sum(one))) for one in itertools.product(*zip(stay, swap, strict=True))]
    assert answer["statistic"]["observed"] == float(values[0])
    assert answer["null"]["min"] == float(min(values))
    assert answer["null"]["max"] == float(max(values))


def test_equal_counts_differ_by_nothing(service: Any) -> None:
    body = {
        "u": {"b": [3, 3], "c": [2, 1]},
        "v": {"b": [5, 2], "c": [1, 2]},
        "statistic": {"name": "expression", "expression": "(c + (((b/1e6)/abs(b))*10))"},
    }
    answer = service.post("/v1/tests/counts", body).json()
    assert answer["statistic"]["observed"] == 0.0
    assert answer["statistic"]["u"] == answer["statistic"]["v"] == 3.00001


def test_roots_that_cancel_are_told_from_rounding(service: Any) -> None:
    expression = "sqrt(x1*x1)*sqrt(2) - abs(x1)*sqrt(2) + 1e-30*x2"
    body = {"stay": [[7, 3], [2, 5]], "statistic": {"expression": expression}}
    answer = service.post("/v1/tests/effects", body).json()
    assert answer["statistic"]["observed"] == 8e-30
    assert (answer["null"]["min"], answer["null"]["max"]) == (-8e-30, 8e-30)


def test_a_unit_ties_where_its_values_are_the_same_number(service: Any) -> None:
    """sqrt(2) sqrt(3) is sqrt(6), though not of doubles; of the second unit the values do differ."""
    body = {
        "stay": [[2, 3], [1, 1]],
        "swap": [[6, 1], [2, 2]],
        "statistic": {"expression": "sqrt(x1)*sqrt(x2)"},
    }
    items = service.post("/v1/tests/effects", body).json()["items"]
    assert (items["wins"], items["ties"], items["losses"]) == (0, 1, 1)
