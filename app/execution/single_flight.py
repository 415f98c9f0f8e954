"""Identical requests in flight share one computation; each keeps its own deadline, and may leave on its own.

A flight begins with the first who asks and is joined by all who ask the same before it has landed. Who leaves, at a
deadline or because the client has gone, takes nobody else along; the last to leave ends the computation.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Callable, Coroutine, Hashable
from typing import Any

from ..errors import DeadlineExceeded
from .ipc import TooLong

Compute = Callable[["Flight"], Coroutine[Any, Any, Any]]
TOO_LATE = (
    "The deadline passed before the answer was ready. Ask for a larger timeout_s, or for a cheaper method "
    "(POST /v1/plan predicts what each one costs)."
)


class Passenger:
    """One who waits until a deadline of its own, which counts from its own start; leaves at once where that is hopeless."""

    def __init__(self, limit: asyncio.Timeout, start: float, deadline_s: float, longest_s: float) -> None:
        self.too_long: TooLong | None = None
        self._limit = limit
        self._start = start
        self._deadline_s = deadline_s
        self._longest_s = longest_s

    def deadline(self, seconds: float) -> None:
        """The body asks for another deadline."""
        self._deadline_s = min(seconds, self._longest_s)
        if not self._limit.expired():
            self._limit.reschedule(self._start + self._deadline_s)

    def stays(self, seconds: float, most_over_deadline: float) -> bool:
        """Whether it is worth waiting for so many seconds of work; if not, it leaves."""
        if seconds <= most_over_deadline * self._deadline_s:
            return True
        self.too_long = TooLong(seconds, self._deadline_s)
        if not self._limit.expired():
            self._limit.reschedule(self._start)
        return False


class Flight:
    """One computation and those who wait for it."""

    def __init__(self, most_over_deadline: float = math.inf) -> None:
        self.task: asyncio.Task[Any] | None = None
        self.ending = "disconnect"  # why the last one left
        self._most_over_deadline = most_over_deadline
        self._passengers: dict[int, Passenger] = {}
        self._numbers = itertools.count()
        self._asked_s: float | None = None
        self._planned_s = 0.0

    def deadline(self, seconds: float) -> None:
        """The body asks for a deadline: it counts for each from its own start."""
        self._asked_s = seconds
        for passenger in tuple(self._passengers.values()):
            passenger.deadline(seconds)

    def plan(self, seconds: float) -> bool:
        """It is predicted to take so long; whether anybody goes on waiting for it."""
        self._planned_s = seconds
        passengers = tuple(self._passengers.values())
        staying = [passenger.stays(seconds, self._most_over_deadline) for passenger in passengers]
        return any(staying)

    def board(self, passenger: Passenger) -> int:
        """One more; returns its number."""
        if self._asked_s is not None:
            passenger.deadline(self._asked_s)
        passenger.stays(self._planned_s, self._most_over_deadline)
        number = next(self._numbers)
        self._passengers[number] = passenger
        return number

    def leave(self, number: int, ending: str) -> bool:
        """One less; whether that was the last."""
        del self._passengers[number]
        self.ending = ending
        return not self._passengers


class Flights:
    """All computations that somebody waits for, by key."""

    def __init__(self, most_over_deadline: float = math.inf) -> None:
        self._most_over_deadline = most_over_deadline
        self._flights: dict[Hashable, Flight] = {}

    def __contains__(self, key: Hashable) -> bool:
        """Whether one of this key is under way."""
        return key in self._flights

    async def join(
        self, key: Hashable, compute: Compute, deadline_s: float, longest_s: float
    ) -> tuple[Any, bool]:
        """The result of `compute`, and whether somebody else had begun it; raises what it raised.

        The deadline counts from now; the body may ask for another, but for none beyond `longest_s`.

        Raises
        ------
            DeadlineExceeded: the result was not there in time.
            TooLong: it is predicted to take more than `most_over_deadline` times as long as there is.
        """
        loop = asyncio.get_running_loop()
        start = loop.time()
        ending = "disconnect"
        passenger: Passenger | None = None
        try:
            async with asyncio.timeout_at(start + deadline_s) as limit:
                passenger = Passenger(limit, start, deadline_s, longest_s)
                flight = self._flights.get(key)
                shared = flight is not None
                if flight is None:
                    flight = self._take_off(key, compute)
                number = flight.board(passenger)
                assert flight.task is not None
                try:
                    return await asyncio.shield(flight.task), shared
                finally:
                    ending = "deadline" if limit.expired() else "disconnect"
                    if flight.leave(number, ending):
                        self._forget(key, flight)  # nobody boards what is being cancelled
                        flight.task.cancel()
                        await asyncio.wait({flight.task})  # it only lets go; when this is over, nothing waits
        except TimeoutError as error:
            if passenger is not None and passenger.too_long is not None:
                raise passenger.too_long from error
            raise DeadlineExceeded(TOO_LATE) from error

    def _take_off(self, key: Hashable, compute: Compute) -> Flight:
        flight = Flight(self._most_over_deadline)
        self._flights[key] = flight
        flight.task = asyncio.get_running_loop().create_task(compute(flight))
        # From the moment there is a result nobody else comes aboard; an error that nobody waits for is nobody's.
        flight.task.add_done_callback(lambda task: self._landed(key, flight, task))
        return flight

    def _landed(self, key: Hashable, flight: Flight, task: asyncio.Task[Any]) -> None:
        self._forget(key, flight)
        if not task.cancelled():
            task.exception()

    def _forget(self, key: Hashable, flight: Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
