"""Does work get done? Liveness that means progress, not merely that the event loop turns; and which workers stand still."""

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


class Standstill:
    """Remembers since when each worker stands still: stopped by a signal, or waiting for a device that does not answer.

    One that sleeps waits for us, or computes in a thread; one that runs is at work. Neither stands still.
    """

    def __init__(self, stopped_s: float, waiting_s: float) -> None:
        self._patience_s = {"T": stopped_s, "t": stopped_s, "D": waiting_s}
        self._since: dict[int, tuple[str, int, float]] = {}

    def look(self, states: Mapping[int, tuple[str, int]], now: float) -> tuple[set[int], set[int]]:
        """Process ids of those that stand still for too long, and of those that do at this moment."""
        before, self._since = self._since, {}
        for pid, (state, ticks) in states.items():
            if state not in self._patience_s:
                continue
            past = before.get(pid)
            same = past is not None and past[:2] == (state, ticks)
            self._since[pid] = past if past is not None and same else (state, ticks, now)
        too_long = {
            pid for pid, (state, _, since) in self._since.items() if now - since >= self._patience_s[state]
        }
        return too_long, set(self._since)
