"""What all connections share: limits, their count, one look at every connection twice a second, and refusals.

One timer for all, and none for each request: a connection notes when it began to wait for what, and the look
compares. Five hundred slow clients cost a hundred microseconds twice a second and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...settings import Settings
from ..security_headers import FIXED, NOTHING, POLICY
from .parsing_turns import Turns
from .peer import share_of
from .request_head import Refusal

if TYPE_CHECKING:
    from .uvicorn_protocol import EdgeProtocol

log = logging.getLogger("exactperm.edge")

LOOK_EVERY_S = 0.5
RESERVE = (
    1_024  # connections beyond the limit that are heard, so that health is said and others get their 503
)
ACCEPTED_AT_ONCE = 128  # in a turn of the event loop
TURNS = 4  # from one that is accepted to another that made room for it and is closed
CROWDED_HEAD_S = 2.0  # such a one has so long for its headers
CROWDED_HEAD_BYTES = 16_384  # and so many for all that it sends before it is answered
CROWDED = Refusal(
    503, "connections", "More connections are open than this server serves. Try again a little later."
)
LEAST_CONNECTIONS = 8
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
    max_connections_per_address: int
    reserve: int = RESERVE

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
            settings.max_connections_per_address,
        )

    @property
    def at_once(self) -> int:
        """Connections that are accepted in one turn of the loop, so that the newest is still heard some turns later."""
        return min(ACCEPTED_AT_ONCE, max(1, self.reserve // 8))

    @property
    def descriptors(self) -> int:
        """File descriptors that connections can take."""
        return self.max_connections + self.reserve + TURNS * self.at_once

    def within(self, descriptors: int) -> Limits:
        """The same where connections have no more than so many file descriptors: fewer are heard, or even served.

        Raises ValueError when too few would be left to serve anybody.
        """
        reserve = min(RESERVE, max((descriptors - self.max_connections) * 2 // 3, descriptors // 8))
        fewer = replace(self, reserve=reserve)
        served = min(self.max_connections, descriptors - reserve - TURNS * fewer.at_once)
        if served < min(self.max_connections, LEAST_CONNECTIONS):
            raise ValueError(f"{max(0, descriptors)} file descriptors for connections are too few")
        return replace(fewer, max_connections=served)

    def too_slow(self, seconds: float, received: int) -> bool:
        """Whether a body of which so many bytes came in so many seconds is given up."""
        if seconds >= self.body_timeout_s:
            return True
        return received < self.body_bytes_per_second * (seconds - self.header_timeout_s)


class Edge:
    """One for each server; `refused` is told the reason of every refusal, for the metrics."""

    def __init__(self, limits: Limits, problem: Problem, refused: Callable[[str], None]) -> None:
        self.limits = limits
        self.turns = Turns()
        self.connections: dict[EdgeProtocol, str] = {}  # and whose they are
        self._of_one: Counter[str] = Counter()
        self._waiting: dict[EdgeProtocol, None] = {}  # too many, and not at work: the longest first
        self._problem = problem
        self._refused = refused
        self._timer: asyncio.TimerHandle | None = None

    def crowds(self, connection: EdgeProtocol) -> bool:
        """Whether this is one too many: of all, or of those from its address."""
        own = self._of_one[self.connections.get(connection, "")]
        return (
            len(self.connections) > self.limits.max_connections
            or own > self.limits.max_connections_per_address
        )

    def add(self, connection: EdgeProtocol, host: str) -> bool:
        """A connection was made; whether it can be heard. Room is made by the one that has kept us waiting longest."""
        share = share_of(host)
        self.connections[connection] = share
        self._of_one[share] += 1
        if self._timer is None:
            self._look_later(connection.loop)
        if len(self.connections) <= self.limits.max_connections + self.limits.reserve:
            return True
        longest = next(iter(self._waiting), None)
        if longest is None:
            return False
        longest.give_way()
        return True

    def remove(self, connection: EdgeProtocol) -> None:
        """A connection is gone, or as good as gone."""
        share = self.connections.pop(connection, None)
        if share is None:
            return
        self._of_one[share] -= 1
        if not self._of_one[share]:
            del self._of_one[share]
        self.waits(connection, waiting=False)
        self.turns.leave(connection)

    def waits(self, connection: EdgeProtocol, *, waiting: bool) -> None:
        """One too many waits for its client, or no more."""
        self._waiting.pop(connection, None)
        if waiting:
            self._waiting[connection] = None

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
        headers = [(name.encode(), value.encode()) for name, value in said if name != "connection"]
        headers += [(b"x-request-id", request_id.encode()), (POLICY, NOTHING), *FIXED]
        headers += [(b"content-length", str(len(body)).encode()), (b"connection", b"close")]
        return headers, body

    def gave_up(self, reason: str) -> None:
        """A connection was closed without an answer."""
        self._refused(reason)
