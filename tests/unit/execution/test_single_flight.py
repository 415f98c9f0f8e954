"""Identical calls share one computation; deadlines and departures stay everybody's own. No processes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from exactperm.errors import DeadlineExceeded, InvalidTest
from exactperm.execution.shared_answers import Flight, SingleFlight

LONG_S = 1000.0


class Work:
    """A computation that ends when told to, and counts."""

    def __init__(self) -> None:
        self.begun = 0
        self.cancelled = 0
        self.end = asyncio.Event()
        self.flight: Flight | None = None

    async def __call__(self, flight: Flight) -> str:
        self.begun += 1
        self.flight = flight
        try:
            await self.end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return f"answer {self.begun}"


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(180):
            await scenario()

    asyncio.run(bounded())


async def begun(work: Work) -> None:
    while not work.begun:  # noqa: ASYNC110  (a turn of the loop, no time)
        await asyncio.sleep(0)
    await asyncio.sleep(0)


def asking(
    single_flight: SingleFlight, work: Any, key: str = "key", deadline_s: float = LONG_S
) -> asyncio.Task[Any]:
    return asyncio.ensure_future(single_flight.join(key, work, deadline_s, LONG_S))


def test_a_herd_computes_once_and_all_but_the_first_are_told() -> None:
    async def scenario() -> None:
        single_flight, work = SingleFlight(), Work()
        herd = [asking(single_flight, work) for _ in range(50)]
        await begun(work)
        work.end.set()
        assert await asyncio.gather(*herd) == [("answer 1", False), *[("answer 1", True)] * 49]

    run(scenario)


def test_other_keys_and_later_calls_compute_for_themselves() -> None:
    async def scenario() -> None:
        single_flight, work = SingleFlight(), Work()
        work.end.set()
        assert await asking(single_flight, work, "a") == ("answer 1", False)
        assert await asking(single_flight, work, "a") == ("answer 2", False)
        assert await asking(single_flight, work, "b") == ("answer 3", False)

    run(scenario)


def test_who_leaves_takes_nobody_along_and_the_last_ends_the_work() -> None:
    async def scenario() -> None:
        single_flight, work = SingleFlight(), Work()
        herd = [asking(single_flight, work) for _ in range(3)]
        await begun(work)
        herd[0].cancel()
        herd[1].cancel()
        await asyncio.gather(*herd[:2], return_exceptions=True)
        assert work.cancelled == 0
        herd[2].cancel()
        await asyncio.gather(herd[2], return_exceptions=True)
        assert work.cancelled == 1
        assert work.flight is not None
        assert work.flight.ending == "disconnect"

    run(scenario)


def test_a_deadline_is_everybodys_own() -> None:
    async def scenario() -> None:
        single_flight, work = SingleFlight(), Work()
        patient = asking(single_flight, work)
        hasty = asking(single_flight, work, deadline_s=0.02)
        with pytest.raises(DeadlineExceeded):
            await hasty
        assert work.cancelled == 0
        work.end.set()
        assert await patient == ("answer 1", False)

    run(scenario)


def test_the_last_deadline_ends_the_work_and_says_why() -> None:
    async def scenario() -> None:
        single_flight, work = SingleFlight(), Work()
        with pytest.raises(DeadlineExceeded):
            await asking(single_flight, work, deadline_s=0.02)
        assert work.cancelled == 1
        assert work.flight is not None
        assert work.flight.ending == "deadline"

    run(scenario)


def test_a_deadline_in_the_body_counts_for_those_who_come_later_too() -> None:
    async def scenario() -> None:
        single_flight, work = SingleFlight(), Work()
        first = asking(single_flight, work)
        await begun(work)
        assert work.flight is not None
        work.flight.deadline(0.02)
        with pytest.raises(DeadlineExceeded):
            await first

        work = Work()
        first = asking(single_flight, work)
        await begun(work)
        assert work.flight is not None
        work.flight.deadline(0.05)
        second = asking(single_flight, work)
        for call in (first, second):
            with pytest.raises(DeadlineExceeded):
                await call

    run(scenario)


def test_who_comes_while_a_flight_is_being_cancelled_gets_one_of_its_own() -> None:
    async def scenario() -> None:
        single_flight, work = SingleFlight(), Work()
        first = asking(single_flight, work)
        await begun(work)
        first.cancel()
        second = asking(single_flight, work)
        work.end.set()
        assert await second == ("answer 2", False)
        await asyncio.gather(first, return_exceptions=True)

    run(scenario)


def test_an_error_is_everybodys() -> None:
    async def scenario() -> None:
        async def fails(flight: Flight) -> str:
            await asyncio.sleep(0)
            raise InvalidTest("no")

        single_flight = SingleFlight()
        results = await asyncio.gather(
            *(asking(single_flight, fails) for _ in range(3)), return_exceptions=True
        )
        assert [type(result) for result in results] == [InvalidTest] * 3

    run(scenario)
