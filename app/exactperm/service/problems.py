"""Errors as RFC 9457 problem details: the only place that maps exceptions to statuses.

Nothing echoes input: details are our sentences, pointers and the few necessary ids are shortened, and a problem has
at most `MAX_PROBLEM_BYTES`.
"""

from __future__ import annotations

import json
import logging
import re
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated, Any

from ..errors import (
    MAX_FLAWS,
    BodyTooSlow,
    CapacityError,
    ExactpermError,
    Flaw,
    TooManyConnections,
    Unauthorized,
    place_of,
)
from .kinds import JSON as JSON_BODY
from .messages import RenderedResponse

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
MAX_PROBLEM_BYTES = 16_000
MAX_DETAIL_CHARS = 600
MAX_POINTER_CHARS = 200
MAX_TITLE_CHARS = 80
TYPE_PREFIX = "/docs/problems#"
# Options that a sentence marks (`errors.marked`); what is in quotes is the caller's.
MARKED = re.compile(r'"(?:[^"\\]|\\.)*"|`([a-z]\w*)(?:=([^`]*))?`')
LITERAL = re.compile(r"true|false|null|-?\d+(\.\d+)?|[\[{].*")


@dataclass(frozen=True, slots=True)
class Problem:
    """RFC 9457 problem details; at most 16 KB, and never an echo of the input."""

    type: str
    title: str
    status: int
    detail: str
    instance: Annotated[str, "The request id."]
    errors: Annotated[tuple[Flaw, ...], {"max_length": MAX_FLAWS, "default": []}] = ()


@dataclass(frozen=True, slots=True)
class ProblemType:
    """A kind of problem: its status, a title that never changes, and what to do about it."""

    code: str
    status: int
    title: str
    advice: str


# fmt: off
# One line per problem type. An exception has the type that its `code` names.
TYPES = {kind.code: kind for kind in (
    ProblemType("malformed-body", 400, "The body cannot be parsed", "Send valid UTF-8 of the declared media type."),
    ProblemType("bad-request", 400, "This is not valid HTTP", "Send a request that conforms to RFC 9112."),
    ProblemType("unauthorized", 401, "An API key is needed", "Send Authorization: Bearer with a key from the operator."),
    ProblemType("not-found", 404, "There is nothing here", "See /docs for the paths that exist."),
    ProblemType("method-not-allowed", 405, "The method is not allowed", "Use a method from the Allow header."),
    ProblemType("not-acceptable", 406, "No acceptable representation", "Ask for one of the media types listed in /v1/meta."),
    ProblemType("body-too-slow", 408, "The body came too slowly", "Send it faster, or compress it (gzip, zstd)."),
    ProblemType("headers-too-slow", 408, "The headers came too slowly", "Send all headers at once."),
    ProblemType("job-not-finished", 409, "The job has no result", "Wait for it (GET /v1/jobs/{id}); a failed job has its reason there."),
    ProblemType("expired", 410, "It is no longer kept", "Send the request again."),
    ProblemType("body-too-large", 413, "The body is too large", "Send fewer items, or raise the server's limit (/v1/meta)."),
    ProblemType("unsupported-media-type", 415, "The media type is not supported", "Declare one of the media types in /v1/meta."),
    ProblemType("invalid-test", 422, "The request is not a valid test", "Fix the fields listed in errors."),
    ProblemType("idempotency-conflict", 422, "The idempotency key was used for another request", "Choose a new key for a new request."),
    ProblemType("plan-too-large", 422, "The test costs more than allowed", "Choose method auto or a cheaper one (/v1/plan)."),
    ProblemType("too-many-requests", 429, "Too many requests", "Wait for Retry-After seconds."),
    ProblemType("headers-too-large", 431, "The headers are too large", "Send fewer or shorter headers."),
    ProblemType("internal", 500, "The service failed", "This is a fault of the service; please report it."),
    ProblemType("not-implemented", 501, "The transfer coding is not supported", "Send chunked, or no transfer coding."),
    ProblemType("jobs-off", 501, "This service has no jobs", "Ask its operator to set EXACTPERM_JOBS_URL."),
    ProblemType("deadline-exceeded", 503, "The deadline passed", "Ask for a larger timeout_s or a cheaper method (/v1/plan)."),
    ProblemType("not-ready", 503, "The service is not ready", "Try again after Retry-After seconds."),
    ProblemType("out-of-memory", 503, "The computation took too much memory", "Ask for a cheaper method (/v1/plan), or send less."),
    ProblemType("overloaded", 503, "The service is at capacity", "Send the request again after Retry-After seconds."),
    ProblemType("store-away", 503, "The database of jobs is away", "Try again after Retry-After seconds; tests are still answered."),
    ProblemType("too-many-connections", 503, "Too many connections", "Try again after Retry-After seconds, over fewer connections."),
    ProblemType("worker-lost", 503, "The computation was lost", "Send it again; if it happens again, the test is too large."),
    ProblemType("http-version-not-supported", 505, "The HTTP version is not supported", "Use HTTP/1.1."),
)}
# fmt: on
INTERNAL = TYPES["internal"]
# Problem types for statuses of HTTP itself.
OF_HTTP = (
    "bad-request not-found method-not-allowed headers-too-slow too-many-requests headers-too-large internal "
    "not-implemented not-ready http-version-not-supported"
)
BY_STATUS = {TYPES[code].status: code for code in OF_HTTP.split()}


def all_types() -> list[ProblemType]:
    """Every problem type, by status."""
    return sorted(TYPES.values(), key=lambda kind: (kind.status, kind.code))


def of_error(
    error: ExactpermError, request_id: str, *, retry_after_s: int = 1, media_type: str = ""
) -> RenderedResponse:
    """The problem for one of exactperm's exceptions; `media_type` is that of the request's body."""
    headers: tuple[tuple[str, str], ...] = ()
    if isinstance(error, Unauthorized):
        headers = (("www-authenticate", 'Bearer realm="exactperm"'),)
    if isinstance(error, BodyTooSlow | TooManyConnections):
        headers = (("connection", "close"),)
    if isinstance(error, CapacityError):
        headers += (("retry-after", str(error.retry_after_s or retry_after_s)),)
    flaws, detail = error.flaws, error.detail
    if flaws and detail.startswith(at := f"At {flaws[0].pointer}: "):
        detail = f"At {place_of(flaws[0].pointer) or 'the body'}: {detail.removeprefix(at)}"
    if media_type == JSON_BODY:
        flaws = tuple(replace(flaw, detail=_in_json(flaw.detail)) for flaw in flaws)
        detail = _in_json(detail)
    return render(TYPES.get(error.code, INTERNAL), detail, request_id, flaws=flaws, headers=headers)


def _in_json(sentence: str) -> str:
    """A sentence with its options as members: `"id_column": "q"` for `id_column=q`."""
    return MARKED.sub(_member, sentence)


def _member(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    if name is None or value is None:
        return match[0] if name is None else f'`"{name}"`'
    return f'`"{name}": {value if LITERAL.fullmatch(value) else json.dumps(value)}`'


def of_status(
    status: int, detail: str | None, request_id: str, headers: Iterable[tuple[str, str]] = ()
) -> RenderedResponse:
    """The problem for a status of HTTP itself, such as 404."""
    phrase = HTTPStatus(status).phrase
    kind = TYPES.get(
        BY_STATUS.get(status, ""), ProblemType(phrase.lower().replace(" ", "-"), status, phrase, phrase)
    )
    return render(kind, detail or kind.advice, request_id, headers=tuple(headers))


def of_bug(error: Exception, request_id: str) -> RenderedResponse:
    """The problem for an unexpected exception. Its type and position are logged, never its message."""
    frames = traceback.extract_tb(error.__traceback__)
    log.error(
        "unexpected %s at %s (request %s)",
        type(error).__qualname__,
        f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?",
        request_id,
        extra={"exception": error},  # the formatter of `ops.logs` writes its stack; others ignore it
    )
    return render(INTERNAL, "The service failed unexpectedly. Please report the request id.", request_id)


def render(
    kind: ProblemType,
    detail: str,
    request_id: str,
    *,
    flaws: tuple[Flaw, ...] = (),
    headers: tuple[tuple[str, str], ...] = (),
) -> RenderedResponse:
    """Write a problem, leaving out choices and then flaws from the end until it is small enough."""
    problem: dict[str, Any] = {
        "type": TYPE_PREFIX + kind.code,
        "title": kind.title,
        "status": kind.status,
        "detail": cut(detail, MAX_DETAIL_CHARS),
    }
    before, instance_bytes = encode(problem)[:-2] + b', "instance": ', instance(request_id)
    shown = [_flaw(flaw) for flaw in flaws[:MAX_FLAWS]]
    after = _after(shown)
    while shown and len(before) + len(instance_bytes) + len(after) > MAX_PROBLEM_BYTES:
        chosen = next((one for one in reversed(shown) if one.get("choices")), None)
        if chosen is None:
            shown.pop()
        else:
            chosen.pop("choices")
        after = _after(shown)
    fixed = (("content-type", MEDIA_TYPE), ("cache-control", "no-store"))
    return RenderedResponse(kind.status, fixed + headers, before, own=instance_bytes, after=after)


def instance(request_id: str) -> bytes:
    """The member of a problem that names the request, as JSON."""
    return json.dumps(request_id).encode()


def _flaw(flaw: Flaw) -> dict[str, Any]:
    pointer, detail = cut(flaw.pointer, MAX_POINTER_CHARS), cut(flaw.detail, MAX_DETAIL_CHARS)
    shown: dict[str, Any] = {"pointer": pointer, "code": flaw.code, "detail": detail}
    if flaw.choices:
        shown["choices"] = [
            {"title": cut(choice.title, MAX_TITLE_CHARS), "fields": dict(choice.fields)}
            for choice in flaw.choices
        ]
    return shown


def _after(shown: list[dict[str, Any]]) -> bytes:
    return b", " + encode({"errors": shown})[1:] if shown else b"}\n"


def encode(problem: dict[str, Any]) -> bytes:
    """JSON in ASCII, so that labels are harmless."""
    return json.dumps(problem, allow_nan=False).encode() + b"\n"


def cut(text: str, chars: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= chars else text[: chars - 1] + "…"
