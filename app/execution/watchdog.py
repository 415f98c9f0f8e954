"""Liveness as progress of the work, not merely of the event loop; and detection of stopped workers."""

from __future__ import annotations

from collections.abc import Mapping


class Progress:
    """The time of the last progress: a call arrived at an idle service or ended, or a worker used CPU time.

    CPU time rather than a heartbeat thread: a computation in C may hold the interpreter's lock for a minute and is busy,
    not stuck; a stopped process uses none.
    """

    def __init__(self, stall_s: float, now: float) -> None:
        self._stall_s = stall_s
        self._moved = now
        self._ticks: dict[int, int] = {}

    def note(self, now: float) -> None:
        """Record progress."""
        self._moved = now

    def compare(self, ticks: Mapping[int, int], now: float) -> None:
        """Record progress if any worker (CPU ticks by process id) has used more CPU time than at the last check."""
        if any(used > self._ticks.get(pid, -1) for pid, used in ticks.items()):
            self._moved = now
        self._ticks = dict(ticks)

    def stalled(self, now: float, *, pending: bool) -> bool:
        """Whether work is pending and there was no progress for `stall_s`."""
        return pending and now - self._moved > self._stall_s


class Standstill:
    """Since when each worker has been stopped by a signal, or waiting for a device that does not answer.

    A sleeping worker waits for a call or computes in a thread, and a running one works: neither counts.
    """

    def __init__(self, stopped_s: float, waiting_s: float) -> None:
        self._patience_s = {"T": stopped_s, "t": stopped_s, "D": waiting_s}
        self._since: dict[int, tuple[str, int, float]] = {}

    def look(self, states: Mapping[int, tuple[str, int]], now: float) -> tuple[set[int], set[int]]:
        """Process ids of those that have been stopped for too long, and of all that are stopped now."""
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
