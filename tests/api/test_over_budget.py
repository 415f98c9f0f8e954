"""Test the budget and the deadline of every kind of test: larger plans are refused at once, with methods that fit."""

import asyncio
import json
import math
import random
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from exactperm.execution.executor import Executor
from exactperm.main import create_app
from exactperm.settings import Settings
from tests.api.conftest import Service, problem, problem as refused, running
from tests.binary import parquet_of
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
def test_a_method_over_the_budget_is_refused_with_methods_that_fit(
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
    assert set(reasons.values()) == {"fits, but was not requested"}
    sampled = service.post(
        "/v1/plan", {"kind": "scores", "request": {**SCORES, "method": "monte_carlo"}}
    ).json()
    for other in sampled["alternatives"]:
        assert "sampled" not in other["reason"], other


def test_a_middle_of_wide_range_is_priced_and_not_run_in_place(service: Service) -> None:
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


# Sampling of some seconds; its plan says how many.
STAY = [2**k for k in range(30)] * 100
BODY = {"stay": STAY, "method": "monte_carlo", "samples": 6_000_000}
EFFECTS, GATE = "/v1/tests/effects", "/v1/gate"
LINES = ("id,u,v\n" + "".join(f"{n},{value},0\n" for n, value in enumerate(STAY))).encode()


@pytest.fixture(scope="module", params=["in place", "in a worker"])
def asked(request: pytest.FixtureRequest) -> Iterator[Service]:
    """The plan is made in the web process where the body is small, and by a worker where it is not."""
    share = 0.5 if request.param == "in place" else 0
    yield from running(Settings(workers=1, cache_bytes=0, inplace_share=share))


def zeros_of(rows: int) -> bytes:
    """A file of zeros: a few thousand bytes with any number of rows."""
    zeros = np.zeros(rows, dtype=np.int8)
    return parquet_of({"a": zeros, "b": zeros}, compression="zstd")


def test_a_file_that_takes_too_long_to_read_is_refused_by_its_footer(asked: Service) -> None:
    """Two million rows take some 16 s to read; they were read before anyone looked at the deadline."""
    content = zeros_of(2_000_000)
    assert len(content) < 30_000
    parts = {"file": ("t.parquet", content)}
    for path, query, fields, pointer in [
        ("/v1/tests/files", "", {"timeout_s": "2"}, "/options/timeout_s"),
        ("/v1/tests/files", "?timeout_s=2", {}, "/?timeout_s"),
        (GATE, "", {"timeout_s": "2"}, "/options/timeout_s"),
        ("/v1/compare", "", {"timeout_s": "2"}, "/options/timeout_s"),
    ]:
        detail = refusal(asked.request("POST", f"{path}{query}", files=parts, data=fields), pointer)
        assert "predicted to take 16 s, and its deadline is 2 s" in detail
    for path in ("/v1/tests/files", GATE):
        more = {"file": ("t.parquet", zeros_of(9_500_000))}
        detail = problem(asked.request("POST", path, files=more), 413)["detail"]
        assert "9,500,000 rows takes more memory than a worker may use" in detail
    most = zeros_of(10_000_001)
    for path in ("/v1/tests/files", GATE, "/v1/compare"):
        said = problem(asked.request("POST", path, files={"file": ("t.parquet", most)}), 413)
        assert "at most 10,000,000 are allowed" in said["detail"]


def planned_s(service: Service) -> float:
    return float(service.post("/v1/plan", {"kind": "effects", "request": BODY}).json()["seconds"])


def refusal(response: httpx.Response, pointer: str) -> str:
    said = problem(response, 422)
    assert said["type"] == "/docs/problems#plan-too-large"
    (error,) = said["errors"]
    assert (error["pointer"], error["code"]) == (pointer, "over_deadline")
    assert "x-verdict" not in response.headers
    return str(error["detail"])


def form(service: Service, path: str, **fields: str) -> httpx.Response:
    fields = {"format": "csv", "method": "monte_carlo", "samples": "6000000", **fields}
    return service.request("POST", path, files={"file": ("t.csv", LINES)}, data=fields)


def test_it_is_refused_with_its_deadline_in_any_place(asked: Service) -> None:
    seconds = planned_s(asked)
    hopeless = seconds / 3.5
    gate = {"kind": "effects", "request": {**BODY, "timeout_s": hopeless}}
    several = {"metrics": [{"name": name, **gate} for name in "ab"]}
    answers = [
        (asked.post(EFFECTS, {**BODY, "timeout_s": hopeless}), "/timeout_s"),
        (asked.post(f"{EFFECTS}?timeout_s={hopeless}", BODY), "/?timeout_s"),
        (asked.post(GATE, gate), "/request/timeout_s"),
        (asked.post(GATE, several), "/metrics"),
        (form(asked, "/v1/tests/files", timeout_s="0.6"), "/options/timeout_s"),
        (form(asked, GATE, timeout_s="0.6"), "/options/timeout_s"),
        (form(asked, f"{GATE}?timeout_s=0.6"), "/?timeout_s"),
    ]
    for response, pointer in answers:
        detail = refusal(response, pointer)
    detail = refusal(asked.post(EFFECTS, {**BODY, "timeout_s": hopeless}), "/timeout_s")
    assert f"Set timeout_s to {math.ceil(seconds)} or more" in detail
    executor: Executor = asked.app.state.executor
    for _ in range(500):  # the worker hands the last one back
        if not executor.running + executor.queued:
            break
        asked._portal.call(asyncio.sleep, 0.02)
    assert executor.running == executor.queued == 0
    assert executor.restarts.total() == 0  # no worker was ended for it


@pytest.mark.slow
def test_the_deadline_that_the_refusal_names_is_enough(asked: Service) -> None:
    body = {**BODY, "timeout_s": planned_s(asked) / 3.5}
    detail = refusal(asked.post(EFFECTS, body), "/timeout_s")
    named = int(detail.partition("timeout_s to ")[2].split()[0])
    # Ten times that is for a busy machine.
    assert asked.post(EFFECTS, {**body, "timeout_s": 10 * named}).status_code == 200


def test_the_servers_own_deadline_counts_and_no_advice_is_given_that_it_would_not_follow() -> None:
    for service in running(Settings(workers=1, default_timeout_s=0.5, max_timeout_s=0.6)):
        assert "no deadline above 0.6 s" in refusal(service.post(EFFECTS, BODY), "/timeout_s")


def test_a_plan_is_answered_with_any_deadline(asked: Service) -> None:
    wanted = {**BODY, "timeout_s": planned_s(asked) / 3.5}
    assert asked.post("/v1/plan", {"kind": "effects", "request": wanted}).status_code == 200


@pytest.mark.slow
def test_short_deadlines_end_and_long_ones_get_the_shared_answer() -> None:
    """Two ask the same, with other deadlines in the query: they share one computation."""

    async def scenario() -> None:
        app = create_app(Settings(workers=1, inplace_share=0, cache_bytes=0))
        content = json.dumps(BODY)
        headers = {"content-type": "application/json"}
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(
                transport=httpx.ASGITransport(app), base_url="http://test", timeout=None
            ) as client,
        ):

            async def ask(timeout_s: float) -> httpx.Response:
                return await client.post(f"{EFFECTS}?timeout_s={timeout_s}", content=content, headers=headers)

            planned = await client.post("/v1/plan", json={"kind": "effects", "request": BODY})
            short = planned.json()["seconds"] / 3.5
            for deadlines in ((600, short, 599), (short, 600, short)):
                answers = await asyncio.gather(*map(ask, deadlines))
                assert [one.status_code for one in answers] == [422 if s == short else 200 for s in deadlines]
            assert app.state.executor.restarts.total() == 0

    asyncio.run(scenario())
