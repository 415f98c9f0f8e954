"""Numbers in files: exact, missing, or refused; rounded only by the option `decimals`.

Integral text is an integer, other decimal text the nearest double, whose shortest form is what was written; true is 1
and false 0, as in JSON. Missing is missing (null, NaN, an empty field, NOANSWER) and never zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from ...errors import InvalidTest
from ..columns import NAMES
from ..missing_texts import is_missing
from ..tiny_numbers import is_tiny, may_hold, refusal
from . import number_faults
from .reader import ReaderOptions

Number = int | float
MAX_NUMBER_CHARS = 400
INT64 = 2**63
EXACT_DOUBLE = 2**53
TRUTH: Mapping[str, int] = {"true": 1, "false": 0}


def parsed(text: str) -> Number | None:
    """The number that a text spells, or None; infinities, NaN and what is too small for a double are not numbers."""
    if len(text) > MAX_NUMBER_CHARS or not text.isascii() or "_" in text:
        return None
    try:
        if text.lstrip("+-").isdigit():
            return int(text)
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and (value or not is_tiny(text)) else None


def plain_numbers(fields: list[str]) -> list[Number] | None:
    """Numbers as JSON writes them, which `parsed` reads alike; None where any field is something else."""
    if not fields or max(map(len, fields)) > MAX_NUMBER_CHARS:
        return None
    text = "[" + ",".join(fields) + "]"
    try:
        values: list[Number] = from_json(text, allow_inf_nan=False)
    except ValueError:
        return None
    if may_hold(text):
        return None
    # As many numbers as fields, and nothing else: then each field is one.
    if len(values) != len(fields) or not set(map(type, values)) <= {int, float}:
        return None
    return None if math.inf in values or -math.inf in values else values


@dataclass(frozen=True, slots=True)
class NumberReader:
    """Reads numbers; with `decimals` rounded as numpy.round does: half to even of the double times a power of ten.

    With `comma` 0,5 is a half and a point is refused; with `percent` every number has a percent sign, which is left out.
    `number_style` finds out how a table writes its numbers.
    """

    decimals: int | None = None
    comma: bool = False
    percent: bool = False

    def plain(self, number: Any) -> Number | None:
        """The value if it is a number that needs no rounding or checking, else None: a fast path for the usual case."""
        if self.decimals is not None:
            return None
        if type(number) is int:
            return number if -INT64 <= number < INT64 else None
        return number if type(number) is float and math.isfinite(number) else None

    def plain_text(self, text: str) -> Number | None:
        """`plain` of the number that a text spells."""
        return None if self.comma or self.percent else self.plain(parsed(text))

    def plain_column(self, numbers: list[Number]) -> list[Number | None] | None:
        """The numbers where `plain` takes them all, else None."""
        if self.decimals is not None or self.comma or self.percent:
            return None
        kinds = set(map(type, numbers))
        if kinds == {float}:
            return list(numbers)
        integers = numbers if float not in kinds else [number for number in numbers if type(number) is int]
        return list(numbers) if not integers or -INT64 <= min(integers) <= max(integers) < INT64 else None

    @classmethod
    def of(cls, options: ReaderOptions) -> NumberReader:
        """The reader for these options."""
        return cls(options.decimals, comma=options.decimal in {",", "comma"})

    def note(self) -> tuple[str, ...]:
        """What was done to the numbers, for the notes of the reading."""
        if self.decimals is not None:
            return (f"Scores were rounded as numpy.round does, decimals: {self.decimals}.",)
        return ()

    def spelled(self, text: str) -> str:
        """A number as JSON writes it, where this reader knows how: a point for a comma, no percent sign."""
        if self.percent:
            text = text[:-1].rstrip() if text.endswith("%") else ""
        if self.comma:
            text = "" if "." in text else text.replace(",", ".", 1)
        return text

    def of_text(self, text: str, pointer: str) -> Number | None:
        """The number in a field; None when it is missing.

        Raises
        ------
        InvalidTest
            It is not a finite number.
        """
        stripped = text.strip()
        value = parsed(self.spelled(stripped))
        if value is None:
            if is_missing(stripped):
                return None
            value = TRUTH.get(stripped.lower())
        if value is None and is_tiny(self.spelled(stripped)):
            raise refusal(pointer)
        if value is None:
            detail = number_faults.sentence(stripped, pointer, comma=self.comma, percent=self.percent)
            raise InvalidTest.at(pointer, "not_a_number", detail)
        return self._rounded(value, pointer)

    def of_json(self, value: Any, pointer: str) -> Number | None:
        """The number that a JSON value is: true is 1, false 0, null and NaN are missing.

        Raises
        ------
        InvalidTest
            It is something else, or not finite.
        """
        if isinstance(value, bool):
            value = int(value)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None
        if isinstance(value, str) and is_missing(value):
            return None
        if not isinstance(value, int | float):
            detail = f"This is {NAMES.get(type(value), 'something else')}; a number is needed here."
            raise InvalidTest.at(pointer, "not_a_number", detail)
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidTest.at(pointer, "not_finite", "This number is not finite.")
        return self._rounded(value, pointer)

    def _rounded(self, value: Number, pointer: str) -> Number:
        if self.decimals is not None and isinstance(value, float):
            scaled = value * 10**self.decimals
            if abs(scaled) < EXACT_DOUBLE:  # larger numbers have no decimals
                value = round(scaled) / 10**self.decimals
        if isinstance(value, int) and not -INT64 <= value < INT64:
            raise InvalidTest.at(pointer, "integer_too_large", "This integer does not fit into 64 bits.")
        return value
