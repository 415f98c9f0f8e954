"""How fast the queue drains: measured from the calls that ended, for `Retry-After` and for predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .scheduler import QueueName, Scheduler

MEMORY = 0.95  # exponential weight of the past per call: about twenty calls count
MAX_RETRY_AFTER_S = 600
FIRST_GUESS_S = 0.05
SPREAD_S = 60.0  # the retries of refused calls are spread over this time
MOST_OFF = 1000.0  # one call is not taken to say that predictions are further off, however it ended


@dataclass(slots=True)
class Speed:
    """Predicted seconds of work that one process completes per second; starts at 1, a perfect prediction."""

    predicted: float = 1.0
    took: float = 1.0

    def ended(self, predicted: float, took: float) -> None:
        """Record a call."""
        predicted = min(max(predicted, took / MOST_OFF), took * MOST_OFF)
        self.predicted = self.predicted * MEMORY + predicted
        self.took = self.took * MEMORY + took

    @property
    def value(self) -> float:
        """The speed."""
        return max(self.predicted, 1e-9) / max(self.took, 1e-9)


class Throughput:
    """The speed of each queue, and the usual duration of a call: the guess for those about which nothing is known.

    The guess is never above `long_s`, beyond which a call is long: one that was would be kept from the short queue, and the
    guess from ever learning better. It learns from every call, whichever queue it ended in, for the same reason.
    """

    def __init__(self, long_s: float) -> None:
        self._long_s = long_s
        self._speeds: dict[QueueName, Speed] = {"short": Speed(), "long": Speed()}
        self.usual_s = min(FIRST_GUESS_S, long_s)
        self._taken_until: dict[QueueName, float] = {"short": 0.0, "long": 0.0}

    def ended(self, queue: QueueName, predicted_s: float, took_s: float) -> None:
        """Record a call that ran to its end, or at least longer than predicted."""
        self._speeds[queue].ended(predicted_s, took_s)
        self.usual_s += (1 - MEMORY) * (min(took_s, self._long_s) - self.usual_s)

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
