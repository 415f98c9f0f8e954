"""A test, gate, comparison or power as a comment on a pull request: the verdict in bold, a table, sentences,
warnings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..answers.board import BoardRecord, CompareRecord, PairRecord
from ..answers.gate import GateRecord, MetricRecord, Verdict
from ..answers.power import PowerRecord
from ..answers.test import OF_SEVERAL, SlicesRecord, TestRecord, WarningRecord
from ..presentation.escaping import for_markdown, prose_for_markdown
from ..presentation.numbers import apart, counted, exactly, number, percent, signed
from ..presentation.words import SLICE_HEADS, VERDICTS, decision_p_text, p_text, slice_rows
from ..statistics.names import NO_NAME, directed, metric_title
from .board_words import (
    RELATIONS,
    NamedBoard,
    adjustment,
    against,
    all_warnings,
    by_names,
    confidence,
    kinds_in_words,
    listed,
    named_boards,
    p_and_kind,
    systems_table,
    toward,
    warned,
    what_was_measured,
    which_is_better,
)
from .sentences import (
    SYMBOLS,
    by_name,
    head,
    interval_text,
    item_level_p_text,
    manner,
    manner_of_decision,
    metric_name,
    metric_sentences,
    missing_words,
    sentences,
    summary,
    undecided,
)


def markdown(record: TestRecord, test_id: str) -> str:
    """The answer as GitHub-flavoured Markdown."""
    p = f"p = {p_text(record)} ({record.alternative}, {manner(record)})"
    cells = {**metric_cell(record), **score_cells(record), "p-value": p_text(record), **item_cells(record)}
    if (missing := missing_words(record)) is not None:
        cells |= {"missing": f"{missing.n:,}", "p-value over missing": f"{missing.low} to {missing.high}"}
    if record.item_level is not None:
        level = record.item_level
        cells["p-value by item"] = item_level_p_text(level, record.alpha)
    return "\n\n".join(
        [
            f"**{verdict(record)}**, {p}",
            table(list(cells), [list(cells.values())]),
            " ".join(sentences(record, for_markdown)),
            *_slices(record.slices, record.alpha),
            *folded(moved_lists(record)),
            *quoted(record.warnings),
            *reading(record.notes),
            f"<sub>exactperm {test_id}, method `{record.method.name}`</sub>\n",
        ]
    )


def _slices(slices: SlicesRecord | None, alpha: float) -> list[str]:
    """The table of slices."""
    if slices is None:
        return []
    return [table(SLICE_HEADS, [[for_markdown(name), *cells] for name, *cells in slice_rows(slices, alpha)])]


def verdict(record: TestRecord) -> str:
    """Significant, not significant or undecided at alpha."""
    if undecided(record):
        return f"Not settled at {exactly(record.alpha)}"
    return f"{'Significant' if record.significant else 'Not significant'} at {exactly(record.alpha)}"


def metric_cell(record: TestRecord) -> dict[str, str]:
    """Heading and cell of the metric and the better direction; empty for scores of an unknown metric."""
    statistic = record.statistic
    title = metric_title(statistic.name, statistic.metric, for_markdown)
    known = title != NO_NAME or statistic.higher_is_better is not None
    return {"metric": directed(title, statistic.higher_is_better)} if known else {}


def score_cells(record: TestRecord, *, head_v: str | None = None) -> dict[str, str]:
    """Heading and cell of the statistic, the scores, the difference and its interval; `head_v` replaces V's name."""
    statistic, interval = record.statistic, record.confidence_interval
    cells = {"statistic": by_name(statistic.name, statistic.metric, for_markdown)}
    if statistic.u is not None and statistic.v is not None:
        name_u, name_v = for_markdown(record.name_u), for_markdown(record.name_v)
        if head_v is not None:
            name_v = head_v
        elif name_u == name_v:
            name_u, name_v = f"{name_u} (U)", f"{name_v} (V)"
        cells[name_u], cells[name_v] = apart(statistic.u, statistic.v)
        cells["difference"] = signed(statistic.observed)
    else:
        cells["value"] = number(statistic.observed)
    if interval is not None:
        cells[f"{percent(interval.level)} interval"] = interval_text(interval)
    if record.effect_size is not None and record.effect_size.cohens_d_z is not None:
        cells["d_z"] = number(record.effect_size.cohens_d_z)
    return cells


def item_cells(record: TestRecord) -> dict[str, str]:
    """Heading and cell of the items, wins, ties and losses."""
    items = record.items
    clusters = "" if items.clusters is None else f" in {items.clusters:,} clusters"
    cells = {"items": f"{items.n:,}{clusters}"}
    if record.statistic.name not in OF_SEVERAL:
        cells["wins / ties / losses"] = f"{items.wins:,} / {items.ties:,} / {items.losses:,}"
    return cells


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, its first column to the left and numbers to the right."""
    lines = [f"| {' | '.join(heads)} |", f"|---|{'--:|' * (len(heads) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def table_of(rows: Iterable[dict[str, str]]) -> str:
    """A row for each; missing columns are empty."""
    every = list(rows)
    heads = list(dict.fromkeys(name for row in every for name in row))
    return table(heads, [[row.get(name, "") for name in heads] for row in every])


def moved_lists(record: TestRecord, toward: str = "toward") -> list[str]:
    """The ids of the items that moved most, one line for each system."""
    if record.moved is None:
        return []
    sides = ((record.name_u, record.moved.toward_u), (record.name_v, record.moved.toward_v))
    return [
        f"* {toward} {for_markdown(name)}: {', '.join(map(for_markdown, ids))}" for name, ids in sides if ids
    ]


def folded(lines: Sequence[str], title: str = "Items that moved most") -> list[str]:
    """A list that opens with a click; GitHub reads Markdown inside an element only after an empty line."""
    if not lines:
        return []
    return [f"<details><summary>{title}</summary>\n\n" + "\n".join(lines) + "\n\n</details>"]


def reading(notes: Iterable[object]) -> list[str]:
    """How files were read, one note per line."""
    return folded([f"* {prose_for_markdown(str(note))}" for note in notes], "What was read")


def quoted(warnings: Iterable[WarningRecord]) -> list[str]:
    """Each warning as a quotation."""
    return [f"> **{warning.code}**: {prose_for_markdown(warning.detail)}" for warning in warnings]


_MARKS: dict[Verdict, str] = {"pass": "✅", "fail": "❌", "inconclusive": "⚠️", "continue": "⏳"}


def gate_markdown(gate: GateRecord, gate_id: str) -> str:
    """The gate as GitHub-flavoured Markdown. Verdicts are words; marks only help to spot them."""
    return "\n\n".join(
        [
            _verdict(gate),
            table_of(_cells(gate, metric) for metric in gate.metrics),
            *_sentences(gate),
            *(part for metric in gate.metrics for part in _slices(metric.slices, metric.alpha)),
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


def _cells(gate: GateRecord, metric: MetricRecord) -> dict[str, str]:
    terms, decision, several = metric.terms, metric.decision, len(gate.metrics) > 1
    # Several baselines have a row each, and share a column.
    scores = score_cells(metric.test, head_v=None if metric.against is None else "baseline")
    scores.pop("d_z", None)
    if metric_name(metric, for_markdown) == for_markdown(metric.test.statistic.name):
        del scores["statistic"]
    return {
        "metric": directed(metric_name(metric, for_markdown), terms.higher_is_better),
        **({} if metric.against is None else {"against": for_markdown(metric.against)}),
        **({"verdict": f"{SYMBOLS[metric.verdict]} {VERDICTS[metric.verdict]}"} if several else {}),
        **scores,
        "policy": f"`{terms.policy}`" + (f", margin {exactly(terms.margin)}" if terms.margin else ""),
        "p adjusted"
        if several
        else "p": f"{decision_p_text(decision, terms.alpha)} ({manner_of_decision(metric)})",
        **item_cells(metric.test),
    }


def _sentences(gate: GateRecord) -> list[str]:
    if len(gate.metrics) == 1:
        return [" ".join(metric_sentences(gate.metrics[0], for_markdown))]
    lines = [
        f"* **{VERDICTS[metric.verdict]}** {metric_name(metric, for_markdown)} – {prose_for_markdown(metric.reason)} "
        + " ".join(metric_sentences(metric, for_markdown))
        for metric in gate.metrics
    ]
    return ["\n".join(lines)]


def _moved(gate: GateRecord) -> list[str]:
    lists = [
        (f"{metric_name(metric, for_markdown)}, toward" if len(gate.metrics) > 1 else "toward", metric.test)
        for metric in gate.metrics
    ]
    return folded([line for toward, record in lists for line in moved_lists(record, toward)])


def _warnings(gate: GateRecord) -> list[WarningRecord]:
    """Each warning once, even if several metrics have it."""
    return list(dict.fromkeys(warning for metric in gate.metrics for warning in metric.test.warnings))


_NOT_HERE = {"items", "tier", "better than", "worse than"}  # columns of other reports


def compare_markdown(record: CompareRecord, compare_id: str) -> str:
    """The boards as GitHub-flavoured Markdown: the overall board first, then those of the data sets."""
    parts = [part for named in named_boards(record) for part in _board(record, named)]
    warnings = [
        f"> **{warning.code}**: {prose_for_markdown(warned(dataset, warning))}"
        for dataset, warning in all_warnings(record)
    ]
    notes = () if record.reading is None else record.reading.notes
    return "\n\n".join(
        [
            *parts,
            *_legend(record.main_board),
            *warnings,
            *reading(notes),
            f"<sub>exactperm {compare_id}, {by_names(record, for_markdown)}</sub>\n",
        ]
    )


def _board(record: CompareRecord, named: NamedBoard) -> list[str]:
    board = named.board
    title = named.title(for_markdown(named.dataset))
    head = f"**{title}** – {_summary(record, board)}" if title else f"**{_summary(record, board)}**"
    known = kinds_in_words(board)
    by = f"by {what_was_measured(record, for_markdown)}"
    how = "; ".join(part for part in (which_is_better(record), adjustment(board), known) if part)
    parts = [f"{head} {by} ({how})", _systems(record, board)]
    if record.compare == "pairs" and board.pairs:
        parts.append(_pairs(board))
    return parts


def _summary(record: CompareRecord, board: BoardRecord) -> str:
    systems = counted(len(board.systems), "system")
    if board.groups is None:
        if record.compare == "baseline" and record.baseline is not None:
            return f"{systems}, against {for_markdown(record.baseline)}"
        return systems
    best = board.groups.best_set
    return f"Best: {listed(best, for_markdown)} of {systems}" if best else f"No best set of {systems}"


def _systems(record: CompareRecord, board: BoardRecord) -> str:
    heads, table_rows = systems_table(record, board, for_markdown)
    shown = [at for at, name in enumerate(heads) if at < 3 or name not in _NOT_HERE]
    rows = [[cells[at] for at in shown] for _, cells in table_rows]
    heads = [heads[at] for at in shown]
    if board.groups is None and record.compare == "baseline" and record.baseline is not None and board.pairs:
        pairs, alpha = against(board, record.baseline), board.family.alpha
        more = [_against(pairs.get(system.name), system.name, alpha) for system, _ in table_rows]
        names = list(dict.fromkeys(name for one in more for name in one))
        heads = [*heads[:3], *names, *heads[3:]]
        rows = [
            [*row[:3], *(one.get(name, "") for name in names), *row[3:]]
            for row, one in zip(rows, more, strict=True)
        ]
    return table(heads, rows)


def _against(pair: PairRecord | None, name: str, alpha: float) -> dict[str, str]:
    if pair is None:
        return {"difference": "", "p adjusted": "", "relation": ""}
    difference, relation = toward(pair, name)
    return {
        "difference": signed(difference),
        "p adjusted": p_and_kind(pair, alpha),
        "relation": RELATIONS[relation],
        **_interval(pair),
    }


def _pairs(board: BoardRecord) -> str:
    return table_of(
        [
            {
                "system": for_markdown(pair.u),
                "against": for_markdown(pair.v),
                **_against(pair, pair.u, board.family.alpha),
            }
            for pair in board.pairs
        ]
    )


def _interval(pair: PairRecord) -> dict[str, str]:
    """The interval of U's score minus V's; V is the baseline in pairs with it."""
    interval = pair.confidence_interval
    return {} if interval is None else {f"{percent(interval.level)} interval": interval_text(interval)}


def _legend(board: BoardRecord) -> list[str]:
    if board.groups is None:
        return []
    return [
        (
            f"Rank ranges hold for all systems at once with {confidence(board.family.alpha)} confidence. "
            "Systems that share a letter do not differ significantly. All of a cluster differ "
            "significantly from all below it. The best set holds the best system with "
            f"{confidence(board.family.alpha)} confidence."
        )
    ]


def power_markdown(record: PowerRecord, power_id: str) -> str:
    """The answer as GitHub-flavoured Markdown."""
    rows = [[f"{point.n:,}", number(point.effect), number(point.power)] for point in record.curve]
    return "\n\n".join(
        [
            f"**{prose_for_markdown(record.sentence)}**",
            *([table(["items", "true difference", "power"], rows)] if rows else []),
            *power_facts(record),
            *quoted(record.warnings),
            f"<sub>exactperm {power_id}, method `{record.method.name}`</sub>\n",
        ]
    )


def power_facts(record: PowerRecord) -> list[str]:
    """Further results, in sentences."""
    facts = [record.method.given]
    if record.critical_difference is not None and record.solution.n is not None:
        facts.append(
            f"With {record.solution.n:,} items a difference of {number(record.critical_difference)} or more is significant."
        )
    if record.actual_alpha is not None and record.solution.floor is None:
        facts.append(f"Equal systems are declared different with probability {number(record.actual_alpha)}.")
    return facts
