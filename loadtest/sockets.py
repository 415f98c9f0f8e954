"""A client of negligible cost for measuring the server: bytes on persistent sockets."""

import itertools
import selectors
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

OK = b" 200 "
JSON = "application/json"


def post(path: str, body: bytes, media_type: str = JSON) -> bytes:
    """The bytes of a POST."""
    return _request("POST", path, {"Content-Type": media_type, "Content-Length": str(len(body))}) + body


def get(path: str) -> bytes:
    """The bytes of a GET."""
    return _request("GET", path, {})


def _request(method: str, path: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *(f"{k}: {v}" for k, v in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Link:
    """One connection; one request at a time."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self.socket = socket.create_connection((parts.hostname, parts.port or 80), timeout=120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray()

    def ask(self, request: bytes) -> bytes:
        """Send a request and return the body of its answer; RuntimeError unless the status is 200."""
        self.send(request)
        while (body := self.taken()) is None:
            pass
        return body

    def send(self, request: bytes) -> None:
        """Send a request."""
        self.socket.sendall(request)

    def taken(self) -> bytes | None:
        """Read available bytes; return the body once the answer is complete."""
        piece = self.socket.recv(1 << 20)
        if not piece:
            raise RuntimeError("the server closed the connection")
        self._buffer += piece
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0:
            return None
        start = self._buffer.lower().find(b"content-length:", 0, head) + len(b"content-length:")
        end = head + 4 + int(self._buffer[start : self._buffer.find(b"\r\n", start)])
        if len(self._buffer) < end:
            return None
        if OK not in self._buffer[:16]:
            raise RuntimeError(f"not a 200: {bytes(self._buffer[:600])!r}")
        body = bytes(self._buffer[head + 4 : end])
        self._buffer.clear()
        return body

    def close(self) -> None:
        """Hang up."""
        self.socket.close()


class Stream:
    """Connections that each send the next request when the last one is answered."""

    def __init__(self, url: str, requests: Sequence[bytes], connections: int) -> None:
        self._links = [Link(url) for _ in range(connections)]
        self._requests: Iterator[bytes] = itertools.cycle(requests)
        self._selector = selectors.DefaultSelector()
        for link in self._links:
            self._selector.register(link.socket, selectors.EVENT_READ, link)

    def rate(self, seconds: float) -> float:
        """Measure answers per second; returns with no request pending."""
        began = time.perf_counter()
        ends, answered, under_way = began + seconds, 0, len(self._links)
        for link in self._links:
            link.send(next(self._requests))
        while under_way:
            for key, _ in self._selector.select():
                link = key.data
                if link.taken() is None:
                    continue
                answered += 1
                if time.perf_counter() < ends:
                    link.send(next(self._requests))
                else:
                    under_way -= 1
        return answered / (time.perf_counter() - began)

    def close(self) -> None:
        """Hang up."""
        self._selector.close()
        for link in self._links:
            link.close()
