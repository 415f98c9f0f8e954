"""An answer that several workers compute in parts: order, deadlines, lost workers, refusals. No HTTP, no statistics."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from exactperm.errors import DeadlineExceeded, InvalidTest, WorkerLost
from exactperm.execution.ipc import TooLong
from tests.process import jobs
from tests.process.executors import alive, executor, run, until

pytestmark = pytest.mark.process
BODY = bytes(range(200))
AGES_S = 300.0


def sums(parts: int) -> tuple[int, ...]:
    return tuple(sum(BODY[part::parts]) for part in range(parts))


def lines(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def test_parts_run_in_several_workers_and_are_joined_in_order(tmp_path: Path) -> None:
    async def scenario() -> None:
        seen = tmp_path / "seen"
        async with executor(workers=2) as pool:
            assert await pool.run(jobs.split_up, (str(seen), 5, 0.1), BODY, AGES_S) == sums(5)
        ran = lines(seen)
        assert sorted(part for part, _ in ran[:-1]) == list("01234")
        assert ran[-1][0] == "all"
        assert len({pid for _, pid in ran[:-1]}) == 2

    run(scenario)


def test_a_full_queue_refuses_no_part(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with executor(workers=1, queue_depth=0) as pool:
            assert await pool.run(jobs.split_up, (str(tmp_path / "seen"), 4, 0.01), BODY, AGES_S) == sums(4)

    run(scenario)


def test_a_short_call_comes_between_the_parts(tmp_path: Path) -> None:
    async def scenario() -> None:
        seen = tmp_path / "seen"
        async with executor(workers=1) as pool:
            whole = asyncio.create_task(pool.run(jobs.split_up, (str(seen), 8, 0.2), BODY, AGES_S))
            await until(lambda: len(lines(seen)) >= 1)
            await pool.run(jobs.sleep, 0.0, b"", AGES_S)
            assert not whole.done()
            assert await whole == sums(8)

    run(scenario)


def test_the_part_of_a_lost_worker_alone_runs_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        seen = tmp_path / "seen"
        async with executor(workers=2) as pool:
            whole = asyncio.create_task(pool.run(jobs.split_up, (str(seen), 4, 3.0), BODY, AGES_S))
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
            whole = asyncio.create_task(pool.run(jobs.split_up, (str(seen), 3, AGES_S), BODY, AGES_S))
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
                    await pool.run(jobs.split_up, (str(seen), 8, AGES_S), BODY, deadline_s)
                if lines(seen):
                    break
            pids = [int(pid) for _, pid in lines(seen)]
            assert 1 <= len(pids) <= 2
            await until(lambda: not any(alive(pid) for pid in pids))
            await until(lambda: len(pool.pids) == 2)
            assert (pool.running, pool.queued) == (0, 0)

    run(scenario)


def test_parts_end_when_nobody_waits(tmp_path: Path) -> None:
    async def scenario() -> None:
        seen = tmp_path / "seen"
        async with executor(workers=2) as pool:
            whole = asyncio.create_task(pool.run(jobs.split_up, (str(seen), 8, AGES_S), BODY, AGES_S))
            await until(lambda: len(lines(seen)) == 2)
            pids = [int(pid) for _, pid in lines(seen)]
            whole.cancel()
            await until(lambda: not any(alive(pid) for pid in pids))
            await until(lambda: len(pool.pids) == 2)
            assert (pool.running, pool.queued) == (0, 0)

    run(scenario)


def test_what_would_take_far_longer_than_its_deadline_has_no_part_run(tmp_path: Path) -> None:
    async def scenario() -> None:
        seen = tmp_path / "seen"
        async with executor(workers=2, most_over_deadline=3.0) as pool:
            with pytest.raises(TooLong) as caught:
                await pool.run(jobs.split_up, (str(seen), 8, AGES_S), BODY, AGES_S)
            assert caught.value.seconds == 8 * AGES_S / 2
            assert lines(seen) == []

    run(scenario)


def test_a_refusal_of_one_part_ends_the_others(tmp_path: Path) -> None:
    async def scenario() -> None:
        marker = str(tmp_path / "marker")
        async with executor(workers=3) as pool:
            with pytest.raises(InvalidTest) as caught:
                await pool.run(jobs.split_and_refuse, marker, BODY, AGES_S)
            assert caught.value.flaws[0].pointer == "/u"
            await until(lambda: pool.running == 0)

    run(scenario)
