"""uvicorn's protocol with deadlines for clients, and problem details for uvicorn's own error responses.

A connection is always in one phase:

HEAD    a request or a connection has started: the headers must arrive within `header_timeout_s`
BODY    the headers are complete: the body must arrive within `body_timeout_s` and at `body_bytes_per_second`
ANSWER  the request is complete: the executor's deadlines apply
LINGER  answered before the body was complete: keep reading briefly, so that the client can read the answer; then close
IDLE    no request: closed after `keep_alive_s`

A response that the client does not read is treated like a body that it does not send.

uvicorn does not promise to keep the interfaces used here, in `flow` and in `serving`: pyproject.toml pins uvicorn to one
minor version, and tests/unit/ops/test_uvicorn_protocol.py lists them and fails when one of them moves.
"""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol, RequestResponseCycle

from .answer import Answer
from .begin import begin
from .flow import Flow
from .h11_connection import Framing
from .keep_alive import KeepAlive
from .limits import CROWDED, CROWDED_HEAD_BYTES, CROWDED_HEAD_S, SLOW_HEAD, Edge
from .parsing_turns import AT_ONCE, kind_of
from .peer import unread_bytes, untaken_bytes, was_reset
from .request_head import Refusal
from .scope import CONNECTION, Connection

LINGER_S = 5.0
LAST_HEAD_S = 1.0  # time for the head of a last request during shutdown
RESET_WITHIN_S = 0.1  # a client that has gone resets the connection within a round trip


class Phase(Enum):
    """What a connection waits for."""

    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    LINGER = auto()
    IDLE = auto()


class EdgeProtocol(H11Protocol):
    """One connection."""

    def __init__(self, edge: Edge, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._edge = edge
        self.conn = self._framing = Framing(
            edge.limits.max_header_bytes,
            self._head_received,
            self._body_received,
            self._ended,
            self._may_begin,
        )
        self._served = self.app
        self.app = self._serve
        self._phase = Phase.HEAD
        self._since = self.loop.time()
        self._received = 0
        self._crowded = self._half_closed = False
        self._head_bytes = 0
        self._leaving = False
        self._connection = Connection()
        self._keep_alive = KeepAlive(self.loop, self.timeout_keep_alive, self.timeout_keep_alive_handler)
        self._untaken = 0
        self._untaken_since = self._probed_at = self._since

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[CONNECTION] = self._connection
        cycle: RequestResponseCycle = self.cycle
        try:
            await self._served(scope, receive, Answer(cycle, self.loop).send)
        except asyncio.CancelledError:  # at the end of the grace period, when the response had started
            cycle.disconnected = True
            self.transport.abort()

    # -- events ---------------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """Count the connection; refuse it beyond the limit."""
        super().connection_made(transport)
        self.flow = self._flow = Flow(transport)
        accepted = self._edge.add(self, self.client[0] if self.client else "")
        self._crowded = self._edge.crowds(self)
        if not accepted:
            self._refuse(CROWDED)
        self._enter(Phase.HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the count."""
        self._edge.remove(self)
        self._keep_alive.close()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of the current or the next request."""
        if self._phase is Phase.IDLE:
            self._enter(Phase.HEAD)
        self._unset_keepalive_if_required()
        begun = self._phase is Phase.HEAD and self._head_bytes > 0
        self._head_bytes += len(data)
        self.conn.receive_data(data)
        # Without the end of a line no head ends: hundreds of clients that send byte by byte cost next to nothing.
        nothing_new = begun and b"\n" not in data and self._head_bytes <= self._edge.limits.max_header_bytes
        if not self._flow.held and not nothing_new:
            self.parse(AT_ONCE)
        if self._crowded and self._phase is Phase.HEAD and self._head_bytes > CROWDED_HEAD_BYTES:
            self._refuse(CROWDED)

    def parse(self, chunks: int) -> None:
        """Parse the received data, but at most `chunks` of a chunked body; the rest in a later turn."""
        self._framing.allow(chunks)
        self.handle_events()

    def handle_events(self) -> None:
        """Handle what can be parsed within the allowance; reading pauses until all is parsed."""
        if not self._framing.pending and not self._flow.held:
            return  # after most responses
        if not self.transport.is_closing():
            whole = self._framing.whole_request()
            if whole is None:
                super().handle_events()
            else:
                self._keep_alive.end()
                begin(self, *whole)
        if self.transport.is_closing():
            self._flow.release()
            self._edge.turns.leave(self)
        elif self._framing.interrupted:
            self._flow.hold()
            self._edge.turns.wait(self, self.loop)
        elif self._framing.deferred:  # it is already waiting for its turn
            self._flow.hold()
            self._unset_keepalive_if_required()
            if self._phase is Phase.IDLE:
                self._enter(Phase.HEAD)
        elif self._flow.held:  # it has had its turn
            self._flow.release()
            self._edge.turns.leave(self)

    def eof_received(self) -> bool:  # type: ignore[override]  # uvicorn's never keeps it open
        """The client sends nothing more. Return whether to keep the connection: it may still wait for the answer."""
        self._half_closed = True
        if self._phase is not Phase.ANSWER or self.conn.their_http_version == b"1.0":
            return False
        self._probed_at = self.loop.time()
        self.loop.call_later(RESET_WITHIN_S, self._probe)
        return True

    def _probe(self) -> None:
        """Send an interim response (RFC 9110, 15.2.1), which a client that has left answers with a reset."""
        if self._phase is not Phase.ANSWER or self.transport.is_closing():
            return
        self._probed_at = self.loop.time()
        if self.conn.our_state is h11.SEND_RESPONSE:
            interim = h11.InformationalResponse(status_code=100, headers=[], reason=STATUS_PHRASES[100])
            self.transport.write(self.conn.send(interim) or b"")
        self.loop.call_later(RESET_WITHIN_S, self._look_for_reset)

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._since = self.loop.time()
        if self._crowded:
            self._edge.waits(self, waiting=phase in (Phase.HEAD, Phase.LINGER, Phase.IDLE))

    def _may_begin(self, head: bytes) -> bool:
        return self._edge.turns.begins(self, kind_of(head, first=self.cycle is None), self.loop)

    def _head_received(self) -> None:
        self._received = 0
        if self._crowded:
            self._edge.waits(self, waiting=False)
            self._crowded = self._edge.crowds(self)
        self._connection = Connection(crowded=self._crowded)
        self._enter(Phase.BODY)

    def _body_received(self, size: int) -> None:
        self._received += size

    def _ended(self) -> None:
        self._head_bytes = 0
        self._enter(Phase.IDLE if self._phase is Phase.LINGER else Phase.ANSWER)

    def on_response_complete(self) -> None:
        """The response is written; the next request may have arrived already."""
        if self._phase is Phase.BODY:
            self._framing.answered()
            self._enter(Phase.LINGER)
        else:
            self._enter(Phase.IDLE)
        self.server_state.total_requests += 1
        if not self.transport.is_closing():
            self._keep_alive.begin()
            self.flow.resume_reading()
            if self.conn.our_state is h11.DONE and self.conn.their_state is h11.DONE:
                self.conn.start_next_cycle()
                self.handle_events()
        if self._half_closed and self._phase is not Phase.ANSWER and not self._framing.deferred:
            self.transport.close()

    def _unset_keepalive_if_required(self) -> None:
        self._keep_alive.end()

    def give_way(self) -> None:
        """Close this connection, which is beyond the limit, to make room for another."""
        self._edge.gave_up(CROWDED.reason)
        self._edge.remove(self)
        self.transport.abort()

    def shutdown(self) -> None:
        """Accept no request after the current one, or one that is already being received."""
        self._leaving = True
        young = self._phase is Phase.HEAD and (
            self._flow.held or self.loop.time() - self._since < LAST_HEAD_S
        )
        if not young and not unread_bytes(self.transport):
            super().shutdown()  # every response that starts from now on closes its connection, too

    # -- deadlines ----------------------------------------------------------------------------------------

    def look(self, now: float) -> None:
        """Enforce the deadlines."""
        waited = now - self._since
        limits = self._edge.limits
        head_s = min(limits.header_timeout_s, CROWDED_HEAD_S) if self._crowded else limits.header_timeout_s
        if self._leaving:
            head_s = min(head_s, LAST_HEAD_S)
        if self._stuck(now):
            self._edge.gave_up("unread_answer")
            self.transport.abort()
        elif self._phase is Phase.HEAD and waited >= head_s and not self._flow.held:
            if self._leaving and not self._head_bytes:
                if not unread_bytes(self.transport):
                    self.transport.close()
                return
            self._refuse(CROWDED if self._crowded else SLOW_HEAD)
        elif self._phase is Phase.BODY:
            self._look_at_body(now, waited)
        elif self._phase is Phase.ANSWER and self._half_closed:
            self._look_for_reset()
            if now - self._probed_at >= limits.header_timeout_s:
                self._probe()
        elif self._phase is Phase.LINGER and waited >= LINGER_S:
            self.transport.close()
        elif self._phase is Phase.IDLE and waited >= limits.keep_alive_s + LINGER_S:
            self.timeout_keep_alive_handler()  # uvicorn's own timer fires earlier, unless it was lost

    def _look_for_reset(self) -> None:
        if not self.transport.is_closing() and was_reset(self.transport):
            self.transport.abort()

    def _look_at_body(self, now: float, waited: float) -> None:
        if (self.flow.read_paused or self._flow.held) and not self._connection.late:
            self._since = max(self._since, now - self._edge.limits.header_timeout_s)  # we are not reading
        elif self._connection.late:
            self.transport.close()  # the application did not react
        elif self._edge.limits.too_slow(waited, self._received):
            self._connection.late = True
            self.cycle.message_event.set()  # wakes the reader of the body

    def _stuck(self, now: float) -> bool:
        """Whether the client has read nothing of the written data for too long. Any progress counts."""
        if self.transport.get_write_buffer_size() == 0:
            self._untaken = 0
            return False
        untaken = untaken_bytes(self.transport)
        if untaken != self._untaken:
            self._untaken, self._untaken_since = untaken, now
        return now - self._untaken_since >= self._edge.limits.header_timeout_s

    # -- refusals -----------------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that is not valid, or not unambiguous, HTTP."""
        assert self._framing.refusal is not None
        self._refuse(self._framing.refusal)

    def _refuse(self, refusal: Refusal) -> None:
        """Answer with a problem, if that is still possible, and close."""
        if self.transport.is_closing():
            return
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True  # stops the application: its response cannot be sent
            cycle.message_event.set()
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            headers, body = self._edge.answer(refusal)
            response = h11.Response(
                status_code=refusal.status, headers=headers, reason=STATUS_PHRASES[refusal.status]
            )
            for event in (response, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        else:
            self._edge.gave_up(refusal.reason)
        self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """No warning: a server may continue with HTTP/1.1 (RFC 9110, section 7.8)."""
