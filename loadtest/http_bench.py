"""Measure the whole service against work in process:

JSON over a loopback socket, a real server, httpx. Every request has a different seed, which exact methods ignore, so that no cache of
answers helps the server. Bodies are made before the clock starts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import orjson

from loadtest import paper, workload
from loadtest.measure import Contender, Timing, interleave
from loadtest.options import Options
from loadtest.server import running_server
from loadtest.table import Table, duration, goal, ratio

JSON_HEADERS = {"content-type": "application/json"}
SMALL_ITEMS, LARGE_ITEMS = 10_000, 1_000_000
SPEEDUP_OVER_ALGORITHM_4 = 25.0
OVERHEAD_OVER_DECODING = 2.5


@dataclass(frozen=True, slots=True)
class Exchange:
    """One kind of request: its path, the fields of its body, and the number of times it is sent."""

    name: str
    path: str
    fields: dict[str, Any]
    turns: int
    burst: int = 1

    def body(self, seed: int) -> bytes:
        """Serialise the request with this seed."""
        return orjson.dumps({**self.fields, "seed": seed}, option=orjson.OPT_SERIALIZE_NUMPY)


def measure(options: Options) -> Iterator[Table]:
    """Measure both comparisons, each with its goal."""
    with running_server() as url, httpx.Client(base_url=url, timeout=120.0) as client:
        small = workload.accuracy(SMALL_ITEMS, options.seed, options.law)
        yield _against_algorithm_4(client, small, options.quick)
        large = workload.accuracy(LARGE_ITEMS, options.seed, options.law)
        for exchange in _large_exchanges(large, turns=3 if options.quick else 9):
            yield _against_decoding(client, exchange)


def _against_algorithm_4(client: httpx.Client, load: workload.AccuracyWorkload, quick: bool) -> Table:
    turns = 5 if quick else 20
    fields = {"stay": load.stay, "swap": load.swap, "statistic": {"expression": "abs(x1)"}}
    exchange = Exchange("POST /v1/tests/effects", "/v1/tests/effects", fields, turns, burst=5)
    served, algorithm_4 = interleave(
        [
            Contender(exchange.name, _sender(client, exchange), exchange.turns, exchange.burst),
            Contender(
                "Algorithm 4 in process",
                lambda: paper.exact_perm_test(load.stay, load.swap, paper.convolve_fft),
                turns,
                burst=2,
            ),
        ]
    )
    times = algorithm_4.median / served.median
    said = goal("faster than Algorithm 4", times, SPEEDUP_OVER_ALGORITHM_4, "times", at_least=True)
    title = f"N = {load.stay.size:,}: a JSON request of {len(exchange.body(0)):,} bytes beside Algorithm 4"
    return _pair(title, served, algorithm_4, f"{algorithm_4.result:.6g}", said)


def _against_decoding(client: httpx.Client, exchange: Exchange) -> Table:
    body = exchange.body(0)
    served, decoding = interleave(
        [
            Contender(exchange.name, _sender(client, exchange), exchange.turns, exchange.burst),
            Contender("orjson.loads + numpy.array", lambda: _decode(body), exchange.turns),
        ]
    )
    times = served.median / decoding.median
    said = goal("of the time of decoding alone", times, OVERHEAD_OVER_DECODING, "times", at_least=False)
    size = f"{len(body):,} bytes with {', '.join(exchange.fields)}"
    return _pair(f"N = {LARGE_ITEMS:,}: a JSON request of {size}", served, decoding, "", said)


def _large_exchanges(load: workload.AccuracyWorkload, turns: int) -> list[Exchange]:
    effects = {"stay": load.stay, "swap": load.swap, "statistic": {"expression": "abs(x1)"}}
    scores = {"u": load.u, "v": load.v, "statistic": {"name": "sum_difference"}}
    return [
        Exchange("POST /v1/tests/effects", "/v1/tests/effects", effects, turns),
        Exchange("POST /v1/tests/scores", "/v1/tests/scores", scores, turns),
    ]


def _sender(client: httpx.Client, exchange: Exchange) -> Callable[[], Any]:
    """Return a call that posts the next prepared body and returns the decoded answer."""
    calls = exchange.turns * exchange.burst + 1
    bodies: Iterator[bytes] = iter([exchange.body(seed) for seed in range(calls)])

    def send() -> Any:
        response = client.post(exchange.path, content=next(bodies), headers=JSON_HEADERS)
        if response.status_code != httpx.codes.OK:
            raise RuntimeError(f"{exchange.path} answered {response.status_code}: {response.text[:400]}")
        return orjson.loads(response.content)

    return send


def _decode(body: bytes) -> list[Any]:
    """Do the minimum with the body: decode its JSON, and convert its lists to arrays."""
    fields = orjson.loads(body)
    return [np.array(value) for value in fields.values() if isinstance(value, list)]


def _p_value(served: Timing) -> str:
    return f"{served.result['p_value']:.6g} ({served.result['method']['name']})"


def _pair(title: str, served: Timing, other: Timing, others_p: str, said: str) -> Table:
    rows = [
        [
            timing.name,
            duration(timing.median),
            duration(timing.best),
            str(len(timing.seconds)),
            ratio(timing.median / served.median),
            p_value,
        ]
        for timing, p_value in ((served, _p_value(served)), (other, others_p))
    ]
    runtime = ", ".join(f"{name} {ms}" for name, ms in served.result["runtime"].items())
    notes = [said, f"the server's timing of its last answer: {runtime}"]
    return Table(title, ["", "median", "min", "calls", "over the request", "p"], rows, notes)
