"""Lines of JSON: one object a line, empty lines skipped, numbers exact.

Lines of items have the columns of a JSON request as fields (`{"id": …, "u": …, "v": …, "cluster": …}`): numbers, lists of samples,
named counts or labels, which are validated like those of a request.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from ..errors import Flaw, InvalidTest, MalformedBody
from . import tiny_numbers
from .delimited import text_of
from .quoting import quoted

# Fields with another name than the column.
KEYS = {"id": "ids", "cluster": "clusters"}
FIELDS = {"weight": "weights", "group": "groups"}


@dataclass(frozen=True, slots=True)
class Record:
    """An object and its line, counted from one."""

    line: int
    value: dict[str, Any]


def records(lines: Iterable[str], pointer: str = "") -> Iterator[Record]:
    """The objects, in order. Pointers are `<pointer>/line/<n>`.

    Raises MalformedBody: A line is not JSON; InvalidTest: A line is not an object, or has a key twice.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        record_pointer = f"{pointer}/line/{number}"
        value = decoded(line, record_pointer, f"Line {number:,}")
        if not isinstance(value, dict):
            raise InvalidTest.at(
                record_pointer, "not_an_object", f"Line {number:,} is JSON but not an object."
            )
        yield Record(number, value)


def decoded(text: str, pointer: str, what: str) -> Any:
    """The value of a JSON text; raises MalformedBody, or InvalidTest if an object has a key twice."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            detail = f"{what} has the key {quoted(twice)} twice in one object."
            raise InvalidTest.at(pointer, "duplicate_key", detail)
        return value

    try:
        value = json.loads(text)
        tiny_numbers.refuse_in_json(text, pointer)
        # Every key has a colon of its own, so that most records need no second, slower parse of their keys.
        flat = type(value) is dict and text.count(":") == len(value)
        return value if flat else json.loads(text, object_pairs_hook=members)
    except json.JSONDecodeError as error:
        detail = f"{what} is not valid JSON: {error.msg} at column {error.colno}."
    except ValueError:
        detail = f"{what} has an integer with too many digits."
    except RecursionError:
        detail = f"{what} is nested too deeply."
    raise MalformedBody(detail, flaws=(Flaw(pointer, "not_json", detail),))


def items(
    body: bytes | bytearray, needed: Sequence[str], optional: Sequence[str] = ()
) -> tuple[dict[str, list[Any]], list[int]]:
    """The columns of lines with one item each, by the names a request has for them, and the line of every item, from one.

    Raises MalformedBody: It is not UTF-8, or a line is not JSON; InvalidTest: A line lacks a field, or has one that is
    unknown or that other lines lack; pointers are `/line/<n>/<field>`. Or the only line has lists and no id: it may be a
    whole JSON request.
    """
    found = list(records(text_of(body).split("\n")))
    if not found:
        raise InvalidTest.at("", "no_items", "There is no line to test; give at least one.")
    known = {**{name: FIELDS.get(name, name) for name in (*needed, *optional)}, **KEYS}
    present = [name for name in known if name in found[0].value]
    for record in found:
        _refuse_fields(record, present, needed, list(known))
    if len(found) == 1 and "id" not in present:
        _refuse_whole_request(found[0], needed)
    columns = {known[name]: [record.value[name] for record in found] for name in present}
    return columns, [record.line for record in found]


def has_fields(body: bytes | bytearray, known: Sequence[str]) -> bool:
    """Whether the first line has these fields and the keys alone, or is no object; both systems among them or not."""
    first = bytes(body).removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    try:
        value = from_json(first)
    except ValueError:
        return True
    return type(value) is not dict or set(value) <= {*known, *KEYS}


def _refuse_whole_request(record: Record, needed: Sequence[str]) -> None:
    """A JSON request on one line would be one item of as many samples as it has items."""
    if all(isinstance(record.value[name], list) for name in needed):
        detail = (
            f"Line {record.line:,} is the only one, with a list for {' and '.join(needed)}, which would be one item. If it "
            "is many items, send it as application/json; if it is one, give it an id."
        )
        raise InvalidTest.at(f"/line/{record.line}", "one_item_of_lists", detail)


def _refuse_fields(record: Record, present: list[str], needed: Sequence[str], known: list[str]) -> None:
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
