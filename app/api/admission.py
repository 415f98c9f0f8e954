"""How much the web process answers itself: small bodies, and a share of its time for all of them together."""

from __future__ import annotations

import time

from ..reports.representations import BY_NAME
from ..service.media_types import JSON
from ..service.messages import Job, RenderedResponse
from ..service.pipeline import Later, handle_in_place
from ..settings import Settings
from .token_bucket import TokenBucket

SLOWER_CODINGS = 8  # thousands of empty frames fit where thousands of bytes do
SLOWER_TABLES = 4  # a table with quotes takes a few times longer to read than JSON of its size
SAVED_S = 0.1
# Of a processor, for looking into bodies while the queue is full: small tests are still answered in place, if not all.
INSPECTION_SHARE = 0.03
INSPECTION_SAVED_S = 0.05


class InPlace:
    """Admits requests to be answered in the web process; `seconds` is the time that all of them took."""

    def __init__(self, settings: Settings) -> None:
        self.seconds = 0.0
        self._engine_seconds = settings.inplace_engine_seconds
        self._most_bytes = settings.inplace_body_bytes
        self._share = TokenBucket(settings.inplace_share, SAVED_S)
        self._inspection_budget = TokenBucket(INSPECTION_SHARE, INSPECTION_SAVED_S)

    def inspects(self, job: Job, size: int, *, full: bool) -> bool:
        """Whether `try_to` would look into a body of so many bytes now.

        While the queue is `full` most looks would end in a refusal: they must not take the workers' processors.
        """
        small, now = self._small(job), time.monotonic()
        return (
            not BY_NAME[job.representation].is_drawn
            and size <= (small if job.body.coding is None else small // SLOWER_CODINGS)
            and self._share.left(now)
            and (not full or self._inspection_budget.left(now))
        )

    def try_to(self, job: Job, body: bytearray, *, full: bool) -> RenderedResponse | Later | None:
        """The answer; or how long it will take, if that was found out; or None where nobody looked."""
        if not self.inspects(job, len(body), full=full):
            return None
        small, now = self._small(job), time.monotonic()
        found = handle_in_place(job, body, self._engine_seconds, small)
        took = time.monotonic() - now
        self.seconds += took
        self._share.spend(took)
        if full and isinstance(found, Later):
            self._inspection_budget.spend(took)
        return found

    def _small(self, job: Job) -> int:
        return self._most_bytes if job.body.media_type == JSON else self._most_bytes // SLOWER_TABLES
