"""Test the start of workers: by the fork server, or one by one where it is unavailable, and amid kills."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exactperm.serving import STARTUP_FAILURE
from tests.process import executors
from tests.process.conftest import (
    LARGE,
    NEEDS_PROC,
    PATIENCE_S,
    PROC,
    ROOT,
    SMALL,
    Server,
    children,
    lives,
    name_of,
    state_and_parent,
    until,
)
from tests.process.executors import executor, run, until as soon

pytestmark = NEEDS_PROC


def fork_servers(parent: int) -> set[int]:
    """The living fork servers of a process; one gets its name only after its imports."""
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


def test_no_process_is_left_when_the_web_process_is_killed(start: Callable[..., Server]) -> None:
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


def test_failing_forks_are_reported_without_waiting() -> None:
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
            assert await pool.run(executors.sleep, 0.01, b"", 30) == "slept"
            victim = pool.pids[0]
            os.kill(victim, signal.SIGKILL)
            await soon(lambda: len(pool.pids) == 2 and victim not in pool.pids)
            calls = [pool.run(executors.sleep, 0.05, b"", 30) for _ in range(4)]
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


KILLS = 6
PATIENT_S = 2 * PATIENCE_S  # each kill costs a start


def kill_some(process: subprocess.Popen[bytes]) -> None:
    """Kill the processes that the process starts, a number of times."""
    killed: set[int] = set()

    def more() -> bool:
        assert process.poll() is None, "it has ended"
        for pid in children(process.pid) - killed:
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)
        return len(killed) >= KILLS

    until(more, "it starts processes again and again", PATIENT_S)


def test_a_server_whose_processes_are_killed_while_they_start_gets_ready(tmp_path: Path) -> None:
    server = Server(tmp_path / "log", workers=2, worker_start_timeout_s=PATIENT_S)
    try:
        kill_some(server.process)
        until(server.ready, "the server is ready", PATIENT_S)
        assert server.post("/v1/tests/scores", {"u": [1, 2, 3], "v": [0, 1, 1]}).status_code == 200
        assert "tried again: ProcessLost" in server.log.read_text()
        assert server.stop() == 0
    finally:
        server.process.kill()
        server.process.wait(PATIENCE_S)


@contextmanager
def worker(folder: Path, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "EXACTPERM_JOBS_URL": f"sqlite:///{folder / 'jobs.sqlite'}", **settings}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "exactperm", "worker"],
            cwd=ROOT,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE_S)


def test_a_worker_for_jobs_whose_processes_are_killed_while_they_start_gets_ready(tmp_path: Path) -> None:
    with worker(tmp_path, EXACTPERM_WORKER_START_TIMEOUT_S=str(PATIENT_S)) as process:
        kill_some(process)
        until(lambda: "is ready" in (tmp_path / "log").read_text(), "the worker is ready", PATIENT_S)
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
        assert "bug" not in (tmp_path / "log").read_text()


def test_a_start_that_takes_too_long_ends_with_a_sentence(tmp_path: Path) -> None:
    server = Server(tmp_path / "server.log", workers=2, worker_start_timeout_s=0.01)
    with worker(tmp_path, EXACTPERM_WORKER_START_TIMEOUT_S="0.01") as process:
        assert process.wait(PATIENT_S) == 2
        assert server.process.wait(PATIENT_S) == STARTUP_FAILURE
    for log in ("server.log", "log"):
        text = (tmp_path / log).read_text()
        assert "did not start within 0.01 s" in text
        assert "EXACTPERM_WORKER_START_TIMEOUT_S" in text
        assert "Traceback" not in text
        assert "bug" not in text
