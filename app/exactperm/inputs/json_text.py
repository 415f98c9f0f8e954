r"""Decode JSON: bodies, strictly and with long lists of integers as arrays, and lines with one object each.

Invalid JSON, invalid UTF-8, lone surrogates, a byte order mark, too deep nesting and duplicate keys, of which a parser would keep the last,
are refused with a message. A body is parsed twice only if it may have duplicate keys. NaN and Infinity, which some JSON writers emit, are
accepted here so that the columns can refuse them with a pointer. Empty lines are skipped. The fields of an item (`{"id": …, "u": …, "v": …,
"cluster": …}`) are the columns of the JSON request, so that a line may hold numbers, lists of samples, named counts or labels; their values
are validated like those of a request.

Long lists of integers become arrays without a Python object for each number: two columns of 1e6 integers (6 MB) take 71 ms, against 106 ms
through the parser. Only certain lists of JSON integers in 64 bits are read this way; all others, even those with an unusual space, are left
to the parser. A list is cut out of the body and replaced by a placeholder, so that the parser still checks the rest. The placeholder cannot
be guessed, and has quotes: in the middle of a string it makes the body invalid, and the caller then parses the whole body. Other code finds
arrays only in the members named by COLUMNS, in named counts, and in these members of the systems of a comparison: if one would be
elsewhere, `put_back` makes the caller parse the body without arrays.
"""

from __future__ import annotations

import json
import re
import secrets
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from ..errors import Flaw, InvalidTest, MalformedBody
from .columns import MAX_COLUMNS
from .number_text import may_hold, refuse_in_json
from .quoting import quoted

# Long lists of integers

MIN_LIST_BYTES = 2_048
DIGITS_AND_SIGNS = b"0123456789,-"
AFTER_KEY = (b":", b" ")
# A list whose first bytes can only be integers.
CANDIDATE = re.compile(rb"\[(?=[-0-9, ]{%d})" % (MIN_LIST_BYTES - 2))
INT64 = np.iinfo(np.int64)
LEAST_OF_TWO_DIGITS = 10
# Members of a request that may be arrays; the validator expects them nowhere else.
COLUMNS = frozenset({"u", "v", "stay", "swap", "gold", "ids", "clusters", "weights"})
SYSTEMS = frozenset({"u", "v"})  # named counts, whose members may also be arrays

Arrays = dict[str, NDArray[np.int64]]

_NONCE = secrets.token_hex(16)


def cut(body: bytes | bytearray) -> tuple[bytes | bytearray, Arrays]:
    """Replace lists of a body by placeholders; return the body and the arrays, shape (n,) each."""
    if len(body) < MIN_LIST_BYTES:
        return body, {}
    pieces: list[bytes] = []
    arrays: Arrays = {}
    kept = 0
    while match := CANDIDATE.search(body, kept):
        start, end = match.start(), body.find(b"]", match.end())
        array = None
        if end >= 0 and body[start - 1 : start] in AFTER_KEY:
            array = integers(bytes(body[start + 1 : end]))
        if array is None:
            break  # the parser reads the rest
        placeholder = f"{_NONCE}{len(arrays)}"
        arrays[placeholder] = array
        pieces += (bytes(body[kept:start]), b'"', placeholder.encode(), b'"')
        kept = end + 1
    return (b"".join((*pieces, body[kept:])) if arrays else body), arrays


def put_back(value: Any, arrays: Arrays) -> bool:
    """Replace the placeholders by their arrays; False if one of them is not where a column belongs."""
    left = len(arrays)
    for part, names in _places(value) if left else ():
        for name in names & part.keys():
            if type(part[name]) is str and part[name] in arrays:
                part[name] = arrays[part[name]]
                left -= 1
        if not left:
            break
    return left == 0


def _places(value: Any) -> Iterator[tuple[dict[str, Any], AbstractSet[str]]]:
    """Yield the objects of a request that may have arrays, with these members: columns, counts by name, and a board's systems."""
    inner = value.get("request") if type(value) is dict else None
    for part in (value, inner):
        if type(part) is not dict:
            continue
        yield part, COLUMNS
        covariates = part.get("covariates")
        of_both = [part.get("labels"), *(covariates.values() if type(covariates) is dict else ())]
        yield from ((system, SYSTEMS) for system in of_both if type(system) is dict)
        # With gold, a list of integers is an item.
        counts = [] if "gold" in part else [part.get(name) for name in SYSTEMS]
        datasets = part.get("datasets")
        for board in (part, *(datasets.values() if type(datasets) is dict else ())):
            if type(board) is not dict:
                continue
            if board is not part:
                yield board, COLUMNS
            systems = board.get("systems")
            if type(systems) is dict:
                yield systems, systems.keys()
                counts += [] if "gold" in board else systems.values()
        yield from ((system, system.keys()) for system in counts if type(system) is dict)


def integers(text: bytes) -> NDArray[np.int64] | None:
    """The integers between the brackets of a list, or None if the text may be another list.

    NumPy's reader accepts texts that JSON does not (`01`, `-`, empty fields) and clamps large numbers. So check the range, and that the
    text is exactly as long as the integers when written.
    """
    if b" " in text:
        text = text.replace(b", ", b",")
    if not text or text.translate(None, DIGITS_AND_SIGNS):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            array = np.fromstring(text, dtype=np.int64, sep=",")
    except (ValueError, DeprecationWarning):
        return None
    if not array.size:
        return None
    low, high = int(np.minimum.reduce(array)), int(np.maximum.reduce(array))
    if low <= INT64.min or high >= INT64.max:
        return None
    signs = int(np.count_nonzero(array < 0)) if low < 0 else 0
    if text.count(b"-") != signs or len(text) != signs + _written_length(array, max(high, -low)):
        return None
    return array


def _written_length(array: NDArray[np.int64], largest: int) -> int:
    """The number of digits and commas of a list of integers with the largest size `largest`.

    The reader takes at least one digit, or a lone sign as 0, for each integer, and one comma between each two. So a text with as many
    signs as negative integers can only be longer: by a leading zero, or by a final comma.
    """
    length = 2 * array.size - 1
    sizes = np.abs(array) if largest >= LEAST_OF_TWO_DIGITS else array
    power = LEAST_OF_TWO_DIGITS
    while power <= largest:
        length += int(np.count_nonzero(sizes >= power))
        power *= 10
    return length


# Bodies

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded body. `no_booleans` means that it contains neither true nor false."""

    value: Any
    no_booleans: bool


def decode(body: bytes | bytearray) -> Decoded:
    """Decode a JSON body; long lists of integers may become arrays. Raises MalformedBody, InvalidTest."""
    if body.startswith(BOM):
        raise MalformedBody("The body starts with a byte order mark; send UTF-8 without one.")
    rest, arrays = cut(body)
    if arrays:
        try:
            return _decoded(rest, arrays)
        except MalformedBody:
            pass  # a list in a string, or invalid JSON: parse the whole body for the report
    return _decoded(body, {})


def text_of(value: Any) -> str:
    """Encode a value as JSON."""
    return json.dumps(value, allow_nan=False)


def _decoded(body: bytes | bytearray, arrays: Arrays) -> Decoded:
    try:
        value = from_json(body, allow_inf_nan=True)
    except ValueError as error:
        raise MalformedBody(f"The body is not valid JSON: {error}.") from None
    if may_repeat_keys(body, value):
        refuse_repeated_keys(body, "", "The body")
    refuse_in_json(body)
    if not put_back(value, arrays):
        raise MalformedBody("A list of integers is in the wrong place.")
    return Decoded(value, no_booleans=not may_hold_booleans(body))


def may_hold_booleans(body: bytes | bytearray) -> bool:
    """Whether a body may contain true or false. Searching for one byte first is ten times faster."""
    return (b"r" in body and b"true" in body) or (b"f" in body and b"false" in body)


def may_repeat_keys(body: bytes | bytearray, value: Any) -> bool:
    """Whether there are more colons than keys. False is certain, since every key has a colon."""
    seen = key_count(value)
    if body.count(b":") == seen:
        return False
    # Ignore colons in labels and ids: a key's colon follows its quote, or white space.
    after_key = sum(body.count(before + b":") for before in (b'"', b" ", b"\t", b"\n", b"\r"))
    return after_key != seen


def key_count(value: Any) -> int:
    """Count the keys of the objects in a value, only where a valid request has objects.

    Objects inside lists are not counted: their colons lead to the slow, exact check.
    """
    if type(value) is not dict:
        return 0
    count = len(value)
    for inner in value.values():
        if type(inner) is dict:
            # The first member of a long object shows its kind: numbers by id, or objects by id or by system.
            deeper = len(inner) < 64 or type(next(iter(inner.values()))) is dict
            count += key_count(inner) if deeper else len(inner)
    return count


def refuse_repeated_keys(text: str | bytes | bytearray, pointer: str, what: str) -> Any:
    """Parse again to check the keys; raises InvalidTest without the position of the key, which is unknown."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            detail = f"{what}: the key {quoted(twice)} occurs twice in one object."
            raise InvalidTest.at(pointer, "duplicate_key", detail)
        return value

    return json.loads(text, object_pairs_hook=members)


# Lines

# Wider objects are parsed one by one, so that an overly wide one is refused before the next.
FIELDS_AT_ONCE = 64
KEYS = {"id": "ids", "cluster": "clusters"}
# Other fields whose name differs from that of the column.
FIELDS = {"weight": "weights", "group": "groups"}
UTF8_BOM = b"\xef\xbb\xbf"


def records(lines: Iterable[str], pointer: str = "") -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield objects with line numbers from one; raises MalformedBody, InvalidTest, pointers are `<pointer>/line/<n>`."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        record_pointer = f"{pointer}/line/{number}"
        value = decoded(line, record_pointer, f"Line {number:,}")
        if not isinstance(value, dict):
            detail = f"Line {number:,} is JSON but not an object."
            raise InvalidTest.at(record_pointer, "not_an_object", detail)
        yield number, value


def decoded(text: str, pointer: str, what: str) -> Any:
    """Decode a JSON text; raises MalformedBody, or InvalidTest if an object has a key twice."""
    try:
        value = json.loads(text)
        refuse_in_json(text, pointer)
        # Every key has one colon: equal numbers save most records a second, slower parse of their keys.
        flat = type(value) is dict and text.count(":") == len(value)
        return value if flat else refuse_repeated_keys(text, pointer, what)
    except json.JSONDecodeError as error:
        detail = f"{what} is not valid JSON: {error.msg} at column {error.colno}."
    except ValueError:
        detail = f"{what} has an integer with too many digits."
    except RecursionError:
        detail = f"{what} is nested too deeply."
    raise MalformedBody(detail, flaws=(Flaw(pointer, "not_json", detail),))


def object_in(text: str) -> dict[str, Any] | None:
    """Decode a text that is a JSON object; None for any other text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def at_once(text: str) -> list[dict[str, Any]] | None:
    """Parse plain lines together; None if a line is not an object or is wide, or if a key may repeat."""
    whole = text.rstrip("\r\n")
    lines, colons = whole.count("\n") + 1, whole.count(":")
    between = whole.count("}\n{") + whole.count("}\r\n{")  # else an object may span lines
    wide = colons > FIELDS_AT_ONCE * lines
    if wide or between != lines - 1 or not whole.startswith("{") or may_hold(whole):
        return None
    try:
        values: list[Any] = from_json("[" + whole.replace("\n", ",") + "]", allow_inf_nan=False)
    except ValueError:
        return None
    if len(values) != lines or set(map(type, values)) != {dict}:
        return None
    sizes = list(map(len, values))
    # Every key has one colon, and there are no other colons.
    if sum(sizes) != colons or max(sizes) > MAX_COLUMNS:
        return None
    return values


# Items


def items(
    body: bytes | bytearray, needed: Sequence[str], optional: Sequence[str] = ()
) -> tuple[dict[str, list[Any]], Sequence[int]]:
    """Read lines with one item each; return the columns by their names in a request, and the line of every item, from one.

    Raises MalformedBody if the text is not UTF-8 or a line is not JSON, and InvalidTest if a line lacks a field, has an unknown one or
    one that other lines lack; pointers are `/line/<n>/<field>`. Also raises InvalidTest if the only line has lists and no id: it may be
    a JSON request.
    """
    try:
        text = bytes(body).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise MalformedBody(f"The body is not UTF-8 (line {line}, at byte {error.start}).") from None
    values = at_once(text)
    lines: Sequence[int] = range(1, len(values or ()) + 1)
    if values is None:
        read = list(records(text.split("\n")))
        values, lines = [value for _, value in read], [line for line, _ in read]
    if not values:
        raise InvalidTest.at("", "no_items", "There is no line to test; give at least one.")
    known = {**{name: FIELDS.get(name, name) for name in (*needed, *optional)}, **KEYS}
    present = [name for name in known if name in values[0]]
    first = dict(zip(map(tuple, reversed(values)), reversed(range(len(values))), strict=True))
    for fields, row in sorted(first.items(), key=lambda item: item[1]):
        line = lines[row]
        for name in fields:  # unknown fields, and fields that other lines lack or have
            if name not in known:
                detail = f"Line {line:,} has the field {quoted(name)}; there are {', '.join(known)}."
                raise InvalidTest.at(f"/line/{line}/{name[:40]}", "unknown_field", detail)
            if name not in present:
                detail = f"Line {line:,} has the field {name} and the first line does not; all lines need the same fields."
                raise InvalidTest.at(f"/line/{line}/{name}", "different_fields", detail)
        for name in (*needed, *present):
            if name not in fields:
                raise InvalidTest.at(f"/line/{line}/{name}", "missing", f"Line {line:,} has no field {name}.")
    if len(values) == 1 and "id" not in present and all(isinstance(values[0][name], list) for name in needed):
        detail = (
            f"Line {lines[0]:,} is the only one, with a list for {' and '.join(needed)}, which would be one item. If it "
            "is many items, send it as application/json; if it is one, give it an id."
        )
        raise InvalidTest.at(f"/line/{lines[0]}", "one_item_of_lists", detail)
    return {known[name]: [value[name] for value in values] for name in present}, lines


def has_fields(body: bytes | bytearray, known: Sequence[str]) -> bool:
    """Whether the first line has only these fields and keys, or is not an object."""
    first = bytes(body).removeprefix(UTF8_BOM).lstrip().partition(b"\n")[0]
    try:
        value = from_json(first)
    except ValueError:
        return True
    return type(value) is not dict or set(value) <= {*known, *KEYS}
