"""Measured waits, calls that share one run, peaks of memory, stopped workers."""

import asyncio
import heapq
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable
from math import inf
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from exactperm.errors import DeadlineExceeded, InvalidTest
from exactperm.execution.memory import WORTH_BYTES, Peaks
from exactperm.execution.pool import Progress, Standstill
from exactperm.execution.scheduler import (
    MAX_RETRY_AFTER_S,
    QUEUES,
    Bounds,
    Call,
    QueueName,
    Scheduler,
    Throughput,
)
from exactperm.execution.shared_answers import OVERHEAD_BYTES, Cache, Flight, SingleFlight

# Retry-After from the measured throughput, liveness from progress, the bounded cache: pure, with clocks of our own.


FAR = 1e9


def scheduler_with(seconds: float, count: int) -> Scheduler:
    scheduler = Scheduler(long_places=1, long_s=0.5, bounds=Bounds(1000, 1e9, 10**12))
    for _ in range(count):
        call = Call(seconds, 1, FAR)
        scheduler.enter(call)
        scheduler.wait(call)
    return scheduler


def test_retry_after_follows_the_rate_at_which_the_queue_drains() -> None:
    scheduler, throughput = scheduler_with(2.0, 10), Throughput(0.5)
    assert throughput.retry_after_s(scheduler, "long", 2, now=0.0, least_s=1) == 20
    for _ in range(200):
        throughput.ended("long", predicted_s=2.0, took_s=4.0)  # this machine takes twice as long
    assert throughput.drain_rate("long", 1) == pytest.approx(0.5, rel=1e-3)
    assert throughput.retry_after_s(scheduler, "long", 2, now=0.0, least_s=1) in {40, 41}
    for _ in range(200):
        throughput.ended("long", predicted_s=2.0, took_s=0.5)
    assert throughput.retry_after_s(scheduler, "long", 2, now=0.0, least_s=1) in {5, 6}


def test_short_calls_drain_by_all_processes_that_no_long_one_holds() -> None:
    scheduler, throughput = scheduler_with(0.4, 100), Throughput(0.5)
    assert throughput.retry_after_s(scheduler, "short", 4, now=0.0, least_s=1) == 10
    for _ in range(2):
        scheduler.begin(Call(10.0, 1, FAR, queue="long"), 0.0)
    assert throughput.retry_after_s(scheduler, "short", 4, now=0.0, least_s=1) == 20


def test_retry_after_is_never_less_than_the_setting_nor_more_than_ten_minutes() -> None:
    throughput = Throughput(0.5)
    assert throughput.retry_after_s(scheduler_with(0.1, 0), "short", 1, now=0.0, least_s=3) == 3
    assert (
        throughput.retry_after_s(scheduler_with(1e6, 5), "long", 2, now=0.0, least_s=3) == MAX_RETRY_AFTER_S
    )


@pytest.mark.parametrize(
    ("clients", "seconds", "newcomers_s"), [(64, 0.4, 1e9), (150, 0.4, 1e9), (64, 0.4, 1.0)]
)
def test_most_clients_that_obey_retry_after_are_accepted(
    clients: int, seconds: float, newcomers_s: float
) -> None:
    """A simulation: all clients request at once, two processes serve, eight may wait, and new clients arrive now and then."""
    scheduler, throughput = (
        Scheduler(long_places=2, long_s=0.5, bounds=Bounds(8, 1e9, 10**12)),
        Throughput(0.5),
    )
    events: list[tuple[float, int, str, int, Call | None]] = []
    number = itertools.count()

    def later(at: float, what: str, tries: int, call: Call | None = None) -> None:
        heapq.heappush(events, (at, next(number), what, tries, call))

    def begin(call: Call, now: float) -> None:
        scheduler.begin(call, now)
        later(now + seconds, "end", 0, call)

    for client in range(clients):
        later(0.001 * client, "ask", 1)
    for count in range(1, int(60 / newcomers_s) + 1):
        later(count * newcomers_s, "ask", 0)
    accepted: Counter[int] = Counter()
    while events:
        now, _, what, tries, call = heapq.heappop(events)
        if what == "end":
            assert call is not None
            scheduler.stop(call, again=False)
            if (after := scheduler.next()) is not None:
                begin(after, now)
            continue
        call = Call(seconds, 1, FAR)
        scheduler.enter(call)
        if scheduler.running() < 2 and scheduler.may_begin(call):
            begin(call, now)
        elif scheduler.refusal(call, now):
            told = throughput.retry_after_s(scheduler, call.queue, 2, now, 1, seconds)
            later(now + told, "ask", tries + 1 if tries else 0)
            continue
        else:
            scheduler.wait(call)
        accepted[tries] += 1
    waited = clients - accepted[1]
    assert waited > clients / 2
    assert accepted[2] > (0.9 if newcomers_s > 60 else 0.8) * waited


def test_those_who_are_refused_are_spread_over_a_minute_and_no_more() -> None:
    scheduler, throughput = scheduler_with(2.0, 10), Throughput(0.5)
    told = [throughput.retry_after_s(scheduler, "long", 1, 0.0, 1, 0.5) for _ in range(1000)]
    assert told[0] == 20
    assert max(told) <= 81
    counts = Counter(told)
    assert max(counts.values()) <= 20  # five to eight rounds of two in a second
    assert throughput.retry_after_s(scheduler, "short", 1, 0.0, 1, 0.5) == 1


predictions = st.floats(min_value=0.0, allow_nan=False)
ends = st.lists(
    st.tuples(st.sampled_from(QUEUES), predictions, st.floats(0.0, 1e6), st.integers(1, 200)), max_size=8
)


@example([("short", 0.05, 0.8, 40)], 0.5, "long")
@example([("long", 0.0, 0.1, 20_000)], 0.5, "short")
@example([("long", inf, 1.0, 1)], 0.5, "short")
@given(ends, st.floats(0.001, 100.0), st.sampled_from(QUEUES))
def test_no_past_makes_a_guess_long_or_a_time_senseless_and_every_past_is_forgotten(
    past: list[tuple[QueueName, float, float, int]], long_s: float, queue: QueueName
) -> None:
    throughput = Throughput(long_s)
    for ended_in, predicted, took, times in past:
        for _ in range(times):
            throughput.ended(ended_in, predicted, took)
            assert throughput.usual_s <= long_s
    scheduler = scheduler_with(2.0, 10)
    for name in QUEUES:
        assert 1 <= throughput.retry_after_s(scheduler, name, 2, 0.0, 1, 0.5) <= MAX_RETRY_AFTER_S
    least = min(0.02, long_s)
    for _ in range(1000):
        throughput.ended(queue, least, least)
    assert throughput.usual_s == pytest.approx(least, rel=0.01)
    assert throughput.drain_rate(queue, 1) == pytest.approx(1.0, rel=0.01)


def test_work_that_moves_nowhere_is_a_stall_and_no_work_is_not() -> None:
    progress = Progress(5.0, now=0.0)
    assert not progress.stalled(4.9, pending=True)
    assert progress.stalled(5.1, pending=True)
    assert not progress.stalled(1000.0, pending=False)
    progress.note(1000.0)
    assert not progress.stalled(1004.0, pending=True)


def test_cpu_time_is_progress_and_a_process_that_gets_none_is_not() -> None:
    progress = Progress(5.0, now=0.0)
    progress.compare({1: 10, 2: 10}, now=1.0)
    progress.compare({1: 10, 2: 11}, now=4.0)  # one is stopped, the other computes
    assert not progress.stalled(8.9, pending=True)
    for now in (5.0, 6.0, 7.0, 8.0, 9.0, 10.0):
        progress.compare({1: 10, 2: 11}, now)
    assert progress.stalled(10.0, pending=True)
    progress.compare({3: 0}, now=10.0)  # a new worker has come
    assert not progress.stalled(11.0, pending=True)


def test_the_cache_keeps_within_its_bytes_and_lets_the_least_used_go() -> None:
    entry = OVERHEAD_BYTES + 1000
    cache: Cache[str] = Cache(max_bytes=10 * entry, max_entries=100)
    for number in range(10):
        cache.put(bytes([number]), str(number), 1000, now=0.0)
    assert cache.get(b"\x00") is not None  # now the most recently used
    cache.put(b"new", "new", 1000, now=1.0)
    assert cache.get(b"\x00") is not None
    assert cache.get(b"\x01") is None
    assert len(cache) == 10
    assert cache.size == 10 * entry


def test_the_cache_keeps_within_its_entries() -> None:
    cache: Cache[str] = Cache(max_bytes=10**9, max_entries=3)
    for number in range(10):
        cache.put(bytes([number]), str(number), 10, now=float(number))
    assert len(cache) == 3
    assert [kept.value for key in (7, 8, 9) if (kept := cache.get(bytes([key])))] == ["7", "8", "9"]


@pytest.mark.parametrize(("max_bytes", "max_entries"), [(0, 10), (10**9, 0), (10_000, 10)])
def test_large_or_unwanted_answers_are_not_kept(max_bytes: int, max_entries: int) -> None:
    cache: Cache[str] = Cache(max_bytes, max_entries)
    cache.put(b"key", "value", 9_000, now=0.0)
    assert len(cache) == 0
    assert cache.size == 0


def test_an_answer_that_is_kept_twice_counts_once() -> None:
    cache: Cache[str] = Cache(10**9, 10)
    for now in (1.0, 2.0):
        cache.put(b"key", "value", 10, now)
    found: Any = cache.get(b"key")
    assert found.at == 1.0
    assert cache.size == OVERHEAD_BYTES + 10


# Identical calls share one computation; deadlines and departures stay everybody's own. No processes.


LONG_S = 1000.0


class Work:
    """A computation that ends on demand, and counts its runs."""

    def __init__(self) -> None:
        self.begun = 0
        self.cancelled = 0
        self.end = asyncio.Event()
        self.flight: Flight | None = None

    async def __call__(self, flight: Flight) -> str:
        self.begun += 1
        self.flight = flight
        try:
            await self.end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return f"answer {self.begun}"


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(180):
            await scenario()

    asyncio.run(bounded())


async def begun(work: Work) -> None:
    while not work.begun:  # noqa: ASYNC110  (a turn of the loop, no time)
        await asyncio.sleep(0)
    await asyncio.sleep(0)


def asking(
    single_flight: SingleFlight, work: Any, key: str = "key", deadline_s: float = LONG_S
) -> asyncio.Task[Any]:
    return asyncio.ensure_future(single_flight.join(key, work, deadline_s, LONG_S))


def test_a_herd_computes_once_and_all_but_the_first_share_the_answer() -> None:
    async def scenario() -> None:
        single_flight, work = SingleFlight(), Work()
        herd = [asking(single_flight, work) for _ in range(50)]
        await begun(work)
        work.end.set()
        assert await asyncio.gather(*herd) == [("answer 1", False), *[("answer 1", True)] * 49]

    run(scenario)


def test_other_keys_and_later_calls_compute_for_themselves() -> None:
    async def scenario() -> None:
        single_flight, work = SingleFlight(), Work()
        work.end.set()
        assert await asking(single_flight, work, "a") == ("answer 1", False)
        assert await asking(single_flight, work, "a") == ("answer 2", False)
        assert await asking(single_flight, work, "b") == ("answer 3", False)

    run(scenario)


def test_a_leaving_caller_does_not_affect_others_and_the_last_ends_the_work() -> None:
    async def scenario() -> None:
        single_flight, work = SingleFlight(), Work()
        herd = [asking(single_flight, work) for _ in range(3)]
        await begun(work)
        herd[0].cancel()
        herd[1].cancel()
        await asyncio.gather(*herd[:2], return_exceptions=True)
        assert work.cancelled == 0
        herd[2].cancel()
        await asyncio.gather(herd[2], return_exceptions=True)
        assert work.cancelled == 1
        assert work.flight is not None
        assert work.flight.ending == "disconnect"

    run(scenario)


def test_a_deadline_is_everybodys_own() -> None:
    async def scenario() -> None:
        single_flight, work = SingleFlight(), Work()
        patient = asking(single_flight, work)
        hasty = asking(single_flight, work, deadline_s=0.02)
        with pytest.raises(DeadlineExceeded):
            await hasty
        assert work.cancelled == 0
        work.end.set()
        assert await patient == ("answer 1", False)

    run(scenario)


def test_the_last_deadline_ends_the_work_and_says_why() -> None:
    async def scenario() -> None:
        single_flight, work = SingleFlight(), Work()
        with pytest.raises(DeadlineExceeded):
            await asking(single_flight, work, deadline_s=0.02)
        assert work.cancelled == 1
        assert work.flight is not None
        assert work.flight.ending == "deadline"

    run(scenario)


def test_a_deadline_in_the_body_counts_for_those_who_come_later_too() -> None:
    async def scenario() -> None:
        single_flight, work = SingleFlight(), Work()
        first = asking(single_flight, work)
        await begun(work)
        assert work.flight is not None
        work.flight.deadline(0.02)
        with pytest.raises(DeadlineExceeded):
            await first

        work = Work()
        first = asking(single_flight, work)
        await begun(work)
        assert work.flight is not None
        work.flight.deadline(0.05)
        second = asking(single_flight, work)
        for call in (first, second):
            with pytest.raises(DeadlineExceeded):
                await call

    run(scenario)


def test_a_caller_during_a_cancellation_starts_a_new_computation() -> None:
    async def scenario() -> None:
        single_flight, work = SingleFlight(), Work()
        first = asking(single_flight, work)
        await begun(work)
        first.cancel()
        second = asking(single_flight, work)
        work.end.set()
        assert await second == ("answer 2", False)
        await asyncio.gather(first, return_exceptions=True)

    run(scenario)


def test_an_error_is_everybodys() -> None:
    async def scenario() -> None:
        async def fails(flight: Flight) -> str:
            await asyncio.sleep(0)
            raise InvalidTest("no")

        single_flight = SingleFlight()
        results = await asyncio.gather(
            *(asking(single_flight, fails) for _ in range(3)), return_exceptions=True
        )
        assert [type(result) for result in results] == [InvalidTest] * 3

    run(scenario)


MIB = 2**20


def test_memory_is_given_back_when_a_peak_is_over_and_not_while_requests_hold_it() -> None:
    peaks = Peaks(100 * MIB)
    assert not peaks.over(100 * MIB + WORTH_BYTES, 0)
    assert not peaks.over(600 * MIB, 490 * MIB)
    assert peaks.over(600 * MIB, 20 * MIB)
    peaks.gave_back(110 * MIB, 10 * MIB)
    assert not peaks.over(110 * MIB, 0)


def test_lasting_memory_is_not_requested_again_and_again() -> None:
    peaks = Peaks(100 * MIB)
    assert peaks.over(300 * MIB, 0)
    peaks.gave_back(300 * MIB, 0)
    assert not peaks.over(305 * MIB, 0)
    assert peaks.over(400 * MIB, 0)


def test_bytes_of_ended_requests_are_given_back() -> None:
    peaks = Peaks(100 * MIB)
    assert peaks.over(300 * MIB, 100 * MIB)
    peaks.gave_back(300 * MIB, 100 * MIB)
    assert not peaks.over(300 * MIB, 100 * MIB)
    assert peaks.over(300 * MIB, 0)
    assert peaks.over(210 * MIB, 0)  # they have gone, so that it is worth a try
    peaks.gave_back(210 * MIB, 0)
    assert not peaks.over(210 * MIB, 0)


def test_a_worker_stands_still_when_it_is_stopped_for_long_or_waits_for_a_device_for_longer() -> None:
    standstill = Standstill(2.0, 5.0)
    states = {1: ("R", 7), 2: ("T", 7), 3: ("D", 7), 4: ("S", 7), 5: ("t", 7)}
    assert standstill.look(states, 10.0) == (set(), {2, 3, 5})
    assert standstill.look(states, 11.9) == (set(), {2, 3, 5})
    assert standstill.look(states, 12.0) == ({2, 5}, {2, 3, 5})
    assert standstill.look(states, 15.0) == ({2, 3, 5}, {2, 3, 5})


def test_a_move_in_between_restarts_the_wait() -> None:
    standstill = Standstill(2.0, 2.0)
    standstill.look({1: ("T", 7), 2: ("D", 7), 3: ("D", 7), 4: ("D", 7)}, 10.0)
    standstill.look({1: ("R", 7), 2: ("D", 8), 3: ("T", 7)}, 11.0)
    assert standstill.look({1: ("T", 7), 2: ("D", 8), 3: ("T", 7), 4: ("D", 7)}, 12.5) == (
        set(),
        {1, 2, 3, 4},
    )
    assert standstill.look({1: ("T", 7), 2: ("D", 8), 3: ("T", 7), 4: ("D", 7)}, 13.2)[0] == {2, 3}
