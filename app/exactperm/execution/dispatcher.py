"""Hands calls to workers: a call waits for a worker, and an idle worker takes the next call."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from ..errors import Overloaded
from .pool import Pool
from .process import WorkerProcess
from .scheduler import Call, Scheduler
from .single_flight import Flight
from .supervisor import Supervisor
from .throughput import Throughput

SENTENCES = {
    "queue_depth": "All workers are busy and the queue is full. Try again a little later.",
    "queue_seconds": "So much work is queued that this request would wait too long. Try again later.",
    "queue_bytes": "The bodies in the queue use all the memory reserved for them. Try again a little later.",
    "stopping": "The service is shutting down. Try again elsewhere or later.",
}


class Dispatcher:
    """Carries out what the scheduler decides: waits, hands over, and refuses."""

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
        """Waiting and new callers get `Overloaded`."""
        self.closed = True
        for call in self._scheduler.clear():
            if not call.waiter.done():
                call.waiter.set_exception(Overloaded(SENTENCES["stopping"]))

    async def acquire(self, call: Call, *, first: bool) -> WorkerProcess:
        """Wait for a worker.

        A call that had one already is never refused: it was parked, or its worker died (then it is `first`).

        Raises
        ------
            Overloaded: the queue is full.
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
            worker_process: WorkerProcess = await call.waiter
        except asyncio.CancelledError:
            # The worker may have been handed over at the moment when the caller gave up.
            if not call.waiter.cancelled() and call.waiter.exception() is None:
                self.release(call, call.waiter.result(), again=False)
            raise
        return worker_process

    def release(self, call: Call, worker: WorkerProcess, *, again: bool) -> None:
        """The call leaves its worker, which becomes idle unless it was killed."""
        self._scheduler.stop(call, again=again)
        self._supervisor.busy.pop(worker, None)
        self._supervisor.progress.note(time.monotonic())
        self._pool.give_back(worker)
        self._dispatch()

    def plan(self, call: Call, seconds: float) -> bool:
        """Whether a running call may continue, now that its duration is predicted."""
        may_continue = not call.abandoned and self._scheduler.plan(call, seconds, time.monotonic()) == "go"
        self._dispatch()  # with a long call running, a waiting short one may start
        return may_continue

    def refused(self, reason: str, call: Call) -> Overloaded:
        """The error for a refused call, with a time after which to retry."""
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
        """Give waiting calls to idle workers."""
        while self._scheduler.waiting() and (worker := self._pool.take()) is not None:
            call = self._scheduler.next()
            if (
                call is None or call.waiter.done()
            ):  # only long calls wait and no more may run; or the caller gives up
                self._pool.give_back(worker)
                if call is None:
                    return
                continue
            self._begin(call, worker, time.monotonic())
            call.waiter.set_result(worker)

    def _begin(self, call: Call, worker: WorkerProcess, now: float) -> None:
        self._scheduler.begin(call, now)
        self._supervisor.busy[worker] = call


@dataclass(frozen=True, slots=True)
class WorkerCall:
    """One pickled call to a worker, and the answers to its notices; a `Notices`."""

    pickled: bytes
    body: bytes | bytearray
    call: Call
    flight: Flight
    dispatcher: Dispatcher
    ask_above_s: float
    start: float
    longest_s: float

    async def run(self, worker: WorkerProcess) -> Any:
        """Send the call, answer its notices, and return its result or raise its error."""
        return await worker.call(self.pickled, self.body, self, self.ask_above_s)

    def deadline(self, seconds: float) -> None:
        """The body sets a deadline."""
        self.call.ends_by = self.start + min(seconds, self.longest_s)
        self.flight.deadline(seconds)

    def plan(self, seconds: float) -> bool:
        """Whether a call that turns out long may run now: a caller waits long enough, and a process is free for it."""
        return self.flight.plan(seconds) and self.dispatcher.plan(self.call, seconds)
