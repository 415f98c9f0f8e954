"""The answer to one request: what uvicorn's cycle sends in three writes goes out in one, and headers are checked once.

A client that waits for its answer wakes up once. h11 checks every header of every response by itself; ours come from
our own code, so that a name is checked when it is first used, and the values of a head all at once. A head that is
known to be good, with a length, is written here; h11 writes all others.
"""

from __future__ import annotations

import asyncio

import h11
from starlette.types import Message
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, RequestResponseCycle

from .h11_states import PlainConnection

CLOSE = (b"connection", b"close")
LENGTH = b"content-length"
# What values consist of (RFC 9110, section 5.5): no control characters but tabs, above all no end of a line.
CLEAR = bytes([9, *range(0x20, 0x7F), *range(0x80, 0x100)])
MOST_NAMES = 256
# Names that h11 gives a meaning or a place, or whose value has rules of its own; and statuses without a body.
NEVER_PLAIN = frozenset({b"connection", b"host", b"transfer-encoding"})
MOST_DIGITS = 15
END_OF_HEAD = b"\r\n"
BODILESS = frozenset({204, 304})
STATUS_LINES = {status: b"HTTP/1.1 %d %b\r\n" % (status, phrase) for status, phrase in STATUS_PHRASES.items()}

Pairs = list[tuple[bytes, bytes]]

_checked: set[bytes] = set()


class Answer:
    """Sends the messages of one response."""

    __slots__ = ("_cycle", "_head", "_later", "_length", "_loop", "_plain")

    def __init__(self, cycle: RequestResponseCycle, loop: asyncio.AbstractEventLoop) -> None:
        self._cycle = cycle
        self._plain = cycle.conn if isinstance(cycle.conn, PlainConnection) else None
        self._loop = loop
        self._head = b""
        self._length: int | None = None  # of the body, if the head was written here and is all that was
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
        conn = self._plain
        may = conn is not None and status not in BODILESS and conn.may_answer_plainly()
        self._length = length_of(headers) if may else None
        if conn is None or self._length is None:
            self._head = cycle.conn.send(response_of(status, headers))
        else:
            self._head = head_of(status, headers)
            conn.head_sent(self._length)
        cycle.response_started = True
        cycle.waiting_for_100_continue = False
        self._later = self._loop.call_soon(self._send_head)

    def _send_head(self) -> None:
        """Send the head alone: the body takes its time."""
        head, self._head = self._head, b""
        self._cycle.transport.write(head)

    def _send_body(self, body: bytes, *, more: bool) -> None:
        cycle = self._cycle
        if self._plain is not None and self._length == len(body) and not more:
            pieces = [self._head, body]
            self._plain.body_sent()
        else:
            content = b"" if cycle.scope["method"] == "HEAD" else body
            pieces = [self._head, cycle.conn.send(h11.Data(data=content))]
            if not more:
                pieces.append(cycle.conn.send(h11.EndOfMessage()))
        if self._later is not None:
            self._later.cancel()
        self._head, self._later, self._length = b"", None, None
        if not more:
            cycle.response_complete = True
            cycle.message_event.set()
        cycle.transport.write(b"".join(pieces))
        if not more:
            if cycle.conn.our_state is h11.MUST_CLOSE or not cycle.keep_alive:
                cycle.conn.send(h11.ConnectionClosed())
                cycle.transport.close()
            cycle.on_response()


def length_of(headers: Pairs) -> int | None:
    """The one Content-Length of a head that need not be checked: its names were checked, and its values are plain to see."""
    names, values = zip(*headers, strict=True) if headers else ((), ())
    if names.count(LENGTH) != 1 or not _checked.issuperset(names) or b"".join(values).translate(None, CLEAR):
        return None
    length: bytes = values[names.index(LENGTH)]
    return int(length) if length.isdigit() and len(length) <= MOST_DIGITS else None


def head_of(status: int, headers: Pairs) -> bytes:
    """The bytes of such a head."""
    return b"".join([STATUS_LINES[status], *[b"%b: %b\r\n" % header for header in headers], END_OF_HEAD])


def response_of(status: int, headers: Pairs) -> h11.Response:
    """A response that h11 checks and writes; of its names it has then found that they are good."""
    response = h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status])
    if len(_checked) < MOST_NAMES:
        _checked.update({name for name, _ in headers if name == name.lower()} - NEVER_PLAIN)
    return response
