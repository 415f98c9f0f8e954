"""An idle connection is closed when it has been idle for so long, to the moment, whatever came before."""

from __future__ import annotations

import asyncio
from typing import Any

from app.ops.edge.keep_alive import KeepAlive


class Loop:
    """A loop whose time passes when it is told."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, Any]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Any) -> Any:
        self.timers.append((when, callback))
        return self

    def cancel(self) -> None:
        self.timers.clear()

    def go_to(self, now: float) -> None:
        while due := [timer for timer in self.timers if timer[0] <= now]:
            timer = min(due, key=lambda timer: timer[0])
            self.timers.remove(timer)
            self.now = timer[0]
            timer[1]()
        self.now = now


def waiting() -> tuple[Any, KeepAlive, list[float]]:
    loop: Any = Loop()
    closed: list[float] = []
    return loop, KeepAlive(loop, 5.0, lambda: closed.append(loop.now)), closed


def test_it_is_due_after_the_last_wait_began_and_with_one_timer() -> None:
    loop, keep_alive, closed = waiting()
    for second in range(8):
        loop.go_to(float(second))
        keep_alive.end()
        keep_alive.begin()
        assert len(loop.timers) == 1
    loop.go_to(11.99)
    assert closed == []
    loop.go_to(20.0)
    assert closed == [12.0]
    assert loop.timers == []


def test_a_wait_that_ended_is_not_due_and_the_next_one_is() -> None:
    loop, keep_alive, closed = waiting()
    keep_alive.begin()
    loop.go_to(1.0)
    keep_alive.end()
    loop.go_to(30.0)
    assert (closed, loop.timers) == ([], [])
    keep_alive.begin()
    loop.go_to(40.0)
    assert closed == [35.0]


def test_a_connection_that_is_lost_leaves_no_timer() -> None:
    loop, keep_alive, closed = waiting()
    keep_alive.close()
    keep_alive.begin()
    keep_alive.close()
    loop.go_to(30.0)
    assert (closed, loop.timers) == ([], [])


def test_it_works_with_a_real_loop() -> None:
    async def wait() -> None:
        due = asyncio.Event()
        KeepAlive(asyncio.get_running_loop(), 0.01, due.set).begin()
        await asyncio.wait_for(due.wait(), 60.0)

    asyncio.run(wait())
