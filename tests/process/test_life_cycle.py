"""A real server's life: readiness, drain, liveness, memory, herds, and short tests beside long ones."""

import contextlib
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from exactperm.ops.edge.protocol import LAST_HEAD_S
from tests.process.conftest import ENDLESS, LARGE, NEEDS_PROC, PATIENCE_S, ROOMY, Server, until
from tests.process.wires import answer, head

pytestmark = NEEDS_PROC

# Some tens of milliseconds in a worker.
MEDIUM = {"stay": [3**k % 1009 for k in range(4_000)], "method": "monte_carlo", "samples": 2_000}

JSON = "Content-Type: application/json"

Start = Callable[..., Server]


def get(client: httpx.Client, path: str) -> int:
    return client.get(path).status_code


def sending(server: Server, body: Any) -> socket.socket:
    """A connection that has sent a request and does not read."""
    content = json.dumps(body).encode()
    head = f"POST /v1/tests/effects HTTP/1.1\r\nhost: x:{server.port}\r\ncontent-type: application/json\r\n"
    connection = socket.create_connection(("127.0.0.1", server.port))
    connection.sendall(f"{head}content-length: {len(content)}\r\n\r\n".encode() + content)
    return connection


def test_sigterm_turns_readiness_to_503_while_requests_are_still_taken(start: Start) -> None:
    server = start(workers=2, shutdown_delay_s=5, keep_alive_s=30)
    with (
        httpx.Client(base_url=server.url, timeout=PATIENCE_S) as early,
        httpx.Client(base_url=server.url) as late,
    ):
        assert get(early, "/readyz") == 200
        server.process.send_signal(signal.SIGTERM)
        until(lambda: get(late, "/readyz") == 503, "readiness is withdrawn")
        assert early.get("/readyz").json()["detail"] == "The service is shutting down."  # an open connection
        assert get(late, "/livez") == 200
        response = late.post("/v1/tests/effects", json=LARGE)
        assert response.status_code == 200
        assert response.headers["connection"] == "close"
    assert server.process.wait(PATIENCE_S) == 0


def test_a_drain_under_load_answers_every_request_that_was_accepted(start: Start) -> None:
    server = start(workers=2)
    statuses: list[int] = []
    broken: list[str] = []
    refused = threading.Event()

    def client(number: int) -> None:
        for turn in range(10_000):
            try:
                statuses.append(
                    server.post("/v1/tests/effects", {**MEDIUM, "seed": 10_000 * number + turn}).status_code
                )
            except httpx.ConnectError:  # it listens no more: this request was never accepted
                refused.set()
                return
            except httpx.TransportError as error:
                broken.append(type(error).__name__)
                return

    clients = [threading.Thread(target=client, args=(number,)) for number in range(6)]
    for thread in clients:
        thread.start()
    until(lambda: len(statuses) >= 30, "answers come")
    server.process.send_signal(signal.SIGTERM)
    for thread in clients:
        thread.join(PATIENCE_S)
    assert server.process.wait(PATIENCE_S) == 0
    assert refused.is_set()
    assert broken == []
    assert set(statuses) == {200}


@pytest.mark.parametrize("begun", [True, False])
def test_connections_before_the_end_of_listening_are_answered(start: Start, begun: bool) -> None:
    """In the kernel's queue, in that of the loop, or just connected: none of them is dropped."""
    while not answered_at_the_end(start(workers=2, shutdown_delay_s=0), begun=begun):
        """The machine had other things to do: those that were just connected were silent for too long."""


def answered_at_the_end(server: Server, *, begun: bool) -> bool:
    """Whether all were answered that came in time; False if some did not."""
    connected_at = time.monotonic()
    if not begun:
        late = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
        assert server.post("/v1/tests/effects", {"stay": [1, 2, 3]}).status_code == 200  # they were accepted
    os.kill(server.process.pid, signal.SIGSTOP)
    if begun:
        late = [sending(server, {"stay": [1, 2, number]}) for number in range(20)]
    server.process.send_signal(signal.SIGTERM)
    os.kill(server.process.pid, signal.SIGCONT)
    if not begun:
        until(lambda: "Shutting down" in server.log.read_text(), "it is shutting down")
        with contextlib.suppress(ConnectionError):
            for connection in late:
                connection.sendall(head("GET /livez HTTP/1.1"))
        if time.monotonic() - connected_at > LAST_HEAD_S / 2:
            for connection in late:
                connection.close()
            return False
    for connection in late:
        with connection:
            connection.settimeout(PATIENCE_S)
            found = answer(connection)
            assert found.status == 200
            assert found.headers["connection"] == "close"
    assert server.process.wait(PATIENCE_S) == 0
    return True


def test_a_silent_connection_does_not_hold_up_the_end(start: Start) -> None:
    server = start(workers=2, shutdown_delay_s=0, shutdown_grace_s=10 * PATIENCE_S)
    with socket.create_connection(("127.0.0.1", server.port)):
        assert server.post("/v1/tests/effects", {"stay": [1, 2, 3]}).status_code == 200
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE_S) == 0


def test_requests_cut_off_by_the_end_of_the_grace_period_get_a_503(start: Start) -> None:
    server = start(workers=2, shutdown_delay_s=0, shutdown_grace_s=1, **ROOMY)
    long = [sending(server, {**ENDLESS, "seed": seed}) for seed in range(3)]
    half = socket.create_connection(("127.0.0.1", server.port))
    half.sendall(head("POST /v1/tests/effects HTTP/1.1", JSON, "Content-Length: 100", "X-Request-Id: mine"))
    half.sendall(b'{"stay":')
    until(server.computing, "a worker computes")
    server.process.send_signal(signal.SIGTERM)
    for client in [*long, half]:
        with client:
            client.settimeout(PATIENCE_S)
            cut = answer(client)
            assert cut.problem(503)["type"] == "/docs/problems#overloaded"
            assert int(cut.headers["retry-after"]) >= 1
            assert cut.headers["connection"] == "close"
    assert cut.headers["x-request-id"] == "mine"
    assert server.process.wait(PATIENCE_S) == 0
    log = server.log.read_text()
    assert "Traceback" not in log
    assert "Exception in ASGI" not in log
    requests = [line for line in map(json.loads, log.splitlines()) if line.get("http_method") == "POST"]
    assert [line["status"] for line in requests] == [503] * 4


def test_livez_fails_when_all_workers_are_stopped_with_work_and_recovers(start: Start) -> None:
    server = start(workers=2, liveness_stall_s=1)
    workers = server.workers()
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    with httpx.Client(base_url=server.url) as client:
        assert get(client, "/livez") == 200  # nothing is asked of them
        with sending(server, LARGE) as pending:
            until(lambda: get(client, "/livez") == 503, "liveness is denied")
            assert get(client, "/readyz") == 200
            for pid in workers:
                os.kill(pid, signal.SIGCONT)
            pending.settimeout(PATIENCE_S)
            assert pending.recv(100).startswith(b"HTTP/1.1 200 ")
        assert get(client, "/livez") == 200


def test_livez_is_well_while_the_workers_are_merely_busy(start: Start) -> None:
    server = start(workers=2, liveness_stall_s=2, **ROOMY)
    with sending(server, ENDLESS), sending(server, {**ENDLESS, "seed": 1}):
        until(server.computing, "a worker computes")
        end = time.monotonic() + 6  # three times what a stall would take
        with httpx.Client(base_url=server.url) as client:
            while time.monotonic() < end:
                assert get(client, "/livez") == 200
                time.sleep(0.05)


def test_a_worker_that_needs_too_much_memory_ends_alone_and_its_caller_gets_503(start: Start) -> None:
    server = start(workers=2, worker_memory_bytes=32 * 2**20)
    before = server.workers()
    huge = {"stay": [1, -1, 2, 3] * 1_000_000}
    answers: list[httpx.Response] = []
    others = threading.Thread(target=lambda: answers.append(server.post("/v1/tests/effects", MEDIUM)))
    others.start()
    response = server.post("/v1/tests/effects", huge)
    others.join(PATIENCE_S)
    assert response.status_code == 503
    assert response.json()["type"] == "/docs/problems#out-of-memory"
    assert answers[0].status_code == 200
    until(lambda: len(server.workers()) == 2 and len(server.workers() & before) == 1, "a new worker has come")
    assert server.post("/v1/tests/effects", {**MEDIUM, "seed": 1}).status_code == 200
    assert "Traceback" not in server.log.read_text()


def test_a_herd_of_identical_requests_is_computed_once(start: Start) -> None:
    server = start(workers=2)
    answers: list[httpx.Response] = []
    slow = {**MEDIUM, "samples": 20_000}

    def ask() -> None:
        answers.append(server.post("/v1/tests/effects", slow))

    herd = [threading.Thread(target=ask) for _ in range(12)]
    for thread in herd:
        thread.start()
    for thread in herd:
        thread.join(PATIENCE_S)
    said = [answer.headers["server-timing"].partition(",")[0] for answer in answers]
    assert sum(not timing.startswith("cache;") for timing in said) == 1
    assert set(said) - {"cache;desc=shared", "cache;desc=hit"} == {
        next(t for t in said if not t.startswith("cache;"))
    }
    bodies = [answer.json() for answer in answers]
    for body in bodies:
        del body["runtime"]
    assert all(body == bodies[0] for body in bodies)
    assert len({answer.headers["x-request-id"] for answer in answers}) == 12


def test_short_tests_pass_a_queue_of_long_ones(start: Start) -> None:
    server = start(workers=2, **ROOMY)
    long = [sending(server, {**ENDLESS, "seed": seed}) for seed in range(3)]
    try:
        until(server.computing, "a worker computes")
        for seed in range(30):
            assert server.post("/v1/tests/effects", {**MEDIUM, "seed": seed}).status_code == 200
        for connection in long:
            connection.setblocking(False)
            with pytest.raises(BlockingIOError):  # it is not answered, and still open
                connection.recv(1)
    finally:
        for connection in long:
            connection.close()
    until(lambda: not server.computing(), "nothing runs on for those who left")


def test_same_request_same_bytes_across_processes_and_restarts(start: Start) -> None:
    bodies = []
    for settings in ({"workers": 1}, {"workers": 2}, {"workers": 2, "inplace_share": 0, "cache_bytes": 0}):
        server = start(**settings)
        for _ in range(3):
            said = server.post("/v1/tests/effects", MEDIUM).json()
            del said["runtime"]
            bodies.append(json.dumps(said))
        server.stop()
    assert len(set(bodies)) == 1
