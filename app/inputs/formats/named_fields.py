"""Named columns of a table, or named fields of lines of JSON, as one thing: values by name, and the place of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import Choice, InvalidTest
from ..missing_texts import is_missing
from ..names import find
from ..quoting import escaped, quoted
from .format import FirstLook
from .json_records import Records, key_of, read_records
from .number_style import number_reader
from .number_text import TRUTH, Number, NumberReader, parsed
from .plain_table import plain_columns, plain_numbers
from .reader import ReaderOptions, choose
from .source import Source
from .table import FileTable, table

EVENT = {"1": True, "0": False, "true": True, "false": False, "1.0": True, "0.0": False}


@dataclass(frozen=True, slots=True)
class NamedFields:
    """The columns of one file; `column(name)` is shape (n,), of text in tables and of JSON values elsewhere."""

    source: Source
    names: tuple[str, ...]
    n: int
    top: str
    column: Callable[[str], list[Any]]
    place: Callable[[int, str], str]

    def find(self, names: Sequence[str]) -> str | None:
        """The column of the first of these names."""
        return find(self.names, names)

    def chosen(self, option: str, given: str | None, names: Sequence[str]) -> str | None:
        """The column that an option names, else the first of `names`; raises InvalidTest that lists them."""
        if given is None:
            return self.find(names)
        name = given if given in self.names else self.find((given,))
        if name is None:
            raise choose(
                self.top, option, "column", list(self.names), f"There is no column {quoted(given)}. "
            )
        return name

    def refused(
        self, row: int, name: str, code: str, detail: str, choices: tuple[Choice, ...] = ()
    ) -> InvalidTest:
        """An error about one value."""
        pointer = self.place(row, name)
        where = pointer.removeprefix(f"{self.source.pointer}/")
        return InvalidTest.at(pointer, code, f"{self.source.label}, {where}: {detail}", choices)

    def labels(self, name: str) -> list[Any]:
        """Labels: numbers where all are numbers, 1 and 0 where all are true or false, else as written; None is missing."""
        values = self.column(name)
        kinds = set(map(type, values))
        if kinds <= {str}:
            plain = plain_numbers(values)
            return _labels_of_texts(values) if plain is None else list(plain)
        if not kinds.isdisjoint((list, dict)):
            row = next(row for row, value in enumerate(values) if isinstance(value, list | dict))
            raise self.refused(row, name, "not_a_label", "a label is a text or a number.")
        texts = [value.strip() if isinstance(value, str) else value for value in values]
        gaps = [_is_gap(value) for value in texts]
        known = [value for value, gap in zip(texts, gaps, strict=True) if not gap]
        if all(isinstance(value, str) for value in known):
            written = iter(_labels_of_texts(known))
        else:
            written = iter([int(value) if isinstance(value, bool) else value for value in known])
        return [None if gap else next(written) for gap in gaps]

    def numbers(self, name: str, options: ReaderOptions, notes: list[str]) -> list[Number | None]:
        """Numbers, None where there is none; raises InvalidTest. How they were read is added to `notes`."""
        reader, values = NumberReader.of(options), self.column(name)
        if set(map(type, values)) == {str}:
            plain = plain_numbers(values)
            if plain is not None and (read := reader.plain_column(plain)) is not None:
                return read
            reader = number_reader([values], options, f"{self.source.label}, {name[:40]}", notes)
        numbers = []
        for row, value in enumerate(values):
            number = reader.plain_text(value.strip()) if isinstance(value, str) else reader.plain(value)
            if number is None:
                pointer = self.place(row, name)
                number = (
                    reader.of_text(value, pointer)
                    if isinstance(value, str)
                    else reader.of_json(value, pointer)
                )
            numbers.append(number)
        return numbers

    def keys(self, name: str) -> list[str]:
        """Ids, groups or clusters as text; raises InvalidTest."""
        values = self.column(name)
        if set(map(type, values)) == {str} and all(stripped := list(map(str.strip, values))):
            return stripped
        keys = []
        for row, value in enumerate(values):
            if isinstance(value, str) and not value.strip():
                raise self.refused(row, name, "missing", f"there is no {name[:40]}.")
            text = value if isinstance(value, str) else key_of(value, self.source, self._path(row), name)
            keys.append(text.strip())
        return keys

    def _path(self, row: int) -> str:
        return self.place(row, "").removeprefix(f"{self.source.pointer}/")

    def events(self, name: str) -> list[bool]:
        """Which times are of events; raises InvalidTest."""
        texts = list(map(str, self.column(name)))
        known = {text: EVENT.get(text.strip().lower()) for text in set(texts)}
        if None in known.values():
            row = next(row for row, text in enumerate(texts) if known[text] is None)
            detail = "an event is 1 or true, and a censored item 0 or false."
            raise self.refused(row, name, "not_an_event", detail)
        return [bool(known[text]) for text in texts]


def _labels_of_texts(values: list[str]) -> list[Any]:
    """See `NamedFields.labels`; each different text is looked at once."""
    texts = {value: value.strip() for value in set(values)}
    known = {value: text for value, text in texts.items() if not is_missing(text)}
    numbers = {value: parsed(text) for value, text in known.items()}
    truths = {value: TRUTH.get(text.lower()) for value, text in known.items()}
    written: dict[str, Any] = next((by for by in (numbers, truths) if None not in by.values()), known)
    return [written.get(value) for value in values]


def _is_gap(value: Any) -> bool:
    if isinstance(value, str):
        return is_missing(value)
    return value is None or (isinstance(value, float) and math.isnan(value))


def named_fields(source: Source, options: ReaderOptions, notes: list[str]) -> NamedFields:
    """Read a table with a header, or lines of JSON objects.

    Raises
    ------
    MalformedBody, InvalidTest
        As `table` and `read_records` do; or a table has no header.
    """
    if FirstLook({source.role: source}).is_json:
        return _of_records(read_records(source, notes))
    plain = plain_columns(source, options)
    return _of_table(table(source, options, notes)) if plain is None else _of_columns(source, plain)


def _of_columns(source: Source, columns: dict[str, list[str]]) -> NamedFields:
    """A table of which line 2 is the first row."""
    at = {name: index for index, name in enumerate(columns)}
    rows = len(next(iter(columns.values())))

    def place(row: int, name: str) -> str:
        return source.line(row + 2, at[name] + 1) if name else source.line(row + 2)

    return NamedFields(source, tuple(columns), rows, source.line(1), columns.__getitem__, place)


def _of_table(data: FileTable) -> NamedFields:
    header = data.header
    if header is None:
        detail = (
            "a header with the names of the columns is needed, such as label,score_u,score_v or id,score."
        )
        raise data.source.refused(data.lines[0], "missing_column", detail)
    at = {name: index for index, name in enumerate(header)}
    return NamedFields(
        data.source,
        tuple(header),
        len(data.rows),
        data.source.line(1),
        lambda name: data.column(at[name]),
        lambda row, name: data.pointer(row, at[name]) if name else data.source.line(data.lines[row]),
    )


def _of_records(data: Records) -> NamedFields:
    def place(row: int, name: str) -> str:
        path = f"{data.source.pointer}/{data.records[row].path}"
        return f"{path}/{escaped(name)}" if name else path

    return NamedFields(data.source, data.fields, len(data.records), data.pointer, data.column, place)
