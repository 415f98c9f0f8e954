"""The check of all connections gives way: a thousand refusals at once would keep everybody else waiting."""

from __future__ import annotations

import asyncio
from typing import Any

from exactperm.ops.edge.limits import LOOK_FOR_S, Edge, Limits
from exactperm.settings import Settings

LOOK_S = LOOK_FOR_S / 4


class Loop(asyncio.SelectorEventLoop):
    """Its time passes only when somebody looks."""

    now = 0.0

    def time(self) -> float:
        return self.now


class Connection:
    """One that takes a while to look at, and closes others."""

    def __init__(self, loop: Loop, closes: list[Any]) -> None:
        self.loop = loop
        self.looks = 0
        self.closes = closes

    def look(self, now: float) -> None:
        assert now >= self.loop.now
        self.looks += 1
        self.loop.now += LOOK_S
        for other in self.closes:
            other.edge.remove(other)


def test_a_check_of_many_connections_lets_others_in_between_and_looks_at_each_once() -> None:
    async def scenario(loop: Loop) -> None:
        edge = Edge(Limits.of(Settings()), lambda *_: ((), b""), lambda _: None)
        connections: list[Any] = [Connection(loop, []) for _ in range(100)]
        for connection in connections:
            connection.edge = edge
            edge.add(connection, "10.0.0.1")
        connections[10].closes = connections[90:]  # they are not looked at any more
        loop.now += edge.look_every_s  # it is due
        turns, before = [], 0
        while sum(connection.looks for connection in connections) < 90:
            await asyncio.sleep(0)
            looked = sum(connection.looks for connection in connections)
            turns.append(looked - before)
            before = looked
        assert max(turns) <= 5
        for _ in range(10):
            await asyncio.sleep(0)
        assert [connection.looks for connection in connections] == [1] * 90 + [0] * 10
        loop.now += edge.look_every_s
        while connections[89].looks < 2:  # noqa: ASYNC110  (time passes only here)
            await asyncio.sleep(0)
        for connection in connections[:90]:
            edge.remove(connection)

    with asyncio.Runner(loop_factory=Loop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, Loop)
        runner.run(scenario(loop))
