"""The report of a comparison: one file with its pictures, the tables of systems and pairs, and what they mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...answers.board import LEFT_OUT, BoardRecord, CompareRecord, PairRecord, SystemRecord
from ...presentation.escaping import for_sentence, short, single_line
from ...presentation.numbers import counted, enclosing, exactly, number, percent, signed
from ..certainty import interval_text
from ..facts import Fact
from ..html import rendered
from .words import (
    ADJUSTMENTS,
    RELATIONS,
    NamedBoard,
    adjustment,
    all_warnings,
    certainty_sentences,
    confidence,
    kinds_in_words,
    named_boards,
    neighbours,
    p_adjusted,
    p_and_kind,
    range_text,
    score_head,
    scores_of,
    warned,
    what_was_measured,
    which_is_better,
)

Draw = Callable[[str, NamedBoard, int], str]

# More pairs than this are a matter for the CSV; of a board that has more, neighbours are listed.
MOST_PAIRS = 1200
# Boards of data sets with a picture of their own; all have their tables.
MOST_PICTURES = 12
_LISTED = 10


def compare_html(record: CompareRecord, compare_id: str, signature: str, draw: Draw) -> str:
    """The report; `draw` makes our inline SVG of a picture's name, a board and a number of its own."""
    boards = list(named_boards(record))
    main = boards[0].board
    return rendered(
        "compare.html",
        statistic=what_was_measured(record, short),
        better=which_is_better(record),
        systems=counted(len(main.systems), "system"),
        lead=_lead(record, boards[0]),
        key=_key(record, boards[0]),
        several=len(boards) > 1,
        boards=[_board(record, named, place, draw) for place, named in enumerate(boards)],
        meanings=_meanings(record, main),
        certainty=certainty_sentences(main),
        warnings=[(warning.code, single_line(warned(of, warning))) for of, warning in all_warnings(record)],
        notes=[] if record.reading is None else [single_line(note) for note in record.reading.notes],
        signature=signature,
        id=compare_id,
    )


def _lead(record: CompareRecord, named: NamedBoard) -> list[str]:
    board = named.board
    alpha = board.family.alpha
    title = named.title(for_sentence(named.dataset))
    of = f"{title}: " if title else ""
    if board.groups is None:
        to = f", each against {for_sentence(record.baseline)}" if record.baseline is not None else ""
        return [f"{of}{counted(len(board.systems), 'system')}{to}: {adjustment(board)}."]
    best = board.groups.best_set
    more = f" and {len(best) - _LISTED} more" if len(best) > _LISTED else ""
    listed = ", ".join(map(for_sentence, best[:_LISTED]))
    if not best:
        said = "No system can be said to be the best, as the tests contradict the scores."
    elif len(best) == 1:
        said = f"The best system is {listed}, with {confidence(alpha)} confidence."
    else:
        said = f"With {confidence(alpha)} confidence the best system is one of {len(best)}: {listed}{more}."
    groups = counted(len(board.groups.clusters), "cluster")
    return [f"{of}{said}", f"The systems form {groups}: all of one differ significantly from all below it."]


def _key(record: CompareRecord, named: NamedBoard) -> list[Fact]:
    board = named.board
    first = board.systems[0]
    known = kinds_in_words(board)
    sets = "" if record.datasets is None else counted(len(record.datasets), "data set")
    return [
        Fact("highest rank", short(first.name), f"{score_head(record, short)} {number(first.score)}"),
        Fact("measured", what_was_measured(record, short), which_is_better(record)),
        Fact("systems", f"{len(board.systems):,}", sets),
        Fact("tests in the family", f"{board.family.size:,}", known),
        Fact("alpha", exactly(board.family.alpha), ADJUSTMENTS[board.family.adjust]),
    ]


def _board(record: CompareRecord, named: NamedBoard, place: int, draw: Draw) -> dict[str, Any]:
    from markupsafe import Markup

    board = named.board
    shown, told = _shown_pairs(board)
    return {
        "number": place + 1,
        "title": named.title(short(named.dataset)),
        "family": adjustment(board),
        "controls": board.family.controls,
        "heads": _heads(record, board),
        "rows": _rows(board),
        # drawn by exactperm.reports.picture.pictures, which escapes labels itself
        "pictures": [Markup(draw(name, named, place)) for name in _pictures(record, board, place)],  # noqa: S704
        "pairs": [_pair(pair, board.family.alpha) for pair in shown],
        "told": told,
        "intervals": sorted({percent(p.confidence_interval.level) for p in shown if p.confidence_interval}),
    }


def _pictures(record: CompareRecord, board: BoardRecord, place: int) -> list[str]:
    """The leaderboard of each board; of the main one also the pairs, or the differences to the baseline."""
    if place > MOST_PICTURES:
        return []
    if place or not board.pairs:
        return ["leaderboard"]
    return ["leaderboard", "heatmap" if record.compare == "all_pairs" else "forest"]


def _heads(record: CompareRecord, board: BoardRecord) -> list[str]:
    heads = ["rank", "system", score_head(record, short), "items"]
    if board.groups is not None:
        heads += [
            "rank range",
            "letters",
            "cluster",
            "tier",
            "better than",
            "worse than",
            "p against the next",
        ]
    return heads


def _rows(board: BoardRecord) -> list[dict[str, Any]]:
    below, scores = neighbours(board), scores_of(board.systems)
    return [
        {
            "name": short(system.name),
            "best": bool(system.in_best_set),
            "cells": _cells(board, system, score, below),
        }
        for system, score in zip(board.systems, scores, strict=True)
    ]


def _cells(board: BoardRecord, system: SystemRecord, score: str, below: dict[str, PairRecord]) -> list[str]:
    """What stands after the name: the rank stands before it."""
    cells = [str(system.rank), score, f"{system.n:,}"]
    if board.groups is not None:
        pair = below.get(system.name)
        counts = (system.cluster, system.tier, system.better_than, system.worse_than)
        cluster, tier, better, worse = ("" if count is None else str(count) for count in counts)
        next_p = "" if pair is None else p_and_kind(pair, board.family.alpha)
        cells += [range_text(system), system.letters or "", cluster, tier, better, worse, next_p]
    return cells


def _shown_pairs(board: BoardRecord) -> tuple[list[PairRecord], str]:
    """The pairs that are listed here, and what is said of the others."""
    if not board.pairs:
        return [], "No pairs are listed: the request asked for none, or none is significant."
    if len(board.pairs) <= MOST_PAIRS:
        return list(board.pairs), f"{counted(len(board.pairs), 'pair')}."
    shown = list(neighbours(board).values()) or list(board.pairs[:MOST_PAIRS])
    fewer = any(warning.code == LEFT_OUT for warning in board.warnings)
    others = "all are in the CSV (table=pairs) and in the JSON" + (" of pairs=all" if fewer else "")
    return (
        shown,
        f"{len(shown):,} of {len(board.pairs):,} pairs; {others}.",
    )


def _pair(pair: PairRecord, alpha: float) -> dict[str, Any]:
    low, high = enclosing(*pair.p_adjusted_bounds, alpha)
    interval = pair.confidence_interval
    return {
        "u": short(pair.u),
        "v": short(pair.v),
        "relation": RELATIONS[pair.relation],
        "tone": "plain" if pair.relation in {"tied", "undecided", "untestable"} else "sure",
        "difference": signed(pair.difference).replace("-", "\N{MINUS SIGN}"),
        "p": p_adjusted(pair, alpha),
        "kind": pair.p_adjusted_certainty,
        "bounds": "" if pair.p_adjusted_certainty == "exact" else f"{low} to {high}",
        "interval": "" if interval is None else interval_text(interval),
        "counts": f"{pair.wins:,} / {pair.ties:,} / {pair.losses:,}",
        "n": f"{pair.n:,}",
    }


def _meanings(record: CompareRecord, board: BoardRecord) -> list[tuple[str, str]]:
    """What the words of the tables mean, and where their definitions come from."""
    sure = confidence(board.family.alpha)
    own = [
        (
            "Adjusted p",
            f"{ADJUSTMENTS[board.family.adjust]} over {counted(board.family.size, 'test')} controls: {board.family.controls}.",
        ),
        (
            "Better, worse, not significant",
            (
                f"Better or worse: the adjusted p-value is at most {exactly(board.family.alpha)} for certain. Undecided: its bounds "
                "do not tell. Untestable: no outcome of this pair could be significant. Not significant does not mean equal."
            ),
        ),
    ]
    if board.groups is None:
        return own
    return [
        *own,
        (
            "Rank range",
            (
                f"With {sure} confidence the true ranks of all systems are inside their ranges at once: Holm over the one-sided tests "
                "of all pairs, whatever the adjustment is (Mogstad, Romano, Shaikh and Wilhelm 2024)."
            ),
        ),
        (
            "Best set",
            f"Holds the best system with {sure} confidence (Hsu's comparisons with the best, by Bonferroni).",
        ),
        (
            "Letters",
            (
                "Systems that share a letter do not differ significantly: a letter is a largest possible set of such systems "
                "(Piepho 2004)."
            ),
        ),
        (
            "Cluster",
            "A line is drawn where every system above differs significantly from every system below (as in the WMT's tables).",
        ),
        (
            "Tier",
            "A new tier begins with the first system that some member of the open tier is significantly better than.",
        ),
    ]
