"""Kill workers at random under thousands of mixed requests:

`python -m loadtest.chaos --kills 1000`. Good, bad and disconnecting clients keep coming while workers get SIGKILL, or SIGSTOP and later
SIGCONT. After the traffic the service must be as before: one correct answer, every worker back, no extra descriptor or process. Prints
the counts.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import sys
import time
from dataclasses import dataclass

import httpx

from loadtest.traffic import SMALL, SMALL_P, TOO_LARGE_FOR_THE_LOOP, Tally, Traffic
from loadtest.watched import Watched, gauge, not_at_rest, watched_server

WORKERS = 2
FORK_SERVER = 1  # also a child
CLIENTS = 8
WARM_UP_REQUESTS = 60
SETTLE_S = 180.0  # at most
STOPPED_S = 0.15
STOPS = 0.15  # share of SIGSTOP and SIGCONT; the rest are SIGKILL


@dataclass(slots=True)
class Blows:
    """The faults injected into the workers."""

    killed: int = 0
    stopped: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The counts, and the deviations from the expected state."""

    tally: Tally
    blows: Blows
    seconds: float
    rows: list[tuple[str, str, str]]
    faults: list[str]


async def chaos(kills: int, seed: int, gap_s: float) -> Outcome:
    """Run until this many workers have been killed."""
    with watched_server(workers=WORKERS, keep_alive_s=2, access_log=False) as server:
        traffic, blows = Traffic(server.url, seed), Blows()
        for _ in range(WARM_UP_REQUESTS):
            await traffic.one()
        await traffic.close()
        before = await _settled(server, None)
        traffic = Traffic(server.url, seed)
        began = time.monotonic()
        over = asyncio.Event()
        clients = [asyncio.create_task(_client(traffic, over)) for _ in range(CLIENTS)]
        await _strike(server, blows, kills, random.Random(seed), gap_s)
        over.set()
        ended = await asyncio.gather(*clients, return_exceptions=True)
        seconds = time.monotonic() - began
        faults = [f"a client saw {error!r}" for error in ended if error is not None]
        faults += traffic.tally.wrong
        await traffic.close()
        after = await _settled(server, before)
        faults += await _final_answers(server)
        return Outcome(traffic.tally, blows, seconds, *_compared(before, after, faults))


async def _client(traffic: Traffic, over: asyncio.Event) -> None:
    while not over.is_set():
        await traffic.one()


async def _strike(server: Watched, blows: Blows, kills: int, chance: random.Random, gap_s: float) -> None:
    """Wait until there is a warm worker, and then hit any living one, warm or starting.

    Without the wait, workers would hardly get warm on a slow machine, and nothing would be computed.
    """
    hit: set[int] = set()
    while blows.killed < kills:
        await _some_warm(server.url)
        await asyncio.sleep(chance.expovariate(1 / gap_s))
        targets = sorted(server.workers() - hit)
        if not targets:
            continue
        pid = chance.choice(targets)
        with contextlib.suppress(ProcessLookupError):
            if chance.random() < STOPS:
                os.kill(pid, signal.SIGSTOP)
                blows.stopped += 1
                await asyncio.sleep(STOPPED_S)
                os.kill(pid, signal.SIGCONT)
            else:
                os.kill(pid, signal.SIGKILL)
                hit.add(pid)
                blows.killed += 1


async def _some_warm(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=SETTLE_S) as client:
        while gauge((await client.get("/metrics")).text, "exactperm_workers") < 1:  # noqa: ASYNC110 (another process)
            await asyncio.sleep(0.02)


@dataclass(frozen=True, slots=True)
class State:
    """The web process at rest."""

    descriptors: int
    children: int
    resident_mib: float


async def _settled(server: Watched, wanted: State | None) -> State:
    """The state after all clients have left: as `wanted`, or the last one when patience ends."""
    end = time.monotonic() + SETTLE_S
    while True:
        await asyncio.sleep(0.5)
        now = State(server.descriptors(), len(server.children()), server.resident_mib())
        at_rest = len(server.workers()) == WORKERS == now.children - FORK_SERVER
        if wanted is None:
            if at_rest and time.monotonic() > end - SETTLE_S + 4:
                return now
        elif at_rest and now.descriptors <= wanted.descriptors:
            return now
        if time.monotonic() > end:
            return now


async def _final_answers(server: Watched) -> list[str]:
    """Check one small test, one test in each worker, and the health routes."""
    faults = []
    async with httpx.AsyncClient(base_url=server.url, timeout=SETTLE_S) as client:
        small = await client.post("/v1/tests/scores", json=SMALL)
        if small.status_code != 200 or small.json()["p_value"] != SMALL_P:
            faults.append(f"the last answer is wrong: {small.status_code} {small.text[:200]}")
        for first in range(WORKERS):
            large = await client.post(
                "/v1/tests/effects", json={"stay": [1000 + first, *TOO_LARGE_FOR_THE_LOOP]}
            )
            if large.status_code != 200:
                faults.append(f"a worker's last answer is {large.status_code}")
        for path in ("/livez", "/readyz"):
            health = await client.get(path)
            if health.status_code != 200:
                faults.append(f"{path} is {health.status_code}")
        faults += not_at_rest((await client.get("/metrics")).text)
    return faults


def _compared(before: State, after: State, faults: list[str]) -> tuple[list[tuple[str, str, str]], list[str]]:
    if after.descriptors > before.descriptors:
        faults.append(f"descriptors: {before.descriptors} before, {after.descriptors} after")
    if after.children != WORKERS + FORK_SERVER:
        faults.append(f"children: {after.children} rather than {WORKERS + FORK_SERVER}")
    if after.resident_mib > before.resident_mib + 24:
        faults.append(f"memory: {before.resident_mib:.1f} MiB before, {after.resident_mib:.1f} MiB after")
    rows = [
        ("descriptors of the web process", str(before.descriptors), str(after.descriptors)),
        ("child processes", str(before.children), str(after.children)),
        ("resident memory, MiB", f"{before.resident_mib:.1f}", f"{after.resident_mib:.1f}"),
    ]
    return rows, faults


def report(outcome: Outcome) -> str:
    """Print a small table, and the first twenty faults."""
    tally, blows = outcome.tally, outcome.blows
    sent = ", ".join(f"{count:,} {name}" for name, count in sorted(tally.sent.items()))
    lines = [
        f"{sum(tally.sent.values()):,} requests in {outcome.seconds:.0f} s: {sent}",
        f"statuses: {json.dumps(dict(sorted(tally.statuses.items())))}",
        f"of these 5xx, by problem type: {json.dumps(dict(sorted(tally.refusals.items())))}",
        "  (worker-lost: two workers in turn were killed under that one request; it is retried once and no more)",
        f"workers killed: {blows.killed:,}; stopped and continued: {blows.stopped:,}",
        f"{'':34}{'before':>10}{'after':>10}",
        *(f"{name:34}{before:>10}{after:>10}" for name, before, after in outcome.rows),
        f"faults: {len(outcome.faults)}",
        *outcome.faults[:20],
    ]
    return "\n".join(lines)


def main() -> int:
    """Parse the options, run, print; status 1 if there is a fault."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=1000, help="workers to kill (1000)")
    parser.add_argument("--gap", type=float, default=0.2, help="mean seconds between blows (0.2)")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    outcome = asyncio.run(chaos(asked.kills, asked.seed, asked.gap))
    print(report(outcome))
    return 1 if outcome.faults else 0


if __name__ == "__main__":
    sys.exit(main())
