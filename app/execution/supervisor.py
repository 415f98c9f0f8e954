"""Looks after the workers several times a second: memory, progress, and calls that take longer than predicted."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from app.execution.lanes import Lanes, Ticket
from app.execution.pool import Pool
from app.execution.proc import cpu_ticks, resident_bytes
from app.execution.process import WorkerProcess
from app.execution.progress import Progress

log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.1


class Supervisor:
    """Knows which worker has which call (`busy`)."""

    def __init__(self, pool: Pool, lanes: Lanes, memory_bytes: int, stall_s: float) -> None:
        self.busy: dict[WorkerProcess, Ticket] = {}
        self.progress = Progress(stall_s, time.monotonic())
        self.on_overrun: Callable[[], None] = lambda: None
        self._pool = pool
        self._lanes = lanes
        self._memory_bytes = memory_bytes

    @property
    def stalled(self) -> bool:
        """Whether work is there and no worker has moved for a while."""
        return self.progress.stalled(time.monotonic(), pending=self._pending)

    async def watch(self) -> None:
        """Look until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            if self._pending:
                self.look(time.monotonic())

    def look(self, now: float) -> None:
        """Look once."""
        for worker in self.busy:
            held = resident_bytes(worker.pid)
            # The worker's own RLIMIT_DATA comes first; this sees what that does not count.
            if held is not None and held > worker.warm_bytes + self._memory_bytes:
                log.warning("worker %d holds %d bytes and is ended", worker.pid, held)
                worker.kill("memory")
        ticks = {pid: cpu_ticks(pid) for pid in self._pool.all_pids}
        self.progress.compare({pid: used for pid, used in ticks.items() if used is not None}, now)
        if self._lanes.overran(now):
            self.on_overrun()

    @property
    def _pending(self) -> bool:
        return bool(self.busy) or self._lanes.waiting() > 0
