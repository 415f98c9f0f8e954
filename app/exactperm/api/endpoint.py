"""The endpoint of all tests: receives a request, and decides where it is computed.

Small bodies are decoded in the web process and, if their predicted cost is small, answered there without a process hop.
All others go to a worker as raw bytes and come back as a rendered answer: the event loop never parses a large body and
never computes for longer than a few milliseconds. Requests take turns, and the web process spends at most a share of
its time on tests; beyond it they go to the workers, too.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Scope

from ..errors import ExactpermError, Flaw, InvalidTest, JobsOff, PlanTooLarge
from ..execution.executor import Executor
from ..execution.ipc import TooLong
from ..execution.shared_answers import Cache
from ..service import problems
from ..service.batch import handle_batch
from ..service.media_types import JSON, MULTIPART, OFFERED
from ..service.messages import Job, Kind, Limits, RenderedResponse
from ..service.pipeline import handle_or_split
from ..service.query import timeout_of_query
from ..service.storing import OFF, STORE
from ..settings import Settings
from . import cached_response
from .admission import InPlace
from .job_store import with_permalink
from .negotiation import board_picture, board_table, body_of, representation, theme
from .owner import owner_of
from .request_body import ByteBudget, Reservation, disconnected, receive_body
from .sliced_response import SlicedResponse
from .turns import Turns

if TYPE_CHECKING:
    from ..jobs.gateway import Jobs

# Refusal of a test


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


# What the headers of a request tell about its body and the wanted answer, read in one pass


class Told(NamedTuple):
    """The values of headers: all lines of a list, the first line of any other."""

    accept: str | None
    content_type: str | None
    content_encoding: str
    content_length: str | None


def told_by(scope: Scope) -> Told:
    """What a request tells.

    >>> told_by({"headers": [(b"accept", b"text/csv"), (b"content-length", b"2"), (b"accept", b"*/*")]})
    Told(accept='text/csv,*/*', content_type=None, content_encoding='', content_length='2')
    """
    ranges: list[str] = []
    codings: list[str] = []
    content_type = content_length = None
    for name, value in scope["headers"]:
        if name == b"content-type":
            content_type = value.decode("latin-1") if content_type is None else content_type
        elif name == b"content-length":
            content_length = value.decode("latin-1") if content_length is None else content_length
        elif name == b"accept":
            ranges.append(value.decode("latin-1"))
        elif name == b"content-encoding":
            codings.append(value.decode("latin-1"))
    return Told(",".join(ranges) or None, content_type, ",".join(codings), content_length)


# The endpoint of all tests: receives a request, and decides where it is computed


SECONDS_PER_BYTE = 2.5e-8  # measured: JSON of integers 1.5e-8, of decimals 3e-8
INFLATION = 8  # typical compression ratio of numbers
INLINE_HASH_BYTES = 2**18  # 0.2 ms: less is not worth a thread
CLIENT_LEFT = 499  # for the log only; the client has disconnected


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
            # Before the head is checked: a flood of invalid requests takes turns, too.
            turn = await self.turns.mine()
            store = self._store(request)
            told = told_by(request.scope)
            head = self._head(request, told, kind, request_id, received_at)
            body = await receive_body(
                request.receive, told.content_length, self.settings.max_body_bytes, reservation
            )
            rendered = await self._rendered(request, head, body, turn)
            if store is not None or rendered.store is not None:
                rendered = await self._kept(request, rendered, store)
            self.budget.answer(reservation, rendered)
        except ExactpermError as error:
            reservation.leave()
            rendered = problems.of_error(error, request_id, retry_after_s=self.settings.retry_after_s)
        except ClientDisconnect:
            reservation.leave()
            return Response(status_code=CLIENT_LEFT)
        request.scope["exactperm.work"] = rendered.work  # for the log and the metrics
        return SlicedResponse(rendered, reservation, self.turns)

    def _head(self, request: Request, told: Told, kind: Kind, request_id: str, received_at: float) -> Job:
        """What is known about the request before its body; invalid heads are refused here."""
        given = request.query_params.multi_items() if request.scope["query_string"] else ()
        query = tuple(one for one in given if one[0] != STORE)
        answer_in = representation(told.accept, _only(query, "format"), OFFERED[kind])
        return Job(
            kind=kind,
            body=body_of(told.content_type, told.content_encoding, kind),
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
        """What the query says of keeping the answer; None if it says nothing."""
        given = request.query_params.multi_items() if request.scope["query_string"] else ()
        wanted = _only(tuple(given), STORE)
        if wanted is None:
            return None
        if wanted not in {"0", "false", "1", "true"}:
            raise InvalidTest.at(f"/?{STORE}", "invalid_boolean", f"{STORE} is 1 or 0.")
        if wanted in {"1", "true"} and self.jobs is None:
            raise JobsOff(OFF)
        return wanted in {"1", "true"}

    async def _kept(
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
        # Where nothing is computed here, a refusal or a cached answer needs no second turn.
        inspects = not full or self.in_place.inspects(head, len(body), full=True)
        if inspects and await self.turns.mine(turn) != turn:
            full = self.executor.full  # others had theirs
        key = cached_response.key_of(head, hashed, self._client(request))
        entry = self.cache.get(key)
        if entry is not None:
            return cached_response.kept(entry.value, head, time.monotonic() - entry.at)
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
        """The owner of cached answers: those of one API key are not given to another."""
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
        query = job.query if of_query_s is None else cached_response.asked_of(job.query)
        own = longest if of_query_s is None else min(longest, of_query_s)
        try:
            found, shared = await self.executor.run_shared(
                key,
                handle_batch if job.kind == "batch" else handle_or_split,
                replace(job, query=query, timeout_s=None),
                body,
                deadline,
                own,
                predicted,
                partial(self._keep, key),
            )
        except TooLong as error:
            raise over_deadline(job, body, error, longest) from None
        rendered: RenderedResponse = found
        return cached_response.shared(rendered, job) if shared else rendered

    def _keep(self, key: bytes, rendered: RenderedResponse) -> None:
        """Put an answer into the cache; a problem is computed again."""
        if rendered.began_at is not None:
            self.cache.put(key, rendered, rendered.size, time.monotonic())


def predicted_s(job: Job, size: int) -> float:
    """Predicted seconds of decoding alone: nothing else is known before the body is read."""
    return size * SECONDS_PER_BYTE * (1 if job.body.coding is None else INFLATION)


def _of_a_board(query: tuple[tuple[str, str], ...], answer_in: str) -> dict[str, Any]:
    """What only the answers to comparisons have a choice of."""
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
