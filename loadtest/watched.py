"""Watch a server in a separate process: its memory, descriptors and children from /proc (Linux)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from exactperm.execution.memory import PROC, resident_bytes
from loadtest.server import running_process

MIB = 2**20
# The metrics of a service at rest; the scrape is the one request and connection.
AT_REST = {
    "exactperm_queue_depth": 0,
    "exactperm_workers_busy": 0,
    "exactperm_pending_seconds": 0,
    "exactperm_requests_in_flight": 1,
    "exactperm_connections_open": 1,
}


@dataclass(frozen=True, slots=True)
class Watched:
    """The web process `pid` behind `url`."""

    url: str
    pid: int

    def resident_mib(self) -> float:
        """The memory of the web process alone."""
        return (resident_bytes(self.pid) or 0) / MIB

    def descriptors(self) -> int:
        """Open files, sockets and pipes of the web process."""
        return len(list((PROC / str(self.pid) / "fd").iterdir()))

    def children(self) -> set[int]:
        """The child processes, including zombies."""
        return {
            int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit() and parent(entry) == self.pid
        }

    def workers(self) -> set[int]:
        """The living children that take calls: all except the fork server."""
        return {
            pid
            for pid in self.children()
            if state(PROC / str(pid)) not in {"Z", ""} and name(PROC / str(pid)) == "exactperm-work"
        }


@contextmanager
def watched_server(**settings: object) -> Iterator[Watched]:
    """Start a server with these settings; see `running_process`."""
    with running_process(settings) as (url, pid):
        yield Watched(url, pid)


def gauge(metrics: str, name: str) -> float:
    """One value of the text of `/metrics`; KeyError if it is missing."""
    for line in metrics.splitlines():
        if line.startswith(name + " "):
            return float(line.rpartition(" ")[2])
    raise KeyError(name)


def not_at_rest(metrics: str) -> list[str]:
    """The gauges that are higher than at rest."""
    found = {name: gauge(metrics, name) for name in AT_REST}
    return [f"{name} is {found[name]:g}" for name, most in AT_REST.items() if found[name] > most]


def name(entry: Path) -> str:
    """The name of a process, empty when there is none."""
    try:
        return (entry / "comm").read_text().rstrip("\n")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def parent(entry: Path) -> int:
    """The parent of a process; 0 if it has ended."""
    found = _stat(entry)
    return int(found[1]) if found else 0


def state(entry: Path) -> str:
    """proc(5): R runs, S sleeps, T is stopped, Z is dead; empty when there is none."""
    found = _stat(entry)
    return found[0] if found else ""


def _stat(entry: Path) -> list[str]:
    try:
        return (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
