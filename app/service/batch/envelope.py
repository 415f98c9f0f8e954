"""A list of requests: kinds, and requests that stay byte for byte what the kind's own endpoint would get.

Nothing is decoded here but the structure, so that a list of 100,000 tests costs no more than its bytes.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ...errors import InvalidTest, MalformedBody, pointer_token
from ...inputs.quoting import quoted
from ..messages import Body, Job, Limits

OfAList = Literal["effects", "scores", "counts", "predictions", "gate", "compare", "power"]
OF_A_LIST: tuple[str, ...] = get_args(OfAList)
JSON = "application/json"
SPACE = " \t\n\r"
MEMBERS = {"kind", "request"}
MOST_MEMBERS = 100  # of an object of which a few are known: more are not even listed
BLANK = re.compile(f"[{SPACE}]*")

_ignore: Callable[[str], int] = len
# Numbers are not converted: integers of any length are skipped, and nothing is computed.
SKIP = json.JSONDecoder(parse_int=_ignore, parse_float=_ignore, parse_constant=_ignore)


@dataclass(frozen=True, slots=True)
class Item:
    """One request: what there is of it besides its body, and its body."""

    head: dict[str, Any]
    content: bytes


def head_of(kind: str, representation: str = "json") -> dict[str, Any]:
    """What there is of a request besides its body."""
    return {"kind": kind, "body": {"media_type": JSON}, "query": [], "representation": representation}


def call_of(head: dict[str, Any], limits: Limits, name: str) -> Job:
    """The call of the pipeline that answers a request of a list; `name` is the instance of its problem."""
    at = time.monotonic()
    return Job(
        kind=head["kind"],
        body=Body(**head["body"]),
        query=tuple((str(key), str(value)) for key, value in head["query"]),
        representation=head["representation"],
        request_id=name,
        received_at=at,
        submitted_at=at,
        limits=limits,
        keeps="listed",
    )


def elements(tests: str | None, most: int, pointer: str) -> list[str]:
    """The elements of a JSON list as written, each byte for byte; None is a member that is missing.

    Raises
    ------
        InvalidTest: it is no list, it is empty, or it has more than `most`.
        MalformedBody: it is not JSON.
    """
    if tests is None or not tests.startswith("["):
        raise InvalidTest.at(
            pointer, "missing", 'A list of tests is {"tests": [{"kind": …, "request": …}, …]}.'
        )
    found = []
    for at, (start, stop) in enumerate(_elements(tests)):
        _require_fewer(at, most, pointer)
        found.append(tests[start:stop])
    _require_some(found, pointer)
    return found


def lines(text: str, most: int) -> list[str]:
    """The lines of a text that are not empty; raises InvalidTest for none, and for more than `most`."""
    found: list[str] = []
    at = _skipped(text, 0)
    while at < len(text):
        _require_fewer(len(found), most, "")
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        found.append(text[at:end])
        at = _skipped(text, end)
    _require_some(found, "")
    return found


def _require_fewer(at: int, most: int, pointer: str) -> None:
    if at >= most:
        raise InvalidTest.at(pointer, "too_many_tests", f"At most {most:,} tests are allowed in one list.")


def _require_some(found: list[str], pointer: str) -> None:
    if not found:
        raise InvalidTest.at(pointer, "empty", "The list has no tests.")


def item_of(text: str, pointer: str = "") -> Item:
    """One element of a list; raises InvalidTest with `pointer` before its own, and MalformedBody."""
    members = members_of(text, pointer)
    return Item(head_of(one_of(members["kind"], OF_A_LIST, f"{pointer}/kind")), members["request"].encode())


def one_of(written: str, kinds: tuple[str, ...], pointer: str) -> str:
    """The kind that a JSON text is; raises InvalidTest."""
    try:
        kind = json.loads(written)
    except ValueError:
        kind = None
    if not isinstance(kind, str) or kind not in kinds:
        raise InvalidTest.at(pointer, "unknown_kind", f"kind is one of {', '.join(kinds)}.")
    return kind


def text_of(body: bytes | bytearray) -> str:
    """A body as text; raises MalformedBody."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise MalformedBody("The body is not UTF-8.") from None


def members_of(
    text: str, pointer: str, names: Collection[str] = MEMBERS, optional: Collection[str] = ()
) -> dict[str, str]:
    """The members of an object that has exactly these, as written; raises InvalidTest, and MalformedBody."""
    members, end = object_of(text, 0, pointer)
    if text[end:].strip(SPACE):
        raise MalformedBody("The body has more than one JSON value.")
    known = {*names, *optional}
    for name in sorted(set(members) - known):
        detail = f"There is no member {quoted(name)} here; there is {' and '.join(sorted(known))}."
        raise InvalidTest.at(f"{pointer}/{pointer_token(name[:40])}", "unknown_field", detail)
    for name in sorted(set(names) - set(members)):
        raise InvalidTest.at(f"{pointer}/{name}", "missing", f"{name} is missing.")
    return members


def object_of(text: str, start: int, pointer: str) -> tuple[dict[str, str], int]:
    """The members of a JSON object as written, and where it ends; raises InvalidTest for a key that comes twice."""
    at = _skipped(text, start)
    if at == len(text):
        raise MalformedBody("The body is not valid JSON: it is empty.")
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
        if len(members) == MOST_MEMBERS:
            detail = f"More than {MOST_MEMBERS} members are too many here: leave out all that the documentation does not name."
            raise InvalidTest.at(pointer, "too_many_members", detail)
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
    """Where something other than space comes next, or the text ends; a megabyte of space takes a millisecond."""
    found = BLANK.match(text, at)
    assert found is not None
    return found.end()
