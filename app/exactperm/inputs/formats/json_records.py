"""JSON files of records: one object a line, or one array of objects; and their ids and values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from ...errors import InvalidTest, MalformedBody
from .. import ndjson
from ..delimited import MAX_COLUMNS
from ..quoting import escaped, quoted
from . import wrappers
from .number_text import Number, NumberReader
from .outputs_by_id import Value
from .source import Source, parsed_once


class Record(NamedTuple):
    """An object, and its pointer below the file's: its line, or its index in the array."""

    path: str
    value: dict[str, Any]


class Lines(Sequence[str]):
    """The pointers to objects that stand on one line each, below the file's."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, at: Any) -> Any:
        return f"line/{range(self.n)[at] + 1}"


@dataclass(frozen=True, slots=True)
class Records:
    """The records of a file, and their pointers below the file's.

    `fields` are all their fields in the order in which they first occur; `common` are those that every record has.
    What is inside of objects is a field by its dotted path. `within` and `by_column` are those of `wrappers.Table`.
    """

    source: Source
    values: list[dict[str, Any]]
    paths: Sequence[str]
    fields: tuple[str, ...]
    common: frozenset[str]
    within: Mapping[str, str] = field(default_factory=dict)
    by_column: bool = False

    @classmethod
    def of(cls, source: Source, values: list[dict[str, Any]], paths: Sequence[str], **known: Any) -> Records:
        """These records of a file; raises InvalidTest if there are none, or if they have too many fields."""
        if not values:
            raise source.empty()
        # Most records have the same fields, so that there are few tuples of them.
        rows = dict.fromkeys(map(tuple, values))
        fields = tuple(dict.fromkeys(name for row in rows for name in row))
        if not fields:
            raise source.empty()
        if len(fields) > MAX_COLUMNS:
            raise _too_many_fields(source, source.pointer, len(fields))
        return cls(source, values, paths, fields, frozenset(fields).intersection(*rows), **known)

    @property
    def records(self) -> list[Record]:
        """Each with its pointer."""
        return list(map(Record, self.paths, self.values))

    @property
    def pointer(self) -> str:
        """The pointer to the first record."""
        return f"{self.source.pointer}/{self.paths[0]}"

    def place(self, path: str, field: str) -> str:
        """The pointer to a field of the record at `path`, below the file's."""
        name = self.within.get(field) or escaped(field)
        return f"{name}/{path}" if self.by_column else f"{path}/{name}"

    def column(self, field: str) -> list[Any]:
        """The values of a field; None where a record has no such field."""
        if field in self.common:
            return list(map(itemgetter(field), self.values))
        return [value.get(field) for value in self.values]


@parsed_once
def read_records(source: Source, notes: list[str], path: str | None = None, *, flat: bool = True) -> Records:
    """Read a file. A number in an array is a record with the field `score`.

    A document is read as its table (`wrappers`), whose list of items `path` names. Objects inside become fields, if `flat`.

    Raises MalformedBody: it is not JSON; InvalidTest: there are no records, something else is among them, or they have more
    than MAX_COLUMNS fields.
    """
    text = source.text(notes)
    table = _table(source, text, path)
    if table is None and path is not None:
        detail = "path names the list of items in a JSON document, and this file has a row on each line."
        raise InvalidTest.at("/options/path", "unused_option", detail)
    plain = ndjson.at_once(text) if table is None else None
    paths: Sequence[str]
    if plain is not None:
        values, paths = plain, Lines(len(plain))
    else:
        rows = _records(source, text) if table is None else (Record(*row) for row in table.rows)
        records = list(_checked(source, rows) if table is None else rows)
        values, paths = [record.value for record in records], [record.path for record in records]
    within = {} if table is None else dict(table.within)
    inside = wrappers.nested(values[0]) if flat and values else {}
    if inside:
        values = [wrappers.flat(row, inside) for row in values]
        within.update({name: "/".join(map(escaped, parts)) for name, parts in inside.items()})
    if inside or table is not None:
        list(_checked(source, map(Record, paths, values)))
    return Records.of(source, values, paths, within=within, by_column=table is not None and table.by_column)


def _table(source: Source, text: str, path: str | None) -> wrappers.Table | None:
    """The table in a document that is the whole file; None where the file has an object on each line, or an array."""
    stripped = text.lstrip()
    first, _, rest = stripped.partition("\n")
    if not stripped.startswith("{") or (rest.strip() and _is_object(first)):
        return None
    try:
        document = ndjson.decoded(text, source.pointer if rest.strip() else source.line(1), source.label)
    except MalformedBody:
        return None  # lines, of which one is wrong
    return wrappers.table_of(document, source.pointer, path)


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def lines_of(source: Source, lines: Iterable[str]) -> Iterator[Record]:
    """The objects of lines of JSON."""
    for record in ndjson.records(lines, source.pointer):
        yield Record(f"line/{record.line}", record.value)


def _records(source: Source, text: str) -> Iterator[Record]:
    if not text.lstrip().startswith("["):
        yield from lines_of(source, (line.removesuffix("\r") for line in text.split("\n")))
        return
    for index, value in enumerate(ndjson.decoded(text, source.pointer, source.label)):
        if isinstance(value, dict):
            yield Record(str(index), value)
        elif isinstance(value, int | float) or value is None:
            yield Record(str(index), {"score": value})
        else:
            raise InvalidTest.at(
                source.at(index), "not_an_object", "An element is neither an object nor a number."
            )


def _checked(source: Source, records: Iterable[Record]) -> Iterator[Record]:
    """The records as they come, so that a wide one is refused before those after it are parsed."""
    for record in records:
        if len(record.value) > MAX_COLUMNS:
            raise _too_many_fields(source, f"{source.pointer}/{record.path}", len(record.value))
        yield record


def _too_many_fields(source: Source, pointer: str, count: int) -> InvalidTest:
    detail = f"{source.label}: there are {count:,} different fields; at most {MAX_COLUMNS:,} are read."
    return InvalidTest.at(pointer, "too_many_fields", detail)


def value_of(value: Any, number_reader: NumberReader, pointer: str) -> Value:
    """A number, a list of numbers, or None when there is none."""
    if not isinstance(value, list):
        return number_reader.of_json(value, pointer)
    numbers: list[Number] = []
    for index, sample in enumerate(value):
        number = number_reader.of_json(sample, f"{pointer}/{index}")
        if number is None:
            raise InvalidTest.at(
                f"{pointer}/{index}", "missing_value", "One of several samples has no value."
            )
        numbers.append(number)
    return tuple(numbers) or None


def cluster_of(
    name: str | None, source: Source, path: str, record: dict[str, Any], *places: str
) -> str | None:
    """The cluster that the first of these places of a record names, which are dotted; None where no name is given."""
    if name is None:
        return None
    for place in places:
        holder: Any = record
        for part in filter(None, place.split(".")):
            holder = holder.get(part) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and isinstance(holder.get(name), str | int):
            return key_of(holder[name], source, path, name)
    where = ", ".join(place or "the record" for place in places)
    detail = f"there is no text or integer {quoted(name)} in {where}, which clusters need."
    raise source.refused(path, "no_cluster", detail, *places[0].split("."), name)


def key_of(value: Any, source: Source, path: str, name: str) -> str:
    """An id or a cluster key as text; raises InvalidTest when it is neither a string nor an integer."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):  # booleans too: true and false are valid names of clusters
        return str(value).lower() if isinstance(value, bool) else str(value)
    detail = f"{source.label}, {path}: {escaped(name)} must be a string or an integer."
    raise InvalidTest.at(f"{source.pointer}/{path}/{escaped(name)}", "not_a_key", detail)
