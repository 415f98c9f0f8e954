"""One file that holds many systems: tables, lines of JSON, and promptfoo's columns.

The values are read by the functions that read two of them, so that what they refuse is refused here, too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import Choice, InvalidTest, choices_of
from ..frame import Frame
from ..quoting import quoted
from ..roles import Side, cluster_of, keys_of, note_index, others_of, score_of, system_of, weight_of
from ..systems_table import refuse_index, refuse_no_systems
from . import promptfoo, shapes, tool_shapes
from .metrics import metric_of, metric_of_columns
from .number_text import NumberReader
from .outputs_by_id import SystemOutputs
from .reader import ReaderOptions, choose
from .source import Source
from .tables import Places, frame_in, key_of_long, outputs_of, rows_by_system

SHAPES = {shape.name: shape for shape in tool_shapes.SHAPES if "file" in shape.roles}
FORMATS = ("csv", "tsv", "mqm", "jsonl", "promptfoo", *SHAPES)
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
    elif format_ in SHAPES:
        systems, metric, better = shapes.board(SHAPES[format_], source, options, notes)
        found = ManySystems(systems, (), metric, better)
    else:
        found = _systems(frame_in(source, options, notes, format_), options, wanted, notes)
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


def _systems(
    frame: Frame, options: ReaderOptions, wanted: Sequence[str] | None, notes: list[str]
) -> ManySystems:
    if not frame.has_header:
        detail = (
            "a header is needed with the names of the columns: id and the systems, or id, system and score."
        )
        raise frame.refused(0, "", "no_header", detail)
    cluster, weight, system = cluster_of(frame, options), weight_of(frame, options), system_of(frame, options)
    if system is not None:
        score = score_of(frame, options)
        rows = rows_by_system(frame, system)
        key = key_of_long(
            frame, frozenset((system, score, cluster, weight)), list(rows.values()), options, notes
        )
        reader = frame.reader_of([score], options, notes)
        notes.append(f"The score of an item is its {quoted(score)}.")
        places = Places(key, cluster, weight)
        systems = {name: outputs_of(frame, score, places, reader, own) for name, own in rows.items()}
        return ManySystems(systems, (), metric_of(score))
    taken = frozenset((cluster, weight, *(wanted or ())))
    (key,) = keys_of([Side(frame, taken)], options, notes)
    note_index(frame, key, notes)
    columns = others_of(frame, options, [*key.columns, *([key.run] if key.run else [])])
    texts = [name for name in columns if frame.is_text(name)]
    chosen = _columns(frame.top, columns, texts, wanted, notes)
    at = {name: frame.names.index(name) for name in chosen}
    if wanted is None:
        refuse_no_systems(at)
    reader = frame.reader_of(chosen, options, notes)
    places = Places(key, cluster, weight)
    systems = {name: outputs_of(frame, name, places, reader) for name in chosen}
    if wanted is None:
        for name, outputs in systems.items():
            refuse_index(name, at[name], outputs.values)
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
