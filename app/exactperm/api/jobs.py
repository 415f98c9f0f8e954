"""The routes of jobs and stored answers. Database calls run in threads; nothing of a job is computed here."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import APIRouter
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ..errors import InvalidTest, JobExpired, JobNotFinished, JobsOff, NotThere, Overloaded, StoreUnreachable
from ..execution.executor import Executor
from ..inputs.quoting import quoted
from ..ops.health import Drain
from ..service.messages import OFF, RenderedResponse
from ..settings import Settings
from .bodies import SLICE_BYTES, ByteBudget, Reservation, SlicedResponse, Turns, receive_body
from .endpoint import CLIENT_LEFT, sent
from .job_store import in_thread, owner_of, query_store
from .negotiation import body_of

if TYPE_CHECKING:
    from ..jobs.gateway import Jobs
    from ..jobs.model import JobRow, Stored


def location_of(job: str) -> str:
    """The path of a job."""
    return f"/v1/jobs/{job}"


def view_of(row: JobRow) -> dict[str, Any]:
    """A job as JSON."""
    return {
        "id": row.id,
        "kind": row.kind,
        "state": row.state,
        "progress": row.tests_done / row.tests if row.tests else float(row.state == "succeeded"),
        "tests": row.tests,
        "tests_done": row.tests_done,
        "chunks": row.chunks,
        "predicted_seconds": row.seconds,
        "algorithm": row.algorithm,
        "created": _moment(row.created),
        "ended": _moment(row.ended),
        "expires": _moment(row.expires),
        "result": f"{location_of(row.id)}/result" if row.state == "succeeded" else None,
        "problem": None if row.problem is None else json.loads(row.problem),
    }


def _moment(seconds: float | None) -> str | None:
    """A time as RFC 3339 has it, to the millisecond."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def etag_of(view: dict[str, Any]) -> str:
    """Changes whenever the view does."""
    return f'"{hashlib.sha256(json.dumps(view).encode()).hexdigest()[:16]}"'


def matches(if_none_match: str | None, etag: str) -> bool:
    """Whether an If-None-Match header names an entity tag (RFC 9110, section 13.1.2: compared weakly)."""
    if if_none_match is None:
        return False
    tags = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return "*" in tags or etag.removeprefix("W/") in tags


def event_of(row: JobRow) -> bytes:
    """A server-sent event: `progress`, or at last the state; its id is the number of tests that are done."""
    name = "progress" if row.active else row.state
    return f"id: {row.tests_done}\nevent: {name}\ndata: {json.dumps(view_of(row))}\n\n".encode()


# Answers from the database: a stored answer, or the lines of a list. They are sent in slices, whose bytes count in the
# budget however slowly a client reads. If part of a list was deleted meanwhile, the connection is cut: a complete
# response is a complete list.


NDJSON = "application/x-ndjson"
CACHE = "private, no-cache"
PARTS_AT_ONCE = 16
READ_BYTES = 4_096  # of compressed lines at a time: at most a thousand times as many bytes inflated


@dataclass(frozen=True, slots=True)
class Results:
    """Sends stored answers to clients."""

    settings: Settings
    budget: ByteBudget
    turns: Turns

    def kept(self, request: Request, name: str, stored: Stored) -> Response:
        """A stored answer."""
        headers = {**dict(stored.headers), "cache-control": CACHE}
        etag = headers.setdefault("etag", f'"{name}"')
        if matches(request.headers.get("if-none-match"), etag):
            return _unchanged(etag)
        rendered = RenderedResponse(
            stored.status, tuple(headers.items()), stored.before, own=stored.own, after=stored.after
        )
        reservation = self.budget.reserve()
        self.budget.answer(reservation, rendered)
        return SlicedResponse(rendered, reservation, self.turns)

    async def lines(self, request: Request, jobs: Jobs, row: JobRow) -> Response:
        """The answers of a list that has succeeded, one per line."""
        etag = f'"{row.id}"'
        if matches(request.headers.get("if-none-match"), etag):
            return _unchanged(etag)
        count, largest, _ = await self._query(jobs, lambda: jobs.ready().measured(row.id))
        if count < row.chunks:
            raise NotThere("There is no such job: it was just deleted.")
        at_once = max(1, min(PARTS_AT_ONCE, SLICE_BYTES // max(largest, 1)))
        reservation = self.budget.reserve()
        self.budget.take(reservation, at_once * largest + SLICE_BYTES)
        return _Lines(self._slices(jobs, row, at_once), reservation, {"etag": etag, "cache-control": CACHE})

    async def _slices(self, jobs: Jobs, row: JobRow, at_once: int) -> AsyncIterator[bytes]:
        for start in range(0, row.chunks, at_once):
            wanted = min(at_once, row.chunks - start)
            parts = await self._query(jobs, partial(jobs.ready().parts, row.id, start, wanted))
            if len(parts) < wanted:
                raise ConnectionAbortedError("the job was deleted while its result was read")
            for part in parts:
                for piece in inflated(part):
                    await self.turns.mine()
                    yield piece

    async def _query(self, jobs: Jobs, ask: Callable[[], Any]) -> Any:
        return await in_thread(query_store, jobs, ask, self.settings)


class _Lines(StreamingResponse):
    """The lines; their memory is released when they are sent or the client has left."""

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
    """The decompressed content in pieces of at most `SLICE_BYTES`; raises zlib.error if it is damaged."""
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


T = TypeVar("T")
NOT_THERE = "There is no such job, or it belongs to another API key."
NO_ANSWER = "There is no such answer, it is no longer kept, or it belongs to another API key."
MOST_KEY_CHARS = 255
MOST_LISTED, LISTED = 1_000, 100
STATES = ("queued", "running", "succeeded", "failed", "cancelled")
WATCH_S, COMMENT_S = 0.5, 15.0
ID = re.compile(r"[jr]_[0-9a-f]{32}")  # no other fault can come from the database


@dataclass(slots=True)
class JobEndpoint:
    """Answers requests for jobs; without `jobs` all of them with 501."""

    settings: Settings
    executor: Executor
    budget: ByteBudget
    drain: Drain
    jobs: Jobs | None
    results: Results
    streams: int = field(default=0)

    async def submit(self, request: Request) -> Response:
        """Submit a job."""
        self._on()
        with self.budget.reserve() as reservation:
            try:
                return await self._submitted(request, reservation)
            except ClientDisconnect:
                return Response(status_code=CLIENT_LEFT)

    async def _submitted(self, request: Request, reservation: Reservation) -> Response:
        jobs, owner = self._on(), owner_of(request, self.settings)
        representation = _only(request, "format").get("format", "json")
        coding = body_of(
            request.headers.get("content-type"), ",".join(request.headers.getlist("content-encoding")), "plan"
        ).coding
        key = _idempotency_key(request)
        length = request.headers.get("content-length")
        body = await receive_body(request.receive, length, self.settings.max_body_bytes, reservation)
        sha = await asyncio.to_thread(_sha, body, f"{representation} {coding}")
        if key is not None:
            earlier = await self._query(lambda: jobs.ready().replayed(owner, key, sha))
            if earlier is not None:
                return await self._accepted(earlier, owner, replayed=True)
        from ..jobs.gateway import submission
        from ..jobs.work import plan_job

        submitted = submission(
            self.settings, representation, coding, str(request.scope.get("request_id", ""))
        )
        self.executor.refuse_unless_room(object(), len(body))
        # A submission has no timeout_s to ask for more.
        plan = await self.executor.run(plan_job, submitted, body, self.settings.max_timeout_s)
        if isinstance(plan, RenderedResponse):
            return sent(plan)
        job, replayed = await self._query(lambda: jobs.submit(owner, key, sha, plan))
        return await self._accepted(job, owner, replayed=replayed)

    async def _accepted(self, job: str, owner: str, *, replayed: bool) -> Response:
        row = await self._row(job, owner)
        headers = {"location": location_of(job), "retry-after": "1"}
        if replayed:
            headers["idempotent-replayed"] = "true"
        return _json(view_of(row), 202, headers)

    async def status(self, request: Request) -> Response:
        """The state of a job."""
        view = view_of(await self._row(request.path_params["job"], owner_of(request, self.settings)))
        etag = etag_of(view)
        if matches(request.headers.get("if-none-match"), etag):
            return Response(status_code=304, headers={"etag": etag, "cache-control": "no-store"})
        return _json(view, 200, {"etag": etag})

    async def listed(self, request: Request) -> Response:
        """The newest jobs of this key."""
        jobs, owner = self._on(), owner_of(request, self.settings)
        query = _only(request, "state", "after", "limit")
        states = {state for state in query.get("state", "").split(",") if state}
        if not states <= set(STATES):
            detail = f"state is one of {', '.join(STATES)}, or several between commas."
            raise InvalidTest.at("/?state", "unknown_state", detail)
        most = _number(query.get("limit"), LISTED, "limit")
        after = await self._row(query["after"], owner) if query.get("after") else None
        rows = await self._query(lambda: jobs.ready().jobs(owner, states, after, most))  # type: ignore[arg-type]  # states are checked
        return _json({"jobs": [view_of(row) for row in rows]}, 200, {})

    async def cancel(self, request: Request) -> Response:
        """Cancel a job; any number of times."""
        jobs, owner, job = self._on(), owner_of(request, self.settings), request.path_params["job"]
        await self._row(job, owner)
        await self._query(lambda: jobs.cancel(job, owner))
        return _json(view_of(await self._row(job, owner)), 200, {})

    async def delete(self, request: Request) -> Response:
        """Cancel a job and forget it."""
        jobs, owner, job = self._on(), owner_of(request, self.settings), request.path_params["job"]
        if ID.fullmatch(job) is None or not await self._query(lambda: jobs.delete(job, owner)):
            raise NotThere(NOT_THERE)
        return Response(status_code=204, headers={"cache-control": "no-store"})

    async def result(self, request: Request) -> Response:
        """The result of a job that has succeeded."""
        owner, job = owner_of(request, self.settings), request.path_params["job"]
        row = await self._row(job, owner)
        if row.state != "succeeded":
            advice = "It is unfinished." if row.active else f"See GET {location_of(job)}."
            raise JobNotFinished(f"This job is {row.state}: there is no result. {advice}", retry_after_s=1)
        if row.kind == "batch":
            return await self.results.lines(request, self._on(), row)
        return await self._stored_response(request, job, owner)

    async def stored(self, request: Request) -> Response:
        """An answer stored with `?store=1`. A job's result is at the job, which knows whether it has expired."""
        name = request.path_params["name"]
        self._on()
        if not name.startswith("r_"):
            raise NotThere(NO_ANSWER)
        return await self._stored_response(request, name, owner_of(request, self.settings))

    async def _stored_response(self, request: Request, name: str, owner: str) -> Response:
        jobs = self._on()
        stored = await self._query(lambda: jobs.ready().kept(name, owner)) if ID.fullmatch(name) else None
        if stored is None:
            raise NotThere(NO_ANSWER)
        return self.results.kept(request, name, stored)

    async def events(self, request: Request) -> Response:
        """The progress of a job as server-sent events, until it ends."""
        owner, job = owner_of(request, self.settings), request.path_params["job"]
        await self._row(job, owner)
        if self.streams >= self.settings.job_streams:
            raise Overloaded("Too many streams of events are open. Ask for the job's state instead.")
        self.streams += 1  # counted here, not at the start: many may ask at once
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        last = request.headers.get("last-event-id", "")
        stream = self._watched(job, owner, int(last) if last.isdecimal() and len(last) < 16 else -1)
        return _Stream(self, stream, headers)

    async def _watched(self, job: str, owner: str, seen: int) -> AsyncIterator[bytes]:
        quiet = 0.0
        while not self.drain.begun:
            try:
                row = await self._row(job, owner)
            except StoreUnreachable:
                row = None  # until it comes back or the client leaves
            except (NotThere, JobExpired):
                return
            if row is not None and (not row.active or row.tests_done > seen):
                seen, quiet = row.tests_done, 0.0
                yield event_of(row)
                if not row.active:
                    return
            elif quiet >= COMMENT_S:
                quiet = 0.0
                yield b": still there\n\n"
            quiet += WATCH_S
            await asyncio.sleep(WATCH_S)

    def _on(self) -> Jobs:
        if self.jobs is None:
            raise JobsOff(OFF)
        return self.jobs

    async def _row(self, job: str, owner: str) -> JobRow:
        jobs = self._on()
        row = await self._query(lambda: jobs.ready().job(job, owner)) if ID.fullmatch(job) else None
        if row is None:
            raise NotThere(NOT_THERE)
        if row.expired:
            raise JobExpired("This job and its result have expired. Submit it again.")
        return row

    async def _query(self, ask: Callable[[], T]) -> T:
        """Ask the database, in a thread; its refusals become problems."""
        return await in_thread(query_store, self._on(), ask, self.settings)


class _Stream(StreamingResponse):
    """The events of a job. The stream counts until it ends, or its client leaves before it began."""

    def __init__(self, endpoint: JobEndpoint, events: AsyncIterator[bytes], headers: dict[str, str]) -> None:
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._endpoint.streams -= 1


def jobs_router(endpoint: JobEndpoint) -> APIRouter:
    """`/v1/jobs` and `/v1/results`."""
    router = APIRouter(prefix="/v1")
    # described by `openapi.document`
    for path, method, answer in (
        ("/jobs", "POST", endpoint.submit),
        ("/jobs", "GET", endpoint.listed),
        ("/jobs/{job}", "GET", endpoint.status),
        ("/jobs/{job}", "DELETE", endpoint.delete),
        ("/jobs/{job}/cancel", "POST", endpoint.cancel),
        ("/jobs/{job}/events", "GET", endpoint.events),
        ("/jobs/{job}/result", "GET", endpoint.result),
        ("/results/{name}", "GET", endpoint.stored),
    ):
        router.add_api_route(path, answer, methods=[method], response_model=None)
    return router


def _json(value: dict[str, Any], status: int, headers: dict[str, str]) -> Response:
    content = json.dumps(value, allow_nan=False).encode() + b"\n"
    fixed = {"content-type": "application/json", "cache-control": "no-store"}
    return Response(content, status, {**fixed, **headers})


def _sha(body: bytearray, choices: str) -> str:
    return hashlib.sha256(hashlib.sha256(body).digest() + choices.encode()).hexdigest()


def _idempotency_key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= MOST_KEY_CHARS and key.isascii() and key.isprintable()):
        detail = f"An Idempotency-Key has 1 to {MOST_KEY_CHARS} printable ASCII characters."
        raise InvalidTest.at("/?idempotency-key", "invalid_key", detail)
    return key


def _only(request: Request, *names: str) -> dict[str, str]:
    """The query parameters; unknown and repeated ones are refused."""
    texts: dict[str, str] = {}
    for name, text in request.query_params.multi_items():
        if name not in names:
            detail = f"There is no query parameter {quoted(name)} here; there is {', '.join(names)}."
            raise InvalidTest.at(f"/?{name[:40]}", "unknown_parameter", detail)
        if name in texts:
            raise InvalidTest.at(f"/?{name}", "duplicate_parameter", f"{name} is given twice.")
        texts[name] = text
    return texts


def _number(text: str | None, default: int, name: str) -> int:
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and 1 <= int(text) <= MOST_LISTED):
        raise InvalidTest.at(
            f"/?{name}", "invalid_number", f"{name} is a whole number from 1 to {MOST_LISTED}."
        )
    return int(text)
