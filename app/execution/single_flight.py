"""Identical requests in flight share one computation; each keeps its own deadline, and may leave on its own.

A flight begins with the first who asks and is joined by all who ask the same before it has landed. Who leaves, at a
deadline or because the client has gone, takes nobody else along; the last to leave ends the computation.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Hashable
from typing import Any

from ..errors import DeadlineExceeded

Compute = Callable[["Flight"], Coroutine[Any, Any, Any]]
TOO_LATE = (
    "The deadline passed before the answer was ready. Ask for a larger timeout_s, or for a cheaper method "
    "(POST /v1/plan predicts what each one costs)."
)


class Flight:
    """One computation and those who wait for it."""

    def __init__(self) -> None:
        self.task: asyncio.Task[Any] | None = None
        self.ending = "disconnect"  # why the last one left
        self._passengers: dict[int, Callable[[float], None]] = {}
        self._numbers = itertools.count()
        self._asked_s: float | None = None

    def deadline(self, seconds: float) -> None:
        """The body asks for a deadline: it counts for each from its own start."""
        self._asked_s = seconds
        for set_deadline in tuple(self._passengers.values()):
            set_deadline(seconds)

    def board(self, set_deadline: Callable[[float], None]) -> int:
        """One more; returns its number."""
        if self._asked_s is not None:
            set_deadline(self._asked_s)
        number = next(self._numbers)
        self._passengers[number] = set_deadline
        return number

    def leave(self, number: int, ending: str) -> bool:
        """One less; whether that was the last."""
        del self._passengers[number]
        self.ending = ending
        return not self._passengers


class Flights:
    """All computations that somebody waits for, by key."""

    def __init__(self) -> None:
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
        """
        loop = asyncio.get_running_loop()
        start = loop.time()
        ending = "disconnect"
        try:
            async with asyncio.timeout_at(start + deadline_s) as limit:

                def set_deadline(seconds: float) -> None:
                    if not limit.expired():
                        limit.reschedule(start + min(seconds, longest_s))

                flight = self._flights.get(key)
                shared = flight is not None
                if flight is None:
                    flight = self._take_off(key, compute)
                number = flight.board(set_deadline)
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
            raise DeadlineExceeded(TOO_LATE) from error

    def _take_off(self, key: Hashable, compute: Compute) -> Flight:
        flight = Flight()
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
