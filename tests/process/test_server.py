"""A real server: signals, kills, disconnects, deadlines, forms; and pictures, which workers draw."""

import gzip
import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.process.conftest import ENDLESS, LARGE, NEEDS_PROC, PATIENCE_S, ROOMY, SMALL, Server, lives, until

pytestmark = NEEDS_PROC


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
def test_a_deadline_is_kept_in_body_query_and_form(start: Start, where: str) -> None:
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


def test_killed_workers_fail_no_request(start: Start) -> None:
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


def has_loaded(pid: int, library: str) -> bool:
    return f"/{library}/" in Path(f"/proc/{pid}/maps").read_text()


def test_the_web_process_never_loads_drawing_libraries(start: Callable[..., Server]) -> None:
    server = start(workers=1)
    for query in ("?format=svg", "?format=png&theme=dark", "?format=html"):
        body = {"u": [1, 2, 3], "v": [0, 2, 1]}
        assert server.post(f"/v1/tests/scores{query}", body).status_code == 200
        assert server.post(f"/v1/gate{query}", {"kind": "scores", "request": body}).status_code == 200
    assert any(has_loaded(worker, "resvg_py") for worker in server.workers())
    assert not has_loaded(server.process.pid, "resvg_py")
    assert has_loaded(server.process.pid, "numpy")


# Minutes of sampling, within the budget of these servers.
ENDLESS_FORM = ("id,u,v\n" + "".join(f"{n},{2 ** (n % 30)},0\n" for n in range(9_000))).encode()
CHOICES = {"format": "csv", "method": "monte_carlo", "samples": "500000000"}
ROOMY_FORMS = {**ROOMY, "worker_memory_bytes": 2**41}


def form(server: Server, **fields: str) -> httpx.Response:
    files = {"file": ("scores.csv", gzip.compress(ENDLESS_FORM))}
    return httpx.post(
        f"{server.url}/v1/tests/files", files=files, data={**CHOICES, **fields}, timeout=PATIENCE_S
    )


def test_others_are_served_while_a_form_is_computed_and_its_deadline_ends_it(start: Start) -> None:
    server = start(workers=1, **ROOMY_FORMS)
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


def test_a_stream_that_inflates_beyond_the_limit_is_a_413(start: Start) -> None:
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


def test_form_data_is_not_logged(start: Start) -> None:
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
