"""A gate as CSV: a header and one row for each metric."""

from __future__ import annotations

from ..inference.gate.record import GateRecord, MetricRecord
from .csv_row import boolean, data_fields, description_fields, listed, written
from .escaping import for_csv


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
        "p_value": repr(decision.p_value),
        "log10_p_value": repr(decision.log10_p_value),
        "p_value_low": repr(decision.p_value_bounds[0]),
        "p_value_high": repr(decision.p_value_bounds[1]),
        "p_value_bounds_kind": decision.p_value_bounds_kind,
        "exact": boolean(decision.exact),
        "min_attainable_p": repr(decision.min_attainable_p),
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
