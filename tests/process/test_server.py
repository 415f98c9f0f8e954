"""A real server: signals, kills, disconnects, deadlines."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import pytest

from tests.process.conftest import ENDLESS, LARGE, PATIENCE_S, PROC, ROOMY, SMALL, Server, lives, until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not PROC.is_dir(), reason="the states of processes are read in /proc"),
]


Start = Callable[..., Server]


def head_and_body(server: Server, body: bytes) -> bytes:
    head = f"POST /v1/tests/effects HTTP/1.1\r\nhost: x:{server.port}\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def test_it_answers_and_ends_with_status_0_on_sigterm(start: Start) -> None:
    server = start(workers=2)
    assert server.post("/v1/tests/scores", SMALL).json()["p_value"] == 0.0625
    assert server.post("/v1/tests/effects", LARGE).status_code == 200
    response = httpx.get(f"{server.url}/nope")
    assert response.headers["content-type"] == "application/problem+json"
    assert "server" not in response.headers
    workers = server.workers()
    assert len(workers) == 2
    assert server.stop() == 0
    until(lambda: not any(lives(pid) for pid in workers), "no worker is left")
    assert "Traceback" not in server.log.read_text()


def test_a_request_in_flight_is_answered_after_sigterm(start: Start) -> None:
    server = start(workers=1)
    body = json.dumps(LARGE).encode()
    message = head_and_body(server, body)
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(message[:-1])  # accepted, and not complete
        httpx.get(f"{server.url}/livez")
        server.process.send_signal(signal.SIGTERM)
        until(lambda: "Shutting down" in server.log.read_text(), "it is shutting down")
        client.sendall(message[-1:])
        assert client.recv(100).startswith(b"HTTP/1.1 200 ")
    assert server.process.wait(PATIENCE_S) == 0


def test_a_second_sigterm_ends_it_at_once(start: Start) -> None:
    server = start(workers=1, **ROOMY)
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(head_and_body(server, json.dumps(ENDLESS).encode()))
        (worker,) = until(server.computing, "the worker computes")
        server.process.send_signal(signal.SIGTERM)
        until(lambda: "Shutting down" in server.log.read_text(), "it is shutting down")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE_S) == 0
    until(lambda: not lives(worker), "no worker is left")


def test_a_client_that_leaves_ends_its_computation_and_no_other(start: Start) -> None:
    server = start(workers=1, **ROOMY)
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(head_and_body(server, json.dumps(ENDLESS).encode()))
        (worker,) = until(server.computing, "the worker computes")
    until(lambda: worker not in server.workers(), "the worker is killed")
    assert server.post("/v1/tests/effects", LARGE).status_code == 200


@pytest.mark.parametrize("where", ["body", "query", "server"])
def test_a_deadline_is_kept_wherever_it_is_said(start: Start, where: str) -> None:
    server = start(workers=1, **{**ROOMY, **({"default_timeout_s": 0.3} if where == "server" else {})})
    before = server.workers()
    body = {**ENDLESS, "timeout_s": 0.3} if where == "body" else ENDLESS
    query = "?timeout_s=0.3" if where == "query" else ""
    response = server.post(f"/v1/tests/effects{query}", body)
    assert response.status_code == 503
    assert response.json()["type"] == "/docs/problems#deadline-exceeded"
    assert response.headers["retry-after"]
    until(lambda: len(server.workers() & before) == len(before) - 1, "the worker is killed")
    until(lambda: len(server.workers()) == len(before), "another worker is there")


def test_workers_that_are_killed_fail_nobody(start: Start) -> None:
    server = start(workers=2)
    statuses: list[int] = []

    def client() -> None:
        for _ in range(10):
            response = server.post("/v1/tests/effects", LARGE)
            statuses.append(response.status_code)

    def answered(count: int) -> bool:
        return len(statuses) >= count

    clients = [threading.Thread(target=client) for _ in range(4)]
    for thread in clients:
        thread.start()
    killed = 0
    for count in (5, 15, 25):
        until(partial(answered, count), "answers come")
        for pid in list(server.workers())[:1]:
            os.kill(pid, signal.SIGKILL)
            killed += 1
    for thread in clients:
        thread.join()
    assert killed
    assert statuses == [200] * 40
    until(lambda: len(server.workers()) == 2, "both workers are back")


def test_a_full_queue_is_a_503_with_retry_after(start: Start) -> None:
    server = start(workers=1, queue_depth=0, **{**ROOMY, "default_timeout_s": 30})
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(head_and_body(server, json.dumps(ENDLESS).encode()))
        until(server.computing, "the worker computes")
        response = server.post("/v1/tests/effects", {**ENDLESS, "seed": 1})
        assert response.status_code == 503
        assert response.json()["type"] == "/docs/problems#overloaded"
        # At least what the settings say, at most what the one before may still take.
        assert 1 <= int(response.headers["retry-after"]) <= 30
        assert server.post("/v1/tests/effects", LARGE).status_code == 200  # a process is free for short ones
        assert httpx.get(f"{server.url}/livez").status_code == 200
        assert server.post("/v1/tests/scores", SMALL).status_code == 200  # computed in place


def test_a_body_in_chunks_over_the_limit_is_refused_and_the_server_lives(start: Start) -> None:
    server = start(workers=1, max_body_bytes=100_000)

    def chunks() -> Any:
        for _ in range(40):
            yield b" " * 10_000

    response = httpx.post(
        f"{server.url}/v1/tests/scores", content=chunks(), headers={"content-type": "application/json"}
    )
    assert response.status_code == 413
    assert response.headers["content-type"] == "application/problem+json"
    assert server.post("/v1/tests/scores", SMALL).status_code == 200


def test_the_workers_end_with_a_server_that_is_killed(start: Start) -> None:
    server = start(workers=1)
    workers = server.workers()
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait(PATIENCE_S)
    until(lambda: not any(lives(pid) for pid in workers), "the orphans end")


def test_no_payload_is_in_the_log(start: Start) -> None:
    server = start(workers=1)
    server.post("/v1/tests/scores", {"u": ["secret"], "v": [1]})
    server.post("/v1/tests/scores", {"u": {"secret": 1}, "v": {"secret": 2}})
    assert server.stop() == 0
    log = server.log.read_text()
    assert '"route":"/v1/tests/scores"' in log
    assert "secret" not in log
