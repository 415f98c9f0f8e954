"""A gate for the comment of a pull request: the verdict, a table of metrics, and the reasons."""

from __future__ import annotations

from app.inference.gate_record import GateRecord, MetricRecord, Verdict
from app.reports.labels import for_markdown, prose_for_markdown as for_prose
from app.reports.numerals import exactly as given, number, number as beside, percent, probability
from app.reports.sentence import sentences

SIGNS: dict[Verdict, str] = {"pass": "✅", "fail": "❌", "inconclusive": "⚠️"}
HEADS: dict[Verdict, str] = {"pass": "Pass", "fail": "Fail", "inconclusive": "Inconclusive"}


def gate_markdown(gate: GateRecord, gate_id: str) -> str:
    """The gate as GitHub-flavoured Markdown."""
    head = f"### {SIGNS[gate.verdict]} {HEADS[gate.verdict]}"
    if gate.verdict == "inconclusive":
        head += f", which counts as a {gate.on_inconclusive}"
    first = gate.metrics[0].test
    names = (for_markdown(first.name_u), for_markdown(first.name_v))
    if any((each.test.name_u, each.test.name_v) != (first.name_u, first.name_v) for each in gate.metrics):
        names = ("candidate", "baseline")
    p = "p (Holm)" if gate.correction else "p"
    table = [
        f"| metric | policy | {names[0]} | {names[1]} | difference | {p} | verdict |",
        "|---|---|---:|---:|---:|---:|---|",
        *(_row(metric) for metric in gate.metrics),
    ]
    lines = [head, "", for_prose(gate.reason), "", *table, ""]
    for metric in gate.metrics:
        name = f"{for_markdown(metric.name)}: " if len(gate.metrics) > 1 else ""
        lines.append(f"- {name}{' '.join(sentences(metric.test, for_markdown))}")
        lines += [
            f"  > **{caution.code}**: {' '.join(caution.detail.split())}" for caution in metric.test.warnings
        ]
    return "\n".join([*lines, "", f"<sub>exactperm {gate_id}</sub>", ""])


def _row(metric: MetricRecord) -> str:
    terms, decision, test = metric.terms, metric.decision, metric.test
    interval = test.confidence_interval
    difference = number(test.statistic.observed)
    if interval is not None:
        low = "−∞" if interval.low is None else beside(interval.low, 0.0)
        high = "∞" if interval.high is None else beside(interval.high, 0.0)
        difference += f"<br>{percent(interval.level)}: {low} to {high}"
    policy = terms.policy + (f", margin {given(terms.margin)}" if terms.margin else "")
    p = probability(decision.p_value_adjusted, decision.log10_p_value_adjusted, terms.alpha)
    cells = (
        for_markdown(metric.name) + ("" if terms.higher_is_better else " (lower is better)"),
        policy,
        _score(test.statistic.u),
        _score(test.statistic.v),
        difference,
        f"**{p}**",
        f"{SIGNS[metric.verdict]} {metric.verdict}",
    )
    return f"| {' | '.join(cells)} |"


def _score(score: float | None) -> str:
    return "" if score is None else number(score)
