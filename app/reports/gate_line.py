"""A gate in one line that a log can keep."""

from __future__ import annotations

from app.inference.gate_record import GateRecord, MetricRecord
from app.reports.labels import for_line
from app.reports.line import ends
from app.reports.numerals import exactly as given, number, probability


def gate_line(gate: GateRecord, gate_id: str) -> str:
    """Verdict first, then every metric, without an end of line."""
    metrics = "; ".join(_metric(metric, alone=len(gate.metrics) == 1) for metric in gate.metrics)
    counted = f" (counts as {gate.on_inconclusive})" if gate.verdict == "inconclusive" else ""
    return f"{gate.verdict.upper()}{counted} {metrics} {gate_id}"


def _metric(metric: MetricRecord, *, alone: bool) -> str:
    terms, decision, test = metric.terms, metric.decision, metric.test
    statistic = test.statistic
    p = probability(decision.p_value_adjusted, decision.log10_p_value_adjusted, terms.alpha)
    words: list[str] = [] if alone else [metric.verdict]
    words += [
        for_line(metric.name),
        terms.policy,
        f"{'p' if alone else 'p_adjusted'}={p}",
        f"alpha={given(terms.alpha)}",
        f"difference={number(statistic.observed)}",
    ]
    if terms.margin:
        words.insert(-1, f"margin={given(terms.margin)}")
    for name, score in ((test.name_u, statistic.u), (test.name_v, statistic.v)):
        if score is not None:
            words.append(f"{for_line(name)}={number(score)}")
    if test.confidence_interval is not None:
        words.append(ends(test.confidence_interval))
    words += [
        f"n={test.items.n}",
        f"({'exact' if decision.exact else decision.p_value_bounds_kind}, {decision.procedure})",
    ]
    if not terms.higher_is_better:
        words.append("lower_is_better")
    return " ".join(words)
