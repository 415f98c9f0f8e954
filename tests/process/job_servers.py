"""Servers with jobs, and requests of tests."""

import hashlib
import json
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.process.conftest import PATIENCE_S, PROC, Server, name_of, state_and_parent, until

KEYS = {"a": "ep_first", "b": "ep_second"}
DIGESTS = ",".join(hashlib.sha256(key.encode()).hexdigest() for key in KEYS.values())
QUICK = {
    "workers": 2,
    "job_chunk_seconds": 0.02,
    "access_log": False,
    "cache_bytes": 0,
    "shutdown_delay_s": 0,
}


class JobServer(Server):
    """A service with jobs in a SQLite file, or in the database of `jobs_url`."""

    def __init__(self, folder: Path, number: int = 0, **settings: Any) -> None:
        self.file = folder / "jobs.sqlite"
        url = settings.pop("jobs_url", f"sqlite:///{self.file}")
        super().__init__(folder / f"{number}.log", **{**QUICK, "jobs_url": url, **settings})

    def ask(self, method: str, path: str, key: str | None = None, **options: Any) -> httpx.Response:
        headers = options.pop("headers", {})
        if key is not None:
            headers = {**headers, "authorization": f"Bearer {KEYS[key]}"}
        return httpx.request(method, self.url + path, headers=headers, timeout=PATIENCE_S, **options)

    def submit(self, kind: str, request: Any, key: str | None = None, **headers: str) -> str:
        body = {"kind": kind, "request": request}
        answered = self.ask("POST", "/v1/jobs", key, json=body, headers=headers)
        assert answered.status_code == 202, answered.text
        job = str(answered.json()["id"])
        assert answered.headers["location"] == f"/v1/jobs/{job}"
        return job

    def state(self, job: str, key: str | None = None) -> dict[str, Any]:
        answered = self.ask("GET", f"/v1/jobs/{job}", key)
        assert answered.status_code == 200, answered.text
        state: dict[str, Any] = answered.json()
        return state

    def ended(self, job: str, key: str | None = None) -> dict[str, Any]:
        def look() -> Any:
            state = self.state(job, key)
            return state if state["ended"] else None

        state: dict[str, Any] = until(look, f"{job} ends")
        return state

    def result(self, job: str, key: str | None = None) -> bytes:
        state = self.ended(job, key)
        assert state["state"] == "succeeded", state
        return self.ask("GET", f"/v1/jobs/{job}/result", key).content

    def job_worker(self) -> int:
        """The process id of the embedded worker."""
        (found,) = until(lambda: children(self.process.pid, "worker"), "there is a worker for jobs")
        return int(found)

    def computing_jobs(self) -> set[int]:
        """The processes of the embedded worker."""
        return {
            int(entry.name)
            for entry in PROC.iterdir()
            if entry.name.isdigit()
            and name_of(int(entry.name)) == "exactperm-work"
            and state_and_parent(int(entry.name))[1] == self.job_worker()
        }

    def rows(self, statement: str, *values: Any) -> list[Any]:
        with sqlite3.connect(self.file, timeout=PATIENCE_S) as connection:
            return connection.execute(statement, values).fetchall()


def children(parent: int, argument: str) -> list[int]:
    """Child processes with this argument."""
    found = []
    for entry in PROC.iterdir():
        if entry.name.isdigit() and state_and_parent(int(entry.name))[1] == parent:
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if argument.encode() in words and state_and_parent(int(entry.name))[0] != "Z":
                found.append(int(entry.name))
    return found


@contextmanager
def serving(folder: Path, number: int = 0, **settings: Any) -> Iterator[JobServer]:
    server = JobServer(folder, number, **settings)
    try:
        until(server.ready, "the server is ready")
        yield server
    finally:
        if server.process.poll() is None:
            server.process.send_signal(signal.SIGTERM)
        server.process.wait(PATIENCE_S)


def without_runtime(content: bytes) -> bytes:
    """An answer but for its times."""
    before, _, rest = content.partition(b'"runtime":')
    _, _, after = rest.partition(b"}")
    assert b'"signature"' in after
    return before + after


def lines(content: bytes) -> list[Any]:
    return [json.loads(line) for line in content.splitlines()]
