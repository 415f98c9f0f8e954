"""Turns a body and its query into a `ParsedTest`: data, statistic and options for inference."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from ..answers.test import ReadingRecord, Resampling, WarningRecord
from ..errors import BodyTooLarge, Flaw, InvalidTest, PointerMap, choices_of, located, mapped, pointer_token
from ..execution.ipc import UNBOUNDED, Control
from ..extras import require
from ..inference.options import Options, Sequential
from ..inputs import columns, encodings
from ..inputs.alignment import BOUNDS, DEFAULT_RANGE, GOLD, Aligned, ById, Items, PairedColumns
from ..inputs.battles import SHARE, Battles, battles_of
from ..inputs.beside import covariates_of, labels_of
from ..inputs.columns import NAMES, to_decimals
from ..inputs.formats.outputs_by_id import MEAN
from ..inputs.formats.tables import OF_TABLES
from ..inputs.outcomes import refuse_metrics_for_ids
from ..inputs.quoting import quoted
from ..inputs.reader import Finding, Kind, Reading, UploadedFile, choose
from ..reports.representations import BY_NAME
from ..statistics.catalogue import STATISTICS
from ..statistics.columns import slices_of
from ..statistics.corpus import counting_seconds
from ..statistics.correction import correction_seconds
from ..statistics.effects import weights_of
from ..statistics.names import of_kind, of_name, words_of
from ..statistics.paired import (
    Column,
    Correction,
    Counts,
    Effects,
    Paired,
    Predictions,
    Repeated,
    Scores,
    Segments,
    Slices,
    StatisticSpec,
    Systems,
    Weights,
    kind_of,
)
from ..statistics.pairwise.data import PAIRWISE, reduction_seconds
from .documents import Document, Fields, document_of, document_of_file, request_in, test_kind
from .kinds import CSV, MULTIPART, TSV, TestKind
from .messages import Job, Limits, store_of
from .parse_files import in_body, in_form, read_files, read_form
from .query import ELSEWHERE, known_of, options_of_query
from .schema.compare import PreferencesRequest
from .schema.fields import spec_of
from .schema.requests import (
    AnyRequest,
    Choices,
    CountsRequest,
    EffectsRequest,
    Names,
    ScoresRequest,
    SequentialChoice,
)
from .validation import chained, prefixed, validated

# Columns of items, checked for a statistic: outputs, gold, weights, groups and events


_NAMED = 5
TEXT_STATISTICS = frozenset(entry.name for entry in STATISTICS["segments"])


def typed(data: Predictions, spec: StatisticSpec) -> Predictions | Segments:
    """The outputs in the statistic's form: texts beside references, numbers, or labels; raises InvalidTest at `/u/17`, `/groups`, `/event`."""
    require_taken(spec, data.groups, data.event)
    made = outputs_of({GOLD: data.gold, "/u": data.u, "/v": data.v}, spec)
    if spec.name in TEXT_STATISTICS:
        return Segments(made["/u"], made["/v"], made[GOLD], data.pairing)
    return replace(data, gold=made[GOLD], u=made["/u"], v=made["/v"]) if spec.name in PAIRWISE else data


def outputs_of(by_pointer: Mapping[str, Any], spec: StatisticSpec) -> dict[str, Any]:
    """Outputs and gold by pointer: texts, numbers if the statistic compares scores (gold of auc may be labels), or labels; raises InvalidTest."""
    in_pairs, outputs = spec.name in PAIRWISE, dict(by_pointer)
    if spec.name in TEXT_STATISTICS:
        gold_last = sorted(by_pointer, key=lambda pointer: pointer == GOLD)
        return {pointer: texts(by_pointer[pointer], pointer) for pointer in gold_last}
    check: Callable[[Any], Any] = columns.numbers if in_pairs else columns.labels
    for pointer, values in by_pointer.items():
        are_labels = pointer == GOLD and spec.name == "auc" and float not in set(map(type, values))
        if in_pairs and (are_labels or isinstance(values, np.ndarray)):
            continue
        listed = values.tolist() if isinstance(values, np.ndarray) else values
        outputs[pointer] = mapped(prefixed(pointer), check, listed)
    return outputs


def texts(column: Sequence[Any], pointer: str) -> list[Any]:
    """The texts of one system, or of gold one or more references of every item; raises InvalidTest at `/u/17`, `/gold/17/1`."""
    gold = pointer == GOLD
    if not gold and set(map(type, column)) <= {str}:
        return list(column)
    listed = [item if gold and isinstance(item, list) else [item] for item in column]
    for index, (item, texts_of_item) in enumerate(zip(column, listed, strict=True)):
        if not texts_of_item:
            detail = "Every item needs at least one reference."
            raise InvalidTest.at(f"{pointer}/{index}", "no_reference", detail)
        for number, text in enumerate(texts_of_item):
            if not isinstance(text, str):
                below, needed = (
                    f"/{number}" if texts_of_item is item else "",
                    " or a list of texts" if gold else "",
                )
                detail = f"This is {NAMES.get(type(text), 'something else')}; a text{needed} is needed here."
                raise InvalidTest.at(f"{pointer}/{index}{below}", "not_a_text", detail)
    return listed if gold else list(column)


def as_gold(pointer: str) -> str:
    """The map for texts, whose references are `gold` in a request."""
    return "/gold" + pointer.removeprefix("/references") if pointer.startswith("/references") else pointer


def require_taken(spec: StatisticSpec, groups: object, event: object) -> None:
    """Refuse groups and events if the statistic takes none; raises InvalidTest."""
    if groups is not None and spec.name not in PAIRWISE:
        names = ", ".join(sorted(PAIRWISE))
        detail = f"groups is for statistics of pairs ({names}), not for {spec.name}: leave groups out."
        raise InvalidTest.at("/groups", "superfluous", detail)
    if event is not None and spec.name != "concordance":
        detail = f"event is for concordance; {spec.name} has no censored items: leave event out."
        raise InvalidTest.at("/event", "superfluous", detail)


def weights_for(weights: Any, items: Items) -> Weights | None:
    """The weight of each item, from a list or an object by id; None without weights. Raises InvalidTest at `/weights/17`, `/weights/q17`."""
    if weights is None:
        return None
    values, place = items.of(weights, "weights")
    return mapped(lambda pointer: place(int(pointer[1:])) if pointer else "/weights", weights_of, values)


def slices_for(labels: Any, items: Items) -> Slices:
    """The slices of each item, from a list or an object by id; raises InvalidTest at `/slices/17`, `/slices/q17`."""
    values, place = items.of(labels, "slices")
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    return mapped(lambda pointer: place(int(pointer[1:])), slices_of, listed)


def events_for(events: Any, items: Items) -> NDArray[np.bool_] | None:
    """The flags of events; raises InvalidTest, with pointers such as `/event/17` and `/event/q17`."""
    if events is None:
        return None
    values, place = items.of(events, "event")
    flaws = []
    for index, value in enumerate(values.tolist() if isinstance(values, np.ndarray) else values):
        if type(value) not in {int, bool} or value not in (0, 1):
            detail = "An event is 1 or true, and a censored item 0 or false."
            flaws.append(Flaw(place(index), "not_an_event", detail))
            if len(flaws) == _NAMED:
                break
    if flaws:
        raise InvalidTest(flaws[0].detail, flaws=tuple(flaws))
    return np.array(values, dtype=bool)


# A body and its query to a `ParsedTest`


MOST_METRIC_CHARS = 80
AVAILABLE_TESTS: tuple[Resampling, ...] = ("permutation", "bootstrap")


@dataclass(frozen=True, slots=True)
class ParsedTest:
    """A test, decoded and validated.

    `pointer_map` turns pointers into a JSON request into pointers into the client's data. `given` are the options that
    were set. `reading` tells how files were read (None without files), with `warnings`. `store`: whether to store the
    answer.
    """

    kind: Kind | Literal["preferences"]
    data: Paired
    spec: StatisticSpec
    options: Options
    timeout_s: float | None
    pointer_map: PointerMap
    given: Collection[str]
    store: bool | None
    reading: Reading | None = None
    warnings: tuple[WarningRecord, ...] = ()

    @property
    def reading_record(self) -> ReadingRecord | None:
        """How files were read, for the answer."""
        reading = self.reading
        return None if reading is None else ReadingRecord(reading.format, reading.guessed, reading.facts)

    @property
    def counting_seconds(self) -> float:
        """Predicted seconds of a long preparation (sacrebleu's counts of texts, effects of pairs, corrections), else 0."""
        if isinstance(self.data, Segments):
            return counting_seconds(self.data, self.spec)
        if isinstance(self.data, Predictions):
            return reduction_seconds(self.data, self.spec)
        corrected = isinstance(self.data, Scores) and self.data.correction is not None
        return correction_seconds(self.data) if corrected else 0.0


def inflated(job: Job, body: bytes | bytearray, most: int) -> bytes | bytearray:
    """The body without its content coding; raises MalformedBody (truncated or damaged) and BodyTooLarge (more than `most` bytes)."""
    if job.body.coding is None:
        return body
    return encodings.decode(body, job.body.coding, max_bytes=most)


def parse_test(job: Job, body: bytes | bytearray, control: Control = UNBOUNDED) -> ParsedTest:
    """Decode, validate and pair a body without content coding; `control` learns of a form before its files are read. Raises InputError."""
    if job.body.media_type == MULTIPART:
        options_of_query(job.query, ELSEWHERE)
        form = read_form(job, body, control)
        request = request_in(form.files, form.fields)
        if request is None:
            parsed = parse_files(form.files, form.fields, job)
        else:
            parsed = read_from_file(parse_document(document_of_file(request, form.fields), job))
    else:
        document = document_of(job, body)
        parsed = _parse_table(job, body) if document is None else parse_document(document, job)
    return with_picture_data(parsed, job.representation)


def read_from_file(parsed: ParsedTest) -> ParsedTest:
    """The same test, reported as read from a file that is a JSON request."""
    note = f"The file is a JSON request, as for POST /v1/tests/{parsed.kind}, and was read as one."
    kind = cast("Kind", parsed.kind)
    reading = Reading(kind, parsed.data, parsed.spec, (note,), "json-request", guessed=True)
    return replace(parsed, reading=reading)


def with_picture_data(parsed: ParsedTest, representation: str) -> ParsedTest:
    """The test, for a picture with the summary of the null distribution: bars of a full one are narrower than a dot, and take seconds to draw."""
    if not BY_NAME[representation].is_drawn:
        return parsed
    if BY_NAME[representation].needs_extra:
        require("pictures", "/?format")
    return replace(parsed, options=replace(parsed.options, pmf="summary"))


def parse_document(document: Document, job: Job) -> ParsedTest:
    """Validate a request and pair its data; raises InvalidTest and BodyTooLarge."""
    return parse_request(document.kind, document.request(), document.place, job)


def parse_request(kind: TestKind, request: AnyRequest, places: PointerMap, job: Job) -> ParsedTest:
    """Pair the data of a validated request that stands at `places`; raises InvalidTest and BodyTooLarge."""
    try:
        _refuse_excess(request, job.limits)
        data, of_items = paired(request, job.limits)
        places = chained(of_items, places)
        spec = spec_of(request.statistic, kind)
        if isinstance(data, Predictions):
            data = typed(data, spec)
        options = _options(request, data, spec)
    except InvalidTest as error:
        raise located(error, places) from None
    if isinstance(data, Segments):
        places = chained(as_gold, places)
    return ParsedTest(
        kind, data, spec, options, job.deadline_s(request.timeout_s), places, request.model_fields_set, store_of(request),
        warnings=warnings_of(unit_findings(data, None)),
    )  # fmt: skip


def parse_files(
    files: Mapping[str, UploadedFile], fields: Fields, job: Job, kind: str | None = None, outer: PointerMap = str
) -> ParsedTest:  # fmt: skip
    """The test of the files and fields of a form at `outer`, of a requested `kind`; raises InvalidTest and BodyTooLarge."""
    places = outer
    try:
        reading, spec, request = read_files(files, fields, job.limits)
        if kind not in (None, reading.kind):
            detail = f"These are {reading.kind}: send them to /v1/tests/{reading.kind}."
            raise InvalidTest.at("", "other_kind", detail)
        places, data = chained(in_form, outer), reading.data
        _refuse_excess(request, job.limits)
        refuse_too_many("The files hold", n_items(data), job.limits)
        options = _options(request, data, spec, reading)
        if isinstance(data, Predictions):
            data = typed(data, spec)
    except InvalidTest as error:
        raise located(error, places) from None
    warnings = (
        *_warnings_of_order(reading, options),
        *warnings_of((*reading.findings, *unit_findings(data, options.metric))),
    )
    sent = request.model_fields_set | ({"names"} if reading.names else set())
    return ParsedTest(
        reading.kind, data, spec, options, job.deadline_s(request.timeout_s), places, sent, store_of(request), reading, warnings
    )  # fmt: skip


def _parse_table(job: Job, body: bytes | bytearray) -> ParsedTest:
    """Read a table or JSON Lines like a file, with the options in the query; raises InputError."""
    kind = test_kind(job)
    options_of_query(job.query, tuple(dict.fromkeys((*known_of(kind), *OF_TABLES))))
    format_ = {CSV: "csv", TSV: "tsv"}.get(job.body.media_type, "jsonl")
    fields = [
        *((name, text) for name, text in job.query if name not in ("format", "theme")),
        ("format", format_),
    ]
    return parse_files({"file": UploadedFile("", bytes(body), is_body=True)}, fields, job, kind, in_body)


def _warnings_of_order(reading: Reading, options: Options) -> tuple[WarningRecord, ...]:
    """A one-sided test depends on which system is U, and a swap would go unnoticed."""
    if reading.role_question is None or options.alternative == "two-sided":
        return ()
    u, v = reading.names or ("the first", "the second")
    detail = (
        f"U is {quoted(u)} and V is {quoted(v)} only because of their order in the file; to be certain, "
        "name both with the options system_u and system_v."
    )
    return (WarningRecord("roles_by_order", detail),)


def warnings_of(findings: Iterable[Finding]) -> tuple[WarningRecord, ...]:
    """Warnings about uncertain choices, which a gate refuses."""
    return tuple(WarningRecord(finding.code, finding.detail) for finding in findings)


DIRECTIONS = choices_of("higher_is_better", {"true": "Higher is better", "false": "Lower is better"})


def settled(
    requested: bool | None, known: bool | None, what: str, of: str, pointer: str, *, plain: bool, question: str | None = None
) -> tuple[bool, tuple[WarningRecord, ...]]:  # fmt: skip
    """Whether more is better for a metric or statistic, `what`: as requested, else as known; and a warning if these differ.

    `of` is a gate or a board; `plain` scores, without a metric's name, are better when higher; `question` is the reader's. Raises
    InvalidTest at the pointer: nothing decides it.
    """
    if requested is None:
        if known is None and (question is not None or not plain):
            detail = question or (
                f"Whether a higher {quoted(what)} is better is not known: set `higher_is_better=true`, or "
                "`higher_is_better=false` if lower is better."
            )
            raise InvalidTest.at(pointer, "choose_direction", detail, DIRECTIONS)
        return known is not False, ()
    if known is None or known == requested:
        return requested, ()
    usual, other = ("lower", "higher") if requested else ("higher", "lower")
    detail = f"A {usual} {quoted(what)} is usually better; this {of} prefers the {other} one, as higher_is_better asks."
    return requested, (WarningRecord("direction_contradicts_name", detail),)


PERCENT = 20  # the least ratio of percent to comparable shares
LEAST_PERCENT = 10  # smaller numbers may also be points or rewards
# Metrics that are better when higher, but are not shares.
NO_SHARES = frozenset((
    "cider", "dcg", "passed", "passes", "pesq", "psnr", "resolved", "solved", "stoi", "throughput", "wins",
))  # fmt: skip


def unit_findings(data: Paired, metric: str | None) -> tuple[Finding, ...]:
    """A message if the scores of both sides seem to have different units, at the pointer of the smaller ones."""
    mismatch = unit_mismatch({"u": data.u, "v": data.v}, metric) if isinstance(data, Scores) else None
    if mismatch is None:
        return ()
    share, percent = mismatch
    detail = (
        f"The scores of {share} lie between 0 and 1 and those of {percent} are as large as percent: they seem to have different "
        f"units. Multiply the scores of {share} by 100."
    )
    return (Finding("unit_mismatch", detail, f"/{share}"),)


def unit_mismatch(columns: Mapping[str, Column | Repeated], metric: str | None) -> tuple[str, str] | None:
    """The side with shares from 0 to 1 and the side with percent; None if nothing shows this.

    Only possible shares count: scores without a metric's name, and metrics that are better when higher. The medians of the nonzero
    scores must be further apart than those of any two systems; zeros have no unit.
    """
    if metric is not None and (of_name(metric) is not True or NO_SHARES.intersection(words_of(metric))):
        return None
    shares: list[tuple[str, NDArray[Any]]] = []
    percents: list[tuple[str, NDArray[Any]]] = []
    for name, column in columns.items():
        values = column.values if isinstance(column, Repeated) else column
        if values.dtype.kind in "if" and len(values) and (most := values.max()) <= 100:
            (shares if most <= 1 else percents).append((name, values))
    if not shares or not percents:
        return None
    shares, percents = (
        [(name, values) for name, values in of if values.min() >= 0] for of in (shares, percents)
    )
    if not shares or not percents:
        return None
    low, high = (
        [(name, float(np.median(values[values != 0]))) for name, values in of if values.any()]
        for of in (shares, percents)
    )
    if not low or not high:
        return None
    share, percent = max(low, key=lambda pair: pair[1]), max(high, key=lambda pair: pair[1])
    return (share[0], percent[0]) if percent[1] >= max(PERCENT * share[1], LEAST_PERCENT) else None


def n_items(data: Paired | Systems) -> int:
    """The number of items."""
    if isinstance(data, Systems):
        return len(next(iter(data.columns.values())))
    if isinstance(data, Effects):
        return len(data.stay)
    return len(next(iter(data.u.values()), ())) if isinstance(data, Counts) else len(data.u)


def _refuse_excess(request: Choices, limits: Limits) -> None:
    refuse_samples(request.samples, limits)
    refuse_long_name(request.names.u, limits, "/names/u")
    refuse_long_name(request.names.v, limits, "/names/v")


def refuse_samples(samples: int, limits: Limits) -> None:
    """Refuse more samples than the limits allow; raises InvalidTest at `/samples`."""
    if samples > limits.max_samples:
        detail = f"At most {limits.max_samples:,} samples are allowed."
        raise InvalidTest.at("/samples", "too_many_samples", detail)


def refuse_long_name(name: str, limits: Limits, pointer: str) -> None:
    """Refuse a name of too many characters; raises InvalidTest at the pointer."""
    if len(name) > limits.max_name_chars:
        detail = f"A name has at most {limits.max_name_chars} characters; this one has {len(name):,}."
        raise InvalidTest.at(pointer, "name_too_long", detail)


def sequential_of(choice: SequentialChoice | None) -> Sequential | None:
    """The options of a sequential test."""
    return None if choice is None else Sequential(**choice.model_dump())


_OPTIONS = tuple(option.name for option in fields(Options))


def chosen_of(request: BaseModel, *others: str) -> dict[str, Any]:
    """The options of the request that inference takes, with `others`."""
    known = type(request).model_fields
    return {name: getattr(request, name) for name in _OPTIONS if name in known and name not in others}


def _options(request: Choices, data: Paired, spec: StatisticSpec, reading: Reading | None = None) -> Options:
    """The options, with defaults from files; counts have a metric only with their format's statistic: errors / words is a WER, errors are not."""
    names, metric, higher = (request.names.u, request.names.v), None, None
    if reading is not None:
        if reading.names is not None and "names" not in request.model_fields_set:
            names = reading.names
        if isinstance(data, Scores) or spec == reading.default_statistic:
            metric = None if reading.metric is None else reading.metric[:MOST_METRIC_CHARS]
            higher = reading.higher_is_better
    if higher is None:
        higher = None if isinstance(data, Scores) and metric is None else of_kind(kind_of(data), spec, metric)
    return Options(
        **chosen_of(request, "sequential"), sequential=sequential_of(request.sequential), name_u=names[0], name_v=names[1], metric=metric,
        higher_is_better=higher,
    )  # fmt: skip


def refuse_too_many(what: str, n: int, limits: Limits) -> None:
    """Refuse more items than the limits allow; raises BodyTooLarge."""
    if n > limits.max_items:
        raise BodyTooLarge(f"{what} {n:,} items; at most {limits.max_items:,} are allowed.")


def paired(request: AnyRequest, limits: Limits) -> tuple[Paired, PointerMap]:
    """The data in one order, and the map from pointers to its items to those into the request; raises InvalidTest and BodyTooLarge."""
    bounds = request.on_missing == BOUNDS
    if bounds:
        _require_scores(request)
    elif isinstance(request, ScoresRequest) and request.missing_range is not None:
        detail = "`missing_range` needs `on_missing=bounds`: set that as well, or leave it out."
        raise InvalidTest.at("/missing_range", "redundant", detail)
    members = vars(request)
    systems = {name: members[name] for name in ("stay", "swap", "u", "v") if members.get(name) is not None}
    names = ("gold", "ids", "clusters", "weights", "groups", "event", "slices")
    of_items: dict[str, Any] = {name: members.get(name) for name in names}
    for name in ("gold", *systems):
        column = members.get(name)
        refuse_too_many(f"{name} has", 0 if column is None else len(column), limits)
    columns = PairedColumns(systems, **of_items, of_test=True)
    values, aligned, places = columns.taken(request.on_missing, members.get("decimals"))
    data = _data(request, {pointer[1:]: column for pointer, column in values.items()}, aligned)
    if isinstance(request, ScoresRequest) and isinstance(request.u, ById):
        refuse_metrics_for_ids(list(map(str, aligned.pairing.ids or ())), "/u")
    return data, places


def _require_scores(request: AnyRequest) -> None:
    """Refuse data without bounds for missing outcomes; raises InvalidTest."""
    if not isinstance(request, ScoresRequest):
        detail = (
            "Only scores have bounds for missing outcomes: give right and wrong as 1 and 0, or set "
            "`on_missing=drop`."
        )
        raise InvalidTest.at("/on_missing", "no_missing_bounds", detail)
    if request.weights is not None:
        detail = (
            "Missing outcomes have bounds only with equal weights: leave weights out, or set "
            "`on_missing=drop`."
        )
        raise InvalidTest.at("/weights", "no_missing_bounds", detail)


def _correction(request: ScoresRequest, items: Items, n: int) -> Correction | None:
    """Labels or covariates on the items; raises InvalidTest."""
    if request.labels is not None and request.covariates is not None:
        detail = "Labels and covariates each correct the difference: give labels or covariates, not both."
        raise InvalidTest.at("/covariates", "redundant", detail)
    if request.labels is None and request.correction is not None:
        detail = "`correction` is of `labels`: give labels as well, or leave it out."
        raise InvalidTest.at("/correction", "redundant", detail)
    if request.covariates is not None:
        named = {
            name: [
                items.placed(getattr(covariate, side), f"covariates/{pointer_token(name)}/{side}")
                for side in "uv"
            ]
            for name, covariate in request.covariates.items()
        }
        return covariates_of(named, n)
    if request.labels is None:
        return None
    sides = [items.placed(getattr(request.labels, side), f"labels/{side}") for side in "uv"]
    if request.decimals is not None:
        sides = [(to_decimals(values, request.decimals), at, place) for values, at, place in sides]
    chosen = "auto" if request.correction is None else getattr(request.correction, "lambda")
    return labels_of(sides, n, None if chosen == "auto" else Fraction(repr(chosen)))


def _data(request: AnyRequest, values: Mapping[str, Any], aligned: Aligned) -> Paired:
    pairing, items, gaps = aligned.pairing, aligned.items, aligned.lacking
    if request.slices is not None:
        pairing = replace(pairing, slices=slices_for(request.slices, items))
    if isinstance(request, ScoresRequest):
        if request.on_missing == BOUNDS:
            # Nothing was left out: the answer has the missing outcomes separately.
            pairing = replace(pairing, matched=None, only_u=0, only_v=0, largest=None)
        if gaps is not None:
            low, high = request.missing_range or DEFAULT_RANGE
            gaps = replace(gaps, low=low, high=high)
        correction = _correction(request, items, aligned.n)
        return Scores(
            values["u"], values["v"], pairing, weights_for(request.weights, items), gaps, correction
        )
    if isinstance(request, EffectsRequest):
        return Effects(values["stay"], values.get("swap"), pairing)
    if isinstance(request, CountsRequest):
        return Counts(values["u"], values["v"], pairing)
    groups, event = items.codes(request.groups, "groups")[0], events_for(request.event, items)
    return Predictions(values["gold"], values["u"], values["v"], pairing, groups, event)


# Preferences: battles of two models


def preferences_of(value: Any, context: dict[str, Any], places: PointerMap, job: Job) -> ParsedTest:
    """Validate a request that stands at `places`: the shares of two models are its scores. Raises InputError."""
    options_of_query(job.query, ELSEWHERE)
    request = validated(PreferencesRequest, value, places, context)
    refuse_too_many("battles has", len(request.battles), job.limits)
    battles = mapped(chained(prefixed("/battles"), places), battles_of, request.battles)
    u, v = mapped(places, _models_of, request, battles)
    data = battles.scores(u, v)
    if data is None:
        detail = f"No battle is between {quoted(u)} and {quoted(v)}."
        raise InvalidTest.at(places("/battles"), "no_items", detail)
    if "names" not in request.model_fields_set:
        request = request.model_copy(update={"names": Names(u=u, v=v)})
    mapped(places, _refuse_excess, request, job.limits)
    options, spec = _options(request, data, MEAN), replace(MEAN, parameters={"repeats": "mean"})
    options = replace(options, metric=SHARE, higher_is_better=True)
    parsed = ParsedTest(
        "preferences", data, spec, options, job.deadline_s(request.timeout_s),
        lambda pointer: places("/battles" if pointer.startswith(("/u", "/v", "/ids")) else pointer),
        request.model_fields_set, store_of(request),
    )  # fmt: skip
    return with_picture_data(parsed, job.representation)


def _models_of(request: PreferencesRequest, battles: Battles) -> tuple[str, str]:
    """U and V: as named; of two models the other one, or for a two-sided test both in code-point order. Raises InvalidTest.

    Only models that can be tested are offered: those with a battle against the other one that is named.
    """
    models, known = battles.models, {"u": request.u, "v": request.v}
    if request.u is not None and request.u == request.v:
        raise InvalidTest.at("/v", "same_system", f"{quoted(request.u)} is U as well: give two models.")
    for role, other in (("u", request.v), ("v", request.u)):
        if known[role] is not None and known[role] not in models:
            detail = f"There is no model {quoted(known[role])}. "
            raise choose(f"/{role}", role, f"model {role}", battles.opponents(other) or models, detail)
    left = [name for name in models if name not in known.values()]
    missing = [role for role, name in known.items() if name is None]
    if len(left) > len(missing) > 0 or (len(missing) == 2 and request.alternative != "two-sided"):
        role, other = missing[0], request.v if missing[0] == "u" else request.u
        raise choose(f"/{role}", role, f"model {role}", battles.opponents(other) or left)
    u, v = (left.pop(0) if name is None else name for name in known.values())
    return u, v
