"""Records become answers: in JSON every field is written by its name, and `FORMS` lists the few exceptions; then bytes and headers.

The OpenAPI schemas are derived from the same records and the same exceptions (`exactperm.api.openapi.schemas`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from flint import fmpz
from pydantic_core import to_json

from .. import __version__
from ..answers.board import CompareRecord
from ..answers.gate import GateRecord, MetricRecord
from ..answers.plan import BoardPlanRecord, ComparePlanRecord, PlannedMethod, PlanRecord
from ..answers.power import PowerRecord
from ..answers.reading import sentences
from ..answers.test import Fraction2, NullRecord, ReadingRecord, TestRecord
from ..inference.options import Method
from ..inference.paired_test import ALGORITHM_VERSION
from ..reports.representations import BY_NAME, JSON, ReportContext
from .messages import Job, RenderedResponse, TestKind, WorkStats

LARGEST_EXACT = 2**53
SHORT_BITS = 10_000
LARGEST_COST = 1e300
Record = TestRecord | GateRecord | CompareRecord | PowerRecord
Content = tuple[bytes, bytes, bytes]  # before, own and after of `RenderedResponse`


@dataclass(frozen=True, slots=True)
class Runtime:
    """Milliseconds: in the engine, since the request arrived, and waiting for a worker."""

    engine_ms: float
    total_ms: float
    queue_ms: float


@dataclass(frozen=True, slots=True)
class Versions:
    """The program, and the algorithms; equal algorithm versions give equal bytes."""

    service: str
    algorithm: str


VERSIONS = Versions(__version__, ALGORITHM_VERSION)


@dataclass(frozen=True, slots=True)
class Answer:
    """A record with its runtime, versions and signature. Everything but `runtime` is a function of the request."""

    record: Any
    runtime: Runtime
    versions: Versions
    signature: str


@dataclass(frozen=True, slots=True)
class TestAnswer(Answer):
    """The answer to a test. Everything but `runtime` is a function of the request."""

    __test__ = False  # pytest would collect it by its name

    record: TestRecord


@dataclass(frozen=True, slots=True)
class GateAnswer(Answer):
    """The answer of a gate. Policy, margin and so on are those of the metric that decided."""

    record: GateRecord


@dataclass(frozen=True, slots=True)
class CompareAnswer(Answer):
    """The answer to a comparison of many systems. Everything but `runtime` is a function of the request.

    One board has `systems`, `pairs`, `groups` and `family` here. Several data sets have each their own in `datasets`, and
    those four are null; `overall` is the board over all of them.
    """

    record: CompareRecord


@dataclass(frozen=True, slots=True)
class PowerAnswer(Answer):
    """The answer to a question about power. Everything but `runtime` is a function of the request."""

    record: PowerRecord


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """What a test would do and cost, and what the alternatives would."""

    kind: TestKind
    record: PlanRecord
    versions: Versions


@dataclass(frozen=True, slots=True)
class ComparePlanAnswer:
    """What a comparison would do and cost."""

    kind: Literal["compare"]
    record: ComparePlanRecord
    versions: Versions


@dataclass(frozen=True, slots=True)
class Mass:
    """The probability of one bin of the null distribution."""

    value: float
    probability: float


@dataclass(frozen=True, slots=True)
class Form:
    """A field that JSON has in another form than its record: under another name, or as another type."""

    name: str
    type: Any
    write: Callable[[Any], Any]


def decimal(number: int) -> str:
    """An integer of any length in decimal. Python's own conversion is quadratic, and refuses long ones."""
    return str(number) if number.bit_length() < SHORT_BITS else str(fmpz(number).str())


def bounded(cost: float) -> float:
    """A cost that JSON can hold: exact while small, a double after that, never infinite."""
    if cost <= LARGEST_EXACT:
        return cost
    return float(cost) if cost < LARGEST_COST else LARGEST_COST


def _masses(pmf: tuple[tuple[float, float], ...] | None) -> list[dict[str, float]] | None:
    return None if pmf is None else [{"value": value, "probability": p} for value, p in pmf]


def _id(letter: str, *notes: str) -> Form:
    kind = Annotated[str, {"pattern": f"^{letter}_[0-9a-f]{{16}}$"}, *notes]
    return Form("id", kind, lambda digest: f"{letter}_{digest[:16]}")


FROM_REQUEST = "From the canonical request and the algorithm."
Decimal = Annotated[str, {"pattern": r"^\d+$"}, "In decimal, as a string: it may have any length."]
PLANS = (PlannedMethod, PlanRecord)
FORMS: dict[tuple[type, str], Form] = {
    (TestRecord, "digest"): _id("t", FROM_REQUEST),
    (GateRecord, "digest"): _id("g"),
    (PowerRecord, "digest"): _id("w", FROM_REQUEST),
    (CompareRecord, "digest"): _id("c", FROM_REQUEST),
    (ReadingRecord, "facts"): Form("notes", tuple[str, ...], sentences),
    (Fraction2, "numerator"): Form("numerator", Decimal, decimal),
    (NullRecord, "quantiles"): Form("quantiles", dict[str, float] | None, lambda of: None if of is None else dict(of)),
    (NullRecord, "pmf"): Form("pmf", tuple[Mass, ...] | None, _masses),
    **{
        (record, name): Form(name, float, bounded)
        for record in PLANS for name in ("operations", "bytes", "seconds")
    },
    **{(record, "seconds"): Form("seconds", float, bounded) for record in (BoardPlanRecord, ComparePlanRecord)},
    **{(record, "method"): Form("method", Method, str) for record in PLANS},
}  # fmt: skip
# Records whose fields become members of the object around them.
INLINE: frozenset[tuple[type, str]] = frozenset(
    (
        *((answer, "record") for answer in (TestAnswer, GateAnswer, PowerAnswer, CompareAnswer, PlanAnswer, ComparePlanAnswer)),
        *((record, "sequential") for record in (TestRecord, GateRecord, MetricRecord)),
        *((record, "terms") for record in (GateRecord, MetricRecord)),
        (CompareRecord, "board"),
    )
)  # fmt: skip


def json_types(record: type) -> dict[str, Any]:
    """The members of a record's JSON object in their order, with their annotated types."""
    types: dict[str, Any] = {}
    for name, kind in get_type_hints(record, include_extras=True).items():
        if (record, name) in INLINE:
            types |= _inner_types(record, name, kind)
        elif (record, name) in FORMS:
            types[FORMS[record, name].name] = FORMS[record, name].type
        else:
            types[name] = kind
    return types


def as_json(value: Any) -> Any:
    """A value of a record as JSON types: records as objects, tuples as lists, mappings as objects."""
    if value is None:
        return None
    kind = type(value)
    writer = _writers.get(kind)
    if writer is None:
        if kind is tuple:
            return [as_json(item) for item in value]
        if kind is dict:
            return {name: as_json(member) for name, member in value.items()}
        if not hasattr(kind, "__dataclass_fields__"):
            return value
        writer = _writers[kind] = _writer(kind)
    members = dict(zip(writer.names, writer.members(value), strict=True))
    for name, write, of_none in writer.others:
        member = members[name]
        if member is not None or of_none:
            members[name] = write(member)
    return writer.inlined(members) if writer.inline else members


@dataclass(frozen=True, slots=True)
class _Writer:
    """How the records of a class are written; found once, because a leaderboard has hundreds of thousands of them.

    `others` are the members that are not JSON types yet, with whether None is written otherwise; `inline` those that become
    members of the object around them: each with the names that it has there, which are null when it is None.
    """

    names: tuple[str, ...]
    members: Callable[[Any], tuple[Any, ...]]
    others: tuple[tuple[str, Callable[[Any], Any], bool], ...]
    inline: dict[str, tuple[str, ...]]

    def inlined(self, members: dict[str, Any]) -> dict[str, Any]:
        """The members with those of inline records in their place."""
        written: dict[str, Any] = {}
        for name, member in members.items():
            inner = self.inline.get(name)
            if inner is None:
                written[name] = member
            elif member:
                written |= member if len(member) == len(inner) else {each: member[each] for each in inner}
            else:
                written |= dict.fromkeys(inner)
        return written


_writers: dict[type, _Writer] = {}


def _writer(record: type) -> _Writer:
    names = [field.name for field in fields(record)]
    forms = {name: FORMS[record, name] for name in names if (record, name) in FORMS}
    written_as = {name: forms[name].name if name in forms else name for name in names}
    hints = get_type_hints(record)
    others = {name: _write_of(hints[name]) for name in names if not _is_plain(hints[name])}
    others |= {name: form.write for name, form in forms.items()}
    getter = attrgetter(*names)
    return _Writer(
        names=tuple(written_as.values()),
        members=getter if len(names) > 1 else lambda value: (getter(value),),
        others=tuple((written_as[name], write, name in forms) for name, write in others.items()),
        inline={
            name: tuple(_inner_types(record, name, hints[name])) for name in names if (record, name) in INLINE
        },
    )


def _write_of(kind: Any) -> Callable[[Any], Any]:
    """What writes the values of a type."""
    if get_origin(kind) is tuple and all(_is_plain(part) for part in get_args(kind) if part is not Ellipsis):
        return list
    return as_json


def _is_plain(kind: Any) -> bool:
    """Whether every value of a type is a JSON value as it is: numbers, texts, booleans, null."""
    if get_origin(kind) in {Union, UnionType}:
        return all(map(_is_plain, get_args(kind)))
    return kind in {float, int, str, bool, type(None)} or get_origin(kind) is Literal


def _inner_types(record: type, name: str, kind: Any) -> dict[str, Any]:
    """The members that an inline record becomes. They may be null if it may be None.

    Where the object around it has a member of the same name, that one is written.
    """
    optional, inner = get_origin(kind) in {Union, UnionType}, _inner_of(kind)
    own = {field.name for field in fields(record)} - {name}
    types = {member: of for member, of in json_types(inner).items() if member not in own}
    return {member: _or_null(of) for member, of in types.items()} if optional else types


def _inner_of(kind: Any) -> Any:
    """The class of a record that may be None."""
    if get_origin(kind) not in {Union, UnionType}:
        return kind
    return next(part for part in get_args(kind) if part is not type(None))


def _or_null(kind: Any) -> Any:
    """The type, or null; what is said of it stays outside, as bounds cannot be hashed."""
    if get_origin(kind) is not Annotated:
        return kind | None
    own, *notes = get_args(kind)
    return Annotated[own | None, *notes]


def versions() -> dict[str, str]:
    """The version of the program, and of the algorithms."""
    return dict(as_json(VERSIONS))


def answer_id(record: Record) -> str:
    """Equal for equal requests under the same algorithm version."""
    return str(FORMS[type(record), "digest"].write(record.digest))


def signature(record: Record) -> str:
    """What was done, in one line for a paper's appendix."""
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
    return "|".join(["exactperm", f"alg:{ALGORITHM_VERSION}", *parts, f"sha:{record.digest[:8]}"])


ANSWERS: dict[type, type[Answer]] = {
    TestRecord: TestAnswer,
    GateRecord: GateAnswer,
    CompareRecord: CompareAnswer,
    PowerRecord: PowerAnswer,
}


def render(record: Record, runtime: Runtime) -> dict[str, Any]:
    """The JSON answer; of a comparison, warnings about its one board are among those of the answer."""
    line, shown = signature(record), record
    if isinstance(record, CompareRecord):
        if record.board is not None:
            record = replace(record, warnings=(*record.warnings, *record.board.warnings))
        shown = record.as_listed()
    return dict(as_json(ANSWERS[type(record)](shown, runtime, VERSIONS, line)))


def render_plan(kind: Any, plan: PlanRecord | ComparePlanRecord) -> dict[str, Any]:
    """The JSON plan of a test, or of a comparison."""
    answer: Any = ComparePlanAnswer if kind == "compare" else PlanAnswer
    return dict(as_json(answer(kind, plan, VERSIONS)))


# Bytes and headers


def content_of(
    job: Job,
    record: Record,
    report: Callable[[Any, ReportContext], bytes] | None,
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
    runtime = runtime_of(job, started, planning)
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
