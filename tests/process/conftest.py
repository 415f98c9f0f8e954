import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).parents[2]
PATIENCE_S = 180.0  # for what does come, on however busy a machine
PROC = Path("/proc")
NEEDS_PROC = pytest.mark.skipif(
    not PROC.is_dir(), reason="states, memory and parents of processes are read in /proc"
)
BUSY_TICKS, BUSY_IN_S = 2, 0.5  # a worker gives way to whatever else the machine does
# Continuous integration installs what tests need: there nothing is skipped because a program is missing.
IN_CI = os.environ.get("CI") == "true"

SMALL = {"u": [0.85, 0.90, 0.78, 0.92, 0.88], "v": [0.80, 0.85, 0.75, 0.88, 0.82]}
LARGE = {"stay": [1, -1, 2, 3] * 50_000}
# Minutes of work, within the budget of roomy servers.
ENDLESS = {"stay": [2**k for k in range(30)] * 300, "method": "monte_carlo", "samples": 500_000_000}
ROOMY = {
    "max_items": 10**9,
    "engine_budget_operations": 10**15,
    "worker_memory_bytes": 2**41,
    "most_over_deadline": 1e9,
    "default_timeout_s": 5e8,
}


def until(condition: Callable[[], Any], what: str = "", patience_s: float = PATIENCE_S) -> Any:
    """Wait for something that should come soon; the patience is for a busy machine, not for us."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"it did not come to pass: {what}")


def state_and_parent(pid: int) -> tuple[str, int]:
    """The state of a process (proc(5): R runs, S sleeps, Z is dead) and its parent; dead when there is none."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return "Z", 0
    return fields[0], int(fields[1])


def name_of(pid: int) -> str:
    """The name of a process (proc(5): comm), empty when there is none."""
    try:
        return (PROC / str(pid) / "comm").read_text().rstrip("\n")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def ticks(pid: int) -> int:
    """Clock ticks of processor time a process has used (proc(5): utime and stime); 0 when there is none."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(fields[11]) + int(fields[12])


def lives(pid: int) -> bool:
    return state_and_parent(pid)[0] != "Z"


def children(parent: int) -> set[int]:
    """The living children of a process."""
    pids = {int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()}
    return {pid for pid in pids if state_and_parent(pid)[1] == parent and lives(pid)}


class Server:
    """A real server in a separate process; `before` is a command that runs the server's command."""

    def __init__(self, log: Path, before: Sequence[str] = (), **settings: Any) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = log
        settings = {"default_timeout_s": PATIENCE_S, "worker_start_timeout_s": PATIENCE_S, **settings}
        environment = {f"EXACTPERM_{name.upper()}": str(value) for name, value in settings.items()}
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [*before, sys.executable, "-m", "exactperm"],
                cwd=ROOT,
                env={**os.environ, **environment, "EXACTPERM_PORT": str(self.port)},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.url = f"http://127.0.0.1:{self.port}"

    def ready(self) -> bool:
        if self.process.poll() is not None:
            raise AssertionError(self.log.read_text())
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:  # without a client, which would take more of the processor than the server while it starts
            connection.request("GET", "/readyz")
            return connection.getresponse().status == HTTPStatus.OK
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def post(self, path: str, body: Any, **options: Any) -> httpx.Response:
        return httpx.post(self.url + path, json=body, timeout=PATIENCE_S, **options)

    def workers(self) -> set[int]:
        """Process ids of its children that live and take calls: all but the fork server."""
        return {
            int(entry.name)
            for entry in PROC.iterdir()
            if entry.name.isdigit()
            and state_and_parent(int(entry.name))[1] == self.process.pid
            and lives(int(entry.name))
            and name_of(int(entry.name)) == "exactperm-work"
        }

    def computing(self) -> set[int]:
        """Those of its workers that compute: they use the processor, where one without work wakes only for a moment."""
        before = {pid: ticks(pid) for pid in self.workers()}
        time.sleep(BUSY_IN_S)
        return {pid for pid, used in before.items() if ticks(pid) - used >= BUSY_TICKS}

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers that are ready, and sees to it that they end."""
    servers: list[Server] = []

    def started(**settings: Any) -> Server:
        server = Server(tmp_path / f"{len(servers)}.log", **settings)
        servers.append(server)
        until(server.ready, "the server is ready")
        return server

    yield started
    for server in servers:
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait(PATIENCE_S)
