"""`python -m loadtest.web_processes [--quick]`: small tests per second with one and two web processes, beside an echo with as many.

All four servers run together and take turns, so that noise affects all. The client is one thread over plain sockets; its processor time
is printed, because web processes, echoes and client share the cores. Every request has a different seed and nothing is stored, so that
no answer comes from a cache.
"""

from __future__ import annotations

import argparse
import os
import time
from contextlib import ExitStack, closing

import numpy as np
from numpy.typing import NDArray

from loadtest import workload
from loadtest.edge_bench import BODIES, json_body
from loadtest.server import running_echo, running_process
from loadtest.sockets import Stream, post
from loadtest.table import render

PROCESSES = (1, 2)
CONNECTIONS = 16  # the system distributes connections at random: with four, one process often has none
SIZES = (100, 1_000)
# Let web processes answer everything: by default half of their work goes to compute processes, which use the other core.
SETTINGS = {
    "cache_bytes": 0,
    "inplace_share": 1,
    "keep_alive_s": 600,
    "workers": 2,
    "max_connections_per_address": 100,
}
HEADERS = ["", "1 process", "2 processes", "2 over 1", "of the echo, 1", "of the echo, 2", "client"]


def measured(items: int, seconds: float, rounds: int) -> tuple[NDArray[np.float64], float]:
    """Answers per second, (rounds, 4): exactperm with 1 and 2 web processes, the echo with 1 and 2; and the client's share of a core."""
    load = workload.accuracy(items)
    bodies = [json_body({"u": load.u, "v": load.v, "seed": seed}) for seed in range(BODIES)]
    with ExitStack() as stack:
        urls = [
            (
                stack.enter_context(running_process({**SETTINGS, "web_processes": count}))[0],
                "/v1/tests/scores",
            )
            for count in PROCESSES
        ]
        urls += [(stack.enter_context(running_echo(count)), "/bare") for count in PROCESSES]
        streams = [
            stack.enter_context(closing(Stream(url, [post(path, body) for body in bodies], CONNECTIONS)))
            for url, path in urls
        ]
        for stream in streams:
            stream.rate(seconds)  # warm
        began, own = time.perf_counter(), time.process_time()
        rates = np.array([[stream.rate(seconds) for stream in streams] for _ in range(rounds)])
        share = (time.process_time() - own) / (time.perf_counter() - began)
    return rates, share


def main() -> None:
    """Print one line for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    rows = []
    for items in SIZES:
        rates, share = measured(items, *((0.5, 5) if options.quick else (1.0, 15)))
        ours, both, echo, echoes = np.median(rates, axis=0)
        growth = np.median(rates[:, 1] / rates[:, 0])
        behind, behind_both = np.median(rates[:, :2] / rates[:, 2:], axis=0)
        rows += [
            [f"N = {items:,}", f"{ours:,.0f}/s", f"{both:,.0f}/s", f"{growth:.2f}", f"{behind:.2f}", f"{behind_both:.2f}", f"{share:.2f}"],
            ["the echo", f"{echo:,.0f}/s", f"{echoes:,.0f}/s", f"{np.median(rates[:, 3] / rates[:, 2]):.2f}", "", "", ""],
        ]  # fmt: skip
    print(render(HEADERS, rows))
    print(
        f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; the last column is the client's share of one."
    )


if __name__ == "__main__":
    main()
