"""Answers as CSV (RFC 4180), for a spreadsheet or a results file: a row for each test, metric, system, pair or
point.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Literal

from ..answers.board import LEFT_OUT, CompareRecord
from ..answers.gate import GateRecord
from ..answers.power import PowerRecord
from ..answers.test import TestRecord
from ..presentation.columns import (
    PAIR,
    POINT,
    POWER,
    SYSTEM,
    TEST,
    as_list,
    board_row,
    cells,
    member_row,
    metric_row,
)
from ..presentation.escaping import for_csv
from .board_words import all_warnings, named_boards, warned


def row(record: TestRecord, test_id: str) -> str:
    """The answer as CSV (RFC 4180): numbers in full, booleans as true and false, missing values empty.

    All columns are always present. With an `interval_method`, an empty end is unbounded; with `only_u` and `only_v`,
    empty odds are infinite.
    """
    return written([{"id": test_id, **cells(TEST, record)}])


def gate_rows(gate: GateRecord, gate_id: str) -> str:
    """One row for each metric: its verdict and the gate's, its terms, the decision, the observations.

    `p_value_adjusted` was compared with `alpha`; numbers are in full, and all columns are always present.
    """
    return written([{"id": gate_id, **metric_row(cells, gate, metric)} for metric in gate.metrics])


def written(rows: Sequence[Mapping[str, str]], header: Sequence[str] | None = None) -> str:
    """Rows of the same columns below their header, which is given if there may be no row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(rows[0] if header is None else header)
    writer.writerows(row.values() for row in rows)
    return text.getvalue()


def compare_csv(record: CompareRecord, compare_id: str, table: Literal["systems", "pairs"]) -> str:
    """A row for each system, best first, or for each listed pair; the overall board first, then each data set.

    Numbers are in full, missing values empty, and all columns are always present. `board` is overall, dataset, or empty
    for a single board. Only the first row has `notes`.
    """
    columns = SYSTEM if table == "systems" else PAIR
    rows, notes, header = [], _notes(record), ["id", "board", "dataset", *(column.name for column in columns)]
    behind: dict[str, str] = {}
    for named in named_boards(record.as_listed()):
        before = {"id": compare_id, "board": named.scope, "dataset": for_csv(named.dataset)}
        behind = board_row(cells, record, named.board)
        rows += [
            {**before, **member_row(cells, record, member, columns), **behind, "notes": next(notes)}
            for member in (named.board.systems if table == "systems" else named.board.pairs)
        ]
    return written(rows, None if rows else [*header, *behind, "notes"])


def _notes(record: CompareRecord) -> Iterator[str]:
    """How files were read, and which pairs are not listed, in the first row only: a board has thousands of pairs."""
    fewer = [warned(of, warning) for of, warning in all_warnings(record) if warning.code == LEFT_OUT]
    yield as_list((*(() if record.reading is None else record.reading.notes), *fewer))
    yield from repeat("")


def power_csv(record: PowerRecord, power_id: str) -> str:
    """The curve, a row for each point; every row repeats the question."""
    common = {"id": power_id, **cells(POWER, record)}
    points = [cells(POINT, point) for point in record.curve] or [{column.name: "" for column in POINT}]
    return written([{**common, **point} for point in points])
