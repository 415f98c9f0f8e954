"""Who waits, who runs, who is next: the scheduler, without processes or clocks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

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


def test_an_empty_queue_takes_whatever_is_allowed_at_all() -> None:
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


def test_what_is_pending_shrinks_as_it_is_worked_off_and_never_beyond_a_deadline() -> None:
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
def test_whatever_happens_no_call_is_lost_and_no_bound_is_crossed(
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
