"""Slow, greedy and lying clients at a real server, byte by byte: RFC 9112, and patience that ends."""

import contextlib
import json
import select
import socket
import time
from collections.abc import Callable

import httpx
import pytest

from tests.process.conftest import NEEDS_PROC, PATIENCE_S, Server, until
from tests.process.wires import answer, closed, connected, head, sent

pytestmark = NEEDS_PROC

SMALL = {"u": [0.85, 0.90, 0.78, 0.92, 0.88], "v": [0.80, 0.85, 0.75, 0.88, 0.82]}
BODY = json.dumps(SMALL).encode()
JSON = "Content-Type: application/json"
POST = "POST /v1/tests/scores HTTP/1.1"
SECRET = "s3cr3t-s3cr3t"

Start = Callable[..., Server]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> object:
    """One server for the cases that leave it as it was."""
    running = Server(tmp_path_factory.mktemp("edge") / "log", workers=1)
    until(running.ready, "the server is ready")
    yield running
    running.stop()
    log = running.log.read_text()
    assert "Traceback" not in log
    assert SECRET not in log


# -- framing ----------------------------------------------------------------------------------------------

CHUNKED = "Transfer-Encoding: chunked"
AMBIGUOUS = {
    "a length beside a coding": [POST, JSON, "Content-Length: 4", CHUNKED],
    "a coding beside a length": [POST, JSON, CHUNKED, "Content-Length: 4"],
    "two lengths": [POST, JSON, "Content-Length: 4", "Content-Length: 5"],
    "two lengths in one": [POST, JSON, "Content-Length: 4, 5"],
    "a signed length": [POST, JSON, "Content-Length: +4"],
    "a negative length": [POST, JSON, "Content-Length: -4"],
    "a length in hexadecimal": [POST, JSON, "Content-Length: 0x4"],
    "a length of many digits": [POST, JSON, "Content-Length: " + "9" * 400],
    "a space before the colon": [POST, JSON, "Content-Length : 4"],
    "a coding in HTTP/1.0": [POST.replace("1.1", "1.0"), JSON, CHUNKED],
    "two hosts": [POST, JSON, "Host: other"],
    "a host with a space": ["GET /livez HTTP/1.0", "Host: a b"],
    "a host with a path": ["GET /livez HTTP/1.0", f"Host: a/{SECRET}"],
    "a line without a colon": [POST, SECRET],
    "a name with a space": [POST, f"{SECRET} x: 1"],
    "a bare carriage return": [POST, f"X-A: {SECRET}\rContent-Length: 4"],
    "a null in a value": [POST, f"X-A: {SECRET}\0"],
    "a folded header": [POST, JSON, "Content-Length:\r\n 4"],
    "a folded coding": [POST, JSON, "Transfer-Encoding:\r\n\tchunked"],
    "a bare line feed": [POST, JSON, "X-A: a\nContent-Length: 4"],
    "two media types": [POST, JSON, "Content-Type: text/csv", "Content-Length: 4"],
    "a target without a host": ["GET http:///livez HTTP/1.1"],
    "no version": ["GET /livez"],
    "another protocol": [f"{SECRET}"],
}


@pytest.mark.parametrize("lines", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_ambiguous_requests_are_a_400_and_the_connection_ends(server: Server, lines: list[str]) -> None:
    with connected(server) as client:
        smuggled = head("GET /v1/meta HTTP/1.1")
        client.sendall(head(*lines) + b"0\r\n\r\n" + smuggled)
        said = answer(client).problem(400)
        assert SECRET not in json.dumps(said)
        client.settimeout(PATIENCE_S)
        with contextlib.suppress(ConnectionResetError):
            assert client.recv(10) == b"", "nothing that follows is read as a request"


def test_a_request_without_a_host_is_a_400(server: Server) -> None:
    sent(server, b"GET /livez HTTP/1.1\r\n\r\n").problem(400)


def test_an_unknown_transfer_coding_is_a_501(server: Server) -> None:
    sent(server, head(POST, JSON, "Transfer-Encoding: gzip, chunked")).problem(501)


@pytest.mark.parametrize("line", ["PRI * HTTP/2.0", "GET /livez HTTP/3.7"])
def test_another_version_of_http_is_a_505(server: Server, line: str) -> None:
    sent(server, head(line)).problem(505)


def test_a_bad_chunk_is_a_400_and_no_other_request_hears_of_it(server: Server) -> None:
    message = head(POST, JSON, CHUNKED) + b'5\r\n{"u":\r\nxyz\r\n'
    sent(server, message).problem(400)
    assert server.post("/v1/tests/scores", SMALL).status_code == 200


@pytest.mark.parametrize("pieces", [1, 50])
def test_headers_over_the_limit_are_a_431_in_one_piece_and_in_many(server: Server, pieces: int) -> None:
    message = head("GET /livez HTTP/1.1", f"X-A: {'a' * 33_000}", f"X-B: {'b' * 33_000}")
    with connected(server) as client:
        with contextlib.suppress(ConnectionError):
            for begin in range(0, len(message), len(message) // pieces):
                client.sendall(message[begin : begin + len(message) // pieces])
                time.sleep(0.002)
        answer(client).problem(431)


@pytest.mark.parametrize("pieces", [1, 50])
def test_trailers_over_the_limit_are_a_431_in_one_piece_and_in_many(server: Server, pieces: int) -> None:
    body = b"%x\r\n%s\r\n0\r\n" % (len(BODY), BODY)
    message = head(POST, JSON, CHUNKED) + body + f"X-A: {'a' * 66_000}\r\n\r\n".encode()
    with connected(server) as client:
        with contextlib.suppress(ConnectionError):
            for begin in range(0, len(message), len(message) // pieces):
                client.sendall(message[begin : begin + len(message) // pieces])
                time.sleep(0.002)
        answer(client).problem(431)


def test_a_whole_uri_is_a_target_too(server: Server) -> None:
    host = f"http://localhost:{server.port}"
    post = head(POST.replace("/v1", f"{host}/v1"), JSON, f"Content-Length: {len(BODY)}") + BODY
    assert sent(server, post).status == 200
    assert sent(server, head(f"GET {host}/livez?x=1 HTTP/1.1")).status == 200
    sent(server, head(f"GET {host}/nope HTTP/1.1")).problem(404)


def test_too_many_headers_are_a_431(server: Server) -> None:
    sent(server, head("GET /livez HTTP/1.1", *(f"X-{n}: {n}" for n in range(200)))).problem(431)


def test_endless_headers_end_the_connection(server: Server) -> None:
    with connected(server) as client:
        client.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n")
        with contextlib.suppress(ConnectionError):
            for _ in range(10_000):
                client.sendall(b"X-A: " + b"a" * 1_000 + b"\r\n")
        assert closed(client)
    assert httpx.get(f"{server.url}/livez").status_code == 200


@pytest.mark.parametrize("protocol", ["websocket", "h2c", "TLS/1.2"])
def test_an_offer_of_another_protocol_is_declined_and_the_request_answered(
    server: Server, protocol: str
) -> None:
    offer = (
        "Connection: Upgrade",
        f"Upgrade: {protocol}",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: eA==",
    )
    assert sent(server, head("GET /livez HTTP/1.1", *offer)).status == 200
    sent(server, head("GET /nope HTTP/1.1", *offer)).problem(404)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("BREW /v1/meta HTTP/1.1", 405),
        ("DELETE /v1/tests/scores HTTP/1.1", 405),
        ("TRACE /livez HTTP/1.1", 405),
        ("OPTIONS /v1/gate HTTP/1.1", 405),
        ("OPTIONS * HTTP/1.1", 404),
        ("CONNECT example.org:443 HTTP/1.1", 404),
        ("GET /livez%00 HTTP/1.1", 404),
        ("GET /docs/assets/%00 HTTP/1.1", 404),
        (f"GET /docs/assets/{'a' * 5000} HTTP/1.1", 404),
        ("GET /docs/assets/..%2f..%2fmain.py HTTP/1.1", 404),
        ("GET /page/%ff%fe HTTP/1.1", 404),
        ("GET //livez HTTP/1.1", 404),
    ],
)
def test_unknown_paths_and_methods_are_problems(server: Server, line: str, status: int) -> None:
    sent(server, head(line)).problem(status)


def test_pipelined_requests_are_answered_in_order(server: Server) -> None:
    with connected(server) as client:
        post = head(POST, JSON, f"Content-Length: {len(BODY)}") + BODY
        client.sendall(head("GET /livez HTTP/1.1") + post + head("GET /nope HTTP/1.1"))
        received = b""
        while received.count(b"HTTP/1.1 ") < 3:
            received += client.recv(65_536)
    assert [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200", b"404"]


# -- patience ---------------------------------------------------------------------------------------------


def test_half_open_connections_are_closed_and_others_never_notice(start: Start) -> None:
    server = start(workers=1, header_timeout_s=5)
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(connected(server)) for _ in range(200)]
        for number, client in enumerate(slow):
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n"[: number % 30])
        for _ in range(20):
            assert server.post("/v1/tests/scores", SMALL).status_code == 200
        assert all(closed(client) for client in slow)
    assert metric(server, "exactperm_connections_open") == 1
    assert metric(server, 'exactperm_rejected_total{reason="header_timeout"}') == 200


def test_headers_that_trickle_get_a_408(start: Start) -> None:
    server = start(workers=1, header_timeout_s=1)
    with connected(server) as client:
        client.sendall(b"GET /livez HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionError):
            while True:
                client.sendall(b"X-A: a\r\n")
                if select.select([client], [], [], 0.05)[0]:
                    break
        answer(client).problem(408)
        assert closed(client)


def test_the_next_request_on_a_connection_has_a_deadline_too(start: Start) -> None:
    server = start(workers=1, header_timeout_s=1, keep_alive_s=60)
    with connected(server) as client:
        client.sendall(head("GET /livez HTTP/1.1"))
        assert answer(client).status == 200
        client.sendall(b"GET /livez HTTP/1.1\r\n")
        answer(client).problem(408)


@pytest.mark.parametrize("framing", ["Content-Length: 100000", CHUNKED])
def test_a_body_that_comes_too_slowly_gets_a_408(start: Start, framing: str) -> None:
    server = start(workers=1, header_timeout_s=1)
    with connected(server) as client:
        client.sendall(head(POST, JSON, framing))
        client.settimeout(0.02)
        received = b""
        until_then = time.monotonic() + PATIENCE_S
        while not received and time.monotonic() < until_then:
            client.sendall(b"1\r\n \r\n" if framing == CHUNKED else b" ")
            with contextlib.suppress(TimeoutError):
                received = client.recv(4096)
        assert received.startswith(b"HTTP/1.1 408 ")
        assert b"application/problem+json" in received
        client.settimeout(PATIENCE_S)
        assert closed(client)
    until(lambda: metric(server, 'exactperm_rejected_total{reason="body_timeout"}') == 1, "it is counted")
    assert metric(server, "exactperm_requests_in_flight") == 1


def test_an_early_answer_can_be_read_and_the_rest_of_the_body_is_not_waited_for(start: Start) -> None:
    server = start(workers=1, max_body_bytes=1_000)
    with connected(server) as client:
        client.sendall(head(POST, JSON, "Content-Length: 1000000") + b" " * 500_000)
        answer(client).problem(413)
        assert closed(client), "though the client neither sends the rest nor closes"


def test_a_client_that_does_not_read_is_given_up(start: Start) -> None:
    server = start(workers=1, header_timeout_s=1)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", server.port))
        client.sendall(head("GET /openapi.json HTTP/1.1") * 100)
        until(lambda: metric(server, 'exactperm_rejected_total{reason="unread_answer"}') == 1, "given up")
    until(lambda: metric(server, "exactperm_connections_open") == 1, "closed")


# -- too many ---------------------------------------------------------------------------------------------


def test_connections_beyond_the_limit_get_a_503_and_health_answers(start: Start) -> None:
    server = start(workers=1, max_connections=5, header_timeout_s=60, keep_alive_s=60)
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(connected(server))
        until(lambda: metric_lines(server) is None, "it is full")
        late = sent(server, head("GET /v1/meta HTTP/1.1"))
        assert late.problem(503)["type"] == "/docs/problems#too-many-connections"
        assert late.headers["retry-after"]
        assert sent(server, head("GET /livez HTTP/1.1", "Connection: close")).status == 200
        flood = [stack.enter_context(connected(server)) for _ in range(120)]
        answer(flood[-1]).problem(503)
    until(lambda: server.post("/v1/tests/scores", SMALL).status_code == 200, "there is room again")


def metric_lines(server: Server) -> list[str] | None:
    """The metrics, or None when they are refused."""
    response = httpx.get(f"{server.url}/metrics", timeout=PATIENCE_S)
    return response.text.splitlines() if response.status_code == 200 else None


def metric(server: Server, name: str) -> float:
    """The value of one series."""
    lines = metric_lines(server)
    assert lines is not None
    return next(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} "))
