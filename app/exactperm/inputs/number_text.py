"""Read numbers from text: exact, missing, or refused; rounded only by the option `decimals`.

Integral text becomes an integer, other decimal text the nearest double; true is 1 and false 0, as in JSON. Missing values (null, NaN,
an empty field, NOANSWER) are never zero. The style of numbers (points or decimal commas, percent signs or not) is determined over all
compared columns, so that they are read in the same way; it is guessed only if unambiguous, with a note.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from ..errors import Flaw, InvalidTest, pointer_token
from ..statistics.paired import Column
from . import columns
from .columns import NAMES
from .names import folded, is_key
from .quoting import quoted

if TYPE_CHECKING:
    from .reader import ReaderOptions

# Nonzero numbers whose nearest double is zero, such as 1e-400, are refused everywhere. JSON parsers return 0.0 for them, so the text is
# searched: a negative exponent of 300 or more, or 24 zeros.

CODE = "number_too_small"
DETAIL = (
    "This number is not zero, but smaller than any double: write 0 if that is meant, or scale the data up."
)
MOST_NAMED = 5
_ZEROS = "0" * 24
# Each begins with a literal that is searched for first.
_EXPONENT = r"0*(?:[3-9][0-9]{2}|[1-9][0-9]{3,})(?=[\s,\]}<]|\Z)"
_IN_TEXT: Any = {e: re.compile(e + _EXPONENT) for e in ("e-", "E-")}
_IN_BYTES: Any = {e.encode(): re.compile(known.pattern.encode()) for e, known in _IN_TEXT.items()}
_MANTISSA = re.compile("[eE]")
_TINY = object()


def is_tiny(text: str) -> bool:
    """Whether a text is a nonzero number whose nearest double is zero."""
    try:
        return float(text) == 0.0 and any(digit in "123456789" for digit in _MANTISSA.split(text)[0])
    except ValueError:
        return False


def may_hold(text: Any) -> bool:
    """Whether a text or bytes of JSON or XML may hold such a number; False is certain."""
    known, zeros = (_IN_TEXT, _ZEROS) if isinstance(text, str) else (_IN_BYTES, _ZEROS.encode())
    # A single character is looked for much faster than two.
    return zeros in text or any(
        e[:1] in text and e in text and pattern.search(text) for e, pattern in known.items()
    )


def refusal(pointer: str) -> InvalidTest:
    """The error about such a number."""
    return InvalidTest.at(pointer, CODE, DETAIL)


def refuse_in_json(text: str | bytes | bytearray, pointer: str = "") -> None:
    """Refuse such numbers in a valid JSON text at `pointer`; raises InvalidTest, with pointers to the first few."""
    if not may_hold(text):
        return
    flaws: list[Flaw] = []
    document = json.loads(
        text, parse_float=lambda spelled: _TINY if is_tiny(spelled) else 0.0, parse_int=lambda _: 0
    )
    left: list[tuple[str, Any]] = [(pointer, document)]
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


# Marks of missing values in tables, in lower case: those of pandas (`na_values` of `read_csv`) and of other tools.

MISSING = frozenset((
    "", "na", "n/a", "nan", "-nan", "none", "null", "noanswer", "<na>", "#n/a", "#n/a n/a", "#na", "1.#ind", "-1.#ind",
    "1.#qnan", "-1.#qnan",
))  # fmt: skip


def is_missing(text: str) -> bool:
    """Whether a field means that there is no value."""
    return text.strip().lower() in MISSING


Number = int | float
# A number; several of one item, to be averaged; a row of counts; or None if missing.
Value = Number | tuple[Number, ...] | None
MAX_NUMBER_CHARS = 400
INT64 = 2**63
EXACT_DOUBLE = 2**53
TRUTH: Mapping[str, int] = {"true": 1, "false": 0}
# 1,234 is ambiguous, 1234 or 1.234; 0,125 has no thousands separator.
EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:[,.'’ \u00a0\u202f]\d{3})+(?:[.,]\d+)?")
COMMA = re.compile(r"[+-]?\d{0,30},\d{1,30}(?:[eE][+-]?\d{1,3})?")
PERCENT = re.compile(r"[+-]?(?:\d[\d.,]{0,30}|[.,]\d{1,30}) ?%")
SHEET_ERROR = re.compile(r"#[A-Z0-9/]{2,12}[!?]")
SPREAD = re.compile(r"\d\s*(?:±|\+/-|\\pm\b|\(\d)")
INFINITY = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
NOTHING = frozenset(("-", "--", "---", "–", "—", "?", ".", "*", "nil", "missing", "undefined"))
VERDICTS = frozenset((
    "t", "f", "yes", "no", "y", "n", "pass", "passed", "fail", "failed", "right", "wrong", "correct", "incorrect", "c", "i",
    "win", "loss",
))  # fmt: skip


def parsed(text: str) -> Number | None:
    """Parse a number, or return None; infinities, NaN and numbers too small for a double count as none."""
    if len(text) > MAX_NUMBER_CHARS or not text.isascii() or "_" in text:
        return None
    try:
        if text.lstrip("+-").isdigit():
            return int(text)
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and (value or not is_tiny(text)) else None


def _as_json(fields: list[str]) -> list[Any] | None:
    """Parse all fields at once if they are JSON; the result may include texts."""
    text = ",".join(fields)
    if "u" in text or "l" in text or may_hold(text):  # true, false and null
        return None
    try:
        values: list[Any] = from_json(f"[{text}]", allow_inf_nan=False)
    except ValueError:
        return None
    return values if len(values) == len(fields) > 0 else None


def plain_numbers(fields: list[str]) -> list[Number] | None:
    """The numbers of fields written as in JSON, as `parsed` reads them; None if any field is different."""
    values = _as_json(fields)
    if (
        values is None
        or not set(map(type, values)) <= {int, float}
        or math.inf in values
        or -math.inf in values
    ):
        return None
    integers = [value for value in values if type(value) is int]
    return None if integers and not -INT64 <= min(integers) <= max(integers) < INT64 else values


def plain_column(fields: list[str]) -> Column | None:
    """`plain_numbers` as a column; None also if a column cannot hold them exactly."""
    values = _as_json(fields)
    try:
        return None if values is None else columns.numbers(values, may_hold_booleans=False)
    except InvalidTest:
        return None


def are_data(names: Sequence[str]) -> bool:
    """Whether the first line of a table is data: it has a number and no name of ids, or only true and false."""
    if any(is_key(name) and folded(name).endswith("id") for name in names):
        return False  # years or numbers of systems
    truths = [name.lower() in TRUTH for name in names]
    return all(truths) or any(
        is_numeric(name) for name, truth in zip(names, truths, strict=True) if not truth
    )


def is_numeric(text: str) -> bool:
    """Whether a field is a number in any style that is read or asked about, or true or false."""
    text = text.strip()
    if parsed(text) is not None or text.lower() in TRUTH:
        return True
    return any(pattern.fullmatch(text) for pattern in (COMMA, THOUSANDS, PERCENT, INFINITY))


@dataclass(frozen=True, slots=True)
class NumberReader:
    """A reader of numbers.

    `decimals` rounds as numpy.round does: half to even of the double times a power of ten. With `comma`, 0,5 is a half and a point is
    refused; with `percent`, every number must have a percent sign, which is dropped. `number_reader` finds the style of a table.
    """

    decimals: int | None = None
    comma: bool = False
    percent: bool = False

    def plain(self, number: Any) -> Number | None:
        """Fast path: the value if it is a number that needs no rounding or checking, else None."""
        if self.decimals is not None:
            return None
        if type(number) is int:
            return number if -INT64 <= number < INT64 else None
        return number if type(number) is float and math.isfinite(number) else None

    def plain_text(self, text: str) -> Number | None:
        """`plain` of the number in a text."""
        return None if self.comma or self.percent else self.plain(parsed(text))

    @property
    def changes_nothing(self) -> bool:
        """Whether the reader returns numbers as JSON writes them unchanged."""
        return self.decimals is None and not self.comma and not self.percent

    @classmethod
    def of(cls, options: ReaderOptions) -> NumberReader:
        """The reader for these options."""
        return cls(options.decimals, comma=options.decimal in {",", "comma"})

    def note(self) -> tuple[str, ...]:
        """Notes for the reading about changes of the numbers."""
        rounded = f"Scores were rounded as numpy.round does, decimals: {self.decimals}."
        return () if self.decimals is None else (rounded,)

    def spelled(self, text: str) -> str:
        """Rewrite a number as in JSON: a point for a decimal comma, no percent sign."""
        if self.percent:
            text = text[:-1].rstrip() if text.endswith("%") else ""
        if self.comma:
            text = "" if "." in text else text.replace(",", ".", 1)
        return text

    def of_text(self, text: str, pointer: str) -> Number | None:
        """The number in a field, None if missing; raises InvalidTest if it is not a finite number."""
        stripped = text.strip()
        value = parsed(self.spelled(stripped))
        if value is None:
            if is_missing(stripped):
                return None
            value = TRUTH.get(stripped.lower())
        if value is None and is_tiny(self.spelled(stripped)):
            raise refusal(pointer)
        if value is None:
            # `/files/u/line/3/2` in words
            file, _, line = pointer.rpartition("/line/")
            number, _, field = line.partition("/")
            place = f"line {number}, field {field}: " if field.isdigit() else f"line {number}: "
            place = (
                f"{file.removeprefix('/files/') + ', ' if file else ''}{place}" if number.isdigit() else ""
            )
            why = _why(stripped, comma=self.comma, percent=self.percent)
            detail = f"{place}{quoted(stripped)} is not a finite number.{why and ' '}{why}"
            raise InvalidTest.at(pointer, "not_a_number", detail)
        return self._rounded(value, pointer)

    def of_json(self, value: Any, pointer: str) -> Number | None:
        """The number of a JSON value: true is 1, false 0, null and NaN are missing; raises InvalidTest for other values."""
        if isinstance(value, bool):
            value = int(value)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None
        if isinstance(value, str) and is_missing(value):
            return None
        if not isinstance(value, int | float):
            detail = f"This is {NAMES.get(type(value), 'something else')}; a number is needed here."
            if isinstance(value, str) and parsed(value.strip()) is not None:
                detail += f" Write the number without quotes: {value.strip()[:40]}."
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


# The style of numbers in a table


def number_reader(
    columns: Iterable[Sequence[str]], options: ReaderOptions, label: str, notes: list[str]
) -> NumberReader:
    """The reader of the numbers in these columns of text; adds its interpretation to `notes`."""
    reader = NumberReader.of(options)
    odd: set[str] = set()
    points = False
    for column in columns:
        if not reader.comma and plain_column(list(column)) is not None:
            points = points or any("." in text for text in column)
            continue
        for text in set(map(str.strip, column)):
            if parsed(text) is not None:
                points = points or "." in text
            elif not is_missing(text):
                odd.add(text)
    percents = {text for text in odd if PERCENT.fullmatch(text)}
    bodies = (odd - percents) | {text[:-1].rstrip() for text in percents}
    points = points or any("." in text for text in bodies if any(map(str.isdigit, text)))
    commas = {text for text in bodies if COMMA.fullmatch(text)}
    certain = any(not EITHER.fullmatch(text) for text in commas)
    comma = reader.comma
    # A text that can only be a number with thousands separators.
    thousands = any(THOUSANDS.fullmatch(text) and not EITHER.fullmatch(text) for text in bodies)
    if options.decimal is None and certain and not points and not thousands:
        comma = True
        example = min(text for text in commas if not EITHER.fullmatch(text))
        notes.append(f"{label}: commas were read as decimal points ({example[:40]}).")
    if percents:
        notes.append(f"{label}: percent signs were left out: 85% is 85.")
    if any(text.lower() in TRUTH for text in odd):
        notes.append(f"{label}: true is 1 and false is 0.")
    return replace(reader, comma=comma, percent=bool(percents))


# Hints for texts that are not numbers


def _why(text: str, *, comma: bool, percent: bool) -> str:
    """One or two sentences; `comma` and `percent` are the style of the other numbers."""
    text, whole = text.removesuffix("%").rstrip() if percent else text, text
    if percent and not whole.endswith("%") and any(map(str.isdigit, whole)):
        return "Other scores have a percent sign: write it in all lines, or in none."
    if comma and "." in text:
        return "With decimal commas a point would separate thousands: leave it out."
    if not comma and EITHER.fullmatch(text):
        return (
            "The comma may separate thousands or decimals: leave it out if it separates thousands; else write a point, or give "
            "`decimal=comma`."
        )
    if THOUSANDS.fullmatch(text):
        return "Thousands separators are not read: leave them out."
    if not comma and COMMA.fullmatch(text):
        return "Decimal commas are read with `decimal=comma`, in all numbers; else write 0.5, not 0,5."
    if not percent and PERCENT.fullmatch(text):
        return "Percent signs are not read here: leave them out, in all lines."
    if SPREAD.search(text):
        return "A mean with its deviation is an average, not an item: give the scores of the items, or of the runs, each on its own line."
    if SHEET_ERROR.fullmatch(text):
        return "This is a spreadsheet error: correct the cell, or leave it empty if there is no score."
    folded = text.lower()
    if folded in NOTHING:
        return "If there is no value, leave the field empty, or write NA."
    if folded in VERDICTS:
        return "Write 1 and 0, or true and false."
    if text.startswith("−"):
        return "Write a minus as a hyphen."
    if INFINITY.fullmatch(text):
        return "Infinite scores have no mean."
    return "Labels need another statistic, such as accuracy (`statistic`)." if text.isalpha() else ""
