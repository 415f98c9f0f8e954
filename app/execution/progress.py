"""Does work get done? Liveness that means progress, not merely that the event loop turns."""

from __future__ import annotations

from collections.abc import Mapping


class Progress:
    """Remembers when something moved: a call came to an idle service or ended, a worker got warm or used CPU time.

    CPU time, rather than a heartbeat from a thread: a computation in C may hold the interpreter's lock for a minute, and
    is busy, not stuck; a process that was stopped uses none.
    """

    def __init__(self, stall_s: float, now: float) -> None:
        self._stall_s = stall_s
        self._moved = now
        self._ticks: dict[int, int] = {}

    def note(self, now: float) -> None:
        """Something moved."""
        self._moved = now

    def compare(self, ticks: Mapping[int, int], now: float) -> None:
        """CPU time of the workers by process id: progress when any has used more than at the last look."""
        if any(used > self._ticks.get(pid, -1) for pid, used in ticks.items()):
            self._moved = now
        self._ticks = dict(ticks)

    def stalled(self, now: float, *, pending: bool) -> bool:
        """Whether work is there and nothing has moved for a while."""
        return pending and now - self._moved > self._stall_s
