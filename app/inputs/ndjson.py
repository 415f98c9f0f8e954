"""Lines of JSON: one object a line, empty lines skipped, numbers exact."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import Flaw, InvalidTest, MalformedBody
from . import tiny_numbers
from .quoting import quoted


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
