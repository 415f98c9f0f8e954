"""Shares the event loop among requests: a flood delays others only by a few in each turn of the loop.

In each turn of the loop one request of most kinds begins, and a few of health requests and of tests, which wait for
turns of their own before they compute (`exactperm.api.bodies`). Requests of one kind begin in their order.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from enum import IntEnum, auto
from typing import Protocol

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
    """A connection whose request waits for its turn."""

    def begin(self) -> None:
        """Begin the request."""


class Turns:
    """One for each server."""

    def __init__(self) -> None:
        self._waiting: dict[Kind, dict[Waiting, None]] = {kind: {} for kind in Kind}  # in their order
        self._begun: Counter[Kind] = Counter()  # in this turn of the loop
        self._next: Waiting | None = None  # whose request begins now
        self._scheduled = False

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def begins(self, connection: Waiting, kind: Kind, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether a request may start now; if not, its connection begins it in its turn."""
        if self._next is connection:
            self._next = None
            return True
        self._schedule(loop)
        if self._begun[kind] < BEGIN_TOGETHER[kind]:
            self._begun[kind] += 1
            return True
        self._waiting[kind].setdefault(connection)
        return False

    def leave(self, connection: Waiting) -> None:
        """Remove a connection that is closed."""
        for line in self._waiting.values():
            line.pop(connection, None)

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._turn, loop)

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        self._scheduled = False
        self._begun.clear()
        for kind, line in self._waiting.items():
            for _ in range(min(BEGIN_TOGETHER[kind], len(line))):
                self._begun[kind] += 1
                connection = next(iter(line))
                del line[connection]
                self._next = connection
                connection.begin()
                self._next = None
        if self._begun:
            self._schedule(loop)
