"""Who waits, who runs and who is next: the queue before the workers, without a clock, a process or a loop.

A call is a call, and goes through these states:

    NEW ──begin──────────► RUNNING ──stop(again=False)──► GONE
     └──wait──► WAITING ──begin──┘ │
                 │  ▲              └──stop(again=True)──► OFF, of its worker: put off, or the worker died
                 │  └──────────────────────wait────────────┘
                 └──leave──► GONE

It stands in one of two scheduler. SHORT: predicted to take at most `long_s`; so does every call whose body says
nothing yet, because only a worker that has decoded it knows better. LONG: everything above that. At most
`long_places` processes run long calls at a time, one less than there are, so that a short call never waits for a long
one: a stream of tests of 20 ms is not starved by one of a minute. A worker that finds out that a call is long asks
(`plan`): it runs on when a place is free, else it is parked in the long queue, and decoded again when its turn comes.
A call that turns out long without having said so counts as long from then on (`overran`).

`usual` processes run calls as long as no long one runs: where there is to be one worker, the second process is there only
for the short calls that would else wait behind a long one.

Within a queue the first to come is the first to run. An idle worker takes a long call when there is a place for one, so
that short ones do not starve the long ones either. Both lanes are bounded by `Bounds`, each by itself.
"""

from __future__ import annotations

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
    """How much may wait in a queue: calls, predicted seconds of work, and bytes of bodies."""

    depth: int
    seconds: float
    size: int


@dataclass(slots=True, eq=False)
class Call:
    """One call: what it is predicted to take, how large its body is, when it must have ended at the latest."""

    seconds: float
    size: int
    ends_by: float
    queue: QueueName = "short"
    state: State = "new"
    began: float = 0.0
    refused: Reason | None = None  # why it could not even be put off
    abandoned: bool = False  # nobody waits for it any more, but it still runs
    waiter: Any = field(default=None, repr=False)

    def left(self, now: float) -> float:
        """Predicted seconds that are still to be worked."""
        left = self.seconds - (now - self.began) if self.state == "running" else self.seconds
        return max(0.0, min(left, self.ends_by - now))


class Scheduler:
    """Two bounded lanes, and the calls that run."""

    def __init__(self, *, long_places: int, long_s: float, bounds: Bounds, usual: int | None = None) -> None:
        self.long_places = long_places
        self._usual = usual
        self.long_s = long_s
        self._bounds = bounds
        self._waiting: dict[QueueName, deque[Call]] = {queue: deque() for queue in QUEUES}
        self._running: set[Call] = set()

    # -- what others ask ----------------------------------------------------------------------------------

    def waiting(self, queue: QueueName | None = None) -> int:
        """How many wait, in a queue or in all."""
        return sum(len(self._waiting[each]) for each in QUEUES if queue in {None, each})

    def running(self, queue: QueueName | None = None) -> int:
        """How many run, of a queue or of all."""
        return sum(1 for call in self._running if queue in {None, call.queue})

    def pending_s(self, now: float, queue: QueueName | None = None) -> float:
        """Predicted seconds of work that waits or runs, in a queue or in all."""
        queues = QUEUES if queue is None else (queue,)
        waiting = sum(call.left(now) for each in queues for call in self._waiting[each])
        return waiting + sum(call.left(now) for call in self._running if call.queue in queues)

    def serving(self, queue: QueueName, processes: int) -> int:
        """How many of so many processes serve a queue now, at least one."""
        if queue == "long":
            return max(1, min(self.long_places, processes))
        return max(1, min(processes - self.running("long"), self._usual or processes))

    def refusal(self, call: Call, now: float) -> Reason | None:
        """Why a call may not wait in its queue, if it may not. Into an empty queue comes whatever is allowed at all."""
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
        """Whether an idle worker may take it before all that wait."""
        place = call.queue == "short" or self._place_for_long()
        return place and self._room() and not self._waiting[call.queue]

    def wait(self, call: Call, *, first: bool = False) -> None:
        """Stand at the end of the lane; `first` is for a call that had begun and lost its worker."""
        call.state = "waiting"
        line = self._waiting[call.queue]
        (line.appendleft if first else line.append)(call)

    def leave(self, call: Call) -> None:
        """Give up waiting; a call that runs has a worker, and is ended with it."""
        if call.state == "waiting":
            self._waiting[call.queue].remove(call)
        if call.state != "running":
            call.state = "gone"

    def next(self) -> Call | None:
        """The call that an idle worker takes now. It no longer waits."""
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
        """All that wait leave."""
        found = [call for queue in QUEUES for call in self._waiting[queue]]
        for call in found:
            self.leave(call)
        return found

    # -- running --------------------------------------------------------------------------------------------

    def begin(self, call: Call, now: float) -> None:
        """A worker has it."""
        call.state, call.began = "running", now
        self._running.add(call)

    def stop(self, call: Call, *, again: bool) -> None:
        """The worker no longer has it; `again` when it will come back for another."""
        self._running.discard(call)
        call.state = "off" if again else "gone"

    def plan(self, call: Call, seconds: float, now: float) -> Verdict:
        """A running call says what it will take from now on."""
        if call.queue == "short" and seconds <= self.long_s:
            return "go"
        place = call.queue == "long" or (self._place_for_long() and not self._waiting["long"])
        call.seconds, call.queue = now - call.began + seconds, "long"
        if place:
            return "go"
        call.refused = self.refusal(call, now)
        return "park" if call.refused is None else "refuse"

    def overran(self, now: float) -> list[Call]:
        """Running calls that were thought to be short and are not; they count as long from now on."""
        found = [
            call for call in self._running if call.queue == "short" and now - call.began > 2 * self.long_s
        ]
        for call in found:
            call.queue = "long"
        return found

    def _room(self) -> bool:
        return self._usual is None or len(self._running) < self._usual or self.running("long") > 0

    def _place_for_long(self) -> bool:
        return self.running("long") < self.long_places
