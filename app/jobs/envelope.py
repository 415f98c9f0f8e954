"""The body of `POST /v1/jobs`: a kind and a request, which stays byte for byte what the kind's own endpoint would get."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ..errors import InvalidTest, MalformedBody

BATCH = "batch"
OfAList = Literal["effects", "scores", "counts", "predictions", "gate", "compare", "power"]
OF_A_LIST: tuple[str, ...] = get_args(OfAList)
# What a job can be. Each is answered as by its own endpoint; a list as one answer a line.
JobKind = Literal["effects", "scores", "counts", "predictions", "gate", "compare", "power", "batch"]
KINDS: tuple[str, ...] = get_args(JobKind)
JSON = "application/json"
SPACE = " \t\n\r"
MEMBERS = {"kind", "request"}

_ignore: Callable[[str], int] = len
# Numbers are not converted: integers of any length are skipped, and nothing is computed.
SKIP = json.JSONDecoder(parse_int=_ignore, parse_float=_ignore, parse_constant=_ignore)


@dataclass(frozen=True, slots=True)
class Item:
    """One request: what there is of it besides its body, and its body."""

    head: dict[str, Any]
    content: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """The kind of a job, and in which representation it is answered."""

    kind: str
    representation: str = "json"
    looks: tuple[tuple[str, str], ...] = ()

    def head(self, kind: str) -> dict[str, Any]:
        """What there is of a request besides its body."""
        head: dict[str, Any] = {
            "kind": kind,
            "body": {"media_type": JSON},
            "query": [],
            "representation": self.representation,
        }
        return {**head, "looks": dict(self.looks)} if self.looks else head

    def only(self, body: bytes | bytearray) -> Item:
        """The one request."""
        members = _members(_text(body), 0, "")
        return Item(self.head(self.kind), members["request"].encode())

    def items(self, body: bytes | bytearray, most: int) -> list[Item]:
        """The requests of a list; raises InvalidTest where it is none, or has more than `most`."""
        request = _members(_text(body), 0, "")["request"]
        tests = object_of(request, 0, "/request")[0].get("tests")
        if tests is None or not tests.startswith("["):
            raise InvalidTest.at(
                "/request/tests", "missing", 'A list of tests is {"tests": [{"kind": …, "request": …}, …]}.'
            )
        items = []
        for at, (start, stop) in enumerate(_elements(tests)):
            if at >= most:
                raise InvalidTest.at(
                    "/request/tests", "too_many_tests", f"At most {most:,} tests are allowed in one job."
                )
            pointer = f"/request/tests/{at}"
            members = _members(tests[start:stop], 0, pointer)
            kind = _kind(members["kind"], OF_A_LIST, f"{pointer}/kind")
            items.append(Item(self.head(kind), members["request"].encode()))
        if not items:
            raise InvalidTest.at("/request/tests", "empty", "The list has no tests.")
        return items


def kind_of(body: bytes | bytearray) -> str:
    """The kind that a body names, of `KINDS`.

    Raises
    ------
        MalformedBody: it is not JSON.
        InvalidTest: it has no kind, or an unknown one.
    """
    return _kind(_members(_text(body), 0, "")["kind"], KINDS, "/kind")


def _kind(written: str, kinds: tuple[str, ...], pointer: str) -> str:
    try:
        kind = json.loads(written)
    except ValueError:
        kind = None
    if not isinstance(kind, str) or kind not in kinds:
        raise InvalidTest.at(pointer, "unknown_kind", f"kind is one of {', '.join(kinds)}.")
    return kind


def _text(body: bytes | bytearray) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise MalformedBody("The body is not UTF-8.") from None


def _members(text: str, start: int, pointer: str) -> dict[str, str]:
    """The members `kind` and `request` of an envelope, as written."""
    members, end = object_of(text, start, pointer)
    if text[end:].strip(SPACE):
        raise MalformedBody("The body has more than one JSON value.")
    for name in sorted(set(members) - MEMBERS):
        detail = f"A job has the members kind and request; {name[:40]!r} is none."
        raise InvalidTest.at(f"{pointer}/{name[:40]}", "unknown_field", detail)
    for name in sorted(MEMBERS - set(members)):
        raise InvalidTest.at(f"{pointer}/{name}", "missing", f"{name} is missing.")
    return members


def object_of(text: str, start: int, pointer: str) -> tuple[dict[str, str], int]:
    """The members of a JSON object as written, and where it ends; raises InvalidTest for a key that comes twice."""
    at = _skipped(text, start)
    if text[at : at + 1] != "{":
        raise InvalidTest.at(pointer, "not_an_object", "A JSON object belongs here.")
    members: dict[str, str] = {}
    at = _skipped(text, at + 1)
    if text[at : at + 1] == "}":
        return members, at + 1
    while True:
        if text[at : at + 1] != '"':
            raise MalformedBody("The body is not valid JSON: a key was expected.")
        key = at
        at = _end(text, key)
        name: str = json.loads(text[key:at])
        at = _skipped(text, at)
        if text[at : at + 1] != ":":
            raise MalformedBody("The body is not valid JSON: a colon was expected.")
        begin = _skipped(text, at + 1)
        end = _end(text, begin)
        if name in members:
            raise InvalidTest.at(
                pointer, "duplicate_key", f"The key {name[:40]!r} occurs twice in one object."
            )
        members[name] = text[begin:end]
        at = _skipped(text, end)
        if text[at : at + 1] == "}":
            return members, at + 1
        if text[at : at + 1] != ",":
            raise MalformedBody("The body is not valid JSON: a comma was expected.")
        at = _skipped(text, at + 1)


def _elements(text: str) -> Any:
    """Where the elements of a JSON array are."""
    at = _skipped(text, 1)
    if text[at : at + 1] == "]":
        return
    while True:
        end = _end(text, at)
        yield at, end
        at = _skipped(text, end)
        if text[at : at + 1] == "]":
            return
        at = _skipped(text, at + 1)


def _end(text: str, start: int) -> int:
    """Where the JSON value ends that begins at `start`."""
    try:
        return int(SKIP.raw_decode(text, start)[1])
    except (ValueError, StopIteration, RecursionError):
        raise MalformedBody("The body is not valid JSON.") from None


def _skipped(text: str, at: int) -> int:
    while at < len(text) and text[at] in SPACE:
        at += 1
    return at
