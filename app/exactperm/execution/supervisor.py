"""Checks the workers several times a second: memory, progress, and calls that take longer than predicted.

A worker that is stopped while another one can work is given up: its call is retried, and it is replaced. When none can
work, all were probably stopped together and may continue together; `/livez` then reports the stall.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping

from .pool import Pool
from .process import WorkerProcess
from .procfs import resident_bytes, state_and_ticks
from .scheduler import Call, Scheduler

# Liveness as progress of the work, not merely of the event loop; and detection of stopped workers


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


log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.1
STOPPED_S = 2.0


class Supervisor:
    """Watches the workers; `busy` maps each working one to its call."""

    def __init__(self, pool: Pool, scheduler: Scheduler, memory_bytes: int, stall_s: float) -> None:
        self.busy: dict[WorkerProcess, Call] = {}
        self.progress = Progress(stall_s, time.monotonic())
        self._standstill = Standstill(min(STOPPED_S, 0.5 * stall_s), stall_s)
        self.on_overrun: Callable[[], None] = lambda: None
        self._pool = pool
        self._scheduler = scheduler
        self._memory_bytes = memory_bytes

    @property
    def stalled(self) -> bool:
        """Whether work is pending and no worker has made progress for `stall_s`."""
        return self.progress.stalled(time.monotonic(), pending=self._pending)

    async def watch(self) -> None:
        """Check until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            if self._pending:
                self.look(time.monotonic())

    def look(self, now: float) -> None:
        """Check once."""
        for worker in self.busy:
            held = resident_bytes(worker.pid)
            # The worker's own RLIMIT_DATA applies first; this covers what that does not count.
            if held is not None and held > worker.warm_bytes + self._memory_bytes:
                log.warning("worker %d uses %d bytes, more than allowed, and is killed", worker.pid, held)
                worker.kill("memory")
        stats = {pid: state_and_ticks(pid) for pid in self._pool.all_pids}
        states = {pid: state for pid, state in stats.items() if state is not None}
        self._give_up_stopped(states, now)
        self.progress.compare({pid: ticks for pid, (_, ticks) in states.items()}, now)
        if self._scheduler.overran(now):
            self.on_overrun()

    def _give_up_stopped(self, states: Mapping[int, tuple[str, int]], now: float) -> None:
        too_long, standing = self._standstill.look(states, now)
        if too_long and set(self._pool.pids) - standing:
            for worker in self._pool.workers:
                if worker.pid in too_long:
                    log.warning("worker %d is stopped and is given up", worker.pid)
                    worker.give_up("stopped")

    @property
    def _pending(self) -> bool:
        return bool(self.busy) or self._scheduler.waiting() > 0
