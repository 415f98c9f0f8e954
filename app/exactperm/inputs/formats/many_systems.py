"""Read one file or body with many systems: wide or long tables, lines of JSON, and shapes of tools.

Wide tables have a column for each system, long ones a row for each item and system. A column of data sets makes each a board. An empty
field, NA or NaN is a missing value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ...answers.reading import LeftOut
from ...errors import InvalidTest, choices_of
from ...statistics.item_ids import is_summary
from ...statistics.names import of_name
from ...statistics.paired import StatisticSpec
from .. import roles
from ..alignment import Gapped, PairedColumns, Positions, RawColumn, system_pointer
from ..frame import Frame, Rows, frame_of
from ..names import INDEX, SCORE, gold_among, is_cost, is_one_of
from ..number_text import NumberReader
from ..quoting import quoted, some
from ..reader import Finding, ReaderOptions, Source, choose, in_words
from ..roles import Cells, Key, Places, Side
from . import eval_logs, outputs_by_id, shapes, tables, tool_shapes
from .outputs_by_id import SystemOutputs, by_id, clusters_of, column_of, known_of, written_weights
from .roles import metric_of, metric_of_columns

SHAPES = {shape.name: shape for shape in (*eval_logs.LOGS, *tool_shapes.SHAPES) if "file" in shape.roles}
FORMATS = ("csv", "tsv", "mqm", "jsonl", *SHAPES)
SYSTEMS = "systems"
# Columns of data sets, each of which becomes a board.
OF_A_BOARD = ("dataset", "dataset_name", "benchmark")
LEAST_COUNTED = 5
WHO = ("one row", "another")
Boards = dict[str | None, dict[str, SystemOutputs]]
_Read = tuple[Boards, str | None, tuple[Finding, ...]]  # with the metric


@dataclass(frozen=True, slots=True)
class ManySystems:
    """The systems of a file by data set (None without a column of data sets), its metric and direction, and `notes` about reading.

    For labels or scores with gold there are also the values of gold (`labels`) and the default statistic.
    """

    boards: Mapping[str | None, PairedColumns]
    notes: tuple[Any, ...]
    metric: str | None = None
    higher_is_better: bool | None = None
    findings: tuple[Finding, ...] = ()
    labels: frozenset[Any] = frozenset()
    default: StatisticSpec | None = None


def read(source: Source, format_: str, options: ReaderOptions, wanted: Sequence[str] | None) -> ManySystems:
    """Read the systems of a file, or only the `wanted` ones; raises as the format's reader does, and InvalidTest at `/systems`."""
    notes: list[Any] = []
    outputs: Boards
    findings: tuple[Finding, ...] = ()
    better = None
    if format_ in SHAPES:
        systems, metric, better = shapes.board(SHAPES[format_], source, options, notes)
        systems = {name: systems[name] for name in _chosen(list(systems), systems, wanted, "systems", notes)}
        outputs = {None: systems}
    else:
        frame = frame_of(source, options, notes, is_json=format_ == tables.JSON_LINES)
        if not frame.has_header:
            detail = "a header is needed with the names of the columns: id and the systems, or id, system and score."
            raise frame.refused(0, "", "no_header", detail)
        system = roles.system_of(frame, options)
        if system is None:
            outputs, metric, findings = _wide(
                tables.of_outcomes(frame, options, notes), options, wanted, notes
            )
        else:
            outputs, metric, findings = _long(frame, system, options, wanted, notes)
    if not source.is_body:
        counts = [
            len(known_of(each.values)[0]) for of_board in outputs.values() for each in of_board.values()
        ]
        notes.append(f"{sum(counts):,} values of {len(counts):,} systems read from {source.label}.")
    notes += NumberReader.of(options).note()
    boards = {name: _board(of_board, source) for name, of_board in outputs.items()}
    if any(board.weights is not None for board in boards.values()):
        notes.append(outputs_by_id.WEIGHTED)
    if any(each.by_order and isinstance(each.paths, list) for each in outputs.get(None, {}).values()):
        notes.append(outputs_by_id.PAIRED_BY_ORDER)
    return ManySystems(boards, tuple(notes), metric, better, findings)


def _chosen(
    known: Sequence[str], usual: Iterable[str], wanted: Sequence[str] | None, what: str, notes: list[Any]
) -> list[str]:
    """The wanted names, or the usual ones; raises InvalidTest at an unknown one."""
    usual = list(usual)
    for name in wanted or ():
        if name not in known:
            detail = f"There is no system {quoted(name)}; there are {some(known)}."
            raise InvalidTest.at("/options/systems", "unknown_system", detail)
    skipped = [] if wanted is None else [name for name in usual if name not in wanted]
    if skipped:
        notes.append(f"{len(skipped):,} other {what} were skipped: {some(skipped)}.")
    return usual if wanted is None else list(wanted)


def _long(
    frame: Frame, system: str, options: ReaderOptions, wanted: Sequence[str] | None, notes: list[Any]
) -> _Read:
    before = len(notes)
    score, dataset = roles.score_of(frame, options), roles.sets_of(frame, options, OF_A_BOARD)
    cluster, weight = roles.cluster_of(frame, options), roles.weight_of(frame, options)
    rows = tables.rows_by_system(frame, [name for name in (system, dataset) if name is not None])
    systems = list(dict.fromkeys(name for name, *_ in rows))
    chosen = frozenset(_chosen(systems, systems, wanted, "systems", notes))
    rows = {names: of_names for names, of_names in rows.items() if names[0] in chosen}
    taken = frozenset((system, score, cluster, weight, dataset))
    key = tables.key_of_long(frame, taken, rows.values(), options, notes)
    reader = frame.reader_of([score], options, notes)
    if not frame.is_table or score.lower() != "score":
        notes.append(f"The score of an item is its {quoted(score)}.")
    boards: Boards = {}
    for names, of_names in sorted(rows.items(), key=lambda item: item[0]):
        called = " of ".join(map(quoted, names))
        (outputs,) = tables.outputs_of(frame, [score], Places(key, cluster, weight), reader, of_names, called)
        boards.setdefault(names[1] if dataset else None, {})[names[0]] = outputs
    findings, unlike = tables.runs_findings(frame, key, options), 0
    for name in sorted(boards, key=str):
        keys, items_found = outputs_by_id.other_items(list(boards[name].values()), options, WHO, _place)
        findings += items_found
        if keys and options.on_mismatch == "drop":
            unlike += len(keys)
            boards[name] = {one: outputs.without(keys) for one, outputs in boards[name].items()}
    if unlike:
        notes.insert(before, LeftOut("their rows", unlike, "likeness"))
    boards = {name: boards[name] for name in sorted(boards, key=str)}
    return boards, metric_of(score), findings


def _place(outputs: SystemOutputs, at: int, name: str) -> str:
    """The pointer to the description of an item in this column."""
    cells: Cells = outputs.paths
    return cells.place(at, cells.frame.find((name,)))


def _wide(frame: Frame, options: ReaderOptions, wanted: Sequence[str] | None, notes: list[Any]) -> _Read:
    cluster, weight = roles.cluster_of(frame, options), roles.weight_of(frame, options)
    dataset = roles.sets_of(frame, options, OF_A_BOARD)
    parts: dict[str | None, Rows | None] = {None: None}
    if dataset is not None:
        parts = {
            name: of_name for (name,), of_name in sorted(tables.rows_by_system(frame, [dataset]).items())
        }
    taken = frozenset((cluster, weight, dataset, *(wanted or ())))
    (key,) = roles.keys_of([Side(frame, taken, next(iter(parts.values())))], options, notes)
    roles.note_index(frame, key, notes)
    runs, sets = [key.run] if key.run else [], [dataset] if dataset else []
    others = roles.others_of(frame, options, [*key.columns, *runs, *sets], least=2)
    empty = [name for name in frame.names if name and name not in others and frame.is_empty(name)]
    if empty and wanted is None:
        notes.append(f"Columns without a value were left out: {some(empty)}.")
    texts = [name for name in others if frame.is_text(name)]
    if others:
        tables.refuse_metrics(frame, key, next((name for name in others if name not in texts), others[0]))
    chosen = _columns(frame, others, texts, key.columns, wanted, notes)
    if wanted is None:
        refuse_no_systems(frame, chosen)
    if not key.columns:
        tables.refuse_averages(frame, (*chosen, cluster))
    reader, names = frame.reader_of(chosen, options, notes), sorted(chosen)
    boards: Boards = {}
    for part, rows in parts.items():
        systems = tables.outputs_of(frame, names, Places(key, cluster, weight), reader, rows, "")
        # A system without values on a data set was not run on it.
        boards[part] = {
            name: outputs
            for name, outputs in zip(names, systems, strict=True)
            if len(known_of(outputs.values)[0])
        }
        for name, outputs in boards[part].items() if wanted is None else ():
            refuse_index(frame, name, outputs.values)
    if not key.columns and not frame.source.is_body:
        notes.append("The file has no ids: items were paired by their order.")
    values = {name: outputs.values for of_board in boards.values() for name, outputs in of_board.items()}
    if (
        len(chosen) > 2
        and wanted is None
        and all(isinstance(column, np.ndarray) for column in values.values())
    ):
        odd = {name for name, column in values.items() if column.dtype == np.int64 and column.max() > 1}
        shares = [
            column.min() >= 0 and column.max() <= 1 for name, column in values.items() if name not in odd
        ]
        if len(odd) == 1 and all(shares):
            notes.append(
                f"{some([*odd])} holds whole numbers, the others shares: it was taken for a system, too (`systems` says which are)."
            )
    metric = _metric_of(frame, chosen, wanted)
    return boards, metric, tables.runs_findings(frame, key, options)


def _metric_of(frame: Frame, names: Sequence[str], wanted: Sequence[str] | None) -> str | None:
    """The metric of all columns of a wide table, by their names; raises InvalidTest if they are metrics of one system."""
    if len(names) < 2:
        return None
    directions = {of_name(name): name for name in reversed(names)}
    if True in directions and False in directions and wanted is None:
        detail = (
            f"{quoted(directions[True])} is better when higher and {quoted(directions[False])} when lower, "
            "by their names: these are metrics, not systems. Give a column for each system, or name the "
            "columns to compare (`systems`)."
        )
        raise InvalidTest.at(frame.top, "columns_are_metrics", detail)
    return metric_of_columns(names)


def _columns(
    frame: Frame, names: list[str], texts: list[str], key: Sequence[str], wanted: Sequence[str] | None, notes: list[Any]
) -> list[str]:  # fmt: skip
    """The columns of systems: the wanted ones, or all if they hold numbers."""
    if wanted is not None:
        return _chosen(frame.names, names, wanted, "columns", notes)
    costs = [name for name in names if is_cost(name) and of_name(name) is not None]
    if costs and len(names) - len(costs) - len(texts) > 1:  # costs of the outputs of one system
        notes.append(f"Costs are not systems and were left out: {some(costs)}.")
        names = [name for name in names if name not in costs]
    if not texts:
        return names
    why = (
        f"{some(texts)} {'holds' if len(texts) == 1 else 'hold'} no numbers, so that not every column is a system; a long table has the "
        "columns id, system and score, by these names. "
    )
    numbers = [name for name in names if name not in texts]
    if len(numbers) > 1 and not any(is_one_of(name, SCORE) for name in numbers):
        notes.append(f"Columns of texts are not systems and were left out: {some(texts)}.")
        return numbers
    if len(numbers) < 2 and (systems := roles.systems_shown(frame, key)):  # a row for each system of an item
        raise choose(frame.top, "system_column", "column of systems", systems)
    named = choose(frame.top, SYSTEMS, "columns of the systems", numbers or names, why, values=())
    only = (
        choices_of(SYSTEMS, {json.dumps(numbers): f"Only {', '.join(numbers)}"}) if len(numbers) > 1 else ()
    )
    raise InvalidTest.at(frame.top, named.flaws[0].code, named.detail, only)


def refuse_no_systems(frame: Frame, names: Sequence[str]) -> None:
    """Refuse columns whose names show that they are not systems: indexes, averages of the others, gold."""
    gold = gold_among(names)
    for name in names:
        if is_one_of(name, INDEX):
            code = "index_column"
            detail = "an index, as pandas writes it? Call it id if it holds the items' ids; else leave it out (index=False)."
        elif is_summary(name) and of_name(name) is None:
            code = "summary_column"
            detail = "averages or totals of the others are not a system. Remove it, or name the columns to compare (`systems`)."
        elif name == gold:
            code = "gold_column"
            detail = "gold, which others are compared with, is not a system. Name a statistic such as auc or accuracy, or name the columns to "
            detail += "compare (`systems`)."
        else:
            continue
        called = f"Column {frame.names.index(name) + 1} is called {quoted(name)}: "
        raise InvalidTest.at(frame.at_top(name), code, called + detail)


def refuse_index(frame: Frame, name: str, values: Any) -> None:
    """Refuse a column that counts the rows, from 0 or 1, as scores; raises InvalidTest at the column's name."""
    n = len(values)
    if not isinstance(values, np.ndarray) or n < LEAST_COUNTED or values[0] not in (0, 1):
        return
    if (values == values[0] + np.arange(n)).all():
        detail = (
            f"Column {frame.names.index(name) + 1}, {quoted(name)}, counts the rows: an index, not scores. "
            "Call it id, leave it out, or name the columns to compare (`systems`)."
        )
        raise InvalidTest.at(frame.at_top(name), "index_column", detail)


# Boards


def _board(systems: Mapping[str, SystemOutputs], source: Source) -> PairedColumns:
    """The columns of systems: by the ids of each, or, of a table, on the list of its items."""
    if all(isinstance(each.paths, Cells) for each in systems.values()):
        return _of_table({name: systems[name] for name in sorted(systems)})
    sides = {name: by_id(systems[name].ids, systems[name].values) for name in sorted(systems)}
    columns = {
        name: replace(side, values=cast("Any", column_of(side.values, name))) for name, side in sides.items()
    }
    names = {system_pointer(name): name for name in systems}

    def place(column: str, index: int | None, rest: Sequence[str]) -> str:
        if index is None:
            return source.pointer if column in {*names, "/weights"} else column
        if column not in names:
            return source.pointer
        outputs = systems[names[column]]
        return outputs.pointer(outputs.index[sides[names[column]].ids[index]])

    listed = list(systems.values())
    clustered = any(len(each) > each.clusters.count(None) for each in listed)
    clusters = clusters_of(listed) if clustered else None
    return PairedColumns(columns, place, clusters=clusters, weights=written_weights(listed))


def _of_table(systems: dict[str, SystemOutputs]) -> PairedColumns:
    """The columns of a table's systems, which share rows (wide) or have separate ones (long); items are in the order of their first rows."""
    if not systems:
        return PairedColumns({})
    listed = list(systems.values())
    first, is_wide = listed[0], all(each.ids is listed[0].ids for each in listed)
    frame, columns_of = first.paths.frame, cast("Places", first.paths.places)
    ids: list[str] | None = first.ids
    n, positions = len(first), [np.arange(len(first))] * len(listed)
    if not is_wide:
        ids, positions = _items_by_first_row([each.paths for each in listed])
        n = len(ids)
    columns: dict[str, RawColumn] = {}
    for (name, outputs), of_system in zip(systems.items(), positions, strict=True):
        values, there = known_of(outputs.values)
        column = cast("Any", column_of(values, name))
        where = of_system if there is None else of_system[there]
        columns[name] = column if is_wide and there is None else Gapped(column, where, n)
    places = dict(zip(map(system_pointer, systems), zip(listed, positions, strict=True), strict=True))

    def place(column: str, index: int | None, rest: Sequence[str]) -> str:
        """The pointer to a value; for a system of a long table, its first row. Used only for errors."""
        if column == "/weights" and columns_of.weight is not None:
            return str(frame.at_top(columns_of.weight))
        if column not in places:
            return column
        outputs, place_of = places[column]
        cells: Cells = outputs.paths
        if index is None:
            return str(frame.at_top(cells.column) if is_wide else frame.place(int(cells.rows.min())))
        return "/".join([cells.place(int(np.flatnonzero(place_of == index)[0])), *rest])

    clusters: Any = None
    if first.clusters[0] is not None:
        clusters = first.clusters if is_wide else clusters_of(systems.values())
    weights: Any = written_weights(
        [first] if is_wide else listed, lambda each, at: str(each.paths.place(at, columns_of.weight))
    )
    if is_wide and first.by_order:
        gaps = any(isinstance(column, Gapped) for column in columns.values())
        ids = list(map(in_words, first.paths)) if gaps else None
        weights = None if weights is None else list(weights.values())
    return PairedColumns(columns, place, ids=ids, clusters=clusters, weights=weights, distinct=True)


def _items_by_first_row(systems: Sequence[Cells]) -> tuple[list[str], list[Positions]]:
    """The items of a long table in the order of their first rows, and the positions of each system's items."""
    frame, key = systems[0].frame, Key(systems[0].places.key.columns)
    codes, every = frame.codes(key.columns), np.sort(np.concatenate([cells.rows for cells in systems]))
    assert codes is not None  # other keys than texts and whole numbers were refused
    first = np.full(int(codes.max()) + 1, -1)
    first[codes[every[::-1]]] = every[::-1]
    used = np.flatnonzero(first >= 0)
    used = used[np.argsort(first[used], kind="stable")]
    position = np.zeros(len(first), dtype=np.int64)
    position[used] = np.arange(len(used))
    return tables.ids_of(frame, key, first[used]), [position[codes[cells.rows]] for cells in systems]
