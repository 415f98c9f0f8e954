"""Which requests begin, in which turn of the event loop. No sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from exactperm.ops.edge.request_turns import BEGIN_TOGETHER, Kind, Turns, kind_of


class Connection:
    """Has one request, and notes the turn of the loop in which it begins."""

    def __init__(self, turns: Turns, kind: Kind, now: Callable[[], int]) -> None:
        self.began: int | None = None
        self._turns, self._kind, self._now = turns, kind, now

    def begin(self) -> None:
        if self._turns.begins(self, self._kind, asyncio.get_running_loop()):
            assert self.began is None
            self.began = self._now()


def begin(*kinds: Kind) -> list[list[int]]:
    """All come at once, the kinds one after the other: when those of each kind begin."""

    async def scenario() -> list[list[int]]:
        turns, rounds = Turns(), 0
        floods = [[Connection(turns, kind, lambda: rounds) for _ in range(40)] for kind in kinds]
        for flood in floods:
            for connection in flood:
                connection.begin()
        while len(turns):
            rounds += 1
            await asyncio.sleep(0)
        return [
            [connection.began for connection in flood if connection.began is not None] for flood in floods
        ]

    return asyncio.run(scenario())


@pytest.mark.parametrize("kind", Kind)
def test_a_flood_begins_in_its_order_so_many_in_a_turn(kind: Kind) -> None:
    (began,) = begin(kind)
    assert len(began) == 40
    assert began == sorted(began)
    assert max(began.count(turn) for turn in began) == BEGIN_TOGETHER[kind]


def test_a_flood_of_one_kind_does_not_delay_another() -> None:
    alone = {kind: begin(kind)[0] for kind in Kind}
    assert begin(Kind.OTHER, Kind.TEST, Kind.HEALTH, Kind.PROBE) == [
        alone[kind] for kind in (Kind.OTHER, Kind.TEST, Kind.HEALTH, Kind.PROBE)
    ]


def test_who_leaves_is_not_waited_for() -> None:
    async def scenario() -> None:
        turns = Turns()
        first, second, third = (Connection(turns, Kind.OTHER, lambda: 0) for _ in range(3))
        for connection in (first, second, third):
            connection.begin()
        assert len(turns) == 2
        turns.leave(second)
        for _ in range(3):
            await asyncio.sleep(0)
        assert [one.began for one in (first, second, third)] == [0, None, 0]
        assert len(turns) == 0

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("head", "first", "kind"),
    [
        (b"GET /livez HTTP/1", True, Kind.PROBE),
        (b"HEAD /readyz HTT", True, Kind.PROBE),
        (b"GET /healthz HTT", False, Kind.HEALTH),
        (b"POST /v1/tests/s", True, Kind.TEST),
        (b"GET / HTTP/1.1", True, Kind.OTHER),
        (b"POST\t/livez", True, Kind.OTHER),
    ],
)
def test_kinds_are_told_by_the_first_bytes(head: bytes, first: bool, kind: Kind) -> None:
    assert kind_of(head, first=first) is kind
