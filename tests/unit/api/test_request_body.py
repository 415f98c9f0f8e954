from __future__ import annotations

import asyncio
from typing import Any

import pytest

from exactperm.api.bodies import SENDING_BYTES, SMALL_BYTES, ByteBudget, receive_body
from exactperm.errors import Overloaded
from exactperm.service.messages import RenderedResponse

LARGE = SMALL_BYTES + 1


def received(budget: ByteBudget, size: int) -> int:
    """Receive a body of so many bytes; how much the room held when it was there."""

    async def receive() -> Any:
        return {"type": "http.request", "body": b"x" * size}

    with budget.reserve() as reservation:
        assert len(asyncio.run(receive_body(receive, None, 10**9, reservation))) == size
        return budget.held


def test_a_large_body_beside_others_is_refused_when_there_is_no_room_and_a_small_one_never() -> None:
    refusals: list[str] = []
    budget = ByteBudget(2 * LARGE, lambda: refusals.append("bodies_bytes"))
    with budget.reserve() as other:
        budget.take(other, LARGE + 1)
        with pytest.raises(Overloaded):
            received(budget, LARGE)
        assert refusals == ["bodies_bytes"]
        assert budget.held == LARGE + 1  # what was refused is held no more
        assert received(budget, SMALL_BYTES) == LARGE + 1 + SMALL_BYTES
    assert budget.held == 0
    assert received(budget, LARGE) == LARGE
    assert budget.held == 0


def test_a_body_that_is_alone_has_all_the_room_it_needs() -> None:
    assert received(ByteBudget(1), 10 * LARGE) == 10 * LARGE


def answer_of(size: int) -> RenderedResponse:
    return RenderedResponse(200, (), bytes(size - 10), own=b"x" * 5, after=b"y" * 5)


def test_an_answer_takes_the_place_of_its_body_until_it_is_written() -> None:
    budget = ByteBudget(10**9)
    with budget.reserve() as reservation:
        budget.take(reservation, 7 * LARGE)
        budget.answer(reservation, answer_of(1_000))
        assert budget.held == 1_000
        reservation.leave()
        assert budget.held == 0
    assert budget.held == 0


def test_an_answer_that_many_are_sent_is_there_once_and_a_few_slices_of_it_for_each() -> None:
    budget, answer = ByteBudget(10**9), answer_of(40 * SENDING_BYTES)
    reservations = [budget.reserve() for _ in range(5)]
    for number, reservation in enumerate(reservations, 1):
        budget.answer(reservation, answer)
        assert budget.held == len(answer.before) + number * SENDING_BYTES
    other = budget.reserve()
    budget.answer(other, answer_of(40 * SENDING_BYTES))  # equal, and yet another one
    assert budget.held == 2 * len(answer.before) + 6 * SENDING_BYTES
    for reservation in (*reservations, other, *reservations):
        reservation.leave()
    assert budget.held == 0


def test_a_large_answer_that_finds_no_room_is_refused_with_a_time_and_a_small_one_never() -> None:
    refusals: list[str] = []
    budget = ByteBudget(50 * SENDING_BYTES, lambda: refusals.append("bodies_bytes"))
    first, second, third = budget.reserve(), budget.reserve(), budget.reserve()
    budget.answer(first, answer_of(40 * SENDING_BYTES))
    budget.take(second, SMALL_BYTES)
    with pytest.raises(Overloaded) as caught:
        budget.answer(second, answer_of(40 * SENDING_BYTES))
    assert refusals == ["bodies_bytes"]
    assert caught.value.retry_after_s is not None
    assert budget.held == len(answer_of(40 * SENDING_BYTES).before) + SENDING_BYTES  # its body has left
    budget.answer(third, answer_of(SMALL_BYTES))
    for reservation in (first, second, third):
        reservation.leave()
    assert budget.held == 0


def test_retry_after_is_as_long_as_large_ones_stay_and_not_the_same_for_all() -> None:
    now = [0.0]
    budget = ByteBudget(1, clock=lambda: now[0])

    def waits(many: int) -> list[int]:
        found = []
        for _ in range(many):
            with pytest.raises(Overloaded) as caught, budget.reserve() as reservation:
                budget.take(reservation, LARGE)
            found.append(int(caught.value.retry_after_s or 0))
        return found

    with budget.reserve() as slow:
        budget.take(slow, LARGE)
        assert waits(3) == [1, 1, 1]  # it has just come
        now[0] = 20.0
        told = waits(50)
        assert min(told) >= 10
        assert max(told) <= 30
        assert len(set(told)) >= 15
        now[0] = 10_000.0
        assert max(waits(50)) == 60
    with budget.reserve() as quick:
        budget.take(quick, LARGE)
        assert min(waits(20)) > 1  # the last one stayed long
