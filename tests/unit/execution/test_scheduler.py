"""Who waits, who runs, who is next: the lanes, without processes or clocks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from app.execution.scheduler import Bounds, Lanes, Ticket

ROOMY = Bounds(depth=10, seconds=1e9, size=10**12)
NEVER = 1e9


def lanes_of(long_places: int = 1, bounds: Bounds = ROOMY) -> Lanes:
    return Lanes(long_places=long_places, long_s=0.5, bounds=bounds)


def entered(lanes: Lanes, seconds: float, size: int = 1) -> Ticket:
    ticket = Ticket(seconds, size, NEVER)
    lanes.enter(ticket)
    return ticket


def waiting(lanes: Lanes, seconds: float, size: int = 1) -> Ticket:
    ticket = entered(lanes, seconds, size)
    lanes.wait(ticket)
    return ticket


def running(lanes: Lanes, seconds: float, now: float = 0.0) -> Ticket:
    ticket = entered(lanes, seconds)
    lanes.begin(ticket, now)
    return ticket


def test_the_first_of_a_lane_is_the_first_to_run() -> None:
    lanes = lanes_of()
    order = [waiting(lanes, 0.01) for _ in range(5)]
    assert [lanes.next() for _ in range(6)] == [*order, None]


def test_long_calls_never_take_the_last_process() -> None:
    lanes = lanes_of(long_places=2)
    for _ in range(2):
        running(lanes, 10.0)
    waiting(lanes, 10.0)
    assert lanes.next() is None
    short = waiting(lanes, 0.01)
    assert lanes.next() is short
    assert not lanes.may_begin(entered(lanes, 10.0))
    assert lanes.may_begin(entered(lanes, 0.01))


def test_a_second_process_beside_a_single_worker_is_for_short_calls_while_a_long_one_runs() -> None:
    lanes = Lanes(long_places=1, long_s=0.5, bounds=ROOMY, usual=1)
    first = running(lanes, 0.01)
    assert not lanes.may_begin(entered(lanes, 0.01))
    short = waiting(lanes, 0.01)
    assert lanes.next() is None
    assert lanes.plan(first, 60.0, now=0.0) == "go"
    assert lanes.next() is short
    lanes.stop(first, again=False)
    lanes.begin(short, 0.0)
    assert not lanes.may_begin(entered(lanes, 10.0))


def test_a_place_for_a_long_call_goes_to_one_even_while_short_ones_wait() -> None:
    lanes = lanes_of()
    waiting(lanes, 0.01)
    long = waiting(lanes, 10.0)
    assert lanes.next() is long


def test_a_call_that_turns_out_long_takes_a_free_place_or_is_put_off() -> None:
    lanes = lanes_of()
    first, second = running(lanes, 0.01), running(lanes, 0.01)
    assert lanes.plan(first, 30.0, now=1.0) == "go"
    assert first.lane == "long"
    assert lanes.plan(second, 30.0, now=1.0) == "park"
    lanes.stop(second, again=True)
    lanes.wait(second)
    assert lanes.next() is None
    lanes.stop(first, again=False)
    assert lanes.next() is second


def test_a_call_that_turns_out_short_just_runs() -> None:
    lanes = lanes_of(long_places=0)
    assert lanes.plan(running(lanes, 0.01), 0.4, now=0.0) == "go"


def test_a_long_call_that_waits_is_not_overtaken_by_one_that_has_just_found_out() -> None:
    lanes = lanes_of()
    waiting(lanes, 30.0)
    assert lanes.plan(running(lanes, 0.01), 30.0, now=0.0) == "park"


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        (Bounds(2, 1e9, 10**9), "queue_depth"),
        (Bounds(9, 25.0, 10**9), "queue_seconds"),
        (Bounds(9, 1e9, 25), "queue_bytes"),
    ],
)
def test_every_bound_of_the_queue_refuses_by_its_name(bounds: Bounds, reason: str) -> None:
    lanes = lanes_of(bounds=bounds)
    for _ in range(2):
        assert lanes.refusal(entered(lanes, 10.0, 10), now=0.0) is None
        waiting(lanes, 10.0, 10)
    assert lanes.refusal(entered(lanes, 10.0, 10), now=0.0) == reason
    ticket = running(lanes, 0.01)
    running(lanes, 10.0)
    ticket.size = 10
    assert lanes.plan(ticket, 10.0, now=0.0) == "refuse"
    assert ticket.refused == reason


def test_an_empty_lane_takes_whatever_is_allowed_at_all() -> None:
    lanes = lanes_of(bounds=Bounds(1, 1.0, 1))
    assert lanes.refusal(entered(lanes, 1000.0, 1000), now=0.0) is None


def test_a_full_lane_of_long_calls_refuses_no_short_one() -> None:
    lanes = lanes_of(bounds=Bounds(1, 1.0, 1))
    waiting(lanes, 1000.0, 1000)
    assert lanes.refusal(entered(lanes, 1000.0), now=0.0) == "queue_depth"
    assert lanes.refusal(entered(lanes, 0.01), now=0.0) is None


def test_a_call_that_overruns_counts_as_long_from_then_on() -> None:
    lanes = lanes_of()
    ticket = running(lanes, 0.01, now=0.0)
    assert lanes.overran(now=0.9) == []
    assert lanes.may_begin(entered(lanes, 10.0))
    assert lanes.overran(now=1.1) == [ticket]
    assert not lanes.may_begin(entered(lanes, 10.0))


def test_what_is_pending_shrinks_as_it_is_worked_off_and_never_beyond_a_deadline() -> None:
    lanes = lanes_of()
    ticket = Ticket(10.0, 1, ends_by=100.0)
    lanes.enter(ticket)
    lanes.wait(ticket)
    assert lanes.pending_s(0.0) == 10.0
    assert lanes.next() is ticket
    lanes.begin(ticket, 50.0)
    assert lanes.pending_s(54.0, "long") == 6.0
    assert lanes.pending_s(54.0, "short") == 0.0
    assert lanes.pending_s(70.0) == 0.0
    lanes.stop(ticket, again=False)
    late = Ticket(1000.0, 1, ends_by=100.0)
    lanes.enter(late)
    lanes.wait(late)
    assert lanes.pending_s(98.0) == 2.0


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["come", "serve", "end", "leave", "long", "lose"]), st.integers(0, 5), st.floats(0, 2)
    ),
    max_size=60,
)


@given(ACTIONS, st.integers(2, 4))
def test_whatever_happens_no_call_is_lost_and_no_bound_is_crossed(
    actions: list[tuple[str, int, float]], processes: int
) -> None:
    """A model of the queue: every call ends exactly once, or waits, or runs."""
    lanes = lanes_of(long_places=processes - 1, bounds=Bounds(4, 1e9, 10**9))
    open_: list[Ticket] = []

    def now() -> Iterator[float]:
        time = 0.0
        while True:
            yield time
            time += 0.01

    clock = now()
    for action, which, seconds in actions:
        runs = [ticket for ticket in open_ if ticket.state == "running"]
        waits = [ticket for ticket in open_ if ticket.state == "waiting"]
        if action == "come":
            ticket = entered(lanes, seconds)
            if lanes.refusal(ticket, next(clock)) is None:
                lanes.wait(ticket)
                open_.append(ticket)
        elif action == "serve" and len(runs) < processes and (found := lanes.next()) is not None:
            lanes.begin(found, next(clock))
        elif action == "end" and runs:
            lanes.stop(runs[which % len(runs)], again=False)
        elif action == "lose" and runs:
            lost = runs[which % len(runs)]
            lanes.stop(lost, again=True)
            lanes.wait(lost, first=True)
        elif action == "leave" and waits:
            lanes.leave(waits[which % len(waits)])
        elif action == "long" and runs:
            late = runs[which % len(runs)]
            verdict = lanes.plan(late, 10.0, next(clock))
            if verdict != "go":
                lanes.stop(late, again=verdict == "park")
            if verdict == "park":
                lanes.wait(late)
        open_ = [ticket for ticket in open_ if ticket.state != "gone"]
        assert lanes.running() <= processes
        assert lanes.running("long") <= processes - 1
        assert lanes.running() + lanes.waiting() == len(open_)
    served = 0
    for ticket in [ticket for ticket in open_ if ticket.state == "running"]:
        lanes.stop(ticket, again=False)
        served += 1
    while (found := lanes.next()) is not None:
        lanes.begin(found, next(clock))
        lanes.stop(found, again=False)
        served += 1
    assert served == len(open_)
