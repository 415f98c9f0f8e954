"""A gate as CSV: a row for each metric."""

from __future__ import annotations

from app.inference.gate_record import GateRecord, MetricRecord
from app.reports.labels import for_csv
from app.reports.row import boolean, fields, written


def gate_rows(gate: GateRecord, gate_id: str) -> str:
    """One row a metric; the gate's own verdict stands in every one of them."""
    return written([_row(gate, gate_id, metric) for metric in gate.metrics])


def _row(gate: GateRecord, gate_id: str, metric: MetricRecord) -> dict[str, str]:
    terms, decision = metric.terms, metric.decision
    return {
        "id": gate_id,
        "verdict": gate.verdict,
        "passed": boolean(gate.passed),
        "metric": for_csv(metric.name),
        "metric_verdict": metric.verdict,
        "policy": terms.policy,
        "margin": repr(terms.margin),
        "higher_is_better": boolean(terms.higher_is_better),
        "procedure": decision.procedure,
        "decision_p_value": repr(decision.p_value),
        "decision_p_value_adjusted": repr(decision.p_value_adjusted),
        "decision_exact": boolean(decision.exact),
        "reason": for_csv(metric.reason),
        **fields(metric.test),
    }
