"""Test which connections are read when there are too many, and their limits."""

import asyncio
import resource
from typing import Any, cast

import pytest

from exactperm.ops.edge.limits import LOOK_FOR_S, RESERVE, Edge, Limits, possible_connections, share_of
from exactperm.settings import Settings


class Loop:
    """A loop that never calls back."""

    def call_later(self, *_: Any) -> None:
        pass


class Link:
    """A controllable connection with an address."""

    def __init__(self, edge: Edge) -> None:
        self.edge, self.loop, self.gone = edge, Loop(), False

    def give_way(self) -> None:
        self.gone = True
        self.edge.remove(cast("Any", self))


def edge_of(**limits: Any) -> Edge:
    kept = Limits.of(Settings(workers=1))
    given = {name: getattr(kept, name) for name in Limits.__slots__} | limits
    return Edge(Limits(**given), lambda *_: ((), b""), lambda reason: None)


def come(edge: Edge, host: str, *, waiting: bool = True) -> tuple[Link, bool]:
    link: Any = Link(edge)
    heard = edge.add(link, host)
    if edge.crowds(link):
        edge.waits(link, waiting=waiting)
    return link, heard


def test_the_newest_is_heard_and_the_one_that_waited_longest_goes() -> None:
    edge = edge_of(max_connections=5, reserve=3)
    links = [come(edge, "192.0.2.1") for _ in range(100)]
    assert all(heard for _, heard in links)
    assert [link.gone for link, _ in links] == [False] * 5 + [True] * 92 + [False] * 3
    assert len(edge.connections) == 8


def test_busy_connections_stay_and_the_newest_is_not_read() -> None:
    edge = edge_of(max_connections=2, reserve=2)
    links = [come(edge, "192.0.2.1", waiting=False) for _ in range(5)]
    assert [heard for _, heard in links] == [True] * 4 + [False]
    assert not any(link.gone for link, _ in links)


def test_one_address_does_not_get_all() -> None:
    edge = edge_of(max_connections=10, max_connections_per_address=6)
    mine: list[Any] = [come(edge, "192.0.2.1")[0] for _ in range(7)]
    yours = come(edge, "192.0.2.2")[0]
    crowds: Any = edge.crowds
    assert crowds(mine[-1])
    assert not crowds(yours)
    edge.remove(mine[0])
    assert not crowds(mine[-1])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("fe80::1%eth0", "fe80::2", True),
        ("", "", True),
    ],
)
def test_a_network_of_ipv6_is_one_client(one: str, other: str, same: bool) -> None:
    assert (share_of(one) == share_of(other)) is same


@pytest.mark.parametrize("there", [14, 40, 100, 900, 1_000, 2_000, 2_336, 10**6])
def test_connections_never_take_more_descriptors_than_there_are(there: int) -> None:
    limits = Limits.of(Settings(workers=1)).within(there)
    assert limits.descriptors <= there
    assert 8 <= limits.max_connections <= 800
    assert 1 <= limits.reserve <= RESERVE
    if there >= 1_000:
        assert limits.max_connections == 800


def test_too_few_descriptors_are_an_error() -> None:
    with pytest.raises(ValueError, match="too few"):
        Limits.of(Settings(workers=1)).within(5)


def test_the_soft_limit_is_raised_as_far_as_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = [64, 4_096]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limit))
    monkeypatch.setattr(resource, "setrlimit", lambda _, both: limit.__setitem__(slice(None), both))
    assert possible_connections(1_000, workers=2) == 1_000
    assert limit == [1_000 + 24 + 8, 4_096]
    assert possible_connections(10_000, workers=2) == 4_096 - 24 - 8
    assert limit == [4_096, 4_096]


# The check of all connections gives way: a thousand refusals at once would keep everybody else waiting.


LOOK_S = LOOK_FOR_S / 4


class LoopLookedAt(asyncio.SelectorEventLoop):
    """Its time passes only when somebody looks."""

    now = 0.0

    def time(self) -> float:
        return self.now


class Connection:
    """One that takes a while to look at, and closes others."""

    def __init__(self, loop: LoopLookedAt, closes: list[Any]) -> None:
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
    async def scenario(loop: LoopLookedAt) -> None:
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

    with asyncio.Runner(loop_factory=LoopLookedAt) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, LoopLookedAt)
        runner.run(scenario(loop))
