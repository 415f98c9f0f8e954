"""One row, with a header, for a spreadsheet or a results file."""

from __future__ import annotations

import csv
import io

from app.inference.record import TestRecord
from app.reports.labels import for_csv


def row(record: TestRecord, test_id: str) -> str:
    """The answer as CSV (RFC 4180): numbers in full, booleans as true and false, nothing where there is nothing."""
    statistic, items, method, level = record.statistic, record.items, record.method, record.item_level
    fields = {
        "id": test_id,
        "p_value": repr(record.p_value),
        "log10_p_value": repr(record.log10_p_value),
        "p_value_low": repr(record.p_value_bounds[0]),
        "p_value_high": repr(record.p_value_bounds[1]),
        "p_value_bounds_kind": record.p_value_bounds_kind,
        "significant": _boolean(record.significant),
        "alpha": repr(record.alpha),
        "min_attainable_p": repr(record.min_attainable_p),
        "alternative": record.alternative,
        "test": record.test,
        "statistic": statistic.name,
        "observed": repr(statistic.observed),
        "name_u": for_csv(record.name_u),
        "u": _optional(statistic.u),
        "name_v": for_csv(record.name_v),
        "v": _optional(statistic.v),
        "n": str(items.n),
        "nonzero": str(items.nonzero),
        "clusters": _optional(items.clusters),
        "wins": str(items.wins),
        "ties": str(items.ties),
        "losses": str(items.losses),
        "item_level_p_value": _optional(None if level is None else level.p_value),
        "method": method.name,
        "exact": _boolean(method.exact),
        "relative_error_bound": _optional(method.relative_error_bound),
        "warnings": " ".join(caution.code for caution in record.warnings),
    }
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(fields)
    writer.writerow(fields.values())
    return text.getvalue()


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _optional(value: float | None) -> str:
    return "" if value is None else repr(value)
