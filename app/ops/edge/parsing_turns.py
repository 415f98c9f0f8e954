"""Shares the event loop's parsing time among connections: bodies in many chunks, and floods of requests.

A connection may have a few chunks parsed at once, enough for any ordinary request. The rest waits here, and in each turn
of the loop the waiting connections get a few more, one after the other, so that other requests wait only for a few
milliseconds, whatever arrives over however many connections.

Requests start in turns, too: in each turn of the loop one of most kinds, and a few of health requests and of tests, which
wait for turns of their own before they compute (`app.api.turns`). Requests of one kind are answered in their order; a flood
of one kind delays the other kinds by no more than its few requests in each turn.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from enum import IntEnum, auto
from typing import Protocol

AT_ONCE = 4  # chunks per read; most reads of an ordinary client have fewer
EACH = 32  # chunks of one connection in its turn
TOGETHER = 64  # chunks in a turn of the loop: some 50 µs each
HEALTH_LINES = tuple(
    b"%b %b" % (method, path) for method in (b"GET", b"HEAD") for path in (b"/livez", b"/readyz", b"/healthz")
)


class Kind(IntEnum):
    """The kind of a request by its first bytes: health, a test, or something else.

    A PROBE is a health request that is the first on its connection, as orchestrators send; it does not wait for HEALTH
    requests of other connections.
    """

    PROBE = auto()
    HEALTH = auto()
    TEST = auto()
    OTHER = auto()


BEGIN_TOGETHER = {
    Kind.PROBE: 8,
    Kind.HEALTH: 4,
    Kind.TEST: 8,
    Kind.OTHER: 1,
}  # requests in a turn of the loop


def kind_of(head: bytes, *, first: bool) -> Kind:
    """The kind of a request whose head begins with `head`; `first` if it is the first on its connection.

    >>> [kind_of(head, first=True).name for head in (b"GET /livez HTTP", b"POST /v1/gate HTTP", b"GET /docs HTTP")]
    ['PROBE', 'TEST', 'OTHER']
    """
    if head.startswith(HEALTH_LINES):
        return Kind.PROBE if first else Kind.HEALTH
    return Kind.TEST if head.startswith(b"POST ") else Kind.OTHER


class Waiting(Protocol):
    """A connection with unparsed bytes."""

    def parse(self, chunks: int) -> None:
        """Parse at most `chunks`, and wait again if there are more."""


class Turns:
    """One for each server."""

    def __init__(self) -> None:
        self._waiting: dict[Waiting, None] = {}  # in the order of their turns
        self._beginning: dict[Kind, dict[Waiting, None]] = {kind: {} for kind in Kind}
        self._begun: Counter[Kind] = Counter()  # in this turn of the loop
        self._next: Waiting | None = None  # whose request begins now
        self._scheduled = False

    def __len__(self) -> int:
        return len(self._waiting) + sum(map(len, self._beginning.values()))

    def wait(self, connection: Waiting, loop: asyncio.AbstractEventLoop) -> None:
        """Let a connection continue to parse in a later turn."""
        self._waiting.setdefault(connection)
        self._schedule(loop)

    def begins(self, connection: Waiting, kind: Kind, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether a request may start now; if not, its connection continues in its turn."""
        if self._next is connection:
            self._next = None
            return True
        self._schedule(loop)
        if self._begun[kind] < BEGIN_TOGETHER[kind]:
            self._begun[kind] += 1
            return True
        self._beginning[kind].setdefault(connection)
        return False

    def leave(self, connection: Waiting) -> None:
        """Remove a connection that is closed, or has nothing left to parse."""
        self._waiting.pop(connection, None)
        for line in self._beginning.values():
            line.pop(connection, None)

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._turn, loop)

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        self._scheduled = False
        self._begun.clear()
        for kind, line in self._beginning.items():
            for _ in range(min(BEGIN_TOGETHER[kind], len(line)) if line else 0):
                self._begun[kind] += 1
                self._next = _first(line)
                self._next.parse(AT_ONCE)
                self._next = None
        for _ in range(min(TOGETHER // EACH, len(self._waiting))):
            _first(self._waiting).parse(EACH)
        if self._begun or self._waiting:
            self._schedule(loop)


def _first(line: dict[Waiting, None]) -> Waiting:
    """Remove and return the connection whose turn it is."""
    connection = next(iter(line))
    del line[connection]
    return connection
