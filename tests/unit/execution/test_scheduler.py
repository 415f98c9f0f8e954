"""Test the scheduler without processes or clocks: waiting, running and next calls."""

import asyncio
import contextlib
import pickle
import selectors
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, cast
from unittest import mock

import pytest
from hypothesis import example, given, settings, strategies as st

from exactperm.errors import DeadlineExceeded, InvalidTest, Overloaded
from exactperm.execution.executor import Executor
from exactperm.execution.process import CallParked
from exactperm.execution.scheduler import Bounds, Call, Scheduler

ROOMY = Bounds(depth=10, seconds=1e9, size=10**12)
NEVER = 1e9


def scheduler_of(long_places: int = 1, bounds: Bounds = ROOMY) -> Scheduler:
    return Scheduler(long_places=long_places, long_s=0.5, bounds=bounds)


def entered(scheduler: Scheduler, seconds: float, size: int = 1) -> Call:
    call = Call(seconds, size, NEVER)
    scheduler.enter(call)
    return call


def waiting(scheduler: Scheduler, seconds: float, size: int = 1) -> Call:
    call = entered(scheduler, seconds, size)
    scheduler.wait(call)
    return call


def running(scheduler: Scheduler, seconds: float, now: float = 0.0) -> Call:
    call = entered(scheduler, seconds)
    scheduler.begin(call, now)
    return call


def test_the_first_of_a_queue_is_the_first_to_run() -> None:
    scheduler = scheduler_of()
    order = [waiting(scheduler, 0.01) for _ in range(5)]
    assert [scheduler.next() for _ in range(6)] == [*order, None]


def test_long_calls_never_take_the_last_process() -> None:
    scheduler = scheduler_of(long_places=2)
    for _ in range(2):
        running(scheduler, 10.0)
    waiting(scheduler, 10.0)
    assert scheduler.next() is None
    short = waiting(scheduler, 0.01)
    assert scheduler.next() is short
    assert not scheduler.may_begin(entered(scheduler, 10.0))
    assert scheduler.may_begin(entered(scheduler, 0.01))


def test_a_second_process_beside_a_single_worker_is_for_short_calls_while_a_long_one_runs() -> None:
    scheduler = Scheduler(long_places=1, long_s=0.5, bounds=ROOMY, usual=1)
    first = running(scheduler, 0.01)
    assert not scheduler.may_begin(entered(scheduler, 0.01))
    short = waiting(scheduler, 0.01)
    assert scheduler.next() is None
    assert scheduler.plan(first, 60.0, now=0.0) == "go"
    assert scheduler.next() is short
    scheduler.stop(first, again=False)
    scheduler.begin(short, 0.0)
    assert not scheduler.may_begin(entered(scheduler, 10.0))


def test_a_place_for_a_long_call_goes_to_one_even_while_short_ones_wait() -> None:
    scheduler = scheduler_of()
    waiting(scheduler, 0.01)
    long = waiting(scheduler, 10.0)
    assert scheduler.next() is long


def test_a_call_that_turns_out_long_takes_a_free_place_or_is_put_off() -> None:
    scheduler = scheduler_of()
    first, second = running(scheduler, 0.01), running(scheduler, 0.01)
    assert scheduler.plan(first, 30.0, now=1.0) == "go"
    assert first.queue == "long"
    assert scheduler.plan(second, 30.0, now=1.0) == "park"
    scheduler.stop(second, again=True)
    scheduler.wait(second)
    assert scheduler.next() is None
    scheduler.stop(first, again=False)
    assert scheduler.next() is second


def test_a_call_that_turns_out_short_just_runs() -> None:
    scheduler = scheduler_of(long_places=0)
    assert scheduler.plan(running(scheduler, 0.01), 0.4, now=0.0) == "go"


def test_a_long_call_that_waits_is_not_overtaken_by_one_that_has_just_found_out() -> None:
    scheduler = scheduler_of()
    waiting(scheduler, 30.0)
    assert scheduler.plan(running(scheduler, 0.01), 30.0, now=0.0) == "park"


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        (Bounds(2, 1e9, 10**9), "queue_depth"),
        (Bounds(9, 25.0, 10**9), "queue_seconds"),
        (Bounds(9, 1e9, 25), "queue_bytes"),
    ],
)
def test_every_bound_of_the_queue_refuses_by_its_name(bounds: Bounds, reason: str) -> None:
    scheduler = scheduler_of(bounds=bounds)
    for _ in range(2):
        assert scheduler.refusal(entered(scheduler, 10.0, 10), now=0.0) is None
        waiting(scheduler, 10.0, 10)
    assert scheduler.refusal(entered(scheduler, 10.0, 10), now=0.0) == reason
    call = running(scheduler, 0.01)
    running(scheduler, 10.0)
    call.size = 10
    assert scheduler.plan(call, 10.0, now=0.0) == "refuse"
    assert call.refused == reason


def test_an_empty_queue_accepts_any_allowed_call() -> None:
    scheduler = scheduler_of(bounds=Bounds(1, 1.0, 1))
    assert scheduler.refusal(entered(scheduler, 1000.0, 1000), now=0.0) is None


def test_a_full_queue_of_long_calls_refuses_no_short_one() -> None:
    scheduler = scheduler_of(bounds=Bounds(1, 1.0, 1))
    waiting(scheduler, 1000.0, 1000)
    assert scheduler.refusal(entered(scheduler, 1000.0), now=0.0) == "queue_depth"
    assert scheduler.refusal(entered(scheduler, 0.01), now=0.0) is None


def test_a_call_that_overruns_counts_as_long_from_then_on() -> None:
    scheduler = scheduler_of()
    call = running(scheduler, 0.01, now=0.0)
    assert scheduler.overran(now=0.9) == []
    assert scheduler.may_begin(entered(scheduler, 10.0))
    assert scheduler.overran(now=1.1) == [call]
    assert not scheduler.may_begin(entered(scheduler, 10.0))


def test_a_call_that_overran_asks_like_others_when_it_finds_that_it_is_long() -> None:
    """Two bodies that take seconds to read, and are long then: only one may go on, or no process is left for short calls."""
    scheduler = scheduler_of(long_places=1)
    first, second = running(scheduler, 0.01), running(scheduler, 0.01)
    assert set(scheduler.overran(now=1.1)) == {first, second}
    assert scheduler.plan(first, 60.0, now=1.5) == "park"
    scheduler.stop(first, again=True)
    assert scheduler.plan(second, 60.0, now=1.5) == "go"
    assert scheduler.plan(second, 30.0, now=31.5) == "go"  # it has its place


def test_a_call_that_overran_may_end_if_that_is_soon() -> None:
    scheduler = scheduler_of(long_places=0)
    call = running(scheduler, 0.01)
    assert scheduler.overran(now=1.1) == [call]
    assert scheduler.plan(call, 0.4, now=1.5) == "go"


def test_pending_work_shrinks_as_it_is_done_and_never_beyond_a_deadline() -> None:
    scheduler = scheduler_of()
    call = Call(10.0, 1, ends_by=100.0)
    scheduler.enter(call)
    scheduler.wait(call)
    assert scheduler.pending_s(0.0) == 10.0
    assert scheduler.next() is call
    scheduler.begin(call, 50.0)
    assert scheduler.pending_s(54.0, "long") == 6.0
    assert scheduler.pending_s(54.0, "short") == 0.0
    assert scheduler.pending_s(70.0) == 0.0
    scheduler.stop(call, again=False)
    late = Call(1000.0, 1, ends_by=100.0)
    scheduler.enter(late)
    scheduler.wait(late)
    assert scheduler.pending_s(98.0) == 2.0


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["come", "serve", "end", "leave", "long", "lose", "overrun"]),
        st.integers(0, 5),
        st.floats(0, 2),
    ),
    max_size=60,
)


@given(ACTIONS, st.integers(2, 4))
def test_no_call_is_lost_and_no_bound_is_crossed(
    actions: list[tuple[str, int, float]], processes: int
) -> None:
    """A model of the queue: every call ends exactly once, or waits, or runs."""
    scheduler = scheduler_of(long_places=processes - 1, bounds=Bounds(4, 1e9, 10**9))
    open_: list[Call] = []
    granted: set[int] = set()  # calls that run and were allowed to take long

    def now() -> Iterator[float]:
        time = 0.0
        while True:
            yield time
            time += 0.01

    clock = now()
    for action, which, seconds in actions:
        runs = [call for call in open_ if call.state == "running"]
        waits = [call for call in open_ if call.state == "waiting"]
        if action == "come":
            call = entered(scheduler, seconds)
            if scheduler.refusal(call, next(clock)) is None:
                scheduler.wait(call)
                open_.append(call)
        elif action == "serve" and len(runs) < processes and (found := scheduler.next()) is not None:
            scheduler.begin(found, next(clock))
            if found.queue == "long":
                granted.add(id(found))
        elif action == "end" and runs:
            scheduler.stop(runs[which % len(runs)], again=False)
        elif action == "lose" and runs:
            lost = runs[which % len(runs)]
            scheduler.stop(lost, again=True)
            scheduler.wait(lost, first=True)
        elif action == "leave" and waits:
            scheduler.leave(waits[which % len(waits)])
        elif action == "long" and runs:
            late = runs[which % len(runs)]
            verdict = scheduler.plan(late, 10.0, next(clock))
            if verdict == "go":
                granted.add(id(late))
            if verdict != "go":
                scheduler.stop(late, again=verdict == "park")
            if verdict == "park":
                scheduler.wait(late)
        elif action == "overrun":
            for _ in range(110):
                next(clock)
            scheduler.overran(next(clock))
        open_ = [call for call in open_ if call.state != "gone"]
        granted &= {id(call) for call in open_ if call.state == "running"}
        assert scheduler.running() <= processes
        assert len(granted) <= processes - 1
        assert scheduler.running() + scheduler.waiting() == len(open_)
    served = 0
    for call in [call for call in open_ if call.state == "running"]:
        scheduler.stop(call, again=False)
        served += 1
    while (found := scheduler.next()) is not None:
        scheduler.begin(found, next(clock))
        scheduler.stop(found, again=False)
        served += 1
    assert served == len(open_)


# A short call never waits for a long one, whatever came before: the whole executor, with workers and a clock of our own.


LONG_S = 0.5
LOOK_S = 0.2  # the supervisor looks ten times a second


class Time(selectors.DefaultSelector):
    """A selector without events: the time until the next timer passes at once."""

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
    """A call: seconds until it is read, seconds after that, and its predictions with their times."""

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
        await pool.run_shared(object(), cast("Any", nothing), kind, b"", kind.deadline_s, None, known_s)
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
        cast("Any", pool._pool)._warm = Workers()
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
        cast("Any", pool._pool)._warm = Workers()
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
