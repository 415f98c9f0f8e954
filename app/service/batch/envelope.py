"""A list of requests: kinds, and requests that stay byte for byte what the kind's own endpoint would get.

Nothing is decoded here but the structure, so that a list of 100,000 tests costs no more than its bytes.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Collection, Sequence
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


def elements(tests: str, most: int, pointer: str) -> list[str]:
    """The elements of a JSON list as written, each byte for byte.

    Raises InvalidTest: it is no list, it is empty, or it has more than `most`; MalformedBody: it is not JSON.
    """
    if not tests.startswith("["):
        detail = 'A list of tests is {"tests": [{"kind": …, "request": …}, …]}.'
        raise InvalidTest.at(pointer, "missing", detail)
    found = [value for _, value in _inside(tests, 0, most, _too_many(most, pointer))[0]]
    _require_some(found, pointer)
    return found


def lines(text: str, most: int) -> list[str]:
    """The lines of a text that are not empty; raises InvalidTest for none, and for more than `most`."""
    found: list[str] = []
    at = _skipped(text, 0)
    while at < len(text):
        if len(found) == most:
            raise _too_many(most, "")
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        found.append(text[at:end])
        at = _skipped(text, end)
    _require_some(found, "")
    return found


def _too_many(most: int, pointer: str) -> InvalidTest:
    return InvalidTest.at(pointer, "too_many_tests", f"At most {most:,} tests are allowed in one list.")


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
    start = _skipped(text, 0)
    if start == len(text):
        raise MalformedBody("The body is not valid JSON: it is empty.")
    if text[start] != "{":
        raise InvalidTest.at(pointer, "not_an_object", "A JSON object belongs here.")
    detail = f"More than {MOST_MEMBERS} members are too many here: leave out all that the documentation does not name."
    excess = InvalidTest.at(pointer, "too_many_members", detail)
    pairs, end = _inside(text, start, MOST_MEMBERS, excess)
    members: dict[str, str] = {}
    for name, value in pairs:
        if name in members:
            detail = f"The key {name[:40]!r} occurs twice in one object."
            raise InvalidTest.at(pointer, "duplicate_key", detail)
        members[name] = value
    if text[end:].strip(SPACE):
        raise MalformedBody("The body has more than one JSON value.")
    known = {*names, *optional}
    for name in sorted(set(members) - known):
        detail = f"There is no member {quoted(name)} here; there is {' and '.join(sorted(known))}."
        raise InvalidTest.at(f"{pointer}/{pointer_token(name[:40])}", "unknown_field", detail)
    for name in sorted(set(names) - set(members)):
        raise InvalidTest.at(f"{pointer}/{name}", "missing", f"{name} is missing.")
    return members


def _inside(text: str, start: int, most: int, excess: InvalidTest) -> tuple[list[tuple[str, str]], int]:
    """Keys ("" in a list) and values as written of the object or list that begins at `start`, and where it ends.

    Raises MalformedBody, and `excess` for more than `most`.
    """
    closing = "}" if text[start] == "{" else "]"
    found: list[tuple[str, str]] = []
    at = _skipped(text, start + 1)
    if text[at : at + 1] == closing:
        return found, at + 1
    while True:
        name = ""
        if closing == "}":
            if text[at : at + 1] != '"':
                raise MalformedBody("The body is not valid JSON: a key was expected.")
            end = _end(text, at)
            name, at = json.loads(text[at:end]), _skipped(text, end)
            if text[at : at + 1] != ":":
                raise MalformedBody("The body is not valid JSON: a colon was expected.")
            at = _skipped(text, at + 1)
        end = _end(text, at)
        if len(found) == most:
            raise excess
        found.append((name, text[at:end]))
        at = _skipped(text, end)
        if text[at : at + 1] == closing:
            return found, at + 1
        if text[at : at + 1] != ",":
            raise MalformedBody("The body is not valid JSON: a comma was expected.")
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


def chunk_count(seconds: float, chunk_seconds: float, most: int) -> int:
    """How many chunks work of so many predicted seconds becomes: at least 1, at most `most`."""
    wanted = seconds / chunk_seconds
    return max(1, min(most, math.ceil(wanted) if math.isfinite(wanted) else most))


def runs_of(costs: Sequence[float], chunk_seconds: float, most: int) -> list[int]:
    """The lengths of consecutive runs of about the same predicted seconds, at most `most`; they add up to all.

    A test that is longer than a chunk by itself is a run of its own end: nothing follows it in its chunk.
    """
    if not costs:
        return []
    share = max(chunk_seconds, sum(costs) / most)
    lengths: list[int] = []
    length, filled = 0, 0.0
    for cost in costs:
        if length and filled + cost > share and len(lengths) < most - 1:
            lengths.append(length)
            length, filled = 0, 0.0
        length += 1
        filled += cost
    return [*lengths, length]
