"""A short call never waits for a long one, whatever came before: the whole executor, with workers and a clock of our own."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import selectors
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given, settings, strategies as st

from exactperm.errors import DeadlineExceeded, InvalidTest, Overloaded
from exactperm.execution.executor import Executor
from exactperm.execution.process import CallParked

LONG_S = 0.5
LOOK_S = 0.2  # the supervisor looks ten times a second


class Time(selectors.DefaultSelector):
    """A selector that nothing comes to: the time until the next timer passes at once."""

    now = 1000.0

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "everybody waits for something that never comes"
        found: list[Any] = super().select(0)
        if not found:
            self.now += max(0.0, timeout)
        return found


class Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.passing = Time()
        super().__init__(self.passing)

    def time(self) -> float:
        return self.passing.now


@dataclass(frozen=True)
class Kind:
    """A call: seconds until it is read, seconds after that, and what is known of it and when."""

    reads_s: float
    runs_s: float
    announced: bool = True
    known: bool = False
    fails: bool = False
    deadline_s: float = 600.0


class Worker:
    """In place of a process: it sleeps."""

    pid = -1  # of no process
    warm_bytes = 0
    returncode: int | None = None

    def __init__(self) -> None:
        self.ending: str | None = None
        self._ended = asyncio.Event()

    @property
    def alive(self) -> bool:
        return self.ending is None

    async def call(self, call: bytes, body: bytes, notices: Any, ask_above_s: float) -> str:
        kind: Kind = pickle.loads(call)[1]
        await asyncio.sleep(kind.reads_s)
        if kind.announced and kind.runs_s > ask_above_s and not notices.plan(kind.runs_s):
            raise CallParked
        await asyncio.sleep(kind.runs_s)
        if kind.fails:
            raise InvalidTest("no")
        return "done"

    def kill(self, why: str) -> None:
        self.ending = self.ending or why
        self._ended.set()

    async def gone(self) -> None:
        await self._ended.wait()


class Workers:
    """In place of where they come from."""

    starting_pids = ()

    def begin(self, size: int, *, by_fork: bool) -> None:
        pass

    async def one(self) -> Worker:
        return Worker()

    async def end(self) -> None:
        pass


def nothing() -> None:
    """Only its name is pickled."""


async def ask(pool: Executor, kind: Kind) -> float:
    """Seconds that the call waited for a worker."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    known_s = kind.reads_s + kind.runs_s if kind.known else 0.0
    with contextlib.suppress(DeadlineExceeded, Overloaded, InvalidTest):
        await pool.run_shared(object(), nothing, kind, b"", kind.deadline_s, None, known_s)  # type: ignore[arg-type]
    return loop.time() - start - kind.reads_s - kind.runs_s


def simulate(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with asyncio.Runner(loop_factory=Loop) as runner, mock.patch("time.monotonic", runner.get_loop().time):
        runner.run(scenario())


seconds = st.sampled_from([0.001, 0.02, 0.1, 0.4, 0.55, 0.8, 0.95, 1.5, 5.0])
kinds = st.builds(
    Kind,
    reads_s=st.sampled_from([0.001, 0.02, 0.6]),
    runs_s=seconds,
    announced=st.booleans(),
    known=st.booleans(),
    fails=st.booleans(),
    deadline_s=st.sampled_from([0.3, 60.0, 600.0]),
)
histories = st.lists(st.tuples(kinds, st.integers(1, 40), st.integers(1, 4)), max_size=4)
SHORT = Kind(0.01, 0.05)
UNFORESEEN = Kind(0.01, 60.0, announced=False)
SLOWISH = [(Kind(0.01, 0.79, announced=False), 40, 1)]


@example(history=SLOWISH, long=Kind(0.01, 60.0), count=1, workers=2)
@example(history=SLOWISH, long=UNFORESEEN, count=1, workers=2)
@example(history=[], long=Kind(1.4, 60.0), count=2, workers=2)
@example(history=[(Kind(0.01, 5.0, announced=False), 40, 2)], long=Kind(0.01, 60.0), count=3, workers=1)
@settings(max_examples=40)
@given(
    history=histories,
    long=st.sampled_from([Kind(0.01, 60.0), Kind(0.01, 60.0, known=True), Kind(1.4, 60.0), UNFORESEEN]),
    count=st.integers(1, 4),
    workers=st.integers(1, 4),
)
def test_after_whatever_came_before_a_short_call_starts_while_long_ones_run(
    history: list[tuple[Kind, int, int]], long: Kind, count: int, workers: int
) -> None:
    processes = max(2, workers)

    async def scenario() -> None:
        pool = Executor(
            workers=processes, long_places=processes - 1, usual=workers, long_s=LONG_S, queue_depth=64, queue_seconds=1e9,
            start_timeout_s=60,
        )  # fmt: skip
        pool._pool._warm = Workers()  # type: ignore[assignment]
        await pool.start()
        for kind, times, together in history:
            for _ in range(times):
                await asyncio.gather(*(ask(pool, kind) for _ in range(together)))
        while pool.running:  # noqa: ASYNC110  (what nobody waits for any more ends soon)
            await asyncio.sleep(0.01)
        # What is read may take every process, and then one has to be free again, unless nothing says how long it takes.
        most = 1 if not long.announced else count if long.reads_s < LONG_S else workers
        longs = [asyncio.ensure_future(ask(pool, long)) for _ in range(min(count, most))]
        await asyncio.sleep(0.1)
        waited = await ask(pool, SHORT)
        # A long call that nothing is known of is found out by its time; until then it has the only place.
        found_out_s = long.reads_s if long.announced else 2 * LONG_S + LOOK_S
        assert waited <= (0.0 if long.announced and long.reads_s < LONG_S else found_out_s) + 1e-6
        assert not any(one.done() for one in longs)
        for one in longs:
            one.cancel()
        await asyncio.gather(*longs, return_exceptions=True)
        await pool.stop()

    simulate(scenario)


@pytest.mark.parametrize("took_s", [0.02, 0.8, 5.0])
def test_a_guess_is_forgotten_once_calls_are_quick_again(took_s: float) -> None:
    """A queue that takes 6 s of work has room for 20 calls of 0.05 s, and refuses them while it thinks that they are long."""

    async def scenario() -> None:
        pool = Executor(workers=1, long_s=LONG_S, queue_depth=64, queue_seconds=6.0, start_timeout_s=60)
        pool._pool._warm = Workers()  # type: ignore[assignment]
        await pool.start()
        for _ in range(100):
            await ask(pool, Kind(0.001, took_s, announced=False))
        for _ in range(100):
            await ask(pool, SHORT)
        waited = await asyncio.gather(*(ask(pool, SHORT) for _ in range(21)))
        assert not pool.rejections
        assert max(waited) == pytest.approx(20 * 0.06)
        await pool.stop()

    simulate(scenario)
