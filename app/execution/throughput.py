"""How fast the queue drains: measured from the calls that ended, for `Retry-After` and for predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .scheduler import QueueName, Scheduler

MEMORY = 0.95  # exponential weight of the past per call: about twenty calls count
MAX_RETRY_AFTER_S = 600
FIRST_GUESS_S = 0.05
SPREAD_S = 60.0  # the retries of refused calls are spread over this time


@dataclass(slots=True)
class Speed:
    """Predicted seconds of work that one process completes per second; starts at 1, a perfect prediction."""

    predicted: float = 1.0
    took: float = 1.0

    def ended(self, predicted: float, took: float) -> None:
        """Record a call."""
        self.predicted = self.predicted * MEMORY + predicted
        self.took = self.took * MEMORY + took

    @property
    def value(self) -> float:
        """The speed."""
        return self.predicted / max(self.took, 1e-9)


class Throughput:
    """The speed of each queue, and the usual duration of a short call."""

    def __init__(self) -> None:
        self._speeds: dict[QueueName, Speed] = {"short": Speed(), "long": Speed()}
        self.usual_s = FIRST_GUESS_S
        self._taken_until: dict[QueueName, float] = {"short": 0.0, "long": 0.0}

    def ended(self, queue: QueueName, predicted_s: float, took_s: float) -> None:
        """Record a call that ran to its end."""
        self._speeds[queue].ended(predicted_s, took_s)
        if queue == "short":
            self.usual_s = MEMORY * self.usual_s + (1 - MEMORY) * took_s

    def drain_rate(self, queue: QueueName, processes: int) -> float:
        """Predicted seconds of work that leave a queue per second."""
        return self._speeds[queue].value * processes

    def retry_after_s(
        self,
        scheduler: Scheduler,
        queue: QueueName,
        processes: int,
        now: float,
        least_s: int,
        seconds: float = 0.0,
    ) -> int:
        """Whole seconds until the pending calls of a queue, and those refused before this one, could have run.

        Each refused call of `seconds` is scheduled behind the previous one, so that not all retry at once and most
        find room. After `SPREAD_S` the schedule starts again.
        """
        rate = self.drain_rate(queue, scheduler.serving(queue, processes))
        drained = now + scheduler.pending_s(now, queue) / rate
        begin = max(drained, self._taken_until[queue])
        if begin > drained + SPREAD_S:
            begin = drained
        if seconds:
            self._taken_until[queue] = begin + seconds / rate
        return max(least_s, min(math.ceil(begin - now), MAX_RETRY_AFTER_S))
