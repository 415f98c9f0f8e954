"""Bodies of one test, by media type: each becomes the validated request that a JSON body would have been."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from ..errors import InvalidTest, relocated
from ..inputs import count_table, delimited, item_lines, json_body, npy
from ..inputs.count_table import CountTable
from .media_types import CSV, JSON, NDJSON, NPY
from .messages import Job, TestKind
from .pointers import FIELD, PointerMap, beside_statistic, in_lines, in_query, item_of
from .query import options_of_query
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


def decode_body(job: Job, body: bytes | bytearray) -> DecodedBody:
    """Decode and validate a body; raises InputError."""
    if job.body.media_type == JSON:
        return _json(job, body)
    kind = _test_kind(job)
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


def _lines(options: Options, body: bytes | bytearray, kind: TestKind) -> DecodedBody:
    read = item_lines.read(body, REQUIRED[kind], OPTIONAL.get(kind, ()))
    return _validated(kind, options, read.columns, in_lines(read.lines))


def _array(options: Options, body: bytes | bytearray, kind: TestKind) -> DecodedBody:
    table = npy.read(body, may_be_missing=options.get("on_missing", "error") != "error")
    if isinstance(table, CountTable) != (kind == "counts"):
        columns = (
            "four columns (tp_u, incorrect_u, tp_v, incorrect_v)"
            if kind == "counts"
            else "two columns (u, v)"
        )
        raise InvalidTest.at("", "wrong_shape", f"The array needs {columns} here.")
    names = {"/u": 0, "/v": 1} if kind == "scores" else dict(zip(_counts_of(table), range(4), strict=True))

    def pointer_map(pointer: str) -> str:
        item = item_of(pointer, len(table.u) if kind == "scores" else len(body))
        if item is None:
            return in_query(pointer)
        column, index, rest = item
        return f"/{index}/{names['/'.join(['', column, *rest])]}"

    return _validated(kind, options, {"u": table.u, "v": table.v}, pointer_map)


def _counts_of(table: delimited.Table | CountTable) -> list[str]:
    """Pointers to the columns of counts, in their order."""
    assert isinstance(table, CountTable)
    return [f"/{role}/{name}" for role, system in (("u", table.u), ("v", table.v)) for name in system]


def _table(
    options: Options, body: bytes | bytearray, kind: TestKind, delimiter: delimited.Delimiter
) -> DecodedBody:
    gaps = kind == "scores" and options.get("on_missing", "error") != "error"
    table: delimited.Table | CountTable = (
        count_table.read(body, delimiter) if kind == "counts" else delimited.read(body, delimiter, gaps=gaps)
    )
    columns = {"u": table.u, "v": table.v, "ids": table.ids, "clusters": table.clusters}
    if not isinstance(table, CountTable) and table.weights is not None:
        columns["weights"] = table.weights

    @cache
    def rows() -> list[tuple[int, list[str]]]:
        """Read again when something is wrong, and only once."""
        return delimited.rows_of(delimited.text_of(body), delimiter, gaps=gaps)

    def pointer_map(pointer: str) -> str:
        item = item_of(pointer, len(body))
        return in_query(pointer) if item is None else _field(rows(), kind, *item)

    return _validated(kind, options, columns, pointer_map)


def _field(rows: list[tuple[int, list[str]]], kind: TestKind, column: str, item: int, rest: list[str]) -> str:
    """The pointer to a value in a table's rows: its line and its field, both counted from one."""
    name = FIELD.get(column, column)
    if kind == "counts" and rest:
        name = f"{rest[0]}_{column}"
    names = [field.strip().lower() for field in rows[0][1]]
    has_header = name in names
    if not has_header:
        names = count_table.HEADERLESS if kind == "counts" else ["u", "v"]
    return f"/line/{rows[item + has_header][0]}/{names.index(name) + 1}"
