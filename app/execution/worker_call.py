"""One call on its way to a worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .dispatcher import Dispatcher
from .process import WorkerProcess
from .scheduler import Call
from .single_flight import Flight


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
