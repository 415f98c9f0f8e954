"""A test, or each metric of a gate, as a row below a header: for a spreadsheet or a results file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from ..answers.gate import GateRecord
from ..answers.test import TestRecord
from ..presentation.columns import TEST, cells, metric_row


def row(record: TestRecord, test_id: str) -> str:
    """The answer as CSV (RFC 4180): numbers in full, booleans as true and false, empty where there is no value.

    All columns are always present. With an `interval_method`, an empty end is unbounded; with `only_u` and `only_v`,
    empty odds are infinite.
    """
    return written([{"id": test_id, **cells(TEST, record)}])


def gate_rows(gate: GateRecord, gate_id: str) -> str:
    """One row for each metric: its verdict and the gate's, its terms, the decision, what was observed.

    `p_value_adjusted` is what was compared with `alpha`; numbers are in full, and every column is always there.
    """
    return written([{"id": gate_id, **metric_row(cells, gate, metric)} for metric in gate.metrics])


def written(rows: Sequence[Mapping[str, str]], header: Sequence[str] | None = None) -> str:
    """Rows of the same columns, below their header; it is given where there may be no row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(rows[0] if header is None else header)
    writer.writerows(row.values() for row in rows)
    return text.getvalue()
