"""One file that holds many systems: tables, lines of JSON, and promptfoo's columns.

The values are read by the functions that read two of them, so that what they refuse is refused here, too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import Choice, InvalidTest, choices_of
from ..names import SYSTEM_OR_RUN
from ..quoting import quoted
from ..systems_table import refuse_index, refuse_no_systems
from . import delimited_files, jsonl, promptfoo, table_columns
from .json_fields import id_field, other_fields, score_field, system_field
from .json_records import Record, Records, key_of, read_records
from .metrics import metric_of, metric_of_columns
from .number_text import NumberReader
from .outputs_by_id import SystemOutputs
from .reader import ReaderOptions, choose
from .source import Source
from .table import FileTable, table

FORMATS = ("csv", "tsv", "mqm", "jsonl", "promptfoo")
SYSTEMS = "systems"
NAMED = 5


@dataclass(frozen=True, slots=True)
class ManySystems:
    """The outputs of each system of a file, and what it says of the metric; `notes` tell what was read and skipped."""

    systems: dict[str, SystemOutputs]
    notes: tuple[str, ...]
    metric: str | None = None
    higher_is_better: bool | None = None


def read(source: Source, format_: str, options: ReaderOptions, wanted: Sequence[str] | None) -> ManySystems:
    """The systems of a file; of columns only those that are `wanted`, where that is given.

    Raises
    ------
    MalformedBody, InvalidTest
        As the format's reader does; pointers are `/files/file/…`, `/options/<name>`.
    """
    notes: list[str] = []
    if format_ == "promptfoo":
        found = _promptfoo(source, options, notes)
    elif format_ == "jsonl":
        found = _json(read_records(source, notes), options, wanted, notes)
    else:
        found = _table(table(source, options, notes), options, wanted, notes)
    if wanted is not None:
        systems = _chosen(found.systems, wanted, source, notes)
        found = ManySystems(systems, found.notes, found.metric, found.higher_is_better)
    items = sum(map(len, found.systems.values()))
    notes.append(f"{items:,} values of {len(found.systems):,} systems read from {source.label}.")
    notes.extend(NumberReader.of(options).note())
    return ManySystems(found.systems, tuple(notes), found.metric, found.higher_is_better)


def _chosen(
    systems: dict[str, SystemOutputs], wanted: Sequence[str], source: Source, notes: list[str]
) -> dict[str, SystemOutputs]:
    for name in wanted:
        if name not in systems:
            raise choose(
                source.pointer,
                SYSTEMS,
                SYSTEMS,
                list(systems),
                f"There is no system {quoted(name)}. ",
                values=(),
            )
    others = [name for name in systems if name not in wanted]
    if others:
        notes.append(f"{len(others):,} other systems were skipped: {_some(others)}.")
    return {name: systems[name] for name in wanted}


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(map(quoted, names[:NAMED])) + more


def _table(
    data: FileTable, options: ReaderOptions, wanted: Sequence[str] | None, notes: list[str]
) -> ManySystems:
    if data.header is None:
        detail = (
            "a header is needed with the names of the columns: id and the systems, or id, system and score."
        )
        raise data.source.refused(data.lines[0], "no_header", detail)
    if data.find(("dataset",)) is not None:
        detail = "a column dataset is read in tables of id,system,score,dataset, or id,dataset and systems, with commas or tabs."
        raise data.source.refused(1, "unknown_column", detail)
    position = data.find(SYSTEM_OR_RUN)
    if options.system_column is not None:
        position = data.position(options.system_column, "system_column")
    if position is not None:
        key, _ = table_columns.key_columns(data, options)
        if key is None:
            raise choose(data.source.line(1), "id_column", "column of ids", data.header)
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(data.column(position)):
            rows.setdefault(name.strip(), []).append(row)
        value = table_columns.score_column_of(data, options)
        notes.append(f"The score of an item is its {quoted(data.header[value])}.")
        reader = table_columns.reader_of(data, [value], options, notes)
        systems = {
            name: delimited_files.outputs_of(data, value, options, reader, own)[0]
            for name, own in rows.items()
        }
        return ManySystems(systems, (), metric_of(data.header[value]))
    columns = {name: data.header.index(name) for name in table_columns.other_columns(data, options)}
    texts = [name for name, column in columns.items() if table_columns.is_text(data.column(column))]
    chosen = _columns(data.source.line(1), list(columns), texts, wanted, notes)
    if wanted is None:
        refuse_no_systems({name: columns[name] for name in chosen})
    reader = table_columns.reader_of(data, [columns[name] for name in chosen], options, notes)
    systems = {name: delimited_files.outputs_of(data, columns[name], options, reader)[0] for name in chosen}
    if wanted is None:
        for name, outputs in systems.items():
            refuse_index(name, columns[name], outputs.values)
    return ManySystems(systems, (), metric_of_columns(chosen) if len(chosen) > 1 else None)


def _columns(
    pointer: str, names: list[str], texts: list[str], wanted: Sequence[str] | None, notes: list[str]
) -> list[str]:
    """The columns of systems: those that are wanted, or all if they hold numbers."""
    if wanted is None:
        if texts:
            why = f"{_some(texts)} {'holds' if len(texts) == 1 else 'hold'} no numbers, so that not every column is a system. "
            numbers = [name for name in names if name not in texts]
            named = choose(pointer, SYSTEMS, "columns of the systems", numbers or names, why, values=())
            raise InvalidTest.at(pointer, named.flaws[0].code, named.detail, _only(numbers))
        return names
    for name in wanted:
        if name not in names:
            raise choose(
                pointer,
                SYSTEMS,
                "columns of the systems",
                names,
                f"There is no column {quoted(name)}. ",
                values=(),
            )
    others = [name for name in names if name not in wanted]
    if others:
        notes.append(f"{len(others):,} other columns were skipped: {_some(others)}.")
    return list(wanted)


def _only(names: list[str]) -> tuple[Choice, ...]:
    """The choice of the columns of numbers, if they are a board."""
    value = json.dumps(names)
    title = f"Only {', '.join(names)}"
    return choices_of(SYSTEMS, {value: title}) if len(names) > 1 else ()


def _json(
    file: Records, options: ReaderOptions, wanted: Sequence[str] | None, notes: list[str]
) -> ManySystems:
    system = system_field(file, options)
    if system is None:
        names = other_fields(file, options)
        texts = [name for name in names if not isinstance(file.first.get(name), int | float | list | None)]
        chosen = _columns(file.pointer, names, texts, wanted, notes)
        systems = {name: jsonl.outputs_of(file, options, name) for name in chosen}
        return ManySystems(systems, (), metric_of_columns(chosen) if len(chosen) > 1 else None)
    if id_field(file, options) is None:
        raise choose(file.pointer, "id_column", "field of ids", list(file.first))
    groups: dict[str, list[Record]] = {}
    for record in file.records:
        name = key_of(record.value.get(system), file.source, record.path, system)
        groups.setdefault(name, []).append(record)
    field = score_field(file, options, system)
    notes.append(f"The score of an item is its {quoted(field)}.")
    systems = {
        name: jsonl.outputs_of(Records.of(file.source, records), options, field)
        for name, records in groups.items()
    }
    return ManySystems(systems, (), metric_of(field))


def _promptfoo(source: Source, options: ReaderOptions, notes: list[str]) -> ManySystems:
    export = promptfoo.export_of(source, notes)
    number_reader = NumberReader.of(options)
    providers = [provider for _, provider in export.columns]
    systems = {}
    for column in export.columns:
        name = column[1] if providers.count(column[1]) == 1 else export.title(column)
        systems[name] = promptfoo.outputs_of(export, column, options, number_reader, alone=True, notes=notes)
    return ManySystems(systems, (), None if options.metric is None else metric_of(options.metric), True)


def require_alike(systems: dict[str, SystemOutputs], source: Source) -> bool:
    """Whether the items have clusters; raises InvalidTest where only some have."""
    known = {cluster is not None for outputs in systems.values() for cluster in outputs.clusters}
    if len(known) > 1:
        detail = f"{source.label}: some items have a cluster and others have none."
        raise InvalidTest.at(source.pointer, "no_cluster", detail)
    return known == {True}
