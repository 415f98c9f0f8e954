"""Test floods, crowds and slow readers on a real server: health routes and other clients are answered."""

import contextlib
import json
import re
import resource
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from exactperm.ops.edge.limits import RESERVE
from exactperm.ops.edge.parsing import FREE_CHUNKS
from exactperm.ops.keys import new_key
from tests.process.conftest import (
    ENDLESS,
    NEEDS_PROC,
    PATIENCE_S,
    PROC,
    ROOMY,
    Server,
    state_and_parent,
    until,
)
from tests.process.test_edge import metric
from tests.process.wires import answer, closed, connected, head, sent

pytestmark = NEEDS_PROC

SMALL = json.dumps({"u": [0.85, 0.90, 0.78, 0.92, 0.88], "v": [0.80, 0.85, 0.75, 0.88, 0.82]}).encode()
JSON = "Content-Type: application/json"
POST = "POST /v1/tests/scores HTTP/1.1"
EFFECTS = "POST /v1/tests/effects HTTP/1.1"
CHUNKED = head(POST, JSON, "Transfer-Encoding: chunked")
SMALL_CHUNKS = 'exactperm_rejected_total{reason="small_chunks"}'
LIVEZ = head("GET /livez HTTP/1.1")
# 4 MB of sums, each with its probability.
PMF = json.dumps({"stay": [(1 + i * 7919 % 997) / 1000 for i in range(400)], "pmf": "full"}).encode()

Start = Callable[..., Server]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for all that leave it as it was."""
    roomy: dict[str, Any] = dict(ROOMY)
    running = Server(tmp_path_factory.mktemp("floods") / "log", workers=1, **roomy)
    until(running.ready, "the server is ready")
    yield running
    running.stop()
    assert "Traceback" not in running.log.read_text()


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One that serves few connections."""
    limits: dict[str, Any] = {
        "max_connections": 20,
        "max_connections_per_address": 15,
        "header_timeout_s": 60,
    }
    running = Server(tmp_path_factory.mktemp("crowds") / "log", workers=1, **limits)
    until(running.ready, "the server is ready")
    yield running
    running.stop()


def effects(body: bytes, *headers: str) -> bytes:
    return head(EFFECTS, JSON, f"Content-Length: {len(body)}", *headers) + body


# -- chunks -----------------------------------------------------------------------------------------------


def test_a_probe_does_not_wait_for_floods_of_small_chunks_and_these_are_answered(server: Server) -> None:
    """All floods come before the probe; parsed in one go they would all be answered before it, too."""
    chunks = b"1\r\n \r\n" * (FREE_CHUNKS - len(SMALL)) + b"".join(b"1\r\n%c\r\n" % byte for byte in SMALL)
    with contextlib.ExitStack() as stack:
        floods = [stack.enter_context(connected(server)) for _ in range(8)]
        probe = stack.enter_context(connected(server))
        for flood in floods:
            flood.sendall(CHUNKED + chunks + b"0\r\n\r\n")
        probe.sendall(LIVEZ)
        assert answer(probe).status == 200
        answered, _, _ = select.select(floods, [], [], 0)
        assert len(answered) < len(floods)
        assert [answer(flood).status for flood in floods] == [200] * len(floods)


@pytest.mark.parametrize("extension", [b"", b";" + b"x" * 60])
def test_an_endless_flood_of_small_chunks_ends_with_a_400(server: Server, extension: bytes) -> None:
    before = metric(server, SMALL_CHUNKS)
    with connected(server) as flood:
        flood.sendall(CHUNKED)
        with contextlib.suppress(ConnectionError):
            for _ in range(1_000):
                flood.sendall((b"1" + extension + b"\r\n \r\n") * 1_000)
        assert closed(flood)
    until(lambda: metric(server, SMALL_CHUNKS) == before + 1, "it is counted")
    with connected(server) as flood:  # one that stops to listen
        flood.sendall(CHUNKED + b"1\r\n \r\n" * (FREE_CHUNKS + 1))
        assert "chunks" in answer(flood).problem(400)["detail"]


def test_a_flood_after_a_401_ends_the_connection(start: Start) -> None:
    key, digest = new_key()
    server = start(workers=1, api_key_digests=digest)
    with connected(server) as flood:
        flood.sendall(CHUNKED)
        answer(flood).problem(401)
        with contextlib.suppress(ConnectionError):
            for _ in range(1_000):
                flood.sendall(b"1\r\n \r\n" * 1_000)
        assert closed(flood)
    until(lambda: connections(server) == 0, "closed")
    metrics = httpx.get(f"{server.url}/metrics", headers={"authorization": f"Bearer {key}"}).text
    assert f"\n{SMALL_CHUNKS} 1.0\n" in metrics


# -- cheap requests ---------------------------------------------------------------------------------------

CHEAP = ("/", "/docs", "/livez", "/metrics", "/v1/meta", "/openapi.json", "/nowhere")


def logged(server: Server) -> list[str]:
    """The ids of the requests that were answered, in the order of their answers."""
    written = server.log.read_text().splitlines(keepends=True)  # the last line perhaps not whole yet
    lines = [json.loads(line) for line in written if line.startswith("{") and line.endswith("\n")]
    return [line["request_id"] for line in lines if "http_method" in line]


@pytest.mark.parametrize("path", CHEAP)
@pytest.mark.parametrize("clients", [60, 200])
@pytest.mark.usefixtures("many_files")
def test_a_flood_of_cheap_requests_delays_neither_a_probe_nor_a_test(
    server: Server, path: str, clients: int
) -> None:
    """The whole flood is there before them, while the server stands still; they are answered among its first."""
    named = f"{path.strip('/').replace('/', '-')}-{clients}"
    flooding = head(f"GET {path} HTTP/1.1", f"X-Request-Id: flood-{named}")
    asking = head("GET /readyz HTTP/1.1", f"X-Request-Id: probe-{named}")
    testing = head(POST, JSON, f"Content-Length: {len(SMALL)}", f"X-Request-Id: test-{named}") + SMALL
    with contextlib.ExitStack() as stack:
        flood = [stack.enter_context(connected(server)) for _ in range(clients)]
        probe, test = stack.enter_context(connected(server)), stack.enter_context(connected(server))
        for client in flood:  # none of its requests is the first of a connection
            client.sendall(LIVEZ)
        assert [answer(client).status for client in flood] == [200] * clients
        server.process.send_signal(signal.SIGSTOP)
        until(lambda: state_and_parent(server.process.pid)[0] == "T", "it stands still")
        try:
            for client in flood:
                client.sendall(flooding * (600 // clients))
            probe.sendall(asking)
            test.sendall(testing)
        finally:
            server.process.send_signal(signal.SIGCONT)
        assert answer(probe).status == answer(test).status == 200
        until(lambda: logged(server).count(f"flood-{named}") >= 100, "the flood is answered, too")
    order = [name for name in logged(server) if name.endswith(f"-{named}")]
    assert order.index(f"probe-{named}") <= 20
    assert order.index(f"test-{named}") <= 40


def test_pipelined_requests_are_answered_in_their_order(server: Server) -> None:
    paths = ["/livez", "/v1/meta", "/nowhere", "/docs", "/livez"] * 4
    with connected(server) as client:
        client.sendall(b"".join(head(f"GET {path} HTTP/1.1") for path in paths) + LIVEZ)
        client.shutdown(socket.SHUT_WR)
        received = b""
        while got := client.recv(1 << 20):
            received += got
    statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]
    assert statuses == [404 if path == "/nowhere" else 200 for path in paths] + [200]


def connections(server: Server) -> int:
    """Established connections of a server, by the kernel's list."""
    port = f":{server.port:04X}"
    table = (PROC / "net" / "tcp").read_text().splitlines()[1:]
    return sum(fields[1].endswith(port) and fields[3] == "01" for fields in map(str.split, table))


# -- crowds -----------------------------------------------------------------------------------------------


@pytest.fixture
def many_files() -> Iterator[None]:
    """Enough file descriptors for a crowd of clients."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4_096:
        pytest.skip("there are too few file descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4_096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_files")
def test_health_answers_beside_more_half_open_connections_than_are_read(crowded: Server) -> None:
    server = crowded
    with contextlib.ExitStack() as stack:
        for _ in range(RESERVE + 400):
            stack.enter_context(connected(server)).sendall(b"GET /livez HTTP/1.1\r\nHo")
        for path in ("/livez", "/readyz", "/livez"):
            assert sent(server, head(f"GET {path} HTTP/1.1")).status == 200
        refused = sent(server, head("GET /v1/meta HTTP/1.1"))
        assert refused.problem(503)["type"] == "/docs/problems#too-many-connections"
        assert refused.headers["retry-after"]
        assert connections(server) <= 20 + RESERVE + 1
    until(lambda: sent(server, head("GET /v1/meta HTTP/1.1")).status == 200, "there is room again")


def test_one_too_many_gets_its_503_soon_or_is_not_kept(crowded: Server) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(15):  # as many as one address may have
            stack.enter_context(connected(crowded))
        silent, greedy = stack.enter_context(connected(crowded)), stack.enter_context(connected(crowded))
        with contextlib.suppress(ConnectionError):
            greedy.sendall(b"GET /livez HTTP/1.1\r\nX: " + b"a" * 40_000)
        assert closed(greedy)
        late = answer(silent)
        late.problem(503)
        assert late.headers["retry-after"]
        assert closed(silent)


def test_one_address_leaves_room_for_another(crowded: Server) -> None:
    meta = head("GET /v1/meta HTTP/1.1")
    with contextlib.ExitStack() as stack:
        for _ in range(15):
            stack.enter_context(connected(crowded))
        sent(crowded, meta).problem(503)
        other = stack.enter_context(socket.socket())
        other.bind(("127.0.0.2", 0))
        other.settimeout(PATIENCE_S)
        other.connect(("127.0.0.1", crowded.port))
        other.sendall(meta)
        assert answer(other).status == 200


def test_with_few_files_fewer_connections_are_served_and_all_are_answered(start: Start) -> None:
    files = 64
    server = start(
        before=["sh", "-c", f'ulimit -n {files} && exec "$@"', "sh"], workers=1, header_timeout_s=60
    )
    assert "ulimit -n" in server.log.read_text()
    with contextlib.ExitStack() as stack:
        for _ in range(2 * files):
            stack.enter_context(connected(server))
        assert sent(server, LIVEZ).status == 200
        sent(server, head("GET /v1/meta HTTP/1.1")).problem(503)
    assert "out of system resource" not in server.log.read_text()


# -- readers ----------------------------------------------------------------------------------------------


def test_a_slow_reader_gets_all_of_its_answer(start: Start) -> None:
    """It reads all the time, but less per second than the kernel frees of its buffer at a time."""
    server = start(workers=1, header_timeout_s=4)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32_768)
        client.settimeout(PATIENCE_S)
        client.connect(("127.0.0.1", server.port))
        client.sendall(effects(PMF, "Connection: close"))
        size, received = 0, client.recv(4_096)
        length = int(received.lower().partition(b"content-length: ")[2].split()[0])
        assert length > 3_000_000
        while received:
            size += len(received)
            time.sleep(0.02)
            received = client.recv(12_000)
    assert size > length
    assert "unread_answer" not in server.log.read_text()


def test_a_client_that_half_closes_gets_the_answer_of_a_long_test(server: Server) -> None:
    body = json.dumps({**ENDLESS, "samples": 1_500_000}).encode()
    with connected(server) as client:
        client.sendall(effects(body))
        client.shutdown(socket.SHUT_WR)
        received = b""
        while more := client.recv(65_536):
            received += more
    assert received.count(b"HTTP/1.1 200 ") == 1
    assert received.rstrip().endswith(b"}")
    assert received.partition(b"HTTP/1.1 200 ")[0].replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"") == b""


def test_a_client_that_half_closes_gets_all_that_it_asked_for(server: Server) -> None:
    with connected(server) as client:
        client.sendall(LIVEZ + effects(PMF) + LIVEZ)
        client.shutdown(socket.SHUT_WR)
        received = b""
        while more := client.recv(65_536):
            received += more
    assert received.count(b"HTTP/1.1 200 ") == 3


def test_a_client_that_leaves_ends_its_long_test(server: Server) -> None:
    with connected(server) as client:
        client.sendall(effects(json.dumps(ENDLESS).encode()))
        until(server.computing, "a worker computes")
    until(lambda: not server.computing(), "nobody computes any more")
    until(lambda: metric(server, "exactperm_requests_in_flight") == 1, "the request is over")
