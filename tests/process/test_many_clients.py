"""Test hundreds of clients on a real server: their memory is bounded and returned, and health routes answer meanwhile."""

import json
import socket
from collections.abc import Callable
from contextlib import ExitStack

import httpx

from exactperm.api.bodies import SENDING_BYTES
from exactperm.execution.memory import WORTH_BYTES, resident_bytes
from tests.process.conftest import NEEDS_PROC, PATIENCE_S, Server, until

pytestmark = NEEDS_PROC
Start = Callable[..., Server]
CLIENTS = 150
MIB = 2**20
# An answer of some 4 MB: more than a socket takes, so that most of it waits in the process.
LARGE = {"stay": [index * 37 % 901 - 450 for index in range(1400)], "pmf": "full"}


def request(body: object) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST /v1/tests/effects HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(content)}"
    return head.encode() + b"\r\n\r\n" + content


def memory(server: Server) -> int:
    return resident_bytes(server.process.pid) or 0


def held(server: Server) -> float:
    (line,) = (
        line
        for line in httpx.get(f"{server.url}/metrics", timeout=PATIENCE_S).text.splitlines()
        if line.startswith("exactperm_held_bytes ")
    )
    return float(line.split()[1])


def test_unread_answers_hold_a_few_slices_each_and_memory_is_returned(start: Start) -> None:
    server = start(workers=2, header_timeout_s=PATIENCE_S)  # else it gives them up while a busy machine reads
    first = server.post("/v1/tests/effects", LARGE)
    assert len(first.content) > 3_000_000
    before = memory(server)
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(CLIENTS)
        ]
        for client in clients:
            client.sendall(request(LARGE))
        for client in clients:
            client.settimeout(PATIENCE_S)
            assert client.recv(12) == b"HTTP/1.1 200"
        assert httpx.get(f"{server.url}/livez", timeout=PATIENCE_S).status_code == 200
        assert held(server) <= CLIENTS * SENDING_BYTES + len(first.content)
        assert memory(server) - before < CLIENTS * SENDING_BYTES + 32 * MIB
    until(lambda: held(server) == 0, "nothing is held")
    until(lambda: memory(server) - before < 2 * WORTH_BYTES + 16 * MIB, "memory is given back")


def test_hundreds_of_small_requests_are_answered_or_refused_with_a_time_and_health_answers(
    start: Start,
) -> None:
    server = start(workers=2)
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(CLIENTS)
        ]
        for number, client in enumerate(clients):
            client.sendall(request({"stay": [*range(1, 1400), number]}))
        assert httpx.get(f"{server.url}/livez", timeout=PATIENCE_S).status_code == 200
        for client in clients:
            client.settimeout(PATIENCE_S)
            said = client.recv(4096)
            assert said[9:12] in {b"200", b"503"}
            assert b"\r\nretry-after: " in said or said[9:12] == b"200"
