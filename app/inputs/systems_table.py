"""Delimited tables with the scores of many systems: long `id,system,score`, or wide with a column for each system.

Both may have `dataset`, `cluster` and `weight`, and their columns are in any order. An empty field, NA or NaN is a missing value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from ..errors import InvalidTest, relocated
from ..statistics.direction import of_name
from ..statistics.paired import Column
from ..statistics.summary_rows import is_summary
from ..statistics.weights import weights_of
from . import columns, delimited, tiny_numbers
from .delimited import Delimiter
from .grid import Grid, Lines, grid_of
from .missing_texts import is_missing
from .names import INDEX, SURELY_GOLD, is_one_of
from .quoting import quoted
from .systems_rows import LongBoard, LongRows, boards_of, coded_keys

LONG = frozenset(("system", "score"))
KEYS = ("id", "dataset", "cluster", "weight")
LEAST_COUNTED = 5


@dataclass(frozen=True, slots=True)
class WideBoard:
    """Scores by system, shape (n,) each, and where they are missing; `rows` are the table's rows of these items."""

    systems: dict[str, Column]
    missing: dict[str, NDArray[np.bool_]]
    ids: list[str] | None
    clusters: list[str] | None
    rows: NDArray[np.int64]
    weights: list[str] | None = None


@dataclass(frozen=True, slots=True)
class SystemsTable:
    """Boards by data set (None where there is no column of them), and where values stand: fields by column.

    `lines` finds the line of each row, counted from one; `skipped` are columns that were not chosen.
    """

    wide: dict[str | None, WideBoard] = field(default_factory=dict)
    long: dict[str | None, LongBoard] = field(default_factory=dict)
    fields: dict[str, int] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()


def read(body: bytes | bytearray, delimiter: Delimiter, wanted: Sequence[str] | None = None) -> SystemsTable:
    """Read a table; of a wide one only the systems that are `wanted`, where that is given.

    Raises
    ------
    MalformedBody
        It is not UTF-8 or not delimited text.
    InvalidTest
        A line or the header is wrong, or a field is no number; pointers are `/line/<n>[/<field>]`, from one.
    """
    grid = grid_of(body, delimiter)
    folded = [name.lower() for name in grid.names]
    for position, name in enumerate(grid.names):
        if name in grid.names[:position] or (
            name.lower() in {*KEYS, *LONG} and folded.index(name.lower()) < position
        ):
            raise _at_column(position, "duplicate_column", f"There are two columns {quoted(name)}.")
    lines = Lines(body, delimiter)
    if set(folded) >= LONG:
        return _long(grid, folded, lines, wanted)
    return _wide(grid, folded, lines, wanted)


def _at_column(position: int, code: str, detail: str) -> InvalidTest:
    return InvalidTest.at(f"/line/1/{position + 1}", code, detail)


def _long(grid: Grid, folded: list[str], lines: Lines, wanted: Sequence[str] | None) -> SystemsTable:
    for position, name in enumerate(folded):
        if name not in {*KEYS, *LONG}:
            detail = f"Column {position + 1} of the header is not one of id, system, score, dataset, cluster, weight."
            raise _at_column(position, "unknown_column", detail)
    if "id" not in folded:
        detail = (
            "A long table needs a column id: the order of a system's lines among the others' is no pairing."
        )
        raise InvalidTest.at("/line/1", "choose_id_column", detail)
    if wanted is not None:
        detail = (
            "systems names the columns of a wide table or of an array; a long table names its systems itself."
        )
        raise InvalidTest.at("/systems", "superfluous", detail)
    position = folded.index("score")
    scores, missing = _numbers(grid.columns[position], grid.names[position], position, lines)
    ids, systems = grid.column("id"), grid.column("system")
    assert ids is not None
    assert systems is not None
    dataset, cluster, weight = (
        None if column is None else coded_keys(column)
        for column in (grid.column("dataset"), grid.column("cluster"), _weights(grid, folded, lines))
    )
    rows = LongRows(coded_keys(ids), coded_keys(systems), dataset, cluster, missing, weight)
    boards = boards_of(rows, scores, lambda row: f"/line/{lines.of(row)}")
    return SystemsTable(long=boards, fields={"score": position, "id": folded.index("id")})


def _wide(grid: Grid, folded: list[str], lines: Lines, wanted: Sequence[str] | None) -> SystemsTable:
    if _are_numbers(grid.names):
        detail = "Line 1 holds numbers: a table of systems needs a header with their names."
        raise InvalidTest.at("/line/1", "no_header", detail)
    positions = {name: position for position, name in enumerate(grid.names) if folded[position] not in KEYS}
    skipped: tuple[str, ...] = ()
    if wanted is not None:
        for name in wanted:
            if name not in positions:
                detail = f"There is no column {quoted(name)}; there are {', '.join(map(quoted, list(positions)[:20]))}."
                raise InvalidTest.at("/systems", "unknown_system", detail)
        skipped = tuple(name for name in positions if name not in wanted)
        positions = {name: positions[name] for name in wanted}
    else:
        refuse_no_systems(positions)
    scores: dict[str, Column] = {}
    gone: dict[str, NDArray[np.bool_]] = {}
    for name in sorted(positions):
        position = positions[name]
        values, missing = _numbers(grid.columns[position], grid.names[position], position, lines)
        if wanted is None and not missing.any():
            refuse_index(name, position, values)
        if missing.any():
            gone[name] = missing
        scores[name] = values
    ids, dataset, cluster = grid.column("id"), grid.column("dataset"), grid.column("cluster")
    weights = _weights(grid, folded, lines)
    ids = None if ids is None else [key.strip() for key in ids]
    clusters = None if cluster is None else [key.strip() for key in cluster]
    every = np.arange(len(grid.columns[0]))
    if dataset is None:
        boards: dict[str | None, WideBoard] = {None: WideBoard(scores, gone, ids, clusters, every, weights)}
    else:
        keys = coded_keys(dataset)
        boards = {}
        for name in sorted(keys.names):
            rows = np.flatnonzero(keys.codes == keys.names.index(name))
            absent = {system: mask[rows] for system, mask in gone.items()}
            # A system without any value on a data set was not run on it.
            own = {
                system: column[rows]
                for system, column in scores.items()
                if system not in absent or not absent[system].all()
            }
            gaps = {system: mask for system, mask in absent.items() if system in own and mask.any()}
            boards[name] = WideBoard(
                own, gaps, _some(ids, rows), _some(clusters, rows), rows, _some(weights, rows)
            )
    places = {**positions, **{name: folded.index(name) for name in KEYS if name in folded}}
    return SystemsTable(wide=boards, fields=places, skipped=skipped)


def _weights(grid: Grid, folded: list[str], lines: Lines) -> list[str] | None:
    """What each row's item counts for, as it is written; raises InvalidTest where one is no weight."""
    written = grid.column("weight")
    if written is None:
        return None
    written = [text.strip() for text in written]
    field = folded.index("weight") + 1
    with relocated(lambda pointer: f"/line/{lines.of(int(pointer[1:]))}/{field}"):
        weights_of(written)
    return written


def _some(keys: list[str] | None, rows: NDArray[np.int64]) -> list[str] | None:
    return None if keys is None else [keys[row] for row in rows.tolist()]


def _are_numbers(names: Sequence[str]) -> bool:
    """Whether the first line is data: all of its fields are numbers."""
    try:
        return all(np.isfinite(float(name)) for name in names)
    except ValueError:
        return False


def refuse_no_systems(positions: dict[str, int]) -> None:
    """Refuse columns whose names say that they are no systems: an index without a name, averages of the others, gold."""
    for name, position in positions.items():
        if is_one_of(name, INDEX):
            called = f"is called {quoted(name)}" if name else "has no name"
            detail = (
                f"Column {position + 1} {called}: an index, as pandas writes it? Call it id if it holds the items' ids; else leave "
                "it out (index=False), or name the columns to compare (`systems`)."
            )
            raise _at_column(position, "index_column", detail)
        if is_summary(name) and of_name(name) is None:
            detail = (
                f"Column {position + 1} is called {quoted(name)}: averages or totals of the others are no system. Remove it, or name "
                "the columns to compare (`systems`)."
            )
            raise _at_column(position, "summary_column", detail)
        if is_one_of(name, SURELY_GOLD):
            detail = (
                f"Column {position + 1} is called {quoted(name)}: gold, which others are compared with, is no system. Name a "
                "statistic such as auc or accuracy, or name the columns to compare (`systems`)."
            )
            raise _at_column(position, "gold_column", detail)


def refuse_index(name: str, position: int, values: Sequence[Any] | Column) -> None:
    """Refuse the numbers of the rows, from 0 or 1, as scores; raises InvalidTest at the column's field of line 1."""
    n = len(values)
    counted = n >= LEAST_COUNTED and values[0] in (0, 1) and values[n - 1] == values[0] + n - 1
    if counted and all(own == values[0] + row for row, own in enumerate(values)):
        detail = (
            f"Column {position + 1}, {quoted(name)}, counts the rows: an index and no scores. Call it id, leave it out, or name the "
            "columns to compare (`systems`)."
        )
        raise _at_column(position, "index_column", detail)


def _hint(name: str) -> str:
    """What may be meant by a column that holds no numbers."""
    for mark, called in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if mark in name:
            return (
                f" The header is separated by {called}: send commas as text/csv, tabs as text/tab-separated-values, or the file "
                "in a form (multipart/form-data), where the separator is found."
            )
    return " A long table has the columns id, system and score, by these names."


def _numbers(fields: list[str], name: str, position: int, lines: Lines) -> tuple[Column, NDArray[np.bool_]]:
    """The numbers of a column, 0 where one is missing, and where that is."""
    try:
        text = "[" + ",".join(fields) + "]"
        values: list[Any] = from_json(text, allow_inf_nan=False)
        if len(values) == len(fields) and not tiny_numbers.may_hold(text):
            return columns.numbers(values), np.zeros(len(fields), dtype=bool)
    except (ValueError, InvalidTest):
        pass  # with a missing value, or written otherwise than in JSON
    absent = np.fromiter((is_missing(text) for text in fields), dtype=bool, count=len(fields))
    numbers: list[int | float] = []
    for row, (text, gone) in enumerate(zip(fields, absent.tolist(), strict=True)):
        if gone:
            numbers.append(0)
            continue
        try:
            numbers.append(delimited.number_of(text, 0, position + 1))
        except InvalidTest as error:
            line = lines.of(row)
            if error.flaws[0].code == tiny_numbers.CODE:
                raise tiny_numbers.refusal(f"/line/{line}/{position + 1}") from None
            detail = (
                f"Field {position + 1} of line {line} is not a number, and its column is called {quoted(name)}: every column but id, "
                f"dataset, cluster and weight holds scores.{_hint(name)}"
            )
            raise InvalidTest.at(f"/line/{line}/{position + 1}", "not_a_number", detail) from None
    try:
        return columns.numbers(numbers, may_hold_booleans=False), absent
    except InvalidTest as error:
        flaw = error.flaws[0]
        line = lines.of(int(flaw.pointer[1:]))
        detail = f"Field {position + 1} of line {line}: {flaw.detail}"
        raise InvalidTest.at(f"/line/{line}/{position + 1}", flaw.code, detail) from None
