"""Jobs in the web process: a store and a queue on one database, with the limits of jobs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ..inference.paired import ALGORITHM_VERSION
from ..service.messages import Limits, limits_of
from ..settings import Settings
from .database import engine_of, reachable
from .model import JobPlan, Shares, StoreAway, Stored
from .queue import Queue
from .store import Store, live_hosts
from .work import Submission

log = logging.getLogger(__name__)

# A database that refuses answers at once; a silent one costs a time-out, and is then left alone for a while.
SLOW_S, PAUSE_S = 1.0, 2.0
LOG_EVERY_S = 60.0


def job_limits(settings: Settings) -> Limits:
    """Return the limits of requests, except for time; a chunk has one process."""
    return replace(limits_of(settings), max_timeout_s=settings.job_timeout_s, workers=1)


def submission(
    settings: Settings, representation: str, coding: str | None = None, request_id: str = ""
) -> Submission:
    """Return a request for a job under these settings."""
    return Submission(
        representation,
        coding,
        request_id,
        job_limits(settings),
        settings.job_chunk_seconds,
        settings.job_max_seconds,
    )


class Jobs:
    """The job database, which may be unavailable at start: its tables are created at the first use."""

    def __init__(self, settings: Settings) -> None:
        self.engine = engine_of(settings.jobs_url)
        self.store = Store(self.engine, settings.retention_s)
        self.queue = Queue(self.engine, ALGORITHM_VERSION)
        self._shares = Shares(
            settings.jobs_key_seconds,
            settings.jobs_key_jobs,
            settings.jobs_waiting_seconds,
            settings.jobs_key_bytes,
        )
        self._silent_s = settings.job_silent_s
        self._lock = threading.Lock()
        self._away_until = -float("inf")
        self._is_ready = False
        self._reason, self._log_again = "", 0.0

    def ready(self) -> Store:
        """Return the store, with its tables; wrap all its calls in `reachable`."""
        if not self._is_ready:
            with self._lock, self.patience(), reachable():
                if not self._is_ready:
                    self.store.create_tables()
                    self.queue.create_tables()
                    self._is_ready = True
        return self.store

    @contextmanager
    def patience(self) -> Iterator[None]:
        """Wrap a call of the store: after one time-out, later calls fail at once for a while."""
        began = time.monotonic()
        if began < self._away_until:
            raise StoreAway("it just failed to answer")
        try:
            yield
        except StoreAway as away:
            self._is_ready = False  # the database may come back as another file
            ended = time.monotonic()
            if ended - began > SLOW_S:
                self._away_until = ended + PAUSE_S
            self._log_away(str(away), ended)
            raise

    def _log_away(self, reason: str, at: float) -> None:
        """Log why the database is away, not too often."""
        if reason != self._reason or at > self._log_again:
            self._reason, self._log_again = reason, at + LOG_EVERY_S
            log.warning("the database of jobs is away: %s", reason)

    def submit(self, owner: str, key: str | None, sha: str, plan: JobPlan) -> tuple[str, bool]:
        """Return the id of a new job, or of the key's job (True); raises KeyReused, NoShare and StoreAway."""
        with reachable():
            return self.ready().submit(
                owner, key, sha, plan, ALGORITHM_VERSION, self._shares,
                lambda connection, job, chunks: self.queue.submit(connection, job, owner, chunks),
            )  # fmt: skip

    def keep(self, owner: str, answer: Stored) -> str:
        """Store an answer for the retention time; return its id. Raises NoRoom and StoreAway."""
        with reachable():
            return self.ready().keep(owner, answer, self._shares.key_bytes)

    def counts(self) -> tuple[dict[str, int], float, int] | None:
        """Count jobs by state, predicted seconds of unfinished ones, and live workers; None without a database."""
        try:
            with reachable():
                by_state, waiting = self.ready().counts()
                return by_state, waiting, live_hosts(self.engine, self._silent_s)
        except StoreAway:
            return None

    def cancel(self, job: str, owner: str) -> bool:
        """Cancel a job and dequeue its chunks; return whether it was active."""
        with reachable():
            row = self.ready().job(job, owner)
            if row is None or not self.store.cancel(job, owner):
                return False
            self.queue.cancel(job, row.chunks)
        return True

    def delete(self, job: str, owner: str) -> bool:
        """Cancel and delete a job; return whether it existed."""
        with reachable():
            row = self.ready().job(job, owner)
            if row is None or not self.store.delete(job, owner):
                return False
            self.queue.forget(job, row.chunks)
        return True
