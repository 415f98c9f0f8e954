"""A record becomes the bytes and headers of a response; JSON has the time that it took."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic_core import to_json

from ..inference.compare.record import CompareRecord
from ..inference.gate.record import GateRecord
from ..inference.power.record import PowerRecord
from ..inference.record import TestRecord
from ..reports.representations import BY_NAME, JSON, ReportContext
from .messages import Job, RenderedResponse, WorkStats
from .render_json import Runtime, answer_id, render, signature

Content = tuple[bytes, bytes, bytes]  # before, own and after of `RenderedResponse`
Record = TypeVar("Record", TestRecord, GateRecord, CompareRecord, PowerRecord)


def content_of(
    job: Job,
    record: Record,
    report: Callable[[Record, ReportContext], bytes] | None,
    started: float,
    planning: float,
) -> Content:
    """The record in the representation requested; JSON has the runtime, and where the job asks for it a line of text before."""
    reported = b""
    if report is not None:
        context = ReportContext(answer_id(record), signature(record), job.theme, job.picture, job.table)
        reported = report(record, context)
    if job.representation != JSON:
        assert report is not None
        return reported, b"", b""
    now = time.monotonic()
    runtime = Runtime(
        engine_ms=milliseconds(now - planning),
        total_ms=milliseconds(now - job.received_at),
        queue_ms=milliseconds(started - job.submitted_at),
    )
    before, own, after = with_own(render(record, runtime), "runtime")
    return reported + before, own, after


def rendered(
    job: Job,
    content: Content,
    extra: tuple[tuple[str, str], ...],
    representation: str,
    started: float,
    status: int = 200,
    computed: tuple[str, int] | None = None,
) -> RenderedResponse:
    """The response with its headers; `computed` is the method and the number of items, for logs and metrics."""
    queue_s, compute_s = max(started - job.submitted_at, 0.0), time.monotonic() - started
    queue_ms, compute_ms = milliseconds(queue_s), milliseconds(compute_s)
    sent_as = BY_NAME[representation]
    headers = (
        ("content-type", sent_as.content_type),
        ("cache-control", "no-store"),
        ("vary", "Accept"),
        ("server-timing", f"queue;dur={queue_ms}, compute;dur={compute_ms}"),
    )
    policy = sent_as.content_security_policy
    restricted = (("content-security-policy", policy),) if policy is not None else ()
    work = None if computed is None else WorkStats(*computed, queue_s, compute_s)
    before, own, after = content
    return RenderedResponse(
        status, headers + restricted + extra, before, started, work, own, after, job.store
    )


def milliseconds(seconds: float) -> float:
    """Seconds as milliseconds, to the microsecond."""
    return round(max(seconds, 0.0) * 1e3, 3)


def encode(value: dict[str, Any]) -> bytes:
    """JSON with the shortest numbers that survive a round trip; raises for NaN, which would be a bug."""
    text = to_json(value, inf_nan_mode="constants")
    if _may_not_be_finite(text):  # a number, or part of a label
        text = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    return text + b"\n"


def _may_not_be_finite(text: bytes) -> bool:
    """Whether NaN or Infinity occurs. Searching for one byte first is ten times faster, and most answers have neither."""
    return (b"N" in text and b"NaN" in text) or (b"I" in text and b"Infinity" in text)


def with_own(value: dict[str, Any], name: str) -> Content:
    """The same as `encode` in three parts: before the member `name`, its value, and after it.

    The member is an object of numbers, and the last of its name. Inside a text its name would be after a backslash.
    """
    text, key = encode(value), b',"%b":{' % name.encode()
    begin = text.rindex(key) + len(key) - 1
    end = text.index(b"}", begin) + 1
    return text[:begin], text[begin:end], text[end:]
