"""What all connections share: limits, their count, one look at every connection twice a second, and refusals.

One timer for all, and none for each request: a connection notes when it began to wait for what, and the look
compares. Five hundred slow clients cost a hundred microseconds twice a second and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.ops.framing import Refusal
from app.ops.security_headers import FIXED, NOTHING, POLICY
from app.settings import Settings

if TYPE_CHECKING:
    from app.ops.protocol import EdgeProtocol

log = logging.getLogger("exactperm.edge")

LOOK_EVERY_S = 0.5
RESERVE = 64  # connections beyond the limit that are heard, so that health is said and others get their 503
CROWDED = Refusal(
    503, "connections", "More connections are open than this server serves. Try again a little later."
)
SLOW_HEAD = Refusal(408, "header_timeout", "The headers were not there in time.")

Headers = tuple[tuple[str, str], ...]
Problem = Callable[
    [int, str, str], tuple[Headers, bytes]
]  # status, detail and request id to headers and body


@dataclass(frozen=True, slots=True)
class Limits:
    """How long, how slow, how large and how many."""

    header_timeout_s: float
    max_header_bytes: int
    body_timeout_s: float
    body_bytes_per_second: int
    max_connections: int
    keep_alive_s: float

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """The part of the settings that is kept here."""
        return cls(
            settings.header_timeout_s,
            settings.max_header_bytes,
            settings.body_timeout_s,
            settings.body_bytes_per_second,
            settings.max_connections,
            settings.keep_alive_s,
        )

    def too_slow(self, seconds: float, received: int) -> bool:
        """Whether a body of which so many bytes came in so many seconds is given up."""
        if seconds >= self.body_timeout_s:
            return True
        return received < self.body_bytes_per_second * (seconds - self.header_timeout_s)


class Edge:
    """One for each server; `refused` is told the reason of every refusal, for the metrics."""

    def __init__(self, limits: Limits, problem: Problem, refused: Callable[[str], None]) -> None:
        self.limits = limits
        self.connections: set[EdgeProtocol] = set()
        self._problem = problem
        self._refused = refused
        self._timer: asyncio.TimerHandle | None = None

    @property
    def crowded(self) -> bool:
        """Whether there are more connections than the limit."""
        return len(self.connections) > self.limits.max_connections

    @property
    def full(self) -> bool:
        """Whether there are so many that another one is not even heard."""
        return len(self.connections) > self.limits.max_connections + RESERVE

    def add(self, connection: EdgeProtocol) -> None:
        """A connection was made."""
        self.connections.add(connection)
        if self._timer is None:
            self._look_later(connection.loop)

    def remove(self, connection: EdgeProtocol) -> None:
        """A connection is gone."""
        self.connections.discard(connection)

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(self.look_every_s, self._look, loop)

    @property
    def look_every_s(self) -> float:
        """Often enough for the shortest deadline."""
        return min(LOOK_EVERY_S, self.limits.header_timeout_s / 4, self.limits.body_timeout_s / 4)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        # What is due before the next look is due now: nobody waits longer than the deadline.
        now = loop.time() + self.look_every_s
        for connection in tuple(self.connections):
            connection.look(now)
        if self.connections:
            self._look_later(loop)

    def answer(self, refusal: Refusal) -> tuple[list[tuple[bytes, bytes]], bytes]:
        """The problem that a refusal is: headers and body. It is counted and logged."""
        request_id = uuid.uuid4().hex
        self._refused(refusal.reason)
        log.info(
            "refused", extra={"status": refusal.status, "reason": refusal.reason, "request_id": request_id}
        )
        said, body = self._problem(refusal.status, refusal.detail, request_id)
        headers = [(name.encode(), value.encode()) for name, value in said]
        headers += [(b"x-request-id", request_id.encode()), (POLICY, NOTHING), *FIXED]
        headers += [(b"content-length", str(len(body)).encode()), (b"connection", b"close")]
        return headers, body

    def gave_up(self, reason: str) -> None:
        """A connection was closed without an answer."""
        self._refused(reason)
