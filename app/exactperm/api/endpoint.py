"""The endpoint of all tests: receives a request, and decides where it is computed.

Small bodies are decoded in the web process and, if their predicted cost is small, answered there without a process hop.
All others go to a worker as raw bytes and come back as a rendered answer: the event loop never parses a large body and
never computes for longer than a few milliseconds. Requests take turns, and the web process spends at most a share of
its time on tests; beyond it they go to the workers as well.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from math import ceil
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ..errors import ExactpermError, Flaw, InvalidTest, JobsOff, PlanTooLarge
from ..execution.executor import Executor
from ..execution.ipc import TooLong
from ..execution.shared_answers import Cache
from ..reports.representations import BY_NAME
from ..service import problems
from ..service.answers import milliseconds, written
from ..service.batch import handle_batch
from ..service.kinds import JSON, KINDS, MULTIPART, Kind
from ..service.messages import OF_THE_CALL, OFF, STORE, Job, Limits, RenderedResponse, Source, WorkStats
from ..service.pipeline import Later, handle_in_place, handle_or_split
from ..service.query import timeout_of_query
from ..settings import Settings
from .bodies import ByteBudget, Reservation, SlicedResponse, Turns, disconnected, receive_body
from .job_store import owner_of, with_permalink
from .negotiation import (
    RequestHeaders,
    board_picture,
    board_table,
    body_of,
    read_headers,
    representation,
    theme,
)

if TYPE_CHECKING:
    from ..jobs.gateway import Jobs


# Responses from the cache or from a shared computation, with the runtime, timing and id of this request.
#
# Everything else in an answer is a function of the request alone, so that identical requests can share one computation,
# and answers can be cached. The times of another request must not be reported as this one's.


NOT_IN_KEY = frozenset({"timeout_s"})  # query parameters that do not change the answer


def query_of_answer(query: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The query without parameters that do not change the answer."""
    return tuple(item for item in query if item[0] not in NOT_IN_KEY)


def cache_key(job: Job, digest: Any, client: str = "") -> bytes:
    """A digest of everything that an answer depends on, and of the client, who must not learn what others sent.

    `digest` is the hash object of the body; it is updated here.
    """
    query = query_of_answer(job.query)
    parts = (
        job.kind,
        job.body.media_type,
        job.body.coding,
        job.body.boundary,
        job.representation,
        job.theme,
        query,
        client,
    )
    # Apart from the client's text, there are few values.
    digest.update(_encoded_cached(parts) if not (query or client or job.body.boundary) else _encoded(parts))
    key: bytes = digest.digest()
    return key


def _encoded(parts: tuple[object, ...]) -> bytes:
    return b"\0" + json.dumps(parts).encode()


_encoded_cached = lru_cache(maxsize=256)(_encoded)


def cached_answer(rendered: RenderedResponse, job: Job, age_s: float) -> RenderedResponse:
    """An answer from the cache: no engine ran for this request; `Age` is its age in seconds."""
    total_ms = milliseconds(time.monotonic() - job.received_at)
    runtime = {"engine_ms": 0.0, "total_ms": total_ms, "queue_ms": 0.0}
    headers = (("server-timing", f"cache;desc=hit, total;dur={total_ms}"), ("age", str(int(age_s))))
    work = _without_time(rendered.work, "kept", 0.0)
    return replace(
        rendered, headers=_headers(rendered) + headers, own=_runtime(rendered.own, runtime), work=work
    )


def shared_answer(rendered: RenderedResponse, job: Job) -> RenderedResponse:
    """An answer, or a problem, of a computation that another request started and this one joined."""
    if rendered.began_at is None:
        return replace(rendered, own=problems.instance(job.request_id))
    now = time.monotonic()
    queue_ms = milliseconds(rendered.began_at - job.submitted_at)
    runtime = {"total_ms": milliseconds(now - job.received_at), "queue_ms": queue_ms}
    compute_ms = milliseconds(now - max(rendered.began_at, job.submitted_at))
    timing = f"cache;desc=shared, queue;dur={queue_ms}, compute;dur={compute_ms}"
    headers = (*_headers(rendered), ("server-timing", timing))
    work = _without_time(rendered.work, "shared", queue_ms / 1e3)
    return replace(rendered, headers=headers, own=_runtime(rendered.own, runtime), work=work)


def _without_time(work: WorkStats | None, source: Source, queue_s: float) -> WorkStats | None:
    """The same work without its time, which counts once."""
    return None if work is None else replace(work, queue_s=queue_s, compute_s=None, source=source)


def _headers(rendered: RenderedResponse) -> tuple[tuple[str, str], ...]:
    return tuple(header for header in rendered.headers if header[0] not in OF_THE_CALL)


def _runtime(measured: bytes, runtime: dict[str, float]) -> bytes:
    """The `runtime` of a test with these members; empty for answers without one (reports, plans)."""
    return written({**json.loads(measured), **runtime}) if measured else measured


# Work comes in short pieces: one that took far longer was suspended with its process, and others need not pay for it.
MOST_OWED = 10.0  # times the saved seconds


class TokenBucket:
    """Earns `share` seconds per second and holds at most `saved_s`; the last piece of work may overdraw it within
    limits.
    """

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
        self._share = TokenBucket(settings.inplace_share, SAVED_S if settings.inplace_share else 0.0)
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


def over_deadline(job: Job, body: bytes | bytearray, planned: TooLong, longest_s: float) -> PlanTooLarge:
    """The error for a test predicted to take far longer than its deadline; deadlines are at most `longest_s`.

    Its pointer is where the deadline is, or can be, set.
    """
    needed_s = ceil(planned.seconds)
    choose = "a cheaper method, or fewer samples (POST /v1/plan predicts what each method costs)."
    if needed_s <= longest_s:
        advice = f"Set timeout_s to {needed_s} or more, or choose {choose}"
    else:
        advice = f"This server allows no deadline above {longest_s:g} s: choose {choose}"
    detail = (
        f"The test was not started: it is predicted to take {planned.seconds:.3g} s, and its deadline is "
        f"{planned.deadline_s:g} s. {advice}"
    )
    return PlanTooLarge(detail, flaws=(Flaw(_pointer(job, body), "over_deadline", detail),))


def _pointer(job: Job, body: bytes | bytearray) -> str:
    if job.timeout_s is not None or job.kind == "batch":
        return "/?timeout_s"
    if job.body.media_type == MULTIPART:
        return "/options/timeout_s"
    if job.body.media_type != JSON:
        return "/?timeout_s"
    if job.kind != "gate":
        return "/timeout_s"
    # The body was decoded in another process. In a gate of several metrics each has its own deadline.
    return "/metrics" if b'"metrics"' in body else "/request/timeout_s"


SECONDS_PER_BYTE = 2.5e-8  # measured: JSON of integers 1.5e-8, of decimals 3e-8
INFLATION = 8  # typical compression ratio of numbers
INLINE_HASH_BYTES = 2**18  # 0.2 ms: less is not worth a thread
CLIENT_LEFT = 499  # only for the log: the client has disconnected


@dataclass(frozen=True, slots=True)
class TestEndpoint:
    """Answers requests for tests, plans and gates."""

    settings: Settings
    executor: Executor
    limits: Limits
    cache: Cache[RenderedResponse]
    budget: ByteBudget
    in_place: InPlace
    jobs: Jobs | None = None
    turns: Turns = field(default_factory=Turns)

    async def answer(self, request: Request, kind: Kind) -> Response:
        """Answer a request for a test, or for the plan of one."""
        reservation = self.budget.reserve()
        try:
            return await self._answer(request, kind, reservation)
        except BaseException:
            reservation.leave()  # otherwise it is released with the response
            raise

    async def _answer(self, request: Request, kind: Kind, reservation: Reservation) -> Response:
        received_at = time.monotonic()
        request_id = str(request.scope.get("request_id", ""))
        try:
            # Before the head is checked: a flood of invalid requests takes turns as well.
            turn = await self.turns.mine()
            store = self._store(request)
            headers = read_headers(request.scope)
            head = self._head(request, headers, kind, request_id, received_at)
            body = await receive_body(
                request.receive, headers.content_length, self.settings.max_body_bytes, reservation
            )
            rendered = await self._rendered(request, head, body, turn)
            if store is not None or rendered.store is not None:
                rendered = await self._stored(request, rendered, store)
            self.budget.answer(reservation, rendered)
        except ExactpermError as error:
            reservation.leave()
            rendered = problems.of_error(error, request_id, retry_after_s=self.settings.retry_after_s)
        except ClientDisconnect:
            reservation.leave()
            return Response(status_code=CLIENT_LEFT)
        request.scope["exactperm.work"] = rendered.work  # for the log and the metrics
        return SlicedResponse(rendered, reservation, self.turns)

    def _head(
        self, request: Request, headers: RequestHeaders, kind: Kind, request_id: str, received_at: float
    ) -> Job:
        """The request's head; refuses invalid heads."""
        pairs = request.query_params.multi_items() if request.scope["query_string"] else ()
        query = tuple(pair for pair in pairs if pair[0] != STORE)
        answer_in = representation(headers.accept, _only(query, "format"), KINDS[kind].offered)
        return Job(
            kind=kind,
            body=body_of(headers.content_type, headers.content_encoding, kind),
            query=query,
            representation=answer_in,
            request_id=request_id,
            received_at=received_at,
            submitted_at=received_at,
            limits=self.limits,
            theme=theme(_only(query, "theme"), answer_in),
            **({} if kind != "compare" else _of_a_board(query, answer_in)),
            timeout_s=timeout_of_query(query),
            keeps="off" if self.jobs is None else "kept",
        )

    def _store(self, request: Request) -> bool | None:
        """The query's `store` flag; None if absent."""
        pairs = request.query_params.multi_items() if request.scope["query_string"] else ()
        wanted = _only(tuple(pairs), STORE)
        if wanted is None:
            return None
        if wanted not in {"0", "false", "1", "true"}:
            raise InvalidTest.at(f"/?{STORE}", "invalid_boolean", f"{STORE} is 1 or 0.")
        if wanted in {"1", "true"} and self.jobs is None:
            raise JobsOff(OFF)
        return wanted in {"1", "true"}

    async def _stored(
        self, request: Request, rendered: RenderedResponse, store: bool | None
    ) -> RenderedResponse:
        """The answer, kept if the query (`store`) or the body asks for it; problems are not."""
        if rendered.began_at is None or self.jobs is None:
            return rendered
        if store is not None and rendered.store is not None and store != rendered.store:
            detail = f"{STORE} has another value in the body: give it once."
            raise InvalidTest.at(f"/?{STORE}", "given_twice", detail)
        if not (store or rendered.store):
            return rendered
        return await with_permalink(self.jobs, self.settings, owner_of(request, self.settings), rendered)

    async def _rendered(self, request: Request, head: Job, body: bytearray, turn: int) -> RenderedResponse:
        # Hashing 16 MB takes 10 ms, which would block the event loop.
        in_thread = len(body) > INLINE_HASH_BYTES
        hashed = await asyncio.to_thread(hashlib.sha256, body) if in_thread else hashlib.sha256(body)
        full = self.executor.full
        # Without computing here, a refusal or a cached answer needs no second turn.
        inspects = not full or self.in_place.inspects(head, len(body), full=True)
        if inspects and await self.turns.mine(turn) != turn:
            full = self.executor.full  # others had their turns
        key = cache_key(head, hashed, self._client(request))
        entry = self.cache.get(key)
        if entry is not None:
            return cached_answer(entry.value, head, time.monotonic() - entry.at)
        job = head.submitted(time.monotonic())
        predicted, asked_s = predicted_s(job, len(body)), job.timeout_s
        answered = None
        if not self.executor.under_way(key):
            before_s = self.in_place.seconds
            answered = self.in_place.try_to(job, body, full=full)
            self.turns.spend(self.in_place.seconds - before_s)
        if isinstance(answered, RenderedResponse):
            return answered
        if answered is not None:
            asked_s = asked_s if answered.timeout_s is None else answered.timeout_s
            if answered.seconds > self.settings.most_over_deadline * self._deadline_s(asked_s):
                too_long = TooLong(answered.seconds, self._deadline_s(asked_s))
                raise over_deadline(job, body, too_long, self.settings.max_timeout_s)
            predicted = max(predicted, answered.seconds)
        self.executor.refuse_unless_room(key, len(body), predicted)
        computing = asyncio.ensure_future(self._computed(key, job, body, predicted, asked_s))
        leaving = asyncio.ensure_future(disconnected(request.receive))
        try:
            await asyncio.wait({computing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not computing.done():
                raise ClientDisconnect
            return computing.result()
        finally:
            for task in (computing, leaving):
                task.cancel()
            await asyncio.gather(computing, leaving, return_exceptions=True)

    def _client(self, request: Request) -> str:
        """The owner of cached answers: API keys do not share them."""
        return request.headers.get("authorization", "") if self.settings.api_key_digests.strip() else ""

    def _deadline_s(self, asked_s: float | None) -> float:
        """The deadline of a request that asks for `asked_s`, or for none."""
        asked_s = self.settings.default_timeout_s if asked_s is None else asked_s
        return min(self.settings.max_timeout_s, asked_s)

    async def _computed(
        self, key: bytes, job: Job, body: bytearray, predicted: float, asked_s: float | None
    ) -> RenderedResponse:
        """The answer of a worker, perhaps shared with an identical request."""
        of_query_s, deadline = job.timeout_s, self._deadline_s(asked_s)
        longest = self.settings.max_timeout_s
        # A shared computation has one body, but the deadline in the query belongs to this request alone.
        query = job.query if of_query_s is None else query_of_answer(job.query)
        longest_s = longest if of_query_s is None else min(longest, of_query_s)
        try:
            result, shared = await self.executor.run_shared(
                key,
                handle_batch if job.kind == "batch" else handle_or_split,
                replace(job, query=query, timeout_s=None),
                body,
                deadline,
                longest_s,
                predicted,
                partial(self._keep, key),
            )
        except TooLong as error:
            raise over_deadline(job, body, error, longest) from None
        rendered: RenderedResponse = result
        return shared_answer(rendered, job) if shared else rendered

    def _keep(self, key: bytes, rendered: RenderedResponse) -> None:
        """Put an answer into the cache; a problem is computed again."""
        if rendered.began_at is not None:
            self.cache.put(key, rendered, rendered.size, time.monotonic())


def predicted_s(job: Job, size: int) -> float:
    """Predicted seconds of decoding alone; nothing else is known before the body is read."""
    return size * SECONDS_PER_BYTE * (1 if job.body.coding is None else INFLATION)


def _of_a_board(query: tuple[tuple[str, str], ...], answer_in: str) -> dict[str, Any]:
    """The options that only answers to comparisons have."""
    return {
        "picture": board_picture(_only(query, "picture"), answer_in),
        "table": board_table(_only(query, "table"), answer_in),
    }


def _only(query: tuple[tuple[str, str], ...], name: str) -> str | None:
    """The value of a query parameter that may be given once, or None."""
    if not query:
        return None
    values = [value for key, value in query if key == name]
    if len(values) > 1:
        raise InvalidTest.at(f"/?{name}", "duplicate_parameter", f"{name} is given twice.")
    return values[0] if values else None


def sent(rendered: RenderedResponse) -> Response:
    """A rendered answer as a response with exactly its headers."""
    response = Response(rendered.body, status_code=rendered.status)
    for name, value in rendered.headers:
        response.headers[name] = value
    return response
