"""Bodies of scores that are no JSON requests: CSV, TSV, lines of JSON, and arrays of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidTest
from ...inputs import npy
from ...inputs.alignment import Gapped, Given, system_pointer
from ...inputs.formats.many_systems import Table
from ...inputs.formats.outputs_by_id import in_words
from ...inputs.systems_rows import LongBoard, WideBoard
from .given import GivenBoard
from .names import without_ids

Boards = dict[str | None, GivenBoard]


def of_table(table: Table) -> Boards:
    """The boards of a long or wide table, which know where their values stand."""
    return {name: _of_long(board, table) for name, board in table.long.items()} | {
        name: _of_wide(board, table) for name, board in table.wide.items()
    }


def has_weights(boards: Boards) -> bool:
    """Whether items count by a column."""
    return any(board.weights is not None for board in boards.values())


def _of_wide(board: WideBoard, table: Table) -> GivenBoard:
    frame, by_pointer = table.frame, {system_pointer(name): name for name in board.systems} | table.columns

    def place(column: str, index: int, rest: Sequence[str]) -> str:
        name = by_pointer.get(column, "")
        mask = board.missing.get(name)
        row = int(board.rows[index if mask is None else np.flatnonzero(~mask)[index]])
        return "/".join([frame.place(row, name), *rest])

    whole = {pointer: frame.at_top(name) for pointer, name in by_pointer.items()}
    keys = board.ids
    if board.missing and keys is None:
        keys = [in_words(frame.path(row)) for row in board.rows.tolist()]
    columns = _gapped(board.systems, board.missing)
    return GivenBoard(columns, None, keys, board.clusters, place, whole, weights=board.weights)


def _gapped(systems: Mapping[str, Any], missing: Mapping[str, NDArray[np.bool_]]) -> dict[str, Given]:
    """Columns without the values that are missing."""
    columns: dict[str, Given] = {}
    for name, column in systems.items():
        gone = missing.get(name)
        columns[name] = column if gone is None else Gapped(column[~gone], np.flatnonzero(~gone), len(column))
    return columns


def _of_long(board: LongBoard, table: Table) -> GivenBoard:
    frame, score = table.frame, table.columns["/score"]
    by_pointer = {system_pointer(name): name for name in board.values}

    def place(column: str, index: int, rest: Sequence[str]) -> str:
        name = by_pointer.get(column)
        if name is None:
            return column
        return "/".join([frame.place(int(board.rows[name][index]), score), *rest])

    n = len(board.ids)
    columns = {name: Gapped(column, board.positions[name], n) for name, column in board.values.items()}
    whole = _FirstLines(by_pointer, board, frame.place)
    return GivenBoard(columns, None, board.ids, board.clusters, place, whole, weights=board.weights)


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


def of_array(body: bytes | bytearray, systems: Sequence[str] | None, *, may_be_missing: bool) -> Boards:
    """The board of an N x K array; raises InputError with pointers `/<row>/<column>`, from zero.

    NaN is missing where `on_missing` says what to do about it.
    """
    if systems is None:
        detail = "Name the columns of the array: `systems=A,B,C`, as many as it has."
        raise InvalidTest.at("/systems", "missing", detail)
    columns = npy.read_columns(body, len(systems), may_be_missing=may_be_missing)
    by_name, ids = without_ids(dict(zip(systems, columns, strict=True)), ())
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
    keys = [f"row {row}" for row in range(len(columns[0]))] if missing and ids is None else ids
    return {None: GivenBoard(_gapped(ordered, missing), ids=keys, place=place, columns=whole)}
