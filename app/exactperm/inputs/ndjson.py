"""Lines of JSON: one object a line, empty lines skipped, numbers exact; and bodies of lines with one item each.

The fields of an item (`{"id": …, "u": …, "v": …, "cluster": …}`) are the columns of the JSON request, so that a line may hold
numbers, lists of samples, named counts or labels; their values are validated like those of a request.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from ..errors import Flaw, InvalidTest, MalformedBody
from . import tiny_numbers
from .delimited import MAX_COLUMNS
from .quoting import quoted

# Wider objects are parsed one by one, so that one that is too wide is refused before the next.
FIELDS_AT_ONCE = 64
KEYS = {"id": "ids", "cluster": "clusters"}
# Other fields with another name than the column.
FIELDS = {"weight": "weights", "group": "groups"}
UTF8_BOM = b"\xef\xbb\xbf"


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


def at_once(text: str) -> list[dict[str, Any]] | None:
    """The objects of plain lines, parsed together; None where a line is no object, is wide, or a key may be there twice."""
    whole = text.rstrip("\r\n")
    lines, colons = whole.count("\n") + 1, whole.count(":")
    between = whole.count("}\n{") + whole.count("}\r\n{")  # else an object may end on a line below
    wide = colons > FIELDS_AT_ONCE * lines
    if wide or between != lines - 1 or not whole.startswith("{") or tiny_numbers.may_hold(whole):
        return None
    try:
        values: list[Any] = from_json("[" + whole.replace("\n", ",") + "]", allow_inf_nan=False)
    except ValueError:
        return None
    if len(values) != lines or set(map(type, values)) != {dict}:
        return None
    sizes = list(map(len, values))
    # Every key has a colon of its own, and nothing else has one.
    if sum(sizes) != colons or max(sizes) > MAX_COLUMNS:
        return None
    return values


# Items


def items(
    body: bytes | bytearray, needed: Sequence[str], optional: Sequence[str] = ()
) -> tuple[dict[str, list[Any]], Sequence[int]]:
    """The columns of lines with one item each, by the names a request has for them, and the line of every item, from one.

    Raises MalformedBody: It is not UTF-8, or a line is not JSON; InvalidTest: A line lacks a field, or has one that is
    unknown or that other lines lack; pointers are `/line/<n>/<field>`. Or the only line has lists and no id: it may be a
    whole JSON request.
    """
    try:
        text = bytes(body).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise MalformedBody(f"The body is not UTF-8 (line {line}, at byte {error.start}).") from None
    values = at_once(text)
    lines: Sequence[int] = range(1, len(values or ()) + 1)
    if values is None:
        found = list(records(text.split("\n")))
        values, lines = [record.value for record in found], [record.line for record in found]
    if not values:
        raise InvalidTest.at("", "no_items", "There is no line to test; give at least one.")
    known = {**{name: FIELDS.get(name, name) for name in (*needed, *optional)}, **KEYS}
    present = [name for name in known if name in values[0]]
    first = dict(zip(map(tuple, reversed(values)), reversed(range(len(values))), strict=True))
    for fields, row in sorted(first.items(), key=lambda item: item[1]):
        _refuse_fields(fields, lines[row], present, needed, known)
    if len(values) == 1 and "id" not in present and all(isinstance(values[0][name], list) for name in needed):
        detail = (
            f"Line {lines[0]:,} is the only one, with a list for {' and '.join(needed)}, which would be one item. If it "
            "is many items, send it as application/json; if it is one, give it an id."
        )
        raise InvalidTest.at(f"/line/{lines[0]}", "one_item_of_lists", detail)
    return {known[name]: [value[name] for value in values] for name in present}, lines


def has_fields(body: bytes | bytearray, known: Sequence[str]) -> bool:
    """Whether the first line has these fields and the keys alone, or is no object; both systems among them or not."""
    first = bytes(body).removeprefix(UTF8_BOM).lstrip().partition(b"\n")[0]
    try:
        value = from_json(first)
    except ValueError:
        return True
    return type(value) is not dict or set(value) <= {*known, *KEYS}


def _refuse_fields(
    fields: Sequence[str], line: int, present: Sequence[str], needed: Sequence[str], known: Mapping[str, str]
) -> None:
    """Refuse fields of a line that are unknown, or that other lines lack or have."""
    for name in fields:
        if name not in known:
            detail = f"Line {line:,} has the field {quoted(name)}; there are {', '.join(known)}."
            raise InvalidTest.at(f"/line/{line}/{name[:40]}", "unknown_field", detail)
        if name not in present:
            detail = f"Line {line:,} has the field {name} and the first line does not; all lines need the same fields."
            raise InvalidTest.at(f"/line/{line}/{name}", "different_fields", detail)
    for name in (*needed, *present):
        if name not in fields:
            raise InvalidTest.at(f"/line/{line}/{name}", "missing", f"Line {line:,} has no field {name}.")
