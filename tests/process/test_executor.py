"""Worker processes: results, deadlines, cancellation, loss, overload, and answers in parts. No HTTP, no statistics."""

import asyncio
import hashlib
import os
import signal
import sys
from pathlib import Path

import pytest

from exactperm.errors import DeadlineExceeded, InvalidTest, Overloaded, WorkerLost
from exactperm.execution.ipc import TooLong
from exactperm.execution.worker import NICENESS
from tests.process import executors
from tests.process.executors import alive, executor, run, until

AGES_S = 300.0


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all processes have the same priority")
def test_workers_give_way_to_the_web_process() -> None:
    async def scenario() -> None:
        wanted = min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
        async with executor(workers=2) as pool:
            # The first call of a worker is its warm-up, for which it is in no hurry to give way.
            await asyncio.gather(*[pool.run(executors.sleep, 0.3, b"", AGES_S) for _ in range(2)])
            await until(lambda: [os.getpriority(os.PRIO_PROCESS, pid) for pid in pool.pids] == [wanted] * 2)

    run(scenario)


@pytest.mark.parametrize("size", [0, 1, 70_000, 20_000_000])
def test_a_body_arrives_as_it_was_sent(size: int) -> None:
    async def scenario() -> None:
        body = os.urandom(size)
        async with executor() as pool:
            for given in (body, bytearray(body)):
                assert (
                    await pool.run(executors.digest, "x", given, AGES_S)
                    == "x" + hashlib.sha256(body).hexdigest()
                )

    run(scenario)


def test_a_worker_is_used_again_and_again() -> None:
    async def scenario() -> None:
        async with executor() as pool:
            assert {await pool.run(executors.pid, None, b"", AGES_S) for _ in range(5)} == set(pool.pids)

    run(scenario)


def test_exceptions_reach_the_caller_and_the_worker_continues() -> None:
    async def scenario() -> None:
        async with executor() as pool:
            pids = pool.pids
            with pytest.raises(InvalidTest) as caught:
                await pool.run(executors.refuse, None, b"", AGES_S)
            assert caught.value.flaws[0].pointer == "/u"
            with pytest.raises(RuntimeError, match="Unpicklable"):
                await pool.run(executors.fail_oddly, None, b"", AGES_S)
            assert await pool.run(executors.pid, None, b"", AGES_S) in pids

    run(scenario)


def test_a_result_is_kept_before_its_flight_ends() -> None:
    async def scenario() -> None:
        kept: list[object] = []
        async with executor() as pool:
            call = asyncio.ensure_future(
                pool.run_shared("key", executors.digest, "x", b"", AGES_S, keep=kept.append)
            )
            while not call.done():
                await asyncio.sleep(0)
                # Who comes in any turn of the loop finds the flight, or what it has left.
                assert pool.under_way("key") or kept
            result, _ = call.result()
            assert kept == [result]

    run(scenario)


def test_the_deadline_kills_the_worker_and_another_one_takes_over() -> None:
    async def scenario() -> None:
        async with executor() as pool:
            (before,) = pool.pids
            with pytest.raises(DeadlineExceeded):
                await pool.run(executors.sleep, AGES_S, b"", 0.2)
            await until(lambda: not alive(before))
            assert await pool.run(executors.pid, None, b"", AGES_S) != before

    run(scenario)


def test_a_function_may_set_its_deadline_but_none_beyond_the_longest() -> None:
    async def scenario() -> None:
        async with executor() as pool:
            with pytest.raises(DeadlineExceeded):
                await pool.run(executors.set_deadline_and_sleep, (0.2, AGES_S), b"", AGES_S)
            with pytest.raises(DeadlineExceeded):
                await pool.run(executors.set_deadline_and_sleep, (AGES_S, AGES_S), b"", 10, 0.2)
            assert (
                await pool.run(executors.sleep, 0, b"", AGES_S) == "slept"
            )  # the next one has imported the jobs
            for first_s in (1.5, 6.0, 24.0):  # within which a busy machine has to begin
                try:
                    asked = pool.run(
                        executors.set_deadline_and_sleep, (AGES_S, first_s + 0.5), b"", first_s, AGES_S
                    )
                    assert await asked == "slept"
                    break
                except DeadlineExceeded:
                    assert first_s < 24.0

    run(scenario)


def test_the_deadline_counts_while_waiting_for_a_worker() -> None:
    async def scenario() -> None:
        async with executor() as pool:
            busy = asyncio.ensure_future(pool.run(executors.sleep, AGES_S, b"", AGES_S))
            await asyncio.sleep(0)
            with pytest.raises(DeadlineExceeded):
                await pool.run(executors.pid, None, b"", 0.2)
            assert pool.queued == 0
            busy.cancel()

    run(scenario)


def test_a_cancelled_caller_ends_its_computation(tmp_path: Path) -> None:
    async def scenario() -> None:
        marker = tmp_path / "pid"
        async with executor() as pool:
            call = asyncio.ensure_future(
                pool.run(executors.touch_and_sleep, (str(marker), AGES_S), b"", AGES_S)
            )
            await until(lambda: marker.exists() and marker.read_text() != "")
            call.cancel()
            await until(lambda: not alive(int(marker.read_text())))
            assert await pool.run(executors.sleep, 0, b"", AGES_S) == "slept"

    run(scenario)


def test_a_caller_that_gives_up_in_the_queue_loses_no_worker() -> None:
    async def scenario() -> None:
        async with executor() as pool:
            first = asyncio.ensure_future(pool.run(executors.sleep, 2.0, b"", AGES_S))
            await asyncio.sleep(0)
            waiting = [asyncio.ensure_future(pool.run(executors.sleep, 0, b"", AGES_S)) for _ in range(5)]
            await until(lambda: pool.queued == 5)
            for call in waiting[::2]:
                call.cancel()
            assert await first == "slept"
            assert await asyncio.gather(*waiting[1::2]) == ["slept", "slept"]
            assert pool.queued == 0

    run(scenario)


def test_a_lost_worker_is_retried_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with executor() as pool:
            assert await pool.run(executors.die_once, str(tmp_path / "marker"), b"", AGES_S) == "survived"
            with pytest.raises(WorkerLost):
                await pool.run(executors.die, None, b"", AGES_S)
            assert await pool.run(executors.sleep, 0, b"", AGES_S) == "slept"

    run(scenario)


def test_an_idle_worker_that_is_killed_is_replaced() -> None:
    async def scenario() -> None:
        async with executor(workers=2) as pool:
            before = pool.pids
            for pid in before:
                os.kill(pid, signal.SIGKILL)
            await until(lambda: not any(alive(pid) for pid in before))
            results = await asyncio.gather(*(pool.run(executors.pid, None, b"", AGES_S) for _ in range(6)))
            assert not set(results) & set(before)
            await until(lambda: len(pool.pids) == 2)

    run(scenario)


def test_killing_a_worker_fails_no_other_call() -> None:
    async def scenario() -> None:
        async with executor(workers=2, queue_depth=100) as pool:
            calls = [
                asyncio.ensure_future(pool.run(executors.sleep, 0.02, b"x" * 10_000, AGES_S))
                for _ in range(60)
            ]
            for kills in range(1, 4):
                # A call that was lost is repeated before those that wait, so it has ended by now.
                await until(lambda: sum(call.done() for call in calls) >= 10 * kills and bool(pool.pids))  # noqa: B023  (awaited here)
                os.kill(pool.pids[0], signal.SIGKILL)
            assert await asyncio.gather(*calls) == ["slept"] * 60

    run(scenario)


def test_a_full_queue_refuses_at_once() -> None:
    async def scenario() -> None:
        async with executor(queue_depth=2) as pool:
            calls = [asyncio.ensure_future(pool.run(executors.sleep, 2.0, b"", AGES_S)) for _ in range(3)]
            await until(lambda: pool.queued == 2)
            with pytest.raises(Overloaded):
                await pool.run(executors.sleep, 0, b"", AGES_S)
            assert await asyncio.gather(*calls) == ["slept"] * 3

    run(scenario)


def test_a_signal_to_the_whole_group_does_not_end_a_worker() -> None:
    async def scenario() -> None:
        async with executor() as pool:
            (pid,) = pool.pids
            for number in (signal.SIGTERM, signal.SIGINT):
                os.kill(pid, number)
            assert await pool.run(executors.pid, None, b"", AGES_S) == pid

    run(scenario)


def test_stopping_ends_workers_and_waiting_calls() -> None:
    async def scenario() -> None:
        async with executor() as pool:
            pids = pool.pids
            calls = [asyncio.ensure_future(pool.run(executors.sleep, AGES_S, b"", AGES_S)) for _ in range(2)]
            await until(lambda: pool.queued == 1)
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(result) for result in results} <= {Overloaded, WorkerLost}
        assert not any(alive(pid) for pid in pids)
        assert not pool.ready

    run(scenario)


BODY = bytes(range(200))


def sums(parts: int) -> tuple[int, ...]:
    return tuple(sum(BODY[part::parts]) for part in range(parts))


def lines(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def test_parts_run_in_several_workers_and_are_joined_in_order(tmp_path: Path) -> None:
    async def scenario() -> None:
        seen = tmp_path / "seen"
        async with executor(workers=2) as pool:
            assert await pool.run(executors.split_up, (str(seen), 5, 0.1), BODY, AGES_S) == sums(5)
        ran = lines(seen)
        assert sorted(part for part, _ in ran[:-1]) == list("01234")
        assert ran[-1][0] == "all"
        assert len({pid for _, pid in ran[:-1]}) == 2

    run(scenario)


def test_a_full_queue_refuses_no_part(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with executor(workers=1, queue_depth=0) as pool:
            assert await pool.run(
                executors.split_up, (str(tmp_path / "seen"), 4, 0.01), BODY, AGES_S
            ) == sums(4)

    run(scenario)


def test_a_short_call_comes_between_the_parts(tmp_path: Path) -> None:
    async def scenario() -> None:
        seen = tmp_path / "seen"
        async with executor(workers=1) as pool:
            whole = asyncio.create_task(pool.run(executors.split_up, (str(seen), 8, 0.2), BODY, AGES_S))
            await until(lambda: len(lines(seen)) >= 1)
            await pool.run(executors.sleep, 0.0, b"", AGES_S)
            assert not whole.done()
            assert await whole == sums(8)

    run(scenario)


def test_the_part_of_a_lost_worker_alone_runs_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        seen = tmp_path / "seen"
        async with executor(workers=2) as pool:
            whole = asyncio.create_task(pool.run(executors.split_up, (str(seen), 4, 3.0), BODY, AGES_S))
            await until(lambda: len(lines(seen)) >= 2)
            lost, pid = lines(seen)[1]
            os.kill(int(pid), signal.SIGKILL)
            assert await whole == sums(4)
            ran = [part for part, _ in lines(seen)]
            assert sorted(ran) == sorted(["0", "1", "2", "3", lost, "all"])
            assert pool.restarts["died"] == 1

    run(scenario)


def test_a_part_whose_workers_die_twice_ends_the_whole(tmp_path: Path) -> None:
    async def scenario() -> None:
        seen = tmp_path / "seen"
        async with executor(workers=1) as pool:
            whole = asyncio.create_task(pool.run(executors.split_up, (str(seen), 3, AGES_S), BODY, AGES_S))
            for attempt in (1, 2):
                await until(lambda: len(lines(seen)) == attempt)  # noqa: B023  (awaited here)
                os.kill(int(lines(seen)[-1][1]), signal.SIGKILL)
            with pytest.raises(WorkerLost):
                await whole
            await until(lambda: len(pool.pids) == 1 and not pool.queued)
            assert pool.running == 0

    run(scenario)


def test_all_parts_have_the_deadline_of_the_whole(tmp_path: Path) -> None:
    async def scenario() -> None:
        seen = tmp_path / "seen"
        async with executor(workers=2) as pool:
            for deadline_s in (1.0, 4.0, 16.0, 64.0):  # within which a busy machine has to begin some
                with pytest.raises(DeadlineExceeded):
                    await pool.run(executors.split_up, (str(seen), 8, AGES_S), BODY, deadline_s)
                if lines(seen):
                    break
            pids = [int(pid) for _, pid in lines(seen)]
            assert 1 <= len(pids) <= 2
            await until(lambda: not any(alive(pid) for pid in pids))
            await until(lambda: len(pool.pids) == 2)
            assert (pool.running, pool.queued) == (0, 0)

    run(scenario)


def test_parts_end_when_no_caller_waits(tmp_path: Path) -> None:
    async def scenario() -> None:
        seen = tmp_path / "seen"
        async with executor(workers=2) as pool:
            whole = asyncio.create_task(pool.run(executors.split_up, (str(seen), 8, AGES_S), BODY, AGES_S))
            await until(lambda: len(lines(seen)) == 2)
            pids = [int(pid) for _, pid in lines(seen)]
            whole.cancel()
            await until(lambda: not any(alive(pid) for pid in pids))
            await until(lambda: len(pool.pids) == 2)
            assert (pool.running, pool.queued) == (0, 0)

    run(scenario)


def test_no_part_runs_of_a_call_far_beyond_its_deadline(tmp_path: Path) -> None:
    async def scenario() -> None:
        seen = tmp_path / "seen"
        async with executor(workers=2, most_over_deadline=3.0) as pool:
            with pytest.raises(TooLong) as caught:
                await pool.run(executors.split_up, (str(seen), 8, AGES_S), BODY, AGES_S)
            assert caught.value.seconds == 8 * AGES_S / 2
            assert lines(seen) == []

    run(scenario)


def test_a_refusal_of_one_part_ends_the_others(tmp_path: Path) -> None:
    async def scenario() -> None:
        marker = str(tmp_path / "marker")
        async with executor(workers=3) as pool:
            with pytest.raises(InvalidTest) as caught:
                await pool.run(executors.split_and_refuse, marker, BODY, AGES_S)
            assert caught.value.flaws[0].pointer == "/u"
            await until(lambda: pool.running == 0)

    run(scenario)
