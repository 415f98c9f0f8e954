"""Bodies of one test, by media type: each becomes the request that a JSON body would have said, validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..errors import InvalidTest
from ..inputs import count_table, delimited, item_lines, json_body, npy
from ..inputs.count_table import CountTable
from .media_types import CSV, JSON, NDJSON, NPY
from .messages import Job, TestKind
from .pointers import Place, below, in_lines, in_query, item_of, moved
from .query import ELSEWHERE, options_of_query
from .schema.fields import NO_BOOLEANS
from .schema.requests import REQUEST_MODELS, AnyRequest, PlanEnvelope
from .schema.statistics import spec_of
from .validation import validated

REQUIRED: dict[TestKind, tuple[str, ...]] = {
    "effects": ("stay",),
    "scores": ("u", "v"),
    "counts": ("u", "v"),
    "predictions": ("gold", "u", "v"),
}
OPTIONAL: dict[TestKind, tuple[str, ...]] = {"effects": ("swap",)}


@dataclass(frozen=True, slots=True)
class Told:
    """A request, its kind, and where its parts stand in the body it came in."""

    kind: TestKind
    request: AnyRequest
    place: Place


def told(job: Job, body: bytes | bytearray) -> Told:
    """Decode and validate a body; raises InputError."""
    if job.body.media_type == JSON:
        return _json(job, body)
    assert job.kind != "plan"  # negotiation lets no other media type through
    assert job.kind != "files"
    assert job.kind != "gate"
    if job.body.media_type == NDJSON:
        return _lines(job, body, job.kind)
    if job.body.media_type == NPY:
        return _array(job, body, job.kind)
    return _table(job, body, job.kind)


def _json(job: Job, body: bytes | bytearray) -> Told:
    read = json_body.decode(body)
    context = {NO_BOOLEANS: read.no_booleans}
    if job.kind == "plan":
        options_of_query(job.query, ELSEWHERE)
        envelope = validated(PlanEnvelope, read.value)
        inner = validated(REQUEST_MODELS[envelope.kind], envelope.request, prefix="/request", context=context)
        return Told(envelope.kind, inner, below("/request"))
    assert job.kind != "files"
    assert job.kind != "gate"
    given = options_of_query(job.query, kind=job.kind)
    request = validated(REQUEST_MODELS[job.kind], read.value, context=context)
    _refuse_contradictions(given, request, job.kind)
    return Told(job.kind, request, str)


def _refuse_contradictions(given: Mapping[str, Any], request: AnyRequest, kind: TestKind) -> None:
    """Refuse a query that says something else than the body or, where that is silent, its default.

    A JSON body says everything itself; a page may still repeat in the query what is the default there.
    """
    statistic = spec_of(request.statistic, kind)
    parameters = {"name": statistic.name, **request.statistic.model_dump(), **statistic.parameters}
    for name, value in given.items():
        members = value if isinstance(value, dict) else {name: value}
        there = {"statistic": parameters, "names": request.names.model_dump()}.get(name)
        for member, one in members.items():
            if name != "timeout_s" and one != (
                getattr(request, name) if there is None else there.get(member)
            ):
                option = in_query(f"/{name}" if there is None else f"/{name}/{member}")
                detail = f"{option[2:]} is something else in the JSON body, or left at its default there: say it in the body."
                raise InvalidTest.at(option, "given_twice", detail)


def _validated(kind: TestKind, job: Job, columns: Mapping[str, Any], place: Place) -> Told:
    """The request that columns and query say together."""
    request = {**options_of_query(job.query, kind=kind), **columns}
    try:
        return Told(kind, validated(REQUEST_MODELS[kind], request), place)
    except InvalidTest as error:
        raise moved(error, place) from None


def _lines(job: Job, body: bytes | bytearray, kind: TestKind) -> Told:
    options_of_query(job.query, kind=kind)
    read = item_lines.read(body, REQUIRED[kind], OPTIONAL.get(kind, ()))
    return _validated(kind, job, read.columns, in_lines(read.lines))


def _array(job: Job, body: bytes | bytearray, kind: TestKind) -> Told:
    options_of_query(job.query, kind=kind)
    table = npy.read(body)
    if isinstance(table, CountTable) != (kind == "counts"):
        columns = (
            "four columns (tp_u, incorrect_u, tp_v, incorrect_v)"
            if kind == "counts"
            else "two columns (u, v)"
        )
        raise InvalidTest.at("", "wrong_shape", f"The array needs {columns} here.")
    names = {"/u": 0, "/v": 1} if kind == "scores" else dict(zip(_counts_of(table), range(4), strict=True))

    def place(pointer: str) -> str:
        found = item_of(pointer, len(table.u) if kind == "scores" else len(body))
        if found is None:
            return in_query(pointer)
        column, index, rest = found
        return f"/{index}/{names['/'.join(['', column, *rest])]}"

    return _validated(kind, job, {"u": table.u, "v": table.v}, place)


def _counts_of(table: delimited.Table | CountTable) -> list[str]:
    """Pointers to the columns of counts, in their order."""
    assert isinstance(table, CountTable)
    return [f"/{role}/{name}" for role, system in (("u", table.u), ("v", table.v)) for name in system]


def _table(job: Job, body: bytes | bytearray, kind: TestKind) -> Told:
    options_of_query(job.query, kind=kind)
    delimiter: delimited.Delimiter = "," if job.body.media_type == CSV else "\t"
    table = (count_table if kind == "counts" else delimited).read(body, delimiter)
    columns = {"u": table.u, "v": table.v, "ids": table.ids, "clusters": table.clusters}

    @cache
    def rows() -> list[tuple[int, list[str]]]:
        """Read once more when something is refused, and once for all that is."""
        return delimited.rows_of(delimited.text_of(body), delimiter)

    def place(pointer: str) -> str:
        found = item_of(pointer, len(body))
        return in_query(pointer) if found is None else _field(rows(), kind, *found)

    return _validated(kind, job, columns, place)


def _field(rows: list[tuple[int, list[str]]], kind: TestKind, column: str, item: int, rest: list[str]) -> str:
    """Line and field of a value in a table's rows."""
    name = {"ids": "id", "clusters": "cluster"}.get(column, column)
    if kind == "counts" and rest:
        name = f"{rest[0]}_{column}"
    names = [field.strip().lower() for field in rows[0][1]]
    headed = name in names
    if not headed:
        names = count_table.HEADERLESS if kind == "counts" else ["u", "v"]
    return f"/line/{rows[item + headed][0]}/{names.index(name) + 1}"
