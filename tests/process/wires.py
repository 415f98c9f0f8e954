"""Bytes over a socket, as no client library would send them."""

import json
import socket
from typing import Any, NamedTuple

from tests.process.conftest import PATIENCE_S, Server


class Answer(NamedTuple):
    """The response until the server closed the connection or the answer was complete."""

    status: int
    headers: dict[str, str]
    body: bytes

    def problem(self, status: int) -> dict[str, Any]:
        """The problem of the response, after checking it and the common headers."""
        assert self.status == status, (self.status, self.body[:300])
        assert self.headers["content-type"] == "application/problem+json"
        assert self.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in self.headers["content-security-policy"]
        assert len(self.body) <= 16_384
        said: dict[str, Any] = json.loads(self.body)
        assert said["status"] == status
        assert said["type"].startswith("/docs/problems#")
        assert said["instance"] == self.headers["x-request-id"] != ""
        return said


def connected(server: Server) -> socket.socket:
    """A connection on which one waits patiently."""
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S)


def head(line: str, *headers: str) -> bytes:
    """The head of a request."""
    return "\r\n".join((line, "Host: localhost", *headers, "", "")).encode("latin-1")


def answer(client: socket.socket) -> Answer:
    """One response: to its declared length, or to the end."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += more(client)
    top, _, body = received.partition(b"\r\n\r\n")
    line, *rest = top.decode("latin-1").split("\r\n")
    headers = dict(one.lower().split(": ", 1) for one in rest)
    while len(body) < int(headers.get("content-length", "0")):
        body += more(client)
    return Answer(int(line.split()[1]), headers, body)


def more(client: socket.socket) -> bytes:
    """Some bytes; there must be some."""
    got = client.recv(65_536)
    assert got, "the server closed the connection without an answer"
    return got


def closed(client: socket.socket) -> bool:
    """Wait until the server has closed the connection, and discard further data."""
    try:
        while client.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    return True


def sent(server: Server, message: bytes) -> Answer:
    """Send bytes on a new connection, and read one answer."""
    with connected(server) as client:
        client.sendall(message)
        return answer(client)
