"""One request and its answer, as the application sees them: ASGI messages in, bytes on the wire out.

Head and body leave in one write, so that a waiting client wakes up once.
"""

from __future__ import annotations

import asyncio
import logging
import re
from http import HTTPStatus
from typing import Protocol

from starlette.types import ASGIApp, Message, Scope

from .parsing import END, MOST_DIGITS

log = logging.getLogger("exactperm.edge")

NAME = re.compile(rb"[!#-'*+.^_`|~0-9A-Za-z-]+\Z")
# Valid characters of values (RFC 9110, section 5.5): no control characters but tabs, above all no line ends.
CLEAR = bytes([9, *range(0x20, 0x7F), *range(0x80, 0x100)])
STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
BODILESS = frozenset({204, 304})
MOST_NAMES = 256
CLOSE = (b"connection", b"close")

Headers = list[tuple[bytes, bytes]]


class Wire(Protocol):
    """The connection of an exchange."""

    app: ASGIApp
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    writable: asyncio.Event

    @property
    def default_headers(self) -> Headers:
        """The headers of every response."""

    def pause_or_read(self) -> None:
        """Pause reading while the application is behind."""

    def answered(self, exchange: Exchange) -> None:
        """Go on after an answer was written."""


_names: set[bytes] = set()  # known to be valid


def head_of(status: int, headers: Headers) -> bytes:
    """The bytes of a head whose headers are valid."""
    line = STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status
    return b"".join([line, *[b"%b: %b\r\n" % header for header in headers], b"\r\n"])


class Exchange:
    """A request and its answer.

    `whole`: the body is complete. `begun`, `done`: state of the answer. `gone`: the client has left. `closes`: the
    connection ends with the answer.
    """

    def __init__(self, wire: Wire, scope: Scope, *, closes: bool, expects_continue: bool) -> None:
        self.body = bytearray()
        self.whole = self.begun = self.done = self.gone = False
        self.closes = closes
        self.news = asyncio.Event()
        self.is_old = scope["http_version"] == "1.0"
        self._wire, self._scope = wire, scope
        self._expects_continue = expects_continue
        self._left: int | None = None  # of the answer's body, where it has a length
        self._is_chunked = self._is_bodiless = False
        self._head = b""
        self._later: asyncio.Handle | None = None

    async def run(self) -> None:
        """Run the application."""
        try:
            await self._wire.app(self._scope, self.receive, self.send)
        except asyncio.CancelledError:  # at the end of the grace period
            self._wire.transport.abort()
            return
        except Exception:
            log.exception("the application failed")
        if self.done or self.gone:
            return
        if not self.begun:
            headers = [(b"content-length", b"0"), CLOSE]
            await self.send({"type": "http.response.start", "status": 500, "headers": headers})
            await self.send({"type": "http.response.body"})
        else:
            self._wire.transport.abort()

    async def receive(self) -> Message:
        """The next piece of the body, or the news that the client has gone."""
        if self._expects_continue and not (self.begun or self.gone or self.body or self.whole):
            self._expects_continue = False
            self._wire.transport.write(b"HTTP/1.1 100 Continue" + END)
        if not (self.gone or self.done):
            self._wire.pause_or_read()
            await self.news.wait()
            self.news.clear()
        if self.gone or self.done:
            return {"type": "http.disconnect"}
        body, self.body = bytes(self.body), bytearray()
        self._wire.pause_or_read()
        return {"type": "http.request", "body": body, "more_body": not self.whole}

    async def send(self, message: Message) -> None:
        """Send a piece of the body, or the head, which waits for what the application sends in the same step."""
        if not self.gone:
            await self._wire.writable.wait()
        if self.gone:
            return
        if self.done or message["type"] != ("http.response.body" if self.begun else "http.response.start"):
            raise RuntimeError(f"the application sent {message['type']} out of turn")
        if self.begun:
            self._send_body(message.get("body", b""), more=message.get("more_body", False))
        else:
            headers = [*self._wire.default_headers, *message.get("headers", ())]
            self._head = self._framed(message["status"], headers)
            self.begun = True
            self._later = self._wire.loop.call_soon(self._send_head)

    def _framed(self, status: int, headers: Headers) -> bytes:
        """The head with the headers that say how the body ends; RuntimeError where a header is not valid."""
        if b"".join([value for _, value in headers]).translate(None, CLEAR):
            raise RuntimeError("a header of the answer has control characters")
        names = [name.lower() for name, _ in headers]
        if not _names.issuperset(names):
            if not all(map(NAME.match, names)):
                raise RuntimeError("a header of the answer has no valid name")
            _names.update(names[: MOST_NAMES - len(_names)])
        values = dict(zip(names, [value for _, value in headers], strict=True))
        self._is_bodiless = self._scope["method"] == "HEAD" or status in BODILESS
        length = values.get(b"content-length")
        if length is not None:
            if names.count(b"content-length") > 1 or not length.isdigit() or len(length) > MOST_DIGITS:
                raise RuntimeError("the Content-Length of the answer is not one number")
            self._left = None if self._is_bodiless else int(length)
        elif not self._is_bodiless:
            self._is_chunked = not self.is_old
            self.closes = self.closes or self.is_old
            headers += [(b"transfer-encoding", b"chunked")] if self._is_chunked else []
        if self._expects_continue and not self.whole:
            self.closes = True  # either the body or the next request may follow (RFC 9110, 10.1.1)
        if b"close" in values.get(b"connection", b"").lower():
            self.closes = True
        elif self.closes:
            headers.append(CLOSE)
        return head_of(status, headers)

    def _send_head(self) -> None:
        """Send the head alone, since the body is late."""
        head, self._head = self._head, b""
        self._wire.transport.write(head)

    def _send_body(self, body: bytes, *, more: bool) -> None:
        if self._left is not None:
            self._left -= len(body)
            if self._left < 0 or (self._left and not more):
                raise RuntimeError("the body of the answer is not as long as its Content-Length")
        if self._is_bodiless:
            body = b""
        elif self._is_chunked:
            body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + (b"" if more else b"0" + END)
        if self._later is not None:
            self._later.cancel()
        head, self._head, self._later = self._head, b"", None
        self.done = not more
        self._wire.transport.write(head + body)
        if self.done:
            self.news.set()
            self._wire.answered(self)
