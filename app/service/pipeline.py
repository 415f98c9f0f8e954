"""One request for a test, from bytes to rendered answer: decode, plan, run, render.

Runs in a worker process or, when it is small, in the web process; it is the same function. It knows no web
framework, so that a worker imports none.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic_core import to_json

from ..engine.plan import Budget
from ..errors import BodyTooLarge, ExactpermError, InvalidTest, PlanTooLarge
from ..execution.ipc import Control, Unbounded
from ..inference.paired_test import Prepared, finish, plan_record, prepare
from ..inference.record import reported
from ..reports.representations import BY_NAME, JSON, ReportContext
from . import problems
from .gate.parse import GateAsked, gate_decoded
from .gate.run import (
    PreparedGate,
    gate_answer,
    gate_id,
    headers_of,
    prepare_gate,
    run_gate,
    status_of,
)
from .in_place import may_run
from .media_types import MULTIPART
from .messages import Job, Rendered, Work
from .parse import Asked, decoded, inflated
from .pointers import moved
from .render_json import answer, answer_id, plan_answer, signature
from .self_test import KNOWN, self_test


@dataclass(frozen=True, slots=True)
class Later:
    """A request that is for a worker: its predicted seconds, 0 where unknown, and the deadline its body asks for."""

    seconds: float = 0.0
    timeout_s: float | None = None


Content = tuple[bytes, bytes, bytes]  # before, own and after of `Rendered`
Answered = TypeVar("Answered", Rendered, Rendered | Later)

WARM_UP_BODY = b'{"u": [1, 0, 1, 2, 5], "v": [0, 0, 1, 1, 2]}'


def handle(job: Job, body: bytes | bytearray, control: Control) -> Rendered:
    """Answer one request, errors included; raises nothing but MemoryError."""

    def steps(started: float) -> Rendered:
        asked = _decoded(job, inflated(job, body, job.limits.max_body_bytes))
        if asked.timeout_s is not None:
            control.deadline(asked.timeout_s)
        planning = time.monotonic()
        if job.kind != "plan":
            control.plan(asked.counting_seconds)  # texts are counted before there is a plan
        prepared = _prepared(job, asked)
        if job.kind != "plan":
            control.plan(prepared.seconds)
        return _finished(job, asked, prepared, started, planning)

    return _never_raising(job, steps)


def handle_in_place(
    job: Job, body: bytes | bytearray, engine_seconds: float, small_bytes: int
) -> Rendered | Later:
    """Answer one small request; or, when that would keep the event loop longer than `engine_seconds`, say how long
    and until when.

    How long is 0 where nobody knows yet: for files, which take their time to be read, for a body of more than
    `small_bytes` when inflated, and where even the preparation may be long.
    """
    if job.body.media_type == MULTIPART:
        return Later()

    def steps(started: float) -> Rendered | Later:
        try:
            plain = inflated(job, body, min(small_bytes, job.limits.max_body_bytes))
        except BodyTooLarge:
            return Later()  # a worker will see whether it is too large
        asked = _decoded(job, plain)
        if not may_run(asked):
            return Later(timeout_s=asked.timeout_s)
        planning = time.monotonic()
        prepared = _prepared(job, asked)
        if job.kind != "plan" and prepared.longest_seconds > engine_seconds:
            return Later(prepared.seconds, asked.timeout_s)
        return _finished(job, asked, prepared, started, planning)

    try:
        return _never_raising(job, steps)
    except MemoryError:
        return Later()  # a worker has a limit of its own


def _never_raising(job: Job, steps: Callable[[float], Answered]) -> Answered | Rendered:
    try:
        return steps(time.monotonic())
    except ExactpermError as error:
        return problems.of_error(error, job.request_id, retry_after_s=job.limits.retry_after_s)
    except MemoryError:
        raise  # no fault of ours: a worker ends of it, and its caller gets 503
    except Exception as error:  # noqa: BLE001  (a bug is an answer, too: 500)
        return problems.of_bug(error, job.request_id)


def _decoded(job: Job, body: bytes | bytearray) -> Asked | GateAsked:
    return gate_decoded(job, body) if job.kind == "gate" else decoded(job, body)


def _prepared(job: Job, asked: Asked | GateAsked) -> Prepared | PreparedGate:
    if isinstance(asked, GateAsked):
        return prepare_gate(job, asked)
    limits = job.limits
    try:
        budget = Budget(limits.budget_operations, limits.budget_bytes)
        return prepare(asked.data, asked.spec, asked.options, budget, only_planned=job.kind == "plan")
    except (InvalidTest, PlanTooLarge) as error:
        raise moved(error, asked.place) from error


def _finished(
    job: Job, asked: Asked | GateAsked, prepared: Prepared | PreparedGate, started: float, planning: float
) -> Rendered:
    """Run and render. Engine time is counted since `planning`: the lattice and the plan are part of it."""
    if isinstance(prepared, PreparedGate):
        gate = run_gate(prepared)
        render_gate = BY_NAME[job.representation].gate
        if job.representation == JSON:
            content = with_own(gate_answer(gate, prepared.asked, _runtime(job, started, planning)), "runtime")
        else:
            assert render_gate is not None
            content = (render_gate(gate, ReportContext(gate_id(gate), theme=job.theme)), b"", b"")
        status = status_of(gate, prepared.asked.fail_status)
        test = gate.deciding.test
        computed = (test.method.name, test.items.n)
        return _rendered(job, content, headers_of(gate), job.representation, started, status, computed)
    assert isinstance(asked, Asked)
    if job.kind == "plan":
        content = (encode(plan_answer(asked.kind, plan_record(prepared))), b"", b"")
        return _rendered(job, content, (), JSON, started)
    record = reported(finish(prepared), asked.notes, asked.cautions)
    render = BY_NAME[job.representation].test
    if job.representation == JSON:
        runtime = _runtime(job, started, planning)
        content = with_own(answer(record, asked.data.pairing, runtime, asked.reading), "runtime")
    else:
        assert render is not None
        context = ReportContext(answer_id(record), signature(record), job.theme)
        content = (render(record, context), b"", b"")
    etag = (("etag", f'W/"{answer_id(record)}"'),)
    computed = (record.method.name, record.items.n)
    return _rendered(job, content, etag, job.representation, started, computed=computed)


def _runtime(job: Job, started: float, planning: float) -> dict[str, float]:
    now = time.monotonic()
    return {
        "engine_ms": milliseconds(now - planning),
        "total_ms": milliseconds(now - job.received_at),
        "queue_ms": milliseconds(started - job.submitted_at),
    }


def _rendered(
    job: Job,
    content: Content,
    extra: tuple[tuple[str, str], ...],
    representation: str,
    started: float,
    status: int = 200,
    computed: tuple[str, int] | None = None,
) -> Rendered:
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
    work = None if computed is None else Work(*computed, queue_s, compute_s)
    before, own, after = content
    return Rendered(status, headers + restricted + extra, before, started, work, own, after)


def milliseconds(seconds: float) -> float:
    """Seconds as milliseconds, to the microsecond."""
    return round(max(seconds, 0.0) * 1e3, 3)


def encode(value: dict[str, Any]) -> bytes:
    """JSON with the shortest numbers that survive a round trip, and no NaN ever: that is a bug, and raises."""
    said = to_json(value, inf_nan_mode="constants")
    if b"NaN" in said or b"Infinity" in said:  # a number, or a part of somebody's label
        said = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    return said + b"\n"


def with_own(value: dict[str, Any], name: str) -> Content:
    """The same as `encode` in three parts: before the member `name`, its value, and after it."""
    names = list(value)
    at = names.index(name)
    before = encode({each: value[each] for each in names[:at]}).removesuffix(b"}\n")
    after = encode({each: value[each] for each in names[at + 1 :]}).removeprefix(b"{")
    return before + b',"' + name.encode() + b'":', encode(value[name]).rstrip(), b"," + after


def warm_up(job: Job, body: bytes | bytearray, control: Control) -> None:
    """Pay for imports and first uses before the first request does. What it answers does not matter."""
    handle(job, WARM_UP_BODY, Unbounded())
    # BLAS, for one, takes 32 MiB when it is first used: that belongs to the size of a warm worker.
    self_test(KNOWN, b"", Unbounded())
