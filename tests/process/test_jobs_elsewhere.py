"""Test take-over of jobs: another service continues the stream, another worker the chunks; and a silent database."""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.process.conftest import LARGE, PATIENCE_S, ROOT, SMALL, Server, until
from tests.process.job_servers import QUICK, JobServer, lines, serving

pytestmark = pytest.mark.slow
FOLLOWED = 150  # tests that take longer than two looks at a job are apart, on a fast machine, too
SAMPLED = {"kind": "scores", "request": {**SMALL, "method": "monte_carlo", "samples": 300_000}}


def events(server: JobServer, job: str, last: int | None = None) -> Iterator[tuple[int, str]]:
    """The events of a job as they come."""
    headers = {} if last is None else {"last-event-id": str(last)}
    path = f"{server.url}/v1/jobs/{job}/events"
    with httpx.stream("GET", path, headers=headers, timeout=PATIENCE_S) as answer:
        assert answer.status_code == 200
        for line in answer.iter_lines():
            if line.startswith("id: "):
                number = int(line.removeprefix("id: "))
            elif line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                assert json.loads(line.removeprefix("data: "))["id"] == job
                yield number, name


def test_a_stream_goes_on_at_another_replica(tmp_path: Path) -> None:
    """The service that accepted the job is killed while its stream is read: the other continues without repetition."""
    with (
        serving(tmp_path, 1, job_chunk_seconds=1e-4) as second,
        serving(tmp_path, 0, jobs_embedded_worker=False) as first,
    ):
        job = first.submit("batch", {"tests": [SAMPLED] * FOLLOWED})
        seen: list[tuple[int, str]] = []
        for event in events(first, job):
            seen.append(event)
            if event[0] > 0:
                first.process.kill()
                break
        assert seen[-1][1] == "progress"
        seen += list(events(second, job, seen[-1][0]))
        numbers = [number for number, _ in seen]
        assert numbers[:-1] == sorted(set(numbers[:-1]))
        assert seen[-1] == (FOLLOWED, "succeeded")
        assert [name for _, name in seen[:-1]] == ["progress"] * (len(seen) - 1)


def test_a_worker_that_stood_still_comes_back_and_changes_nothing(tmp_path: Path) -> None:
    """As if its network was cut: another worker takes over, and late results are not counted."""
    settings = {f"EXACTPERM_{name.upper()}": str(value) for name, value in QUICK.items()}
    log = tmp_path / "worker.log"
    with serving(tmp_path, job_chunk_seconds=1e-4) as server, log.open("wb") as output:
        command = [sys.executable, "-m", "exactperm", "worker"]
        environment = {
            **os.environ,
            **settings,
            "EXACTPERM_JOBS_URL": f"sqlite:///{server.file}",
            "EXACTPERM_WORKERS": "1",
        }
        lost = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=output, start_new_session=True
        )
        try:
            until(lambda: b"is ready" in log.read_bytes(), "it is ready")
            until(lambda: server.rows("select count(*) from ep_hosts") == [(2,)], "so is the service's own")
            (name,) = re.findall(r"worker (\S+) is ready", log.read_text())
            job = server.submit("batch", {"tests": [SAMPLED] * 40})
            begun = "select count(*) from workflow_status where executor_id = ? and status = 'PENDING'"
            until(lambda: server.rows(begun, name)[0][0] > 0, "it has begun some")
            stand_still(lost.pid)
            while is_locked(server.file):  # it stood still while it wrote
                os.killpg(lost.pid, signal.SIGCONT)
                time.sleep(0.01)
                stand_still(lost.pid)
            left = server.rows(begun, name)[0][0]
            answers = lines(server.result(job))
            os.killpg(lost.pid, signal.SIGCONT)
            assert left > 0  # others have computed these
            assert len(answers) == 40
            assert len({answer["p_value"] for answer in answers}) == 1
            until(lambda: server.rows(begun, name) == [(0,)], "it gives up what it had begun")
            assert lines(server.result(job)) == answers
            counted = "select count(*), count(distinct workflow_uuid) from workflow_status"
            assert server.rows(counted) == [(40, 40)]
            assert server.rows("select count(*), sum(tests) from ep_parts") == [(40, 40)]
            assert lost.poll() is None
        finally:
            os.killpg(lost.pid, signal.SIGKILL)
            lost.wait(PATIENCE_S)


def stand_still(group: int) -> None:
    """Stop all threads of a process: one that is in the kernel still ends its call, which may take a lock."""
    os.killpg(group, signal.SIGSTOP)
    threads = Path(f"/proc/{group}/task")
    until(
        lambda: all(
            (thread / "stat").read_text().rpartition(")")[2].split()[0] == "T" for thread in threads.iterdir()
        ),
        "all threads stand still",
    )


def is_locked(file: Path) -> bool:
    """Whether a transaction is open that writes."""
    connection = sqlite3.connect(file, timeout=0, isolation_level=None)
    try:
        connection.execute("begin immediate")
        connection.execute("rollback")
    except sqlite3.OperationalError:
        return True
    finally:
        connection.close()
    return False


def test_a_submission_is_all_or_nothing(tmp_path: Path) -> None:
    """The service is killed while eight submit: each job has its row, its input and its place in the queue, or none of them."""
    accepted: list[str] = []

    def submit(number: int) -> None:
        for turn in range(100):
            try:
                accepted.append(server.submit("scores", SMALL, **{"idempotency-key": f"{number}-{turn}"}))
            except httpx.TransportError:
                return

    with serving(tmp_path, jobs_embedded_worker=False) as server:
        threads = [threading.Thread(target=submit, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        until(lambda: len(accepted) > 20, "some are accepted")
        server.process.kill()
        for thread in threads:
            thread.join(PATIENCE_S)
    with serving(tmp_path, 1, jobs_embedded_worker=False) as again:
        jobs = {job for (job,) in again.rows("select id from ep_jobs")}
        assert set(accepted) <= jobs
        for statement in (
            "select job from ep_inputs",
            "select job from ep_keys",
            "select substr(workflow_uuid, 1, 34) from workflow_status",
        ):
            assert sorted(name for (name,) in again.rows(statement)) == sorted(jobs)
        known = again.rows("select key, job from ep_keys limit 1")[0]
        assert again.submit("scores", SMALL, **{"idempotency-key": known[0]}) == known[1]


def test_tests_are_answered_while_the_database_does_not_respond(tmp_path: Path) -> None:
    """The database accepts connections and does not respond: requests for jobs get an error, and tests do not wait."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(1_000)
        port = silent.getsockname()[1]
        settings: dict[str, Any] = {**QUICK, "workers": 1, "jobs_embedded_worker": False}
        server = Server(tmp_path / "0.log", jobs_url=f"postgresql://nobody@127.0.0.1:{port}/jobs", **settings)
        said: list[int] = []

        def ask() -> None:
            said.append(httpx.get(f"{server.url}/v1/jobs/j_{'0' * 32}", timeout=120).status_code)

        try:
            until(server.ready, "the server is ready")
            threads = [threading.Thread(target=ask) for _ in range(40)]
            for thread in threads:
                thread.start()
            time.sleep(0.5)
            large = server.post("/v1/tests/effects", LARGE)  # whose body is hashed in a thread
            assert (large.status_code, said) == (200, [])  # before anyone has heard of the database
            assert server.post("/v1/tests/scores", SMALL).status_code == 200
            assert httpx.get(f"{server.url}/livez").status_code == 200
            for thread in threads:
                thread.join(PATIENCE_S)
            assert said == [503] * 40
            stored = server.post("/v1/tests/scores", {**SMALL, "store": True})
            assert (stored.status_code, stored.json()["type"]) == (503, "/docs/problems#store-away")
        finally:
            assert server.stop() == 0
