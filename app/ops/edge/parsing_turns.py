"""The event loop's time, shared among connections whose bytes take long to read.

What a connection may have parsed at once is little: enough for any ordinary request. The rest waits here, and in each
turn of the loop those who wait get a little more, one after the other, so that whoever asks for something else in the
meantime waits for a few milliseconds, whatever has come over however many connections.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

AT_ONCE = 4  # chunks of each read; a client that sends no floods has as many or fewer in most of its reads
EACH = 32  # chunks of one connection, when it has its turn
TOGETHER = 64  # chunks in a turn of the loop: some 50 µs each


class Waiting(Protocol):
    """A connection with bytes that are not parsed yet."""

    def parse(self, chunks: int) -> None:
        """Parse at most so many, and wait again if there are more."""


class Turns:
    """One for each server."""

    def __init__(self) -> None:
        self._waiting: dict[Waiting, None] = {}  # in the order of their turns
        self._scheduled = False

    def __len__(self) -> int:
        return len(self._waiting)

    def wait(self, connection: Waiting, loop: asyncio.AbstractEventLoop) -> None:
        """Have it parse on in a later turn."""
        self._waiting.setdefault(connection)
        self._schedule(loop)

    def leave(self, connection: Waiting) -> None:
        """It is gone, or has nothing more."""
        self._waiting.pop(connection, None)

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._turn, loop)

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        self._scheduled = False
        for _ in range(min(TOGETHER // EACH, len(self._waiting))):
            connection = next(iter(self._waiting))
            del self._waiting[connection]
            connection.parse(EACH)
        if self._waiting:
            self._schedule(loop)
