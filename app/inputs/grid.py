"""Delimited text below a header, as columns of text; and the lines on which its rows stand."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from ..errors import InvalidTest
from . import delimited
from .delimited import Delimiter


@dataclass(frozen=True, slots=True)
class Grid:
    """A header, and the columns of text below it."""

    names: list[str]
    columns: list[list[str]]

    def column(self, name: str) -> list[str] | None:
        """The fields of the column of this name; case does not matter."""
        folded = [own.lower() for own in self.names]
        return self.columns[folded.index(name)] if name in folded else None


class Lines:
    """The line of each row, counted from one: read again when something is wrong, and only then."""

    def __init__(self, body: bytes | bytearray, delimiter: Delimiter) -> None:
        self.body, self.delimiter = body, delimiter

    def of(self, row: int) -> int:
        """The line of a row below the header."""
        return delimited.rows_of(delimited.text_of(self.body), self.delimiter)[row + 1][0]


def grid_of(body: bytes | bytearray, delimiter: Delimiter) -> Grid:
    """The columns of the table, cut at C speed where no field is quoted."""
    flat = bytes(body).rstrip(b"\r\n").replace(b"\r\n", b"\n").removeprefix(b"\xef\xbb\xbf")
    first, _, rest = flat.partition(b"\n")
    try:
        names = [name.strip() for name in first.decode().split(delimiter, delimited.MAX_COLUMNS)]
        if rest and len(names) <= delimited.MAX_COLUMNS and delimited.is_grid(flat, names, delimiter):
            k = len(names)
            fields = rest.decode().replace("\n", delimiter).split(delimiter)
            return Grid(names, [fields[position::k] for position in range(k)])
        quoted_rows = _quoted_rows(flat.decode(), delimiter)
        if quoted_rows is not None:
            header, *below = quoted_rows
            return Grid(
                [name.strip() for name in header], [list(column) for column in zip(*below, strict=True)]
            )
    except UnicodeDecodeError:
        pass  # the slow reader names the line
    rows = delimited.rows_of(delimited.text_of(body), delimiter)
    if len(rows) < 2:
        what = "There is a header and no line below it" if rows else "There is no line to compare"
        raise InvalidTest.at("", "no_items", f"{what}; give at least one.")
    for line, row in rows:
        delimited.fields_of(line, row, len(rows[0][1]), "as many as the header")
    header, *below = (row for _, row in rows)
    return Grid([name.strip() for name in header], [list(column) for column in zip(*below, strict=True)])


def _quoted_rows(text: str, delimiter: Delimiter) -> list[list[str]] | None:
    """Rows that the csv module reads at once, all of one length; None for anything that has to be explained."""
    if "\0" in text or max(line.count(delimiter) for line in text.split("\n")) >= delimited.MAX_COLUMNS:
        return None
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    rows = [row for row in rows if row and (row[0] or any(field.strip() for field in row))]
    return rows if len(rows) > 1 and set(map(len, rows)) == {len(rows[0])} else None
