"""The service's own worker: a child process that is started again when it dies, and ends with its parent."""

from __future__ import annotations

import contextlib
import logging
import os
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
STEADY_S = 30.0  # a child that lived so long is started again at once


@contextlib.contextmanager
def embedded_worker(settings: Settings) -> Iterator[None]:
    """One worker while the block runs, if jobs are on and it is wanted."""
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
        # What the command line may have set; the rest is in the environment already.
        self._environment = {
            **os.environ,
            "EXACTPERM_JOBS_URL": settings.jobs_url,
            "EXACTPERM_WORKERS": str(settings.workers),
        }
        self._ended = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Start it; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """End it: kindly, then at once."""
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
                # Its standard input is closed when we are gone, however that happens.
                process = self._process = subprocess.Popen(  # noqa: S603  (ourselves)
                    [sys.executable, "-m", PACKAGE, "worker", "--with-parent"],
                    stdin=subprocess.PIPE,
                    env=self._environment,
                    start_new_session=True,  # Ctrl-C is for the parent, which ends it
                )
            status = process.wait()
            if self._ended.is_set():
                return
            pause = FIRST_PAUSE_S if time.monotonic() - began > STEADY_S else min(LONGEST_PAUSE_S, 2 * pause)
            log.warning("the worker for jobs ended with status %d and is started again", status)
            self._ended.wait(pause)
