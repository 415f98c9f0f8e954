"""uvicorn's protocol with deadlines for what a client has to do, and problems for what uvicorn answers itself.

A connection is always in one phase:

HEAD    a request has begun, or a connection was made: its headers must come within `header_timeout_s`
BODY    the headers are there: the body must come within `body_timeout_s` and at `body_bytes_per_second`
ANSWER  the request is complete: it is our turn, and the executor's deadlines hold
LINGER  answered before the body was complete: read on a little, so that the client gets to read the answer, then close
IDLE    nothing is under way: closed after `keep_alive_s`

A response that the client does not read is treated like a body that it does not send.

uvicorn does not promise to keep the interfaces used here and in `serving`: `INTERNALS` lists them, pyproject.toml pins
uvicorn to one minor version, and tests/unit/ops/test_uvicorn_protocol.py fails when one of them moves.
"""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol, RequestResponseCycle
from uvicorn.server import Server, ServerState

from .h11_connection import Framing
from .limits import CROWDED, CROWDED_HEAD_BYTES, CROWDED_HEAD_S, SLOW_HEAD, Edge
from .parsing_turns import AT_ONCE, kind_of
from .peer import unread_bytes, untaken_bytes, was_reset
from .request_head import Refusal
from .scope import CONNECTION, Connection

# What is overridden, called, read or replaced of uvicorn's classes.
INTERNALS: dict[type, tuple[str, ...]] = {
    H11Protocol: (
        "app", "client", "conn", "connection_lost", "connection_made", "cycle", "data_received", "eof_received", "flow",
        "handle_events", "loop", "on_response_complete", "send_400_response", "shutdown", "timeout_keep_alive_handler",
        "transport", "_unset_keepalive_if_required", "_unsupported_upgrade_warning",
    ),
    RequestResponseCycle: ("disconnected", "message_event", "response_complete"),
    FlowControl: ("read_paused", "resume_reading", "_transport"),
    Server: (
        "capture_signals", "config", "handle_exit", "lifespan", "on_tick", "serve", "server_state", "servers",
        "should_exit", "shutdown", "startup",
    ),
    ServerState: ("connections", "tasks"),
}  # fmt: skip

LINGER_S = 5.0
LAST_HEAD_S = 1.0  # when the service takes its leave, the head of a request must be there so soon
RESET_WITHIN_S = 0.1  # a client that has gone answers what we send with a reset, after a way there and back


class Phase(Enum):
    """What a connection waits for."""

    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    LINGER = auto()
    IDLE = auto()


class Flow(FlowControl):
    """Reads on only when neither the application nor the parser has to catch up."""

    held = False

    def hold(self) -> None:
        """The parser has enough for now."""
        self.held = True
        self._transport.pause_reading()

    def release(self) -> None:
        """The parser has nothing more."""
        if self.held:
            self.held = False
            if not self.read_paused:
                self._transport.resume_reading()

    def resume_reading(self) -> None:
        """The application wants more."""
        if self.held:
            self.read_paused = False
        else:
            super().resume_reading()


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
        self._untaken = 0
        self._untaken_since = self._asked_at = self._since

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[CONNECTION] = self._connection
        cycle: RequestResponseCycle = self.cycle
        try:
            await self._served(scope, receive, send)
        except asyncio.CancelledError:  # at the end of the grace period, when its answer had begun
            cycle.disconnected = True
            self.transport.abort()

    # -- what comes ---------------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """Count it; one too many is told so."""
        super().connection_made(transport)
        self.flow = self._flow = Flow(transport)
        heard = self._edge.add(self, self.client[0] if self.client else "")
        self._crowded = self._edge.crowds(self)
        if not heard:
            self._refuse(CROWDED)
        self._enter(Phase.HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no more."""
        self._edge.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes: of an answer that waits for them, or of the next request."""
        if self._phase is Phase.IDLE:
            self._enter(Phase.HEAD)
        self._unset_keepalive_if_required()
        self._head_bytes += len(data)
        self.conn.receive_data(data)
        if not self._flow.held:
            self.parse(AT_ONCE)
        if self._crowded and self._phase is Phase.HEAD and self._head_bytes > CROWDED_HEAD_BYTES:
            self._refuse(CROWDED)

    def parse(self, chunks: int) -> None:
        """Parse what is there; of a body in chunks only so many, and the rest in a later turn."""
        self._framing.allow(chunks)
        self.handle_events()

    def handle_events(self) -> None:
        """Whatever can be parsed within the allowance; nothing more is read until that is done."""
        if not self.transport.is_closing():
            super().handle_events()
        if self.transport.is_closing():
            self._flow.release()
            self._edge.turns.leave(self)
        elif self._framing.interrupted:
            self._flow.hold()
            self._edge.turns.wait(self, self.loop)
        elif self._framing.deferred:  # it waits for its turn already
            self._flow.hold()
            self._unset_keepalive_if_required()
            if self._phase is Phase.IDLE:
                self._enter(Phase.HEAD)
        else:
            self._flow.release()
            self._edge.turns.leave(self)

    def eof_received(self) -> bool:  # type: ignore[override]  # uvicorn's never keeps it open
        """The client sends nothing more. Whether it still reads: so it does when it waits for an answer, or has left."""
        self._half_closed = True
        if self._phase is not Phase.ANSWER or self.conn.their_http_version == b"1.0":
            return False
        self._asked_at = self.loop.time()
        self.loop.call_later(RESET_WITHIN_S, self._ask_for_a_sign_of_life)
        return True

    def _ask_for_a_sign_of_life(self) -> None:
        """Send an interim response (RFC 9110, 15.2.1): a client that has left, rather than half closed, resets."""
        if self._phase is not Phase.ANSWER or self.transport.is_closing():
            return
        self._asked_at = self.loop.time()
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
        """The answer is written; the next request may have come already."""
        if self._phase is Phase.BODY:
            self._framing.answered()
            self._enter(Phase.LINGER)
        else:
            self._enter(Phase.IDLE)
        super().on_response_complete()
        if self._half_closed and self._phase is not Phase.ANSWER and not self._framing.deferred:
            self.transport.close()

    def give_way(self) -> None:
        """It is one too many, and there are others to be heard."""
        self._edge.gave_up(CROWDED.reason)
        self._edge.remove(self)
        self.transport.abort()

    def shutdown(self) -> None:
        """Take no request after the one that is under way, be it only on its way: that one was sent in good faith."""
        self._leaving = True
        young = self._phase is Phase.HEAD and (
            self._flow.held or self.loop.time() - self._since < LAST_HEAD_S
        )
        if not young and not unread_bytes(self.transport):
            super().shutdown()  # every answer that begins from now on closes its connection, too

    # -- deadlines ----------------------------------------------------------------------------------------

    def look(self, now: float) -> None:
        """Give up what has taken too long."""
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
                self.transport.close()
                return
            self._refuse(CROWDED if self._crowded else SLOW_HEAD)
        elif self._phase is Phase.BODY:
            self._look_at_body(now, waited)
        elif self._phase is Phase.ANSWER and self._half_closed:
            self._look_for_reset()
            if now - self._asked_at >= limits.header_timeout_s:
                self._ask_for_a_sign_of_life()
        elif self._phase is Phase.LINGER and waited >= LINGER_S:
            self.transport.close()
        elif self._phase is Phase.IDLE and waited >= limits.keep_alive_s + LINGER_S:
            self.timeout_keep_alive_handler()  # uvicorn's own timer comes first, unless it was lost

    def _look_for_reset(self) -> None:
        if not self.transport.is_closing() and was_reset(self.transport):
            self.transport.abort()

    def _look_at_body(self, now: float, waited: float) -> None:
        if (self.flow.read_paused or self._flow.held) and not self._connection.late:
            self._since = max(
                self._since, now - self._edge.limits.header_timeout_s
            )  # it is we who do not read
        elif self._connection.late:
            self.transport.close()  # nobody took notice
        elif self._edge.limits.too_slow(waited, self._received):
            self._connection.late = True
            self.cycle.message_event.set()  # wakes whoever waits for the body

    def _stuck(self, now: float) -> bool:
        """Whether the client has taken nothing of what is written for too long. Any progress counts, however small."""
        if self.transport.get_write_buffer_size() == 0:
            self._untaken = 0
            return False
        untaken = untaken_bytes(self.transport)
        if untaken != self._untaken:
            self._untaken, self._untaken_since = untaken, now
        return now - self._untaken_since >= self._edge.limits.header_timeout_s

    # -- refusals -----------------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        """What is not HTTP, or not safely HTTP."""
        assert self._framing.refusal is not None
        self._refuse(self._framing.refusal)

    def _refuse(self, refusal: Refusal) -> None:
        """Answer with a problem, if that can still be done, and close."""
        if self.transport.is_closing():
            return
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True  # the application may end; its answer would have no reader
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
        """Another protocol is offered: a server may go on with HTTP/1.1 (RFC 9110, section 7.8)."""
