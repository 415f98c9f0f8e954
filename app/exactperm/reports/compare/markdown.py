"""A comparison for a comment on a pull request: who is best in bold, a table for each board, warnings."""

from __future__ import annotations

from collections.abc import Iterable

from ...answers.board import BoardRecord, CompareRecord, PairRecord
from ...presentation.escaping import for_markdown, prose_for_markdown
from ...presentation.numbers import counted, percent, signed
from ..certainty import interval_text
from ..markdown import reading, table
from .words import (
    RELATIONS,
    NamedBoard,
    adjustment,
    against,
    all_warnings,
    by_names,
    confidence,
    kinds_in_words,
    named_boards,
    neighbours,
    p_and_kind,
    range_text,
    score_head,
    scores_of,
    toward,
    warned,
    what_was_measured,
    which_is_better,
)

_LISTED = 10


def compare_markdown(record: CompareRecord, compare_id: str) -> str:
    """The boards as GitHub-flavoured Markdown: the overall one first, then that of each data set."""
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
    head = f"**{title}** – {_found(record, board)}" if title else f"**{_found(record, board)}**"
    known = kinds_in_words(board)
    by = f"by {what_was_measured(record, for_markdown)}"
    how = "; ".join(part for part in (which_is_better(record), adjustment(board), known) if part)
    parts = [f"{head} {by} ({how})", _systems(record, board)]
    if record.compare == "pairs" and board.pairs:
        parts.append(_pairs(board))
    return parts


def _found(record: CompareRecord, board: BoardRecord) -> str:
    systems = counted(len(board.systems), "system")
    if board.groups is None:
        if record.compare == "baseline" and record.baseline is not None:
            return f"{systems}, against {for_markdown(record.baseline)}"
        return systems
    best = board.groups.best_set
    more = f" and {len(best) - _LISTED} more" if len(best) > _LISTED else ""
    return (
        f"Best: {', '.join(map(for_markdown, best[:_LISTED]))}{more} of {systems}"
        if best
        else f"No best set of {systems}"
    )


def _systems(record: CompareRecord, board: BoardRecord) -> str:
    scores, alpha = scores_of(board.systems), board.family.alpha
    rows = [
        {
            "rank": str(system.rank),
            "system": for_markdown(system.name),
            score_head(record, for_markdown): score,
        }
        for system, score in zip(board.systems, scores, strict=True)
    ]
    if board.groups is not None:
        below = neighbours(board)
        for row, system in zip(rows, board.systems, strict=True):
            pair = below.get(system.name)
            row["rank range"] = range_text(system)
            row["letters"] = system.letters or ""
            row["cluster"] = "" if system.cluster is None else str(system.cluster)
            row["p against the next"] = "" if pair is None else p_and_kind(pair, alpha)
    elif record.compare == "baseline" and record.baseline is not None and board.pairs:
        pairs = against(board, record.baseline)
        for row, system in zip(rows, board.systems, strict=True):
            row.update(_against(pairs.get(system.name), system.name, alpha))
    return _table(rows)


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
    return _table(
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
    """The interval of U's score minus V's; v of a pair with the baseline is the baseline."""
    interval = pair.confidence_interval
    return {} if interval is None else {f"{percent(interval.level)} interval": interval_text(interval)}


def _table(rows: Iterable[dict[str, str]]) -> str:
    """A row for each; columns that some of them lack are empty there."""
    every = list(rows)
    heads = list(dict.fromkeys(name for row in every for name in row))
    return table(heads, [[row.get(name, "") for name in heads] for row in every])


def _legend(board: BoardRecord) -> list[str]:
    if board.groups is None:
        return []
    return [
        (
            f"Rank ranges hold for all systems at once with {confidence(board.family.alpha)} confidence. Systems that share a "
            "letter do not differ significantly. All of a cluster differ significantly from all below it. The best set holds "
            f"the best system with {confidence(board.family.alpha)} confidence."
        )
    ]
