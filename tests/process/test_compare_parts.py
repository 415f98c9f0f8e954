"""A long comparison runs in several workers, and its answer is that of one worker, byte for byte."""

import asyncio
import json
import os
import random
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from exactperm.execution.executor import Attempts, Executor
from exactperm.main import create_app
from tests.process.executors import run, until
from tests.settings_with import settings_with

WORKERS = 2
# More than 120 ms are long.
SOON_LONG = {"long_test_seconds": 0.06, "inplace_share": 0, "cache_bytes": 0, "access_log": False}


def board(systems: int, items: int, seed: int = 1, **options: Any) -> dict[str, Any]:
    """Systems of different strength; scores with two decimals, so that no two of them are right or wrong alone."""
    drawn = random.Random(seed)
    strengths = [drawn.uniform(0.3, 0.7) for _ in range(systems)]
    return {
        "kind": "scores",
        "systems": {
            f"s{number:02}": [round(min(1.0, max(0.0, drawn.gauss(mean, 0.2))), 2) for _ in range(items)]
            for number, mean in enumerate(strengths)
        },
        "method": "dp",  # by name: no quicker way for all pairs at once
        **options,
    }


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[tuple[FastAPI, httpx.AsyncClient]]:
    app = create_app(settings_with(**{**SOON_LONG, **settings}))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test", timeout=300) as client,
    ):
        yield app, client


def without_runtime(answered: httpx.Response) -> bytes:
    """The bytes of an answer but for its times."""
    assert answered.status_code == 200, answered.text[:500]
    before, _, rest = answered.content.partition(b'"runtime":')
    _, _, after = rest.partition(b"}")
    assert b'"signature"' in after
    return before + after


@pytest.fixture
def splits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many parts each answer was computed in."""
    seen: list[int] = []
    whole = Attempts.joined

    async def noted(self: Attempts, first: Any, split: Any) -> Any:
        seen.append(len(split.parts))
        return await whole(self, first, split)

    monkeypatch.setattr(Attempts, "joined", noted)
    return seen


def counts(items: int, seed: int) -> dict[str, list[int]]:
    drawn = random.Random(seed)
    return {name: [drawn.randint(0, 3) for _ in range(items)] for name in ("tp", "fp", "fn", "tn")}


# Their values are roots, which the plan compares in balls.
ROOTS: dict[str, dict[str, str]] = {
    "mcc": {"name": "mcc"},
    "g_mean": {"name": "g_mean"},
    "a formula": {
        "name": "expression",
        "expression": "(tp*tn - fp*fn) / sqrt((tp + fp + 1) * (tn + fn + 1))",
    },
}
BODIES: dict[str, Callable[[], dict[str, Any]]] = {
    "one board": lambda: board(20, 120, pairs="significant", adjust="hochberg"),
    "several data sets": lambda: {
        "kind": "scores",
        "datasets": {
            name: {"systems": board(size, 90, seed)["systems"]}
            for seed, (name, size) in enumerate({"arc": 13, "mmlu": 2, "gsm8k": 14}.items())
        },
        "method": "dp",
        "aggregate": None,
        "family": "all",
    },
    **{
        f"counts with {name}": partial(
            lambda statistic: {
                "kind": "counts",
                "systems": {f"s{number}": counts(14, number) for number in range(6)},
                "statistic": statistic,
                "higher_is_better": True,
            },
            statistic,
        )
        for name, statistic in ROOTS.items()
    },
}


@pytest.mark.parametrize("name", BODIES)
def test_the_answer_of_several_workers_is_that_of_one(name: str, splits: list[int]) -> None:
    async def scenario() -> None:
        body = BODIES[name]()
        async with serving(workers=1) as (_, client):
            alone = await client.post("/v1/compare", json=body)
        assert splits == []
        async with serving(workers=WORKERS) as (_, client):
            together = await client.post("/v1/compare", json=body)
        assert len(splits) == 1
        assert splits[0] >= 2
        assert without_runtime(together) == without_runtime(alone)
        assert together.headers["etag"] == alone.headers["etag"]
        runtime = together.json()["runtime"]
        assert 0 < runtime["engine_ms"] <= runtime["total_ms"]

    run(scenario, 300)


def test_a_worker_that_is_killed_costs_its_part_only(splits: list[int]) -> None:
    async def scenario() -> None:
        body = board(24, 200)
        async with serving(workers=WORKERS, long_test_seconds=0.2) as (app, client):
            executor: Executor = app.state.executor
            alone = await client.post("/v1/compare", json=body)
            assert executor.restarts.total() == 0
            asked = asyncio.create_task(client.post("/v1/compare", json=body))
            await until(lambda: len(splits) == 2 and executor.running == WORKERS)
            os.kill(executor.pids[0], signal.SIGKILL)
            assert without_runtime(await asked) == without_runtime(alone)
            assert executor.restarts["died"] == 1
            assert (executor.running, executor.queued) == (0, 0)

    run(scenario, 300)


def test_identical_requests_share_the_parts(splits: list[int]) -> None:
    async def scenario() -> None:
        body = json.dumps(board(20, 120)).encode()
        async with serving(workers=WORKERS) as (_, client):
            headers = {"content-type": "application/json"}
            answers = await asyncio.gather(
                *[client.post("/v1/compare", content=body, headers=headers) for _ in range(3)]
            )
        assert len(splits) == 1
        assert len({without_runtime(answered) for answered in answers}) == 1

    run(scenario, 300)


def test_a_short_comparison_is_not_split(splits: list[int]) -> None:
    async def scenario() -> None:
        async with serving(workers=WORKERS, long_test_seconds=60.0) as (_, client):
            assert (await client.post("/v1/compare", json=board(8, 50))).status_code == 200
        assert splits == []

    run(scenario, 300)


def test_the_deadline_is_that_of_the_whole(splits: list[int]) -> None:
    async def scenario() -> None:
        async with serving(workers=WORKERS, most_over_deadline=1000.0) as (app, client):
            executor: Executor = app.state.executor
            # It takes three seconds on a fast machine, and a busy one needs as long to come to its parts.
            for deadline_s in (0.8, 3.0, 12.0):
                late = await client.post("/v1/compare", json=board(40, 1_500, timeout_s=deadline_s))
                assert late.status_code == 503, late.text[:300]
                assert late.json()["type"].endswith("#deadline-exceeded")
                await until(lambda: executor.running == 0 and len(executor.pids) == WORKERS)
                assert executor.queued == 0
                if splits:
                    break
        assert len(splits) == 1

    run(scenario, 300)


def test_calls_that_cannot_end_in_time_are_refused_before_any_part_runs(splits: list[int]) -> None:
    async def scenario() -> None:
        body = board(40, 1_500, timeout_s=1.5)
        async with serving(workers=WORKERS, most_over_deadline=1.0) as (_, client):
            refused = await client.post("/v1/compare", json=body)
            assert refused.status_code == 422, refused.text[:300]
            assert refused.json()["type"].endswith("#plan-too-large")
            assert refused.json()["errors"][0]["pointer"] == "/timeout_s"

    run(scenario, 300)
