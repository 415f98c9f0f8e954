"""Which requests the web process answers itself: small ones, within a share of its time."""

from __future__ import annotations

import time

from ..reports.representations import BY_NAME
from ..service.media_types import JSON
from ..service.messages import Job, RenderedResponse
from ..service.pipeline import Later, handle_in_place
from ..settings import Settings

# A token bucket of processor time


# Pieces of work are short: one that took far longer was stopped together with its process, and others need not pay for it.
MOST_OWED = 10.0  # times what is saved


class TokenBucket:
    """Earns `share` seconds per second, and holds at most `saved_s`; the last piece of work may overdraw it, within reason."""

    def __init__(self, share: float, saved_s: float) -> None:
        self._share = share
        self._saved_s = saved_s
        self._left_s = saved_s
        self._at = 0.0

    def left(self, now: float) -> bool:
        """Whether the bucket holds any time at `now`, in seconds of a monotonic clock."""
        self._left_s = min(self._saved_s, self._left_s + self._share * (now - self._at))
        self._at = now
        return self._left_s > 0.0

    def spend(self, seconds: float) -> None:
        """Spend `seconds`."""
        self._left_s = max(self._left_s - seconds, -MOST_OWED * self._saved_s)


SLOWER_CODINGS = 8  # a few bytes can inflate to many, or to thousands of empty frames
SLOWER_TABLES = 4  # a table with quotes takes a few times longer to parse than JSON of the same size
SAVED_S = 0.1
# Inspection budget: the share of one processor for finding out which requests are small while the queue is full.
INSPECTION_SHARE = 0.03
INSPECTION_SAVED_S = 0.05


class InPlace:
    """Answers requests in the web process; `seconds` is the total time spent on them."""

    def __init__(self, settings: Settings) -> None:
        self.seconds = 0.0
        self._engine_seconds = settings.inplace_engine_seconds
        self._most_bytes = settings.inplace_body_bytes
        self._share = TokenBucket(settings.inplace_share, SAVED_S)
        self._inspection_budget = TokenBucket(INSPECTION_SHARE, INSPECTION_SAVED_S)

    def inspects(self, job: Job, size: int, *, full: bool) -> bool:
        """Whether `try_to` would inspect a body of `size` bytes now.

        While the queue is `full` most inspections end in a refusal, and must not take processor time from the workers.
        """
        small, now = self._small(job), time.monotonic()
        return (
            job.kind != "batch"
            and not BY_NAME[job.representation].is_drawn
            and size <= (small if job.body.coding is None else small // SLOWER_CODINGS)
            and self._share.left(now)
            and (not full or self._inspection_budget.left(now))
        )

    def try_to(self, job: Job, body: bytearray, *, full: bool) -> RenderedResponse | Later | None:
        """The answer; or the predicted time if it is too long to run here; or None if the body was not inspected."""
        if not self.inspects(job, len(body), full=full):
            return None
        small, now = self._small(job), time.monotonic()
        result = handle_in_place(job, body, self._engine_seconds, small)
        elapsed = time.monotonic() - now
        self.seconds += elapsed
        self._share.spend(elapsed)
        if full and isinstance(result, Later):
            self._inspection_budget.spend(elapsed)
        return result

    def _small(self, job: Job) -> int:
        return self._most_bytes if job.body.media_type == JSON else self._most_bytes // SLOWER_TABLES
