"""One row, with a header, for a spreadsheet or a results file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from app.inference.record import TestRecord
from app.reports.labels import for_csv


def row(record: TestRecord, test_id: str) -> str:
    """The answer as CSV (RFC 4180): numbers in full, booleans as true and false, nothing where there is nothing."""
    return written([{"id": test_id, **fields(record)}])


def written(rows: Sequence[Mapping[str, str]]) -> str:
    """Rows under the names of the first one's fields."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
    return text.getvalue()


def fields(record: TestRecord) -> dict[str, str]:
    """Everything of a test that fits a cell."""
    statistic, items, method, level = record.statistic, record.items, record.method, record.item_level
    interval, size, moved = record.confidence_interval, record.effect_size, record.moved
    pair = None if size is None else size.discordant
    return {
        "p_value": repr(record.p_value),
        "log10_p_value": repr(record.log10_p_value),
        "p_value_low": repr(record.p_value_bounds[0]),
        "p_value_high": repr(record.p_value_bounds[1]),
        "p_value_bounds_kind": record.p_value_bounds_kind,
        "significant": boolean(record.significant),
        "alpha": repr(record.alpha),
        "min_attainable_p": repr(record.min_attainable_p),
        "alternative": record.alternative,
        "test": record.test,
        "statistic": for_csv(statistic.name),
        "observed": repr(statistic.observed),
        "name_u": for_csv(record.name_u),
        "u": optional(statistic.u),
        "name_v": for_csv(record.name_v),
        "v": optional(statistic.v),
        "n": str(items.n),
        "nonzero": str(items.nonzero),
        "clusters": optional(items.clusters),
        "wins": str(items.wins),
        "ties": str(items.ties),
        "losses": str(items.losses),
        "item_level_p_value": optional(None if level is None else level.p_value),
        "confidence_level": optional(None if interval is None else interval.level),
        "interval_low": optional(None if interval is None else interval.low),
        "interval_high": optional(None if interval is None else interval.high),
        "interval_method": "" if interval is None else interval.method,
        "interval_kind": "" if interval is None else interval.kind,
        "cohens_d_z": optional(None if size is None else size.cohens_d_z),
        "cliffs_delta": optional(None if size is None else size.cliffs_delta),
        "only_u": optional(None if pair is None else pair.only_u),
        "only_v": optional(None if pair is None else pair.only_v),
        "moved": "" if moved is None else for_csv(" ".join((*moved.toward_u, *moved.toward_v))),
        "method": method.name,
        "exact": boolean(method.exact),
        "relative_error_bound": optional(method.relative_error_bound),
        "warnings": " ".join(caution.code for caution in record.warnings),
    }


def boolean(value: bool) -> str:
    """As JSON writes it."""
    return "true" if value else "false"


def optional(value: float | None) -> str:
    """A number in full, or nothing."""
    return "" if value is None else repr(value)
