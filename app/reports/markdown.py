"""A table for the comment of a pull request."""

from __future__ import annotations

from app.inference.record import TestRecord
from app.reports.labels import for_markdown
from app.reports.line import kind
from app.reports.numerals import number, probability


def markdown(record: TestRecord, test_id: str) -> str:
    """The answer as GitHub-flavoured Markdown."""
    statistic, items = record.statistic, record.items
    verdict = "significant" if record.significant else "not significant"
    p = probability(record.p_value, record.log10_p_value)
    rows = [
        ("p-value", f"**{p}** ({record.alternative}, {kind(record)})"),
        ("verdict", f"{verdict} at {number(record.alpha)}"),
        (f"`{statistic.name}`", number(statistic.observed)),
    ]
    for name, score in ((record.name_u, statistic.u), (record.name_v, statistic.v)):
        if score is not None:
            rows.append((for_markdown(name), number(score)))
    rows += [
        ("items", _items(record)),
        ("wins / ties / losses", f"{items.wins:,} / {items.ties:,} / {items.losses:,}"),
        ("method", f"`{record.method.name}`"),
    ]
    if record.item_level is not None:
        level = record.item_level
        rows.insert(1, ("p-value by item", probability(level.p_value, level.log10_p_value)))
    lines = ["| paired test | |", "|---|---|", *(f"| {left} | {right} |" for left, right in rows)]
    lines += [f"\n> **{caution.code}**: {_prose(caution.detail)}" for caution in record.warnings]
    return "\n".join([*lines, "", f"<sub>exactperm {test_id}</sub>", ""])


def _items(record: TestRecord) -> str:
    clusters = record.items.clusters
    return f"{record.items.n:,}" if clusters is None else f"{record.items.n:,} in {clusters:,} clusters"


def _prose(sentence: str) -> str:
    return " ".join(sentence.split())
