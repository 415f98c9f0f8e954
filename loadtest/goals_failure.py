"""Measure goals 10 and 11: deadlines of waiting requests, and killed workers."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
import time
from functools import partial

from loadtest.goals_row import Row, row
from loadtest.traffic import problem_type_of
from loadtest.watched import Watched, gauge, watched_server
from loadtest.wire import Seen, Wire, work

DEADLINE_S = 1.0
LONG_SAMPLES = 10_000_000
WAITING = 40
CLIENTS = 4


def goal_10(seconds: float) -> list[Row]:
    """Send tests of many seconds with a deadline of one: some run, most wait."""

    async def load(url: str) -> tuple[list[Seen], float]:
        wire = Wire(url)
        bodies = [work(seed, LONG_SAMPLES, DEADLINE_S) for seed in range(WAITING)]
        await asyncio.gather(*(wire.ask("/v1/tests/scores", body) for body in bodies))
        seen, began = list(wire.seen), time.monotonic()
        while time.monotonic() < began + 10:
            if gauge(await wire.metrics(), "exactperm_workers_busy") == 0:
                break
            await asyncio.sleep(0.02)
        wire.close()
        return seen, time.monotonic() - began

    with watched_server(workers=2, access_log=False, most_over_deadline=1e9) as server:
        seen, busy_s = asyncio.run(load(server.url))
    late = sum(problem_type_of(one.body) == "deadline-exceeded" for one in seen)
    slowest = max(one.seconds for one in seen)
    how = f"{WAITING} at once, {late} ended by the deadline, others refused at once"
    return [
        row("10 slowest end, deadline 1 s", slowest, "s", most=DEADLINE_S + 0.5, how=how),
        row("10 runs on after the last answer", busy_s, "s", most=0.5, how="until no worker is busy"),
    ]


def goal_11(seconds: float) -> list[Row]:
    """Kill workers repeatedly, each after the replacement of the last one is warm."""

    async def load(server: Watched) -> tuple[list[Seen], list[float]]:
        wire, seeds, over = Wire(server.url), itertools.count(), asyncio.Event()

        async def client() -> None:
            while not over.is_set():
                await wire.ask("/v1/tests/scores", work(next(seeds)))

        clients = [asyncio.create_task(client()) for _ in range(CLIENTS)]
        warm: list[float] = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await asyncio.sleep(0.3)
            warm.append(await _killed(server))
        over.set()
        await asyncio.gather(*clients)
        wire.close()
        return wire.seen, warm

    with watched_server(workers=2, access_log=False) as server:
        seen, warm = asyncio.run(load(server))
    failed = [one for one in seen if one.status != 200]
    types = sorted({problem_type_of(one.body) for one in failed})
    how = f"{len(seen):,} requests, {len(warm)} kills {types or ''}".strip()
    return [
        row(
            "11 a new worker is warm after, most",
            max(warm),
            "s",
            most=2.0,
            how=f"{len(warm)} kills under load",
        ),
        row("11 requests that failed", len(failed), "", most=0.0, how=how),
    ]


async def _killed(server: Watched) -> float:
    """Seconds from a kill until there are as many warm workers as before."""
    wire = Wire(server.url)
    restarts = partial(_total, prefix='exactperm_worker_restarts_total{reason="died"}')
    before = restarts(await wire.metrics())
    os.kill(random.choice(sorted(server.workers())), signal.SIGKILL)
    began = time.monotonic()
    while True:
        said = await wire.metrics()
        if restarts(said) > before and gauge(said, "exactperm_workers") == 2:
            wire.close()
            return time.monotonic() - began
        await asyncio.sleep(0.02)


def _total(metrics: str, prefix: str) -> float:
    return next(float(line.rpartition(" ")[2]) for line in metrics.splitlines() if line.startswith(prefix))
