"""Identical requests in flight share one computation, each with its own deadline; and answers are cached.

The first caller starts the computation; identical callers join until it has a result. A waiter that times out or
disconnects does not affect the others; the last one cancels the computation.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..errors import DeadlineExceeded
from .ipc import TooLong

Value = TypeVar("Value")
OVERHEAD_BYTES = 1_000  # per entry: key, headers, objects


@dataclass(frozen=True, slots=True)
class Entry(Generic[Value]):
    """An answer, its size in bytes, and when it was stored."""

    value: Value
    size: int
    at: float


class Cache(Generic[Value]):
    """Keys are digests of whole requests. Entries never expire, because equal requests have equal answers."""

    def __init__(self, max_bytes: int, max_entries: int) -> None:
        self._max_bytes = max_bytes
        self._max_entries = max_entries
        self._entries: OrderedDict[bytes, Entry[Value]] = OrderedDict()
        self.size = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def on(self) -> bool:
        """Whether anything is cached at all."""
        return self._max_bytes > 0 and self._max_entries > 0

    def get(self, key: bytes) -> Entry[Value] | None:
        """Return the entry of a request, or None; it becomes the most recently used."""
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def put(self, key: bytes, value: Value, size: int, now: float) -> None:
        """Store an answer of `size` bytes, unless it is larger than an eighth of the cache."""
        size += OVERHEAD_BYTES
        if not self.on or size > self._max_bytes // 8 or key in self._entries:
            return
        self._entries[key] = Entry(value, size, now)
        self.size += size
        while self.size > self._max_bytes or len(self._entries) > self._max_entries:
            _, oldest = self._entries.popitem(last=False)
            self.size -= oldest.size


Compute = Callable[["Flight"], Coroutine[Any, Any, Any]]
TOO_LATE = (
    "The deadline passed before the answer was ready. Set a larger timeout_s, or choose a cheaper method "
    "(POST /v1/plan predicts what each method costs)."
)


class Waiter:
    """A caller with a deadline, counted from its start; it leaves at once if the deadline cannot be met."""

    def __init__(self, limit: asyncio.Timeout, start: float, deadline_s: float, longest_s: float) -> None:
        self.too_long: TooLong | None = None
        self._limit = limit
        self._start = start
        self._deadline_s = deadline_s
        self._longest_s = longest_s

    def deadline(self, seconds: float) -> None:
        """Set another deadline from the body."""
        self._deadline_s = min(seconds, self._longest_s)
        if not self._limit.expired():
            self._limit.reschedule(self._start + self._deadline_s)

    def stays(self, seconds: float, most_over_deadline: float) -> bool:
        """Return whether to keep waiting for `seconds` of work; if not, the waiter leaves."""
        if seconds <= most_over_deadline * self._deadline_s:
            return True
        self.too_long = TooLong(seconds, self._deadline_s)
        if not self._limit.expired():
            self._limit.reschedule(self._start)
        return False


class Flight:
    """One computation and its waiters."""

    def __init__(self, most_over_deadline: float = math.inf) -> None:
        self.task: asyncio.Task[Any] | None = None
        self.ending = "disconnect"  # why the last waiter left
        self._most_over_deadline = most_over_deadline
        self._waiters: dict[int, Waiter] = {}
        self._numbers = itertools.count()
        self._deadline_s: float | None = None
        self._planned_s = 0.0

    def deadline(self, seconds: float) -> None:
        """Set a deadline from the body, which counts for each waiter from its start."""
        self._deadline_s = seconds
        for waiter in tuple(self._waiters.values()):
            waiter.deadline(seconds)

    def plan(self, seconds: float) -> bool:
        """Note that the computation is predicted to take `seconds`; return whether any waiter stays."""
        self._planned_s = seconds
        waiters = tuple(self._waiters.values())
        staying = [waiter.stays(seconds, self._most_over_deadline) for waiter in waiters]
        return any(staying)

    def join(self, waiter: Waiter) -> int:
        """Add a waiter; return its number."""
        if self._deadline_s is not None:
            waiter.deadline(self._deadline_s)
        waiter.stays(self._planned_s, self._most_over_deadline)
        number = next(self._numbers)
        self._waiters[number] = waiter
        return number

    def leave(self, number: int, ending: str) -> bool:
        """Remove a waiter; return whether it was the last."""
        del self._waiters[number]
        self.ending = ending
        return not self._waiters


class SingleFlight:
    """All computations in flight, by key."""

    def __init__(self, most_over_deadline: float = math.inf) -> None:
        self._most_over_deadline = most_over_deadline
        self._flights: dict[Hashable, Flight] = {}

    def __contains__(self, key: Hashable) -> bool:
        """Return whether a computation with this key is in flight."""
        return key in self._flights

    async def join(
        self, key: Hashable, compute: Compute, deadline_s: float, longest_s: float
    ) -> tuple[Any, bool]:
        """Return the result of `compute`, and whether it was shared with an earlier caller; re-raise its error.

        The deadline counts from now; the body may set another one, up to `longest_s`.

        Raises
        ------
            DeadlineExceeded: the deadline passed.
            TooLong: it is predicted to take more than `most_over_deadline` times the deadline.
        """
        loop = asyncio.get_running_loop()
        start = loop.time()
        ending = "disconnect"
        waiter: Waiter | None = None
        try:
            async with asyncio.timeout_at(start + deadline_s) as limit:
                waiter = Waiter(limit, start, deadline_s, longest_s)
                flight = self._flights.get(key)
                shared = flight is not None
                if flight is None:
                    flight = self._start(key, compute)
                number = flight.join(waiter)
                assert flight.task is not None
                try:
                    return await asyncio.shield(flight.task), shared
                finally:
                    ending = "deadline" if limit.expired() else "disconnect"
                    if flight.leave(number, ending):
                        self._forget(key, flight)  # nobody may join a cancelled computation
                        flight.task.cancel()
                        await asyncio.wait(
                            {flight.task}
                        )  # cancelled quickly, so that nothing is left waiting
        except TimeoutError as error:
            if waiter is not None and waiter.too_long is not None:
                raise waiter.too_long from error
            raise DeadlineExceeded(TOO_LATE) from error

    def _start(self, key: Hashable, compute: Compute) -> Flight:
        flight = Flight(self._most_over_deadline)
        self._flights[key] = flight
        flight.task = asyncio.get_running_loop().create_task(compute(flight))
        # Nobody can join once there is a result; an unawaited error is dropped.
        flight.task.add_done_callback(lambda task: self._ended(key, flight, task))
        return flight

    def _ended(self, key: Hashable, flight: Flight, task: asyncio.Task[Any]) -> None:
        self._forget(key, flight)
        if not task.cancelled():
            task.exception()

    def _forget(self, key: Hashable, flight: Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
