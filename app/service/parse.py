"""A body and its query become a `ParsedTest`: data, statistic and options as inference takes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from ..errors import InvalidTest, relocated
from ..execution.ipc import UNBOUNDED, Control
from ..extras import require
from ..inference.options import Options, Resampling, Sequential
from ..inference.record import ReadingRecord, WarningRecord
from ..inputs import encodings
from ..inputs.formats.reader import Finding, Kind, Reading
from ..inputs.quoting import quoted
from ..inputs.sides import unit_mismatch
from ..inputs.summaries import refuse_metrics_for_ids
from ..reports.representations import BY_NAME
from ..statistics import direction
from ..statistics.corpus import counting_seconds
from ..statistics.paired import (
    Counts,
    Effects,
    Paired,
    Predictions,
    Scores,
    Segments,
    StatisticSpec,
)
from ..statistics.pairwise.price import reduction_seconds
from .body_decoders import DecodedBody, decode_body, read_as_file
from .item_columns import typed
from .media_types import MULTIPART
from .messages import Job, Limits
from .parse_files import ParsedFiles, parse_files, read_form
from .pointers import PointerMap, by_id, chained
from .query import ELSEWHERE, options_of_query
from .request_data import by_item, paired, refuse_too_many
from .request_file import decode_request_file, reading_of, request_in
from .schema.requests import Choices, SequentialChoice
from .schema.statistics import spec_of
from .segments import TEXT_STATISTICS, as_gold, segments
from .storing import store_of

MOST_METRIC_CHARS = 80
AVAILABLE_TESTS: tuple[Resampling, ...] = ("permutation", "bootstrap")


@dataclass(frozen=True, slots=True)
class ParsedTest:
    """A test, decoded and validated.

    `pointer_map` turns pointers into a JSON request into pointers into what the client sent. `reading` says how files
    were read, None where there were none, and `warnings` are warnings about that. `store`: whether the answer is to be kept.
    """

    kind: Kind
    data: Paired
    spec: StatisticSpec
    options: Options
    timeout_s: float | None
    pointer_map: PointerMap = str
    reading: Reading | None = None
    warnings: tuple[WarningRecord, ...] = ()
    store: bool | None = None

    @property
    def reading_record(self) -> ReadingRecord | None:
        """How files were read, for the answer."""
        reading = self.reading
        return None if reading is None else ReadingRecord(reading.format, reading.guessed, reading.facts)

    @property
    def counting_seconds(self) -> float:
        """Predicted seconds of a long preparation (sacrebleu's counts of texts, effects of pairs), else 0."""
        if isinstance(self.data, Segments):
            return counting_seconds(self.data, self.spec)
        return reduction_seconds(self.data, self.spec)


def inflated(job: Job, body: bytes | bytearray, most: int) -> bytes | bytearray:
    """The body without its content coding.

    Raises
    ------
        MalformedBody: the compressed data is truncated or damaged.
        BodyTooLarge: there is more than `most` bytes of it.
    """
    if job.body.coding is None:
        return body
    return encodings.decode(body, job.body.coding, max_bytes=most)


def parse_test(job: Job, body: bytes | bytearray, control: Control = UNBOUNDED) -> ParsedTest:
    """Decode, validate and pair a body without content coding; `control` hears of a form before its files are read.

    Raises
    ------
        InputError: the request is wrong in one way or another.
    """
    if job.body.media_type == MULTIPART:
        parsed = _parse_form(job, body, control)
    else:
        decoded = decode_body(job, body)
        parsed = (
            parse_reading(read_as_file(job, body), job) if decoded is None else parse_request(decoded, job)
        )
    return with_picture_data(parsed, job.representation)


def _parse_form(job: Job, body: bytes | bytearray, control: Control) -> ParsedTest:
    """Evaluation files; or one file that is a JSON request."""
    options_of_query(job.query, ELSEWHERE)
    form = read_form(job, body, control)
    request = request_in(form.files, form.fields)
    if request is None:
        return parse_reading(parse_files(form.files, form.fields, job.limits), job)
    return read_from_file(parse_request(decode_request_file(request, form.fields), job))


def read_from_file(parsed: ParsedTest) -> ParsedTest:
    """The same test, reported as read from a file."""
    return replace(parsed, reading=reading_of(parsed.kind, parsed.data, parsed.spec))


def with_picture_data(parsed: ParsedTest, representation: str) -> ParsedTest:
    """The same test, with the summary of the null distribution that a picture needs, whatever `pmf` asks for.

    With more bars than a summary has, each is narrower than a dot, and drawing a hundred thousand takes seconds.
    """
    if not BY_NAME[representation].is_drawn:
        return parsed
    require("pictures", "/?format")
    return replace(parsed, options=replace(parsed.options, pmf="summary"))


def parse_request(decoded: DecodedBody, job: Job) -> ParsedTest:
    """Pair the data of a validated request; raises InvalidTest and BodyTooLarge."""
    request, pointer_map, limits = decoded.request, decoded.pointer_map, job.limits
    with relocated(pointer_map):
        _refuse_excess(request, limits)
        data, order = paired(request, limits)
        if isinstance(data, Scores) and order:
            refuse_metrics_for_ids(next(iter(order.values())), "/u")
    if order is not None:
        pointer_map = chained(by_id(order, item_first=by_item(request)), pointer_map)
    with relocated(pointer_map):
        spec = spec_of(request.statistic, decoded.kind)
        if isinstance(data, Predictions) and spec.name in TEXT_STATISTICS:
            data = segments(data)
        elif isinstance(data, Predictions):
            data = typed(data, spec)
        options = _options(request, higher=direction.of_test(data, spec, None))
    if isinstance(data, Segments):
        pointer_map = chained(as_gold, pointer_map)
    return ParsedTest(
        decoded.kind, data, spec, options, _deadline(request, job), pointer_map,
        warnings=warnings_of(unit_findings(data, None)), store=store_of(request),
    )  # fmt: skip


def parse_reading(files: ParsedFiles, job: Job) -> ParsedTest:
    """The test of files that were read; raises InvalidTest and BodyTooLarge."""
    reading, request, limits = files.reading, files.request, job.limits
    with relocated(files.pointer_map):
        _refuse_excess(request, limits)
        refuse_too_many("The files hold", n_items(reading.data), limits)
        options, data = _measured(_options(request, reading.names), reading, files.spec), reading.data
        if isinstance(data, Predictions):
            data = typed(data, files.spec)
        return ParsedTest(
            reading.kind, data, files.spec, options, _deadline(request, job), files.pointer_map, reading,
            (*_warnings_of_order(reading, options), *warnings_of((*reading.findings, *unit_findings(data, options.metric)))), store_of(request),
        )  # fmt: skip


def _measured(options: Options, reading: Reading, spec: StatisticSpec) -> Options:
    """The options with the metric that the files name.

    Counts have one with their format's own statistic only: errors / words is a WER, errors alone are not.
    """
    known = isinstance(reading.data, Scores) or spec == reading.default_statistic
    metric = reading.metric[:MOST_METRIC_CHARS] if known and reading.metric is not None else None
    higher = reading.higher_is_better if known else None
    if higher is None:
        higher = direction.of_test(reading.data, spec, metric)
    return replace(options, metric=metric, higher_is_better=higher)


def _warnings_of_order(reading: Reading, options: Options) -> tuple[WarningRecord, ...]:
    """A one-sided test depends on which system is U, and a swap of the two would go unnoticed."""
    if reading.role_question is None or options.alternative == "two-sided":
        return ()
    u, v = reading.names or ("the first", "the second")
    detail = f"U is {quoted(u)} and V is {quoted(v)} only because of their order in the file; "
    return (
        WarningRecord(
            "roles_by_order", f"{detail}name both to be certain: the options system_u and system_v."
        ),
    )


def warnings_of(findings: Iterable[Finding]) -> tuple[WarningRecord, ...]:
    """What was done without certainty; a gate has refused it."""
    return tuple(WarningRecord(finding.code, finding.detail) for finding in findings)


def unit_findings(
    data: Paired, metric: str | None, names: tuple[str, str] = ("u", "v")
) -> tuple[Finding, ...]:
    """Why the scores of both sides may have different units, at the pointer of the smaller ones."""
    found = unit_mismatch({"u": data.u, "v": data.v}, metric) if isinstance(data, Scores) else None
    if found is None:
        return ()
    called = dict(zip("uv", names, strict=True))
    share, percent = (called[side] for side in found)
    detail = f"The scores of {share} lie between 0 and 1 and those of {percent} are as large as percent: they seem to have different units."
    return (Finding("unit_mismatch", f"{detail} Multiply the scores of {share} by 100.", f"/{found[0]}"),)


def n_items(data: Paired) -> int:
    """How many items there are."""
    if isinstance(data, Effects):
        return len(data.stay)
    return len(next(iter(data.u.values()), ())) if isinstance(data, Counts) else len(data.u)


def _deadline(request: Choices, job: Job) -> float | None:
    """The shortest deadline in seconds that body and query ask for, within the server's limit; None for its default."""
    timeouts = [seconds for seconds in (request.timeout_s, job.timeout_s) if seconds is not None]
    return min([job.limits.max_timeout_s, *timeouts]) if timeouts else None


def _refuse_excess(request: Choices, limits: Limits) -> None:
    if request.samples > limits.max_samples:
        raise InvalidTest.at(
            "/samples", "too_many_samples", f"At most {limits.max_samples:,} samples are allowed."
        )
    for which, name in (("u", request.names.u), ("v", request.names.v)):
        if len(name) > limits.max_name_chars:
            detail = f"A name has at most {limits.max_name_chars} characters; this one has {len(name):,}."
            raise InvalidTest.at(f"/names/{which}", "name_too_long", detail)


def sequential_of(given: SequentialChoice) -> Sequential:
    """How a test is asked again."""
    return Sequential(**given.model_dump())


_CHOSEN = tuple(option.name for option in fields(Options) if option.name in Choices.model_fields)


def _options(request: Choices, names: tuple[str, str] | None = None, higher: bool | None = None) -> Options:
    """The options; `names` are those the files give to the systems, used where the request has none."""
    name_u, name_v = request.names.u, request.names.v
    if names is not None and "names" not in request.model_fields_set:
        name_u, name_v = names
    chosen = {name: getattr(request, name) for name in _CHOSEN if name != "sequential"}
    sequential = None if request.sequential is None else sequential_of(request.sequential)
    return Options(**chosen, sequential=sequential, name_u=name_u, name_v=name_v, higher_is_better=higher)
