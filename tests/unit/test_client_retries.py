from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from exactperm.client import (
    AsyncClient,
    Client,
    DeadlineExceeded,
    NoAnswer,
    Retries,
    ServiceFailed,
    Unavailable,
)
from exactperm.client.retries import retry_after

META = {"versions": {"service": "1", "algorithm": "1"}, "limits": {}, "tests": [], "methods": []}
TODAY = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
Step = httpx.Response | Exception


class World:
    """Answers in their turn, and a clock that only sleeping and answering move."""

    def __init__(self, *steps: Step, seconds_each: float = 0.0) -> None:
        self.steps: Iterator[Step] = iter(steps)
        self.seconds_each = seconds_each
        self.now = 100.0
        self.waits: list[float] = []
        self.asked = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        self.now += self.seconds_each
        step = next(self.steps)
        if isinstance(step, Exception):
            raise step
        return step

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def retries(self, *, chance: float = 0.0, **limits: float) -> Retries:
        return Retries(
            **limits,  # type: ignore[arg-type]
            clock=lambda: self.now,
            today=TODAY.timestamp,
            chance=lambda: chance,
        )

    def ask(self, *, chance: float = 0.0, **limits: float) -> None:
        transport = httpx.MockTransport(self)
        with Client(
            "http://test",
            transport=transport,
            retries=self.retries(chance=chance, **limits),
            sleep=self.sleep,
        ) as client:
            client.meta()


def busy(status: int = 503, after: str | None = None, body: bytes = b"") -> httpx.Response:
    return httpx.Response(status, content=body, headers={} if after is None else {"retry-after": after})


def ok() -> httpx.Response:
    return httpx.Response(200, json=META)


@pytest.mark.parametrize("status", [429, 503])
def test_seconds_of_retry_after_are_waited(status: int) -> None:
    world = World(busy(status, "7"), ok())
    world.ask()
    assert world.waits == [7.0]


def test_a_date_of_retry_after_is_waited_for() -> None:
    world = World(busy(after=format_datetime(TODAY + timedelta(seconds=30), usegmt=True)), ok())
    world.ask()
    assert world.waits == [30.0]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3", 3.0),
        (" 0 ", 0.0),
        (format_datetime(TODAY - timedelta(hours=1), usegmt=True), 0.0),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_nothing_else(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, TODAY.timestamp) == seconds


def test_retry_after_is_never_shortened_by_chance() -> None:
    world = World(busy(after="2"), ok())
    world.ask(chance=1.0)
    assert world.waits == [2.25]


def test_without_retry_after_waits_double_up_to_the_cap() -> None:
    world = World(*[busy() for _ in range(7)], ok())
    world.ask(chance=1.0, attempts=8)
    assert world.waits == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0]


def test_chance_takes_up_to_half_of_a_wait_away() -> None:
    world = World(busy(), busy(), ok())
    world.ask(chance=0.0)
    assert world.waits == [0.125, 0.25]


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("x"),
        httpx.ConnectTimeout("x"),
        httpx.ReadError("x"),
        httpx.RemoteProtocolError("x"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_lost_connection_is_tried_again(error: Exception) -> None:
    world = World(error, ok())
    world.ask()
    assert world.asked == 2


@pytest.mark.parametrize(
    "error", [httpx.ReadTimeout("x"), httpx.UnsupportedProtocol("x")], ids=["slow", "ftp"]
)
def test_other_errors_of_the_connection_are_not_tried_again(error: Exception) -> None:
    world = World(error)
    with pytest.raises(NoAnswer):
        world.ask()
    assert world.waits == []


@pytest.mark.parametrize("status", [500, 502, 504])
def test_a_fault_of_the_service_is_not_tried_again(status: int) -> None:
    world = World(busy(status, "1"))
    with pytest.raises(ServiceFailed):
        world.ask()
    assert world.asked == 1


def test_a_deadline_that_passed_is_not_tried_again() -> None:
    problem = b'{"type": "/docs/problems#deadline-exceeded"}'
    answer = httpx.Response(
        503, content=problem, headers={"retry-after": "1", "content-type": "application/problem+json"}
    )
    world = World(answer)
    with pytest.raises(DeadlineExceeded):
        world.ask()
    assert world.asked == 1


def test_the_last_refusal_is_what_is_raised_and_says_how_long_to_wait() -> None:
    world = World(*[busy(after="1") for _ in range(3)])
    with pytest.raises(Unavailable, match="Try again in 1 s") as caught:
        world.ask(attempts=3)
    assert caught.value.retry_after_s == 1.0
    assert (world.asked, world.waits) == (3, [1.0, 1.0])


def test_the_last_lost_connection_is_what_is_raised() -> None:
    world = World(*[httpx.ConnectError("x") for _ in range(2)])
    with pytest.raises(NoAnswer):
        world.ask(attempts=2)
    assert world.asked == 2


def test_no_wait_ends_after_the_budget() -> None:
    world = World(busy(after="61"))
    with pytest.raises(Unavailable):
        world.ask(budget_s=60.0)
    assert world.waits == []


def test_time_spent_on_answers_counts_towards_the_budget() -> None:
    world = World(busy(after="10"), busy(after="10"), busy(after="10"), seconds_each=15.0)
    with pytest.raises(Unavailable):
        world.ask(budget_s=60.0)
    assert (world.asked, world.waits) == (3, [10.0, 10.0])


def test_no_retries_means_one_attempt() -> None:
    world = World(busy(after="0"))
    transport = httpx.MockTransport(world)
    with (
        Client("http://test", transport=transport, retries=0, sleep=world.sleep) as client,
        pytest.raises(Unavailable),
    ):
        client.meta()
    assert world.asked == 1


def test_the_same_bytes_are_sent_again() -> None:
    bodies: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(request.content)
        return busy(after="0")

    with (
        Client(
            "http://test", transport=httpx.MockTransport(answer), retries=2, sleep=lambda _: None
        ) as client,
        pytest.raises(Unavailable),
    ):
        client.files(file=b"1,2\n")
    assert len(bodies) == 3
    assert len(set(bodies)) == 1


def test_the_asynchronous_client_waits_as_the_other_does() -> None:
    world = World(busy(after="3"), httpx.ConnectError("x"), ok())

    async def ask() -> None:
        async def sleep(seconds: float) -> None:
            world.sleep(seconds)

        transport = httpx.MockTransport(world)
        async with AsyncClient(
            "http://test", transport=transport, retries=world.retries(), sleep=sleep
        ) as client:
            await client.meta()

    asyncio.run(ask())
    assert world.waits == [3.0, 0.25]


@pytest.mark.parametrize(("asked", "allowed"), [(None, 75.0), (10.0, 75.0), (300.0, 315.0)])
def test_an_attempt_may_take_as_long_as_the_request_asks_for(asked: float | None, allowed: float) -> None:
    seen: list[dict[str, float]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.extensions["timeout"])
        return httpx.Response(500)

    options: dict[str, Any] = {} if asked is None else {"timeout_s": asked}
    with (
        Client("http://test", transport=httpx.MockTransport(answer), retries=0) as client,
        pytest.raises(ServiceFailed),
    ):
        client.scores([1], [2], **options)
    assert (seen[0]["read"], seen[0]["connect"]) == (allowed, 5.0)
