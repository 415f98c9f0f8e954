"""Named columns of a table, or named fields of lines of JSON, as one thing: values by name, and the place of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidTest
from ..quoting import escaped, quoted
from .format import FirstLook
from .json_records import Records, key_of, read_records
from .number_text import Number, NumberReader, is_missing, parsed
from .reader import ReaderOptions, choose
from .source import Source
from .table import FileTable, table

TRUTH = {"true": 1, "false": 0}


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
        """The column of the first of these names, in lower case; case does not matter."""
        folded = {name.lower(): name for name in reversed(self.names)}
        return next((folded[name] for name in names if name in folded), None)

    def chosen(self, option: str, given: str | None, names: Sequence[str]) -> str | None:
        """The column that an option names, else the first of `names`; raises InvalidTest that lists them."""
        if given is None:
            return self.find(names)
        name = given if given in self.names else self.find((given.strip().lower(),))
        if name is None:
            raise choose(
                self.top, option, "column", list(self.names), f"There is no column {quoted(given)}. "
            )
        return name

    def refused(self, row: int, name: str, code: str, detail: str) -> InvalidTest:
        """An error about one value."""
        pointer = self.place(row, name)
        where = pointer.removeprefix(f"{self.source.pointer}/")
        return InvalidTest.at(pointer, code, f"{self.source.label}, {where}: {detail}")

    def labels(self, name: str) -> list[Any]:
        """Labels: numbers where all are numbers, 1 and 0 where all are true or false, else as written; None is missing."""
        values = self.column(name)
        texts = [value.strip() if isinstance(value, str) else value for value in values]
        for row, value in enumerate(texts):
            if isinstance(value, list | dict):
                raise self.refused(row, name, "not_a_label", "a label is a text or a number.")
        gaps = [_is_gap(value) for value in texts]
        known = [value for value, gap in zip(texts, gaps, strict=True) if not gap]
        if all(isinstance(value, str) for value in known):
            numbers = [parsed(value) for value in known]
            truths = [TRUTH.get(value.lower()) for value in known]
            written: list[Any] = next((row for row in (numbers, truths) if None not in row), known)
        else:
            written = [int(value) if isinstance(value, bool) else value for value in known]
        left = iter(written)
        return [None if gap else next(left) for gap in gaps]

    def numbers(self, name: str, options: ReaderOptions) -> list[Number | None]:
        """Numbers, None where there is none; raises InvalidTest."""
        reader, numbers = NumberReader.of(options), []
        for row, value in enumerate(self.column(name)):
            number = reader.plain(parsed(value.strip()) if isinstance(value, str) else value)
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
        keys = []
        for row, value in enumerate(self.column(name)):
            if isinstance(value, str) and not value.strip():
                raise self.refused(row, name, "missing", f"there is no {name[:40]}.")
            text = value if isinstance(value, str) else key_of(value, self.source, self._path(row), name)
            keys.append(text.strip())
        return keys

    def _path(self, row: int) -> str:
        return self.place(row, "").removeprefix(f"{self.source.pointer}/")

    def events(self, name: str) -> list[bool]:
        """Which times are of events; raises InvalidTest."""
        known = {"1": True, "0": False, "true": True, "false": False, "1.0": True, "0.0": False}
        events = []
        for row, value in enumerate(self.column(name)):
            text = str(value).strip().lower()
            if text not in known:
                detail = "an event is 1 or true, and a censored item 0 or false."
                raise self.refused(row, name, "not_an_event", detail)
            events.append(known[text])
        return events


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
    return _of_table(table(source, options, notes))


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
