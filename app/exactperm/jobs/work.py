"""The work of processes on jobs: validate and cut a request, compute a chunk, join the chunks.

It runs in workers of an executor, which kills it when the job is cancelled. The database holds data only, never
code.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import struct
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from types import MethodType
from typing import Any, cast

import numpy as np

from ..answers.test import Fraction2
from ..errors import ExactpermError, InputError, InvalidTest, PlanTooLarge, mapped
from ..execution.ipc import Control, Unbounded
from ..inference.compare.compare import PreparedCompare
from ..inference.compare.pair_tests import BinomialValues, Joined, Listed, PairTests, SumValues, concatenated
from ..service import pipeline, problems
from ..service.batch import Item, call_of, chunk_count, runs_of
from ..service.compare.comparison import ParsedCompare, slices_of
from ..service.kinds import JSON, KINDS, Kind
from ..service.messages import Job as Call, Limits, RenderedResponse
from ..service.parse import inflated
from ..service.validation import prefixed
from ..settings import Settings
from .model import BATCH, Envelope, JobPlan, kind_of

CLASSES: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (PairTests, Listed, Joined, SumValues, BinomialValues, Fraction2)
}
METHODS = frozenset({"fraction", "attained", "support", "null_key"})
FORGOTTEN = frozenset({"known"})  # found again on request
DTYPES = frozenset({"<i8", "<f8", "|b1"})
LENGTH = struct.Struct("<I")
# Larger integers are beyond doubles, and Python refuses to read those of more than some thousand digits.
LARGEST_PLAIN = 2**53


def dumped(value: Any) -> bytes:
    """Write a value as compressed bytes; raises TypeError for classes that are not in `CLASSES`."""
    arrays: list[bytes] = []
    seen: dict[int, int] = {}
    kept: list[Any] = []
    text = json.dumps(_written(value, arrays, seen, kept), allow_nan=False).encode()
    return zlib.compress(LENGTH.pack(len(text)) + text + b"".join(arrays), 1)


def loaded(content: bytes) -> Any:
    """Read bytes of `dumped`; raises ValueError for anything else."""
    try:
        plain = zlib.decompress(content)
        (length,) = LENGTH.unpack_from(plain)
        start = LENGTH.size + length
        return _Reader(memoryview(plain)[start:]).read(json.loads(plain[LENGTH.size : start]))
    except (
        zlib.error,
        struct.error,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise ValueError(f"this is not a chunk of a job: {type(error).__name__}") from None


def _written(value: Any, arrays: list[bytes], seen: dict[int, int], kept: list[Any]) -> Any:
    def inner(part: Any) -> Any:
        return _written(part, arrays, seen, kept)

    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return inner(value.item())
    if isinstance(value, int):
        return value if abs(value) <= LARGEST_PLAIN else {"int": hex(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, Fraction):
        return {"fraction": [hex(value.numerator), hex(value.denominator)]}
    if isinstance(value, tuple | list):
        return {"tuple" if isinstance(value, tuple) else "list": [inner(part) for part in value]}
    if isinstance(value, np.ndarray):
        if value.dtype.str not in DTYPES:
            raise TypeError(f"arrays of {value.dtype} are not written")
        raw = np.ascontiguousarray(value).tobytes()
        arrays.append(raw)
        return {"array": [value.dtype.str, list(value.shape), len(raw)]}
    if isinstance(value, MethodType) and value.__name__ in METHODS:
        return {"method": [inner(value.__self__), value.__name__]}
    return _written_record(value, inner, seen, kept)


def _written_record(value: Any, inner: Any, seen: dict[int, int], kept: list[Any]) -> Any:
    """Write an object of a class in `CLASSES`, each object only once."""
    name = type(value).__name__
    if CLASSES.get(name) is not type(value):
        raise TypeError(f"{name} is not written")
    if id(value) in seen:
        return {"again": seen[id(value)]}
    members = {
        field.name: inner(getattr(value, field.name))
        for field in fields(value)
        if field.name not in FORGOTTEN
    }
    seen[id(value)] = len(kept)
    kept.append(value)
    return {"record": [name, members]}


class _Reader:
    """Reads the output of `_written`, with its arrays in order."""

    def __init__(self, arrays: memoryview) -> None:
        self._arrays = arrays
        self._at = 0
        self._kept: list[Any] = []
        self._readers: dict[str, Callable[[Any], Any]] = {
            "int": lambda text: int(text, 16),
            "float": float,
            "fraction": lambda pair: Fraction(int(pair[0], 16), int(pair[1], 16)),
            "tuple": lambda members: tuple(map(self.read, members)),
            "list": lambda members: list(map(self.read, members)),
            "array": self._array,
            "method": self._method,
            "record": self._record,
            "again": self._kept.__getitem__,
        }

    def read(self, value: Any) -> Any:
        """Read one value."""
        if not isinstance(value, dict):
            if isinstance(value, list):
                raise TypeError("a list without its kind")
            return value
        ((kind, content),) = value.items()
        return self._readers[kind](content)

    def _array(self, content: list[Any]) -> Any:
        dtype, shape, size = content
        if dtype not in DTYPES or not 0 <= size <= len(self._arrays) - self._at:
            raise TypeError(dtype)
        raw = self._arrays[self._at : self._at + size]
        self._at += size
        return np.frombuffer(raw, dtype=dtype).reshape(shape).copy()

    def _method(self, content: list[Any]) -> Any:
        if content[1] not in METHODS:
            raise TypeError(content[1])
        owner = self.read(content[0])
        if type(owner) not in CLASSES.values():
            raise TypeError(type(owner).__name__)
        return getattr(owner, content[1])

    def _record(self, content: list[Any]) -> Any:
        kind = CLASSES[content[0]]
        known = {field.name for field in fields(kind)}
        if not set(content[1]) <= known:
            raise TypeError(content[0])
        record = kind(**{name: self.read(member) for name, member in content[1].items()})
        self._kept.append(record)
        return record


OFFERED_OF_A_LIST = ("json",)
SAMPLED = 100  # tests of a list to plan, which predict the others by size
CONSTANT_S = 3e-4  # for any test: decoding, planning, rendering


@dataclass(frozen=True, slots=True)
class Task:
    """One call of a worker for a job: a chunk, or the last call with the results of all chunks."""

    kind: str
    head: dict[str, Any]
    chunk: Any
    limits: Limits
    name: str  # job and chunk, the instance of a problem
    parts: tuple[bytes, ...] | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """`POST /v1/jobs` without its body, and the settings that cut it into chunks."""

    representation: str
    coding: str | None
    request_id: str
    limits: Limits
    chunk_seconds: float
    most_seconds: float


def plan_job(submission: Submission, body: bytes | bytearray, control: Control) -> JobPlan | RenderedResponse:
    """Plan a job, or return a problem."""
    request_id = submission.request_id
    head = {
        "kind": "plan",
        "body": {"media_type": JSON, "coding": submission.coding},
        "query": [],
        "representation": "json",
    }
    try:
        body = inflated(call_of(head, submission.limits, request_id), body, submission.limits.max_body_bytes)
        envelope = Envelope(kind_of(body), submission.representation)
        offered = OFFERED_OF_A_LIST if envelope.kind == BATCH else KINDS[cast("Kind", envelope.kind)].offered
        if submission.representation not in offered:
            detail = f"For this kind, format is one of {', '.join(offered)}."
            raise InvalidTest.at("/?format", "unknown_format", detail)
        if envelope.kind == BATCH:
            plan = _plan_of_list(envelope, submission, body)
        else:
            plan = _plan_single(envelope, submission, body)
        if plan.seconds > submission.most_seconds:
            detail = (
                f"This job is predicted to take {plan.seconds:.3g} processor seconds; at most "
                f"{submission.most_seconds:.3g} are allowed. Send it as several jobs, or choose a cheaper method."
            )
            raise PlanTooLarge(detail)
    except ExactpermError as error:
        return problems.of_error(error, request_id, media_type=JSON)
    return plan


def _plan_single(envelope: Envelope, submission: Submission, body: bytes | bytearray) -> JobPlan:
    item = envelope.only(body)
    call = call_of(item.head, submission.limits, submission.request_id)
    _, prepared, _ = mapped(prefixed("/request"), pipeline.planned, call, item.content, Unbounded())
    chunks: tuple[Any, ...] = (None,)
    tests = 1
    if isinstance(prepared, PreparedCompare):
        tests = prepared.tests
        boards = [(board.tests, board.planned.seconds) for board in prepared.boards]
        count = chunk_count(
            sum(seconds for _, seconds in boards),
            submission.chunk_seconds,
            min(Settings.job_max_chunks, max(tests, 1)),
        )
        if count > 1:
            slices = slices_of(boards, count)
            chunks = tuple([[each.board, each.start, each.stop] for each in part] for part in slices)
    seconds = min(float(prepared.seconds), submission.most_seconds * 2)
    return JobPlan(envelope.kind, item.head, tests, seconds, chunks, (zlib.compress(item.content, 1),))


def _plan_of_list(envelope: Envelope, submission: Submission, body: bytes | bytearray) -> JobPlan:
    items = envelope.items(body, Settings.job_max_tests)
    costs = _costs(items, submission.limits)
    lengths = runs_of(costs, submission.chunk_seconds, Settings.job_max_chunks)
    pieces, start = [], 0
    for length in lengths:
        pieces.append(_piece(items[start : start + length]))
        start += length
    return JobPlan(BATCH, {}, len(items), sum(costs), tuple(lengths), tuple(pieces))


def _costs(items: list[Item], limits: Limits) -> list[float]:
    """Predict the seconds of the tests of a list: plan a random sample, and take the same cost per byte for the others.

    The sample is random because a list could hide hours between cheap tests. An invalid test costs nothing and is
    answered with its problem.
    """
    step = max(1, len(items) // SAMPLED)
    seconds = size = 0.0
    known: dict[int, float] = {}
    for start in range(0, len(items), step):
        at = start + secrets.randbelow(min(step, len(items) - start))
        began = time.monotonic()
        try:
            _, prepared, _ = pipeline.planned(
                call_of(items[at].head, limits, ""), items[at].content, Unbounded()
            )
            known[at] = float(prepared.seconds) + 2.0 * (time.monotonic() - began)
        except ExactpermError:
            known[at] = time.monotonic() - began
        seconds += known[at]
        size += len(items[at].content)
    per_byte = seconds / max(size, 1.0)
    return [
        known[at] if at in known else CONSTANT_S + per_byte * len(item.content)
        for at, item in enumerate(items)
    ]


def _piece(items: list[Item]) -> bytes:
    """Write tests of a list as lines: a head, then its request on the next line."""
    lines = [json.dumps(item.head).encode() + b"\n" + item.content for item in items]
    index = json.dumps([len(line) for line in lines]).encode()
    return zlib.compress(index + b"\n" + b"".join(lines), 1)


def _items_of(piece: bytes) -> list[Item]:
    index, _, rest = zlib.decompress(piece).partition(b"\n")
    items, at = [], 0
    for length in json.loads(index):
        head, _, content = rest[at : at + length].partition(b"\n")
        items.append(Item(json.loads(head), content))
        at += length
    return items


def compute(task: Task, body: bytes | bytearray, control: Control) -> bytes | RenderedResponse:
    """Compute one chunk: bytes for the table of parts, the answer of a job of one chunk, or a problem."""
    if task.kind == BATCH:
        return _lines(task, bytes(body))
    if task.parts is not None:
        return _joined(task, bytes(body), control)
    call = call_of(task.head, task.limits, task.name)
    if task.chunk is None:
        return pipeline.handle(call, zlib.decompress(body), control)
    try:
        prepared, _ = _prepared(call, bytes(body))
        tests = [prepared.boards[board].solve(start, stop) for board, start, stop in task.chunk]
    except InputError:  # plan again as a whole, to locate the fault
        return pipeline.handle(call, zlib.decompress(body), control)
    return dumped(tests)


def _lines(task: Task, piece: bytes) -> bytes:
    """Answer a run of tests, one per line."""
    lines = []
    for number, item in enumerate(_items_of(piece)):
        call = call_of(item.head, task.limits, f"{task.name}:{number}")
        lines.append(line_of(pipeline.handle(call, item.content, Unbounded())))
    return zlib.compress(b"".join(lines), 1)


def line_of(answer: RenderedResponse) -> bytes:
    """Return an answer as one line; its JSON has a line break only at the end."""
    return answer.body.rstrip(b"\n") + b"\n"


def _joined(task: Task, body: bytes, control: Control) -> RenderedResponse:
    """Return the answer of a comparison whose chunks are `parts`; each has the slices of `chunk`."""
    assert task.parts is not None
    call = call_of(task.head, task.limits, task.name)
    prepared, parsed = _prepared(call, body)
    boards: list[list[PairTests]] = [[] for _ in prepared.boards]
    for slices, part in zip(task.chunk, task.parts, strict=True):
        for (board, _, _), tests in zip(slices, loaded(part), strict=True):
            boards[board].append(tests)
    whole = [
        concatenated(tests) if tests else board.solve(0, 0)
        for tests, board in zip(boards, prepared.boards, strict=True)
    ]
    return pipeline.answer_comparison(call, parsed, prepared, whole)


_known: OrderedDict[bytes, tuple[PreparedCompare, ParsedCompare]] = OrderedDict()


def _prepared(call: Call, body: bytes) -> tuple[PreparedCompare, ParsedCompare]:
    """Decode and plan a comparison once per process, however many chunks it computes."""
    key = hashlib.sha256(body).digest()
    cached = _known.get(key)
    if cached is None:
        _known.clear()  # one at a time: it may be large
        parsed, prepared, _ = pipeline.planned(call, zlib.decompress(body), Unbounded())
        assert isinstance(prepared, PreparedCompare)
        assert isinstance(parsed, ParsedCompare)
        cached = _known[key] = (prepared, parsed)
    return cached
