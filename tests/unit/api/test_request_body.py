from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.api.request_body import SENDING_BYTES, SMALL_BYTES, Room, receive_body
from app.errors import Overloaded
from app.service.messages import RenderedResponse

LARGE = SMALL_BYTES + 1


def received(room: Room, size: int) -> int:
    """Receive a body of so many bytes; how much the room held when it was there."""

    async def receive() -> Any:
        return {"type": "http.request", "body": b"x" * size}

    with room.guest() as guest:
        assert len(asyncio.run(receive_body(receive, None, 10**9, guest))) == size
        return room.held


def test_a_large_body_beside_others_is_refused_when_there_is_no_room_and_a_small_one_never() -> None:
    refusals: list[str] = []
    room = Room(2 * LARGE, lambda: refusals.append("bodies_bytes"))
    with room.guest() as other:
        room.take(other, LARGE + 1)
        with pytest.raises(Overloaded):
            received(room, LARGE)
        assert refusals == ["bodies_bytes"]
        assert room.held == LARGE + 1  # what was refused is held no more
        assert received(room, SMALL_BYTES) == LARGE + 1 + SMALL_BYTES
    assert room.held == 0
    assert received(room, LARGE) == LARGE
    assert room.held == 0


def test_a_body_that_is_alone_has_all_the_room_it_needs() -> None:
    assert received(Room(1), 10 * LARGE) == 10 * LARGE


def answer_of(size: int) -> RenderedResponse:
    return RenderedResponse(200, (), bytes(size - 10), own=b"x" * 5, after=b"y" * 5)


def test_an_answer_takes_the_place_of_its_body_until_it_is_written() -> None:
    room = Room(10**9)
    with room.guest() as guest:
        room.take(guest, 7 * LARGE)
        room.answer(guest, answer_of(1_000))
        assert room.held == 1_000
        guest.leave()
        assert room.held == 0
    assert room.held == 0


def test_an_answer_that_many_are_sent_is_there_once_and_a_few_slices_of_it_for_each() -> None:
    room, answer = Room(10**9), answer_of(40 * SENDING_BYTES)
    guests = [room.guest() for _ in range(5)]
    for number, guest in enumerate(guests, 1):
        room.answer(guest, answer)
        assert room.held == len(answer.before) + number * SENDING_BYTES
    other = room.guest()
    room.answer(other, answer_of(40 * SENDING_BYTES))  # equal, and yet another one
    assert room.held == 2 * len(answer.before) + 6 * SENDING_BYTES
    for guest in (*guests, other, *guests):
        guest.leave()
    assert room.held == 0


def test_a_large_answer_that_finds_no_room_is_refused_with_a_time_and_a_small_one_never() -> None:
    refusals: list[str] = []
    room = Room(50 * SENDING_BYTES, lambda: refusals.append("bodies_bytes"))
    first, second, third = room.guest(), room.guest(), room.guest()
    room.answer(first, answer_of(40 * SENDING_BYTES))
    room.take(second, SMALL_BYTES)
    with pytest.raises(Overloaded) as caught:
        room.answer(second, answer_of(40 * SENDING_BYTES))
    assert refusals == ["bodies_bytes"]
    assert caught.value.retry_after_s is not None
    assert room.held == len(answer_of(40 * SENDING_BYTES).before) + SENDING_BYTES  # its body has left
    room.answer(third, answer_of(SMALL_BYTES))
    for guest in (first, second, third):
        guest.leave()
    assert room.held == 0


def test_retry_after_is_as_long_as_large_ones_stay_and_not_the_same_for_all() -> None:
    now = [0.0]
    room = Room(1, clock=lambda: now[0])

    def waits(many: int) -> list[int]:
        found = []
        for _ in range(many):
            with pytest.raises(Overloaded) as caught, room.guest() as guest:
                room.take(guest, LARGE)
            found.append(int(caught.value.retry_after_s or 0))
        return found

    with room.guest() as slow:
        room.take(slow, LARGE)
        assert waits(3) == [1, 1, 1]  # it has just come
        now[0] = 20.0
        told = waits(50)
        assert min(told) >= 10
        assert max(told) <= 30
        assert len(set(told)) >= 15
        now[0] = 10_000.0
        assert max(waits(50)) == 60
    with room.guest() as quick:
        room.take(quick, LARGE)
        assert min(waits(20)) > 1  # the last one stayed long
