"""Turns a test's request, a body of any media type or a file, into the equivalent JSON document.

`{"u": [1, 0, 1], "v": [0, 0, 1]}` in a file, or pasted into the page, is a test of three items. As JSON Lines it
would be a single item with three samples of each system, and p would be 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from pydantic_core import from_json

from ..errors import InputError, InvalidTest, PointerMap, marked
from ..inputs import delimited, json_text
from ..inputs.alignment import item_of
from ..inputs.formats import numpy_files
from ..inputs.formats.catalogue import ALIASES, AUTO
from ..inputs.formats.tables import COUNT_STATISTICS, OF_TABLES
from ..inputs.names import ID, find
from ..inputs.outcomes import CELLS
from ..inputs.reader import UTF8_BOM, UploadedFile
from ..statistics.catalogue import STATISTICS
from .kinds import CSV, JSON, NDJSON, NPY, TestKind
from .messages import Job
from .parse_files import FIELDS, in_form, option_pointer
from .query import (
    FIELD,
    SourceMap,
    in_query,
    known_of,
    option_of,
    options_of,
    options_of_query,
    parameters_of,
)
from .schema.fields import NO_BOOLEANS, spec_of
from .schema.requests import REQUEST_MODELS, AnyRequest, GateRequest, WrappedTest
from .validation import beside_statistic, chained, prefixed, validated, with_statistic

REQUIRED: dict[TestKind, tuple[str, ...]] = {
    kind: tuple(name for name, field in model.model_fields.items() if field.is_required())
    for kind, model in REQUEST_MODELS.items()
}
# Optional fields of a line.
OPTIONAL: dict[TestKind, tuple[str, ...]] = {
    "effects": ("swap",),
    "scores": ("weight",),
    "counts": (),
    "predictions": ("group", "event"),
}
# Columns of an array, and of a table without a header.
COLUMNS_OF: Mapping[str, Sequence[str]] = {"scores": ("u", "v"), "counts": delimited.HEADERLESS_COUNTS}
ROLE = "file"
JSON_FORMATS = frozenset({AUTO, "jsonl", *(alias for alias, name in ALIASES.items() if name == "jsonl")})
MARK = re.compile(rb'"(?:u|stay|request|b)"\s*:')
OF_A_GATE = frozenset(GateRequest.model_fields) - {"kind", "request"}
COUNT_NAMES = frozenset(name for names, _ in COUNT_STATISTICS for name in names)

Fields = Sequence[tuple[str, str]]
Options = dict[str, Any]  # as `options_of_query` returns them


@dataclass(frozen=True, slots=True)
class Document:
    """A test's request as in JSON.

    `carried` maps its pointers to places in the client's data; `beside` are options of the query, which a JSON body
    must not contradict.
    """

    kind: TestKind
    value: Any
    carried: PointerMap = str
    context: dict[str, Any] | None = None
    beside: Options | None = None

    @property
    def place(self) -> PointerMap:
        """The map of pointers into the validated request, whose statistic may have been a name with parameters beside it."""
        return chained(beside_statistic(self.value), self.carried)

    def request(self) -> AnyRequest:
        """The validated request; raises InvalidTest."""
        request = validated(REQUEST_MODELS[self.kind], self.value, self.carried, self.context)
        if self.beside:
            _refuse_contradictions(self.beside, request, self.kind)
        return request


def json_of(body: bytes | bytearray) -> tuple[Any, dict[str, Any]]:
    """The value of a JSON body, and the context in which models validate it; raises InputError."""
    read = json_text.decode(body)
    return read.value, {NO_BOOLEANS: read.no_booleans}


def document_of(job: Job, body: bytes | bytearray) -> Document | None:
    """The document of a body; None for tables and lines that are read like files. Raises InputError."""
    kind, media_type = test_kind(job), job.body.media_type
    if media_type == JSON:
        value, context = json_of(body)
        return Document(
            kind, value, context=context, beside=options_of_query(job.query, kind=kind) if job.query else None
        )
    if media_type != NPY and any(name in OF_TABLES and name not in known_of(kind) for name, _ in job.query):
        return None
    options = options_of_query(job.query, kind=kind)
    if media_type == NDJSON:
        return _lines(options, body, kind)
    if media_type == NPY:
        return _array(options, body, kind)
    return _table(options, body, kind, "," if media_type == CSV else "\t")


def test_kind(job: Job) -> TestKind:
    """The kind of test of a route; the other routes have other decoders."""
    assert job.kind not in {"files", "gate", "plan", "compare", "power", "batch"}
    return cast("TestKind", job.kind)


def _refuse_contradictions(options: Options, request: AnyRequest, kind: TestKind) -> None:
    """Refuse a query that contradicts a JSON body, or the default of a missing member; a page may repeat its defaults in the query."""
    statistic = spec_of(request.statistic, kind)
    parameters = {"name": statistic.name, **request.statistic.model_dump(), **statistic.parameters}
    nested = {"statistic": parameters, "names": request.names.model_dump()}
    for name, value in options.items():
        if name == "timeout_s":
            continue
        members = value if name in nested else {name: value}
        body = nested.get(name, {name: getattr(request, name, None)})
        for member, text in members.items():
            if text != body.get(member):
                pointer = in_query(f"/{name}/{member}" if name in nested else f"/{name}")
                detail = (
                    f"{pointer[2:]} has another value in the JSON body, or by default: set it in the body."
                )
                raise InvalidTest.at(pointer, "given_twice", detail)


def _lines(options: Options, body: bytes | bytearray, kind: TestKind) -> Document | None:
    """Lines with the fields of a request; None for lines of scores with other fields."""
    required, optional = REQUIRED[kind], OPTIONAL[kind]
    if kind == "scores" and not json_text.has_fields(body, (*required, *optional)):
        return None
    columns, lines = json_text.items(body, required, optional)
    place = _in_items(
        len(lines), lambda item, column, rest: "/".join(["/line", str(lines[item]), column, *rest])
    )
    return Document(kind, {**options, **columns}, place)


def _array(options: Options, body: bytes | bytearray, kind: TestKind) -> Document:
    table = numpy_files.table_of(body, may_be_missing=options.get("on_missing", "error") != "error")
    if isinstance(table["u"], dict) != (kind == "counts"):
        four = "four columns (tp_u, incorrect_u, tp_v, incorrect_v)"
        detail = f"The array needs {four if kind == 'counts' else 'two columns (u, v)'} here."
        raise InvalidTest.at("", "wrong_shape", detail)
    return Document(kind, {**options, **table}, _in_rows(COLUMNS_OF[kind], len(body), "/{0}/{1}", 0))


def _table(
    options: Options, body: bytes | bytearray, kind: TestKind, delimiter: delimited.Delimiter
) -> Document | None:
    """The usual table, split at C speed; None for any other."""
    plain = delimited.plain_counts if kind == "counts" else delimited.plain_table
    columns = plain(body, delimiter)
    if columns is None:
        return None
    first = b"" if kind == "counts" else bytes(body).partition(b"\n")[0]
    named = [name.strip().lower() for name in first.decode("ascii", "replace").split(delimiter)]
    header = "u" in named
    place = _in_rows(named if header else COLUMNS_OF[kind], len(body), "/line/{0}/{1}", 1, header)
    return Document(kind, {**options, **columns}, place)


def _in_rows(names: Sequence[str], most: int, cell: str, base: int, header: bool = False) -> PointerMap:
    """The map for rows of the columns with these names, counted from `base`, after a header."""

    def place(row: int, column: str, rest: Sequence[str]) -> str:
        at = names.index(f"{rest[0]}_{column}" if rest else column)
        return cell.format(row + base + header, at + base)

    return _in_items(most, place)


def _in_items(most: int, place: Callable[[int, str, Sequence[str]], str]) -> PointerMap:
    """The map for at most `n` items, each at a place, with options in the query."""

    def data(pointer: str) -> str:
        item = item_of(pointer, most)
        return pointer if item is None else place(item[1], FIELD.get(item[0], item[0]), item[2])

    return SourceMap("/?", data)


@dataclass(frozen=True, slots=True)
class RequestFile:
    """The request in a file: of a test, of a plan (`kind` and `request`) or of a gate."""

    value: dict[str, Any]
    context: dict[str, Any]

    @property
    def wrapped(self) -> bool:
        """Whether it is `{"kind": …, "request": …}` or `{"metrics": […]}`, with the request of a test inside."""
        return "request" in self.value or "metrics" in self.value


def request_in(
    files: Mapping[str, UploadedFile], fields: Fields, names: Collection[str] = ()
) -> RequestFile | None:
    """The request of a test or a gate, or with one of these `names`, if the only file of a form is one; None for evaluation files."""
    if set(files) != {ROLE} or dict(fields).get("format", AUTO).lower() not in JSON_FORMATS:
        return None
    content = files[ROLE].content.removeprefix(UTF8_BOM).strip()
    if not content.startswith(b"{"):
        return None
    if not (any(b'"%b"' % name.encode() in content for name in names) if names else MARK.search(content)):
        return None
    first, newline, _ = content.partition(b"\n")
    with suppress(ValueError):
        if newline and type(from_json(first)) is dict:
            return None  # JSON Lines
    try:
        value, context = json_of(content)
    except InputError:
        return None  # the readers report faults
    mine = type(value) is dict and (not set(names).isdisjoint(value) if names else _is_request(value))
    return RequestFile(value, context) if mine else None


def _is_request(value: dict[str, Any]) -> bool:
    metrics = value.get("metrics")
    if type(metrics) is list and any(type(metric) is dict and "request" in metric for metric in metrics):
        return True
    if type(value.get("request")) is dict:
        return "kind" in value
    if find(value, ID) is not None:
        return False  # a line of JSON Lines, with the samples of one item
    if "stay" in value:
        return _is_column(value["stay"])
    if {"b", "c"} <= set(value):
        return all(type(value[name]) is int for name in CELLS if name in value)
    return {"u", "v"} <= set(value) and (_is_column(value["u"]) or _is_column(value["v"]))


def _is_column(value: Any) -> bool:
    """Whether it can be a column of a request; integers may be an array already."""
    return not isinstance(value, str | int | float | None)


def document_of_file(file: RequestFile, fields: Fields) -> Document:
    """The test in a file, with options sent as fields; raises InvalidTest, also for a gate's, at `/files/file/…` and `/options/<name>`."""
    value, below = file.value, ""
    if file.wrapped:
        if not OF_A_GATE.isdisjoint(value):
            detail = "This file is a gate's request: send it to a gate (/v1/gate, exactperm gate)."
            raise InvalidTest.at(f"/files/{ROLE}", "request_for_a_gate", detail)
        envelope = validated(WrappedTest, value, prefixed(f"/files/{ROLE}"))
        kind, value, below = envelope.kind, envelope.request, "/request"
    else:
        kind = kind_of(value)
    names, in_value = {name for name, _ in fields}, beside_statistic(value)

    def place(pointer: str) -> str:
        return in_form(pointer) if option_of(pointer) in names else f"/files/{ROLE}{below}{in_value(pointer)}"

    return Document(kind, with_fields(value, fields, kind), place, file.context)


def with_fields(value: dict[str, Any], fields: Fields, kind: TestKind) -> dict[str, Any]:
    """A test's request with the options sent as fields; raises InvalidTest: one is a reader's option, or contradicts the request."""
    options = options_of(fields, FIELDS, option_pointer)
    for name in options.get("statistic", {}):
        if name not in {"name", *parameters_of(kind)}:
            detail = f"The file is a JSON request, which takes no reader's options: leave {marked(name)} out."
            raise InvalidTest.at(option_pointer(name), "unused_option", detail)
    whole = with_statistic(value, parameters_of(kind))
    for name, option in options.items():
        inside = whole.get(name, {})
        if type(option) is not dict or type(inside) is not dict:
            put_once(whole, name, option, f"/{name}")
            continue
        whole[name] = dict(inside)
        for member, value_given in option.items():
            put_once(whole[name], member, value_given, f"/{name}/{member}")
    return whole


def put_once(members: dict[str, Any], name: str, value: Any, pointer: str) -> None:
    """Set a member; raises InvalidTest if it already has another value."""
    if members.setdefault(name, value) != value:
        option = option_of(pointer) or name
        detail = f"{option} is given twice, with different values: in the file and beside it. Leave it out beside the file."
        raise InvalidTest.at(option_pointer(option), "given_twice", detail)


def kind_of(value: Mapping[str, Any]) -> TestKind:
    """The kind of test, by the columns of the request; raises InvalidTest: they may be scores by id or counts by name."""
    if "stay" in value:
        return "effects"
    if "gold" in value:
        return "predictions"
    if "u" not in value:
        return "scores"  # b and c
    u, v = value["u"], value["v"]
    if type(u) is list:
        return "counts" if u and type(u[0]) is dict else "scores"
    if type(u) is not dict or dict in set(map(type, u.values())):
        return "counts" if type(u) is dict else "scores"
    if not any(map(_is_column, u.values())):
        return "scores"
    statistic = value.get("statistic")
    name = statistic.get("name") if type(statistic) is dict else statistic
    if name is not None:
        return "scores" if any(entry.name == name for entry in STATISTICS["scores"]) else "counts"
    if type(v) is dict and set(u) == set(v) and set(u) <= COUNT_NAMES:
        return "counts"
    detail = (
        "These may be counts by name or scores by id: name the statistic, "
        'or wrap the request: {"kind": "counts", "request": {…}}.'
    )
    raise InvalidTest.at(f"/files/{ROLE}", "unclear_kind", detail)
