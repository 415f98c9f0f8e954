"""Run mixed load for a long time: memory and descriptors must stay flat.

`python -m loadtest.soak --minutes 60`. Samples the resident memory and the descriptors of the web process every few seconds, and prints
the slope per hour of a straight line through the samples after the warm-up (the first half, at most five minutes). Memory grows until
the result cache is full, so this server has a cache of 1 MiB, which is full after half a minute, instead of 32 MiB.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from dataclasses import dataclass

import httpx
import numpy as np

from loadtest.traffic import Traffic
from loadtest.watched import Watched, not_at_rest, watched_server

CLIENTS = 3
LEAVING_S = 3.0  # until the server has noticed every client that left
PAUSE_S = 0.03  # between the requests of one client: a mix, not a flood
WARM_UP_S = 300.0
CACHE_BYTES = 2**20
MOST_MIB_PER_HOUR = 1.0


@dataclass(frozen=True, slots=True)
class Sample:
    """The web process at one moment, and the memory of all its workers."""

    seconds: float
    resident_mib: float
    descriptors: int


async def soak(server: Watched, minutes: float, every_s: float) -> tuple[list[Sample], Traffic]:
    """Load and samples."""
    traffic = Traffic(server.url, 0)
    over = asyncio.Event()
    clients = [asyncio.create_task(_client(traffic, over)) for _ in range(CLIENTS)]
    began, samples = time.monotonic(), []
    while (seconds := time.monotonic() - began) < minutes * 60:
        samples.append(Sample(seconds, server.resident_mib(), server.descriptors()))
        await asyncio.sleep(every_s)
    over.set()
    for error in await asyncio.gather(*clients, return_exceptions=True):
        if error is not None:
            traffic.tally.wrong.append(repr(error))
    await traffic.close()
    await asyncio.sleep(LEAVING_S)
    async with httpx.AsyncClient(base_url=server.url) as client:
        traffic.tally.wrong += not_at_rest((await client.get("/metrics")).text)
    return samples, traffic


async def _client(traffic: Traffic, over: asyncio.Event) -> None:
    while not over.is_set():
        await traffic.one()
        await asyncio.sleep(PAUSE_S)


def slope_per_hour(samples: list[Sample], values: list[float]) -> float:
    """The slope by least squares through the samples after the warm-up."""
    warm = min(WARM_UP_S, samples[-1].seconds / 2)
    kept = [(s.seconds / 3600, value) for s, value in zip(samples, values, strict=True) if s.seconds >= warm]
    hours, found = np.array(kept).T
    return float(np.polyfit(hours, found, 1)[0])


def main() -> int:
    """Parse the options, run, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between samples (5)")
    asked = parser.parse_args()
    with watched_server(workers=2, access_log=False, cache_bytes=CACHE_BYTES) as server:
        samples, traffic = asyncio.run(soak(server, asked.minutes, asked.every))
    memory = [sample.resident_mib for sample in samples]
    descriptors = [float(sample.descriptors) for sample in samples]
    print(f"{sum(traffic.tally.sent.values()):,} requests in {asked.minutes:g} minutes")
    print(f"statuses: {json.dumps(dict(sorted(traffic.tally.statuses.items())))}")
    for name, values in (("resident memory, MiB", memory), ("descriptors", descriptors)):
        ends = f"first {values[0]:.1f}, last {values[-1]:.1f}, most {max(values):.1f}"
        print(f"{name}: {ends}; slope {slope_per_hour(samples, values):+.2f} per hour")
    met = slope_per_hour(samples, memory) <= MOST_MIB_PER_HOUR
    print(f"goal 16, at most {MOST_MIB_PER_HOUR:g} MiB per hour: {'met' if met else 'MISSED'}")
    print(
        f"wrong answers, and gauges that are not at rest: {len(traffic.tally.wrong)}",
        *traffic.tally.wrong[:20],
        sep="\n",
    )
    return 1 if traffic.tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
