"""One file, or a body, that holds many systems: tables and lines of JSON, wide or long; and shapes of tools.

Wide tables have a column for each system, long ones a row for each item and system. A column of data sets makes a board of
each. An empty field, NA or NaN is a missing value.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import Choice, InvalidTest, choices_of, relocated
from ...inference.reading import LeftOut
from ...statistics.direction import of_name
from ...statistics.item_order import taken
from ...statistics.paired import Column, Repeated
from ...statistics.summary_rows import is_summary
from ...statistics.weights import weights_of
from .. import columns
from ..frame import Frame
from ..names import DATASET, INDEX, SCORE, folded, gold_among, is_one_of
from ..quoting import quoted
from ..roles import (
    Key,
    Side,
    cluster_of,
    keys_of,
    note_index,
    others_of,
    score_of,
    sets_of,
    system_of,
    weight_of,
)
from ..sides import is_context
from ..systems_rows import Codes, Keys, LongBoard, LongRows, WideBoard, boards_of, coded_keys
from . import eval_logs, shapes, tool_shapes
from .metrics import metric_of, metric_of_columns
from .number_text import NumberReader
from .outputs_by_id import SystemOutputs, Value, mismatch
from .reader import Finding, ReaderOptions, choose
from .source import Source
from .tables import (
    frame_in,
    ids_of,
    key_of_long,
    of_outcomes,
    refuse_averages,
    refuse_metrics,
    samples_finding,
    some,
    texts_of,
)

SHAPES = {shape.name: shape for shape in (*eval_logs.LOGS, *tool_shapes.SHAPES) if "file" in shape.roles}
FORMATS = ("csv", "tsv", "mqm", "jsonl", *SHAPES)
SYSTEMS = "systems"
# Columns of data sets that are a board each.
OF_A_BOARD = ("dataset", "dataset_name", "benchmark")
LEAST_COUNTED = 5
Gaps = dict[str, NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Table:
    """The boards of a frame by data set, None where there is no column of them; `columns` are the frame's, by pointer."""

    frame: Frame
    columns: dict[str, str]
    wide: dict[str | None, WideBoard] = field(default_factory=dict)
    long: dict[str | None, LongBoard] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ManySystems:
    """The systems of a file, as boards of a table or as outputs of each, and what it says of the metric; `notes` tell what was read."""

    found: Table | dict[str, SystemOutputs]
    notes: tuple[str, ...]
    metric: str | None = None
    higher_is_better: bool | None = None
    findings: tuple[Finding, ...] = ()


def read(source: Source, format_: str, options: ReaderOptions, wanted: Sequence[str] | None) -> ManySystems:
    """The systems of a file, those that are `wanted`, where that is given.

    Raises
    ------
    MalformedBody, InvalidTest
        As the format's reader does; pointers are `/files/file/…`, `/options/<name>`, `/systems`.
    """
    notes: list[Any] = []
    if format_ in SHAPES:
        found, systems = _outputs(source, format_, options, wanted, notes)
        counts = list(map(len, systems.values()))
    else:
        found, table = _systems(frame_in(source, options, notes, format_), options, wanted, notes)
        counts = [len(column) for board in table.wide.values() for column in board.systems.values()]
        counts += [len(column) for board in table.long.values() for column in board.values.values()]
    if not source.is_body:
        notes.append(f"{sum(counts):,} values of {len(counts):,} systems read from {source.label}.")
    notes.extend(NumberReader.of(options).note())
    return replace(found, notes=(*found.notes, *notes))


def _outputs(
    source: Source, format_: str, options: ReaderOptions, wanted: Sequence[str] | None, notes: list[Any]
) -> tuple[ManySystems, dict[str, SystemOutputs]]:
    """The outputs of the systems of a tool's file."""
    systems, metric, better = shapes.board(SHAPES[format_], source, options, notes)
    if wanted is not None:
        systems = _chosen(systems, wanted, notes)
    return ManySystems(systems, (), metric, better), systems


def _chosen(
    systems: dict[str, SystemOutputs], wanted: Sequence[str], notes: list[Any]
) -> dict[str, SystemOutputs]:
    _refuse_unknown(list(systems), wanted)
    _note_skipped([name for name in systems if name not in wanted], "systems", notes)
    return {name: systems[name] for name in wanted}


def _refuse_unknown(known: Sequence[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in known:
            detail = f"There is no system {quoted(name)}; there are {some(known)}."
            raise InvalidTest.at("/systems", "unknown_system", detail)


def _note_skipped(names: Sequence[str], what: str, notes: list[Any]) -> None:
    if names:
        notes.append(f"{len(names):,} other {what} were skipped: {some(names)}.")


def _systems(
    frame: Frame, options: ReaderOptions, wanted: Sequence[str] | None, notes: list[Any]
) -> tuple[ManySystems, Table]:
    if not frame.has_header:
        detail = (
            "a header is needed with the names of the columns: id and the systems, or id, system and score."
        )
        raise frame.refused(0, "", "no_header", detail)
    system = system_of(frame, options)
    if system is None:
        return _wide(of_outcomes(frame, options, notes), options, wanted, notes)
    return _long(frame, system, options, wanted, notes)


def _long(
    frame: Frame, system: str, options: ReaderOptions, wanted: Sequence[str] | None, notes: list[Any],
    alike: Collection[int] | None = None,
) -> tuple[ManySystems, Table]:  # fmt: skip
    """The boards of a long table; where items were left out, of the rows that are `alike`."""
    before = len(notes)
    score = score_of(frame, options)
    cluster, weight, dataset = (
        cluster_of(frame, options),
        weight_of(frame, options),
        sets_of(frame, options, OF_A_BOARD),
    )
    names = texts_of(frame, system, range(frame.n))
    own = list(range(frame.n))
    if wanted is not None:
        known = list(dict.fromkeys(names))
        _refuse_unknown(known, wanted)
        _note_skipped([name for name in known if name not in wanted], "systems", notes)
        own = [row for row, name in enumerate(names) if name in wanted]
    if alike is not None:
        own = [row for row in own if row in alike]

    def coded(name: str | None) -> Keys | None:
        return None if name is None else coded_keys(texts_of(frame, name, own))

    systems, datasets = coded(system), coded(dataset)
    assert systems is not None
    taken = frozenset((system, score, cluster, weight, dataset))
    quick = _quick_key(frame, taken, own, systems, datasets, options)
    if quick is None:
        key = key_of_long(frame, taken, _groups(own, systems, datasets), options, notes)
        items = coded_keys(ids_of(frame, key, own))
    else:
        key, items = quick
    reader = frame.reader_of([score], options, notes)
    values, missing = _column(frame, score, frame.values(score, reader, own), own)
    if not frame.is_table or score.lower() != "score":
        notes.append(f"The score of an item is its {quoted(score)}.")
    _refuse_no_weights(frame, weight, own)
    ids = ids_of(frame, key, own)
    within = (
        ids if dataset is None else list(map("/".join, zip(texts_of(frame, dataset, own), ids, strict=True)))
    )
    unlike, findings = _other_items(frame, within, (*taken, *key.columns), own, len(systems.names), options)
    if unlike and options.on_mismatch == "drop":
        alike = frozenset(row for one, row in zip(within, own, strict=True) if one not in unlike)
        notes[before:] = [LeftOut("their rows", len(unlike), "likeness")]
        return _long(frame, system, replace(options, on_mismatch="keep"), wanted, notes, alike)
    findings = (*samples_finding(frame, key), *findings)
    rows = LongRows(
        items, systems, datasets, coded(cluster), missing, coded(weight), key.repeats
    )  # fmt: skip
    boards = boards_of(rows, values, lambda row: frame.place(own[row]))
    if len(own) < frame.n:
        at = np.array(own)
        boards = {
            name: replace(board, rows={one: at[each] for one, each in board.rows.items()})
            for name, board in boards.items()
        }
    named = {"/ids": key.columns[0], "/score": score}
    table = Table(frame, named, long=boards)
    return ManySystems(table, (), metric_of(score), findings=findings), table


def _other_items(
    frame: Frame,
    ids: Sequence[str],
    known: Collection[str | None],
    own: Sequence[int],
    n_systems: int,
    options: ReaderOptions,
) -> tuple[Collection[str], tuple[Finding, ...]]:
    """The ids whose rows describe different items, and what is not certain of these; raises InvalidTest where most do."""
    found: dict[str, tuple[str, Any, Any]] = {}
    pointer = frame.top
    for name in frame.names:
        if name in known or not is_context(name):
            continue
        values, first = frame.column(name), dict[str, Any]()
        if len(set(map(str, values))) <= n_systems and not is_one_of(name, DATASET):
            continue  # a source, or a prompt, of each system
        for key, row in zip(ids, own, strict=True):
            if first.setdefault(key, values[row]) != values[row] and key not in found:
                pointer = pointer if found else frame.place(row, name)
                found[key] = (folded(name), first[key], values[row])
    return found, mismatch(found, len(set(ids)), options, pointer, ("one row", "another"))


def _quick_key(
    frame: Frame, taken: frozenset[str | None], own: Sequence[int], systems: Keys, datasets: Keys | None, options: ReaderOptions
) -> tuple[Key, Keys] | None:  # fmt: skip
    """The column id and its keys, where each system has each of its values once: told at C speed."""
    name = frame.find(("id",))
    if name is None or name in taken or options.id_column is not None:
        return None
    items = coded_keys(texts_of(frame, name, own))
    codes = items.codes * len(systems.names) + systems.codes
    if datasets is not None:
        codes = codes * len(datasets.names) + datasets.codes
    return (Key((name,)), items) if (np.diff(np.sort(codes)) != 0).all() else None


def _groups(own: Sequence[int], systems: Keys, datasets: Keys | None) -> list[list[int]]:
    """The rows of each system, of each data set."""
    codes = systems.codes if datasets is None else systems.codes * len(datasets.names) + datasets.codes
    groups: dict[int, list[int]] = {}
    for row, code in zip(own, codes.tolist(), strict=True):
        groups.setdefault(code, []).append(row)
    return list(groups.values())


def _column(
    frame: Frame, name: str, values: list[Value], rows: Sequence[int]
) -> tuple[Column | Repeated, NDArray[np.bool_]]:
    """The values of rows, 0 where one is missing, and where that is; raises InvalidTest at the value."""
    missing = np.zeros(len(values), dtype=bool)
    if None in values:
        missing = np.fromiter((value is None for value in values), dtype=bool, count=len(values))
    several = tuple in set(map(type, values))
    if several and missing.any():
        detail = "a row without a score among rows with several samples: leave it out."
        raise frame.refused(rows[int(missing.argmax())], name, "missing_value", detail)
    with relocated(lambda pointer: frame.place(rows[int(pointer[1:])], name)):
        if not several:
            filled: list[Any] = (
                [0 if value is None else value for value in values] if missing.any() else values
            )
            return columns.numbers(filled, may_hold_booleans=False), missing
        each = [value if isinstance(value, tuple) else (value,) for value in values]
        lengths = np.fromiter(map(len, each), dtype=np.int64, count=len(each))
        at = np.repeat(np.arange(len(each)), lengths).tolist()
        with relocated(lambda pointer: f"/{at[int(pointer[1:])]}"):
            flat = columns.numbers([number for value in each for number in value], may_hold_booleans=False)
        return Repeated(flat, lengths), missing


def _refuse_no_weights(frame: Frame, weight: str | None, rows: Sequence[int]) -> None:
    """Refuse a weight that is none; raises InvalidTest at it."""
    if weight is not None:
        with relocated(lambda pointer: frame.place(rows[int(pointer[1:])], weight)):
            weights_of(texts_of(frame, weight, rows))


def _wide(
    frame: Frame, options: ReaderOptions, wanted: Sequence[str] | None, notes: list[Any]
) -> tuple[ManySystems, Table]:
    cluster, weight, dataset = (
        cluster_of(frame, options),
        weight_of(frame, options),
        sets_of(frame, options, OF_A_BOARD),
    )
    every = np.arange(frame.n)
    parts: dict[str | None, Codes] = {None: every}
    if dataset is not None:
        sets = coded_keys(texts_of(frame, dataset, range(frame.n)))
        parts = {name: np.flatnonzero(sets.codes == sets.names.index(name)) for name in sorted(sets.names)}
    first = None if dataset is None else next(iter(parts.values())).tolist()
    taken = frozenset((cluster, weight, dataset, *(wanted or ())))
    (key,) = keys_of([Side(frame, taken, first)], options, notes)
    note_index(frame, key, notes)
    others = others_of(
        frame, options, [*key.columns, *([key.run] if key.run else []), *([dataset] if dataset else [])]
    )
    texts = [name for name in others if frame.is_text(name)]
    if others:
        refuse_metrics(frame, key, next((name for name in others if name not in texts), others[0]))
    chosen = _columns(frame, others, texts, wanted, notes)
    if wanted is None:
        refuse_no_systems(frame, chosen)
    if not key.columns:
        refuse_averages(frame, (*chosen, cluster))
    reader = frame.reader_of(chosen, options, notes)
    scores: dict[str, Any] = {}
    gone: Gaps = {}
    for name in sorted(chosen):
        scores[name], missing = _column(frame, name, frame.values(name, reader), range(frame.n))
        if missing.any():
            gone[name] = missing
        elif wanted is None and not isinstance(scores[name], Repeated):
            refuse_index(frame, name, scores[name])
    _refuse_no_weights(frame, weight, range(frame.n))
    known = {"/ids": key.columns[0] if key.columns else None, "/clusters": cluster, "/weights": weight}
    boards = {name: _board(frame, key, cluster, weight, scores, gone, rows) for name, rows in parts.items()}
    if not key.columns and not frame.source.is_body:
        notes.append("The file has no ids: items were paired by their order.")
    metric = _metric_of(frame, chosen, wanted)
    table = Table(frame, {at: name for at, name in known.items() if name is not None}, wide=boards)
    return ManySystems(table, (), metric, findings=samples_finding(frame, key)), table


def _board(
    frame: Frame, key: Key, cluster: str | None, weight: str | None, scores: dict[str, Any], gone: Gaps, rows: Codes
) -> WideBoard:  # fmt: skip
    """The board of these rows; a system without any value on a data set was not run on it."""
    listed = rows.tolist()
    absent = {name: mask[rows] for name, mask in gone.items()}
    own = {name: column for name, column in scores.items() if name not in absent or not absent[name].all()}
    if len(rows) < frame.n:
        own = {name: taken(column, rows) for name, column in own.items()}
    ids = ids_of(frame, key, listed) if key.columns else None
    clusters, weights = (
        None if name is None else texts_of(frame, name, listed) for name in (cluster, weight)
    )
    gaps = {name: mask for name, mask in absent.items() if name in own and mask.any()}
    if ids is None or not key.repeats:
        return WideBoard(own, gaps, ids, clusters, rows, weights)
    for name, mask in gaps.items():
        raise frame.refused(
            listed[int(mask.argmax())], name, "missing_value", "one of several runs of an item has no value."
        )
    items = coded_keys(ids)
    order = np.argsort(items.codes, kind="stable")
    lengths = np.bincount(items.codes)
    first = order[np.concatenate(([0], np.cumsum(lengths)[:-1]))]
    own = {name: Repeated(taken(column, order), lengths) for name, column in own.items()}
    clusters, weights = (column and [column[at] for at in first.tolist()] for column in (clusters, weights))
    return WideBoard(own, {}, items.names, clusters, rows[first], weights)


def _metric_of(frame: Frame, names: Sequence[str], wanted: Sequence[str] | None) -> str | None:
    """What the columns of a wide table all measure, by their names.

    Raises
    ------
    InvalidTest
        Some are named after a metric that is better when higher, others after one that is better when lower: these are
        metrics of one system. An explicit choice of columns is followed.
    """
    if len(names) < 2:
        return None
    directions = {of_name(name): name for name in reversed(names)}
    if True in directions and False in directions and wanted is None:
        detail = (
            f"{quoted(directions[True])} is better when higher and {quoted(directions[False])} when lower, by their names: these are "
            "metrics and no systems. Give a column for each system, or name the columns to compare (`systems`)."
        )
        raise InvalidTest.at(frame.top, "columns_are_metrics", detail)
    return metric_of_columns(names)


def _columns(
    frame: Frame, names: list[str], texts: list[str], wanted: Sequence[str] | None, notes: list[Any]
) -> list[str]:
    """The columns of systems: those that are wanted, or all if they hold numbers."""
    if wanted is not None:
        _refuse_unknown(frame.names, wanted)
        _note_skipped([name for name in names if name not in wanted], "columns", notes)
        return list(wanted)
    if not texts:
        return names
    why = (
        f"{some(texts)} {'holds' if len(texts) == 1 else 'hold'} no numbers, so that not every column is a system; a long table has the "
        "columns id, system and score, by these names. "
    )
    numbers = [name for name in names if name not in texts]
    if len(numbers) > 1 and not any(is_one_of(name, SCORE) for name in numbers):
        notes.append(f"Columns of texts are no systems and were left out: {some(texts)}.")
        return numbers
    named = choose(frame.top, SYSTEMS, "columns of the systems", numbers or names, why, values=())
    raise InvalidTest.at(frame.top, named.flaws[0].code, named.detail, _only(numbers))


def _only(names: list[str]) -> tuple[Choice, ...]:
    """The choice of the columns of numbers, if they are a board."""
    value = json.dumps(names)
    title = f"Only {', '.join(names)}"
    return choices_of(SYSTEMS, {value: title}) if len(names) > 1 else ()


def refuse_no_systems(frame: Frame, names: Sequence[str]) -> None:
    """Refuse columns whose names say that they are no systems: averages of the others, gold."""
    gold = gold_among(names)
    for name in names:
        called = f"Column {frame.names.index(name) + 1} is called {quoted(name)}: "
        if is_one_of(name, INDEX):
            detail = "an index, as pandas writes it? Call it id if it holds the items' ids; else leave it out (index=False)."
            raise InvalidTest.at(frame.at_top(name), "index_column", called + detail)
        if is_summary(name) and of_name(name) is None:
            detail = "averages or totals of the others are no system. Remove it, or name the columns to compare (`systems`)."
            raise InvalidTest.at(frame.at_top(name), "summary_column", called + detail)
        if name == gold:
            detail = (
                "gold, which others are compared with, is no system. Name a statistic such as auc or accuracy, or name the columns to "
                "compare (`systems`)."
            )
            raise InvalidTest.at(frame.at_top(name), "gold_column", called + detail)


def refuse_index(frame: Frame, name: str, values: Column) -> None:
    """Refuse the numbers of the rows, from 0 or 1, as scores; raises InvalidTest at the column's name."""
    n = len(values)
    counted = n >= LEAST_COUNTED and values[0] in (0, 1) and (values == values[0] + np.arange(n)).all()
    if counted:
        detail = (
            f"Column {frame.names.index(name) + 1}, {quoted(name)}, counts the rows: an index and no scores. Call it id, leave it out, or "
            "name the columns to compare (`systems`)."
        )
        raise InvalidTest.at(frame.at_top(name), "index_column", detail)


def require_alike(systems: dict[str, SystemOutputs], source: Source) -> bool:
    """Whether the items have clusters; raises InvalidTest where only some have."""
    known = {cluster is not None for outputs in systems.values() for cluster in outputs.clusters}
    if len(known) > 1:
        detail = f"{source.label}: some items have a cluster and others have none."
        raise InvalidTest.at(source.pointer, "no_cluster", detail)
    return known == {True}
