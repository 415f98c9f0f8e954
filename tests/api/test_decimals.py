"""Decimals, dust and full nulls through the front door."""

from __future__ import annotations

import io
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.api.conftest import error_of, problem

DUSTY = {"u": [0.30000000000000004, 0.4, 0.1], "v": [0.2, 0.3, 0.2]}


def warned(answer: dict[str, Any]) -> list[str]:
    return [one["code"] for one in answer["warnings"]]


@pytest.mark.parametrize(
    ("body", "p"),
    [
        # 0.1 + 0.2 ties with 0.3 beside 9999 and 1e-12.
        (
            {"u": [0.3, 0.1, 0.6, 9999, 1e-12], "v": [0.4, 0.4, 0.3, 9999, 1e-12], "alternative": "greater"},
            3 / 4,
        ),
        ({"u": [5e-324] * 6, "v": [0] * 6}, 1 / 32),
        ({"u": [1e22, 0.1, 0.2, 0.3], "v": [1e22, 0, 0, 0.6], "alternative": "greater"}, 5 / 8),
        ({"u": [1e299, 1e-300, 0], "v": [0, 0, 1e-300], "alternative": "greater"}, 3 / 8),
    ],
)
def test_short_decimals_tie_as_written_whatever_their_magnitudes(
    service: Any, body: dict[str, Any], p: float
) -> None:
    answer = service.post("/v1/tests/scores", body).json()
    assert (answer["p_value"], answer["p_value_bounds"], answer["method"]["exact"]) == (p, [p, p], True)
    assert "scores_rounded" not in warned(answer)
    if body["u"][0] != 5e-324:
        differences = [u - v for u, v in zip(body["u"], body["v"], strict=True)]
        assert len(differences) == answer["items"]["n"]


def test_effects_tie_as_written_too(service: Any) -> None:
    body = {"stay": [-0.1, -0.3, 0.3, 1e-12, 1e12], "alternative": "greater"}
    answer = service.post("/v1/tests/effects", body).json()
    scores = {"u": body["stay"], "v": [0] * 5, "alternative": "greater"}
    assert answer["p_value"] == service.post("/v1/tests/scores", scores).json()["p_value"]
    assert answer["method"]["exact"]


@pytest.mark.parametrize("method", ["bounds", "monte_carlo"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_what_is_rounded_is_said_and_bracketed(service: Any, method: str, alternative: str) -> None:
    body = {
        "u": [0.1 * k for k in range(14)] + [1e9 + 1 / 3, 1e-9 / 7],
        "v": [1.3 - 0.11 * k for k in range(14)] + [1e9, 1 / 7],
        "alternative": alternative,
    }
    exact = service.post("/v1/tests/scores", body).json()
    other = service.post("/v1/tests/scores", {**body, "method": method}).json()
    assert exact["method"]["exact"]
    assert not other["method"]["exact"]
    assert "scores_rounded" in warned(other)
    low, high = other["p_value_bounds"]
    assert low <= exact["p_value"] <= high


def test_many_real_scores_get_a_bracket_and_the_warning(service: Any) -> None:
    rng = np.random.default_rng(5)
    body = {"u": rng.normal(size=300).tolist(), "v": rng.normal(size=300).tolist(), "pmf": "none"}
    answer = service.post("/v1/tests/scores", body).json()
    assert answer["p_value_bounds_kind"] == "certified"
    assert {"scores_rounded", "float_dust"} <= set(warned(answer))
    assert error_of(service.post("/v1/tests/scores", {**body, "method": "fft"}))[0] == "/method"


def test_the_bootstrap_of_rounded_scores_holds_for_the_scores_as_they_are(service: Any) -> None:
    body = {"u": [6e-300, 7e12, 5, 1e-200, 1e299], "v": [1e-300, 6e12, 4, 0, 0], "test": "bootstrap"}
    answer = service.post("/v1/tests/scores", body).json()
    effects = [Fraction(repr(u)) - Fraction(repr(v)) for u, v in zip(body["u"], body["v"], strict=True)]
    seen = sum(effects, Fraction(0))
    resampled = [sum(drawn, Fraction(0)) - seen for drawn in itertools.product(effects, repeat=5)]
    truth = Fraction(sum(abs(shift) >= abs(seen) for shift in resampled), len(resampled))
    low, high = answer["p_value_bounds"]
    assert low <= truth <= high
    assert "scores_rounded" in warned(answer)
    assert answer["method"]["exact"] == (high <= low * (1 + 3e-6))


@pytest.mark.parametrize("where", ["json", "csv", "npy", "plan"])
def test_decimals_round_scores_wherever_options_stand(service: Any, where: str) -> None:
    if where == "plan":
        envelope = {"kind": "scores", "request": {**DUSTY, "decimals": 12}}
        assert service.post("/v1/plan", envelope).status_code == 200
        return
    if where == "json":
        answers = [service.post("/v1/tests/scores", {**DUSTY, **more}) for more in ({}, {"decimals": 12})]
    else:
        columns = np.array([DUSTY["u"], DUSTY["v"]]).T
        stream = io.BytesIO()
        np.save(stream, columns)
        table = "u,v\n" + "\n".join(f"{u!r},{v!r}" for u, v in columns.tolist())
        content, media = (
            (table.encode(), "text/csv") if where == "csv" else (stream.getvalue(), "application/x-npy")
        )
        answers = [service.body(f"/v1/tests/scores{query}", content, media) for query in ("", "?decimals=12")]
    plain, rounded = (answer.json() for answer in answers)
    assert (plain["p_value"], rounded["p_value"]) == (0.5, 1.0)
    assert "float_dust" in warned(plain)
    assert "float_dust" not in warned(rounded)


@pytest.mark.parametrize("decimals", [-1, 13, 1.5, "2", True])
def test_other_decimals_are_refused(service: Any, decimals: Any) -> None:
    assert error_of(service.post("/v1/tests/scores", {**DUSTY, "decimals": decimals}))[0] == "/decimals"


def test_decimals_are_of_scores_alone(service: Any) -> None:
    body = {"u": {"tp": [1], "incorrect": [1]}, "v": {"tp": [1], "incorrect": [1]}, "decimals": 1}
    assert error_of(service.post("/v1/tests/counts", body))[0] == "/decimals"
    assert service.body("/v1/tests/counts?decimals=1", b"1,1,1,1\n", "text/csv").status_code == 422


def test_an_array_of_single_precision_is_read_as_it_prints(service: Any) -> None:
    answers = []
    for kind in (np.float32, np.float64):
        stream = io.BytesIO()
        np.save(stream, np.array([[0.3, 0.2], [0.4, 0.3], [0.1, 0.2]], dtype=kind))
        answers.append(service.body("/v1/tests/scores", stream.getvalue(), "application/x-npy").json())
    assert answers[0]["id"] == answers[1]["id"]
    assert answers[0]["p_value"] == 1.0


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("effects", {"stay": [1000000000, 1, 2], "pmf": "full"}),
        ("scores", {"u": [0.123456789, 0.5, 0.25], "v": [0.1, 0.2, 0.3], "pmf": "full"}),
    ],
)
def test_a_full_null_of_few_items_has_eight_points(service: Any, path: str, body: dict[str, Any]) -> None:
    null = service.post(f"/v1/tests/{path}", body).json()["null"]
    assert [point["probability"] for point in null["pmf"]] == [0.125] * 8


def test_a_full_null_of_too_many_points_is_refused_with_advice(service: Any) -> None:
    body = {"stay": [3**k + 10**9 for k in range(30)], "pmf": "full"}
    refused = problem(service.post("/v1/tests/effects", body), 422)
    assert refused["errors"][0]["pointer"] == "/pmf"
    assert "'summary'" in refused["detail"]


def test_a_score_of_eleven_digits_beside_hundred_thousandths_is_what_is_written(service: Any) -> None:
    """86999999999.93 in units of 0.00001 has 16 digits, and its double is nearest to several such integers."""
    u, v = [86999999999.93, 1e-5, 2e-5, 0.03], [87e9, 0, 0, 0.1]
    differences = [Fraction(repr(float(a))) - Fraction(repr(float(b))) for a, b in zip(u, v, strict=True)]
    assert differences[0] == differences[3]
    answer = service.post("/v1/tests/scores", {"u": u, "v": v, "alternative": "greater"}).json()
    sums = [
        sum(s * d for s, d in zip(signs, differences, strict=True))
        for signs in itertools.product((1, -1), repeat=4)
    ]
    assert answer["p_value"] == sum(total >= sum(differences) for total in sums) / 16
    swapped = {"u": [87e9, 0.07, 0], "v": [86999999999.93, 0, 2e-5], "alternative": "greater"}
    assert service.post("/v1/tests/scores", swapped).json()["method"]["lattice"]["weights"] == 2


@pytest.mark.parametrize("expression", ["x1", "abs(x1)", "100000000000000000000*x1"])
@pytest.mark.parametrize("effects", [[1e25, -1e25], [3e30, -1e30, -2e30]])
def test_large_effects_that_cancel_and_that_no_swap_changes_are_a_null_of_zero(
    effects: list[float], expression: str, service: Any
) -> None:
    body = {"stay": effects, "swap": effects, "statistic": {"expression": expression}}
    response = service.post("/v1/tests/effects", body)
    assert response.status_code == 200
    answer = response.json()
    assert (answer["p_value"], answer["null"]["pmf"]) == (1.0, [{"value": 0.0, "probability": 1.0}])
