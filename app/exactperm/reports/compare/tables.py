"""A comparison as CSV: its systems, or its pairs, of all boards."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Literal

from ...answers.board import LEFT_OUT, CompareRecord
from ...presentation.columns import PAIR, SYSTEM, as_list, board_row, cells
from ...presentation.escaping import for_csv
from ..csv_row import written
from .words import all_warnings, named_boards, warned


def compare_csv(record: CompareRecord, compare_id: str, table: Literal["systems", "pairs"]) -> str:
    """A row for each system, best first, or for each listed pair; the overall board first, then each data set.

    Numbers are in full, empty where there is no value, and every column is always there. `board` is overall, dataset,
    or empty for the only one. `notes` are in the first row alone.
    """
    columns = SYSTEM if table == "systems" else PAIR
    rows, notes, header = [], _notes(record), ["id", "board", "dataset", *(column.name for column in columns)]
    behind: dict[str, str] = {}
    for named in named_boards(record.as_listed()):
        before = {"id": compare_id, "board": named.scope, "dataset": for_csv(named.dataset)}
        behind = board_row(cells, record, named.board)
        rows += [
            {**before, **cells(columns, member), **behind, "notes": next(notes)}
            for member in (named.board.systems if table == "systems" else named.board.pairs)
        ]
    return written(rows, [*header, *behind, "notes"])


def _notes(record: CompareRecord) -> Iterator[str]:
    """How files were read, and which pairs are not here, in the first row alone: a board has thousands of pairs."""
    fewer = [warned(of, warning) for of, warning in all_warnings(record) if warning.code == LEFT_OUT]
    yield as_list((*(() if record.reading is None else record.reading.notes), *fewer))
    yield from repeat("")
