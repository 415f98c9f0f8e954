"""A start while something kills processes, and one that cannot be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exactperm.serving import STARTUP_FAILURE
from tests.process.conftest import PATIENCE_S, PROC, ROOT, Server, lives, state_and_parent, until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not PROC.is_dir(), reason="the parents of processes are read in /proc"),
]
KILLS = 6
PATIENT_S = 2 * PATIENCE_S  # each kill costs a start


def children(parent: int) -> set[int]:
    found = {int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()}
    return {pid for pid in found if state_and_parent(pid)[1] == parent and lives(pid)}


def kill_some(process: subprocess.Popen[bytes]) -> None:
    """Kill whatever the process starts, so many times."""
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
