"""A test that cannot end before its deadline is refused at once, wherever the deadline is said; others are not."""

from __future__ import annotations

import asyncio
import io
import json
import math
from collections.abc import Iterator

import httpx
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from exactperm.execution.executor import Executor
from exactperm.main import create_app
from exactperm.settings import Settings
from tests.api.conftest import Service, problem, running

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


def parquet_of(rows: int) -> bytes:
    """A file of zeros: a few thousand bytes, whatever the rows."""
    stream = io.BytesIO()
    zeros = np.zeros(rows, dtype=np.int8)
    parquet.write_table(pa.table({"a": zeros, "b": zeros}), stream, compression="zstd")
    return stream.getvalue()


def test_a_file_that_takes_too_long_to_read_is_refused_by_its_footer(
    asked: Service,
) -> None:
    """Two million rows take some 16 s to read; they were read before anyone looked at the deadline."""
    content = parquet_of(2_000_000)
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
        more = {"file": ("t.parquet", parquet_of(9_000_000))}
        detail = problem(asked.request("POST", path, files=more), 413)["detail"]
        assert "9,000,000 rows takes more memory than a worker may use" in detail
    most = parquet_of(10_000_001)
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


def test_it_is_refused_wherever_its_deadline_is_said(asked: Service) -> None:
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


def test_a_plan_is_answered_whatever_its_deadline(asked: Service) -> None:
    wanted = {**BODY, "timeout_s": planned_s(asked) / 3.5}
    assert asked.post("/v1/plan", {"kind": "effects", "request": wanted}).status_code == 200


@pytest.mark.slow
def test_who_cannot_wait_so_long_leaves_and_who_can_gets_the_answer() -> None:
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
