"""Turn records into answers: bytes in the requested representation, and headers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from pydantic_core import to_json

from ..answers.board import CompareRecord
from ..answers.gate import GateRecord
from ..answers.plan import ComparePlanRecord, PlanRecord
from ..answers.power import PowerRecord
from ..answers.test import ID_CHARS, Runtime, TestRecord, Versions
from ..inference.paired import ALGORITHM_VERSION
from ..reports.representations import BY_NAME, JSON, ReportContext
from ..version import __version__
from .messages import Job, RenderedResponse, WorkStats

Record = TestRecord | GateRecord | CompareRecord | PowerRecord
Content = tuple[bytes, bytes, bytes]  # before, own and after of `RenderedResponse`


VERSIONS = Versions(__version__, ALGORITHM_VERSION)


def versions() -> dict[str, str]:
    """The version of the program, and of the algorithms."""
    return asdict(VERSIONS)


def answer_id(record: Record) -> str:
    """Equal for equal requests under the same algorithm version."""
    return record.id[:ID_CHARS]


def signature(record: Record) -> str:
    """The test in one line, for a paper's appendix."""
    match record:
        case CompareRecord():
            boards = record.boards.values()
            names = {system.name for board in boards for system in board.systems}
            sets = [] if record.datasets is None else [f"datasets:{len(record.datasets)}"]
            tests = sum(board.family.size for board in boards)
            parts = ["compare", record.main_board.family.adjust, record.statistic, *sets]
            parts += [f"systems:{len(names)}", f"pairs:{tests}"]
        case PowerRecord():
            parts = ["power", record.solve, record.alternative, record.method.name]
        case GateRecord():
            parts = ["gate", record.verdict, f"metrics:{len(record.metrics)}"]
        case TestRecord():
            parts = [record.test, record.statistic.name, record.alternative, record.method.name]
            parts.append(f"n:{record.items.n}")
    return "|".join(["exactperm", f"alg:{ALGORITHM_VERSION}", *parts, f"sha:{record.id[2:10]}"])


def render(record: Record, runtime: Runtime) -> Content:
    """The JSON answer: record, runtime, versions and signature; everything but the runtime is a function of the request."""
    line = signature(record)
    if isinstance(record, CompareRecord):
        record = record.as_listed()
    after = b',"versions":%b,"signature":%b}\n' % (_versions(), to_json(line))
    return written(record)[:-1] + b',"runtime":', written(runtime), after


def render_plan(kind: str, plan: PlanRecord | ComparePlanRecord) -> bytes:
    """The JSON plan of a test, or of a comparison."""
    return b'{"kind":%b,%b,"versions":%b}\n' % (to_json(kind), written(plan)[1:-1], _versions())


# Bytes and headers


@cache
def _versions() -> bytes:
    return written(VERSIONS)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind | None, config=ConfigDict(ser_json_inf_nan="constants"))


def written(record: Any) -> bytes:
    """JSON with the shortest round-trip numbers; raises for NaN, which would be a bug."""
    kind: type = type(record)
    text = _adapter(kind).dump_json(record)
    # Part of a label, or a number. Searching for one byte first is ten times faster.
    if (b"N" in text and b"NaN" in text) or (b"I" in text and b"Infinity" in text):
        return json.dumps(json.loads(text, parse_constant=_refuse), separators=(",", ":")).encode()
    return text


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} in an answer")


def content_of(
    job: Job,
    record: Record,
    report: Callable[[Any, ReportContext], bytes] | None,
    started: float,
    planning: float,
) -> Content:
    """The record in the requested representation; JSON has the runtime, and before it a line of text if the job asks for one."""
    reported = b""
    if report is not None:
        context = ReportContext(answer_id(record), signature(record), job.theme, job.picture, job.table)
        reported = report(record, context)
    if job.representation != JSON:
        assert report is not None
        return reported, b"", b""
    runtime = runtime_of(job, started, planning)
    before, measured, after = render(record, runtime)
    return reported + before, measured, after


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
    before, measured, after = content
    return RenderedResponse(
        status, headers + restricted + extra, before, started, work, measured, after, job.store
    )


def runtime_of(job: Job, started: float, planning: float) -> Runtime:
    """The time that an answer has taken."""
    now = time.monotonic()
    return Runtime(
        engine_ms=milliseconds(now - planning),
        total_ms=milliseconds(now - job.received_at),
        queue_ms=milliseconds(started - job.submitted_at),
    )


def milliseconds(seconds: float) -> float:
    """Seconds as milliseconds, to the microsecond."""
    return round(max(seconds, 0.0) * 1e3, 3)
