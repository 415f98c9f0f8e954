"""One request for a test, from bytes to rendered answer: decode, plan, run, render.

The same function runs in a worker process and, for small requests, in the web process. It imports no web framework,
so that workers import none.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_args

import numpy as np

from ..answers.test import Method, reported
from ..engine.plan import Budget
from ..errors import BodyTooLarge, ExactpermError, InputError, located, mapped
from ..execution.ipc import UNBOUNDED, Control, Split
from ..inference.compare.compare import PreparedCompare, finish_compare
from ..inference.compare.pair_tests import PairTests
from ..inference.floor import RunsDesign, floor_answer
from ..inference.gate import PreparedGate
from ..inference.options import Options
from ..inference.paired import Prepared, finish, plan_record, prepare, run_test
from ..inference.power import answer
from ..inputs.formats import price
from ..reports.representations import BY_NAME, JSON
from ..statistics.paired import Counts, Effects, Predictions, Repeated, Scores, StatisticSpec
from . import problems, systems
from .answers import answer_id, content_of, render_plan, rendered
from .compare import carriers, comparison as boards
from .compare.comparison import ParsedCompare, comparison_of, parse_compare
from .documents import Document, json_of
from .gate import ParsedGate, parse_gate, prepare_gate, run_gate
from .kinds import JSON as JSON_BODY, MULTIPART, TestKind
from .messages import Job, RenderedResponse, asking, store_of
from .parse import ParsedTest, inflated, n_items, parse_document, parse_test, preferences_of
from .power import ParsedPower, PreparedPower, parse_power, prepare_power
from .query import ELSEWHERE, options_of_query
from .schema.compare import PlanEnvelope
from .validation import prefixed, validated


@dataclass(frozen=True, slots=True)
class Later:
    """A request for a worker: its predicted seconds (0 if unknown) and its deadline."""

    seconds: float = 0.0
    timeout_s: float | None = None


Parsed = ParsedTest | ParsedGate | ParsedCompare | ParsedPower
Planned = Prepared | PreparedGate | PreparedCompare | PreparedPower
Answered = TypeVar("Answered", RenderedResponse, RenderedResponse | Later, RenderedResponse | Split)

LEAST_PRICED_BYTES = 10_000  # smaller bodies are read within milliseconds
WARM_UP_BODY = b'{"u": [1, 0, 1, 2, 5], "v": [0, 0, 1, 1, 2]}'
WARM_UP_BOARD = b'{"kind": "scores", "systems": {"A": [1, 1, 1], "B": [1, 0, 0], "C": [0, 1, 2]}}'


def handle(job: Job, body: bytes | bytearray, control: Control) -> RenderedResponse:
    """Answer one request, errors included; raises nothing but MemoryError."""
    return _never_raising(job, lambda started: _finished(job, *planned(job, body, control), started, control))


def handle_or_split(job: Job, body: bytes | bytearray, control: Control) -> RenderedResponse | Split:
    """The same, except that a long comparison is only planned, for several workers to run its tests."""

    def steps(started: float) -> RenderedResponse | Split:
        parsed, prepared, planning = planned(job, body, control)
        if job.kind == "compare":
            assert isinstance(prepared, PreparedCompare)
            listening = asking(job, parsed.store)
            split = boards.split_of(listening, prepared, join_pairs, started, planning)
            if split is not None:
                return split
        return _finished(job, parsed, prepared, planning, started, control)

    return _never_raising(job, steps)


def planned(job: Job, body: bytes | bytearray, control: Control) -> tuple[Parsed, Planned, float]:
    """A decoded and planned request, and when planning began; `control` learns the time for reading, the deadline and the predicted time."""
    plain = inflated(job, body, job.limits.max_body_bytes)
    if job.body.media_type != MULTIPART and len(plain) >= LEAST_PRICED_BYTES:
        control.plan(price.of_body(plain))
    parsed = _parsed(job, plain, control)
    if parsed.timeout_s is not None:
        control.deadline(parsed.timeout_s)
    planning = time.monotonic()
    if job.kind != "plan" or isinstance(parsed, ParsedCompare):
        seconds = parsed.counting_seconds  # texts are counted before there is a plan
        if seconds > 0.0:
            control.plan(seconds)
    return parsed, _prepared(job, parsed), planning


def answer_comparison(
    job: Job, parsed: ParsedCompare, prepared: PreparedCompare, tests: Sequence[PairTests]
) -> RenderedResponse:
    """Answer a comparison whose tests have been run, board by board."""

    def steps(started: float) -> RenderedResponse:
        return _answer(job, BOARD, mapped(parsed.pointer_map, _board, prepared, tests), started, started)

    return _never_raising(job, steps)


def join_pairs(
    known: tuple[boards.Whole, tuple[bytes | InputError, ...]], body: bytes | bytearray, control: Control
) -> RenderedResponse:
    """Answer a comparison whose tests were run in parts; the body is read again only to say where it is wrong."""
    whole, results = known
    job = whole.job

    def steps(_: float) -> RenderedResponse:
        try:
            prepared, tests = boards.joined(whole, results)
            return _answer(job, BOARD, _board(prepared, tests), whole.started, whole.planning)
        except InputError as error:
            parsed = parse_compare(job, inflated(job, body, job.limits.max_body_bytes))
            raise located(error, parsed.pointer_map) from None

    return _never_raising(job, steps)


def handle_in_place(
    job: Job, body: bytes | bytearray, engine_seconds: float, small_bytes: int
) -> RenderedResponse | Later:
    """Answer one small request; or return `Later` when that would block the event loop longer than `engine_seconds`.

    Its seconds are 0 if unknown: of files, of more than `small_bytes` inflated, and if even the preparation may be long.
    """
    if job.body.media_type == MULTIPART:
        return Later()

    def steps(started: float) -> RenderedResponse | Later:
        try:
            plain = inflated(job, body, min(small_bytes, job.limits.max_body_bytes))
        except BodyTooLarge:
            return Later()  # a worker decides whether it is too large
        parsed = _parsed(job, plain)
        if not NOUNS[type(parsed)].is_small(parsed):
            return Later(timeout_s=parsed.timeout_s)
        planning = time.monotonic()
        prepared = _prepared(job, parsed)
        if job.kind != "plan" and prepared.longest_seconds > engine_seconds:
            return Later(prepared.seconds, parsed.timeout_s)
        return _finished(job, parsed, prepared, planning, started)

    try:
        return _never_raising(job, steps)
    except MemoryError:
        return Later()  # a worker has a separate limit


def _never_raising(job: Job, steps: Callable[[float], Answered]) -> Answered | RenderedResponse:
    try:
        return steps(time.monotonic())
    except ExactpermError as error:
        wait_s, media_type = job.limits.retry_after_s, job.body.media_type
        return problems.of_error(error, job.request_id, retry_after_s=wait_s, media_type=media_type)
    except MemoryError:
        raise  # the worker ends and the caller gets a 503
    except Exception as error:  # noqa: BLE001  (a bug is answered, too: 500)
        return problems.of_bug(error, job.request_id)


def _parsed(job: Job, body: bytes | bytearray, control: Control = UNBOUNDED) -> Parsed:
    of_files = job.kind == "plan" and job.body.media_type != JSON_BODY
    parsed = (parse_test if of_files else PARSERS[job.kind])(job, body, control)
    if parsed.store:
        asking(job, parsed.store)  # refuse before computing if it cannot be stored
    return parsed


def parse_plan(job: Job, body: bytes | bytearray, control: Control = UNBOUNDED) -> ParsedTest | ParsedCompare:
    """The test or comparison inside a request for a plan; raises InputError."""
    value, context = json_of(body)
    options_of_query(job.query, ELSEWHERE)
    envelope = validated(PlanEnvelope, value)
    places = prefixed("/request")
    parsed: ParsedTest | ParsedCompare
    if envelope.kind == "compare":
        parsed = comparison_of(carriers.of_json(envelope.request, context, places), job)
    elif envelope.kind == "systems":
        parsed = systems.of_json(envelope.request, context, places, job)
    elif envelope.kind == "preferences":
        parsed = preferences_of(envelope.request, context, places, job)
    else:
        parsed = parse_document(Document(envelope.kind, envelope.request, places, context), job)
    # `store` of the inner request applies when it is sent.
    return replace(parsed, store=store_of(envelope))


def _prepared(job: Job, parsed: Parsed) -> Planned:
    return mapped(parsed.pointer_map, NOUNS[type(parsed)].prepare, job, parsed)


def _finished(
    job: Job, parsed: Parsed, prepared: Planned, planning: float, started: float, control: Control = UNBOUNDED
) -> RenderedResponse:
    """Run and render. Engine time counts from `planning`: it includes the lattice and the plan."""
    if job.kind != "plan":
        control.plan(prepared.seconds)
    job = asking(job, parsed.store)
    noun = NOUNS[type(parsed)]
    if job.kind == "plan":
        assert noun.plan is not None
        return rendered(job, (noun.plan(parsed, prepared), b"", b""), (), JSON, started)
    return _answer(job, noun, noun.run(parsed, prepared), started, planning)


@dataclass(frozen=True, slots=True)
class Ran:
    """The outcome of a request: its record, the work (for logs), and the HTTP status and headers."""

    record: Any
    computed: tuple[str, int]
    headers: tuple[tuple[str, str], ...] = ()
    status: int = 200


def _answer(job: Job, noun: Noun, ran: Ran, started: float, planning: float) -> RenderedResponse:
    report = getattr(BY_NAME[job.reported_in], noun.name)
    content = content_of(job, ran.record, report, started, planning)
    headers = (*ran.headers, ("etag", f'W/"{answer_id(ran.record)}"'))
    return rendered(job, content, headers, job.representation, started, ran.status, ran.computed)


def _prepare_test(job: Job, parsed: ParsedTest) -> Prepared:
    return prepare(
        parsed.data, parsed.spec, parsed.options, job.limits.budget, only_planned=job.kind == "plan"
    )


def _run_test(parsed: ParsedTest, prepared: Prepared) -> Ran:
    record = reported(finish(prepared), parsed.reading_record, parsed.warnings)
    # For scripts that do not read the body, and for pictures.
    return Ran(record, (record.method.name, record.items.n), (("x-p-value", repr(record.p_value)),))


def _run_gate(parsed: ParsedGate, prepared: PreparedGate) -> Ran:
    gate = run_gate(parsed, prepared)
    test, headers = gate.deciding.test, (("x-verdict", gate.verdict), ("x-p-value", repr(gate.p_value)))
    return Ran(gate, (test.method.name, test.items.n), headers, 200 if gate.passed else parsed.fail_status)


def _run_power(parsed: ParsedPower, prepared: PreparedPower) -> Ran:
    design = prepared.design
    ask: Any = floor_answer if isinstance(design, RunsDesign) else answer
    power = ask(parsed.question, design, parsed.digest)
    return Ran(power, ("power", power.solution.n or 0))


def _board(prepared: PreparedCompare, tests: Sequence[PairTests] | None = None) -> Ran:
    """Answer a comparison, with its `tests` if already run."""
    return Ran(finish_compare(prepared, tests), ("compare", prepared.tests))


# Requests that the web process may compute itself: those whose cost is known before preparation. Everything else,
# including health probes, waits meanwhile. So only tests of few items whose cost depends on the number of items alone
# qualify; the cost of a formula, an interval or a resampling depends on the data. The planner's prediction must allow
# them as well.
METHODS = frozenset({"auto", "fft", "dp", "enumeration", "meet_in_the_middle", "monte_carlo"})
LABELS_IN_PLACE = frozenset({"accuracy", "exact_match", "token_accuracy"})
COUNTS_IN_PLACE = frozenset({"f1", "precision", "recall", "accuracy", "jaccard", "ratio"})
ADDITIVE_EXPRESSIONS = frozenset({None, "x1"})
SIZE = "abs(x1)"
MOST_JOINT_ITEMS = 500  # several sums share one lattice
MOST_INTERVAL_ITEMS = 500
MOST_METRICS = 4
ADJUSTED_IN_PLACE = frozenset({"bonferroni", "holm", "hochberg", "bh", "by", "none"})
# For a comparison: pairs on all data sets, and values of all systems.
MOST_PAIRS = 100
MOST_VALUES = 5_000


def is_small_test(parsed: ParsedTest) -> bool:
    """Whether a test is certain to be prepared within milliseconds."""
    options, items = parsed.options, n_items(parsed.data)
    return (
        options.test == "permutation"
        and options.exchange == "items"  # ways to deal runs are listed
        and options.method in METHODS
        and options.pmf != "full"
        and not options.exact_fraction
        and (options.confidence_level is None or items <= MOST_INTERVAL_ITEMS)
        and _is_simple(parsed, items)
    )


def _is_simple(parsed: ParsedTest, items: int) -> bool:
    """Whether there is no formula, text or structure to evaluate."""
    spec, options = parsed.spec, parsed.options
    match parsed.data:
        case Scores():
            return True
        case Effects(stay):
            expression = spec.parameters.get("expression")
            # A large |S| is S in two tails. A small |S| needs the least |S| and its law, which no plan knows.
            of_size = expression == SIZE and options.alternative != "less" and options.pmf == "summary"
            return stay.ndim == 1 and (of_size or expression in ADDITIVE_EXPRESSIONS)
        case Counts():
            return spec.name in COUNTS_IN_PLACE and items <= MOST_JOINT_ITEMS
        case Predictions():
            return spec.name in LABELS_IN_PLACE
        case _:
            return False


def is_small_board(parsed: ParsedCompare) -> bool:
    """Whether a comparison is of few scores in few pairs, without intervals."""
    comparison = parsed.comparison
    options = comparison.options
    pairs = values = 0
    for board in comparison.datasets.values():
        pairs += len(board.columns) ** 2 // 2
        for column in board.columns.values():
            if not isinstance(column, np.ndarray | Repeated):
                return False
            values += len(column)
    return (
        options.method in METHODS - {"monte_carlo"}
        and options.exchange == "items"
        and options.confidence_level is None
        and comparison.adjust in ADJUSTED_IN_PLACE
        and pairs <= MOST_PAIRS
        and values <= MOST_VALUES
    )


@dataclass(frozen=True, slots=True)
class Noun:
    """A kind of request: its name among reports, whether it is small enough for the web process, and its steps."""

    name: str
    is_small: Callable[[Any], bool]
    prepare: Callable[[Job, Any], Planned]
    run: Callable[[Any, Any], Ran]
    plan: Callable[[Any, Any], bytes] | None = None


BOARD = Noun(
    "compare", is_small_board, boards.prepare_comparison, lambda parsed, prepared: mapped(parsed.pointer_map, _board, prepared),
    lambda _, prepared: render_plan("compare", boards.plan_of_comparison(prepared)),
)  # fmt: skip
NOUNS: Mapping[type, Noun] = {
    # Segments come from files, which only the CLI plans.
    ParsedTest: Noun(
        "test", is_small_test, _prepare_test, _run_test,
        lambda parsed, prepared: render_plan(parsed.kind, plan_record(prepared)),
    ),
    ParsedGate: Noun(
        "gate", lambda gate: len(gate.metrics) <= MOST_METRICS and all(is_small_test(each.test) for each in gate.metrics),
        prepare_gate, _run_gate,
    ),
    ParsedPower: Noun(
        "power", lambda parsed: parsed.pilot is None or is_small_test(parsed.pilot), prepare_power, _run_power,
    ),
    ParsedCompare: BOARD,
}  # fmt: skip
# For all kinds but lists.
PARSERS: Mapping[str, Callable[[Job, bytes | bytearray, Control], Parsed]] = {
    **dict.fromkeys((*get_args(TestKind), "files"), parse_test),
    "gate": parse_gate,
    "compare": parse_compare,
    "power": parse_power,
    "plan": parse_plan,
    "systems": systems.parse_systems,
    "preferences": lambda job, body, _: preferences_of(*json_of(body), str, job),
}


def warm_up(job: Job, body: bytes | bytearray, control: Control) -> None:
    """Import and use everything once, so that the first request is fast."""
    handle(job, WARM_UP_BODY, UNBOUNDED)
    handle(replace(job, kind="compare"), WARM_UP_BOARD, UNBOUNDED)
    # BLAS takes 32 MiB at its first use, for example, which is part of a warm worker's size.
    self_test(KNOWN, b"", UNBOUNDED)


# Three known p-values, computed in a warm worker before the service reports that it is ready


TOLERANCE = 1e-9  # relative; the methods guarantee far less
BUDGET = Budget(1_000_000_000, 100_000_000)
# Darwin's cross- and self-fertilised maize, differences in height in eighths of an inch.
DARWIN = (49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48)


@dataclass(frozen=True, slots=True)
class Known:
    """Effects with a known two-sided p-value, and the method that must compute it."""

    name: str
    stay: tuple[int, ...]
    method: Method
    p_value: float


KNOWN = (
    # All five differences have one sign: two of the 2^5 assignments are as extreme.
    Known("five-wins", (1, 2, 3, 4, 5), "enumeration", 2 / 2**5),
    # The same with 60 items, where the tail is far below what floating-point sums of the law could show.
    Known("sixty-wins", (1,) * 60, "fft", 2.0**-59),
    # Fisher 1935, The Design of Experiments, section 21: 863 of the 2^15 sums are at least 314, so twice as many in size.
    Known("darwin", DARWIN, "dp", 2 * 863 / 2**15),
)


def self_test(job: tuple[Known, ...], body: bytes | bytearray, control: Control) -> list[str]:
    """The names of the tests with a wrong p-value; runs in a worker."""
    wrong, spec = [], StatisticSpec("expression", {"expression": "x1"})
    for known in job:
        data = Effects(np.array(known.stay, dtype=np.int64))
        record = run_test(data, spec, Options(method=known.method), BUDGET)
        if not math.isclose(record.p_value, known.p_value, rel_tol=TOLERANCE, abs_tol=0.0):
            wrong.append(known.name)
    return wrong
