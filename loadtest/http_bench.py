"""The whole service against work done in process: JSON over a loopback socket, a real server, httpx.

Every request has a body of its own (its seed differs, which an exact method ignores), so that no cache of
answers could flatter the server. Bodies are made before the clock starts.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import orjson

from loadtest import paper, workload
from loadtest.measure import Contender, Timing, interleave
from loadtest.server import running_server
from loadtest.table import duration, goal, ratio, render

JSON_HEADERS = {"content-type": "application/json"}
SMALL_ITEMS, LARGE_ITEMS = 10_000, 1_000_000
SPEEDUP_OVER_ALGORITHM_4 = 25.0
OVERHEAD_OVER_DECODING = 2.5


@dataclass(frozen=True, slots=True)
class Exchange:
    """One kind of request: its path, the fields of its body, and how often it is sent."""

    name: str
    path: str
    fields: dict[str, Any]
    turns: int
    burst: int = 1

    def body(self, seed: int) -> bytes:
        """Serialise the request with this seed."""
        return orjson.dumps({**self.fields, "seed": seed}, option=orjson.OPT_SERIALIZE_NUMPY)


def run(seed: int, quick: bool, law: workload.LengthLaw) -> None:
    """Print both comparisons and the goals."""
    with running_server() as url, httpx.Client(base_url=url, timeout=120.0) as client:
        small = workload.accuracy(SMALL_ITEMS, seed, law)
        _against_algorithm_4(client, small, quick)
        large = workload.accuracy(LARGE_ITEMS, seed, law)
        for exchange in _large_exchanges(large, turns=3 if quick else 9):
            _against_decoding(client, exchange)


def _against_algorithm_4(client: httpx.Client, load: workload.AccuracyWorkload, quick: bool) -> None:
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
    print(f"\nN = {load.stay.size:,}: one JSON request of {len(exchange.body(0)):,} bytes")
    _print_pair(served, algorithm_4, [_p_value(served), f"{algorithm_4.result:.6g}"])
    times = algorithm_4.median / served.median
    print(goal("faster than Algorithm 4", times, SPEEDUP_OVER_ALGORITHM_4, "times", at_least=True))


def _against_decoding(client: httpx.Client, exchange: Exchange) -> None:
    body = exchange.body(0)
    served, decoding = interleave(
        [
            Contender(exchange.name, _sender(client, exchange), exchange.turns, exchange.burst),
            Contender("orjson.loads + numpy.array", lambda: _decode(body), exchange.turns),
        ]
    )
    fields = ", ".join(exchange.fields)
    print(f"\nN = {LARGE_ITEMS:,}: one JSON request of {len(body):,} bytes, fields {fields}")
    _print_pair(served, decoding, [_p_value(served), ""])
    times = served.median / decoding.median
    print(goal("of the time of decoding alone", times, OVERHEAD_OVER_DECODING, "times", at_least=False))


def _large_exchanges(load: workload.AccuracyWorkload, turns: int) -> list[Exchange]:
    effects = {"stay": load.stay, "swap": load.swap, "statistic": {"expression": "abs(x1)"}}
    scores = {"u": load.u, "v": load.v, "statistic": {"name": "sum_difference"}}
    return [
        Exchange("POST /v1/tests/effects", "/v1/tests/effects", effects, turns),
        Exchange("POST /v1/tests/scores", "/v1/tests/scores", scores, turns),
    ]


def _sender(client: httpx.Client, exchange: Exchange) -> Callable[[], Any]:
    """Make a call that posts the next prepared body and returns the decoded answer."""
    calls = exchange.turns * exchange.burst + 1
    bodies: Iterator[bytes] = iter([exchange.body(seed) for seed in range(calls)])

    def send() -> Any:
        response = client.post(exchange.path, content=next(bodies), headers=JSON_HEADERS)
        if response.status_code != httpx.codes.OK:
            raise RuntimeError(f"{exchange.path} answered {response.status_code}: {response.text[:400]}")
        return orjson.loads(response.content)

    return send


def _decode(body: bytes) -> list[Any]:
    """Do the least anyone could do with the body: decode its JSON, make its lists arrays."""
    fields = orjson.loads(body)
    return [np.array(value) for value in fields.values() if isinstance(value, list)]


def _p_value(served: Timing) -> str:
    return f"{served.result['p_value']:.6g} ({served.result['method']['name']})"


def _print_pair(first: Timing, second: Timing, p_values: list[str]) -> None:
    rows = [
        [timing.name, duration(timing.median), duration(timing.best), str(len(timing.seconds)), p_value]
        for timing, p_value in itertools.zip_longest([first, second], p_values)
    ]
    print(render(["", "median", "min", "calls", "p"], rows))
    quotient = first.median / second.median
    print(f"ratio of medians {ratio(quotient)}, inverse {ratio(1.0 / quotient)}")
    print(f"the server's own account of its last answer: {first.result.get('runtime')}")
