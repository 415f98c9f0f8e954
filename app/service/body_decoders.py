"""Bodies of one test, by media type: each becomes the validated request that a JSON body would have been."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from ..errors import InvalidTest, relocated
from ..inputs import delimited, item_lines, json_body, npy
from ..inputs.formats.reader import UploadedFile
from ..inputs.formats.tables import OF_TABLES
from .media_types import CSV, JSON, NDJSON, NPY, TSV
from .messages import Job, TestKind
from .parse_files import ParsedFiles, parse_files
from .pointers import FIELD, PointerMap, beside_statistic, chained, in_lines, in_query, item_of
from .query import known_of, options_of_query
from .schema.fields import NO_BOOLEANS
from .schema.requests import REQUEST_MODELS, AnyRequest
from .schema.statistics import spec_of
from .validation import validated

REQUIRED: dict[TestKind, tuple[str, ...]] = {
    "effects": ("stay",),
    "scores": ("u", "v"),
    "counts": ("u", "v"),
    "predictions": ("gold", "u", "v"),
}
OPTIONAL: dict[TestKind, tuple[str, ...]] = {
    "effects": ("swap",),
    "scores": ("weight",),
    "predictions": ("group", "event"),
}
Options = dict[str, Any]  # as `options_of_query` returns them


@dataclass(frozen=True, slots=True)
class DecodedBody:
    """A validated request, its kind, and the map of pointers into the body it came in."""

    kind: TestKind
    request: AnyRequest
    pointer_map: PointerMap


def decode_body(job: Job, body: bytes | bytearray) -> DecodedBody | None:
    """Decode and validate a body; None for a table or lines that are to be read as a file is. Raises InputError."""
    if job.body.media_type == JSON:
        return _json(job, body)
    kind = _test_kind(job)
    if job.body.media_type in (CSV, TSV, NDJSON) and any(
        name in OF_TABLES and name not in known_of(kind) for name, _ in job.query
    ):
        return None
    options = options_of_query(job.query, kind=kind)
    if job.body.media_type == NDJSON:
        return _lines(options, body, kind)
    if job.body.media_type == NPY:
        return _array(options, body, kind)
    return _table(options, body, kind, "," if job.body.media_type == CSV else "\t")


def _json(job: Job, body: bytes | bytearray) -> DecodedBody:
    read = json_body.decode(body)
    context = {NO_BOOLEANS: read.no_booleans}
    kind = _test_kind(job)
    options = options_of_query(job.query, kind=kind)
    request = validated(REQUEST_MODELS[kind], read.value, context=context)
    _refuse_contradictions(options, request, kind)
    return DecodedBody(kind, request, beside_statistic(read.value))


def _test_kind(job: Job) -> TestKind:
    """The kind of test that a route is of; the other routes have decoders of their own."""
    assert job.kind not in {"files", "gate", "plan", "compare", "power", "batch"}
    return cast("TestKind", job.kind)


def _refuse_contradictions(options: Options, request: AnyRequest, kind: TestKind) -> None:
    """Refuse a query that contradicts the body, or the default of a member that the body leaves out.

    A JSON body holds all its options; a page may still repeat its defaults in the query.
    """
    if not options:
        return
    statistic = spec_of(request.statistic, kind)
    parameters = {"name": statistic.name, **request.statistic.model_dump(), **statistic.parameters}
    nested = {"statistic": parameters, "names": request.names.model_dump()}
    for name, value in options.items():
        if name == "timeout_s":
            continue
        given = value if name in nested else {name: value}
        body = nested.get(name, {name: getattr(request, name, None)})
        for member, text in given.items():
            if text != body.get(member):
                pointer = in_query(f"/{name}/{member}" if name in nested else f"/{name}")
                detail = (
                    f"{pointer[2:]} has another value in the JSON body, or by default: set it in the body."
                )
                raise InvalidTest.at(pointer, "given_twice", detail)


def _validated(
    kind: TestKind, options: Options, columns: Mapping[str, Any], pointer_map: PointerMap
) -> DecodedBody:
    """The request made of columns and the query's options."""
    with relocated(pointer_map):
        return DecodedBody(kind, validated(REQUEST_MODELS[kind], {**options, **columns}), pointer_map)


def _lines(options: Options, body: bytes | bytearray, kind: TestKind) -> DecodedBody | None:
    """Lines with the fields of a request; None for lines of scores with others."""
    if kind == "scores" and not item_lines.has_fields(body, (*REQUIRED[kind], *OPTIONAL[kind])):
        return None
    read = item_lines.read(body, REQUIRED[kind], OPTIONAL.get(kind, ()))
    return _validated(kind, options, read.columns, in_lines(read.lines))


def _array(options: Options, body: bytes | bytearray, kind: TestKind) -> DecodedBody:
    table = npy.read(body, may_be_missing=options.get("on_missing", "error") != "error")
    if isinstance(table, delimited.CountTable) != (kind == "counts"):
        columns = (
            "four columns (tp_u, incorrect_u, tp_v, incorrect_v)"
            if kind == "counts"
            else "two columns (u, v)"
        )
        raise InvalidTest.at("", "wrong_shape", f"The array needs {columns} here.")
    names = (
        {"/u": 0, "/v": 1}
        if kind == "scores"
        else dict(zip(map(_pointer_of_count, delimited.HEADERLESS_COUNTS), range(4), strict=True))
    )

    def pointer_map(pointer: str) -> str:
        item = item_of(pointer, len(table.u) if kind == "scores" else len(body))
        if item is None:
            return in_query(pointer)
        column, index, rest = item
        return f"/{index}/{names['/'.join(['', column, *rest])]}"

    return _validated(kind, options, {"u": table.u, "v": table.v}, pointer_map)


def _pointer_of_count(name: str) -> str:
    count, _, role = name.rpartition("_")
    return f"/{role}/{count}"


def _table(
    options: Options, body: bytes | bytearray, kind: TestKind, delimiter: delimited.Delimiter
) -> DecodedBody | None:
    """The usual table, cut at C speed; None for any other."""
    if kind == "counts":
        counts = delimited.plain_counts(body, delimiter)
        found: dict[str, Any] = {} if counts is None else {"u": counts.u, "v": counts.v}
        names = list(delimited.HEADERLESS_COUNTS)
    else:
        table = delimited.plain_table(body, delimiter)
        found = (
            {}
            if table is None
            else {"u": table.u, "v": table.v, "ids": table.ids, "clusters": table.clusters}
        )
        if table is not None and table.weights is not None:
            found["weights"] = table.weights
        names = [
            name.strip().lower()
            for name in bytes(body).partition(b"\n")[0].decode("ascii", "replace").split(delimiter)
        ]
    if not found:
        return None
    has_header = "u" in names

    def pointer_map(pointer: str) -> str:
        item = item_of(pointer, len(body))
        if item is None:
            return in_query(pointer)
        column, index, rest = item
        name = f"{rest[0]}_{column}" if kind == "counts" and rest else FIELD.get(column, column)
        field = (names if has_header or kind == "counts" else ["u", "v"]).index(name)
        return f"/line/{index + 1 + has_header}/{field + 1}"

    return _validated(kind, options, found, pointer_map)


def read_as_file(job: Job, body: bytes | bytearray) -> ParsedFiles:
    """A table or lines of JSON as the same file is read, with the options in the query; raises InputError."""
    kind, media_type = _test_kind(job), job.body.media_type
    known = (*known_of(kind), *(name for name in OF_TABLES if name not in known_of(kind)))
    options_of_query(job.query, tuple(known))
    fields = [(name, text) for name, text in job.query if name not in ("format", "theme")]
    format_ = {CSV: "csv", TSV: "tsv"}.get(media_type, "jsonl")
    with relocated(_in_body):
        files = parse_files(
            {"file": UploadedFile("", bytes(body), is_body=True)}, [*fields, ("format", format_)], job.limits
        )
    if files.reading.kind != kind:
        detail = f"These are {files.reading.kind}: send them to /v1/tests/{files.reading.kind}."
        raise InvalidTest.at("", "other_kind", detail)
    return replace(files, pointer_map=chained(files.pointer_map, _in_body))


def _in_body(pointer: str) -> str:
    """The map for what was read as a file and fields of a form."""
    if pointer.startswith("/options/"):
        return "/?" + pointer.removeprefix("/options/")
    return "" if pointer.startswith("/files") else pointer
