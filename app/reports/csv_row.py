"""A test, or each metric of a gate, as a row below a header: for a spreadsheet or a results file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence

from ..inference.gate.record import Decision, GateRecord, MetricRecord
from ..inference.record import TestRecord
from .escaping import for_csv, single_line


def row(record: TestRecord, test_id: str) -> str:
    """The answer as CSV (RFC 4180): numbers in full, booleans as true and false, empty where there is no value.

    All columns are always present. With an `interval_method`, an empty end is unbounded; with `only_u` and `only_v`,
    empty odds are infinite.
    """
    level, method, higher = record.item_level, record.method, record.statistic.higher_is_better
    fields = {
        "id": test_id,
        **p_value_fields(record),
        "significant": boolean(record.significant),
        "alpha": repr(record.alpha),
        "min_attainable_p": optional(record.min_attainable_p),
        "alternative": record.alternative,
        "test": record.test,
        "metric": for_csv(record.statistic.metric or ""),
        "higher_is_better": "" if higher is None else boolean(higher),
        **data_fields(record),
        "item_level_p_value": optional(None if level is None else level.p_value),
        "method": method.name,
        "exact": boolean(method.exact),
        "relative_error_bound": optional(method.relative_error_bound),
        "warnings": " ".join(warning.code for warning in record.warnings),
        **description_fields(record),
        "notes": listed(record.notes),
    }
    return written([fields])


def written(rows: Sequence[Mapping[str, str]], header: Sequence[str] | None = None) -> str:
    """Rows of the same columns, below their header; it is given where there may be no row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(rows[0] if header is None else header)
    writer.writerows(row.values() for row in rows)
    return text.getvalue()


def p_value_fields(test: TestRecord | Decision) -> dict[str, str]:
    """The p-value, its logarithm and its bounds."""
    return {
        "p_value": repr(test.p_value),
        "log10_p_value": repr(test.log10_p_value),
        "p_value_low": repr(test.p_value_bounds[0]),
        "p_value_high": repr(test.p_value_bounds[1]),
        "p_value_bounds_kind": test.p_value_bounds_kind,
    }


def data_fields(record: TestRecord) -> dict[str, str]:
    """What was observed: the statistic, the systems' scores, the items, and what missing outcomes leave open."""
    statistic, items = record.statistic, record.items
    return {
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
        **{name: optional(value) for name, value in missing_values(record).items()},
    }


def missing_values(record: TestRecord) -> dict[str, float | None]:
    """How many outcomes are missing, and both ends of the difference and the p-value over all that they may be."""
    missing = record.missing
    difference, p_value = (None, None) if missing is None else (missing.difference, missing.p_value)
    return {
        "missing": None if missing is None else missing.n,
        "missing_difference_worst": None if difference is None else difference[0],
        "missing_difference_best": None if difference is None else difference[1],
        "missing_p_value_least": None if p_value is None else p_value[0],
        "missing_p_value_greatest": None if p_value is None else p_value[1],
    }


def description_fields(record: TestRecord) -> dict[str, str]:
    """Interval, effect sizes and the items that moved most, their ids as lists of JSON."""
    interval, sizes, moved = record.confidence_interval, record.effect_size, record.moved
    odds = None if sizes is None else sizes.discordant
    return {
        "confidence_level": optional(None if interval is None else interval.level),
        "interval_low": optional(None if interval is None else interval.low),
        "interval_high": optional(None if interval is None else interval.high),
        "interval_method": "" if interval is None else interval.method,
        "interval_kind": "" if interval is None else interval.kind,
        "interval_resolution": optional(None if interval is None else interval.resolution),
        "cohens_d_z": optional(None if sizes is None else sizes.cohens_d_z),
        "cliffs_delta": optional(None if sizes is None else sizes.cliffs_delta),
        "only_u": optional(None if odds is None else odds.only_u),
        "only_v": optional(None if odds is None else odds.only_v),
        "odds": optional(None if odds is None else odds.odds),
        "odds_low": optional(None if odds is None else odds.odds_low),
        "odds_high": optional(None if odds is None else odds.odds_high),
        "moved_toward_u": "" if moved is None else listed(moved.toward_u),
        "moved_toward_v": "" if moved is None else listed(moved.toward_v),
    }


def boolean(value: bool) -> str:
    """As JSON writes it."""
    return "true" if value else "false"


def optional(value: float | None) -> str:
    """All digits, or empty."""
    return "" if value is None else repr(value)


def listed(texts: Iterable[str]) -> str:
    """Ids or notes as a JSON list."""
    return json.dumps([single_line(text) for text in texts])


def gate_rows(gate: GateRecord, gate_id: str) -> str:
    """One row for each metric: its verdict and the gate's, its terms, the decision, what was observed.

    `p_value_adjusted` is what was compared with `alpha`; numbers are in full, and every column is always there.
    """
    return written([_row(gate, gate_id, metric) for metric in gate.metrics])


def _row(gate: GateRecord, gate_id: str, metric: MetricRecord) -> dict[str, str]:
    terms, decision, record = metric.terms, metric.decision, metric.test
    return {
        "id": gate_id,
        "metric": for_csv(metric.name),
        "against": for_csv(metric.against or ""),
        "verdict": metric.verdict,
        "gate_verdict": gate.verdict,
        "gate_passed": boolean(gate.passed),
        "policy": terms.policy,
        "margin": repr(terms.margin),
        "alpha": repr(terms.alpha),
        "higher_is_better": boolean(terms.higher_is_better),
        "on_inconclusive": gate.on_inconclusive,
        "correction": gate.correction or "",
        "procedure": decision.procedure,
        "alternative": decision.alternative,
        "difference": repr(decision.difference),
        **p_value_fields(decision),
        "exact": boolean(decision.exact),
        "min_attainable_p": optional(decision.min_attainable_p),
        "p_value_adjusted": repr(decision.p_value_adjusted),
        "log10_p_value_adjusted": repr(decision.log10_p_value_adjusted),
        "significant": boolean(decision.significant),
        **data_fields(record),
        "method": record.method.name,
        "warnings": " ".join(warning.code for warning in record.warnings),
        **description_fields(record),
        "reason": for_csv(metric.reason),
        "notes": listed(record.notes),
    }
