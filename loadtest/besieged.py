"""Measure the cost of an attack to other clients: silence of `/livez`, and the memory that the service uses and keeps."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

from exactperm.execution.memory import resident_bytes
from loadtest.server import running_process
from loadtest.watched import MIB, Watched

PROBE_EVERY_S = 0.01
PROBE_TIMEOUT_S = 60.0
SAMPLE_EVERY_S = 0.05
LIVEZ = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Toll:
    """Seconds and MiB; memory of the web process, or with its workers where noted."""

    silence_s: float  # longest time from a first unanswered probe to a 200
    before_mib: float  # web process
    peak_mib: float  # web process
    peak_all_mib: float  # with the workers
    after_mib: float  # web process, after a rest
    after_all_mib: float


class Siege:
    """One attacked server, and its toll after the attack."""

    def __init__(self, server: Watched) -> None:
        self.server = server
        self.toll: Toll | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        parts = urlsplit(self.server.url)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port

    @contextmanager
    def under_attack(self, rest_s: float) -> Iterator[None]:
        """Probe and sample while the block runs; then rest and measure the memory again."""
        before = self.server.resident_mib()
        with probed(self.address) as silence, _sampled(self.server) as peak:
            time.sleep(0.2)
            yield
            time.sleep(0.2)
        time.sleep(rest_s)
        self.toll = Toll(
            silence[0], before, peak[0], peak[1], self.server.resident_mib(), all_mib(self.server)
        )


@contextmanager
def besieged(root: Path, **settings: object) -> Iterator[Siege]:
    """A server of the checkout `root`."""
    with running_process({"workers": 2, "access_log": False, **settings}, root) as (url, pid):
        yield Siege(Watched(url, pid))


def all_mib(server: Watched) -> float:
    """Memory of the web process and its workers."""
    return sum((resident_bytes(pid) or 0) for pid in (server.pid, *server.workers())) / MIB


@contextmanager
def _sampled(server: Watched) -> Iterator[list[float]]:
    peak = [0.0, 0.0]
    over = threading.Event()

    def sample() -> None:
        while not over.wait(SAMPLE_EVERY_S):
            peak[0] = max(peak[0], server.resident_mib())
            peak[1] = max(peak[1], all_mib(server))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


@contextmanager
def probed(address: tuple[str, int]) -> Iterator[list[float]]:
    """Probe from a separate process; append the longest silence to the list after the block."""
    silence = [0.0]
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=probe, args=(address, theirs))
    process.start()
    theirs.close()  # to notice its end
    try:
        assert ours.recv() == "probing"
        yield silence
    finally:
        with contextlib.suppress(OSError):  # it gave up
            ours.send("over")
        if ours.poll(2 * PROBE_TIMEOUT_S):
            silence[0] = ours.recv()
        process.join()


def probe(address: tuple[str, int], theirs: Connection) -> None:
    """Request on a new connection each time until the answer is 200."""
    longest = 0.0
    began = time.monotonic()
    said = over = False
    while not over:
        if alive(address):
            now = time.monotonic()
            longest = max(longest, now - began)
            if not said:
                theirs.send("probing")
                said, longest = True, 0.0
            over = theirs.poll()
            time.sleep(PROBE_EVERY_S)
            began = time.monotonic()
        elif time.monotonic() - began > PROBE_TIMEOUT_S:
            longest, over = time.monotonic() - began, True
    theirs.send(longest)


def alive(address: tuple[str, int]) -> bool:
    """Return whether `/livez` answers 200."""
    try:
        with socket.create_connection(address, timeout=PROBE_TIMEOUT_S) as client:
            client.sendall(LIVEZ)
            received = b""
            while len(received) < 13 and (more := client.recv(4096)):
                received += more
    except OSError:
        return False
    return received.startswith(b"HTTP/1.1 200")
