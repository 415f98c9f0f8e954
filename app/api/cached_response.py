"""An answer that was computed for somebody else, made this request's own: its runtime, its timing, its id.

Everything else in an answer is a function of the request alone, so that equal requests may share one computation, and
an answer may be kept. What says how long it took must not be passed on as if it were this request's.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

from ..service import problems
from ..service.messages import Job, RenderedResponse, Source, WorkStats
from ..service.pipeline import encode, milliseconds

OF_THE_CALL = frozenset({"server-timing", "age"})
NOT_ASKED = frozenset({"timeout_s"})  # of the query: how long to wait is not what is asked


def asked_of(query: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The part of a query that an answer depends on."""
    return tuple(item for item in query if item[0] not in NOT_ASKED)


def key_of(job: Job, digest: Any, client: str = "") -> bytes:
    """A digest of everything that an answer depends on, and of who asks: whether an answer was kept says that somebody
    had sent the same. `digest` is the hash object of the body, used up by this.
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
    digest.update(b"\0" + json.dumps(asked).encode())
    key: bytes = digest.digest()
    return key


def kept(rendered: RenderedResponse, job: Job, age_s: float) -> RenderedResponse:
    """An answer out of the cache: no engine ran for this request, and `Age` says how old it is."""
    total_ms = milliseconds(time.monotonic() - job.received_at)
    runtime = {"engine_ms": 0.0, "total_ms": total_ms, "queue_ms": 0.0}
    headers = (("server-timing", f"cache;desc=hit, total;dur={total_ms}"), ("age", str(int(age_s))))
    work = _without_time(rendered.work, "kept", 0.0)
    return replace(
        rendered, headers=_headers(rendered) + headers, own=_runtime(rendered.own, runtime), work=work
    )


def shared(rendered: RenderedResponse, job: Job) -> RenderedResponse:
    """An answer, or a problem, that another request began and this one waited for, too."""
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
    """The same work, not counted again."""
    return None if work is None else replace(work, queue_s=queue_s, compute_s=None, source=source)


def _headers(rendered: RenderedResponse) -> tuple[tuple[str, str], ...]:
    return tuple(header for header in rendered.headers if header[0] not in OF_THE_CALL)


def _runtime(own: bytes, runtime: dict[str, float]) -> bytes:
    """The runtime of a test with these members; nothing where an answer has none (reports, plans)."""
    return encode({**json.loads(own), **runtime}).rstrip() if own else own
