"""One connection over HTTP/1.1, with deadlines and limits for its client; uvicorn runs the server.

A connection is always in one phase:

HEAD    a request or a connection has started: the headers must arrive within `header_timeout_s`
BODY    the headers are complete: the body must arrive within `body_timeout_s` and at `body_bytes_per_second`
ANSWER  the request is complete: the executor's deadlines apply
LINGER  answered before the body was complete: keep reading briefly, so that the client can read the answer; then close
IDLE    no request: closed after `keep_alive_s`

A response that the client does not read is treated like a body that it does not send.
"""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp
from uvicorn import Config
from uvicorn.server import ServerState

from .exchange import Exchange, head_of
from .limits import (
    CONNECTION,
    CROWDED,
    CROWDED_HEAD_BYTES,
    CROWDED_HEAD_S,
    SLOW_HEAD,
    Connection,
    Edge,
    unread_bytes,
    untaken_bytes,
    was_reset,
)
from .parsing import (
    END,
    LARGE_HEAD,
    LINE_ENDS,
    NOT_HTTP,
    ChunkedBody,
    Refusal,
    Refused,
    RequestHead,
    read_head,
    unclear,
)
from .request_turns import kind_of

LINGER_S = 5.0
LAST_HEAD_S = 1.0  # time for the head of a last request during shutdown
RESET_WITHIN_S = 0.1  # a client that has left resets the connection within a round trip
HIGH_WATER_BYTES = 65_536  # of a body that the application has not received yet
MOST_EMPTY_LINES = 16  # before a request: one is usual, a flood of them costs time and says nothing


class Phase(Enum):
    """The state of a connection."""

    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    LINGER = auto()
    IDLE = auto()


class HTTPProtocol(asyncio.Protocol):
    """One connection."""

    transport: asyncio.Transport

    def __init__(
        self, edge: Edge, config: Config, server_state: ServerState, app_state: dict[str, Any], **_: Any
    ) -> None:
        self.loop = asyncio.get_event_loop()
        self.app: ASGIApp = config.loaded_app
        self.writable = asyncio.Event()
        self.writable.set()
        self._root, self._app_state, self._server = config.root_path, app_state, server_state
        self._edge = edge
        self._phase, self._since = Phase.HEAD, self.loop.time()
        self._buffer = bytearray()
        self._seen = 0  # bytes of a head that have been looked at
        self._empty_lines = 0  # before it
        self._received = 0  # bytes of the body
        self._left: int | None = None  # bytes of the body still to come, if it has a length
        self._chunks: ChunkedBody | None = None
        self._exchange: Exchange | None = None
        self._connection = Connection()
        self._is_first = True
        self._paused = self._deferred = self._crowded = self._half_closed = self._leaving = self._closes = (
            False
        )
        self._untaken = 0
        self._untaken_since = self._probed_at = self._since

    # -- events ---------------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """Count the connection; refuse it beyond the limit."""
        self.transport = transport
        self._server.connections.add(self)  # type: ignore[arg-type]  # uvicorn lists its own protocols
        self._client, self._address = (
            (str(name[0]), int(name[1])) if isinstance(name, tuple) else None
            for name in map(transport.get_extra_info, ("peername", "sockname"))
        )
        accepted = self._edge.add(self, self._client[0] if self._client else "")
        self._crowded = self._edge.crowds(self)
        if not accepted:
            self._refuse(CROWDED)
        self._enter(Phase.HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the count."""
        self._edge.remove(self)
        self._server.connections.discard(self)
        self.writable.set()
        self._drop()

    def pause_writing(self) -> None:
        """The client does not read."""
        self.writable.clear()

    def resume_writing(self) -> None:
        """The client reads."""
        self.writable.set()

    def data_received(self, data: bytes) -> None:
        """Bytes of the current or the next request."""
        self._buffer += data
        self._advance()
        if self._crowded and self._phase is Phase.HEAD and len(self._buffer) > CROWDED_HEAD_BYTES:
            self._refuse(CROWDED)

    def eof_received(self) -> bool:
        """The client sends nothing more. Return whether to keep the connection: it may still wait for the answer."""
        self._half_closed = True
        if self._phase is not Phase.ANSWER or (self._exchange is not None and self._exchange.is_old):
            return False
        self._probed_at = self.loop.time()
        self.loop.call_later(RESET_WITHIN_S, self._probe)
        return True

    @property
    def default_headers(self) -> list[tuple[bytes, bytes]]:
        """The headers of every response: the date, which uvicorn writes once a second."""
        return self._server.default_headers

    # -- requests -------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin the request that waited: it is this connection's turn."""
        self._deferred = False
        self._advance()

    def _advance(self) -> None:
        """Read the buffer up to a request that has to be answered first."""
        try:
            while self._buffer and not self.transport.is_closing():
                if self._phase in (Phase.BODY, Phase.LINGER):
                    self._read_body()
                elif self._phase is Phase.ANSWER or self._deferred or not self._read_head():
                    break
        except Refused as refused:
            self._refuse(refused.refusal)
        self.pause_or_read()

    def _read_head(self) -> bool:
        """Begin the next request; return whether its head is complete and its turn has come."""
        there, most = self._buffer, self._edge.limits.max_header_bytes
        while there.startswith(b"\r\n"):  # RFC 9112, 2.2
            del there[:2]
            self._seen, self._empty_lines = 0, self._empty_lines + 1
            if self._empty_lines > MOST_EMPTY_LINES:
                raise Refused(NOT_HTTP)
        if self._phase is Phase.IDLE:
            if not there:
                return False
            self._enter(Phase.HEAD)
        end = there.find(END, max(0, self._seen - 3))
        stop = len(there) if end < 0 else end + len(END)
        if unclear(there, self._seen, stop):
            raise Refused(LINE_ENDS)
        self._seen = stop if end < 0 else end
        if stop > most:
            raise Refused(LARGE_HEAD)
        if end < 0:
            return False
        if not self._edge.turns.begins(self, kind_of(bytes(there[:16]), first=self._is_first), self.loop):
            self._deferred = True
            return False
        head = bytes(there[:stop])
        del there[:stop]
        self._seen, self._empty_lines, self._is_first = 0, 0, False
        self._start(read_head(head))
        return True

    def _start(self, head: RequestHead) -> None:
        if self._crowded:
            self._edge.waits(self, waiting=False)
            self._crowded = self._edge.crowds(self)
        self._connection = Connection(crowded=self._crowded)
        path, _, query = head.target.partition(b"?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": head.version,
            "server": self._address,
            "client": self._client,
            "scheme": "http",
            "method": head.method.decode(),
            "root_path": self._root,
            "path": self._root + unquote(path.decode()),
            "raw_path": self._root.encode() + path,
            "query_string": query,
            "headers": head.headers,
            "state": self._app_state.copy(),
            CONNECTION: self._connection,
        }
        closes = head.closes or self._leaving
        self._exchange = Exchange(self, scope, closes=closes, expects_continue=head.expects_continue)
        self._received, self._left = 0, head.length
        self._chunks = ChunkedBody(self._edge.limits.max_header_bytes) if head.length is None else None
        self._enter(Phase.BODY)
        if head.length == 0:
            self._end_body()
        task = self.loop.create_task(self._exchange.run())
        task.add_done_callback(self._server.tasks.discard)
        self._server.tasks.add(task)

    def _read_body(self) -> None:
        if self._chunks is not None:
            # Not all of it: the bytes after the body would be copied for each pipelined request.
            there = bytes(memoryview(self._buffer)[:HIGH_WATER_BYTES])
            body = self._chunks.read(there)
            del self._buffer[: len(there) - len(self._chunks.rest)]
            over = self._chunks.over
            if self._chunks.followed:
                # The start of the next request is unknown: the client has to send it again (RFC 9112, 9.3).
                self._closes = True
                if self._exchange is not None:
                    self._exchange.closes = True
        else:
            assert self._left is not None
            body = bytes(memoryview(self._buffer)[: self._left])
            del self._buffer[: len(body)]
            self._left -= len(body)
            over = self._left == 0
        self._received += len(body)
        if self._exchange is not None and not self._exchange.done:
            self._exchange.body += body
            self._exchange.news.set()
        if over:
            self._end_body()

    def _end_body(self) -> None:
        self._left = self._chunks = None
        if self._phase is Phase.LINGER:
            self._enter(Phase.IDLE)
            if self._closes or self._leaving:
                self.transport.close()
            return
        self._enter(Phase.ANSWER)
        if self._exchange is not None:
            self._exchange.whole = True
            self._exchange.news.set()

    def answered(self, exchange: Exchange) -> None:
        """Go on after an answer was written; the next request may have arrived already."""
        self._server.total_requests += 1
        self._closes = exchange.closes
        self._exchange = None
        if self._phase is Phase.BODY:
            if self._chunks is not None:
                self._chunks.answered()
            self._enter(Phase.LINGER)
        elif exchange.closes:
            self.transport.close()
            return
        else:
            self._enter(Phase.IDLE)
        self._advance()
        if self._half_closed and self._phase is not Phase.ANSWER and not self._deferred:
            self.transport.close()

    def pause_or_read(self) -> None:
        """Pause reading while the application is behind, or a request waits for its turn or for an answer."""
        full = self._exchange is not None and len(self._exchange.body) > HIGH_WATER_BYTES
        paused = self._deferred or full or (self._phase is Phase.ANSWER and bool(self._buffer))
        if paused is not self._paused and not self.transport.is_closing():
            self._paused = paused
            (self.transport.pause_reading if paused else self.transport.resume_reading)()

    # -- deadlines ------------------------------------------------------------------------------------

    def _enter(self, phase: Phase) -> None:
        self._phase, self._since = phase, self.loop.time()
        if self._crowded:
            self._edge.waits(self, waiting=phase in (Phase.HEAD, Phase.LINGER, Phase.IDLE))

    def look(self, now: float) -> None:
        """Enforce the deadlines."""
        waited, limits = now - self._since, self._edge.limits
        if self._stuck(now):
            self._edge.gave_up("unread_answer")
            self.transport.abort()
        elif self._phase is Phase.HEAD and not self._deferred:
            self._look_at_head(waited)
        elif self._phase is Phase.BODY:
            self._look_at_body(now, waited)
        elif self._phase is Phase.ANSWER and self._half_closed:
            self._look_for_reset()
            if now - self._probed_at >= limits.header_timeout_s:
                self._probe()
        elif (self._phase is Phase.LINGER and waited >= LINGER_S) or (
            self._phase is Phase.IDLE and waited >= limits.keep_alive_s + self._edge.look_every_s
        ):
            self.transport.close()

    def _look_at_head(self, waited: float) -> None:
        most_s = self._edge.limits.header_timeout_s
        most_s = min(most_s, CROWDED_HEAD_S) if self._crowded else most_s
        most_s = min(most_s, LAST_HEAD_S) if self._leaving else most_s
        if waited < most_s:
            return
        if not self._leaving or self._buffer:
            self._refuse(CROWDED if self._crowded else SLOW_HEAD)
        elif not unread_bytes(self.transport):
            self.transport.close()

    def _look_at_body(self, now: float, waited: float) -> None:
        limits = self._edge.limits
        if self._connection.late:
            self.transport.close()  # the application did not react
        elif self._paused:
            self._since = max(self._since, now - limits.header_timeout_s)  # we are not reading
        elif limits.too_slow(waited, self._received) and self._exchange is not None:
            self._connection.late = True
            self._exchange.news.set()  # wakes the reader of the body

    def _probe(self) -> None:
        """Send an interim response (RFC 9110, 15.2.1), which a client that has left answers with a reset."""
        if self._phase is Phase.ANSWER and not self.transport.is_closing():
            self._probed_at = self.loop.time()
            if self._exchange is not None and not self._exchange.begun:
                self.transport.write(b"HTTP/1.1 100 Continue" + END)
            self.loop.call_later(RESET_WITHIN_S, self._look_for_reset)

    def _look_for_reset(self) -> None:
        if not self.transport.is_closing() and was_reset(self.transport):
            self.transport.abort()

    def _stuck(self, now: float) -> bool:
        """Whether the client has read nothing of the written data for too long. Any progress counts."""
        if self.transport.get_write_buffer_size() == 0:
            self._untaken = 0
            return False
        untaken = untaken_bytes(self.transport)
        if untaken != self._untaken:
            self._untaken, self._untaken_since = untaken, now
        return now - self._untaken_since >= self._edge.limits.header_timeout_s

    # -- the end --------------------------------------------------------------------------------------

    def shutdown(self) -> None:
        """Accept no request after the current one, or one that is already being received; uvicorn calls it."""
        self._leaving = True
        if self._exchange is not None:
            self._exchange.closes = True
            return
        is_young = self._phase is Phase.HEAD and (
            self._deferred or self.loop.time() - self._since < LAST_HEAD_S
        )
        if not is_young and not unread_bytes(self.transport):
            self.transport.close()

    def give_way(self) -> None:
        """Close this connection, which is beyond the limit, to make room for another."""
        self._edge.gave_up(CROWDED.reason)
        self._edge.remove(self)
        self.transport.abort()

    def _drop(self) -> None:
        """Stop the application: its answer cannot be sent."""
        if self._exchange is not None:
            self._exchange.gone = True
            self._exchange.news.set()

    def _refuse(self, refusal: Refusal) -> None:
        """Answer with a problem, if that is still possible, and close."""
        if self.transport.is_closing():
            return
        answered = self._phase is Phase.LINGER or (self._exchange is not None and self._exchange.begun)
        if not answered:
            headers, body = self._edge.answer(refusal)
            self.transport.write(head_of(refusal.status, [*self.default_headers, *headers]) + body)
        else:
            self._edge.gave_up(refusal.reason)
        self._drop()
        self.transport.close()
