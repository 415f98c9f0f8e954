"""Where calls and workers meet: a call waits for a worker, an idle worker takes the call that is next."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from ..errors import Overloaded
from .pool import Pool
from .process import WorkerProcess
from .scheduler import Call, Scheduler
from .supervisor import Supervisor
from .throughput import Throughput

SENTENCES = {
    "queue_depth": "All workers are busy and the queue is full. Try again a little later.",
    "queue_seconds": "So much work is waiting that this would wait too long. Try again later.",
    "queue_bytes": "The bodies that wait take all the memory there is for them. Try again a little later.",
    "stopping": "The service is shutting down. Try again elsewhere or later.",
}


class Dispatcher:
    """`lanes` decides; this waits, hands over, and refuses."""

    def __init__(
        self,
        scheduler: Scheduler,
        pool: Pool,
        throughput: Throughput,
        supervisor: Supervisor,
        least_retry_after_s: int,
    ) -> None:
        self.rejections: Counter[str] = Counter()
        self.closed = False
        self._scheduler = scheduler
        self._pool = pool
        self._throughput = throughput
        self._supervisor = supervisor
        self._least_retry_after_s = least_retry_after_s
        pool.on_warm = self._dispatch
        supervisor.on_overrun = self._dispatch

    def close(self) -> None:
        """Whoever waits, or comes, gets `Overloaded`."""
        self.closed = True
        for call in self._scheduler.clear():
            if not call.waiter.done():
                call.waiter.set_exception(Overloaded(SENTENCES["stopping"]))

    async def acquire(self, call: Call, *, first: bool) -> WorkerProcess:
        """Wait for a worker. A call that had one is never refused: it was put off, or its worker died (`first`).

        Raises
        ------
            Overloaded: there is no room to wait.
        """
        now = time.monotonic()
        if self.closed:
            raise self.refused("stopping", call)
        if not self._scheduler.waiting() and not self._scheduler.running():
            self._supervisor.progress.note(now)
        if call.state == "new":
            worker = self._pool.take() if self._scheduler.may_begin(call) else None
            if worker is not None:
                self._begin(call, worker, now)
                return worker
            if reason := self._scheduler.refusal(call, now):
                raise self.refused(reason, call)
        call.waiter = asyncio.get_running_loop().create_future()
        self._scheduler.wait(call, first=first)
        self._dispatch()
        try:
            found: WorkerProcess = await call.waiter
        except asyncio.CancelledError:
            # The worker may have been handed over in the very moment the caller gave up.
            if not call.waiter.cancelled() and call.waiter.exception() is None:
                self.release(call, call.waiter.result(), again=False)
            raise
        return found

    def release(self, call: Call, worker: WorkerProcess, *, again: bool) -> None:
        """The call leaves its worker, which is free if it was not killed; so may be a place for a long call."""
        self._scheduler.stop(call, again=again)
        self._supervisor.busy.pop(worker, None)
        self._supervisor.progress.note(time.monotonic())
        self._pool.give_back(worker)
        self._dispatch()

    def plan(self, call: Call, seconds: float) -> bool:
        """Whether a running call may go on, now that it knows how long it will take."""
        # One that nobody waits for may not.
        goes_on = not call.abandoned and self._scheduler.plan(call, seconds, time.monotonic()) == "go"
        self._dispatch()  # beside a long call there may be room for a short one
        return goes_on

    def refused(self, reason: str, call: Call) -> Overloaded:
        """The error for a call that finds no room, and when there will be some."""
        self.rejections[reason] += 1
        wait = self._throughput.retry_after_s(
            self._scheduler,
            call.queue,
            self._pool.size,
            time.monotonic(),
            self._least_retry_after_s,
            call.seconds,
        )
        return Overloaded(SENTENCES[reason], retry_after_s=wait)

    def _dispatch(self) -> None:
        """Idle workers take what waits."""
        while self._scheduler.waiting() and (worker := self._pool.take()) is not None:
            call = self._scheduler.next()
            if call is None or call.waiter.done():  # no place for a long one; or its caller is leaving
                self._pool.give_back(worker)
                if call is None:
                    return
                continue
            self._begin(call, worker, time.monotonic())
            call.waiter.set_result(worker)

    def _begin(self, call: Call, worker: WorkerProcess, now: float) -> None:
        self._scheduler.begin(call, now)
        self._supervisor.busy[worker] = call
