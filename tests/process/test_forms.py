"""Forms and compressed bodies at a real server: read by workers, within their deadline, while others are served."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.process.conftest import PATIENCE_S, PROC, Server, until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not PROC.is_dir(), reason="the states of processes are read in /proc"),
]

# Minutes of sampling, within the budget of these servers.
ENDLESS = ("id,u,v\n" + "".join(f"{n},{2 ** (n % 30)},0\n" for n in range(9_000))).encode()
CHOICES = {"format": "csv", "method": "monte_carlo", "samples": "500000000"}
ROOMY = {
    "max_samples": 10**9,
    "engine_budget_operations": 10**15,
    "worker_memory_bytes": 2**41,
    "most_over_deadline": 1e9,
}
SMALL = {"u": [0.85, 0.90, 0.78, 0.92, 0.88], "v": [0.80, 0.85, 0.75, 0.88, 0.82]}

Start = Callable[..., Server]


def form(server: Server, **fields: str) -> httpx.Response:
    files = {"file": ("scores.csv", gzip.compress(ENDLESS))}
    return httpx.post(
        f"{server.url}/v1/tests/files", files=files, data={**CHOICES, **fields}, timeout=PATIENCE_S
    )


def test_others_are_served_while_a_form_is_computed_and_its_deadline_ends_it(start: Start) -> None:
    server = start(workers=1, **ROOMY)
    answers: list[httpx.Response] = []
    sender = threading.Thread(target=lambda: answers.append(form(server, timeout_s="5")))
    sender.start()
    (worker,) = until(server.computing, "the worker computes")
    assert httpx.get(f"{server.url}/livez").status_code == 200
    assert server.post("/v1/tests/scores", SMALL).json()["p_value"] == 0.0625
    assert answers == []
    sender.join(PATIENCE_S)
    assert answers[0].status_code == 503
    assert answers[0].json()["type"].endswith("#deadline-exceeded")
    until(lambda: len(server.workers() - {worker}) == 2, "another worker has come")


def test_a_stream_that_inflates_beyond_the_limit_is_a_413_and_nothing_else(start: Start) -> None:
    server = start(workers=1, max_body_bytes=100_000)
    bomb = gzip.compress(b" " * 50_000_000)

    def chunks() -> Iterator[bytes]:
        for begin in range(0, len(bomb), 1_000):
            yield bomb[begin : begin + 1_000]

    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    response = httpx.post(
        f"{server.url}/v1/tests/scores", content=chunks(), headers=headers, timeout=PATIENCE_S
    )
    assert response.status_code == 413
    assert response.headers["content-type"] == "application/problem+json"
    assert server.post("/v1/tests/scores", SMALL).status_code == 200


def test_what_is_written_in_a_form_is_in_no_log(start: Start) -> None:
    server = start(workers=1)
    secret = "s3cr3t-" * 3
    body = f'--b\r\nContent-Disposition: form-data; name="u"; filename="{secret}"\r\n\r\n{secret}'.encode()
    headers = {"content-type": "multipart/form-data; boundary=b"}
    for content in (body, body + b"\r\n--b--\r\n", body + b"\r\n--b" + secret.encode() * 50):
        response = httpx.post(
            f"{server.url}/v1/tests/files", content=content, headers=headers, timeout=PATIENCE_S
        )
        assert 400 <= response.status_code < 500
    server.stop()
    assert secret not in server.log.read_text()
