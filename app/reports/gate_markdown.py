"""A gate for a comment on a pull request: the verdict in bold, a row for each metric, sentences, warnings."""

from __future__ import annotations

from ..inference.gate.record import GateRecord, MetricRecord
from ..inference.record import WarningRecord
from .certainty import decision_p_text, kind_of_decision
from .escaping import for_markdown, prose_for_markdown
from .markdown import folded, item_cells, moved_lists, quoted, reading, score_cells, table
from .number_format import exactly
from .sentence import metric_sentences, summary
from .titles import SYMBOLS, VERDICTS, head

_MARKS = {"pass": "✅", "fail": "❌", "inconclusive": "⚠️"}
_POLICIES = {"no_regression": "`no_regression`", "non_inferior": "`non_inferior`", "improve": "`improve`"}


def gate_markdown(gate: GateRecord, gate_id: str) -> str:
    """The gate as GitHub-flavoured Markdown. Verdicts are words; the marks only help to spot them."""
    return "\n\n".join(
        [
            _verdict(gate),
            _table(gate),
            *_sentences(gate),
            *_moved(gate),
            *quoted(_warnings(gate)),
            *reading(gate.notes),
            f"<sub>exactperm {gate_id}</sub>\n",
        ]
    )


def _verdict(gate: GateRecord) -> str:
    mark = _MARKS[gate.verdict]
    if len(gate.metrics) == 1:
        return f"{mark} **{head(gate)}** – {prose_for_markdown(gate.metrics[0].reason)}"
    words, _, rest = summary(gate, for_markdown).partition(" – ")
    return f"{mark} **{words}** – {rest}"


def _table(gate: GateRecord) -> str:
    """One row for each metric; columns that some of them lack are empty there."""
    rows = [_cells(gate, metric) for metric in gate.metrics]
    heads = list(dict.fromkeys(name for row in rows for name in row))
    return table(heads, [[row.get(name, "") for name in heads] for row in rows])


def _cells(gate: GateRecord, metric: MetricRecord) -> dict[str, str]:
    terms, decision, several = metric.terms, metric.decision, len(gate.metrics) > 1
    scores = score_cells(metric.test)
    scores.pop("d_z", None)
    if metric.name == metric.test.statistic.name:
        del scores["statistic"]
    return {
        "metric": for_markdown(metric.name),
        **({"verdict": f"{SYMBOLS[metric.verdict]} {VERDICTS[metric.verdict]}"} if several else {}),
        **scores,
        "policy": _POLICIES[terms.policy] + (f", margin {exactly(terms.margin)}" if terms.margin else ""),
        "p adjusted"
        if several
        else "p": f"{decision_p_text(decision, terms.alpha)} ({kind_of_decision(decision)})",
        **item_cells(metric.test),
    }


def _sentences(gate: GateRecord) -> list[str]:
    if len(gate.metrics) == 1:
        return [" ".join(metric_sentences(gate.metrics[0], for_markdown))]
    lines = [
        f"* **{VERDICTS[metric.verdict]}** {for_markdown(metric.name)} – {prose_for_markdown(metric.reason)} "
        + " ".join(metric_sentences(metric, for_markdown))
        for metric in gate.metrics
    ]
    return ["\n".join(lines)]


def _moved(gate: GateRecord) -> list[str]:
    lists = [
        (f"{for_markdown(metric.name)}, toward" if len(gate.metrics) > 1 else "toward", metric.test)
        for metric in gate.metrics
    ]
    return folded([line for toward, record in lists for line in moved_lists(record, toward)])


def _warnings(gate: GateRecord) -> list[WarningRecord]:
    """Each warning once, however many metrics have it."""
    return list(dict.fromkeys(warning for metric in gate.metrics for warning in metric.test.warnings))
