"""Measure goals 7 and 8: liveness, the event loop and goodput under overload."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Awaitable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import httpx

from loadtest.goals_row import Row, row
from loadtest.watched import gauge, watched_server
from loadtest.wire import Seen, Wire, closed_loop, open_loop, p99, work

PROBE_EVERY_S = 0.02
QUEUE_DEPTH = 64
CLIENTS = 8
LARGE = json.dumps({"stay": [1.25, -0.5, 3.125, -2.0] * 333_000}).encode()  # 8 MB


def probed(url: str, seconds: float) -> list[float]:
    """The seconds of `/livez`, measured in a separate process, since that of the load is busy."""
    taken = []
    with httpx.Client(base_url=url, timeout=60.0) as client:
        client.get("/livez")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            assert client.get("/livez").status_code == 200
            taken.append(time.monotonic() - began)
            time.sleep(PROBE_EVERY_S)
    return taken


async def _capacity(wire: Wire, seconds: float, seeds: itertools.count[int]) -> float:
    """The tests per second of the workers with a few always waiting."""
    await closed_loop(CLIENTS, 1.0, lambda: wire.ask("/v1/tests/scores", work(next(seeds))))
    wire.seen.clear()
    began = time.monotonic()
    await closed_loop(CLIENTS, seconds, lambda: wire.ask("/v1/tests/scores", work(next(seeds))))
    return sum(seen.status == 200 for seen in wire.seen) / (time.monotonic() - began)


def goal_7(seconds: float) -> list[Row]:
    """Send twice the capacity, and bodies of 8 MB one after the other."""

    async def load(url: str, pool: ProcessPoolExecutor) -> tuple[float, list[float]]:
        wire, seeds = Wire(url), itertools.count()
        peak = await _capacity(wire, min(5.0, seconds / 3), seeds)
        probing = asyncio.get_running_loop().run_in_executor(pool, probed, url, seconds)
        async with asyncio.TaskGroup() as group:
            group.create_task(
                open_loop(2 * peak, seconds, lambda: wire.ask("/v1/tests/scores", work(next(seeds))))
            )
            group.create_task(closed_loop(1, seconds, lambda: _large(url)))
        wire.close()
        return peak, await probing

    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        watched_server(workers=2, access_log=False, queue_depth=QUEUE_DEPTH) as server,
    ):
        peak, taken = asyncio.run(load(server.url, pool))
    how = f"{len(taken):,} probes in {seconds:.0f} s at {2 * peak:.0f} tests/s, twice the capacity, and 8 MB bodies"
    late = p99(taken) * 1e3
    return [
        row("7 /livez p99", late, "ms", most=100.0, how=how),
        row(
            "7 loop lag p99 (<= that of /livez)", late, "ms", most=50.0, how="the same probes bound it above"
        ),
    ]


async def _large(url: str) -> None:
    wire = Wire(url)
    await wire.ask("/v1/tests/effects", LARGE)
    wire.close()
    await asyncio.sleep(0.5)


def goal_8(seconds: float) -> list[Row]:
    """Send three times the capacity, then less than the capacity."""

    async def load(url: str) -> tuple[float, list[Seen], list[float], list[Seen]]:
        wire, seeds = Wire(url), itertools.count()

        def one() -> Awaitable[object]:
            return wire.ask("/v1/tests/scores", work(next(seeds)))

        peak = await _capacity(wire, min(10.0, seconds / 3), seeds)
        wire.seen.clear()
        depths: list[float] = []
        watching = asyncio.create_task(_depths(url, depths))
        began = time.monotonic()
        await open_loop(3 * peak, seconds, one)
        during = [seen for seen in wire.seen if seen.at + seen.seconds <= began + seconds]
        watching.cancel()
        wire.seen.clear()
        await open_loop(0.7 * peak, 5.0, one)
        after = list(wire.seen)
        peak = (
            peak + await _capacity(wire, min(10.0, seconds / 3), seeds)
        ) / 2  # the machine may have changed
        wire.close()
        return peak, during, depths, after

    with watched_server(workers=2, access_log=False, queue_depth=QUEUE_DEPTH, cache_bytes=0) as server:
        peak, during, depths, after = asyncio.run(load(server.url))
    good = sum(seen.status == 200 for seen in during) / seconds
    refused = [seen for seen in during if seen.status in {429, 503}]
    other = len(during) - len(refused) - sum(seen.status == 200 for seen in during)
    unsaid = sum(not seen.retry_after for seen in refused)
    began = min(seen.at for seen in after)
    late = [seen for seen in after if seen.at >= began + 2.0]
    back = sum(seen.status == 200 for seen in late) / max(1, len(late))
    return [
        row(
            "8 goodput of the peak",
            100 * good / peak,
            "%",
            least=90.0,
            how=f"peak {peak:.0f}/s, before and after; 3 x for {seconds:.0f} s",
        ),
        row(
            "8 refused within, p99",
            p99([seen.seconds for seen in refused]) * 1e3,
            "ms",
            most=20.0,
            how=f"{len(refused):,} refused",
        ),
        row(
            "8 refused without Retry-After, or otherwise",
            unsaid + other,
            "",
            most=0.0,
            how="429 and 503 are right",
        ),
        row("8 deepest queue", max(depths), "", most=QUEUE_DEPTH, how="gauge at /metrics, once a second"),
        row(
            "8 answered from 2 s after",
            100 * back,
            "%",
            least=99.0,
            how=f"{len(late)} at 70 % of the capacity",
        ),
    ]


async def _depths(url: str, depths: list[float]) -> None:
    wire = Wire(url)
    while True:
        depths.append(gauge(await wire.metrics(), "exactperm_queue_depth"))
        await asyncio.sleep(1.0)
