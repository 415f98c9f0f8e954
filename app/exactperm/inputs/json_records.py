"""Read JSON records: one object per line, an array of objects, or a document that holds a table; and their ids and values.

Documents that become rows are `{"results": [{…}, …]}` and `{"columns": […], "data": [[…], …]}` (pandas orient="split", wandb.Table,
MLflow), `{column: {row: value}}` (pandas' default) and `{column: [value, …]}`, and `{key: {metric: number}}` (pytrec_eval). Objects in
rows become fields with dotted paths, `scores.Factuality`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

from ..errors import InvalidTest, MalformedBody
from ..statistics.names import of_name
from . import json_text
from .columns import MAX_COLUMNS
from .names import ID, SCORE, SYSTEM
from .number_text import Number, NumberReader, Value
from .quoting import escaped, quoted
from .reader import Source, choose, parsed_once

# Documents that hold a table: a nested list of objects, a grid with `columns`, or objects of columns or rows


# Names of lists with the items of an evaluation.
LISTS = ("results", "items", "data", "records", "examples", "samples", "rows")
KEYS = frozenset((*ID, *SYSTEM, *SCORE, "u", "v"))
# Parts of a data set and means over classes, whose rows are summaries, not items.
PARTS = frozenset(("train", "test", "dev", "val", "valid", "validation", "overall", "all", "average", "mean", "total"))  # fmt: skip
OF_LM_EVAL = frozenset(("n-samples", "n-shot", "versions", "configs", "higher_is_better"))
OF_MTEB = frozenset(("mteb_version", "mteb_dataset_name", "dataset_revision"))
MOST_NESTED, DEEPEST = 200, 4

Object = dict[str, Any]


def table_of(document: Object, source: Source, path: str | None = None) -> Records | None:
    """The rows of a document; None if it holds no table.

    `path` names the list or object that holds them, `results.items`. Raises InvalidTest if the list of items is ambiguous, or if there
    are only averages.
    """
    if path is not None:
        inner = _inside(document, path.split("."))
        if _objects(inner):
            return _rows(source, inner, path.split("."))
        names = [".".join(path_parts) for path_parts in lists_of(document)]
        why = f"There is no list of objects at {quoted(path)}. "
        raise choose(source.pointer, "path", "list of items", names, why)
    averages = averages_in(document)
    if averages is not None:
        raise InvalidTest.at(source.pointer, "averages_only", averages)
    table = _whole(document, source)
    if table is not None:
        return table
    lists = lists_of(document)
    named = [path_parts for path_parts in lists if path_parts[-1] in LISTS]
    if len(named) == 1:
        return _rows(source, _inside(document, named[0]), named[0])
    if lists:
        names = [".".join(path_parts) for path_parts in named or lists]
        which = "lists" if len(names) > 1 else "a list"
        why = f"The document has {which} of objects. "
        raise choose(source.pointer, "path", "list of items", names, why)
    return None


def holds_table(document: Object) -> bool:
    """Whether `table_of` returns rows or raises InvalidTest for a document."""
    return _form(document) is not None or averages_in(document) is not None or bool(lists_of(document))


def holds_lists(document: Object) -> bool:
    """Whether an object on one line is a document with a list of items rather than one item."""
    return _form(document) is not None or any(path_parts[-1] in LISTS for path_parts in lists_of(document))


def lists_of(document: Object) -> list[tuple[str, ...]]:
    """The paths of the lists of objects on the first two levels."""
    lists = [(name,) for name, value in document.items() if _objects(value)]
    return lists + [
        (outer, name)
        for outer, inner in document.items() if isinstance(inner, dict)
        for name, value in inner.items() if _objects(value)
    ]  # fmt: skip


def nested(row: Object) -> dict[str, tuple[str, ...]]:
    """The dotted paths of values nested in a row, with their parts, except those that are names in the row."""

    def paths(value: Object, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for name, inner in value.items():
            here = (*above, name)
            if isinstance(inner, dict) and len(here) < DEEPEST:
                yield from paths(inner, here)
            elif above:
                yield here

    nested_paths = {".".join(parts): parts for parts in islice(paths(row, ()), MOST_NESTED)}
    return {name: parts for name, parts in nested_paths.items() if name not in row}


def flattened(row: Object, paths: Mapping[str, tuple[str, ...]]) -> Object:
    """Turn the values at these paths into fields of the row, and drop the objects that hold them."""
    whole = {name: value for name, value in row.items() if not isinstance(value, dict)}
    for name, parts in paths.items():
        value: Any = row
        for part in parts:
            value = value.get(part, _ABSENT) if isinstance(value, dict) else _ABSENT
        if value is not _ABSENT:
            whole[name] = value
    return whole


_ABSENT = object()


def averages_in(document: Object) -> str | None:
    """The message for a document of averages, which names a file with the items; None for others."""
    scores = document.get("scores")
    if isinstance(document.get("results"), dict) and not OF_LM_EVAL.isdisjoint(document):
        return "Averages of lm-evaluation-harness have no items: run it with --log_samples, and give samples_*.jsonl."
    if isinstance(scores, dict) and not OF_MTEB.isdisjoint(document):
        return (
            "MTEB writes one score per task, without items. To compare over tasks, give a table with a "
            "line for each (task,u,v); to compare on one task, give the scores of its queries or pairs."
        )
    parts = len(document) > 0 and document.keys() <= PARTS
    if parts and all(isinstance(one, dict) for one in document.values()):
        return "Scores of parts of the data are averages, not items: give the scores of the items."
    return None


def _objects(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(isinstance(one, dict) for one in value)


def _inside(document: Any, path: Sequence[str]) -> Any:
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _rows(source: Source, rows: list[Object], path: Sequence[str]) -> Records:
    return Records(source, rows, ["/".join((*map(escaped, path), str(index))) for index in range(len(rows))])


def _form(document: Object) -> str | None:
    """The form of a whole document; None for others."""
    header, grid = document.get("columns"), document.get("data")
    if isinstance(header, list) and isinstance(grid, list) and all(isinstance(row, list) for row in grid):
        return "split" if header and all(isinstance(name, str | int) for name in header) else None
    values = list(document.values())
    if not values:
        return None
    if all(isinstance(value, list) for value in values):
        return "lists" if _are_columns(document) else None
    if not all(isinstance(value, dict) and value for value in values):
        return None
    inner = [list(value) for value in values]
    scalars = all(not isinstance(one, dict | list) for value in values for one in value.values())
    if scalars and all(keys == inner[0] for keys in inner):
        # The inner keys are rows if only they count from 0 or 1, or if only the outer keys are known names.
        both = (list(document), inner[0])
        known = [any(name.lower() in KEYS or of_name(name) is not None for name in each) for each in both]
        if not _count(both[0]) if _count(both[1]) else known == [True, False]:
            return "columns"
    common = set(inner[0]).intersection(*inner)
    has_numbers = any(isinstance(values[0][name], int | float) for name in common)
    return "rows" if len(values) > 1 and has_numbers else None


def _are_columns(document: Object) -> bool:
    """Whether lists are columns: equally long, with texts or a name of ids among them. Other lists are samples by id."""
    lengths = {len(value) for value in document.values()}
    texts = any(isinstance(one, str) for value in document.values() for one in value)
    flat_lists = not any(isinstance(one, dict | list) for value in document.values() for one in value)
    named = texts or not KEYS.isdisjoint(map(str.lower, document))
    return flat_lists and len(lengths) == 1 and 0 not in lengths and named


def _count(names: Sequence[str]) -> bool:
    return list(names) in ([str(n) for n in range(len(names))], [str(n) for n in range(1, len(names) + 1)])


def _whole(document: Object, source: Source) -> Records | None:
    form = _form(document)
    if form == "split":
        return _split(document, source)
    if form == "lists":
        cells = [dict(zip(document, row, strict=True)) for row in zip(*document.values(), strict=True)]
        return Records(source, cells, list(map(str, range(len(cells)))), by_column=True)
    if form == "columns":
        keys = list(next(iter(document.values())))
        has_ids = not KEYS.isdisjoint(map(str.lower, document.keys() - set(SCORE)))
        ids: dict[str, Object] = {} if _count(keys) or has_ids else {key: {"id": key} for key in keys}
        cells = [ids.get(key, {}) | {name: values[key] for name, values in document.items()} for key in keys]
        return Records(source, cells, list(map(escaped, keys)), by_column=True)
    if form == "rows":
        return Records(
            source, [{"id": key, **row} for key, row in document.items()], list(map(escaped, document))
        )
    return None


def _split(document: Object, source: Source) -> Records:
    header, grid = list(map(str, document["columns"])), document["data"]
    index: Any = document.get("index")
    for number, cells in enumerate(grid):
        if len(cells) != len(header):
            detail = f"This row has {len(cells)} cells, and there are {len(header)} columns."
            raise InvalidTest.at(source.at("data", number), "wrong_field_count", detail)
    rows = [dict(zip(header, cells, strict=True)) for cells in grid]
    is_of_rows = isinstance(index, list) and len(index) == len(rows) and not _count(list(map(str, index)))
    if is_of_rows and "id" not in header:
        rows = [{"id": key, **row} for row, key in zip(rows, index, strict=True)]
    within = {name: str(place) for place, name in enumerate(header)}
    return Records(source, rows, [f"data/{number}" for number in range(len(rows))], within)


# Files of records


class Record(NamedTuple):
    """An object and its path in the file: its line, or its index in the array."""

    path: str
    value: dict[str, Any]


class Lines(Sequence[str]):
    """The paths of objects that have one line each."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, at: Any) -> Any:
        return f"line/{range(self.n)[at] + 1}"


@dataclass(slots=True)
class Records:
    """The records of a file, and their paths in it.

    `fields` are all fields in order of first appearance; `common` are those of every record. Nested values are fields with dotted
    paths. `within` maps fields to places in the record that differ from their names; `by_column`: the document holds columns.
    """

    source: Source
    values: list[Object]
    paths: Sequence[str]
    within: dict[str, str] = field(default_factory=dict)
    by_column: bool = False
    fields: tuple[str, ...] = ()
    common: frozenset[str] = frozenset()

    def look_at_fields(self) -> Records:
        """Find the fields; raises InvalidTest if there are no records, or too many fields."""
        # Most records have the same fields, so there are few distinct tuples.
        rows = dict.fromkeys(map(tuple, self.values))
        self.fields = tuple(dict.fromkeys(name for row in rows for name in row))
        if not self.fields:
            raise self.source.empty()
        if len(self.fields) > MAX_COLUMNS:
            raise _too_many_fields(self.source, self.source.pointer, len(self.fields))
        self.common = frozenset(self.fields).intersection(*rows)
        return self

    @property
    def records(self) -> list[Record]:
        """The records with their paths."""
        return list(map(Record, self.paths, self.values))

    def place(self, path: str, field: str) -> str:
        """The path of a field of the record at `path`."""
        name = self.within.get(field) or escaped(field)
        return f"{name}/{path}" if self.by_column else f"{path}/{name}"

    def column(self, field: str) -> list[Any]:
        """The values of a field; None if a record does not have it."""
        if field in self.common:
            return list(map(itemgetter(field), self.values))
        return [value.get(field) for value in self.values]


@parsed_once
def read_records(source: Source, notes: list[str], path: str | None = None, *, flat: bool = True) -> Records:
    """Read a file; raises MalformedBody, InvalidTest. A number in an array is a record with the field `score`.

    Of a document its table is read, whose list of items `path` names. If `flat`, nested values become fields.
    """
    text = source.text(notes)
    table = _table(source, text, path)
    is_document = table is not None
    if table is None:
        if path is not None:
            detail = "path names the list of items in a JSON document, but this file has a row on each line."
            raise InvalidTest.at("/options/path", "unused_option", detail)
        plain = json_text.at_once(text)
        each = [] if plain is not None else list(_checked(source, _records(source, text)))
        values = [record.value for record in each] if plain is None else plain
        table = Records(source, values, Lines(len(plain)) if plain else [record.path for record in each])
    inside = nested(table.values[0]) if flat and table.values else {}
    if inside:
        table.values = [flattened(row, inside) for row in table.values]
        table.within.update({name: "/".join(map(escaped, parts)) for name, parts in inside.items()})
    if inside or is_document:
        list(_checked(source, table.records))
    return table.look_at_fields()


def _table(source: Source, text: str, path: str | None) -> Records | None:
    """The table in a document that is the whole file; None if the file has an object on each line, or an array."""
    stripped = text.lstrip()
    first, _, rest = stripped.partition("\n")
    is_record = bool(rest.strip()) and json_text.object_in(first) is not None
    if is_record or not stripped.startswith("{"):
        return None
    try:
        document = json_text.decoded(text, source.pointer if rest.strip() else source.line(1), source.label)
    except MalformedBody:
        return None  # the file has lines, and one is invalid
    return table_of(document, source, path)


def lines_of(source: Source, lines: Iterable[str]) -> Iterator[Record]:
    """Read the objects of lines of JSON."""
    for line, value in json_text.records(lines, source.pointer):
        yield Record(f"line/{line}", value)


def _records(source: Source, text: str) -> Iterator[Record]:
    if not text.lstrip().startswith("["):
        yield from lines_of(source, (line.removesuffix("\r") for line in text.split("\n")))
        return
    for index, value in enumerate(json_text.decoded(text, source.pointer, source.label)):
        if isinstance(value, dict):
            yield Record(str(index), value)
        elif isinstance(value, int | float) or value is None:
            yield Record(str(index), {"score": value})
        else:
            detail = "An element is neither an object nor a number."
            raise InvalidTest.at(source.at(index), "not_an_object", detail)


def _checked(source: Source, records: Iterable[Record]) -> Iterator[Record]:
    """Yield records, and refuse a wide one before the next is parsed."""
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
            detail = "One of several samples has no value."
            raise InvalidTest.at(f"{pointer}/{index}", "missing_value", detail)
        numbers.append(number)
    return tuple(numbers) or None


SLICES = "slices"  # the name of an item's slices in what describes it


def labels_in_cell(text: Any) -> Any:
    """The slices in a cell of a table: a text, or a JSON list of several."""
    if not isinstance(text, str) or not text.lstrip().startswith("["):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def cluster_of(
    name: str | None, source: Source, path: str, record: dict[str, Any], *places: str
) -> str | None:
    """The cluster in the first of these dotted places of a record; None if `name` is None."""
    if name is None:
        return None
    for value in _members(name, record, places):
        if isinstance(value, str | int):
            return key_of(value, source, path, name)
    where = ", ".join(place or "the record" for place in places)
    detail = f"there is no text or integer {quoted(name)} in {where}, which clusters need."
    raise source.refused(path, "no_cluster", detail, *places[0].split("."), name)


def slices_in(name: str | None, record: dict[str, Any], *places: str) -> dict[str, Any]:
    """What the first of these dotted places of a record says of its slices, by `SLICES`; empty where no name is given."""
    return {} if name is None else {SLICES: next(_members(name, record, places), None)}


def _members(name: str, record: dict[str, Any], places: Sequence[str]) -> Iterator[Any]:
    """The members of this name in these dotted places of a record."""
    for place in places:
        holder: Any = record
        for part in filter(None, place.split(".")):
            holder = holder.get(part) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and name in holder:
            yield holder[name]


def key_of(value: Any, source: Source, path: str, name: str) -> str:
    """An id or a cluster key as text; raises InvalidTest when it is neither a string nor an integer."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):  # booleans as well: true and false are valid names of clusters
        return str(value).lower() if isinstance(value, bool) else str(value)
    detail = f"{source.label}, {path}: {escaped(name)} must be a string or an integer."
    raise InvalidTest.at(f"{source.pointer}/{path}/{escaped(name)}", "not_a_key", detail)
