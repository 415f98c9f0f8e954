"""`python -m loadtest.batch`: a thousand small tests one by one on one connection, and in one batch.

Both take turns; every test has a different seed, and nothing is cached.
"""

from __future__ import annotations

import json
import time
from contextlib import closing

import numpy as np

from loadtest import workload
from loadtest.edge_bench import json_body
from loadtest.server import running_process
from loadtest.sockets import Link, post
from loadtest.table import render

TESTS, ROUNDS = 1_000, 5
SIZES = (10, 100, 1_000)


def measured(items: int) -> list[str]:
    """Tests per second singly and in a batch, and their ratio."""
    load = workload.accuracy(items)
    rows = []
    with running_process({"cache_bytes": 0, "keep_alive_s": 600}) as (url, _), closing(Link(url)) as link:
        for turn in range(ROUNDS + 1):
            bodies = [json_body({"u": load.u, "v": load.v, "seed": turn * TESTS + at}) for at in range(TESTS)]
            batch = (
                b'{"tests":[' + b",".join(b'{"kind":"scores","request":%b}' % body for body in bodies) + b"]}"
            )
            began = time.perf_counter()
            for body in bodies:
                link.ask(post("/v1/tests/scores", body))
            between = time.perf_counter()
            answer = json.loads(link.ask(post("/v1/batch", batch)))
            ended = time.perf_counter()
            assert answer["counts"]["answered"] == TESTS
            rows.append((TESTS / (between - began), TESTS / (ended - between)))
    singly, together = np.median(rows[1:], axis=0)  # the first is warm-up
    return [f"N = {items:,}", f"{singly:,.0f}/s", f"{together:,.0f}/s", f"{together / singly:.1f}"]


def main() -> None:
    """Print a line for each size."""
    print(render(["", "one by one", "in a batch", "times"], [measured(items) for items in SIZES]))


if __name__ == "__main__":
    main()
