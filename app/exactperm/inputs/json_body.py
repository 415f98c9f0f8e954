"""Decode a JSON body strictly, and parse it twice only if it may have duplicate keys.

Refused with a message for each: invalid JSON, invalid UTF-8, lone surrogates, a byte order mark, too deep nesting, and
objects with duplicate keys. The parser alone would keep the last of two equal keys and silently lose data. NaN and
Infinity, which some JSON writers emit, are read here only so that the columns can refuse them with a pointer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from ..errors import InvalidTest, MalformedBody
from . import integer_lists, tiny_numbers
from .quoting import quoted

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded body. `no_booleans` means that it contains neither true nor false."""

    value: Any
    no_booleans: bool


def decode(body: bytes | bytearray) -> Decoded:
    """The value of a JSON body; long lists of integers may already be arrays.

    Raises MalformedBody: It is not JSON; InvalidTest: An object in it has a duplicate key, or a number is too small for a
    double.
    """
    if body.startswith(BOM):
        raise MalformedBody("The body starts with a byte order mark; send UTF-8 without one.")
    rest, arrays = integer_lists.cut(body)
    if arrays:
        try:
            return _decoded(rest, arrays)
        except MalformedBody:
            pass  # a list in the middle of a string, or invalid JSON: parse it whole to report it
    return _decoded(body, {})


def text_of(value: Any) -> str:
    """A value as JSON."""
    return json.dumps(value, allow_nan=False)


def _decoded(body: bytes | bytearray, arrays: integer_lists.Arrays) -> Decoded:
    try:
        value = from_json(body, allow_inf_nan=True)
    except ValueError as error:
        raise MalformedBody(f"The body is not valid JSON: {error}.") from None
    if may_repeat_keys(body, value):
        refuse_repeated_keys(body)
    tiny_numbers.refuse_in_json(body)
    if not integer_lists.put_back(value, arrays):
        raise MalformedBody("A list of integers is not where one belongs.")
    return Decoded(value, no_booleans=not may_hold_booleans(body))


def may_hold_booleans(body: bytes | bytearray) -> bool:
    """Whether a body may contain true or false. Searching for one byte first is ten times faster."""
    return (b"r" in body and b"true" in body) or (b"f" in body and b"false" in body)


def may_repeat_keys(body: bytes | bytearray, value: Any) -> bool:
    """Whether there are more colons than keys. False is certain: every key has a colon of its own."""
    seen = key_count(value)
    if body.count(b":") == seen:
        return False
    # Colons inside labels and ids: a key's colon follows its quote, or white space.
    after_key = sum(body.count(before + b":") for before in (b'"', b" ", b"\t", b"\n", b"\r"))
    return after_key != seen


def key_count(value: Any) -> int:
    """How many keys the objects in a value have, looking only where a valid request has objects.

    Objects inside lists are not counted: their colons lead to the slow, exact check.
    """
    if type(value) is not dict:
        return 0
    count = len(value)
    for inner in value.values():
        if type(inner) is dict:
            # Of a long object the first member tells: numbers by id, or objects by id or by system.
            deeper = len(inner) < 64 or type(next(iter(inner.values()))) is dict
            count += key_count(inner) if deeper else len(inner)
    return count


def refuse_repeated_keys(body: bytes | bytearray) -> None:
    """Parse once more, only to check the keys; raises InvalidTest, without the key's position in the body, which is not known."""

    def check(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        seen: set[str] = set()
        for key, _ in pairs if len(members) != len(pairs) else ():
            if key in seen:
                raise InvalidTest.at(
                    "", "duplicate_key", f"The key {quoted(key)} occurs twice in one object."
                )
            seen.add(key)
        return members

    json.loads(body, object_pairs_hook=check)
