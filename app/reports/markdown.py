"""A table for the comment of a pull request, with a sentence above it that says what it means."""

from __future__ import annotations

from collections.abc import Sequence

from app.inference.record import TestRecord
from app.reports.labels import for_markdown
from app.reports.line import kind
from app.reports.numerals import exactly as given, number, number as beside, percent, probability
from app.reports.sentence import sentences


def markdown(record: TestRecord, test_id: str) -> str:
    """The answer as GitHub-flavoured Markdown."""
    statistic, items = record.statistic, record.items
    verdict = "significant" if record.significant else "not significant"
    p = probability(record.p_value, record.log10_p_value, record.alpha)
    rows = [
        ("p-value", f"**{p}** ({record.alternative}, {kind(record)})"),
        ("verdict", f"{verdict} at {given(record.alpha)}"),
        (for_markdown(statistic.name), number(statistic.observed)),
    ]
    for name, score in ((record.name_u, statistic.u), (record.name_v, statistic.v)):
        if score is not None:
            rows.append((for_markdown(name), number(score)))
    rows += [
        *effects(record),
        ("items", _items(record)),
        ("wins / ties / losses", f"{items.wins:,} / {items.ties:,} / {items.losses:,}"),
        ("method", f"`{record.method.name}`"),
    ]
    if record.item_level is not None:
        level = record.item_level
        rows.insert(1, ("p-value by item", probability(level.p_value, level.log10_p_value, record.alpha)))
    lines = [" ".join(sentences(record, for_markdown)), "", "| paired test | |", "|---|---|"]
    lines += [f"| {left} | {right} |" for left, right in rows]
    lines += [f"\n> **{caution.code}**: {_prose(caution.detail)}" for caution in record.warnings]
    return "\n".join([*lines, "", f"<sub>exactperm {test_id}</sub>", ""])


def effects(record: TestRecord) -> list[tuple[str, str]]:
    """Interval, effect sizes and the ids that moved most, where they were asked for."""
    rows = []
    interval, size, moved = record.confidence_interval, record.effect_size, record.moved
    if interval is not None:
        low = "−∞" if interval.low is None else beside(interval.low, 0.0)
        high = "∞" if interval.high is None else beside(interval.high, 0.0)
        rows.append((f"{percent(interval.level)} interval", f"{low} to {high} ({interval.kind})"))
    if size is not None and size.cohens_d_z is not None:
        rows.append(("Cohen's d_z", number(size.cohens_d_z)))
    if size is not None and size.cliffs_delta is not None:
        rows.append(("Cliff's delta", number(size.cliffs_delta)))
    if size is not None and size.discordant is not None:
        pair = size.discordant
        rows.append(("right alone (U / V)", f"{pair.only_u:,} / {pair.only_v:,}"))
    if moved is not None:
        for name, ids in (("moved most, up", moved.toward_u), ("moved most, down", moved.toward_v)):
            if ids:
                rows.append((name, _ids(ids)))
    return rows


def _ids(ids: Sequence[str]) -> str:
    return ", ".join(for_markdown(key[:60]) for key in ids)


def _items(record: TestRecord) -> str:
    clusters = record.items.clusters
    return f"{record.items.n:,}" if clusters is None else f"{record.items.n:,} in {clusters:,} clusters"


def _prose(sentence: str) -> str:
    return " ".join(sentence.split())
