"""`python -m loadtest.edge_bench [--quick]`: what the service adds to a test, compared with the unavoidable minimum.

All contenders take turns inside one run. Requests differ in their seed, which exact methods ignore, and answers are not stored, so that
no cache helps the server.
"""

import argparse
import io
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from loadtest import workload
from loadtest.measure import Contender, interleave
from loadtest.server import running_echo, running_process
from loadtest.sockets import Link, Stream, get, post
from loadtest.table import duration, goal, ratio, render

SMALL_ITEMS, LARGE_ITEMS = 1_000, 1_000_000
CONNECTIONS = 4
BODIES = 64
WORKED_ITEMS, WORKED_SCORES = 2_000, 20_000  # a test of about 20 ms
BIG_BODY_ITEMS = 1_600_000  # about 8 MB
PROBE_EVERY_S = 0.01
P99 = 0.99
NPY = "application/x-npy"


@dataclass(frozen=True, slots=True)
class Row:
    """One goal: its name, the measurement, and the figures behind it."""

    name: str
    measured: float
    limit: float
    unit: str
    at_least: bool
    behind: str

    @property
    def met(self) -> bool:
        """Return whether the goal is met."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


def measure(quick: bool = False) -> list[Row]:
    """Measure all goals of the edge; about one minute, a third of that when `quick`."""
    return [
        *small_tests(quick),
        *large_bodies(quick),
        *two_workers(quick),
        *loop_lag(quick),
        *start_up(quick),
    ]


# -- requests per second of small tests --------------------------------------------------------------------


def small_tests(quick: bool) -> list[Row]:
    """Requests per second of N = 1,000 against the echo of the same body."""
    load = workload.accuracy(SMALL_ITEMS)
    bodies = [json_body({"u": load.u, "v": load.v, "seed": seed}) for seed in range(BODIES)]
    rounds, seconds = (6, 0.4) if quick else (15, 0.7)
    with ExitStack() as stack:
        ours, _ = stack.enter_context(running_process({"cache_bytes": 0, "keep_alive_s": 600}))
        echo = stack.enter_context(running_echo())
        ways = [(ours, "/v1/tests/scores"), (echo, "/echo"), (echo, "/bare")]
        streams = [
            stack.enter_context(closing(Stream(url, [post(path, body) for body in bodies], CONNECTIONS)))
            for url, path in ways
        ]
        rates = _rates(streams, seconds, rounds)
    served, echoed, bare = (f"{rate:,.0f}/s" for rate in np.median(rates, axis=0))
    to_echo, to_bare = np.median(rates[:, :1] / rates[:, 1:], axis=0)
    behind = (
        f"ours {served}, echo {echoed}; an echo with json.dumps alone {bare}, to which ours is {to_bare:.2f}"
    )
    return [Row("N = 1,000 JSON: requests/s, of an echo", float(to_echo), 0.5, "times", True, behind)]


# -- a million items ---------------------------------------------------------------------------------------


def large_bodies(quick: bool) -> list[Row]:
    """Seconds of one request of N = 1,000,000, against decoding its JSON."""
    load = workload.accuracy(LARGE_ITEMS)
    turns = 5 if quick else 15
    columns = {"u": load.u, "v": load.v, "statistic": {"name": "sum_difference"}}
    text, table = json_body({**columns, "seed": 0}), _npy(load.u, load.v)
    jsons = [post("/v1/tests/scores", json_body({**columns, "seed": seed})) for seed in range(turns + 1)]
    path = "/v1/tests/scores?statistic=sum_difference&seed="
    arrays = [post(f"{path}{seed}", table, NPY) for seed in range(turns + 1)]
    with running_process({"cache_bytes": 0, "keep_alive_s": 600}) as (url, _), closing(Link(url)) as link:
        by_json, by_npy, decoding = interleave(
            [
                Contender("JSON", _each(link, jsons), turns),
                Contender("npy", _each(link, arrays), turns),
                Contender("orjson.loads + numpy.array", lambda: _decode(text), turns),
            ]
        )
    told = [orjson.loads(timing.result) for timing in (by_json, by_npy)]
    if told[0]["p_value"] != told[1]["p_value"]:
        raise RuntimeError("JSON and npy had different answers")
    yardstick = f"orjson.loads + numpy.array {duration(decoding.median)}"
    rows = []
    for timing, answer, size, limit in zip(
        (by_json, by_npy), told, (len(text), len(table)), (1.6, 0.5), strict=True
    ):
        engine = duration(answer["runtime"]["engine_ms"] / 1e3)
        behind = f"{duration(timing.median)} for {size / 1e6:.1f} MB, engine {engine} of it; {yardstick}"
        name = f"N = 1,000,000 {timing.name}: of decoding the JSON"
        rows.append(Row(name, timing.median / decoding.median, limit, "times", False, behind))
    return rows


def _each(link: Link, requests: list[bytes]) -> Callable[[], bytes]:
    waiting = iter(requests)
    return lambda: link.ask(next(waiting))


def _decode(body: bytes) -> list[Any]:
    """Do the minimum with the body: decode its JSON, and convert its lists to arrays."""
    return [np.array(value) for value in orjson.loads(body).values() if isinstance(value, list)]


# -- two workers -------------------------------------------------------------------------------------------


def two_workers(quick: bool) -> list[Row]:
    """Tests of about 20 ms per second, with two workers against one."""
    rounds, seconds = (4, 1.0) if quick else (9, 2.0)
    requests = [post("/v1/tests/scores", body) for body in worked()]
    with ExitStack() as stack:
        streams = []
        for workers in (1, 2):
            url, _ = stack.enter_context(
                running_process({"cache_bytes": 0, "keep_alive_s": 600, "workers": workers})
            )
            streams.append(stack.enter_context(closing(Stream(url, requests, CONNECTIONS))))
            streams[-1].rate(0.6)
        with closing(Link(url)) as link:
            took = orjson.loads(link.ask(requests[0]))["runtime"]["engine_ms"]
        rates = _rates(streams, seconds, rounds)
    one, two = np.median(rates, axis=0)
    behind = f"{one:.1f}/s and {two:.1f}/s of tests of {took:.0f} ms, on {os.cpu_count()} cores"
    gain = float(np.median(rates[:, 1] / rates[:, 0]))
    return [Row("two workers: throughput, of one", gain, 1.7, "times", True, behind)]


def worked() -> list[bytes]:
    """Bodies of tests that take a worker about 20 ms each, all different."""
    draw = np.random.default_rng(5)
    bodies = []
    for seed in range(BODIES):
        u, v = draw.integers(0, WORKED_SCORES, (2, WORKED_ITEMS))
        bodies.append(json_body({"u": u, "v": v, "statistic": {"name": "sum_difference"}, "seed": seed}))
    return bodies


# -- the event loop ----------------------------------------------------------------------------------------


def loop_lag(quick: bool) -> list[Row]:
    """The time of /livez while every worker computes and bodies of 8 MB arrive, measured by a separate process."""
    seconds = 5.0 if quick else 20.0
    spawn = multiprocessing.get_context("spawn")
    stopped = spawn.Event()
    with running_process({"cache_bytes": 0, "keep_alive_s": 600}) as (url, _), closing(Link(url)) as link:
        loads = [spawn.Process(target=load, args=(url, stopped)) for load in (_compute, _send_big)]
        for process in loads:
            process.start()
        try:
            time.sleep(2.0)
            before = _answered(link)
            lags = _probe(link, seconds)
            answered = _answered(link) - before
        finally:
            stopped.set()
            for process in loads:
                process.join()
    if any(process.exitcode for process in loads):
        raise RuntimeError("the load did not run")
    p50, p99 = (float(np.quantile(lags, q)) for q in (0.5, P99))
    behind = f"p50 {duration(p50)}, max {duration(max(lags))}, {len(lags)} probes beside {answered:.0f} tests"
    return [Row("/livez at p99 while all workers compute", p99 * 1e3, 50.0, "ms", False, behind)]


def _probe(link: Link, seconds: float) -> list[float]:
    ends, lags = time.perf_counter() + seconds, []
    while (began := time.perf_counter()) < ends:
        link.ask(get("/livez"))
        lags.append(time.perf_counter() - began)
        time.sleep(PROBE_EVERY_S)
    return lags


def _answered(link: Link) -> float:
    lines = link.ask(get("/metrics")).decode().splitlines()
    return float(next(line for line in lines if line.startswith("exactperm_answers_total{")).split()[1])


def _compute(url: str, stopped: Event) -> None:
    """Keep all workers busy."""
    with closing(Stream(url, [post("/v1/tests/scores", body) for body in worked()], CONNECTIONS)) as stream:
        while not stopped.is_set():
            stream.rate(0.5)


def _send_big(url: str, stopped: Event) -> None:
    """Send bodies of 8 MB, one after another."""
    load = workload.accuracy(BIG_BODY_ITEMS)
    columns = {"u": load.u, "v": load.v, "statistic": {"name": "sum_difference"}}
    requests = [post("/v1/tests/scores", json_body({**columns, "seed": seed})) for seed in range(2)]
    with closing(Stream(url, requests, 1)) as stream:
        while not stopped.is_set():
            stream.rate(0.1)


# -- start-up ----------------------------------------------------------------------------------------------


def start_up(quick: bool) -> list[Row]:
    """Seconds from `python -m exactperm` to the first 200 of /readyz."""
    seconds = []
    for _ in range(3 if quick else 7):
        began = time.perf_counter()
        with running_process({}):
            seconds.append(time.perf_counter() - began)
    behind = f"median of {len(seconds)}; best {duration(min(seconds))}; looked every 50 ms"
    return [Row("python -m exactperm to /readyz", statistics.median(seconds), 1.5, "s", False, behind)]


# -- the program -------------------------------------------------------------------------------------------

SECTIONS: dict[str, Callable[[bool], list[Row]]] = {
    "small": small_tests,
    "large": large_bodies,
    "workers": two_workers,
    "lag": loop_lag,
    "start": start_up,
}


def json_body(fields: dict[str, Any]) -> bytes:
    return orjson.dumps(fields, option=orjson.OPT_SERIALIZE_NUMPY)


def _npy(u: workload.IntArray, v: workload.IntArray) -> bytes:
    file = io.BytesIO()
    np.save(file, np.column_stack([u, v]))
    return file.getvalue()


def _rates(streams: list[Stream], seconds: float, rounds: int) -> NDArray[np.float64]:
    """Answers per second of streams that take turns, shape (rounds, streams)."""
    return np.array([[stream.rate(seconds) for stream in streams] for _ in range(rounds)])


def report(rows: list[Row]) -> str:
    """Print a table, and one line for each goal."""
    cells = [
        [
            row.name,
            ratio(row.measured) if row.unit == "times" else f"{row.measured:.3g} {row.unit}",
            row.behind,
        ]
        for row in rows
    ]
    goals = [goal(row.name, row.measured, row.limit, row.unit, row.at_least) for row in rows]
    return "\n".join([render(["", "measured", "behind it"], cells), "", *goals])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.edge_bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--section", action="append", choices=list(SECTIONS), help="default all")
    options = parser.parse_args()
    for name in options.section or SECTIONS:
        print(report(SECTIONS[name](options.quick)), flush=True)


if __name__ == "__main__":
    main()
