"""Measure latency and throughput of the service beside echoes of the same bodies, with the same server program and client.

The three take turns. A client sends the next request when the last one is answered, so with eight clients on few cores the p50 is
mostly time in a queue. The client runs on the same cores.
"""

import itertools
import selectors
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing

import numpy as np
import orjson

from loadtest import workload
from loadtest.options import Options
from loadtest.server import running_echo, running_process
from loadtest.sockets import Link, post
from loadtest.table import Table, duration, ratio

SIZES = (100, 1_000, 10_000, 100_000)
CLIENTS = (1, 8)
BODIES = 16
PATH = "/v1/tests/effects"
OURS, ECHO, BARE = "exactperm", "echo", "echo, json.dumps alone"
FEW_FOR_P99 = 100
BURSTS = 100
SETTINGS = {"cache_bytes": 0, "keep_alive_s": 600}


class Crowd:
    """Clients of one server, each with one connection and one pending request.

    Connections are opened for every turn, before the clock starts, as a server closes idle ones.
    """

    def __init__(self, name: str, url: str, path: str, bodies: Sequence[bytes], clients: int) -> None:
        self.name = name
        self.seconds: list[float] = []
        self.rates: list[float] = []
        self._url, self._clients = url, clients
        self._requests = itertools.cycle([post(path, body) for body in bodies])
        self._began: dict[Link, float] = {}

    def run(self, seconds: float) -> None:
        """Send for a time, wait for the last answers, and record every latency and the rate."""
        before = len(self.seconds)
        with ExitStack() as stack:
            links = [stack.enter_context(closing(Link(self._url))) for _ in range(self._clients)]
            selector = stack.enter_context(selectors.DefaultSelector())
            for link in links:
                selector.register(link.socket, selectors.EVENT_READ, link)
            start = time.perf_counter()
            for link in links:
                self._send(link)
            while self._began:
                for key, _ in selector.select():
                    if key.data.taken() is not None:
                        now = time.perf_counter()
                        self.seconds.append(now - self._began.pop(key.data))
                        if now < start + seconds:
                            self._send(key.data)
            self.rates.append((len(self.seconds) - before) / (time.perf_counter() - start))

    def _send(self, link: Link) -> None:
        self._began[link] = time.perf_counter()
        link.send(next(self._requests))


def measure(options: Options) -> Iterator[Table]:
    """Measure a table for every size: exactperm and two echoes, one client and eight."""
    with running_process(SETTINGS) as (url, _), running_echo() as echo:
        for items in SIZES:
            bodies = bodies_of(items, options)
            rows = [
                row
                for clients in CLIENTS
                for row in rows_of(in_turns(url, echo, bodies, clients, options.quick), clients)
            ]
            header = ["clients", "p50", "p99", "requests/s", "of the echo", "requests"]
            notes = [
                f"p99 is the largest of all where there are fewer than {FEW_FOR_P99} requests; requests/s is a median of turns"
            ]
            yield Table(f"N = {items:,}: JSON of {len(bodies[0]):,} bytes", header, rows, notes)


def bodies_of(items: int, options: Options) -> list[bytes]:
    """Bodies that differ in their seed, which exact methods ignore; equal ones would be computed once."""
    load = workload.accuracy(items, options.seed, options.law)
    fields = {"stay": load.stay, "swap": load.swap, "statistic": {"expression": "abs(x1)"}}
    return [
        orjson.dumps({**fields, "seed": seed}, option=orjson.OPT_SERIALIZE_NUMPY) for seed in range(BODIES)
    ]


def in_turns(url: str, echo: str, bodies: list[bytes], clients: int, quick: bool) -> list[Crowd]:
    """The clients of exactperm, of the echo and of the bare echo, after their turns."""
    rounds, seconds = (2, 0.1) if quick else (7, 0.5)
    crowds = [
        Crowd(name, base, path, bodies, clients)
        for name, base, path in ((OURS, url, PATH), (ECHO, echo, "/echo"), (BARE, echo, "/bare"))
    ]
    for crowd in crowds:  # to warm up
        crowd.run(seconds / 4)
        crowd.seconds.clear()
        crowd.rates.clear()
    for _ in range(rounds):
        for crowd in crowds:
            crowd.run(seconds)
    return crowds


def rows_of(crowds: list[Crowd], clients: int) -> list[list[str]]:
    """A row for each kind of server."""
    rates = {crowd.name: statistics.median(crowd.rates) for crowd in crowds}
    return [
        [
            f"{clients}, {crowd.name}",
            duration(statistics.median(crowd.seconds)),
            _p99(crowd.seconds),
            f"{rates[crowd.name]:,.0f}" if rates[crowd.name] >= 10 else f"{rates[crowd.name]:.1f}",
            ratio(rates[crowd.name] / rates[ECHO]),
            f"{len(crowd.seconds):,}",
        ]
        for crowd in crowds
    ]


def _p99(seconds: list[float]) -> str:
    """The 99th percentile, or the largest where there are too few for one."""
    if len(seconds) < FEW_FOR_P99:
        return f"max {duration(max(seconds))}"
    return duration(float(np.quantile(seconds, 0.99)))


def quietest_p50(link: Link, bodies: Sequence[bytes]) -> float:
    """The least median of bursts of requests; on a shared machine the others include the load of neighbours."""
    requests = [post(PATH, body) for body in bodies]
    return min(statistics.median(_asked(link, request) for request in requests) for _ in range(BURSTS))


def _asked(link: Link, request: bytes) -> float:
    began = time.perf_counter()
    link.ask(request)
    return time.perf_counter() - began
