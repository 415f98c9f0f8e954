"""How long a connection waits for its next request: one timer, which is set on instead of replaced for each response."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class KeepAlive:
    """Calls `due` when a wait has lasted for so many seconds."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, due: Callable[[], None]) -> None:
        self._loop = loop
        self._seconds = seconds
        self._due = due
        self._until: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """The wait begins now."""
        self._until = self._loop.time() + self._seconds
        if self._timer is None:
            self._timer = self._loop.call_at(self._until, self._look)

    def end(self) -> None:
        """There is something: the wait is over."""
        self._until = None

    def close(self) -> None:
        """There is nothing left to wait for."""
        self.end()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._until is None:
            return
        if self._loop.time() < self._until:
            self._timer = self._loop.call_at(self._until, self._look)
        else:
            self._due()
