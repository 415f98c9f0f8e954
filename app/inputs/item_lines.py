"""Lines of JSON with one item each: `{"id": …, "u": …, "v": …, "cluster": …}`.

The fields are the columns of the JSON request, so that a line may hold numbers, lists of samples, named counts or
labels; their values are validated like those of a request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from ..errors import InvalidTest
from . import ndjson
from .delimited import text_of
from .quoting import quoted

KEYS = {"id": "ids", "cluster": "clusters"}
# Other fields with another name than the column.
FIELDS = {"weight": "weights", "group": "groups"}


@dataclass(frozen=True, slots=True)
class ItemLines:
    """Columns under the names a request has for them, and the line of every item, counted from one."""

    columns: dict[str, list[Any]]
    lines: list[int]


def read(body: bytes | bytearray, needed: Sequence[str], optional: Sequence[str] = ()) -> ItemLines:
    """The items of a body.

    Raises MalformedBody: It is not UTF-8, or a line is not JSON; InvalidTest: A line lacks a field, or has one that is
    unknown or that other lines lack; pointers are `/line/<n>/<field>`. Or the only line has lists and no id: it may be a
    whole JSON request.
    """
    records = list(ndjson.records(text_of(body).split("\n")))
    if not records:
        raise InvalidTest.at("", "no_items", "There is no line to test; give at least one.")
    known = {**{name: FIELDS.get(name, name) for name in (*needed, *optional)}, **KEYS}
    present = [name for name in known if name in records[0].value]
    for record in records:
        _refuse_fields(record, present, needed, list(known))
    if len(records) == 1 and "id" not in present:
        _refuse_whole_request(records[0], needed)
    columns = {known[name]: [record.value[name] for record in records] for name in present}
    return ItemLines(columns, [record.line for record in records])


def has_fields(body: bytes | bytearray, known: Sequence[str]) -> bool:
    """Whether the first line has these fields and the keys alone, or is no object; both systems among them or not."""
    first = bytes(body).removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    try:
        value = from_json(first)
    except ValueError:
        return True
    return type(value) is not dict or set(value) <= {*known, *KEYS}


def _refuse_whole_request(record: ndjson.Record, needed: Sequence[str]) -> None:
    """A JSON request on one line would be one item of as many samples as it has items."""
    if all(isinstance(record.value[name], list) for name in needed):
        detail = (
            f"Line {record.line:,} is the only one, with a list for {' and '.join(needed)}, which would be one item. If it "
            "is many items, send it as application/json; if it is one, give it an id."
        )
        raise InvalidTest.at(f"/line/{record.line}", "one_item_of_lists", detail)


def _refuse_fields(
    record: ndjson.Record, present: list[str], needed: Sequence[str], known: list[str]
) -> None:
    pointer = f"/line/{record.line}"
    for name in record.value:
        if name not in known:
            detail = f"Line {record.line:,} has the field {quoted(name)}; there are {', '.join(known)}."
            raise InvalidTest.at(f"{pointer}/{name[:40]}", "unknown_field", detail)
        if name not in present:
            detail = f"Line {record.line:,} has the field {name} and the first line does not; all lines need the same fields."
            raise InvalidTest.at(f"{pointer}/{name}", "different_fields", detail)
    for name in (*needed, *present):
        if name not in record.value:
            raise InvalidTest.at(f"{pointer}/{name}", "missing", f"Line {record.line:,} has no field {name}.")
