from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.api.receipt import SMALL_BYTES, Room, receive_body
from app.errors import Overloaded

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
