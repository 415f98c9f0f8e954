"""The answer to one request: what uvicorn's cycle sends in three writes goes out in one, and headers are checked once.

A client that waits for its answer wakes up once. h11 checks every header of every response by itself; ours come from
our own code, so that a name is checked when it is first used, and the values of a head all at once.
"""

from __future__ import annotations

import asyncio
import re

import h11
from h11._headers import Headers
from starlette.types import Message
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, RequestResponseCycle

CLOSE = (b"connection", b"close")
LENGTH = b"content-length"
# What values consist of (RFC 9110, section 5.5): no control characters but tabs, above all no end of a line.
CLEAR = re.compile(rb"[\t\x20-\x7e\x80-\xff]*\Z")
MOST_NAMES = 256

Pairs = list[tuple[bytes, bytes]]

_checked: set[bytes] = set()


class Answer:
    """Sends the messages of one response."""

    __slots__ = ("_cycle", "_head", "_later", "_loop")

    def __init__(self, cycle: RequestResponseCycle, loop: asyncio.AbstractEventLoop) -> None:
        self._cycle = cycle
        self._loop = loop
        self._head = b""
        self._later: asyncio.Handle | None = None

    async def send(self, message: Message) -> None:
        """Send the head, which waits for what the application sends before it gives way, or a part of the body."""
        cycle = self._cycle
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if cycle.disconnected:
            return
        wanted = "http.response.body" if cycle.response_started else "http.response.start"
        if message["type"] != wanted or cycle.response_complete:
            raise RuntimeError(f"the application sent {message['type']} out of turn")
        if cycle.response_started:
            self._send_body(message.get("body", b""), more=message.get("more_body", False))
        else:
            self._begin(message["status"], cycle.default_headers + list(message.get("headers", ())))

    def _begin(self, status: int, headers: Pairs) -> None:
        cycle = self._cycle
        if CLOSE in cycle.scope["headers"] and CLOSE not in headers:
            headers.append(CLOSE)
        self._head = cycle.conn.send(response_of(status, headers))
        cycle.response_started = True
        cycle.waiting_for_100_continue = False
        self._later = self._loop.call_soon(self._send_head)

    def _send_head(self) -> None:
        """Send the head alone: the body takes its time."""
        head, self._head = self._head, b""
        self._cycle.transport.write(head)

    def _send_body(self, body: bytes, *, more: bool) -> None:
        cycle = self._cycle
        content = b"" if cycle.scope["method"] == "HEAD" else body
        pieces = [self._head, cycle.conn.send(h11.Data(data=content))]
        if self._later is not None:
            self._later.cancel()
        self._head, self._later = b"", None
        if not more:
            cycle.response_complete = True
            cycle.message_event.set()
            pieces.append(cycle.conn.send(h11.EndOfMessage()))
        cycle.transport.write(b"".join(pieces))
        if not more:
            if cycle.conn.our_state is h11.MUST_CLOSE or not cycle.keep_alive:
                cycle.conn.send(h11.ConnectionClosed())
                cycle.transport.close()
            cycle.on_response()


def response_of(status: int, headers: Pairs) -> h11.Response:
    """A response with these headers; h11 checks them unless it has seen all names, and what they are is plain to see."""
    names, values = zip(*headers, strict=True) if headers else ((), ())
    lengths = [value for name, value in headers if name == LENGTH]
    plain = len(lengths) <= 1 and b"".join(lengths).isdigit() == bool(lengths)
    if plain and _checked.issuperset(names) and CLEAR.match(b"".join(values)):
        known = Headers([(name, name, value) for name, value in headers])
        return h11.Response(status_code=status, headers=known, reason=STATUS_PHRASES[status])
    response = h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status])
    if len(_checked) < MOST_NAMES:  # a coding has rules of its own
        _checked.update({name for name in names if name == name.lower()} - {b"transfer-encoding"})
    return response
