"""Answers out of the database: one that is kept, or the lines of a list.

They come in slices, and what is held for a reader counts in the budget of bytes, however slowly it reads. A list is whole, or
its connection ends before its end: what was deleted meanwhile is never left out silently.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ..errors import NotThere
from ..service.messages import RenderedResponse
from ..settings import Settings
from .job_store import asked, in_thread
from .job_views import matches
from .request_body import SLICE_BYTES, ByteBudget, Reservation
from .sliced_response import SlicedResponse
from .turns import Turns

if TYPE_CHECKING:
    from ..jobs.gateway import Jobs
    from ..jobs.model import JobRow, Stored

NDJSON = "application/x-ndjson"
CACHE = "private, no-cache"
PARTS_AT_ONCE = 16
READ_BYTES = 4_096  # of compressed lines at a time, which are a thousand times as many bytes at most


@dataclass(frozen=True, slots=True)
class Results:
    """Reads answers for clients."""

    settings: Settings
    budget: ByteBudget
    turns: Turns

    def kept(self, request: Request, name: str, found: Stored) -> Response:
        """An answer that is kept."""
        headers = {**dict(found.headers), "cache-control": CACHE}
        etag = headers.setdefault("etag", f'"{name}"')
        if matches(request.headers.get("if-none-match"), etag):
            return _unchanged(etag)
        rendered = RenderedResponse(
            found.status, tuple(headers.items()), found.before, own=found.own, after=found.after
        )
        reservation = self.budget.reserve()
        self.budget.answer(reservation, rendered)
        return SlicedResponse(rendered, reservation, self.turns)

    async def lines(self, request: Request, jobs: Jobs, row: JobRow) -> Response:
        """The answers of a list that has succeeded, one a line."""
        etag = f'"{row.id}"'
        if matches(request.headers.get("if-none-match"), etag):
            return _unchanged(etag)
        count, largest = await self._asked(jobs, lambda: jobs.ready().measured(row.id))
        if count < row.chunks:
            raise NotThere("There is no such job: it was deleted a moment ago.")
        at_once = max(1, min(PARTS_AT_ONCE, SLICE_BYTES // max(largest, 1)))
        reservation = self.budget.reserve()
        self.budget.take(reservation, at_once * largest + SLICE_BYTES)
        return _Lines(self._slices(jobs, row, at_once), reservation, {"etag": etag, "cache-control": CACHE})

    async def _slices(self, jobs: Jobs, row: JobRow, at_once: int) -> AsyncIterator[bytes]:
        for start in range(0, row.chunks, at_once):
            wanted = min(at_once, row.chunks - start)
            parts = await self._asked(jobs, partial(jobs.ready().parts, row.id, start, wanted))
            if len(parts) < wanted:
                raise ConnectionAbortedError("the job was deleted while its result was read")
            for part in parts:
                for piece in inflated(part):
                    await self.turns.mine()
                    yield piece

    async def _asked(self, jobs: Jobs, ask: Callable[[], Any]) -> Any:
        return await in_thread(asked, jobs, ask, self.settings)


class _Lines(StreamingResponse):
    """Lines; what they hold is released when they are sent, or their reader has left."""

    def __init__(
        self, slices: AsyncIterator[bytes], reservation: Reservation, headers: dict[str, str]
    ) -> None:
        super().__init__(slices, media_type=NDJSON, headers=headers)
        self._reservation = reservation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._reservation.leave()


def inflated(content: bytes) -> Iterator[bytes]:
    """What was compressed, in pieces of at most `SLICE_BYTES`; raises zlib.error where it is damaged."""
    inflater = zlib.decompressobj()
    for start in range(0, len(content), READ_BYTES):
        left = content[start : start + READ_BYTES]
        while left and not inflater.eof:
            if piece := inflater.decompress(left, SLICE_BYTES):
                yield piece
            left = inflater.unconsumed_tail
    if piece := inflater.flush():
        yield piece
    if not inflater.eof:
        raise zlib.error("the lines of a job are cut off")


def _unchanged(etag: str) -> Response:
    return Response(status_code=304, headers={"etag": etag, "cache-control": CACHE})
