"""Effects of several numbers that take more than 60 bits together, against all swaps in fractions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from tests.api.conftest import error_of

TINY = [61e-7, -68e-5, 87e-7, 25e-6, 73e-7, 72e-7]
BESIDE = [-0.0037, 0.0073, 0.00014, 0.0009, 0.0028, 0.00061, 0.0054]
FORMULAS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "x1": lambda a, _: a,
    "abs(x1)": lambda a, _: abs(a),
    "x1/7 + 3*x2": lambda a, b: a / 7 + 3 * b,
    "1e-9*x1 - x2": lambda a, b: a / 10**9 - b,
    "x1/(x2*x2 + 1)": lambda a, b: a / (b * b + 1),
    "max(x1, x2)": max,
    "x1*x2": lambda a, b: a * b,
}


def truth(rows: list[list[float]], formula: Callable[[Fraction, Fraction], Fraction], side: str) -> Fraction:
    """By listing all assignments; the numbers are the decimals that they print as."""
    items = [[Fraction(repr(float(number))) for number in row] for row in rows]

    def value(signs: tuple[int, ...]) -> Fraction:
        first, second = (
            sum((sign * item[at] for sign, item in zip(signs, items, strict=True)), Fraction(0))
            for at in (0, 1)
        )
        return formula(first, second)

    values = [value(signs) for signs in itertools.product((1, -1), repeat=len(rows))]
    seen = values[0]
    if side == "two-sided":
        extreme = sum(abs(one) >= abs(seen) for one in values)
    else:
        extreme = sum(one >= seen if side == "greater" else one <= seen for one in values)
    return Fraction(extreme, len(values))


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("expression", FORMULAS)
@pytest.mark.parametrize("large", [1e15, -1e18, 1e25])
def test_effects_of_several_numbers_have_the_p_value_of_counting(
    service: Any, large: float, expression: str, side: str
) -> None:
    rows = [[number, 1.0 + index % 2] for index, number in enumerate([large, *TINY])]
    body = {"stay": rows, "statistic": {"expression": expression}, "alternative": side, "pmf": "none"}
    answer = service.post("/v1/tests/effects", body).json()
    wanted = float(truth(rows, FORMULAS[expression], side))
    assert (answer["p_value"], answer["p_value_bounds"], answer["method"]["exact"]) == (
        wanted,
        [wanted] * 2,
        True,
    )


@pytest.mark.parametrize("method", ["enumeration", "bounds", "monte_carlo"])
def test_methods_by_name_hold_for_the_effects_as_they_are(service: Any, method: str) -> None:
    rows = [[number, 1.0] for number in [1e15, *BESIDE]]
    for expression in ("x1", "x1/(x2*x2 + 1)"):
        body = {
            "stay": rows,
            "statistic": {"expression": expression},
            "method": method,
            "alternative": "greater",
        }
        response = service.post("/v1/tests/effects", body)
        if response.status_code == 422:
            assert method == "bounds"
            continue
        low, high = response.json()["p_value_bounds"]
        assert low <= truth(rows, FORMULAS[expression], "greater") <= high


def test_a_gate_does_not_pass_by_rounded_numbers(service: Any) -> None:
    """The true p is 7/128, above alpha; of the numbers rounded to 60 bits it was 1/32."""
    rows = [[number, 1] for number in [1e15, *BESIDE]]
    assert truth([[float(a), float(b)] for a, b in rows], FORMULAS["x1"], "greater") == Fraction(7, 128)
    body = {
        "kind": "effects",
        "policy": "improve",
        "higher_is_better": True,
        "request": {"stay": rows, "statistic": {"expression": "x1"}},
    }
    response = service.post("/v1/gate", body)
    assert response.status_code == 409
    assert response.json()["p_value"] == 7 / 128


def test_clusters_and_swaps_are_summed_exactly(service: Any) -> None:
    stay = [[1e15, 1], [0.0047, 1], [1e-9, 2], [-1e15, 1], [-0.0033, 1]]
    swap = [[-1e15, 1], [0.0046, 1], [3e-9, 2], [1e15, -1], [0.5, 1]]
    clusters = ["a", "b", "b", "a", "c"]
    merged = []
    for side in (stay, swap):
        sums = {key: [Fraction(0), Fraction(0)] for key in "abc"}
        for key, row in zip(clusters, side, strict=True):
            sums[key] = [
                total + Fraction(repr(float(number))) for total, number in zip(sums[key], row, strict=True)
            ]
        merged.append(list(sums.values()))
    values = []
    for chosen in itertools.product((0, 1), repeat=3):
        rows = [merged[side][at] for at, side in enumerate(chosen)]
        first, second = (sum((row[k] for row in rows), Fraction(0)) for k in (0, 1))
        values.append(first / (second * second + 1))
    wanted = sum(value >= values[0] for value in values) / 8
    body = {
        "stay": stay,
        "swap": swap,
        "clusters": clusters,
        "alternative": "greater",
        "statistic": {"expression": "x1/(x2*x2 + 1)"},
    }
    answer = service.post("/v1/tests/effects", body).json()
    assert (answer["p_value"], answer["method"]["exact"]) == (wanted, True)


def test_many_doubles_are_not_rounded_either(service: Any) -> None:
    """Eleven thousand numbers of 17 digits: the first decides by half, the others, which 60 bits lose beside it, by the rest."""
    rng = np.random.default_rng(3)
    small = rng.normal(size=(11_000, 2)) * 1e-9
    small[:, 1] = 0.0
    small[0] = 1e15, 1.0
    rows = small.tolist()
    total = sum(Fraction(row[0]) for row in rows)
    body = {
        "stay": rows,
        "statistic": {"expression": "x1/(x2*x2 + 1)"},
        "alternative": "greater",
        "pmf": "none",
    }
    answer = service.post("/v1/tests/effects", {**body, "samples": 2_000}).json()
    assert answer["statistic"]["observed"] == float(total / 2)
    assert answer["p_value_bounds_kind"] == "confidence"
    low, high = answer["p_value_bounds"]
    others = small[1:, 0]
    normal = NormalDist().cdf(-float(others.sum()) / float(np.sqrt((others**2).sum())))
    assert low - 0.01 <= normal / 2 <= high + 0.01
    assert "scores_rounded" not in {warning["code"] for warning in answer["warnings"]}


def test_numbers_of_too_many_digits_are_refused_where_they_are_many(service: Any) -> None:
    rows = [[1 / 3, 1.0], [1e-200 / 3, 1.0], [1e-60 / 3, 1.0], [1e-120 / 3, 1.0]] * 2_600
    body = {"stay": rows, "statistic": {"expression": "x1*x2"}}
    assert error_of(service.post("/v1/tests/effects", body))[1] == "number_too_long"


@pytest.mark.parametrize("expression", ["x1 - x2", "abs(x1 - x2) + 0*x1*x2", "min(x1, x2) - max(x1, x2)"])
@pytest.mark.parametrize("long", [0.12345678901234567, 1000000000000001.0])
def test_equal_numbers_are_equal_beside_a_number_that_is_no_short_decimal(
    service: Any, long: float, expression: str
) -> None:
    """One column cannot be taken as decimals: 0.3 of the other is the same 0.3 still, and the first item changes nothing."""
    body = {"stay": [[0.3, 0.3], [long, 0.5]], "statistic": {"expression": expression}}
    assert service.post("/v1/tests/effects", body).json()["p_value"] == 1.0


@pytest.mark.parametrize("expression", ["x1", "abs(x1)"])
@pytest.mark.parametrize("swap", [[-1.0, 0.25, 7.5], None])
def test_the_range_of_a_long_sum_is_that_of_its_numbers(
    service: Any, swap: list[float] | None, expression: str
) -> None:
    """The largest or the smallest sums cancel: what 60 bits leave of them is rounding."""
    stay = [1e25, -0.7, 3.0]
    body = {"stay": stay, "statistic": {"expression": expression}}
    if swap is not None:
        swap = [1e-7, *swap[1:]]
        body["swap"] = swap
    other = [-number for number in stay] if swap is None else swap
    pairs = [[Fraction(repr(number)) for number in pair] for pair in zip(stay, other, strict=True)]
    sums = [sum(chosen, Fraction(0)) for chosen in itertools.product(*pairs)]
    values = [abs(one) for one in sums] if expression == "abs(x1)" else sums
    null = service.post("/v1/tests/effects", body).json()["null"]
    assert null["range_exact"]
    assert (null["min"], null["max"]) == (float(min(values)), float(max(values)))


def test_the_range_of_many_long_numbers_is_not_called_exact(service: Any) -> None:
    """Of more doubles than are kept only rounded ones are left, and the range is theirs."""
    stay = [1e25, *(np.random.default_rng(1).random(10_500)).tolist()]
    body = {"stay": stay, "swap": [0.0] * len(stay), "statistic": {"expression": "x1"}, "samples": 1000}
    answer = service.post("/v1/tests/effects", body).json()
    assert not answer["null"]["range_exact"]
    assert answer["null"]["min"] <= answer["statistic"]["observed"] <= answer["null"]["max"]
