"""uvicorn's protocol with deadlines for what a client has to do, and problems for what uvicorn answers itself.

A connection is always in one phase:

HEAD    a request has begun, or a connection was made: its headers must come within `header_timeout_s`
BODY    the headers are there: the body must come within `body_timeout_s` and at `body_bytes_per_second`
ANSWER  the request is complete: it is our turn, and the executor's deadlines hold
LINGER  answered before the body was complete: read on a little, so that the client gets to read the answer, then close
IDLE    nothing is under way: closed after `keep_alive_s`

A response that the client does not take counts as a body that it does not send.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol, RequestResponseCycle

from app.ops.connection import CONNECTION, Connection
from app.ops.edge import CROWDED, SLOW_HEAD, Edge
from app.ops.framing import Framing, Refusal

LINGER_S = 5.0


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
            edge.limits.max_header_bytes, self._head_received, self._body_received, self._ended
        )
        self._served = self.app
        self.app = self._serve
        self._phase = Phase.HEAD
        self._since = self.loop.time()
        self._received = 0
        self._crowded = False
        self._connection = Connection()
        self._unsent = 0
        self._unsent_since = self._since

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[CONNECTION] = self._connection
        await self._served(scope, receive, send)

    # -- what comes ---------------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """Count it; one too many is told so."""
        super().connection_made(transport)
        self._edge.add(self)
        if self._edge.full:
            self._refuse(CROWDED)
        self._crowded = self._edge.crowded

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no more."""
        self._edge.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes: of an answer that waits for them, or of the next request."""
        if self._phase is Phase.IDLE:
            self._enter(Phase.HEAD)
        super().data_received(data)

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._since = self.loop.time()

    def _head_received(self) -> None:
        self._received = 0
        self._crowded = self._crowded and self._edge.crowded
        self._connection = Connection(crowded=self._crowded)
        self._enter(Phase.BODY)

    def _body_received(self, size: int) -> None:
        self._received += size

    def _ended(self) -> None:
        self._enter(Phase.IDLE if self._phase is Phase.LINGER else Phase.ANSWER)

    def on_response_complete(self) -> None:
        """The answer is written; the next request may have come already."""
        self._enter(Phase.LINGER if self._phase is Phase.BODY else Phase.IDLE)
        super().on_response_complete()

    # -- deadlines ----------------------------------------------------------------------------------------

    def look(self, now: float) -> None:
        """Give up what has taken too long."""
        waited = now - self._since
        limits = self._edge.limits
        if self._stuck(now):
            self._edge.gave_up("unread_answer")
            self.transport.abort()
        elif self._phase is Phase.HEAD and waited >= limits.header_timeout_s:
            self._refuse(SLOW_HEAD)
        elif self._phase is Phase.BODY:
            self._look_at_body(now, waited)
        elif self._phase is Phase.LINGER and waited >= LINGER_S:
            self.transport.close()
        elif self._phase is Phase.IDLE and waited >= limits.keep_alive_s + LINGER_S:
            self.timeout_keep_alive_handler()  # uvicorn's own timer comes first, unless it was lost

    def _look_at_body(self, now: float, waited: float) -> None:
        if self.flow.read_paused and not self._connection.late:
            self._since = max(
                self._since, now - self._edge.limits.header_timeout_s
            )  # it is we who do not read
        elif self._connection.late:
            self.transport.close()  # nobody took notice
        elif self._edge.limits.too_slow(waited, self._received):
            self._connection.late = True
            self.cycle.message_event.set()  # wakes whoever waits for the body

    def _stuck(self, now: float) -> bool:
        """Whether the client has taken nothing of what is written for too long."""
        unsent = self.transport.get_write_buffer_size()
        if unsent == 0 or unsent != self._unsent:
            self._unsent, self._unsent_since = unsent, now
        return unsent > 0 and now - self._unsent_since >= self._edge.limits.header_timeout_s

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
