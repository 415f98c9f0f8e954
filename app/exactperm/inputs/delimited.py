"""Read delimited text: guess its separator, split plain tables at C speed, and iterate over the rows of any other.

The fast path takes two columns of numbers without a header, and tables with the header `u,v` and optionally `id`, `cluster` and
`weight`, in any order; `frame` reads all others, as it reads files.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from ..statistics.paired import Column
from .columns import MAX_COLUMNS
from .json_text import integers
from .number_text import COMMA, parsed, plain_column

Delimiter = Literal[",", "\t"]

# The counts of rycolab/paired-perm-test, in the order of their columns.
HEADERLESS_COUNTS = ("tp_u", "incorrect_u", "tp_v", "incorrect_v")
HEADER = {"id": "ids", "u": "u", "v": "v", "cluster": "clusters", "weight": "weights"}
NEWLINE = ord("\n")
GUESSED_DELIMITERS = ("\t", ",", "|", ";", " ")
# Excel's: sep=; on the first line.
SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
QUOTED = re.compile(r'"[^"]*"')  # two quotes inside end one and begin another
LOOKED_AT = 20


def plain_table(body: bytes | bytearray, delimiter: Delimiter) -> dict[str, Any] | None:
    """Split the usual body into columns at C speed: no quotes, no empty lines, JSON-like numbers, equally many fields on every line; None for others."""
    flat = _flat(body)
    first, _, rest = flat.partition(b"\n")
    fields_of_first = first.decode("ascii", "replace").split(delimiter, len(HEADER))
    names = [name.strip().lower() for name in fields_of_first]
    if "u" not in names or "v" not in names:
        names, rest = ["u", "v"], flat
    usual = len(set(names)) == len(names) and set(names) <= set(HEADER)
    if not rest or not usual or not is_grid(rest, names, delimiter):
        return None
    whole = _whole_columns(rest, delimiter, 2) if names == ["u", "v"] else None
    if whole is not None:
        return dict(zip("uv", whole, strict=True))
    try:
        fields = rest.decode().replace("\n", delimiter).split(delimiter)
    except UnicodeDecodeError:
        return None
    columns: dict[str, Any] = {HEADER[name]: fields[index :: len(names)] for index, name in enumerate(names)}
    columns |= {name: plain_column(columns[name]) for name in "uv"}
    return None if columns["u"] is None or columns["v"] is None else columns  # the slow reader names the line


def plain_counts(body: bytes | bytearray, delimiter: Delimiter) -> dict[str, Any] | None:
    """Read four columns of integers without a header at C speed; None for any other text."""
    flat = _flat(body)
    whole = None
    if is_grid(flat, list(HEADERLESS_COUNTS), delimiter):
        whole = _whole_columns(flat, delimiter, len(HEADERLESS_COUNTS))
    return None if whole is None else counts_of(whole)


def _flat(body: bytes | bytearray) -> bytes:
    return bytes(body).rstrip(b"\r\n").replace(b"\r\n", b"\n")


def _whole_columns(flat: bytes, delimiter: Delimiter, width: int) -> list[Column] | None:
    whole = integers(flat.translate(bytes.maketrans(b"\n" + delimiter.encode(), b",,")))
    return None if whole is None else [np.ascontiguousarray(whole[at::width]) for at in range(width)]


def counts_of(columns: Sequence[Column]) -> dict[str, Any]:
    """The counts of both systems by name, from columns without names."""
    counts = iter(columns)
    return {role: {"tp": next(counts), "incorrect": next(counts)} for role in "uv"}


def is_grid(text: bytes, names: list[str], delimiter: str) -> bool:
    """Whether every line has one field per name: exactly every k-th separator must be a line end."""
    if b'"' in text or b"\r" in text or b"\0" in text:
        return False
    characters = np.frombuffer(text, dtype=np.uint8)
    ends = characters[(characters == ord(delimiter)) | (characters == NEWLINE)] == NEWLINE
    k = len(names)
    wanted = np.zeros(ends.size, dtype=bool)
    wanted[k - 1 :: k] = True
    return bool((ends.size + 1) % k == 0 and (ends == wanted).all())


class NotDelimited(Exception):
    """The csv module refuses a line; `line` is counted from one."""

    def __init__(self, line: int, detail: str) -> None:
        super().__init__(detail)
        self.line = line


class TooWide(NotDelimited):
    """The line has more than MAX_COLUMNS fields."""

    def __init__(self, line: int) -> None:
        super().__init__(line, f"more than {MAX_COLUMNS:,} fields, which is more than a table may have.")


def csv_rows(text: str, delimiter: str, *, start: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with the number of their last line; `start` lines come before the text. Raises NotDelimited, TooWide.

    An overlong line without quotes is refused before it is split, so that a wide file needs no more memory than its text.
    """
    begins_row = True  # the next line does not continue a quoted field

    def checked() -> Iterator[str]:
        nonlocal begins_row
        for number, line in enumerate(io.StringIO(text, newline=""), start + 1):
            if begins_row and line.count(delimiter) >= MAX_COLUMNS and '"' not in line:
                raise TooWide(number)
            begins_row = False
            yield line

    reader = csv.reader(checked(), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if len(row) > MAX_COLUMNS:
                raise TooWide(start + reader.line_num)
            begins_row = True
            yield start + reader.line_num, row
    except csv.Error as error:
        raise NotDelimited(start + reader.line_num, str(error)) from None


# Guess the separator by the first lines of a table; split a line into fields


def declared_delimiter(line: str) -> str | None:
    """The separator that a line `sep=;` names; None for any other line."""
    match = SEPARATOR_LINE.fullmatch(line)
    return match[1] if match is not None and match[1] in GUESSED_DELIMITERS else None


def guessed_delimiter(lines: Sequence[str]) -> str:
    """Guess the separator of a table by its first line, outside of quotes.

    If the line has semicolons and commas, the commas may be decimal: choose the one that all of the first lines have equally often.
    """
    first = [QUOTED.sub("", line.strip()) for line in lines[:LOOKED_AT] if line.strip()]
    if not first:
        return ","
    if "\t" not in first[0] and "," in first[0] and ";" in first[0]:
        even = [len({line.count(mark) for line in first}) == 1 for mark in ";,"]
        fields = [field.strip() for line in first for field in line.split(";")]
        numbers = all(parsed(field) is not None or COMMA.fullmatch(field) is not None for field in fields)
        return ";" if (numbers if even[0] == even[1] else even[0]) else ","
    delimiter_of_head = next((delimiter for delimiter in GUESSED_DELIMITERS if delimiter in first[0]), ",")
    # A name of two words above one column of numbers is not a header of two columns.
    return (
        ","
        if delimiter_of_head == " " and len(first) > 1 and not any(" " in line for line in first[1:])
        else delimiter_of_head
    )


def fields_of(line: str, delimiter: str) -> list[str]:
    """Split a line into fields; a quoted field that continues on the next line is cut off."""
    if '"' not in line:
        return line.split() if delimiter == " " else line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return line.split(delimiter)


def is_quoted(line: str, delimiter: str) -> bool:
    """Whether all fields of a header are in quotes, as R's write.table writes them."""
    names = [name.strip() for name in line.split(delimiter)]
    return all(len(name) > 1 and name[0] == name[-1] == '"' for name in names)
