"""What the web process says to a worker about one call, and what it answers to the worker's notices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.execution.flights import Flight
from app.execution.lanes import Ticket
from app.execution.process import WorkerProcess
from app.execution.queue import Queue


@dataclass(frozen=True, slots=True)
class Conversation:
    """One call, pickled, with everybody it concerns; a `Notices`."""

    call: bytes
    body: bytes | bytearray
    ticket: Ticket
    flight: Flight
    queue: Queue
    ask_above_s: float
    start: float
    longest_s: float

    async def hold(self, worker: WorkerProcess) -> Any:
        """Send the call, answer the questions, return the result or raise what came instead."""
        return await worker.call(self.call, self.body, self, self.ask_above_s)

    def deadline(self, seconds: float) -> None:
        """The body says when it wants to end."""
        self.ticket.ends_by = self.start + min(seconds, self.longest_s)
        self.flight.deadline(seconds)

    def plan(self, seconds: float) -> bool:
        """Whether a call that turns out long may run now."""
        return self.queue.plan(self.ticket, seconds)
