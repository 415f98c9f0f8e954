"""Decides which calls wait, run and come next. Pure: no clock, no process, no event loop.

A call goes through these states:

    NEW ──begin──────────► RUNNING ──stop(again=False)──► GONE
     └──wait──► WAITING ──begin──┘ │
                 │  ▲              └──stop(again=True)──► OFF its worker: parked, or the worker died
                 │  └──────────────────────wait────────────┘
                 └──leave──► GONE

There are two queues. SHORT is for calls predicted to take at most `long_s`, and for calls whose body has not been decoded
yet, because only then is their cost known. LONG is for all others. At most `long_places` processes run long calls at a
time, one fewer than there are, so that short calls never wait for a long one: a stream of 20 ms tests is not starved by
a test of a minute. A worker that finds that a call is long asks (`plan`): the call continues if a long place is free, or
is parked in the long queue and decoded again later. A running call that takes long unannounced counts as long from then
on (`overran`), and has to ask like others if it then finds that the rest takes long.

While no long call runs, at most `usual` processes are used: with one configured worker, the second process serves only
short calls that would otherwise wait behind a long one.

Each queue is first in, first out. An idle worker prefers a long call when a long place is free, so that short calls do
not starve long ones. `Bounds` applies to each queue by itself.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal

QueueName = Literal["short", "long"]
State = Literal["new", "waiting", "running", "off", "gone"]
Reason = Literal["queue_depth", "queue_seconds", "queue_bytes"]
Verdict = Literal["go", "park", "refuse"]
QUEUES: tuple[QueueName, ...] = ("short", "long")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a queue: calls, predicted seconds of work, and bytes of bodies."""

    depth: int
    seconds: float
    size: int


@dataclass(slots=True, eq=False)
class Call:
    """One call: predicted seconds, bytes of its body, and the time by which it must have ended."""

    seconds: float
    size: int
    ends_by: float
    queue: QueueName = "short"
    state: State = "new"
    began: float = 0.0
    unannounced: bool = False  # it counts as long, but was never granted a long place
    refused: Reason | None = None  # why it could not be parked
    abandoned: bool = False  # nobody waits for it, but it still runs
    waiter: Any = field(default=None, repr=False)

    def left(self, now: float) -> float:
        """Return the predicted seconds that remain."""
        left = self.seconds - (now - self.began) if self.state == "running" else self.seconds
        return max(0.0, min(left, self.ends_by - now))


class Scheduler:
    """Two bounded queues, and the running calls."""

    def __init__(self, *, long_places: int, long_s: float, bounds: Bounds, usual: int | None = None) -> None:
        self.long_places = long_places
        self._usual = usual
        self.long_s = long_s
        self._bounds = bounds
        self._waiting: dict[QueueName, deque[Call]] = {queue: deque() for queue in QUEUES}
        self._running: set[Call] = set()

    # -- state ----------------------------------------------------------------------------------

    def waiting(self, queue: QueueName | None = None) -> int:
        """Count the calls that wait, in one queue or in both."""
        return sum(len(self._waiting[each]) for each in QUEUES if queue in {None, each})

    def running(self, queue: QueueName | None = None) -> int:
        """Count the calls that run, of one queue or of both."""
        return sum(1 for call in self._running if queue in {None, call.queue})

    def pending_s(self, now: float, queue: QueueName | None = None) -> float:
        """Sum the predicted seconds of the calls that wait or run, in one queue or in both."""
        queues = QUEUES if queue is None else (queue,)
        waiting = sum(call.left(now) for each in queues for call in self._waiting[each])
        return waiting + sum(call.left(now) for call in self._running if call.queue in queues)

    def serving(self, queue: QueueName, processes: int) -> int:
        """Return how many of `processes` serve a queue now; at least one."""
        if queue == "long":
            return max(1, min(self.long_places, processes))
        return max(1, min(processes - self.running("long"), self._usual or processes))

    def refusal(self, call: Call, now: float) -> Reason | None:
        """Return the bound that keeps this call out of its queue, or None. An empty queue accepts any call."""
        line, bounds = self._waiting[call.queue], self._bounds
        if len(line) >= bounds.depth:
            return "queue_depth"
        if line and sum(other.left(now) for other in line) + call.left(now) > bounds.seconds:
            return "queue_seconds"
        if line and sum(other.size for other in line) + call.size > bounds.size:
            return "queue_bytes"
        return None

    # -- arriving, waiting, leaving -------------------------------------------------------------------------

    def enter(self, call: Call) -> None:
        """Choose the queue of a new call."""
        call.queue = "long" if call.seconds > self.long_s else "short"

    def may_begin(self, call: Call) -> bool:
        """Return whether an idle worker may take this call before all waiting ones."""
        allowed = call.queue == "short" or self._place_for_long()
        return allowed and self._room() and not self._waiting[call.queue]

    def wait(self, call: Call, *, first: bool = False) -> None:
        """Append a call to its queue; `first` puts a call that lost its worker at the front."""
        call.state = "waiting"
        line = self._waiting[call.queue]
        (line.appendleft if first else line.append)(call)

    def leave(self, call: Call) -> None:
        """Remove a waiting call; a running one ends with its worker."""
        if call.state == "waiting":
            self._waiting[call.queue].remove(call)
        if call.state != "running":
            call.state = "gone"

    def next(self) -> Call | None:
        """Remove and return the call that an idle worker takes now; None if there is none."""
        if not self._room():
            return None
        queues: tuple[QueueName, ...] = ("long", "short") if self._place_for_long() else ("short",)
        for queue in queues:
            if self._waiting[queue]:
                call = self._waiting[queue].popleft()
                call.state = "off"
                return call
        return None

    def clear(self) -> list[Call]:
        """Remove all waiting calls, and return them."""
        calls = [call for queue in QUEUES for call in self._waiting[queue]]
        for call in calls:
            self.leave(call)
        return calls

    # -- running --------------------------------------------------------------------------------------------

    def begin(self, call: Call, now: float) -> None:
        """Note that a worker runs the call."""
        call.state, call.began = "running", now
        self._running.add(call)

    def stop(self, call: Call, *, again: bool) -> None:
        """Note that the call left its worker; `again` if it needs another."""
        self._running.discard(call)
        call.unannounced = False
        call.state = "off" if again else "gone"

    def plan(self, call: Call, seconds: float, now: float) -> Verdict:
        """Decide about a running call that is predicted to take `seconds` more."""
        if seconds <= self.long_s and (call.queue == "short" or call.unannounced):
            return "go"
        placed = call.queue == "long" and not call.unannounced
        others = self.running("long") - call.unannounced
        may_run = placed or (others < self.long_places and not self._waiting["long"])
        call.seconds, call.queue, call.unannounced = now - call.began + seconds, "long", False
        if may_run:
            return "go"
        call.refused = self.refusal(call, now)
        return "park" if call.refused is None else "refuse"

    def overran(self, now: float) -> list[Call]:
        """Return the running calls that take longer than predicted; they count as long from now on."""
        calls = [
            call for call in self._running if call.queue == "short" and now - call.began > 2 * self.long_s
        ]
        for call in calls:
            call.queue, call.unannounced = "long", True
        return calls

    def _room(self) -> bool:
        return self._usual is None or len(self._running) < self._usual or self.running("long") > 0

    def _place_for_long(self) -> bool:
        return self.running("long") < self.long_places


MEMORY = 0.95  # exponential weight of the past per call: about twenty calls count
MAX_RETRY_AFTER_S = 600
FIRST_GUESS_S = 0.05
SPREAD_S = 60.0  # retries of refused calls are spread over this time
MOST_OFF = 1000.0  # limit of the influence of a single call


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
    """The speed of each queue, and the usual duration of a call, the guess for unknown calls.

    The guess is never above `long_s`, because it would then keep calls from the short queue and never learn better.
    For the same reason it learns from the calls of both queues.
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
        """Return the predicted seconds of work that leave a queue per second."""
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
        """Return whole seconds until the pending calls of a queue, and those refused before this one, can have run.

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
