"""Worker processes under stress: memory, long calls beside short ones, herds, storms of kills, and stalls."""

import asyncio
import itertools
import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from exactperm.errors import DeadlineExceeded, InvalidTest, OutOfMemory, Overloaded
from exactperm.execution.executor import Executor
from loadtest.chaos import chaos
from tests.process import executors
from tests.process.conftest import NEEDS_PROC, PATIENCE_S, PROC
from tests.process.executors import alive, executor, run, until

pytestmark = NEEDS_PROC
AGES_S = 300.0
MIB = 2**20


def quiet(pool: Executor) -> bool:
    """Whether every gauge is back at 0."""
    return pool.queued == 0 and pool.running == 0 and pool.pending_seconds == 0


def descriptors() -> int:
    """How many files, sockets and pipes this process has open."""
    return len(list((PROC / "self" / "fd").iterdir()))


# -- memory -------------------------------------------------------------------------------------------------


def test_a_call_that_takes_too_much_memory_dies_alone() -> None:
    async def scenario() -> None:
        async with executor(workers=2, memory_bytes=64 * MIB) as pool:
            before = set(pool.pids)
            other = asyncio.ensure_future(pool.run(executors.sleep, 0.5, b"", AGES_S))
            with pytest.raises(OutOfMemory):
                await pool.run(executors.hog, 200 * MIB, b"", AGES_S)
            assert await other == "slept"
            await until(lambda: len(pool.pids) == 2 and set(pool.pids) != before)
            assert len(before & set(pool.pids)) == 1
            assert dict(pool.restarts) == {"memory": 1}
            assert await pool.run(executors.hog, 16 * MIB, b"", AGES_S) == 16  # within the limit
            assert quiet(pool)

    run(scenario)


def test_a_body_that_does_not_fit_is_out_of_memory_too() -> None:
    async def scenario() -> None:
        async with executor(memory_bytes=16 * MIB) as pool:
            with pytest.raises(OutOfMemory):
                await pool.run(executors.digest, "x", bytes(40 * MIB), AGES_S)
            assert await pool.run(executors.sleep, 0, b"", AGES_S) == "slept"

    run(scenario)


def test_memory_that_the_kernels_limit_does_not_count_is_seen_by_the_supervisor() -> None:
    async def scenario() -> None:
        async with executor(memory_bytes=64 * MIB) as pool:
            (before,) = pool.pids
            with pytest.raises(OutOfMemory):
                await pool.run(executors.hog_shared, 200 * MIB, b"", AGES_S)
            await until(lambda: not alive(before))
            assert await pool.run(executors.sleep, 0, b"", AGES_S) == "slept"
            assert dict(pool.restarts) == {"memory": 1}

    run(scenario)


def test_a_worker_has_the_whole_limit_again_for_the_next_call() -> None:
    async def scenario() -> None:
        async with executor(memory_bytes=64 * MIB) as pool:
            pids = pool.pids
            for _ in range(10):
                assert await pool.run(executors.hog, 40 * MIB, b"x" * MIB * 2, AGES_S) == 40
            assert pool.pids == pids

    run(scenario)


# -- long and short -----------------------------------------------------------------------------------------


def spans(path: Path) -> list[tuple[float, float]]:
    lines = path.read_text().splitlines()
    return sorted((float(begin), float(end)) for begin, end in (line.split() for line in lines))


def test_long_calls_run_one_at_a_time_where_there_is_one_place_and_none_is_lost(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "spans"
        async with executor(workers=3, long_places=1, queue_seconds=1e6) as pool:
            job = (str(path), 60.0, 0.2)
            calls = [pool.run(executors.plan_and_note, job, b"", AGES_S) for _ in range(5)]
            assert await asyncio.gather(*calls) == ["planned"] * 5
            found = spans(path)
            assert len(found) == 5
            assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(found))
            assert quiet(pool)

    run(scenario)


def test_a_stream_of_short_calls_passes_long_ones() -> None:
    async def scenario() -> None:
        async with executor(workers=2, long_places=1, queue_depth=100, queue_seconds=1e6) as pool:
            long = [
                asyncio.ensure_future(
                    pool.run(executors.plan_and_note, (os.devnull, 60.0, AGES_S), b"", AGES_S)
                )
                for _ in range(5)
            ]
            await until(lambda: pool.running == 1 and pool.queued == 4)
            await asyncio.gather(*(_client(pool) for _ in range(4)))
            assert not any(call.done() for call in long)  # each would be in the way for five minutes
            assert pool.running == 1
            for call in long:
                call.cancel()

    run(scenario)


async def _client(pool: Executor) -> None:
    for _ in range(25):
        assert await pool.run(executors.sleep, 0.01, b"", AGES_S) == "slept"


def test_after_many_slow_short_calls_the_next_one_passes_a_long_one() -> None:
    async def scenario() -> None:
        async with executor(workers=2, long_places=1, long_s=0.02) as pool:
            for _ in range(40):
                assert await pool.run(executors.sleep, 0.03, b"", AGES_S) == "slept"
            long = asyncio.ensure_future(
                pool.run(executors.plan_and_note, (os.devnull, 60.0, AGES_S), b"", AGES_S)
            )
            await until(lambda: pool._scheduler.running("long") == 1)
            assert await pool.run(executors.sleep, 0.01, b"", AGES_S) == "slept"
            assert not long.done()
            long.cancel()

    run(scenario)


def test_a_full_lane_of_long_calls_refuses_long_ones_with_a_time_and_takes_short_ones() -> None:
    async def scenario() -> None:
        async with executor(workers=2, long_places=1, queue_depth=50, queue_seconds=50) as pool:
            job = (os.devnull, 40.0, AGES_S)
            long = [
                asyncio.ensure_future(pool.run(executors.plan_and_note, job, b"", AGES_S)) for _ in range(2)
            ]
            await until(lambda: pool.running == 1 and pool.queued == 1)
            with pytest.raises(Overloaded) as caught:
                await pool.run(executors.plan_and_note, job, b"", AGES_S)
            assert caught.value.retry_after_s is not None
            assert 40 <= caught.value.retry_after_s <= 90  # what two such calls are predicted to take
            assert dict(pool.rejections) == {"queue_seconds": 1}
            assert await pool.run(executors.sleep, 0, b"", AGES_S) == "slept"
            for call in long:
                call.cancel()

    run(scenario)


def test_a_put_off_call_keeps_its_deadline_and_can_be_cancelled() -> None:
    async def scenario() -> None:
        async with executor(workers=2, long_places=1) as pool:
            job = (os.devnull, 60.0, AGES_S)
            first = asyncio.ensure_future(pool.run(executors.plan_and_note, job, b"", AGES_S))
            await until(lambda: pool._scheduler.running("long") == 1)  # it has the one place
            late = asyncio.ensure_future(pool.run(executors.plan_and_note, job, b"", 10.0))
            leaving = asyncio.ensure_future(pool.run(executors.plan_and_note, job, b"", AGES_S))
            await until(lambda: pool.queued == 2)
            leaving.cancel()
            with pytest.raises(DeadlineExceeded):
                await late
            await until(lambda: pool.queued == 0)
            assert not first.done()
            assert len(pool.pids) == 2  # whoever waits takes no worker along
            first.cancel()

    run(scenario)


# -- leaving ------------------------------------------------------------------------------------------------


def test_a_caller_that_leaves_a_call_about_to_end_costs_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "exactperm.execution.executor.LEAVING_S", PATIENCE_S
    )  # however long the machine takes for 20 ms

    async def scenario() -> None:
        async with executor() as pool:
            await pool.run(executors.sleep, 0, b"", AGES_S)  # the first call also imports this module
            pids = pool.pids
            for _ in range(5):
                call = asyncio.ensure_future(pool.run(executors.sleep, 0.02, b"", AGES_S))
                await until(lambda: pool.running == 1)
                call.cancel()
                await until(lambda: pool.running == 0)
            assert pool.pids == pids
            assert not pool.restarts

    run(scenario)


def test_restarts_are_counted_by_reason(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with executor() as pool:
            with pytest.raises(DeadlineExceeded):
                await pool.run(executors.sleep, AGES_S, b"", 0.1)
            await until(lambda: pool.running == 0)
            call = asyncio.ensure_future(pool.run(executors.sleep, AGES_S, b"", AGES_S))
            await until(lambda: pool.running == 1)
            call.cancel()
            await until(lambda: pool.running == 0)
            assert await pool.run(executors.die_once, str(tmp_path / "marker"), b"", AGES_S) == "survived"
            assert dict(pool.restarts) == {"deadline": 1, "disconnect": 1, "died": 1}

    run(scenario)


# -- herds --------------------------------------------------------------------------------------------------


def sharing(pool: Executor, function: Any, job: object, deadline_s: float = AGES_S) -> asyncio.Task[Any]:
    return asyncio.ensure_future(pool.run_shared("the same", function, job, b"", deadline_s))


def test_a_herd_of_identical_calls_computes_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "count"
        async with executor(workers=2, queue_depth=0) as pool:  # the herd needs no place in the queue
            herd = [sharing(pool, executors.count, (str(path), 0.3)) for _ in range(100)]
            results = await asyncio.gather(*herd)
            assert [result for result, _ in results] == ["counted"] * 100
            assert sum(shared for _, shared in results) == 99
            assert path.read_text() == "x"

    run(scenario)


def test_the_last_of_a_herd_to_leave_ends_the_work(tmp_path: Path) -> None:
    async def scenario() -> None:
        marker = tmp_path / "pid"
        async with executor() as pool:
            herd = [sharing(pool, executors.touch_and_sleep, (str(marker), AGES_S), 100) for _ in range(3)]
            await until(lambda: marker.exists() and marker.read_text() != "")
            pid = int(marker.read_text())
            for call in herd[:2]:
                call.cancel()
            await asyncio.sleep(0.5)  # longer than a call that nobody waits for may go on
            assert alive(pid)
            herd[2].cancel()
            await until(lambda: not alive(pid))

    run(scenario)


def test_the_error_of_a_herd_is_everybodys() -> None:
    async def scenario() -> None:
        async with executor() as pool:
            herd = [sharing(pool, executors.refuse, None) for _ in range(3)]
            results = await asyncio.gather(*herd, return_exceptions=True)
            assert [type(result) for result in results] == [InvalidTest] * 3

    run(scenario)


# -- kills and stalls ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_storm_of_kills_loses_no_call_and_leaves_no_processes() -> None:
    async def scenario() -> None:
        async with executor(workers=2, queue_depth=1000) as pool:
            before = descriptors()
            done = [0] * 8
            storm_over = False

            async def client(number: int) -> None:
                while not storm_over:
                    assert await pool.run(executors.sleep, 0.005, b"x" * 5000, AGES_S) == "slept"
                    done[number] += 1

            clients = [asyncio.ensure_future(client(number)) for number in range(len(done))]

            def all_since(before: list[int]) -> bool:
                """Every client has had an answer: a call that is retried gets through before the next kill."""
                return all(now > then for now, then in zip(done, before, strict=True))

            for _ in range(40):
                await until(lambda: len(pool.pids) == 2)
                victim = pool.pids[0]
                os.kill(victim, signal.SIGKILL)
                await until(partial(lambda pid: pid not in pool.pids, victim))
                await until(partial(all_since, list(done)))
            storm_over = True
            await asyncio.gather(*clients)
            await until(lambda: len(pool.pids) == 2)
            assert pool.restarts["died"] == 40
            assert quiet(pool)
            assert descriptors() == before

    run(scenario, patience_s=4 * PATIENCE_S)


def test_stopped_workers_with_work_are_a_stall_until_they_continue() -> None:
    async def scenario() -> None:
        async with executor(workers=2, stall_s=1.0) as pool:
            for pid in pool.pids:
                os.kill(pid, signal.SIGSTOP)
            await asyncio.sleep(1.5)
            assert not pool.stalled  # there is no work
            began = time.monotonic()
            calls = [asyncio.ensure_future(pool.run(executors.sleep, 0, b"", AGES_S)) for _ in range(3)]
            await asyncio.sleep(0.2)
            early = pool.stalled
            assert not early or time.monotonic() - began > 1.0  # not yet
            await until(lambda: pool.stalled)
            for pid in pool.pids:
                os.kill(pid, signal.SIGCONT)
            assert await asyncio.gather(*calls) == ["slept"] * 3
            assert not pool.stalled

    run(scenario)


def test_one_stopped_worker_loses_no_call_is_replaced_and_is_not_a_stall() -> None:
    async def scenario() -> None:
        async with executor(workers=2, stall_s=10.0) as pool:
            calls = [asyncio.ensure_future(pool.run(executors.sleep, 0.3, b"", AGES_S)) for _ in range(2)]
            await until(lambda: pool.running == 2)
            (victim, _) = pool.pids
            os.kill(victim, signal.SIGSTOP)
            stalls = 0
            while not all(call.done() for call in calls):
                stalls += pool.stalled
                await asyncio.sleep(0.02)
            assert [await call for call in calls] == ["slept"] * 2  # long before the deadline
            assert not stalls
            await until(lambda: len(pool.pids) == 2)
            assert victim not in pool.pids
            assert not alive(victim)
            assert dict(pool.restarts) == {"stopped": 1}
            assert quiet(pool)

    run(scenario)


def test_an_idle_worker_that_was_stopped_keeps_no_call() -> None:
    async def scenario() -> None:
        async with executor(workers=2, stall_s=2.0) as pool:
            assert await pool.run(executors.sleep, 0, b"", AGES_S) == "slept"
            os.kill(pool.pids[0], signal.SIGSTOP)
            calls = [asyncio.ensure_future(pool.run(executors.sleep, 0.1, b"", AGES_S)) for _ in range(6)]
            assert await asyncio.gather(*calls) == ["slept"] * 6
            assert dict(pool.restarts) == {"stopped": 1}

    run(scenario)


def test_a_worker_that_cannot_be_killed_is_given_up_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with executor(workers=2, stall_s=1.0) as pool:
            calls = [asyncio.ensure_future(pool.run(executors.sleep, 0.3, b"", AGES_S)) for _ in range(2)]
            await until(lambda: pool.running == 2)
            victim = pool._pool.workers[0]
            with monkeypatch.context() as patched:
                patched.setattr(victim._child, "kill", lambda: None)
                os.kill(victim.pid, signal.SIGSTOP)
                assert await asyncio.gather(*calls) == ["slept"] * 2
                await until(lambda: len(pool.pids) == 2 and victim.pid not in pool.pids)
                assert alive(victim.pid)
            victim._child.kill()
            await until(lambda: victim.returncode is not None)

    run(scenario)


def test_a_computation_that_holds_the_interpreter_is_busy_and_not_stalled() -> None:
    async def scenario() -> None:
        async with executor(stall_s=2.0) as pool:
            call = asyncio.ensure_future(pool.run(executors.hold_the_interpreter, 500_000_000, b"", AGES_S))
            began = time.monotonic()
            while not call.done():
                assert not pool.stalled
                await asyncio.sleep(0.05)
            assert time.monotonic() - began > 2.0  # longer than the stall that would have been seen
            assert await call == 500_000_000 * 499_999_999 // 2

    run(scenario)


def test_work_that_waits_without_any_worker_is_a_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with executor(stall_s=0.5) as pool:

            async def refused(*_: object) -> None:
                raise OSError

            monkeypatch.setattr("exactperm.execution.pool.WarmWorkers.one", refused)
            os.kill(pool.pids[0], signal.SIGKILL)
            await until(lambda: not pool.pids)
            call = asyncio.ensure_future(pool.run(executors.sleep, 0, b"", AGES_S))
            await until(lambda: pool.stalled)
            monkeypatch.undo()
            assert await call == "slept"

    run(scenario)


def test_after_random_deaths_of_workers_answers_are_right_and_resources_are_back() -> None:
    outcome = asyncio.run(chaos(kills=6, seed=1, gap_s=0.2))
    assert outcome.blows.killed == 6
    assert outcome.faults == []
