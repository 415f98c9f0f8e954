"""Numbers that are not zero and that the nearest double is: 1e-400. Wherever numbers are read they are refused.

Parsers of JSON give 0.0 for them, so that the text is searched: a negative exponent of 300 or more, or 24 zeros.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ..errors import Flaw, InvalidTest, pointer_token

CODE = "number_too_small"
DETAIL = (
    "This number is not zero, but smaller than any double: write 0 if that is meant, or scale the data up."
)
MOST_NAMED = 5
_ZEROS = "0" * 24
# Each begins with what is searched for first, as it is.
_EXPONENT = r"0*(?:[3-9][0-9]{2}|[1-9][0-9]{3,})(?=[\s,\]}<]|\Z)"
_IN_TEXT = {e: re.compile(e + _EXPONENT) for e in ("e-", "E-")}
_IN_BYTES = {e.encode(): re.compile(known.pattern.encode()) for e, known in _IN_TEXT.items()}
_MANTISSA = re.compile("[eE]")


def is_tiny(text: str) -> bool:
    """Whether a text spells a number that is not zero, though its nearest double is."""
    try:
        return float(text) == 0.0 and any(digit in "123456789" for digit in _MANTISSA.split(text)[0])
    except ValueError:
        return False


def may_hold(text: str | bytes | bytearray) -> bool:
    """Whether there may be such a number in a text of JSON or XML; False is certain."""
    if isinstance(text, str):
        return _ZEROS in text or any(e in text and known.search(text) for e, known in _IN_TEXT.items())
    return _ZEROS.encode() in text or any(e in text and known.search(text) for e, known in _IN_BYTES.items())


def refusal(pointer: str) -> InvalidTest:
    """The error about one."""
    return InvalidTest.at(pointer, CODE, DETAIL)


def refuse_in_json(text: str | bytes | bytearray, pointer: str = "") -> None:
    """Refuse such numbers in a valid JSON text at `pointer`; raises InvalidTest, with pointers to the first few."""
    if not may_hold(text):
        return
    flaws: list[Flaw] = []
    left: list[tuple[str, Any]] = [(pointer, json.loads(text, parse_float=_read, parse_int=_whole))]
    while left and len(flaws) < MOST_NAMED:
        at, value = left.pop()
        if value is _TINY:
            flaws.append(Flaw(at, CODE, DETAIL))
        elif type(value) is dict:
            left += [(f"{at}/{pointer_token(key)}", one) for key, one in reversed(value.items())]
        elif type(value) is list:
            left += [(f"{at}/{index}", one) for index, one in reversed([*enumerate(value)])]
    if flaws:
        raise InvalidTest(DETAIL, flaws=tuple(flaws))


_TINY = object()


def _read(text: str) -> object:
    return _TINY if is_tiny(text) else 0.0


def _whole(_: str) -> int:
    return 0
