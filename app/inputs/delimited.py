"""Delimited text, CSV or TSV, becomes columns of numbers.

Three shapes: two columns without a header (`correct_u,correct_v`), and tables with the header `id,u,v` or
`id,u,v,cluster,weight` (in any order; only `u` and `v` must be there). A first line is a header when it names
both `u` and `v`. Numbers are text until they are parsed here: nothing rounds them on the way.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic_core import from_json

from ..errors import InvalidTest, MalformedBody
from ..statistics.paired import Column
from . import columns, integer_lists, tiny_numbers

Delimiter = Literal[",", "\t"]
Rows = list[tuple[int, list[str]]]  # with their line numbers, counted from one

HEADER = ("id", "u", "v", "cluster", "weight")
NEWLINE = ord("\n")
# Of any table. A thousand named counts of two systems with ids and clusters are half of it.
MAX_COLUMNS = 4_096
MAX_NUMBER_CHARS = 400


@dataclass(frozen=True, slots=True)
class Table:
    """A delimited body: two columns of numbers and, with a header, ids, cluster keys and weights as written."""

    u: Column  # with gaps a list where fields are empty, None for these; the request checks it
    v: Column
    ids: list[str] | None = None
    clusters: list[str] | None = None
    weights: list[str] | None = None


def read(body: bytes | bytearray, delimiter: Delimiter, *, gaps: bool = False) -> Table:
    """Read a delimited body; with `gaps` fields of u and v may be empty: these columns are then lists, None where one is.

    Raises
    ------
        MalformedBody: it is not UTF-8 or not delimited text.
        InvalidTest: a line has too many or too few fields, or a field is not a finite number. Pointers
            name the line and the field, both counted from one (`/line/3/2`).
    """
    quick = plain_table(body, delimiter)
    if quick is not None:
        return quick
    names, rows = first_line_and_rows(body, delimiter, gaps=gaps)
    if "u" in names and "v" in names:
        return _with_header(names, rows[1:], gaps=gaps)
    for line, row in rows:
        fields_of(line, row, 2, "a number for each system; or give the header id,u,v")
    return Table(column_of(rows, 0, gaps=gaps), column_of(rows, 1, gaps=gaps))


def plain_table(body: bytes | bytearray, delimiter: Delimiter) -> Table | None:
    """A fast path for the usual body: no quotes, no empty lines, JSON-like numbers. None for anything else.

    Fields are cut at C speed once it is known that every line has as many as the first one.
    """
    flat = bytes(body).rstrip(b"\r\n").replace(b"\r\n", b"\n")
    first, _, rest = flat.partition(b"\n")
    fields_of_first = first.decode("ascii", "replace").split(delimiter, len(HEADER))
    names = [name.strip().lower() for name in fields_of_first]
    if "u" not in names or "v" not in names:
        names, rest = ["u", "v"], flat
    if (
        not rest
        or len(set(names)) != len(names)
        or not set(names) <= set(HEADER)
        or not is_grid(rest, names, delimiter)
    ):
        return None
    if names == ["u", "v"]:
        whole = integer_lists.integers(rest.translate(bytes.maketrans(b"\n" + delimiter.encode(), b",,")))
        if whole is not None:
            return Table(np.ascontiguousarray(whole[::2]), np.ascontiguousarray(whole[1::2]))
    try:
        fields = rest.decode().replace("\n", delimiter).split(delimiter)
        column = {name: fields[index :: len(names)] for index, name in enumerate(names)}
        return Table(
            _plain_numbers(column["u"]),
            _plain_numbers(column["v"]),
            column.get("id"),
            column.get("cluster"),
            column.get("weight"),
        )
    except (ValueError, InvalidTest):
        return None  # the slow reader names the line


def is_grid(text: bytes, names: list[str], delimiter: str) -> bool:
    """Whether every line has one field per name: a line's end must be every k-th separator and no other."""
    if b'"' in text or b"\r" in text or b"\0" in text:
        return False
    characters = np.frombuffer(text, dtype=np.uint8)
    ends = characters[(characters == ord(delimiter)) | (characters == NEWLINE)] == NEWLINE
    k = len(names)
    wanted = np.zeros(ends.size, dtype=bool)
    wanted[k - 1 :: k] = True
    return bool((ends.size + 1) % k == 0 and (ends == wanted).all())


def _plain_numbers(fields: list[str]) -> Column:
    text = "[" + ",".join(fields) + "]"
    values: list[Any] = from_json(text, allow_inf_nan=False)
    if len(values) != len(fields) or tiny_numbers.may_hold(text):
        raise ValueError
    return columns.numbers(values)


def text_of(body: bytes | bytearray) -> str:
    """The body as text, a byte order mark left out; raises MalformedBody if it is not UTF-8."""
    try:
        return bytes(body).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise MalformedBody(f"The body is not UTF-8 (line {line}, at byte {error.start}).") from None


def first_line_and_rows(
    body: bytes | bytearray, delimiter: Delimiter, *, gaps: bool = False
) -> tuple[list[str], Rows]:
    """The fields of the first line, which may be names, in lower case; and all rows. Raises InvalidTest without any."""
    rows = rows_of(text_of(body), delimiter, gaps=gaps)
    if not rows:
        raise InvalidTest.at("", "no_items", "There is no line to test; give at least one.")
    return [field.strip().lower() for field in rows[0][1]], rows


def rows_of(text: str, delimiter: Delimiter, *, gaps: bool = False) -> Rows:
    """Lines with something in them, with their numbers; with `gaps` several empty fields are an item, too."""
    if "\0" in text:
        raise MalformedBody("The body has NUL characters; it is not delimited text.")
    try:
        return [
            (line, row)
            for line, row in csv_rows(text, delimiter)
            if any(field.strip() for field in row) or (gaps and len(row) > 1)
        ]
    except TooWide as error:
        raise InvalidTest.at(
            f"/line/{error.line}", "too_many_columns", f"Line {error.line} has {error}"
        ) from None
    except NotDelimited as error:
        raise MalformedBody(f"Line {error.line} is not delimited text: {error}.") from None


class RowError(Exception):
    """A line cannot be split into fields; `line` is counted from one."""

    def __init__(self, line: int, detail: str) -> None:
        super().__init__(detail)
        self.line = line


class NotDelimited(RowError):
    """The csv module refuses the line."""


class TooWide(RowError):
    """The line has more than MAX_COLUMNS fields."""

    def __init__(self, line: int) -> None:
        super().__init__(line, f"more than {MAX_COLUMNS:,} fields, which is more than a table may have.")


def csv_rows(text: str, delimiter: str, *, start: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Rows, one at a time, with the number of their last line; `start` lines come before the text.

    A line without quotes that is too wide is refused before it is split, so that a wide file costs no more than its
    text.

    Raises
    ------
    NotDelimited, TooWide
        At the first such line.
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


def _with_header(names: list[str], rows: Rows, *, gaps: bool) -> Table:
    for position, name in enumerate(names):
        if name not in HEADER:
            detail = f"Column {position + 1} of the header is not one of {', '.join(HEADER)}."
            raise InvalidTest.at(f"/line/1/{position + 1}", "unknown_column", detail)
        if name in names[:position]:
            raise InvalidTest.at(
                f"/line/1/{position + 1}", "duplicate_column", f"There are two columns {name}."
            )
    index = {name: position for position, name in enumerate(names)}
    require_rows(rows)
    for line, row in rows:
        fields_of(line, row, len(names), "as many as the header")
    return Table(
        column_of(rows, index["u"], gaps=gaps),
        column_of(rows, index["v"], gaps=gaps),
        ids=keys_of(rows, index.get("id")),
        clusters=keys_of(rows, index.get("cluster")),
        weights=keys_of(rows, index.get("weight")),
    )


def require_rows(rows: Rows) -> None:
    """Refuse a header alone."""
    if not rows:
        raise InvalidTest.at("", "no_items", "There is a header and no line below it; give at least one.")


def fields_of(line: int, row: list[str], wanted: int, why: str) -> None:
    """Refuse a line with too many or too few fields."""
    if len(row) != wanted:
        detail = f"Line {line} has {len(row)} field{'s' * (len(row) != 1)}; {wanted} {'is' if wanted == 1 else 'are'} needed: {why}."
        raise InvalidTest.at(f"/line/{line}", "wrong_field_count", detail)


def number_of(text: str, line: int, field: int) -> int | float:
    """The number in a field, which may still be infinite; raises InvalidTest if it is none."""
    stripped = text.strip()
    if tiny_numbers.is_tiny(stripped):
        raise tiny_numbers.refusal(f"/line/{line}/{field}")
    if len(stripped) <= MAX_NUMBER_CHARS and "_" not in stripped and stripped.isascii():
        for parse in (int, float):
            try:
                return parse(stripped)
            except ValueError:
                continue
    detail = f"Field {field} of line {line} is not a number."
    if line == 1:
        detail += " If line 1 is a header, it must name u and v (and may name id, cluster and weight)."
    raise InvalidTest.at(f"/line/{line}/{field}", "not_a_number", detail)


def column_of(rows: Rows, column: int, *, gaps: bool = False) -> Any:
    """The numbers in a column, counted from zero; errors point to line and field.

    With `gaps` a list where fields are empty, None for these.
    """
    if gaps and not all(row[column].strip() for _, row in rows):
        there = [(line, row) for line, row in rows if row[column].strip()]
        numbers = iter(column_of(there, column).tolist() if there else ())
        return [next(numbers) if row[column].strip() else None for _, row in rows]
    values = [number_of(row[column], line, column + 1) for line, row in rows]
    try:
        return columns.numbers(values, may_hold_booleans=False)
    except InvalidTest as error:
        flaw = error.flaws[0]
        line = rows[int(flaw.pointer[1:])][0]
        detail = f"Field {column + 1} of line {line}: {flaw.detail}"
        raise InvalidTest.at(f"/line/{line}/{column + 1}", flaw.code, detail) from None


def keys_of(rows: Rows, column: int | None) -> list[str] | None:
    """The texts in a column, counted from zero; None without one."""
    return None if column is None else [row[column] for _, row in rows]
