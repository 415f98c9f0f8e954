"""`POST /v1/batch`: a list of small requests, answered in order, each as by its endpoint, by one or several workers.

Only the structure of a list is decoded, so that 100,000 tests cost no more than their bytes; each endpoint gets the
original bytes. A bad request, or one predicted to take longer than `batch_test_seconds`, is answered with a problem
in its place.
"""

from __future__ import annotations

import json
import math
import pickle
import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..errors import ExactpermError, InvalidTest, MalformedBody, PlanTooLarge, pointer_token
from ..execution.ipc import Control, Part, Split
from ..inputs.quoting import quoted
from ..reports.representations import NDJSON as LINES
from . import pipeline, problems
from .answers import Content, rendered, runtime_of, written
from .kinds import JSON, LISTED, NDJSON
from .messages import STORE, Body, Job, Limits, RenderedResponse, asking, of_a_list
from .parse import inflated
from .query import ELSEWHERE, options_of_query

SPACE = " \t\n\r"
OF_A_TEST = {"kind", "request"}
MOST_MEMBERS = 100  # in an object with a few known members: more are not listed
BLANK, LINE = re.compile(f"[{SPACE}]*"), re.compile(f"[^{SPACE}][^\n]*")

_ignore: Callable[[str], int] = len
# Numbers are not converted, so that integers of any length cost nothing.
SKIP = json.JSONDecoder(parse_int=_ignore, parse_float=_ignore, parse_constant=_ignore)


@dataclass(frozen=True, slots=True)
class Item:
    """One request: head and body."""

    head: dict[str, Any]
    content: bytes


def head_of(kind: str, representation: str = "json") -> dict[str, Any]:
    """A request without its body."""
    return {"kind": kind, "body": {"media_type": JSON}, "query": [], "representation": representation}


def call_of(head: dict[str, Any], limits: Limits, name: str) -> Job:
    """The call of the pipeline that answers a request of a list; `name` is the instance of its problem."""
    at = time.monotonic()
    return Job(
        kind=head["kind"],
        body=Body(**head["body"]),
        query=tuple((str(key), str(value)) for key, value in head["query"]),
        representation=head["representation"],
        request_id=name,
        received_at=at,
        submitted_at=at,
        limits=limits,
        keeps="listed",
    )


def elements(tests: str, most: int, pointer: str) -> list[str]:
    """The elements of a JSON list, byte for byte; raises InvalidTest (no list, empty, more than `most`) and MalformedBody."""
    if not tests.startswith("["):
        detail = 'A list of tests is {"tests": [{"kind": …, "request": …}, …]}.'
        raise InvalidTest.at(pointer, "missing", detail)
    texts = [value for _, value in _inside(tests, 0, most, _too_many(most, pointer))[0]]
    _require_some(texts, pointer)
    return texts


def lines(text: str, most: int) -> list[str]:
    """The lines of a text that are not empty; raises InvalidTest for none, and for more than `most`."""
    read = [line[0] for line in islice(LINE.finditer(text), most + 1)]
    if len(read) > most:
        raise _too_many(most, "")
    _require_some(read, "")
    return read


def _too_many(most: int, pointer: str) -> InvalidTest:
    return InvalidTest.at(pointer, "too_many_tests", f"At most {most:,} tests are allowed in one list.")


def _require_some(elements: list[str], pointer: str) -> None:
    if not elements:
        raise InvalidTest.at(pointer, "empty", "The list has no tests.")


def item_of(text: str, pointer: str = "") -> Item:
    """One element of a list; raises InvalidTest with pointers below `pointer`, and MalformedBody."""
    members = members_of(text, pointer)
    return Item(
        head_of(kind_of_json(members["kind"], LISTED, f"{pointer}/kind")), members["request"].encode()
    )


def kind_of_json(written: str, kinds: tuple[str, ...], pointer: str) -> str:
    """The kind that a JSON text is; raises InvalidTest."""
    try:
        kind = json.loads(written)
    except ValueError:
        kind = None
    if not isinstance(kind, str) or kind not in kinds:
        raise InvalidTest.at(pointer, "unknown_kind", f"kind is one of {', '.join(kinds)}.")
    return kind


def text_of(body: bytes | bytearray) -> str:
    """A body as text; raises MalformedBody."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise MalformedBody("The body is not UTF-8.") from None


def members_of(
    text: str, pointer: str, names: Collection[str] = OF_A_TEST, optional: Collection[str] = ()
) -> dict[str, str]:
    """The unparsed members of an object that has exactly these; raises InvalidTest, and MalformedBody."""
    start = _skipped(text, 0)
    if start == len(text):
        raise MalformedBody("The body is not valid JSON: it is empty.")
    if text[start] != "{":
        raise InvalidTest.at(pointer, "not_an_object", "A JSON object belongs here.")
    detail = f"Too many members (more than {MOST_MEMBERS}): leave out those that are not documented."
    excess = InvalidTest.at(pointer, "too_many_members", detail)
    pairs, end = _inside(text, start, MOST_MEMBERS, excess)
    members: dict[str, str] = {}
    for name, value in pairs:
        if name in members:
            detail = f"The key {name[:40]!r} occurs twice in one object."
            raise InvalidTest.at(pointer, "duplicate_key", detail)
        members[name] = value
    if text[end:].strip(SPACE):
        raise MalformedBody("The body has more than one JSON value.")
    known = {*names, *optional}
    for name in sorted(set(members) - known):
        detail = f"There is no member {quoted(name)} here; there is {' and '.join(sorted(known))}."
        raise InvalidTest.at(f"{pointer}/{pointer_token(name[:40])}", "unknown_field", detail)
    for name in sorted(set(names) - set(members)):
        raise InvalidTest.at(f"{pointer}/{name}", "missing", f"{name} is missing.")
    return members


def _inside(text: str, start: int, most: int, excess: InvalidTest) -> tuple[list[tuple[str, str]], int]:
    """Keys ("" in a list) and unparsed values of the object or list at `start`, and its end; raises MalformedBody, and `excess` after `most`."""
    closing = "}" if text[start] == "{" else "]"
    members: list[tuple[str, str]] = []
    at = _skipped(text, start + 1)
    if text[at : at + 1] == closing:
        return members, at + 1
    while True:
        name = ""
        if closing == "}":
            if text[at : at + 1] != '"':
                raise MalformedBody("The body is not valid JSON: a key was expected.")
            end = _end(text, at)
            name, at = json.loads(text[at:end]), _skipped(text, end)
            if text[at : at + 1] != ":":
                raise MalformedBody("The body is not valid JSON: a colon was expected.")
            at = _skipped(text, at + 1)
        end = _end(text, at)
        if len(members) == most:
            raise excess
        members.append((name, text[at:end]))
        at = _skipped(text, end)
        if text[at : at + 1] == closing:
            return members, at + 1
        if text[at : at + 1] != ",":
            raise MalformedBody("The body is not valid JSON: a comma was expected.")
        at = _skipped(text, at + 1)


def _end(text: str, start: int) -> int:
    """The end of the JSON value at `start`."""
    try:
        return int(SKIP.raw_decode(text, start)[1])
    except (ValueError, StopIteration, RecursionError):
        raise MalformedBody("The body is not valid JSON.") from None


def _skipped(text: str, at: int) -> int:
    """The next position that is not white space, or the end; a megabyte of white space takes a millisecond."""
    blanks = BLANK.match(text, at)
    assert blanks is not None
    return blanks.end()


def chunk_count(seconds: float, chunk_seconds: float, most: int) -> int:
    """The number of chunks for this many predicted seconds: at least 1, at most `most`."""
    wanted = seconds / chunk_seconds
    return max(1, min(most, math.ceil(wanted) if math.isfinite(wanted) else most))


def runs_of(costs: Sequence[float], chunk_seconds: float, most: int) -> list[int]:
    """The lengths of at most `most` consecutive runs of about the same predicted seconds; a test longer than a chunk ends its run."""
    if not costs:
        return []
    share = max(chunk_seconds, sum(costs) / most)
    lengths: list[int] = []
    length, filled = 0, 0.0
    for cost in costs:
        if length and filled + cost > share and len(lengths) < most - 1:
            lengths.append(length)
            length, filled = 0, 0.0
        length += 1
        filled += cost
    return [*lengths, length]


# Predicted seconds of decoding, planning, computing and rendering one request.
SECONDS, SECONDS_PER_BYTE = 1e-3, 2e-7
# A list needs a second worker if it is longer than this many long calls.
_LONG = 0.5


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive requests: the position of the first, and the most bytes of their answers."""

    job: Job
    start: int
    most_bytes: int


@dataclass(slots=True)
class Priced:
    """The control of requests that share a call: it refuses long ones, and asks for a long call if all plans exceed a short one.

    `most` are the seconds allowed for the current request.
    """

    control: Control
    limits: Limits
    requests: int
    begun: int = 0
    seconds: float = 0.0
    asked: bool = False
    most: float = 0.0

    def begin(self) -> None:
        """The next request."""
        self.begun += 1
        self.most = self.limits.batch_test_seconds

    def deadline(self, seconds: float) -> None:
        """Set the deadline of a request, which is not started if predicted to take longer."""
        self.most = min(self.most, seconds)

    def plan(self, seconds: float) -> None:
        """Price a request; raises PlanTooLarge."""
        if seconds > self.most:
            detail = (
                f"The test was not started: it is predicted to take {seconds:.3g} s, and a test in a list "
                f"may take {self.most:g} s. Send it separately, or choose a cheaper method."
            )
            raise PlanTooLarge(detail)
        self.seconds += seconds
        if self.seconds > self.limits.long_test_seconds and not self.asked:
            self.asked = True
            self.control.plan(self.seconds * self.requests / self.begun)


@dataclass(frozen=True, slots=True)
class Answered:
    """The response to one request; `ok` for an answer, as of a failed gate; the answer's size, even without room for it (`full`), else 0."""

    content: bytes
    ok: bool
    size: int = 0
    full: bool = False


def handle_batch(job: Job, body: bytes | bytearray, control: Control) -> RenderedResponse | Split:
    """Answer a list of requests, errors included; or divide it among several workers."""
    started = time.monotonic()
    try:
        options_of_query(job.query, ELSEWHERE)
        written, store = _written(job, text_of(inflated(job, body, job.limits.max_body_bytes)))
        job = asking(job, store)
    except ExactpermError as error:
        wait_s = job.limits.retry_after_s
        return problems.of_error(error, job.request_id, retry_after_s=wait_s, media_type=job.body.media_type)
    if job.timeout_s is not None:
        control.deadline(job.timeout_s)
    seconds = [SECONDS + SECONDS_PER_BYTE * len(text) for text in written]
    workers, long_s = job.limits.workers, job.limits.long_test_seconds
    if workers > 1 and sum(seconds) > _LONG * long_s:
        return _divided(job, written, seconds, started)
    control.plan(sum(seconds))
    return _joined(job, _answered(Run(job, 0, job.limits.batch_answer_bytes), written, control), started)


def _written(job: Job, text: str) -> tuple[list[str], bool | None]:
    """The unparsed requests, and the flag `store`."""
    most = job.limits.max_batch_tests
    if job.body.media_type == NDJSON:
        return lines(text, most), None
    members = members_of(text, "", ("tests",), (STORE,))
    return elements(members["tests"], most, "/tests"), of_a_list(members.get(STORE))


def _divided(job: Job, written: list[str], seconds: list[float], started: float) -> Split:
    """Runs of about the same predicted seconds, each a short call."""
    lengths = runs_of(seconds, job.limits.long_test_seconds / 4, 2 * job.limits.workers)
    most = job.limits.batch_answer_bytes
    parts, start = [], 0
    for length in lengths:
        some = slice(start, start + length)
        run = Run(job, start, most * length // len(written))
        parts.append(Part((run, written[some]), sum(seconds[some])))
        start += length
    return Split(
        run_some, tuple(parts), body=b"", join=join_runs, job=(job, started), at_once=job.limits.workers, seconds=sum(seconds)
    )  # fmt: skip


def run_some(known: tuple[Run, list[str]], body: bytes | bytearray, control: Control) -> bytes:
    """The answers of one run, pickled; the web process does not read them."""
    return pickle.dumps(_answered(*known, control), pickle.HIGHEST_PROTOCOL)


def join_runs(
    known: tuple[tuple[Job, float], tuple[bytes, ...]], body: bytes | bytearray, control: Control
) -> RenderedResponse:
    """All answers, in order; if a run's share of the limit was too small, it is divided again, with the same result for any number of workers."""
    (job, started), results = known
    answered = [one for result in results for one in pickle.loads(result)]  # noqa: S301  (written by `run_some`)
    if any(one.full for one in answered):
        written, _ = _written(job, text_of(inflated(job, body, job.limits.max_body_bytes)))
        answered = _fitted(job, answered, written, control)
    return _joined(job, answered, started)


def _fitted(
    job: Job, answered: Sequence[Answered], written: Sequence[str], control: Control
) -> list[Answered]:
    """The answers as from one worker; those that fit after all are recomputed."""
    left, fitted = job.limits.batch_answer_bytes, []
    priced = Priced(control, job.limits, len(written))
    for at, (complete, text) in enumerate(zip(answered, written, strict=True)):
        one = complete
        priced.begin()
        if complete.full and complete.size <= left:
            one = _answer_single(job, at, text, left, priced)
        elif complete.size > max(left, 0) and not complete.full:
            one = _sent(problems.of_error(PlanTooLarge(_FULL), f"{job.request_id}:{at}"))
        left -= len(one.content)
        fitted.append(one)
    return fitted


def _answered(run: Run, written: Sequence[str], control: Control) -> list[Answered]:
    answered, size = [], 0
    priced = Priced(control, run.job.limits, len(written))
    for at, text in enumerate(written, start=run.start):
        priced.begin()
        one = _answer_single(run.job, at, text, run.most_bytes - size, priced)
        size += len(one.content)
        answered.append(one)
    return answered


def _answer_single(job: Job, at: int, text: str, most_bytes: int, control: Control) -> Answered:
    name = f"{job.request_id}:{at}"
    size, full = 0, False
    try:
        item = item_of(text)
        full = most_bytes <= 0
        if not full:
            answer = pipeline.handle(call_of(item.head, job.limits, name), item.content, control)
            size = answer.size
            full = size > most_bytes
        if full:
            raise PlanTooLarge(_FULL)
    except ExactpermError as error:
        answer = problems.of_error(error, name, media_type=JSON)
    return _sent(answer, size, full=full)


def _sent(answer: RenderedResponse, size: int = 0, *, full: bool = False) -> Answered:
    ok = answer.began_at is not None
    member = b"answer" if ok else b"problem"
    return Answered(b'{"status":%d,"%b":%b}' % (answer.status, member, answer.body.rstrip()), ok, size, full)


_FULL = (
    "The earlier answers reach the size limit of a list. Send this test in another list, or ask for a "
    "shorter pmf."
)


def _joined(job: Job, answered: Sequence[Answered], started: float) -> RenderedResponse:
    contents = [one.content for one in answered]
    computed = ("batch", len(answered))
    if job.representation == LINES:
        return rendered(job, (b"\n".join(contents) + b"\n", b"", b""), (), LINES, started, computed=computed)
    good = sum(one.ok for one in answered)
    counts = {"tests": len(answered), "answered": good, "problems": len(answered) - good}
    runtime = runtime_of(job, started, started)
    before = b'{"results":[%b],"counts":%b,"runtime":' % (b",".join(contents), written(counts))
    content: Content = (before, written(runtime), b"}\n")
    return rendered(job, content, (), job.representation, started, computed=computed)
