"""One budget for every kind of test: what is planned over it is refused, with what would fit."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from exactperm.settings import Settings
from tests.api.conftest import Service, problem as refused, running
from tests.settings_with import settings_with

RANDOM = random.Random(10)
ITEMS = 400


def counts() -> dict[str, list[int]]:
    return {name: [RANDOM.randint(0, 40) for _ in range(ITEMS)] for name in ("tp", "fp", "fn")}


SCORES = {name: [round(RANDOM.random(), 12) for _ in range(ITEMS)] for name in ("u", "v")}
COUNTS = {"u": counts(), "v": counts(), "statistic": {"name": "f1"}}
BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "one sum": ("scores", SCORES),
    "several sums": ("counts", COUNTS),
    "bootstrap of one sum": ("scores", {**SCORES, "test": "bootstrap"}),
    "bootstrap of several sums": ("counts", {**COUNTS, "test": "bootstrap"}),
}


@pytest.fixture(scope="module")
def frugal() -> Iterator[Service]:
    settings = settings_with(workers=1, engine_budget_operations=5_000_000, engine_budget_bytes=1 << 26)
    yield from running(settings)


@pytest.fixture(scope="module")
def strict() -> Iterator[Service]:
    yield from running(Settings(workers=1, engine_budget_operations=100_000))


@pytest.mark.parametrize("name", BODIES)
def test_auto_is_refused_when_not_even_sampling_fits(strict: Service, name: str) -> None:
    kind, body = BODIES[name]
    asked = {**body, "samples": 1_000_000}
    for path, sent in ((f"/v1/tests/{kind}", asked), ("/v1/plan", {"kind": kind, "request": asked})):
        problem = refused(strict.post(path, sent), 422)
        assert problem["type"].endswith("plan-too-large"), problem
        (error,) = problem["errors"]
        assert error["pointer"].endswith("/samples")
        assert "fewer samples" in error["detail"]


@pytest.mark.parametrize(
    ("name", "method", "few", "many"),
    [
        ("one sum", "dp", "bounds would fit.", "bounds would fit."),
        ("several sums", "grid", "monte_carlo would fit.", "No other method would fit."),
        ("bootstrap of one sum", "fft", "monte_carlo would fit.", "No other method would fit."),
    ],
)
def test_a_method_over_the_budget_is_refused_with_what_would_fit(
    frugal: Service, name: str, method: str, few: str, many: str
) -> None:
    kind, body = BODIES[name]
    for samples, advice in ((10, few), (10**6, many)):
        asked = {**body, "method": method, "samples": samples}
        problem = refused(frugal.post(f"/v1/tests/{kind}", asked), 422)
        assert problem["type"].endswith("plan-too-large")
        (error,) = problem["errors"]
        assert error["pointer"] == "/method"
        assert error["detail"].endswith(advice), error


def test_a_plan_calls_a_bracket_a_bracket_and_only_sampling_sampled(service: Service) -> None:
    planned = service.post(
        "/v1/plan", {"kind": "scores", "request": {"u": [1, 2, 4], "v": [0, 0, 0], "method": "bounds"}}
    ).json()
    assert planned["method"] == "bounds"
    reasons = {other["method"]: other["reason"] for other in planned["alternatives"]}
    assert reasons.pop("monte_carlo").startswith("sampled")
    assert set(reasons.values()) == {"fits, but was not asked for"}
    sampled = service.post(
        "/v1/plan", {"kind": "scores", "request": {**SCORES, "method": "monte_carlo"}}
    ).json()
    for other in sampled["alternatives"]:
        assert "sampled" not in other["reason"], other


def test_a_middle_of_wide_range_is_planned_as_what_it_takes_and_not_run_in_place(service: Service) -> None:
    """263 bytes that stopped the web process for 22 s, planned at a tenth of a millisecond (numerics D1)."""
    stay = [10**6 + k * k for k in range(19)]
    body: dict[str, Any] = {
        "stay": [*stay, -1],
        "statistic": {"expression": "abs(x1)"},
        "alternative": "less",
        "pmf": "none",
    }
    for method in ("auto", "dp"):
        request = {**body, "method": method}
        planned = service.post("/v1/plan", {"kind": "effects", "request": request}).json()
        dear = next(each for each in (planned, *planned["alternatives"]) if each["method"] == "dp")
        assert dear["seconds"] > 10 * Settings().inplace_engine_seconds
        assert dear["bytes"] > 8 * sum(stay) // 2
        answer = service.post("/v1/tests/effects", request).json()
        assert answer["method"]["exact"]
        assert answer["p_value"] == 1.0 - 2.0**-19
    body["stay"] = [*(10**9 + k * k for k in range(39)), -1]
    refused(service.post("/v1/tests/effects", {**body, "method": "dp"}), 422)
