"""One request for a test, from bytes to rendered answer: decode, plan, run, render.

The same function runs in a worker process and, for small requests, in the web process. It imports no web framework,
so that workers import none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from ..engine.plan import Budget
from ..errors import BodyTooLarge, ExactpermError, InputError, relocated
from ..execution.ipc import UNBOUNDED, Control
from ..execution.split import Split
from ..inference.compare.pair_tests import PairTests
from ..inference.compare.prepared import PreparedCompare
from ..inference.paired_test import Prepared, finish, plan_record, prepare
from ..inference.record import reported
from ..inputs.formats import price
from ..reports.representations import BY_NAME, JSON
from . import problems
from .compare.parse import ParsedCompare, parse_compare
from .compare.parts import Slice, Whole, joined, solved, split_of
from .compare.run import (
    Told,
    counting_seconds,
    plan_of_comparison,
    prepare_comparison,
    run_comparison,
    told,
)
from .gate.parse import ParsedGate, parse_gate
from .gate.run import PreparedGate, headers_of, prepare_gate, run_gate, status_of
from .in_place import may_run_in_place
from .media_types import JSON as JSON_BODY, MULTIPART
from .messages import Job, RenderedResponse, TestKind
from .parse import ParsedTest, inflated, parse_test
from .parse_plan import parse_plan
from .power.parse import ParsedPower, parse_power
from .power.run import PreparedPower, prepare_power, run_power
from .render_json import (
    answer_id,
    render_compare,
    render_compare_plan,
    render_gate,
    render_plan,
    render_power,
    render_test,
)
from .rendered import content_of, encode, rendered
from .self_test import KNOWN, self_test
from .storing import asking


@dataclass(frozen=True, slots=True)
class Later:
    """A request for a worker: its predicted seconds, 0 where unknown, and the deadline that it asks for."""

    seconds: float = 0.0
    timeout_s: float | None = None


Parsed = ParsedTest | ParsedGate | ParsedCompare | ParsedPower
Planned = Prepared | PreparedGate | PreparedCompare | PreparedPower
Answered = TypeVar("Answered", RenderedResponse, RenderedResponse | Later, RenderedResponse | Split)

WARM_UP_BODY = b'{"u": [1, 0, 1, 2, 5], "v": [0, 0, 1, 1, 2]}'
WARM_UP_BOARD = b'{"kind": "scores", "systems": {"A": [1, 1, 1], "B": [1, 0, 0], "C": [0, 1, 2]}}'


def handle(job: Job, body: bytes | bytearray, control: Control) -> RenderedResponse:
    """Answer one request, errors included; raises nothing but MemoryError."""

    def steps(started: float) -> RenderedResponse:
        parsed, prepared, planning = planned(job, body, control)
        if job.kind != "plan":
            control.plan(prepared.seconds)
        return _finished(job, parsed, prepared, started, planning)

    return _never_raising(job, steps)


def handle_or_split(job: Job, body: bytes | bytearray, control: Control) -> RenderedResponse | Split:
    """The same; but of a long comparison only the plan, for several workers to run its tests."""
    if job.kind != "compare":
        return handle(job, body, control)

    def steps(started: float) -> RenderedResponse | Split:
        parsed, prepared, planning = planned(job, body, control)
        assert isinstance(prepared, PreparedCompare)
        assert isinstance(parsed, ParsedCompare)
        asked = job if parsed.store is None else asking(job, parsed.store)
        split = split_of(asked, parsed, prepared, (run_pairs, join_pairs), started, planning)
        if split is not None:
            return split
        control.plan(prepared.seconds)
        return _finished(job, parsed, prepared, started, planning)

    return _never_raising(job, steps)


def planned(job: Job, body: bytes | bytearray, control: Control) -> tuple[Parsed, Planned, float]:
    """A request decoded and planned, and when planning began; its deadline, and that it may be long, are told.

    First that it may take long to read: once it is inflated its bytes are known, and of files what they declare.
    """
    plain = inflated(job, body, job.limits.max_body_bytes)
    if job.body.media_type != MULTIPART:
        control.plan(price.of_body(plain))
    parsed = _parsed(job, plain, control)
    if parsed.timeout_s is not None:
        control.deadline(parsed.timeout_s)
    planning = time.monotonic()
    counting = parsed.counting_seconds if not isinstance(parsed, ParsedCompare) else counting_seconds(parsed)
    if job.kind != "plan" or isinstance(parsed, ParsedCompare):
        control.plan(counting)  # texts are counted before there is a plan
    return parsed, _prepared(job, parsed), planning


def answer_comparison(
    job: Job, parsed: ParsedCompare, prepared: PreparedCompare, tests: Sequence[PairTests]
) -> RenderedResponse:
    """Answer a comparison whose tests have been run, board by board."""

    def steps(started: float) -> RenderedResponse:
        with relocated(parsed.pointer_map):
            return _compared(job, prepared, told(parsed), started, started, tests)

    return _never_raising(job, steps)


def run_pairs(slices: tuple[Slice, ...], plan: bytes | bytearray, control: Control) -> bytes | InputError:
    """Run the tests of some pairs of a comparison that was planned."""
    return solved(plan, slices)


def join_pairs(
    known: tuple[Whole, tuple[bytes | InputError, ...]], body: bytes | bytearray, control: Control
) -> RenderedResponse:
    """Answer a comparison whose tests were run in parts; the body is read again only to say where it is wrong."""
    whole, results = known
    job = whole.job

    def steps(_: float) -> RenderedResponse:
        try:
            prepared, tests = joined(whole, results)
            return _compared(job, prepared, whole.told, whole.started, whole.planning, tests)
        except InputError as error:
            parsed = parse_compare(job, inflated(job, body, job.limits.max_body_bytes))
            with relocated(parsed.pointer_map):
                raise error from None

    return _never_raising(job, steps)


def handle_in_place(
    job: Job, body: bytes | bytearray, engine_seconds: float, small_bytes: int
) -> RenderedResponse | Later:
    """Answer one small request; or return `Later` when that would block the event loop longer than `engine_seconds`.

    Its seconds are 0 where they are unknown: for files, for a body of more than `small_bytes` when inflated, and where
    even the preparation may be long.
    """
    if job.body.media_type == MULTIPART:
        return Later()

    def steps(started: float) -> RenderedResponse | Later:
        try:
            plain = inflated(job, body, min(small_bytes, job.limits.max_body_bytes))
        except BodyTooLarge:
            return Later()  # a worker decides whether it is too large
        parsed = _parsed(job, plain)
        if not may_run_in_place(parsed):
            return Later(timeout_s=parsed.timeout_s)
        planning = time.monotonic()
        prepared = _prepared(job, parsed)
        if job.kind != "plan" and prepared.longest_seconds > engine_seconds:
            return Later(prepared.seconds, parsed.timeout_s)
        return _finished(job, parsed, prepared, started, planning)

    try:
        return _never_raising(job, steps)
    except MemoryError:
        return Later()  # a worker has a limit of its own


def _never_raising(job: Job, steps: Callable[[float], Answered]) -> Answered | RenderedResponse:
    try:
        return steps(time.monotonic())
    except ExactpermError as error:
        wait_s, media_type = job.limits.retry_after_s, job.body.media_type
        return problems.of_error(error, job.request_id, retry_after_s=wait_s, media_type=media_type)
    except MemoryError:
        raise  # the worker ends, and its caller gets a 503
    except Exception as error:  # noqa: BLE001  (a bug is answered, too: 500)
        return problems.of_bug(error, job.request_id)


def _parsed(job: Job, body: bytes | bytearray, control: Control = UNBOUNDED) -> Parsed:
    parsed = _decoded(job, body, control)
    if parsed.store:
        asking(job, parsed.store)  # nothing is computed where it cannot be kept
    return parsed


def _decoded(job: Job, body: bytes | bytearray, control: Control) -> Parsed:
    if job.kind == "gate":
        return parse_gate(job, body, control)
    if job.kind == "compare":
        return parse_compare(job, body, control)
    if job.kind == "power":
        return parse_power(job, body, control)
    if job.kind == "plan" and job.body.media_type == JSON_BODY:
        return parse_plan(job, body)
    return parse_test(job, body, control)


def _prepared(job: Job, parsed: Parsed) -> Planned:
    if isinstance(parsed, ParsedGate):
        return prepare_gate(job, parsed)
    if isinstance(parsed, ParsedCompare):
        return prepare_comparison(job, parsed)
    if isinstance(parsed, ParsedPower):
        return prepare_power(job, parsed)
    limits = job.limits
    budget = Budget(limits.engine_budget_operations, limits.engine_budget_bytes)
    with relocated(parsed.pointer_map):
        return prepare(parsed.data, parsed.spec, parsed.options, budget, only_planned=job.kind == "plan")


def _finished(
    job: Job,
    parsed: Parsed,
    prepared: Planned,
    started: float,
    planning: float,
) -> RenderedResponse:
    """Run and render. Engine time counts from `planning`: it includes the lattice and the plan."""
    if parsed.store is not None:
        job = asking(job, parsed.store)
    if isinstance(prepared, PreparedGate):
        gate = run_gate(prepared)
        content = content_of(job, gate, render_gate, BY_NAME[job.reported_in].gate, started, planning)
        status = status_of(gate, prepared.parsed.fail_status)
        test = gate.deciding.test
        computed = (test.method.name, test.items.n)
        return rendered(job, content, headers_of(gate), job.representation, started, status, computed)
    if isinstance(prepared, PreparedCompare):
        assert isinstance(parsed, ParsedCompare)
        if job.kind == "plan":
            content = (encode(render_compare_plan(plan_of_comparison(prepared))), b"", b"")
            return rendered(job, content, (), JSON, started)
        with relocated(parsed.pointer_map):
            return _compared(job, prepared, told(parsed), started, planning)
    if isinstance(prepared, PreparedPower):
        power = run_power(prepared)
        content = content_of(job, power, render_power, BY_NAME[job.reported_in].power, started, planning)
        etag = (("etag", f'W/"{answer_id(power)}"'),)
        computed = ("power", power.solution.n or 0)
        return rendered(job, content, etag, job.representation, started, computed=computed)
    assert isinstance(parsed, ParsedTest)
    if job.kind == "plan":
        kind = cast("TestKind", parsed.kind)  # segments come from files alone, which only the CLI plans
        content = (encode(render_plan(kind, plan_record(prepared))), b"", b"")
        return rendered(job, content, (), JSON, started)
    record = reported(finish(prepared), parsed.reading_record, parsed.warnings)
    content = content_of(job, record, render_test, BY_NAME[job.reported_in].test, started, planning)
    # For scripts that do not read the body, and of pictures, which say it only to eyes.
    extra = (("x-p-value", repr(record.p_value)), ("etag", f'W/"{answer_id(record)}"'))
    computed = (record.method.name, record.items.n)
    return rendered(job, content, extra, job.representation, started, computed=computed)


def _compared(
    job: Job,
    prepared: PreparedCompare,
    told: Told,
    started: float,
    planning: float,
    tests: Sequence[PairTests] | None = None,
) -> RenderedResponse:
    """The answer to a comparison; `tests` if they have been run already."""
    record = run_comparison(prepared, told, tests)
    content = content_of(job, record, render_compare, BY_NAME[job.reported_in].compare, started, planning)
    etag = (("etag", f'W/"{answer_id(record)}"'),)
    computed = ("compare", prepared.tests)
    return rendered(job, content, etag, job.representation, started, computed=computed)


def warm_up(job: Job, body: bytes | bytearray, control: Control) -> None:
    """Import and use everything once, so that the first request does not pay for it."""
    handle(job, WARM_UP_BODY, UNBOUNDED)
    handle(replace(job, kind="compare"), WARM_UP_BOARD, UNBOUNDED)
    # BLAS takes 32 MiB at its first use, for example: that is part of a warm worker's size.
    self_test(KNOWN, b"", UNBOUNDED)
