"""Evaluation files: turns a form into a reading, a statistic and the options of the test.

The fields of the form are of three disjoint sorts: options of every test, options of the readers, and parameters of
statistics. If a reader's option has the name of a parameter (`scheme`), the reader takes it and passes it on.

A multipart body (RFC 7578) is parsed by python-multipart, from bytes that are already in memory and within their limit. Its parts
stay in memory, never on a disk; gzip and zstd files are inflated within one limit for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from ..answers.test import Exchange
from ..errors import BodyTooLarge, Flaw, InvalidTest, MalformedBody, pointer_token
from ..execution.ipc import Control
from ..inputs import encodings, json_text
from ..inputs.formats import beside_gold, catalogue, price, tables
from ..inputs.formats.roles import ROLES
from ..inputs.formats.tasks import stem
from ..inputs.number_text import TRUTH, parsed
from ..inputs.quoting import quoted
from ..inputs.reader import OPTION_NAMES, Kind, ReaderOptions, Reading, Source, UploadedFile
from ..statistics.paired import Predictions, StatisticSpec
from .kinds import TestKind
from .messages import Job, Limits
from .query import LITERAL, NAMES, TEXT, SourceMap, options_of, parameters_of
from .schema.fields import STATISTIC_MODELS, entries, spec_of
from .schema.requests import Choices
from .validation import chained, prefixed, validated

MAX_FIELD_CHARS = 10_000
MAX_PART_HEADERS = 8
MAX_HEADER_BYTES = 4_096
MAX_NAME_CHARS = 200
IDENTITY = frozenset({"", "7bit", "8bit", "binary"})
METRICS = "metrics"  # of a gate
SINGLE_FILE_CODES = frozenset(("choose_system_u", "choose_filter_u", "unused_file"))
CHOICES = tuple(name for name in (*TEXT, *LITERAL) if name not in OPTION_NAMES)
PARAMETERS = tuple(
    dict.fromkeys(
        name for kind in STATISTIC_MODELS for name in parameters_of(kind) if name not in OPTION_NAMES
    )
)
FIELDS = ("format", *OPTION_NAMES, *PARAMETERS, *CHOICES, *NAMES)


# The roles that may have a file for each task; a file with both systems is one task.
OF_TASKS = tuple(role for role in ROLES if role != "file")


@dataclass(frozen=True, slots=True)
class Form:
    """A form: files by role, fields in order, and the files of the repeated role."""

    files: dict[str, UploadedFile]
    fields: list[tuple[str, str]]
    repeated: list[UploadedFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Part:
    """One part being read."""

    headers: dict[bytes, bytes] = field(default_factory=dict)
    content: bytearray = field(default_factory=bytearray)


def read_form(job: Job, body: bytes | bytearray, control: Control, repeated: str | None = None) -> Form:
    """The files and fields of a multipart body; `control` learns the deadline and the time for reading before files are read.

    Several files may have the role `repeated`. Raises MalformedBody: incomplete, another boundary, or damaged; BodyTooLarge: too many
    parts, or bytes when inflated; InvalidTest: a name is repeated, at `/files/<role>` or `/options/<name>`.
    """
    limits = job.limits
    form = _form(job, body, repeated)
    fields = dict(form.fields)
    asked_s = parsed(fields.get("timeout_s", ""))
    if asked_s is not None and 0 < asked_s < math.inf and METRICS not in fields:  # which may have longer ones
        control.deadline(min(limits.max_timeout_s, asked_s))
    options = ReaderOptions(
        system_column=fields.get("system_column"), max_inflated_bytes=limits.max_body_bytes, max_items=limits.max_items
    )  # fmt: skip
    named = [*form.files.items(), *((stem(file.name), file) for file in form.repeated)]
    parts = [
        Source(role, part.name, part.content) for role, file in named for part in (file.parts or (file,))
    ]
    board = job.kind == "compare"
    most = limits.worker_memory_bytes
    control.plan(sum(price.seconds(part, options, board=board, most_bytes=most) for part in parts))
    return form


def _form(job: Job, body: bytes | bytearray, repeated: str | None) -> Form:
    """A part is a file if it has a filename or the name of a role; those in `OF_TASKS` become the parts of one file."""
    files: dict[str, list[UploadedFile]] = {}
    fields: list[tuple[str, str]] = []
    listed: list[UploadedFile] = []
    left = job.limits.max_body_bytes
    for number, part in enumerate(_parts(body, job.body.boundary, job.limits.max_form_parts), 1):
        name, path = _names(part, number)
        if path is None and name not in (*ROLES, repeated):
            fields.append((name, _text(part.content, name)))
            continue
        if name in files and name not in OF_TASKS:
            raise InvalidTest.at(file_pointer(name), "duplicate_file", f"There are two files {quoted(name)}.")
        content = _inflated(bytes(part.content), name, left)
        left -= len(content)
        folder, _, filename = (path or "").rpartition("/")
        file = UploadedFile(filename[:MAX_NAME_CHARS], content, folder[-MAX_NAME_CHARS:])
        (listed if name == repeated else files.setdefault(name, [])).append(file)
    return Form({role: _whole(parts) for role, parts in files.items()}, fields, listed)


def _whole(parts: list[UploadedFile]) -> UploadedFile:
    first = parts[0]
    return first if len(parts) == 1 else UploadedFile(first.name, b"", first.folder, tuple(parts))


def _parts(body: bytes | bytearray, boundary: str, most: int) -> list[Part]:
    parts: list[Part] = []
    name, value, ends = bytearray(), bytearray(), list[bool]()

    def begin() -> None:
        if len(parts) == most:
            raise BodyTooLarge(f"The form has more than {most} parts, which is this server's limit.")
        parts.append(Part())

    def end_header() -> None:
        parts[-1].headers[bytes(name).lower()] = bytes(value)
        name.clear()
        value.clear()

    callbacks: Any = {
        "on_part_begin": begin,
        "on_header_field": lambda data, start, end: name.extend(data[start:end]),
        "on_header_value": lambda data, start, end: value.extend(data[start:end]),
        "on_header_end": end_header,
        "on_part_data": lambda data, start, end: parts[-1].content.extend(memoryview(data)[start:end]),
        "on_end": lambda: ends.append(True),
    }
    try:
        MultipartParser(
            boundary.encode("latin-1"),
            callbacks,
            max_header_count=MAX_PART_HEADERS,
            max_header_size=MAX_HEADER_BYTES,
        ).write(bytes(body))
    except FormParserError:
        detail = "The body is not a multipart form with the boundary in its Content-Type."
        raise MalformedBody(detail) from None
    if not ends:
        raise MalformedBody("The multipart body is truncated: its last boundary is missing.")
    return parts


def _names(part: Part, number: int) -> tuple[str, str | None]:
    """The name of a part, and its filename if it has one, with the folders that the caller sent."""
    try:
        kind, options = parse_options_header(part.headers.get(b"content-disposition", b""))
        name = options[b"name"].decode()
        filename = options[b"filename"].decode().replace("\\", "/") if b"filename" in options else None
    except (KeyError, ValueError, IndexError):
        kind, name, filename = b"", "", None
    if kind != b"form-data" or not name:
        raise MalformedBody(f"Part {number} of the form has no Content-Disposition that names it in UTF-8.")
    coding = part.headers.get(b"content-transfer-encoding", b"").decode("latin-1").strip().lower()
    if coding not in IDENTITY:
        detail = f"Part {number} of the form has a Content-Transfer-Encoding; send its bytes unencoded."
        raise MalformedBody(detail)
    return name, filename


def _text(content: bytearray, name: str) -> str:
    pointer = option_pointer(name)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        detail = f"The field {quoted(name)} is not UTF-8."
        raise MalformedBody(detail, flaws=(Flaw(pointer, "not_utf8", detail),)) from None
    if len(text) > MAX_FIELD_CHARS:
        detail = f"A field has at most {MAX_FIELD_CHARS:,} characters; {quoted(name)} has {len(text):,}. Is it a file?"
        raise InvalidTest.at(pointer, "field_too_long", detail)
    return text


def _inflated(content: bytes, role: str, left: int) -> bytes:
    """A file without its compression; errors name the file."""
    try:
        plain = encodings.inflated(content, max_bytes=left)
    except (MalformedBody, BodyTooLarge) as error:
        detail, code = f"{role[:40]}: {error.detail}", "damaged_file"
        if isinstance(error, BodyTooLarge):
            code = "file_too_large"
        raise type(error)(detail, flaws=(Flaw(file_pointer(role), code, detail),)) from None
    if len(plain) > left:
        detail = f"Inflated, the files have more than the {left:,} bytes left of the limit."
        raise BodyTooLarge(detail)
    return plain


def file_pointer(role: str) -> str:
    """The pointer to a file of the form."""
    return f"/files/{pointer_token(role[:40])}"


def option_pointer(name: str) -> str:
    """The pointer to a field of the form."""
    return f"/options/{pointer_token(name[:40])}"


_OF_RANKINGS = {entry.name for entry in entries("predictions") if "rankings" in entry.data}


def read_files(
    files: Mapping[str, UploadedFile], fields: Sequence[tuple[str, str]], limits: Limits
) -> tuple[Reading, StatisticSpec, Choices]:
    """The reading of files, with the statistic and the options from the fields; raises InputError."""
    values = options_of(fields, FIELDS, option_pointer)
    texts = dict(fields)
    request = validated(
        Choices, {name: values[name] for name in (*CHOICES, "names") if name in values}, in_form
    )
    given = {name: texts[name] for name in OPTION_NAMES if name in texts}
    options = reader_options(given, limits, request.exchange)
    try:
        reading = catalogue.read(files, texts.get("format", catalogue.AUTO), options)
    except InvalidTest as error:
        raise _alone(error) if set(files) == {"file"} else error from None
    statistic = values.get("statistic", {})
    if "repeats" in statistic:  # the meaning of several rows of an item
        findings = tuple(finding for finding in reading.findings if finding.code != tables.CHOOSE_RUNS)
        reading = replace(reading, findings=findings)
    parameters = {name: statistic[name] for name in PARAMETERS if name in statistic}
    return reading, spec_of_reading(reading, options.statistic, parameters), request


def _alone(error: InvalidTest) -> InvalidTest:
    """The refusal of one file; for one without two systems, with a note that the other file may be missing."""
    first = error.flaws[0] if error.flaws else None
    if first is None or first.code not in SINGLE_FILE_CODES or len(first.choices) > 2:
        return error
    detail = "Give a baseline (`v`), the file of the other system."
    detail += (
        f" {first.detail}" if first.code == "unused_file" else f" If this file holds both: {first.detail}"
    )
    return InvalidTest(detail, flaws=(replace(first, detail=detail), *error.flaws[1:]))


def reader_options(texts: Mapping[str, str], limits: Limits, exchange: Exchange) -> ReaderOptions:
    """The options of readers from the fields, within the limits; raises InvalidTest."""
    most, bytes_ = limits.max_items, limits.max_body_bytes
    return ReaderOptions.of_form(texts, max_inflated_bytes=bytes_, max_items=most, exchange=exchange)


def overrides_of(text: str) -> list[dict[str, str]]:
    """`metrics`: names separated by commas, or a JSON list of names and of objects with form fields."""

    def refusal(below: str = "") -> InvalidTest:
        detail = '`metrics` is a list of names, such as upos,las, or a JSON list of objects: [{"metric": "acc", "margin": 0.01}].'
        return InvalidTest.at(f"/options/metrics{below}", "not_metrics", detail)

    try:
        is_json = text.lstrip()[:1] in {"[", "{"}
        value: Any = json_text.decode(text.encode()).value if is_json else text.split(",")
    except MalformedBody:
        raise refusal() from None
    if not isinstance(value, list) or not value:
        raise refusal()
    names = ("name", "statistic")
    value = [dict.fromkeys(names, one.strip()) if isinstance(one, str) else one for one in value]
    for index, member in enumerate(value):
        if not isinstance(member, dict) or member.get("name") == "":
            raise refusal(f"/{index}")
        for name in member:
            if name in ROLES or name in (METRICS, "names"):
                detail = f"{quoted(name)} cannot differ by metric."
                raise InvalidTest.at(f"/options/metrics/{index}", "not_by_metric", detail)
    return [
        {name: one if isinstance(one, str) else json_text.text_of(one) for name, one in override.items()}
        for override in value
    ]


# The options that name columns beside the scores.
BESIDE = {"labels": "label_column", "covariates": "covariates"}


def _in_files(pointer: str) -> str:
    """The map for data sent in files."""
    column = pointer[1:].split("/", maxsplit=1)[0]
    if column == "references":
        return "/files/ref"
    if column in BESIDE:
        return f"/options/{BESIDE[column]}"
    return f"/files{pointer}" if column in ROLES else "/files"


# The map for a request whose options are fields, and whose data are files.
in_form = SourceMap("/options/", _in_files)


def in_body(pointer: str) -> str:
    """The map for a file and fields of a form."""
    if pointer.startswith("/options/"):
        return "/?" + pointer.removeprefix("/options/")
    return "" if pointer.startswith("/files") else pointer


def spec_of_reading(reading: Reading, name: str | None, parameters: dict[str, Any]) -> StatisticSpec:
    """The requested statistic, or the reading's with the requested parameters; raises InvalidTest at `/options/…`."""
    if reading.format in beside_gold.OUTPUTS and isinstance(reading.data, Predictions):
        parameters = as_read(parameters, reading.data.gold)
    read = reading.statistic_read
    return spec_of_kind(reading.kind, reading.default_statistic, None if read else name, parameters)


def as_read(parameters: dict[str, Any], gold: Collection[Any]) -> dict[str, Any]:
    """The parameters with the positive label as the reader reads it in gold: a number where gold holds numbers."""
    positive, labels = parameters.get("positive"), set(gold)
    if not isinstance(positive, str) or positive in labels:
        return parameters
    read = next((label for label in (parsed(positive), TRUTH.get(positive.lower())) if label in labels), None)
    return parameters if read is None else {**parameters, "positive": read}


def spec_of_kind(
    read_as: Kind, default: StatisticSpec, name: str | None, parameters: dict[str, Any]
) -> StatisticSpec:
    """The statistic `name` for a kind of data, or the `default`, with the requested parameters; raises InvalidTest: an unknown one."""
    if name is None:
        name = default.name
        merged = {**default.parameters, **parameters}
    else:
        merged = {**_passed_on(read_as, default, name), **parameters}
    kind: TestKind = "predictions" if read_as == "segments" else read_as
    named = {entry.name for entry in entries(read_as)}
    if name not in named:
        detail = f"The files were read as {read_as}, which have no statistic {quoted(name)}; "
        detail += f"there are {', '.join(sorted(named))}."
        if name in _OF_RANKINGS:
            detail += (
                f" {name} compares scores with gold: name the column with `gold_column`, or send the "
                "file `gold`."
            )
        raise InvalidTest.at(option_pointer("statistic"), "unknown_statistic", detail)
    places = chained(prefixed("/statistic"), in_form)
    return spec_of(validated(STATISTIC_MODELS[kind], {"name": name, **merged}, places), kind)


def _passed_on(kind: Kind, default: StatisticSpec, name: str) -> dict[str, Any]:
    """Parameters of the reader's statistic that another one also takes, such as the scheme of spans."""
    taken = {p.name for entry in entries(kind) if entry.name == name for p in entry.parameters}
    return {key: value for key, value in default.parameters.items() if key in taken}
