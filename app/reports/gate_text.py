"""A gate in one line, for logs; it begins with the verdict."""

from __future__ import annotations

from ..inference.gate.record import GateRecord, MetricRecord
from .certainty import decision_p_text, kind_of_decision
from .escaping import for_line
from .number_format import exactly
from .text import data_words, read
from .titles import VERDICTS, head


def gate_line(gate: GateRecord, gate_id: str) -> str:
    """The verdict, then the test behind each metric, without the line end."""
    notes = "".join(f" {word}" for word in read(gate.notes))
    if len(gate.metrics) == 1:
        return f"{head(gate)}: {_metric(gate.metrics[0])} {gate_id}{notes}"
    metrics = "; ".join(
        f"{for_line(metric.name)} {VERDICTS[metric.verdict]}: {_metric(metric)}" for metric in gate.metrics
    )
    return f"{head(gate)}: {len(gate.metrics)} metrics, Holm; {metrics}; {gate_id}{notes}"


def _metric(metric: MetricRecord) -> str:
    terms, decision = metric.terms, metric.decision
    margin = f" margin={exactly(terms.margin)}" if terms.margin else ""
    lower = "" if terms.higher_is_better else " lower_is_better"
    words = [
        f"{terms.policy}{margin}{lower}",
        f"p={decision_p_text(decision, terms.alpha)}",
        f"({kind_of_decision(decision)}, {decision.procedure}, {decision.alternative})",
        f"alpha={exactly(terms.alpha)}",
        *data_words(metric.test),
        *(f"[{warning.code}]" for warning in metric.test.warnings),
    ]
    return " ".join(words)
