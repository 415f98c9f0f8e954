r"""Long lists of integers in a JSON body, read without making a Python object of every number.

Kept because it was measured to matter: two columns of 1e6 integers (6 MB) become arrays in 71 ms, and in 106 ms
without this module. The command prints the latter; it prints the former without the last line of `setup`:

    setup="from exactperm.inputs import columns, integer_lists, json_body
    column = b'[' + b', '.join([b'0', b'1'] * 500_000) + b']'
    body = b'{\"u\": ' + column + b', \"v\": ' + column + b'}'
    integer_lists.MIN_LIST_BYTES = 10**9"
    python -m timeit -s "$setup" "[c if type(c) is not list else columns.numbers(c, may_hold_booleans=False)
    for c in json_body.decode(body).value.values()]"

Only what certainly is a list of JSON integers in 64 bits is taken; anything else, down to a space in an unusual position,
is left to the parser. A list is cut out of the body and replaced by a placeholder, so that the parser still checks all the
rest. The placeholder cannot be guessed, and it is in quotes: in the middle of a string, where a list is not a list, it makes
the body invalid, and the caller then parses the whole body.

Code behind this module meets arrays only in the members named by COLUMNS, in those of named counts, and in the same of the
systems of a comparison. `put_back` makes the caller parse the body without arrays if one would be anywhere else.
"""

from __future__ import annotations

import re
import secrets
import warnings
from collections.abc import Iterator, Set as AbstractSet
from typing import Any

import numpy as np
from numpy.typing import NDArray

MIN_LIST_BYTES = 2_048
DIGITS_AND_SIGNS = b"0123456789,-"
AFTER_KEY = (b":", b" ")
# A list whose first bytes cannot be anything but integers.
CANDIDATE = re.compile(rb"\[(?=[-0-9, ]{%d})" % (MIN_LIST_BYTES - 2))
INT64 = np.iinfo(np.int64)
LEAST_OF_TWO_DIGITS = 10
# Members of a request that may be arrays; the validator does not expect them anywhere else.
COLUMNS = frozenset({"u", "v", "stay", "swap", "gold", "ids", "clusters", "weights"})
SYSTEMS = frozenset({"u", "v"})  # their members may be arrays, too: named counts

Arrays = dict[str, NDArray[np.int64]]

_NONCE = secrets.token_hex(16)


def cut(body: bytes | bytearray) -> tuple[bytes | bytearray, Arrays]:
    """The body with placeholders, and the arrays they stand for; shape (n,) each."""
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
    """The objects of a request that may have arrays, and in which members: its columns, counts by name, and a board's systems."""
    inner = value.get("request") if type(value) is dict else None
    for part in (value, inner):
        if type(part) is not dict:
            continue
        yield part, COLUMNS
        # Beside gold a list of integers is an item.
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
    """The integers between the brackets of a list, or None when this is not certainly one.

    NumPy's reader takes things that JSON does not (`01`, `-`, empty fields) and clamps what is too large. So the range is
    checked, and that the text is exactly as long as the integers are when they are written.
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
    """How many digits and commas a list of integers has, whose largest size is `largest`.

    The reader takes at least one digit, or a lone sign as 0, for each integer, and one comma between each two. So with as
    many signs as there are negative integers, a text can only be longer than this: by a leading zero, or by a comma at its end.
    """
    length = 2 * array.size - 1
    sizes = np.abs(array) if largest >= LEAST_OF_TWO_DIGITS else array
    power = LEAST_OF_TWO_DIGITS
    while power <= largest:
        length += int(np.count_nonzero(sizes >= power))
        power *= 10
    return length
