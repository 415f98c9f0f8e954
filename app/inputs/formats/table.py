"""Delimited text as named columns: commas, tabs, pipes, semicolons or blanks, below comments."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...errors import InvalidTest
from ..alignment import BOUNDS
from ..delimited import MAX_COLUMNS, NotDelimited, TooWide, csv_rows
from ..names import DATASET, INDEX, RUN, SYSTEM, WEIGHT, find, is_one_of
from ..quoting import quoted
from .number_looks import are_data
from .reader import DELIMITERS, ReaderOptions, choose
from .separators import LOOKED_AT, guessed_delimiter, is_quoted, told
from .source import Source

# Columns of tables that have several rows for an item, or for items of the same id.
SEVERAL_A_ITEM = (*SYSTEM, *RUN, *DATASET, "metric")
NARROW = 16

Row = list[str]


@dataclass(frozen=True, slots=True)
class FileTable:
    """Rows of equal length with their line numbers; `header` is None when the first line is already data.

    `index` is a column of row names or numbers, as pandas and R write it; `index_is_ids` where it names the items.
    """

    source: Source
    header: list[str] | None
    rows: list[Row]
    lines: list[int]
    delimiter: str
    index: int | None = None
    index_is_ids: bool = False

    def position(self, name: str, option: str) -> int:
        """The index of the column of this name; raises InvalidTest that lists the columns."""
        column = self.find((name,))
        if column is None:
            why = f"There is no column {quoted(name)}. "
            raise choose(self.source.line(1), option, "column", self.header or [], why)
        return column

    def find(self, wanted: Sequence[str]) -> int | None:
        """The index of the first of these names (in lower case) that is a column; case does not matter."""
        name = find(self.header or (), wanted)
        return None if name is None else (self.header or []).index(name)

    def column(self, column: int) -> list[str]:
        """The fields of a column."""
        return [row[column] for row in self.rows]

    @property
    def index_counts(self) -> bool:
        """Whether the index counts the rows, from 0 or from 1."""
        if self.index is None:
            return False
        index = [field.strip() for field in self.column(self.index)]
        return index[0] in {"0", "1"} and index == [str(int(index[0]) + row) for row in range(len(index))]

    @property
    def index_differs(self) -> bool:
        """Whether every row has another index, and none is empty."""
        index = set() if self.index is None else {field.strip() for field in self.column(self.index)}
        return len(index) == len(self.rows) and "" not in index

    def pointer(self, row: int, column: int) -> str:
        """The pointer to a field, line and field counted from one."""
        return self.source.line(self.lines[row], column + 1)


def weight_column(data: FileTable, options: ReaderOptions) -> int | None:
    """The column of weights, if there is one: called weight, and not chosen as anything else."""
    return None if options.names_column(WEIGHT[0]) else data.find(WEIGHT)


def table(source: Source, options: ReaderOptions, notes: list[str]) -> FileTable:
    """Read delimited text.

    Raises
    ------
    MalformedBody
        It is not delimited text in UTF-8.
    InvalidTest
        A line has more or fewer fields than the first, or more than MAX_COLUMNS.
    """
    lines = source.lines(notes)
    skipped = _comments_on_top(lines)
    separator = told(lines[skipped]) if skipped < len(lines) else None
    if separator is not None:
        notes.append(f"{source.label}: line {skipped + 1} names the separator, {quoted(separator)}.")
        lines[skipped] = ""
        skipped = _comments_on_top(lines)
    elif skipped:
        notes.append(f"{source.label}: {skipped:,} comment or empty lines on top were skipped.")
    if skipped == len(lines):
        raise source.empty()
    delimiter = DELIMITERS[options.delimiter] if options.delimiter else separator
    if delimiter is None:
        delimiter = guessed_delimiter(lines[skipped : skipped + LOOKED_AT])
    if len(lines) > options.max_items and b'"' not in source.content:  # else a field may have several lines
        header = lines[skipped].split(delimiter, MAX_COLUMNS)
        refuse_more_rows(source, header, sum(map(bool, lines[skipped + 1 :])), options)
    bounded = options.on_missing == BOUNDS
    rows, numbers = _rows(source, lines, skipped, delimiter, notes, bounded=bounded)
    header = [field.strip() for field in rows[0]]
    if are_data(header):
        return FileTable(source, None, rows, numbers, delimiter)
    seen: set[str] = set()
    for position, name in enumerate(map(str.lower, header)):
        if name in seen:
            raise source.refused(
                numbers[0], "duplicate_column", f"there are two columns {quoted(name)}.", position + 1
            )
        seen.add(name)
    if len(rows) == 1:
        raise InvalidTest.at(source.pointer, "no_items", f"{source.label}: a header and no line below it.")
    return _indexed(FileTable(source, header, rows[1:], numbers[1:], delimiter))


def refuse_more_rows(source: Source, columns: Iterable[str], rows: int, options: ReaderOptions) -> None:
    """Refuse more rows than items are allowed, unless a column says what a row is of; raises BodyTooLarge."""
    if options.system_column is None and find(columns, SEVERAL_A_ITEM) is None:
        source.refuse_more(rows, options.max_items)


def _indexed(data: FileTable) -> FileTable:
    """The same table, which knows its index: ids if it is names, or numbers that do not just count the rows.

    A repeating index is none of ids, and neither is one beside a column of ids.
    """
    if not data.header or not is_one_of(data.header[0], INDEX) or len(data.header) < 2:
        return data
    data = replace(data, index=0)
    return replace(data, index_is_ids=not data.index_counts and data.index_differs)


def _comments_on_top(lines: list[str]) -> int:
    for number, line in enumerate(lines):
        if line.strip() and not line.startswith("#"):
            return number
    return len(lines)


def _rows(
    source: Source, lines: list[str], start: int, delimiter: str, notes: list[str], *, bounded: bool
) -> tuple[list[Row], list[int]]:
    """The rows and their numbers; where missing outcomes are `bounded`, empty fields are an item that both systems lack."""
    rows: list[Row] = []
    numbers: list[int] = []
    empty = 0
    try:
        for number, row in _split(lines, start, delimiter):
            if not any(field.strip() for field in row) and not (bounded and len(row) > 1):
                empty += 1
                continue
            if len(rows) == 1 and delimiter in "\t " and _has_row_names(rows[0], row, lines[number - 1]):
                rows[0] = ["", *rows[0]]
                notes.append(
                    f"{source.label}: the lines have a name before the columns of the header, as R writes them."
                )
            if rows and len(row) != len(rows[0]):
                detail = f"there are {len(row)} fields; the first line has {len(rows[0])}."
                raise source.refused(number, "wrong_field_count", detail)
            # Wide tables repeat themselves, most of all those that were small when compressed: equal fields are one string.
            rows.append(row if len(row) <= NARROW else list(map(sys.intern, row)))
            numbers.append(number)
    except TooWide as error:
        raise source.refused(error.line, "too_many_columns", f"there are {error}") from None
    except NotDelimited as error:
        raise source.malformed(error.line, "not_delimited", f"{error}.") from None
    if not rows:
        raise source.empty()
    if empty:
        notes.append(f"{source.label}: {empty:,} empty lines were skipped.")
    return rows, numbers


def _has_row_names(header: Row, row: Row, line: str) -> bool:
    """Whether a line has one field more than the header, which is in quotes: the name of the row (R's write.table)."""
    return len(row) == len(header) + 1 and line.lstrip().startswith('"')


def _split(lines: list[str], start: int, delimiter: str) -> Iterator[tuple[int, Row]]:
    """The rows from line `start` on, counted from zero, with their numbers, counted from one."""
    if delimiter not in (" ", "\t") or is_quoted(lines[start], delimiter):
        yield from csv_rows("\n".join(lines[start:]) + "\n", delimiter, start=start)
        return
    separator = delimiter if delimiter == "\t" else None
    for number, line in enumerate(itertools.islice(lines, start, None), start + 1):
        row = line.split(separator, MAX_COLUMNS)  # a header without quotes: nothing is quoted
        if len(row) > MAX_COLUMNS:
            raise TooWide(number)
        yield number, row
