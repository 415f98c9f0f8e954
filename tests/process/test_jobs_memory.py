"""Jobs of which a chunk takes more memory than a worker may use: each ends by itself, and nothing else does."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.process.conftest import ROOMY, SMALL, until
from tests.process.job_servers import DIGESTS, lines, serving, without_runtime
from tests.process.test_compare_parts import board

pytestmark = [pytest.mark.process, pytest.mark.slow]
MOST = 48 * 2**20
ITEMS, WIDEST = 100, 1_500_000
OUT_OF_MEMORY = "/docs/problems#out-of-memory"


def drawn(seed: int) -> list[int]:
    """Effects whose sum takes some seventy million values: method dp holds arrays of doubles of them for seconds."""
    numbers = random.Random(seed)
    return [numbers.randrange(-WIDEST, WIDEST) for _ in range(ITEMS)]


TOO_LARGE = {"stay": drawn(1), "method": "dp"}
# Only the tests of one data set are too large: chunks of the other are computed first.
TOO_LARGE_AT_LAST = {
    "kind": "scores",
    "method": "dp",
    "aggregate": None,
    "datasets": {
        "a": {"systems": board(10, 300, 1)["systems"]},
        "b": {"systems": {name: drawn(seed) for seed, name in enumerate("ABC")}},
    },
}


def test_a_chunk_that_takes_too_much_memory_fails_its_job_only(tmp_path: Path) -> None:
    settings: dict[str, Any] = {**ROOMY, "worker_memory_bytes": MOST, "api_key_digests": DIGESTS}
    other_board = board(14, 150, confidence_level=None)
    test = {"kind": "scores", "request": {**SMALL, "method": "monte_carlo", "samples": 200_000}}
    with serving(tmp_path, **settings) as server:
        until(server.computing_jobs, "the worker is warm")
        worker = server.job_worker()
        others = [
            server.submit("compare", other_board, "a"),
            server.submit("batch", {"tests": [test] * 40}, "b"),
        ]
        large = [
            server.submit("effects", TOO_LARGE, "a"),
            server.submit("compare", TOO_LARGE_AT_LAST, "b"),
            server.submit("batch", {"tests": [test, {"kind": "effects", "request": TOO_LARGE}]}, "a"),
        ]
        for job, key in zip(large, "aba", strict=True):
            ended = server.ended(job, key)
            assert (ended["state"], ended["result"]) == ("failed", None), ended
            problem = ended["problem"]
            assert (problem["type"], problem["status"]) == (OUT_OF_MEMORY, 503)
            assert "more memory than a worker may use" in problem["detail"]
            assert problem["instance"] == job
            asked = server.ask("GET", f"/v1/jobs/{job}/result", key)
            assert (asked.status_code, asked.json()["type"]) == (409, "/docs/problems#job-not-finished")
        assert server.state(large[1], "b")["chunks"] > 1
        at_once = server.ask("POST", "/v1/compare", "a", json=other_board).content
        assert without_runtime(server.result(others[0], "a")) == without_runtime(at_once)
        assert [one["p_value"] for one in lines(server.result(others[1], "b"))] == [
            server.ask("POST", "/v1/tests/scores", "b", json=test["request"]).json()["p_value"]
        ] * 40
        # A job after them, by the same worker host: only processes of it were killed. Nothing is kept of what failed.
        assert server.result(server.submit("scores", SMALL, "a"), "a")
        assert server.job_worker() == worker
        kept = "select count(*) from {} where job in (?, ?, ?)"
        for table in ("ep_parts", "ep_inputs"):
            assert server.rows(kept.format(table), *large) == [(0,)]
        assert 'exactperm_jobs{state="failed"} 3.0' in server.ask("GET", "/metrics", "a").text
        assert "Traceback" not in server.log.read_text()
