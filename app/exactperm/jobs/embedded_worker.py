"""The embedded worker: a child process that is restarted when it dies or hangs, and ends with its parent.

Its standard input is a socket, over which the child reports that its event loop runs, and sees the parent's end.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

from ..settings import Settings

log = logging.getLogger(__name__)

PACKAGE = __package__.rpartition(".")[0]
STOP_S = 5.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0
STEADY_S = 30.0  # a child that lived this long is restarted at once
LISTEN_S = 0.5  # for one beat
AWAY_S = 2.0  # a parent that was stopped must not blame its child for silence


@contextlib.contextmanager
def embedded_worker(settings: Settings) -> Iterator[None]:
    """Run one worker during the block, if jobs and the embedded worker are on."""
    if not settings.jobs_url or not settings.jobs_embedded_worker:
        yield
        return
    child = Child(settings)
    child.start()
    try:
        yield
    finally:
        child.stop()


class Child:
    """Keeps one worker running, by a thread that waits for its end."""

    def __init__(self, settings: Settings) -> None:
        # Settings from the command line; the others are in the environment already.
        self._environment = {
            **os.environ,
            "EXACTPERM_JOBS_URL": settings.jobs_url,
            "EXACTPERM_WORKERS": str(settings.workers),
        }
        self._stall_s = settings.liveness_stall_s
        self._start_s = settings.worker_start_timeout_s
        self._ended = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Start it; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """End it, first with SIGTERM."""
        self._ended.set()
        with self._lock:
            process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
        self._thread.join(STOP_S)

    def _watch(self) -> None:
        pause = FIRST_PAUSE_S
        while not self._ended.is_set():
            began = time.monotonic()
            with self._lock:
                if self._ended.is_set():
                    return
                ours, theirs = socket.socketpair()
                with theirs:
                    process = self._process = subprocess.Popen(  # noqa: S603  (ourselves)
                        [sys.executable, "-m", PACKAGE, "worker", "--with-parent"],
                        stdin=theirs.fileno(),
                        env=self._environment,
                        start_new_session=True,  # Ctrl-C is for the parent, which ends it
                    )
            with ours:
                status = self._until_it_ends(process, ours)
            if self._ended.is_set():
                return
            pause = FIRST_PAUSE_S if time.monotonic() - began > STEADY_S else min(LONGEST_PAUSE_S, 2 * pause)
            log.warning("the worker for jobs ended with status %d and is started again", status)
            self._ended.wait(pause)

    def _until_it_ends(self, process: subprocess.Popen[bytes], beats: socket.socket) -> int:
        """Return the exit status of the child; kill it if it is silent for too long."""
        beats.settimeout(LISTEN_S)
        patience = self._start_s + 2 * self._stall_s
        heard = time.monotonic()
        while process.poll() is None:
            before = time.monotonic()
            with contextlib.suppress(TimeoutError):
                if not beats.recv(64):
                    break
                heard, patience = time.monotonic(), 2 * self._stall_s
            now = time.monotonic()
            if now - before > AWAY_S:
                heard = now
            elif now - heard > patience:
                log.warning("the worker for jobs does not respond and is killed")
                process.kill()
        return process.wait()
