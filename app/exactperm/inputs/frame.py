"""Read a table or JSON records as a frame: rows, named columns, properties of columns, and a pointer to every value.

Tables (commas, tabs, pipes, semicolons or blanks; below comments; quoted or not) and JSON records become frames, from a file or a body.
Fields of tables are text, those of records JSON values. Properties of columns are computed once, when needed.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Choice, InvalidTest
from ..statistics.paired import Column
from . import delimited, number_text
from .alignment import BOUNDS, numbered
from .columns import MAX_COLUMNS, numbers
from .format import FirstLook
from .json_records import Records, key_of, read_records, value_of
from .names import DATASET, INDEX, RUN, SYSTEM, find, folded, is_one_of
from .number_text import NumberReader, Value, are_data, is_missing, plain_column, plain_numbers
from .quoting import escaped, quoted
from .reader import DELIMITERS, OTHER_BOMS, UTF8_BOM, ReaderOptions, Source, choose, in_words, parsed_once

EVENTS = {"1": True, "0": False, "true": True, "false": False, "1.0": True, "0.0": False}
# Columns of tables that may have several rows for an item, or several items with one id.
SEVERAL_A_ITEM = (*SYSTEM, *RUN, *DATASET, "metric")
NARROW = 16
NO_HEADER = "There is no header in which to find that column."
QUOTED_NUMBER = re.compile(r'\A\s*"([-+.\d/eE]*\d)"\s*\Z', re.ASCII)
# Longer lines may have a field that the csv module refuses.
LONGEST_PLAIN_LINE = 100_000
Codes = NDArray[np.int64]
Rows = NDArray[np.int64]


def taken_rows(column: list[Any], rows: Rows) -> list[Any]:
    """The values of a column in these rows."""
    first, last = (int(rows[0]), int(rows[-1])) if len(rows) else (0, -1)
    if last - first + 1 == len(rows) and (rows[1:] > rows[:-1]).all():
        return column[first : last + 1]
    return list(map(column.__getitem__, rows.tolist()))


class Frame:
    """Named columns of `n` rows each.

    `top` points to the header, or to the first record; `path` maps a row to its path in the source. Columns of a table without a header
    are named "1", "2", …; `common` are the columns that every row has, all of them in a table.
    """

    def __init__(
        self, source: Source, names: Sequence[str], n: int, column: Callable[[str], list[Any]], path: Callable[[int], str], *,
        top: str, has_header: bool = True, records: Records | None = None, is_bare: bool = False,
    ) -> None:  # fmt: skip
        self.source, self.names, self.n, self.path, self.top = source, tuple(names), n, path, top
        self.is_table, self.has_header = records is None, has_header
        self.common = frozenset(names) if records is None else records.common
        self._records = records
        self._column, self._is_bare = column, is_bare  # without blanks
        self._at = {name: at for at, name in reversed(list(enumerate(self.names)))}
        self._columns: dict[str, list[Any]] = {}
        self._keys: dict[str, list[str] | None] = {}
        self._codes: dict[tuple[str, ...], Codes | None] = {}
        self._unique: dict[tuple[str, ...], bool] = {}
        self._is_text: dict[str, bool] = {}
        self._numbers: dict[str, Column | None] = {}

    def column(self, name: str) -> list[Any]:
        """The values of a column, shape (n,)."""
        if name not in self._columns:
            self._columns[name] = self._column(name)
        return self._columns[name]

    def cell(self, row: int, name: str) -> Any:
        """One value; None if a record has none."""
        return self.column(name)[row] if self._records is None else self._records.values[row].get(name)

    def times(self, names: Collection[str]) -> Counter[tuple[str, str]]:
        """Count each text in each of these columns."""
        if self._records is None:
            return Counter((name, value) for name in names for value in self.column(name))
        # One pass over the records, as they may have different fields.
        return Counter(
            (name, value)
            for record in self._records.values if names
            for name, value in record.items() if name in names and isinstance(value, str)
        )  # fmt: skip

    def place(self, row: int, name: str = "") -> str:
        """The pointer to a value, or without a name to the row."""
        where = f"{self.source.pointer}/{self.path(row)}"
        if not name or name not in self._at:
            return where
        if self._records is not None:
            return f"{self.source.pointer}/{self._records.place(self.path(row), name)}"
        return f"{where}/{self._at[name] + 1}"

    def at_top(self, name: str) -> str:
        """The pointer to the name of a column."""
        return f"{self.top}/{self._at[name] + 1}" if self.is_table else self.place(0, name)

    # Find columns

    def find(self, names: Sequence[str]) -> str | None:
        """The column of the first of these names."""
        known = self._by_name if self.has_header else {}
        return next((known[name] for name in map(folded, names) if name in known), None)

    @cached_property
    def _by_name(self) -> dict[str, str]:
        """The columns by their folded names; among columns with equal names the first."""
        return {folded(name): name for name in reversed(self.names)}

    def chosen(self, option: str, option_value: str | None, names: Sequence[str] = ()) -> str | None:
        """The column that an option names, else the first of `names`; raises InvalidTest that lists them."""
        if option_value is None:
            return self.find(names)
        if not self.has_header:
            raise InvalidTest.at(self.source.pointer, "no_header", NO_HEADER)
        name = option_value if option_value in self._at else self.find((option_value.strip(),))
        if name is None and self._records is not None:
            ends = [inner for inner in self._records.within if inner.endswith(f".{option_value}")]
            name = ends[0] if len(ends) == 1 else None  # the last part of scores.Factuality
        if name is None:
            what = "column" if self.is_table else "field"
            place = self.top if self.is_table else f"{self.top}/{escaped(option_value)}"
            raise choose(
                place, option, what, list(self.names), f"There is no {what} {quoted(option_value)}. "
            )
        return name

    @property
    def index(self) -> str | None:
        """The first column, if it is an index as pandas and R write it."""
        first = self.names[0]
        named = self.is_table and self.has_header and len(self.names) > 1 and is_one_of(first, INDEX)
        return first if named else None

    # Properties of columns

    def keys_known(self, name: str) -> list[str] | None:
        """The values as texts of keys; None if one cannot be a key: a list, a decimal, or missing."""
        if name not in self._keys:
            values, keys = self.column(name), None
            kinds = {str} if self.is_table else set(map(type, values))
            if kinds == {str}:
                keys = values if self._is_bare else list(map(str.strip, values))
            elif kinds <= {str, int, bool}:
                keys = [str(value).lower() if type(value) is bool else str(value) for value in values]
            self._keys[name] = keys
        return self._keys[name]

    def codes(self, names: Sequence[str]) -> Codes | None:
        """Numbers for the joint keys of these columns, in order of first appearance; None if a value cannot be a key."""
        if tuple(names) not in self._codes:
            keys = self.keys_together(names)
            self._codes[tuple(names)] = None if keys is None else numbered(keys)[0]
        return self._codes[tuple(names)]

    def keys_together(self, names: Sequence[str]) -> list[Any] | None:
        """The keys of the rows, from one or several columns; None if a value cannot be a key."""
        texts = [self.keys_known(name) for name in names]
        if len(texts) == 1:
            return texts[0]
        return None if None in texts else list(zip(*(column or () for column in texts), strict=True))

    def is_unique(self, names: Sequence[str], rows: Rows | None = None) -> bool:
        """Whether the joint keys of these columns are distinct, or a value cannot be a key."""
        if rows is None:
            if tuple(names) not in self._unique:
                keys = self.keys_together(names)
                self._unique[tuple(names)] = keys is None or len(set(keys)) == self.n
            return self._unique[tuple(names)]
        codes = self.codes(names)
        if codes is None:
            return True
        ordered = np.sort(codes[rows])
        return not (ordered[1:] == ordered[:-1]).any()

    def is_text(self, name: str) -> bool:
        """Whether a column has values, and none is a number. A column with some numbers is read, and refused at the other values."""
        if name not in self._is_text:
            if self.is_table:
                values = self.column(name)
                self._is_text[name] = not any(map(number_text.is_numeric, values)) and not all(
                    map(is_missing, values)
                )
            else:
                cells = (self.cell(row, name) for row in range(self.n))
                first = next((value for value in cells if value is not None), None)
                inner = first[0] if isinstance(first, list) and first else first
                self._is_text[name] = isinstance(inner, str | dict)
        return self._is_text[name]

    def is_empty(self, name: str) -> bool:
        """Whether no row has a value in a column."""
        if name not in self.common:  # some records have it
            return False
        values = (self.cell(row, name) for row in range(self.n))
        return all(value is None or (isinstance(value, str) and is_missing(value)) for value in values)

    def is_whole(self, name: str) -> bool:
        """Whether every text of a column is a whole number."""
        keys = self.keys_known(name)
        return keys is not None and all(key.removeprefix("-").isdecimal() for key in keys)

    def counts_rows(self, name: str) -> bool:
        """Whether a column counts the rows, from 0 or from 1."""
        keys = self.keys_known(name)
        if keys is None or keys[0] not in {"0", "1"}:
            return False
        first = int(keys[0])
        return keys == [str(first + row) for row in range(self.n)]

    # Values

    def refused(
        self, row: int, name: str, code: str, detail: str, choices: tuple[Choice, ...] = ()
    ) -> InvalidTest:
        """Return an error about one value."""
        where = in_words(self.path(row))
        return InvalidTest.at(self.place(row, name), code, f"{self.source.label}, {where}: {detail}", choices)

    def reader_of(self, names: Iterable[str], options: ReaderOptions, notes: list[str]) -> NumberReader:
        """The reader of the numbers in these columns, which share one style; adds to `notes` how they are read."""
        if not self.is_table:
            return NumberReader.of(options)
        names, reader = list(names), NumberReader.of(options)
        if not reader.comma and all(self._plain(name) is not None for name in names):
            return reader
        return number_text.number_reader(map(self.column, names), options, self.source.label, notes)

    def _plain(self, name: str) -> Column | None:
        """The numbers of a column that writes them as JSON does, None for any other; cached."""
        if name not in self._numbers:
            self._numbers[name] = plain_column(self.column(name))
        return self._numbers[name]

    def values(
        self, name: str, reader: NumberReader, rows: Rows | None = None, *, gaps: bool = False
    ) -> Column | list[Value]:
        """The numbers of these rows, or of all; a list may have tuples (several of an item) and None (missing). Raises InvalidTest.

        A record without the field is refused, unless there may be `gaps`.
        """
        whole = self.column(name)
        column = whole if rows is None else taken_rows(whole, rows)
        if reader.changes_nothing:
            if self.is_table:
                plain = self._plain(name)
                if plain is not None:
                    return plain if rows is None else plain[rows]
                if rows is not None and (plain := plain_column(column)) is not None:
                    return plain
            elif set(map(type, column)) <= {int, float}:
                try:
                    return numbers(column, may_hold_booleans=False)
                except InvalidTest:
                    pass  # raised again below, with its place
        places = range(self.n) if rows is None else rows.tolist()
        return [
            None if gaps and value is None else self._value(row, name, value, reader)
            for row, value in zip(places, column, strict=True)
        ]

    def counts(self, name: str, reader: NumberReader) -> Column | list[Value]:
        """`values` of a column of counts, where true and false are refused; raises InvalidTest."""
        values = self.values(name, reader)
        for row, value in enumerate(self.column(name)) if isinstance(values, list) else ():
            if str(value).strip().lower() in number_text.TRUTH:
                detail = "this is a boolean; a count is a whole number."
                raise self.refused(row, name, "not_a_number", detail)
        return values

    def tuples(self, names: Sequence[str], reader: NumberReader) -> list[Any]:
        """Rows of counts, None if one of them is missing; raises InvalidTest."""
        listed: list[list[Any]] = []
        for name in names:
            values: Any = self.counts(name, reader)
            if isinstance(values, np.ndarray):  # None for a column of decimals
                values = plain_numbers(self.column(name)) if self.is_table else self.column(name)
            listed.append(values)
        return [None if None in row else row for row in zip(*listed, strict=True)]

    def _value(self, row: int, name: str, value: Any, reader: NumberReader) -> Value:
        number = reader.plain_text(value) if self.is_table else reader.plain(value)
        if number is not None:
            return number
        if self.is_table:
            return reader.of_text(value, self.place(row, name))
        if value is None and self._records is not None and name not in self._records.values[row]:
            detail = f"{self.source.label}, {self.path(row)}: there is no field {escaped(name)}."
            raise InvalidTest.at(self.place(row, name), "missing_field", detail)
        return value_of(value, reader, self.place(row, name))

    def numbers(self, name: str, options: ReaderOptions, notes: list[str]) -> list[number_text.Number | None]:
        """The numbers of a column, None if missing; texts of records are read like those of tables. Raises InvalidTest."""
        values = self.column(name)
        reader = NumberReader.of(options)
        if set(map(type, values)) == {str}:
            plain = plain_numbers(values) if reader.changes_nothing else None
            if plain is not None:
                return list(plain)
            reader = number_text.number_reader([values], options, f"{self.source.label}, {name[:40]}", notes)
        numbers = []
        for row, value in enumerate(values):
            number = reader.plain_text(value.strip()) if isinstance(value, str) else reader.plain(value)
            if number is None:
                of = reader.of_text if isinstance(value, str) else reader.of_json
                number = of(value, self.place(row, name))
            numbers.append(number)
        return numbers

    def keys(self, name: str) -> list[str]:
        """Ids, groups or clusters as text, none of them empty; raises InvalidTest."""
        keys = list(map(str.strip, self.texts(name)))
        if "" in keys:
            raise self.refused(keys.index(""), name, "missing", f"there is no {name[:40]}.")
        return keys

    def texts(self, name: str, rows: Rows | None = None) -> list[str]:
        """Ids or clusters of these rows, or of all, as text; raises InvalidTest if one is neither a text nor an integer."""
        known = self.keys_known(name)
        if known is not None:
            return known if rows is None or len(rows) == self.n else taken_rows(known, rows)
        values, places = self.column(name), range(self.n) if rows is None else rows.tolist()
        return [key_of(values[row], self.source, self.path(row), name) for row in places]

    def events(self, name: str) -> list[bool]:
        """Whether each time is that of an event; raises InvalidTest."""
        texts = list(map(str, self.column(name)))
        known = {text: EVENTS.get(text.strip().lower()) for text in set(texts)}
        if None in known.values():
            row = next(row for row, text in enumerate(texts) if known[text] is None)
            detail = "an event is 1 or true, and a censored item 0 or false."
            raise self.refused(row, name, "not_an_event", detail)
        return [bool(known[text]) for text in texts]


def frame_of(
    source: Source, options: ReaderOptions, notes: list[str], *, is_json: bool | None = None
) -> Frame:
    """Read a table or JSON records, by the first byte unless the kind is known; raises MalformedBody, InvalidTest."""
    if not (FirstLook({source.role: source}).is_json if is_json is None else is_json):
        return table(source, options, notes)
    data = read_records(source, notes, options.path)
    top = f"{data.source.pointer}/{data.paths[0]}"
    return Frame(
        data.source, data.fields, len(data.values), data.column, data.paths.__getitem__, top=top, records=data
    )


@parsed_once
def table(source: Source, options: ReaderOptions, notes: list[str]) -> Frame:
    """Read delimited text; raises as `frame_of`."""
    plain = _plain(source, options)
    return _table(source, options, notes) if plain is None else plain


def named(source: Source, options: ReaderOptions, notes: list[str]) -> Frame:
    """Read a table with a header, or JSON records; raises as `frame_of`, or if there is no header."""
    frame = frame_of(source, options, notes)
    if not frame.has_header:
        detail = (
            "a header with the names of the columns is needed, such as label,score_u,score_v or id,score."
        )
        raise frame.refused(0, "", "missing_column", detail)
    return frame


# Split the usual table into columns at C speed


def _plain(source: Source, options: ReaderOptions) -> Frame | None:
    """Read a table with a header, and without quotes, comments and empty lines; None for others.

    `_table` gives the same result, and reads all other tables and those with errors, as it knows the lines.
    """
    content = source.content
    if content.startswith((UTF8_BOM, *OTHER_BOMS, b"#")):
        return None
    flat = content.replace(b"\r\n", b"\n").removesuffix(b"\n")
    first, _, rest = flat.partition(b"\n")
    if not rest or (len(flat) > LONGEST_PLAIN_LINE and _longest_line(flat) > LONGEST_PLAIN_LINE):
        return None
    try:
        header, text = first.decode(), rest.decode()
    except UnicodeDecodeError:
        return None
    if options.delimiter:
        delimiter = DELIMITERS[options.delimiter]
    else:
        delimiter = delimited.guessed_delimiter(
            [header, *text.split("\n", delimited.LOOKED_AT)[: delimited.LOOKED_AT - 1]]
        )
    names = [name.strip() for name in header.split(delimiter)]
    # The names of two or more columns, distinct and not numbers.
    differ = 1 < len(names) <= MAX_COLUMNS and len({name.lower() for name in names}) == len(names)
    if (
        delimited.declared_delimiter(header)
        or not differ
        or not any(names)
        or are_data(names)
        or delimiter == " "
        or not delimited.is_grid(flat, names, delimiter)
    ):
        return None
    n = rest.count(b"\n") + 1
    if n > options.max_items:
        refuse_more_rows(source, names, n, options)
    fields = text.replace("\n", delimiter).split(delimiter)
    columns = {name: fields[index :: len(names)] for index, name in enumerate(names)}
    marks = np.count_nonzero(np.frombuffer(rest, dtype=np.uint8) <= ord(" "))
    is_bare = rest.isascii() and marks == n - 1 + (rest.count(b"\t") if delimiter == "\t" else 0)
    first_fields = columns[names[0]]
    # Empty lines begin with an empty field.
    if not all(first_fields if is_bare else map(str.strip, first_fields)):
        return None
    return Frame(
        source, names, n, columns.__getitem__, lambda row: f"line/{row + 2}", top=source.line(1), is_bare=is_bare
    )  # fmt: skip


def _longest_line(flat: bytes) -> int:
    """The length of the longest line, with its end."""
    ends = np.flatnonzero(np.frombuffer(flat, dtype=np.uint8) == delimited.NEWLINE)
    return int(np.diff(ends, prepend=-1, append=len(flat)).max())


# Read any other table line by line


def _table(source: Source, options: ReaderOptions, notes: list[str]) -> Frame:
    lines = source.lines(notes)
    skipped = _comments_on_top(lines)
    separator = delimited.declared_delimiter(lines[skipped]) if skipped < len(lines) else None
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
        delimiter = delimited.guessed_delimiter(lines[skipped : skipped + delimited.LOOKED_AT])
    if len(lines) > options.max_items and b'"' not in source.content:  # else a field may span lines
        header = lines[skipped].split(delimiter, MAX_COLUMNS)
        refuse_more_rows(source, header, sum(map(bool, lines[skipped + 1 :])), options)
    rows, numbers = _rows(source, lines, skipped, delimiter, notes, bounded=options.on_missing == BOUNDS)
    names = [field.strip() for field in rows[0]]
    has_header = not are_data(names)
    if has_header:
        first: dict[str, int] = {}
        for at, name in enumerate(map(str.lower, names)):
            if first.setdefault(name, at) < at:
                detail = f"there are two columns {quoted(name)}."
                raise source.refused(numbers[0], "duplicate_column", detail, at + 1)
        if len(rows) == 1:
            raise source.refused("", "no_items", "a header without a line below it.")
        rows, numbers = rows[1:], numbers[1:]
    else:
        names = [str(at + 1) for at in range(len(names))]
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return Frame(
        source, names, len(rows), columns.__getitem__, lambda row: f"line/{numbers[row]}", top=source.line(1), has_header=has_header
    )  # fmt: skip


def refuse_more_rows(source: Source, columns: Iterable[str], rows: int, options: ReaderOptions) -> None:
    """Refuse more rows than the limit of items, unless a column may give items several rows; raises BodyTooLarge."""
    if options.system_column is None and find(columns, SEVERAL_A_ITEM) is None:
        source.refuse_more(rows, options.max_items)


def _comments_on_top(lines: list[str]) -> int:
    filled = (number for number, line in enumerate(lines) if line.strip() and not line.startswith("#"))
    return next(filled, len(lines))


def _rows(
    source: Source, lines: list[str], start: int, delimiter: str, notes: list[str], *, bounded: bool
) -> tuple[list[list[str]], list[int]]:
    """The rows and their line numbers; if missing outcomes are `bounded`, a line of empty fields is an item that both systems lack."""
    rows: list[list[str]] = []
    numbers: list[int] = []
    empty = 0
    try:
        for number, row in _split(lines, start, delimiter):
            if not any(field.strip() for field in row) and not (bounded and len(row) > 1):
                empty += 1
                continue
            more = len(rows) == 1 and len(row) == len(rows[0]) + 1 and delimiter in "\t "
            if more and lines[number - 1].lstrip().startswith('"'):  # below a quoted header
                rows[0] = ["", *rows[0]]
                why = "the lines have a name before the columns of the header, as R writes them."
                notes.append(f"{source.label}: {why}")
            if rows and len(row) != len(rows[0]):
                detail = f"there are {len(row)} fields; the first line has {len(rows[0])}."
                raise source.refused(number, "wrong_field_count", detail)
            # Share the strings of equal fields, since wide tables, especially well compressed ones, repeat fields.
            rows.append(row if len(row) <= NARROW else list(map(sys.intern, row)))
            numbers.append(number)
    except delimited.TooWide as error:
        raise source.refused(error.line, "too_many_columns", f"there are {error}") from None
    except delimited.NotDelimited as error:
        raise source.malformed(error.line, "not_delimited", f"{error}.") from None
    if not rows:
        raise source.empty()
    if empty:
        notes.append(f"{source.label}: {empty:,} empty lines were skipped.")
    return rows, numbers


def _split(lines: list[str], start: int, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows from line `start` on, counted from zero, with line numbers, counted from one."""
    bare = delimiter in (" ", "\t") and not delimited.is_quoted(lines[start], delimiter)
    if not bare or _is_quoted_below(lines, start, delimiter):
        yield from delimited.csv_rows("\n".join(lines[start:]) + "\n", delimiter, start=start)
        return
    separator = delimiter if delimiter == "\t" else None
    for number, line in enumerate(itertools.islice(lines, start, None), start + 1):
        row = line.split(separator, MAX_COLUMNS)  # if the header is unquoted, so are all texts
        if '"' in line:
            row = [QUOTED_NUMBER.sub(r"\1", field) for field in row]
        if len(row) > MAX_COLUMNS:
            raise delimited.TooWide(number)
        yield number, row


def _is_quoted_below(lines: list[str], start: int, delimiter: str) -> bool:
    """Whether fields between tabs that hold lines or tabs are in quotes, as pandas writes them: only then are all rows equally wide."""
    width = lines[start].count(delimiter)
    filled = [line for line in itertools.islice(lines, start, None) if line.strip()]
    if delimiter != "\t" or not width or all(line.count(delimiter) == width for line in filled):
        return False
    text = "\n".join(lines[start:]) + "\n"
    try:
        rows = [row for _, row in delimited.csv_rows(text, delimiter, start=start) if any(row)]
    except delimited.NotDelimited:
        return False
    return len(rows) > 1 and all(len(row) == width + 1 for row in rows)
