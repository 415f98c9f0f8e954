"""Where calls and workers meet: a call waits for a worker, an idle worker takes the call that is next."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from ..errors import Overloaded
from .pool import Pool
from .process import WorkerProcess
from .scheduler import Lanes, Ticket
from .supervisor import Supervisor
from .throughput import Pace

SENTENCES = {
    "queue_depth": "All workers are busy and the queue is full. Try again a little later.",
    "queue_seconds": "So much work is waiting that this would wait too long. Try again later.",
    "queue_bytes": "The bodies that wait take all the memory there is for them. Try again a little later.",
    "stopping": "The service is shutting down. Try again elsewhere or later.",
}


class Queue:
    """`lanes` decides; this waits, hands over, and refuses."""

    def __init__(
        self,
        lanes: Lanes,
        pool: Pool,
        pace: Pace,
        supervisor: Supervisor,
        least_retry_after_s: int,
    ) -> None:
        self.rejections: Counter[str] = Counter()
        self.closed = False
        self._lanes = lanes
        self._pool = pool
        self._pace = pace
        self._supervisor = supervisor
        self._least_retry_after_s = least_retry_after_s
        pool.on_warm = self._dispatch
        supervisor.on_overrun = self._dispatch

    def close(self) -> None:
        """Whoever waits, or comes, gets `Overloaded`."""
        self.closed = True
        for ticket in self._lanes.clear():
            if not ticket.waiter.done():
                ticket.waiter.set_exception(Overloaded(SENTENCES["stopping"]))

    async def acquire(self, ticket: Ticket, *, first: bool) -> WorkerProcess:
        """Wait for a worker. A call that had one is never refused: it was put off, or its worker died (`first`).

        Raises
        ------
            Overloaded: there is no room to wait.
        """
        now = time.monotonic()
        if self.closed:
            raise self.refused("stopping", ticket)
        if not self._lanes.waiting() and not self._lanes.running():
            self._supervisor.progress.note(now)
        if ticket.state == "new":
            worker = self._pool.take() if self._lanes.may_begin(ticket) else None
            if worker is not None:
                self._begin(ticket, worker, now)
                return worker
            if reason := self._lanes.refusal(ticket, now):
                raise self.refused(reason, ticket)
        ticket.waiter = asyncio.get_running_loop().create_future()
        self._lanes.wait(ticket, first=first)
        self._dispatch()
        try:
            found: WorkerProcess = await ticket.waiter
        except asyncio.CancelledError:
            # The worker may have been handed over in the very moment the caller gave up.
            if not ticket.waiter.cancelled() and ticket.waiter.exception() is None:
                self.release(ticket, ticket.waiter.result(), again=False)
            raise
        return found

    def release(self, ticket: Ticket, worker: WorkerProcess, *, again: bool) -> None:
        """The call leaves its worker, which is free if it was not killed; so may be a place for a long call."""
        self._lanes.stop(ticket, again=again)
        self._supervisor.busy.pop(worker, None)
        self._supervisor.progress.note(time.monotonic())
        self._pool.give_back(worker)
        self._dispatch()

    def plan(self, ticket: Ticket, seconds: float) -> bool:
        """Whether a running call may go on, now that it knows how long it will take."""
        # One that nobody waits for may not.
        goes_on = not ticket.abandoned and self._lanes.plan(ticket, seconds, time.monotonic()) == "go"
        self._dispatch()  # beside a long call there may be room for a short one
        return goes_on

    def refused(self, reason: str, ticket: Ticket) -> Overloaded:
        """The error for a call that finds no room, and when there will be some."""
        self.rejections[reason] += 1
        wait = self._pace.retry_after_s(
            self._lanes,
            ticket.lane,
            self._pool.size,
            time.monotonic(),
            self._least_retry_after_s,
            ticket.seconds,
        )
        return Overloaded(SENTENCES[reason], retry_after_s=wait)

    def _dispatch(self) -> None:
        """Idle workers take what waits."""
        while self._lanes.waiting() and (worker := self._pool.take()) is not None:
            ticket = self._lanes.next()
            if ticket is None or ticket.waiter.done():  # no place for a long one; or its caller is leaving
                self._pool.give_back(worker)
                if ticket is None:
                    return
                continue
            self._begin(ticket, worker, time.monotonic())
            ticket.waiter.set_result(worker)

    def _begin(self, ticket: Ticket, worker: WorkerProcess, now: float) -> None:
        self._lanes.begin(ticket, now)
        self._supervisor.busy[worker] = ticket
