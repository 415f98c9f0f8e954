"""Who waits, who runs and who is next: the queue before the workers, without a clock, a process or a loop.

A call is a ticket, and goes through these states:

    NEW ──begin──────────► RUNNING ──stop(again=False)──► GONE
     └──wait──► WAITING ──begin──┘ │
                 │  ▲              └──stop(again=True)──► OFF, of its worker: put off, or the worker died
                 │  └──────────────────────wait────────────┘
                 └──leave──► GONE

It stands in one of two lanes. SHORT: predicted to take at most `long_s`; so does every call whose body says
nothing yet, because only a worker that has decoded it knows better. LONG: everything above that. At most
`long_places` processes run long calls at a time, one less than there are, so that a short call never waits for a long
one: a stream of tests of 20 ms is not starved by one of a minute. A worker that finds out that a call is long asks
(`plan`): it runs on when a place is free, else it is parked in the long lane, and decoded again when its turn comes.
A call that turns out long without having said so counts as long from then on (`overran`).

`usual` processes run calls as long as no long one runs: where there is to be one worker, the second process is there only
for the short calls that would else wait behind a long one.

Within a lane the first to come is the first to run. An idle worker takes a long call when there is a place for one, so
that short ones do not starve the long ones either. Both lanes are bounded by `Bounds`, each by itself.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal

Lane = Literal["short", "long"]
State = Literal["new", "waiting", "running", "off", "gone"]
Reason = Literal["queue_depth", "queue_seconds", "queue_bytes"]
Verdict = Literal["go", "park", "refuse"]
LANES: tuple[Lane, ...] = ("short", "long")


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may wait in a lane: calls, predicted seconds of work, and bytes of bodies."""

    depth: int
    seconds: float
    size: int


@dataclass(slots=True, eq=False)
class Ticket:
    """One call: what it is predicted to take, how large its body is, when it must have ended at the latest."""

    seconds: float
    size: int
    ends_by: float
    lane: Lane = "short"
    state: State = "new"
    began: float = 0.0
    refused: Reason | None = None  # why it could not even be put off
    abandoned: bool = False  # nobody waits for it any more, but it still runs
    waiter: Any = field(default=None, repr=False)

    def left(self, now: float) -> float:
        """Predicted seconds that are still to be worked."""
        left = self.seconds - (now - self.began) if self.state == "running" else self.seconds
        return max(0.0, min(left, self.ends_by - now))


class Lanes:
    """Two bounded lanes, and the calls that run."""

    def __init__(self, *, long_places: int, long_s: float, bounds: Bounds, usual: int | None = None) -> None:
        self.long_places = long_places
        self._usual = usual
        self.long_s = long_s
        self._bounds = bounds
        self._waiting: dict[Lane, deque[Ticket]] = {lane: deque() for lane in LANES}
        self._running: set[Ticket] = set()

    # -- what others ask ----------------------------------------------------------------------------------

    def waiting(self, lane: Lane | None = None) -> int:
        """How many wait, in a lane or in all."""
        return sum(len(self._waiting[each]) for each in LANES if lane in {None, each})

    def running(self, lane: Lane | None = None) -> int:
        """How many run, of a lane or of all."""
        return sum(1 for ticket in self._running if lane in {None, ticket.lane})

    def pending_s(self, now: float, lane: Lane | None = None) -> float:
        """Predicted seconds of work that waits or runs, in a lane or in all."""
        lanes = LANES if lane is None else (lane,)
        waiting = sum(ticket.left(now) for each in lanes for ticket in self._waiting[each])
        return waiting + sum(ticket.left(now) for ticket in self._running if ticket.lane in lanes)

    def serving(self, lane: Lane, processes: int) -> int:
        """How many of so many processes serve a lane now, at least one."""
        if lane == "long":
            return max(1, min(self.long_places, processes))
        return max(1, min(processes - self.running("long"), self._usual or processes))

    def refusal(self, ticket: Ticket, now: float) -> Reason | None:
        """Why a call may not wait in its lane, if it may not. Into an empty lane comes whatever is allowed at all."""
        line, bounds = self._waiting[ticket.lane], self._bounds
        if len(line) >= bounds.depth:
            return "queue_depth"
        if line and sum(other.left(now) for other in line) + ticket.left(now) > bounds.seconds:
            return "queue_seconds"
        if line and sum(other.size for other in line) + ticket.size > bounds.size:
            return "queue_bytes"
        return None

    # -- arriving, waiting, leaving -------------------------------------------------------------------------

    def enter(self, ticket: Ticket) -> None:
        """Choose the lane of a new call."""
        ticket.lane = "long" if ticket.seconds > self.long_s else "short"

    def may_begin(self, ticket: Ticket) -> bool:
        """Whether an idle worker may take it before all that wait."""
        place = ticket.lane == "short" or self._place_for_long()
        return place and self._room() and not self._waiting[ticket.lane]

    def wait(self, ticket: Ticket, *, first: bool = False) -> None:
        """Stand at the end of the lane; `first` is for a call that had begun and lost its worker."""
        ticket.state = "waiting"
        line = self._waiting[ticket.lane]
        (line.appendleft if first else line.append)(ticket)

    def leave(self, ticket: Ticket) -> None:
        """Give up waiting; a call that runs has a worker, and is ended with it."""
        if ticket.state == "waiting":
            self._waiting[ticket.lane].remove(ticket)
        if ticket.state != "running":
            ticket.state = "gone"

    def next(self) -> Ticket | None:
        """The call that an idle worker takes now. It no longer waits."""
        if not self._room():
            return None
        lanes: tuple[Lane, ...] = ("long", "short") if self._place_for_long() else ("short",)
        for lane in lanes:
            if self._waiting[lane]:
                ticket = self._waiting[lane].popleft()
                ticket.state = "off"
                return ticket
        return None

    def clear(self) -> list[Ticket]:
        """All that wait leave."""
        found = [ticket for lane in LANES for ticket in self._waiting[lane]]
        for ticket in found:
            self.leave(ticket)
        return found

    # -- running --------------------------------------------------------------------------------------------

    def begin(self, ticket: Ticket, now: float) -> None:
        """A worker has it."""
        ticket.state, ticket.began = "running", now
        self._running.add(ticket)

    def stop(self, ticket: Ticket, *, again: bool) -> None:
        """The worker no longer has it; `again` when it will come back for another."""
        self._running.discard(ticket)
        ticket.state = "off" if again else "gone"

    def plan(self, ticket: Ticket, seconds: float, now: float) -> Verdict:
        """A running call says what it will take from now on."""
        if ticket.lane == "short" and seconds <= self.long_s:
            return "go"
        place = ticket.lane == "long" or (self._place_for_long() and not self._waiting["long"])
        ticket.seconds, ticket.lane = now - ticket.began + seconds, "long"
        if place:
            return "go"
        ticket.refused = self.refusal(ticket, now)
        return "park" if ticket.refused is None else "refuse"

    def overran(self, now: float) -> list[Ticket]:
        """Running calls that were thought to be short and are not; they count as long from now on."""
        found = [
            ticket
            for ticket in self._running
            if ticket.lane == "short" and now - ticket.began > 2 * self.long_s
        ]
        for ticket in found:
            ticket.lane = "long"
        return found

    def _room(self) -> bool:
        return self._usual is None or len(self._running) < self._usual or self.running("long") > 0

    def _place_for_long(self) -> bool:
        return self.running("long") < self.long_places
