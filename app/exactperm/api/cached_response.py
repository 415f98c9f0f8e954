"""Responses from the cache or from a shared computation, with the runtime, timing and id of this request.

Everything else in an answer is a function of the request alone, so that identical requests can share one computation,
and answers can be cached. The times of another request must not be reported as this one's.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ..service import problems
from ..service.answers import encode, milliseconds
from ..service.messages import OF_THE_CALL, Job, RenderedResponse, Source, WorkStats

NOT_IN_KEY = frozenset({"timeout_s"})  # query parameters that do not change the answer


def asked_of(query: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The part of a query that an answer depends on."""
    return tuple(item for item in query if item[0] not in NOT_IN_KEY)


def key_of(job: Job, digest: Any, client: str = "") -> bytes:
    """A digest of everything that an answer depends on, and of the client, who must not learn what others have sent.

    `digest` is the hash object of the body; it is updated here.
    """
    query = asked_of(job.query)
    asked = (
        job.kind,
        job.body.media_type,
        job.body.coding,
        job.body.boundary,
        job.representation,
        job.theme,
        query,
        client,
    )
    # What is not the client's own text has few values.
    digest.update(_few_asked(asked) if not (query or client or job.body.boundary) else _asked(asked))
    key: bytes = digest.digest()
    return key


def _asked(asked: tuple[object, ...]) -> bytes:
    return b"\0" + json.dumps(asked).encode()


_few_asked = lru_cache(maxsize=256)(_asked)


def kept(rendered: RenderedResponse, job: Job, age_s: float) -> RenderedResponse:
    """An answer from the cache: no engine ran for this request; `Age` is its age in seconds."""
    total_ms = milliseconds(time.monotonic() - job.received_at)
    runtime = {"engine_ms": 0.0, "total_ms": total_ms, "queue_ms": 0.0}
    headers = (("server-timing", f"cache;desc=hit, total;dur={total_ms}"), ("age", str(int(age_s))))
    work = _without_time(rendered.work, "kept", 0.0)
    return replace(
        rendered, headers=_headers(rendered) + headers, own=_runtime(rendered.own, runtime), work=work
    )


def shared(rendered: RenderedResponse, job: Job) -> RenderedResponse:
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
    """The same work without its time, which is counted once."""
    return None if work is None else replace(work, queue_s=queue_s, compute_s=None, source=source)


def _headers(rendered: RenderedResponse) -> tuple[tuple[str, str], ...]:
    return tuple(header for header in rendered.headers if header[0] not in OF_THE_CALL)


def _runtime(own: bytes, runtime: dict[str, float]) -> bytes:
    """The `runtime` of a test with these members; empty for answers without one (reports, plans)."""
    return encode({**json.loads(own), **runtime}).rstrip() if own else own
