"""`python -m loadtest.jobs`: the cost of a job beside a plain process pool, the effect of kills, and waiting times between keys.

Runs a server in a temporary folder, on SQLite or with `--url` on PostgreSQL. Times are printed only; bytes and counts are asserted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import TextIOWrapper
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import httpx
import numpy as np

from exactperm.execution.ipc import SINGLE_THREAD_ENV, Unbounded
from exactperm.execution.worker import NICENESS
from exactperm.jobs import worker
from exactperm.service import pipeline
from exactperm.service.compare.comparison import slices_of
from exactperm.service.messages import Body, Job as Call, limits_of
from exactperm.settings import Settings

ROOT = Path(__file__).parents[1]
KEYS = {"greedy": "ep_greedy", "second": "ep_second", "third": "ep_third"}
PATIENCE_S = 3_600.0


def board(systems: int, datasets: int, items: int, seed: int = 1) -> dict[str, Any]:
    """Scores with two decimals; only significant pairs are listed, so that the answer is small."""
    drawn = np.random.default_rng(seed)
    strength = np.sort(drawn.normal(0.6, 0.05, systems))
    scores = np.round(
        np.clip(strength[None, :, None] + drawn.normal(0, 0.15, (datasets, systems, items)), 0, 1), 2
    )
    return {
        "kind": "scores",
        "pairs": "none",
        "adjust": "holm",
        "datasets": {
            f"d{number:02}": {"systems": {f"s{at:03}": row.tolist() for at, row in enumerate(one)}}
            for number, one in enumerate(scores)
        },
    }  # fmt: skip


class Service:
    """A server with jobs that can be killed and restarted."""

    def __init__(self, folder: Path, url: str | None, **settings: Any) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        given = {"jobs_url": url or f"sqlite:///{folder}/jobs.sqlite", "access_log": False, **settings}
        self.environment = {
            **os.environ,
            **{f"EXACTPERM_{name.upper()}": str(value) for name, value in given.items()},
            "EXACTPERM_PORT": str(self.port),
        }
        self.log = (folder / "log").open("ab")
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "exactperm"], cwd=ROOT, env=self.environment, stdout=self.log,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        while True:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/readyz").status_code == 200:
                    return
            time.sleep(0.1)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        self.log.close()

    def submit(self, kind: str, request: Any, key: str | None = None) -> str:
        headers = {} if key is None else {"authorization": f"Bearer {KEYS[key]}"}
        body = {"kind": kind, "request": request}
        answered = httpx.post(f"{self.url}/v1/jobs", json=body, headers=headers, timeout=PATIENCE_S)
        answered.raise_for_status()
        return str(answered.json()["id"])

    def ended(self, job: str) -> dict[str, Any]:
        while True:
            with contextlib.suppress(httpx.TransportError):
                state: dict[str, Any] = httpx.get(f"{self.url}/v1/jobs/{job}", timeout=60).json()
                if state.get("ended"):
                    return state
            time.sleep(0.1)

    def result(self, job: str) -> bytes:
        content = httpx.get(f"{self.url}/v1/jobs/{job}/result", timeout=PATIENCE_S).content
        before, _, rest = content.partition(b'"runtime":')
        return before + rest.partition(b"}")[2]


@contextlib.contextmanager
def serving(url: str | None, **settings: Any) -> Iterator[Service]:
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder), url, **settings)
        try:
            yield service
        finally:
            service.stop()


_prepared: Any = None


def _prepare(body: bytes) -> Any:
    global _prepared  # noqa: PLW0603  (once in each process of the pool)
    at = time.monotonic()
    call = Call("compare", Body("application/json"), (), "json", "", at, at, limits_of(Settings()))
    _prepared = pipeline.planned(call, body, Unbounded())[1]
    return _prepared


def _prepare_nicely(body: bytes) -> None:
    """Use the priority of the processes of jobs, so that other load slows down both in the same way."""
    os.nice(NICENESS + worker.NICENESS)
    _prepare(body)


def _solve(slices: Any) -> int:
    return sum(len(_prepared.boards[one.board].solve(one.start, one.stop)) for one in slices)


def in_a_pool(request: Any, workers: int) -> float:
    """The seconds of the same work in a plain process pool: each process decodes and plans once, then tests pairs.

    Processes have one thread each, as workers do: with the threads of BLAS they took 2.4 times as long on two cores.
    """
    began = time.perf_counter()
    body = json.dumps(request).encode()
    prepared = _prepare(body)
    boards = [(one.tests, one.planned.seconds) for one in prepared.boards]
    parts = slices_of(boards, max(1, round(sum(own for _, own in boards) / 0.5)))
    with (
        patch.dict(os.environ, SINGLE_THREAD_ENV),
        multiprocessing.get_context("spawn").Pool(workers, _prepare_nicely, (body,)) as pool,
    ):
        assert sum(pool.imap_unordered(_solve, parts)) == prepared.tests
    return time.perf_counter() - began


def large_board(options: argparse.Namespace) -> None:
    """Compare the board as a job with the pool, then kill processes repeatedly."""
    request = board(options.systems, options.datasets, options.items)
    with serving(options.url, workers=options.workers, default_timeout_s=600) as service:
        time.sleep(10)  # the worker is warm
        began = time.perf_counter()
        job = service.submit("compare", request)
        submitted = time.perf_counter() - began
        state = service.ended(job)
        job_s = time.perf_counter() - began
        whole = service.result(job)
        print(
            f"job: {state['tests']} tests in {state['chunks']} chunks, {job_s:.1f} s ({submitted:.1f} s to submit)"
        )
        assert state["state"] == "succeeded", state
        pool_s = in_a_pool(request, options.workers)
        print(f"pool: {pool_s:.1f} s; ratio {job_s / pool_s:.2f}")
        drawn = random.Random(options.seed)
        job, kills = service.submit("compare", request), 0
        while kills < options.kills and not state_of(service, job).get("ended"):
            time.sleep(drawn.uniform(0.5, 3.0))
            kills += _kill(service, drawn)
        state = service.ended(job)
        assert state["state"] == "succeeded", state
        assert service.result(job) == whole
        print(f"killed {kills} times: the same bytes")
        job = service.submit("compare", request)
        while state_of(service, job).get("tests_done", 0) == 0:
            time.sleep(0.05)
        before = _computing(service)
        began = time.perf_counter()
        httpx.post(f"{service.url}/v1/jobs/{job}/cancel", timeout=60).raise_for_status()
        said = time.perf_counter() - began
        while before & _computing(service) and time.perf_counter() - began < 10:
            time.sleep(0.02)
        print(
            f"cancel: answered after {said:.2f} s, processes ended after {time.perf_counter() - began:.2f} s"
        )


def state_of(service: Service, job: str) -> dict[str, Any]:
    with contextlib.suppress(httpx.TransportError):
        state: dict[str, Any] = httpx.get(f"{service.url}/v1/jobs/{job}", timeout=60).json()
        return state
    return {}


def _children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(entry.name))
    return found


def _worker(service: Service) -> int | None:
    for pid in _children(service.process.pid):
        with contextlib.suppress(OSError):
            if b"--with-parent" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
    return None


def _computing(service: Service) -> set[int]:
    """The processes of the worker for jobs, except the fork server."""
    host, found = _worker(service), set()
    for pid in _children(host) if host is not None else ():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text() == "exactperm-work\n":
                found.add(pid)
    return found


def _kill(service: Service, drawn: random.Random) -> int:
    """Kill compute processes, the worker, or the whole service, which is restarted; return the number of kills."""
    what = drawn.choice(("process", "worker", "service"))
    host = _worker(service)
    if what == "service":
        service.process.kill()
        service.process.wait()
        service.start()
        return 1
    pids = sorted(_computing(service)) if what == "process" else [host] * (host is not None)
    if not pids:
        return 0
    with contextlib.suppress(ProcessLookupError):
        os.kill(drawn.choice(pids) or 0, signal.SIGKILL)
    return 1


def fairness(options: argparse.Namespace) -> None:
    """Submit many small jobs of one key, then jobs of two others, and compare their waiting time with a fair share."""
    import hashlib

    digests = ",".join(hashlib.sha256(key.encode()).hexdigest() for key in KEYS.values())
    small = {"u": [0.85, 0.90, 0.78, 0.92, 0.88], "v": [0.80, 0.85, 0.75, 0.88, 0.82]}
    counts = {"greedy": options.jobs * 8 // 10, "second": options.jobs // 10, "third": options.jobs // 10}
    settings: dict[str, Any] = {"api_key_digests": digests, "jobs_key_jobs": 10**6}
    with contextlib.ExitStack() as stack:
        serves = serving(options.url, workers=options.workers, jobs_embedded_worker=False, **settings)
        service = stack.enter_context(serves)
        began = time.perf_counter()
        with ThreadPoolExecutor(8) as threads:
            for key, count in counts.items():
                list(threads.map(lambda _, of=key: service.submit("scores", small, of), range(count)))
        print(f"submitted {options.jobs} jobs in {time.perf_counter() - began:.1f} s")
        # Start the worker after all jobs are submitted; otherwise it keeps up, and no job waits.
        command = [sys.executable, "-m", "exactperm", "worker"]
        worker = subprocess.Popen(
            command, cwd=ROOT, env=service.environment, stdout=service.log, stderr=service.log
        )
        stack.callback(worker.wait)
        stack.callback(worker.terminate)
        began = time.perf_counter()
        ended: dict[str, float] = {}
        while len(ended) < len(KEYS):
            for key, secret in KEYS.items():
                headers = {"authorization": f"Bearer {secret}"}
                path = f"{service.url}/v1/jobs?state=queued,running&limit=1"
                if key not in ended and not httpx.get(path, headers=headers, timeout=60).json()["jobs"]:
                    ended[key] = time.perf_counter() - began
            time.sleep(0.5)
        print({key: f"{seconds:.1f} s" for key, seconds in ended.items()})
        rate = options.jobs / max(ended.values())
        fair = 3 * counts["second"] / rate
        others = statistics.mean((ended["second"], ended["third"]))
        print(f"{rate:.0f} jobs/s; the others ended after {others:.1f} s, a fair share is {fair:.1f} s")


def main() -> None:
    """Run one or both measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="PostgreSQL instead of a file")
    parser.add_argument("--only", choices=("board", "fairness"))
    parser.add_argument("--systems", type=int, default=100)
    parser.add_argument("--datasets", type=int, default=50)
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    cast("TextIOWrapper", sys.stdout).reconfigure(line_buffering=True)
    if options.only != "fairness":
        large_board(options)
    if options.only != "board":
        fairness(options)


if __name__ == "__main__":
    main()
