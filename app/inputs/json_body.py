"""A JSON body becomes Python values: strictly, and without parsing it twice unless it looks wrong.

Refused, each with its own sentence: what is not JSON, what is not UTF-8, lone surrogates, a byte order mark,
nesting deeper than the parser goes, and objects that name a key twice. The parser alone would keep the last of
two equal keys, and half of somebody's data would be gone silently. NaN and Infinity, which other JSON writers
let through, are read here only so that the columns can refuse them by their place.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from ..errors import InvalidTest, MalformedBody
from . import integer_lists
from .quoting import quoted

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a body says. `no_booleans` promises that no true and no false stand in it."""

    value: Any
    no_booleans: bool


def decode(body: bytes | bytearray) -> Decoded:
    """The value that a JSON body says; long lists of integers may already be arrays.

    Raises
    ------
    MalformedBody
        It is not JSON.
    InvalidTest
        An object in it has a key twice.
    """
    if body.startswith(BOM):
        raise MalformedBody("The body starts with a byte order mark; send UTF-8 without one.")
    rest, arrays = integer_lists.cut(body)
    if arrays:
        try:
            return _decoded(rest, arrays)
        except MalformedBody:
            pass  # a list in the middle of a string, or not JSON: the parser says which, and where
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
    if not integer_lists.put_back(value, arrays):
        raise MalformedBody("A list of integers is not where one belongs.")
    return Decoded(value, no_booleans=not may_hold_booleans(body))


def may_hold_booleans(body: bytes | bytearray) -> bool:
    """Whether true or false can stand in a body. Looking for one byte first is ten times quicker."""
    return (b"r" in body and b"true" in body) or (b"f" in body and b"false" in body)


def may_repeat_keys(body: bytes | bytearray, value: Any) -> bool:
    """Whether there are more colons than keys. Exact when False: every key brings a colon of its own."""
    seen = key_count(value)
    if body.count(b":") == seen:
        return False
    # Colons inside labels and ids: a key's colon follows its quote, or white space.
    after_key = sum(body.count(before + b":") for before in (b'"', b" ", b"\t", b"\n", b"\r"))
    return after_key != seen


def key_count(value: Any) -> int:
    """How many keys the objects in a value have, looking only where a valid request has objects.

    Objects inside lists are not looked into: their colons make the slow, exact check decide.
    """
    if type(value) is not dict:
        return 0
    count = len(value)
    for inner in value.values():
        if type(inner) is dict:
            count += key_count(inner) if len(inner) < 64 else len(inner)
    return count


def refuse_repeated_keys(body: bytes | bytearray) -> None:
    """Parse once more, with eyes for nothing but keys.

    Raises
    ------
        InvalidTest: a key stands twice in one object.
    """

    def check(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    raise RepeatedKey(key)
                seen.add(key)
        return members

    try:
        json.loads(body, object_pairs_hook=check)
    except RepeatedKey as repeated:
        raise repeated.flaw() from None


class RepeatedKey(Exception):
    """A key that stands twice in one object."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key

    def flaw(self) -> InvalidTest:
        """The error that names it. Where in the body it stands is not known, only its name."""
        return InvalidTest.at("", "duplicate_key", f"The key {quoted(self.key)} stands twice in one object.")
