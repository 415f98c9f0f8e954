"""Numbers that are not zero and that the nearest double is: 1e-400. Wherever numbers are read they are refused.

Parsers of JSON give 0.0 for them, so that the text is searched: a negative exponent of three digits, or two hundred zeros.
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
_ZEROS = b"0" * 200
# Each begins with what is searched for as bytes, at their speed.
_EXPONENTS = {e: re.compile(e + rb"0*[1-9][0-9]{2,}(?=[\s,\]}<]|\Z)") for e in (b"e-", b"E-")}
_MANTISSA = re.compile("[eE]")


def is_tiny(text: str) -> bool:
    """Whether a text spells a number that is not zero, though its nearest double is."""
    try:
        return float(text) == 0.0 and any(digit in "123456789" for digit in _MANTISSA.split(text)[0])
    except ValueError:
        return False


def may_hold(text: str | bytes | bytearray) -> bool:
    """Whether there may be such a number in a text of JSON or XML; False is certain."""
    content = text.encode(errors="replace") if isinstance(text, str) else text
    return _ZEROS in content or any(e in content and known.search(content) for e, known in _EXPONENTS.items())


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
