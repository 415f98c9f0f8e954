"""Bodies of scores that are no JSON requests: CSV, TSV, lines of JSON, and arrays of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidTest
from ...inputs import delimited, npy, system_lines, systems_table
from ...inputs.alignment import Gapped, Given, Placed, Positions, system_pointer
from ...inputs.delimited import Delimiter
from ...inputs.formats.metrics import metric_of_columns
from ...inputs.formats.outputs_by_id import WEIGHTED
from ...inputs.quoting import quoted
from ...inputs.systems_rows import LongBoard
from ...inputs.systems_table import SystemsTable, WideBoard
from ...statistics.direction import of_name
from .given import GivenBoard

Boards = dict[str | None, GivenBoard]
FIELD = {"/ids": "id", "/clusters": "cluster", "/weights": "weight"}
NAMED_COLUMNS = 5


def of_table(
    body: bytes | bytearray, delimiter: Delimiter, systems: Sequence[str] | None
) -> tuple[Boards, SystemsTable]:
    """The boards of a long or wide table, and what was read; raises InputError with pointers to its lines."""
    table = systems_table.read(body, delimiter, systems)

    @cache
    def lines() -> list[int]:
        """Read again when something is wrong, and only once."""
        return [line for line, _ in delimited.rows_of(delimited.text_of(body), delimiter)[1:]]

    if table.long:
        field = table.fields["score"] + 1
        return {
            name: _of_long(board, lambda row: f"/line/{lines()[row]}", f"/{field}")
            for name, board in table.long.items()
        }, table
    return {name: _of_wide(board, table.fields, lines) for name, board in table.wide.items()}, table


def metric_of(table: SystemsTable) -> str | None:
    """What the columns of a wide table all measure, by their names.

    Raises
    ------
    InvalidTest
        Some are named after a metric that is better when higher, others after one that is better when lower: these are
        metrics of one system. An explicit choice of columns is followed.
    """
    names = list(dict.fromkeys(name for board in table.wide.values() for name in board.systems))
    if len(names) < 2:
        return None
    directions = {of_name(name): name for name in reversed(names)}
    if True in directions and False in directions and not table.skipped:
        detail = (
            f"{quoted(directions[True])} is better when higher and {quoted(directions[False])} when lower, by their names: these are "
            "metrics and no systems. Give a column for each system, or name the columns to compare (`systems`)."
        )
        raise InvalidTest.at("/line/1", "columns_are_metrics", detail)
    return metric_of_columns(names)


def notes_of(table: SystemsTable) -> tuple[str, ...]:
    """Whether items have weights, and which columns of a wide table were not chosen."""
    boards: list[WideBoard | LongBoard] = [*table.wide.values(), *table.long.values()]
    weighted = (WEIGHTED,) if any(board.weights is not None for board in boards) else ()
    names = table.skipped
    if not names:
        return weighted
    more = f" and {len(names) - NAMED_COLUMNS:,} more" if len(names) > NAMED_COLUMNS else ""
    return (
        *weighted,
        f"{len(names)} other columns were skipped: {', '.join(map(quoted, names[:NAMED_COLUMNS]))}{more}.",
    )


def _of_wide(board: WideBoard, fields: Mapping[str, int], lines: Any) -> GivenBoard:
    by_pointer = {system_pointer(name): name for name in board.systems}

    def place(column: str, index: int, rest: Sequence[str]) -> str:
        name = by_pointer.get(column, FIELD.get(column, ""))
        mask = board.missing.get(name)
        row = int(board.rows[index if mask is None else np.flatnonzero(~mask)[index]])
        return f"/line/{lines()[row]}" + (f"/{fields[name] + 1}" if name in fields else "")

    whole = {pointer: f"/line/1/{fields[name] + 1}" for pointer, name in by_pointer.items()}
    whole |= {pointer: f"/line/1/{fields[name] + 1}" for pointer, name in FIELD.items() if name in fields}
    keys = board.ids
    if board.missing and keys is None:
        keys = [f"line {line}" for line in np.array(lines())[board.rows].tolist()]
    columns = _gapped(board.systems, board.missing)
    return GivenBoard(columns, None, keys, board.clusters, place, whole, weights=board.weights)


def _gapped(systems: Mapping[str, Any], missing: Mapping[str, NDArray[np.bool_]]) -> dict[str, Given]:
    """Columns without the values that are missing."""
    columns: dict[str, Given] = {}
    for name, column in systems.items():
        gone = missing.get(name)
        columns[name] = column if gone is None else Gapped(column[~gone], np.flatnonzero(~gone), len(column))
    return columns


def _of_long(board: LongBoard, line: Callable[[int], str], field: str) -> GivenBoard:
    by_pointer = {system_pointer(name): name for name in board.values}

    def place(column: str, index: int, rest: Sequence[str]) -> str:
        name = by_pointer.get(column)
        if name is None:
            return column
        return "/".join([line(int(board.rows[name][index])) + field, *rest])

    positions: dict[str, Positions | None] = {}
    for name, own in board.positions.items():
        whole = len(own) == len(board.ids) and bool((own == np.arange(len(own))).all())
        positions[system_pointer(name)] = None if whole else own
    whole_at = _FirstLines(by_pointer, board, line)
    placed = Placed(board.ids, positions)
    return GivenBoard(board.values, None, None, board.clusters, place, whole_at, placed, board.weights)


class _FirstLines(Mapping[str, str]):
    """The line of each system's first row, looked up only for an error: it means to read the table again."""

    def __init__(self, by_pointer: Mapping[str, str], board: LongBoard, line: Callable[[int], str]) -> None:
        self.rows = {
            pointer: board.rows[name] for pointer, name in by_pointer.items() if len(board.rows[name])
        }
        self.line = line

    def __getitem__(self, pointer: str) -> str:
        return self.line(int(self.rows[pointer].min()))

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def of_lines(body: bytes | bytearray) -> Boards:
    """The boards of lines of JSON; raises InputError with pointers to them."""
    boards, lines = system_lines.read(body)
    return {
        name: _of_long(board, lambda row: f"/line/{row + 1 if lines is None else lines[row]}", "/score")
        for name, board in boards.items()
    }


def of_array(body: bytes | bytearray, systems: Sequence[str] | None, *, may_be_missing: bool) -> Boards:
    """The board of an N x K array; raises InputError with pointers `/<row>/<column>`, from zero.

    NaN is missing where `on_missing` says what to do about it.
    """
    if systems is None:
        detail = "Name the columns of the array: `systems=A,B,C`, as many as it has."
        raise InvalidTest.at("/systems", "missing", detail)
    columns = npy.read_columns(body, len(systems), may_be_missing=may_be_missing)
    by_name = dict(zip(systems, columns, strict=True))
    position = {system_pointer(name): index for index, name in enumerate(systems)}
    missing = {
        name: np.isnan(column)
        for name, column in by_name.items()
        if column.dtype == np.float64 and np.isnan(column).any()
    }

    def place(column: str, index: int, rest: Sequence[str]) -> str:
        mask = missing.get(systems[position[column]])
        row = index if mask is None else int(np.flatnonzero(~mask)[index])
        return f"/{row}/{position[column]}"

    ordered = {name: by_name[name] for name in sorted(by_name)}
    whole = dict.fromkeys(position, "/?systems")
    keys = [f"row {row}" for row in range(len(columns[0]))] if missing else None
    return {None: GivenBoard(_gapped(ordered, missing), ids=keys, place=place, columns=whole)}
