"""A body and its query become a `ParsedTest`: data, statistic and options as inference takes them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import BodyTooLarge, InvalidTest, relocated
from ..extras import require
from ..inference.options import Options, Resampling, Sequential
from ..inference.record import ReadingRecord, WarningRecord
from ..inputs import encodings, nested
from ..inputs.formats.reader import Kind, Reading
from ..inputs.nested import NamedCounts
from ..inputs.pairing import ById, Given, pair
from ..inputs.quoting import quoted
from ..reports.representations import BY_NAME
from ..statistics import direction
from ..statistics.corpus import counting_seconds
from ..statistics.paired import (
    Counts,
    Effects,
    Paired,
    Pairing,
    Predictions,
    Scores,
    Segments,
    StatisticSpec,
)
from ..statistics.pairwise.price import reduction_seconds
from .body_decoders import REQUIRED, DecodedBody, decode_body
from .gaps import BOUNDS, scores_with_gaps
from .media_types import MULTIPART
from .messages import Job, Limits
from .pairwise import events_for, groups_for, typed
from .parse_files import ParsedFiles, parse_files, read_form
from .pointers import PointerMap, by_id, chained
from .query import ELSEWHERE, options_of_query
from .request_file import decode_request_file, reading_of, request_in
from .schema.requests import (
    AnyRequest,
    Choices,
    CountsRequest,
    EffectsRequest,
    ScoresRequest,
    SequentialChoice,
)
from .schema.statistics import spec_of
from .segments import TEXT_STATISTICS, as_gold, segments
from .weights import weights_for

MOST_METRIC_CHARS = 80
AVAILABLE_TESTS: tuple[Resampling, ...] = ("permutation", "bootstrap")


@dataclass(frozen=True, slots=True)
class ParsedTest:
    """A test, decoded and validated.

    `pointer_map` turns pointers into a JSON request into pointers into what the client sent. `reading` says how files
    were read, None where there were none, and `warnings` are warnings about that.
    """

    kind: Kind
    data: Paired
    spec: StatisticSpec
    options: Options
    timeout_s: float | None
    pointer_map: PointerMap = str
    reading: Reading | None = None
    warnings: tuple[WarningRecord, ...] = ()

    @property
    def reading_record(self) -> ReadingRecord | None:
        """How files were read, for the answer."""
        reading = self.reading
        return None if reading is None else ReadingRecord(reading.format, reading.guessed, reading.notes)

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


def parse_test(job: Job, body: bytes | bytearray) -> ParsedTest:
    """Decode, validate and pair a body without content coding.

    Raises
    ------
        InputError: the request is wrong in one way or another.
    """
    if job.body.media_type == MULTIPART:
        parsed = _parse_form(job, body)
    else:
        parsed = parse_request(decode_body(job, body), job)
    return with_picture_data(parsed, job.representation)


def _parse_form(job: Job, body: bytes | bytearray) -> ParsedTest:
    """Evaluation files; or one file that is a JSON request."""
    options_of_query(job.query, ELSEWHERE)
    form = read_form(job, body)
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
        data, order = _paired(request, limits)
    if order is not None:
        pointer_map = chained(by_id(order, item_first=_by_item(request)), pointer_map)
    with relocated(pointer_map):
        spec = spec_of(request.statistic, decoded.kind)
        if isinstance(data, Predictions) and spec.name in TEXT_STATISTICS:
            data = segments(data)
        elif isinstance(data, Predictions):
            data = typed(data, spec)
        options = _options(request, higher=direction.of_test(data, spec, None))
    if isinstance(data, Segments):
        pointer_map = chained(as_gold, pointer_map)
    return ParsedTest(decoded.kind, data, spec, options, _deadline(request, job), pointer_map)


def parse_reading(files: ParsedFiles, job: Job) -> ParsedTest:
    """The test of files that were read; raises InvalidTest and BodyTooLarge."""
    reading, request, limits = files.reading, files.request, job.limits
    with relocated(files.pointer_map):
        _refuse_excess(request, limits)
        _refuse_too_many("The files hold", n_items(reading.data), limits)
        options, data = _measured(_options(request, reading.names), reading, files.spec), reading.data
        if isinstance(data, Predictions):
            data = typed(data, files.spec)
        return ParsedTest(
            reading.kind, data, files.spec, options, _deadline(request, job), files.pointer_map, reading,
            _warnings_of_order(reading, options),
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
    return (WarningRecord("roles_by_order", f"{detail}set system_u and system_v to be certain."),)


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


def _refuse_too_many(what: str, n: int, limits: Limits) -> None:
    if n > limits.max_items:
        raise BodyTooLarge(f"{what} {n:,} items; at most {limits.max_items:,} are allowed.")


Order = dict[str, list[str]]


def _paired(request: AnyRequest, limits: Limits) -> tuple[Paired, Order | None]:
    """The data in one order; and the ids in that order, where the columns were keyed by id."""
    if request.on_missing == BOUNDS:
        if not isinstance(request, ScoresRequest):
            detail = "Missing outcomes have bounds in scores alone: send right and wrong as 1 and 0, or set on_missing to drop."
            raise InvalidTest.at("/on_missing", "no_missing_bounds", detail)
        for name in ("u", "v"):
            _refuse_too_many(f"{name} has", len(getattr(request, name)), limits)
        data, named = scores_with_gaps(request)
        return data, {"u": named, "v": named}
    if isinstance(request, ScoresRequest) and request.missing_range is not None:
        detail = "missing_range is of on_missing bounds: set that as well, or leave it out."
        raise InvalidTest.at("/missing_range", "redundant", detail)
    given = {name: getattr(request, name) for name in _columns(request)}
    for name, column in given.items():
        _refuse_too_many(f"{name} has", len(column), limits)
    if request.ids is None and request.clusters is None and _in_order(given):
        return _data(request, given, Pairing()), ({} if _by_item(request) else None)
    # Positions are paired, not values: a column may be anything that has a length.
    positions: dict[str, Given] = {
        name: ById(column.ids, np.arange(len(column))) if isinstance(column, ById) else range(len(column))
        for name, column in given.items()
    }
    on_missing: Literal["error", "drop"] = "error" if request.on_missing == "error" else "drop"
    paired = pair(positions, ids=request.ids, clusters=request.clusters, on_missing=on_missing)
    columns = {name: _ordered(given[name], positions[name], paired.columns[name]) for name in given}
    order = {
        name: [column.ids[index] for index in np.asarray(paired.columns[name]).tolist()]
        for name, column in given.items()
        if isinstance(column, ById)
    }
    return _data(request, columns, paired.pairing), order or ({} if _by_item(request) else None)


def _in_order(columns: dict[str, Any]) -> bool:
    """Whether the columns are paired by their order and of one length: most are, and then there is nothing to do."""
    lengths = {None if isinstance(column, ById) else len(column) for column in columns.values()}
    return len(lengths) == 1 and lengths.isdisjoint((None, 0))


def _columns(request: AnyRequest) -> list[str]:
    if isinstance(request, EffectsRequest):
        return ["stay"] if request.swap is None else ["stay", "swap"]
    return list(REQUIRED["scores" if isinstance(request, ScoresRequest | CountsRequest) else "predictions"])


def _by_item(request: AnyRequest) -> bool:
    """Whether counts were sent as one object per item."""
    if not isinstance(request, CountsRequest):
        return False
    counts = request.u.values if isinstance(request.u, ById) else request.u
    return isinstance(counts, NamedCounts) and counts.by_item


def _ordered(given: Any, before: Given, after: Any) -> Any:
    if not isinstance(given, ById):
        return given
    assert isinstance(before, ById)
    order: NDArray[np.int64] = after
    return given.values if order is before.values else nested.taken(given.values, order)


def _data(request: AnyRequest, columns: dict[str, Any], pairing: Pairing) -> Paired:
    if isinstance(request, EffectsRequest):
        return Effects(columns["stay"], columns.get("swap"), pairing)
    if isinstance(request, ScoresRequest):
        u, v = columns["u"], columns["v"]
        if request.decimals is not None:
            u, v = (nested.to_decimals(column, request.decimals) for column in (u, v))
        return Scores(u, v, pairing, weights_for(request.weights, len(u), pairing))
    if isinstance(request, CountsRequest):
        return Counts(columns["u"].columns, columns["v"].columns, pairing)
    n = len(columns["gold"])
    groups, event = groups_for(request.groups, n, pairing), events_for(request.event, n, pairing)
    return Predictions(columns["gold"], columns["u"], columns["v"], pairing, groups, event)


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
