"""While the queue is full, bodies are looked into by ration only, and whoever finds no room is told so at once."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from exactperm.api import endpoint
from exactperm.api.bodies import Turns
from exactperm.execution.executor import Executor
from exactperm.main import create_app
from exactperm.settings import Settings

DEPTH = 2
SMALL = {"u": [1, 0, 1, 2, 5], "v": [0, 0, 1, 1, 2]}
PATH = "/v1/tests/scores"


def endless(seed: int) -> dict[str, Any]:
    """A test that takes a worker's time for longer than this file."""
    return {
        "u": [0.1, 0.7, 0.4] * 100,
        "v": [0.3, 0.2, 0.6] * 100,
        "method": "monte_carlo",
        "samples": 10_000_000,
        "seed": seed,
        "timeout_s": 60,
    }


async def fill(client: httpx.AsyncClient, executor: Executor) -> list[asyncio.Task[httpx.Response]]:
    """So many endless tests that one runs and as many wait as may."""
    asked: list[asyncio.Task[httpx.Response]] = []
    async with asyncio.timeout(180.0):
        while executor.running < 1 or executor.queued < DEPTH:
            if sum(not task.done() for task in asked) < 1 + DEPTH:
                asked.append(asyncio.create_task(client.post(PATH, json=endless(len(asked)))))
            await asyncio.sleep(0.01)
    return asked


async def while_full(monkeypatch: pytest.MonkeyPatch) -> None:
    # A ration of next to nothing: one look in vain, and there is none for years.
    monkeypatch.setattr(endpoint, "INSPECTION_SHARE", 1e-9)
    monkeypatch.setattr(endpoint, "INSPECTION_SAVED_S", 1e-9)
    taken, mine = 0, Turns.mine

    async def counted(turns: Turns, number: int = 0) -> int:
        nonlocal taken
        taken += 1
        return await mine(turns, number)

    monkeypatch.setattr(Turns, "mine", counted)
    # Every test runs in the one worker that there is, and none counts as long.
    app = create_app(Settings(workers=1, queue_depth=DEPTH, long_test_seconds=1e6, cache_bytes=0))
    executor: Executor = app.state.executor
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        assert not executor.full
        asked = await fill(client, executor)
        assert executor.full
        taken = 0
        twin = asyncio.create_task(client.post(PATH, json=endless(0)))  # shares what is computed already
        async with asyncio.timeout(180.0):
            while taken < 2:  # noqa: ASYNC110 (it has had its turns, which are not those that are counted below)
                await asyncio.sleep(0.01)
        refusals = executor.rejections["queue_depth"]
        assert (
            await client.post(PATH, json=SMALL)
        ).status_code == 200  # what is answered in place costs nothing
        assert (await client.post(PATH, json=SMALL)).status_code == 200
        # The first is looked into in vain, the second not at all, and has no need of a second turn of the loop.
        for body in (endless(1000), SMALL):
            taken = 0
            refused = await client.post(PATH, json=body)
            assert refused.status_code == 503
            assert refused.headers["content-type"] == "application/problem+json"
            assert int(refused.headers["retry-after"]) >= 1
        assert taken == 1
        assert executor.rejections["queue_depth"] == refusals + 2
        assert not twin.done()
        for task in (*asked, twin):
            task.cancel()
        await asyncio.gather(*asked, twin, return_exceptions=True)
        async with asyncio.timeout(180.0):
            while executor.full:  # noqa: ASYNC110 (nothing to wait for but a property)
                await asyncio.sleep(0.01)
        assert (await client.post(PATH, json=SMALL)).status_code == 200


def test_looks_into_bodies_are_rationed_while_the_queue_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(while_full(monkeypatch))
