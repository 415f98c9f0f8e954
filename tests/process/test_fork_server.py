"""Where workers come from: the fork server, and processes that are each started where it cannot be. Linux's /proc is read."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.process import jobs
from tests.process.conftest import LARGE, PROC, ROOT, SMALL, Server, lives, name_of, state_and_parent, until
from tests.process.executors import executor, run, until as soon

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not PROC.is_dir(), reason="processes are found in /proc"),
]


def fork_servers(parent: int) -> set[int]:
    """The living fork servers of a process; one is named only once it has imported what it needs."""
    return {
        int(entry.name)
        for entry in PROC.iterdir()
        if entry.name.isdigit()
        and name_of(int(entry.name)) == "exactperm-fork"
        and state_and_parent(int(entry.name)) != ("Z", parent)
        and state_and_parent(int(entry.name))[1] == parent
    }


def inherited_share(pid: int) -> float:
    """How much of the memory that a process or its parents wrote is still one with another process's."""
    rollup = {
        line.split(":")[0]: int(line.split()[1])
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    }
    return rollup["Shared_Dirty"] / (rollup["Shared_Dirty"] + rollup["Private_Dirty"])


def test_workers_are_children_of_the_web_process_and_share_the_fork_servers_memory(
    start: Callable[..., Server],
) -> None:
    server = start(workers=2)
    assert len(fork_servers(server.process.pid)) == 1
    workers = server.workers()
    assert len(workers) == 2
    assert all(state_and_parent(pid)[1] == server.process.pid for pid in workers)
    assert min(inherited_share(pid) for pid in workers) > 0.5


def test_the_death_of_the_fork_server_is_not_noticed_by_anybody(start: Callable[..., Server]) -> None:
    server = start(workers=2)
    workers = server.workers()
    (first,) = fork_servers(server.process.pid)
    os.kill(first, signal.SIGKILL)
    assert server.post("/v1/tests/effects", LARGE).status_code == 200
    assert server.workers() == workers  # nobody was replaced
    victim = min(workers)
    os.kill(victim, signal.SIGKILL)
    until(lambda: len(server.workers() - {victim}) == 2, "a new fork server gives a new worker")
    (second,) = fork_servers(server.process.pid)
    assert second != first
    assert server.post("/v1/tests/scores", SMALL).status_code == 200
    assert server.stop() == 0


def started_within(start: Callable[..., Server], *seconds: float) -> Server:
    """A server with the least of these times for the start of a worker that is enough on this machine."""
    for one in seconds[:-1]:
        with contextlib.suppress(AssertionError):
            return start(workers=2, worker_start_timeout_s=one)
    return start(workers=2, worker_start_timeout_s=seconds[-1])


def test_a_stopped_fork_server_is_replaced_when_it_is_needed(start: Callable[..., Server]) -> None:
    server = started_within(start, 8, 32, 128)
    (stopped,) = fork_servers(server.process.pid)
    os.kill(stopped, signal.SIGSTOP)
    victim = min(server.workers())
    os.kill(victim, signal.SIGKILL)
    until(lambda: len(server.workers() - {victim}) == 2, "another fork server was started")
    assert stopped not in fork_servers(server.process.pid)


def test_nothing_is_left_when_the_web_process_is_killed(start: Callable[..., Server]) -> None:
    server = start(workers=2)
    family = server.workers() | fork_servers(server.process.pid)
    assert len(family) == 3
    server.process.kill()
    server.process.wait()
    until(lambda: not any(lives(pid) for pid in family), "all have ended")


NO_SECOND_FORK = """
import os
from exactperm.execution.worker import fork_for_grandparent
own, fork = os.getpid(), os.fork
def once():
    if os.getpid() != own:
        raise BlockingIOError
    return fork()
os.fork = once
try:
    fork_for_grandparent()
except OSError as error:
    print(error)
"""


def test_where_no_process_can_be_forked_it_is_said_and_not_waited_for() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", NO_SECOND_FORK],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert ended.stdout == "no process could be forked\n", ended.stderr


def test_without_a_fork_server_every_worker_is_started_and_warmed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.execution.pool.adopt_grandchildren", lambda: False)

    async def scenario() -> None:
        async with executor(workers=2) as pool:
            assert len(pool.pids) == 2
            assert max(inherited_share(pid) for pid in pool.pids) < 0.1  # each has imported for itself
            assert await pool.run(jobs.sleep, 0.01, b"", 30) == "slept"
            victim = pool.pids[0]
            os.kill(victim, signal.SIGKILL)
            await soon(lambda: len(pool.pids) == 2 and victim not in pool.pids)
            calls = [pool.run(jobs.sleep, 0.05, b"", 30) for _ in range(4)]
            assert await asyncio.gather(*calls) == ["slept"] * 4

    run(scenario)


def test_workers_that_end_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the kernel has no descriptors of processes."""

    def refused(pid: int, flags: int = 0) -> int:
        raise OSError

    async def scenario() -> None:
        async with executor(workers=1) as pool:
            victim = pool.pids[0]
            os.kill(victim, signal.SIGKILL)
            await soon(lambda: len(pool.pids) == 1 and victim not in pool.pids)
            assert state_and_parent(victim)[1] == 0  # not even a zombie

    run(scenario)
    monkeypatch.setattr("os.pidfd_open", refused)
    run(scenario)
