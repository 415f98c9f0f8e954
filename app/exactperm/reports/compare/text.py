"""A comparison in one line, for logs: who is best, by which family of tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...answers.board import BoardRecord, CompareRecord
from ...presentation.escaping import for_line
from ...presentation.numbers import counted, exactly
from ..text import better, read
from .words import NamedBoard, all_warnings, kinds, named_boards, scores_of, toward

_LISTED = 10


def compare_line(record: CompareRecord, compare_id: str) -> str:
    """The main board in one line, without the line end; of several data sets, how many there are.

    Its first word is ours: runners of workflows take a line that begins with :: for a command.
    """
    first = next(named_boards(record))
    board = first.board
    words = [
        f"{_scope(record, first)}{_found(record, board)} ({_family(board)}):",
        *([] if record.metric is None else [f"metric={for_line(record.metric)}"]),
        *better(record.higher_is_better),
        f"statistic={for_line(record.statistic)}",
        *_scores(board),
        *([] if board.groups is None else [f"clusters={len(board.groups.clusters)}"]),
        f"n={_items(board)}",
        f"alpha={exactly(board.family.alpha)}",
        *(f"[{code}]" for code in dict.fromkeys(warning.code for _, warning in all_warnings(record))),
        compare_id,
        *([] if record.reading is None else read(record.reading.facts)),
    ]
    return " ".join(words)


def _scope(record: CompareRecord, first: NamedBoard) -> str:
    if record.datasets is None:
        return ""
    count = counted(len(record.datasets), "data set")
    return (
        f"overall of {count}, " if first.scope == "overall" else f"on {for_line(first.dataset)} of {count}, "
    )


def _found(record: CompareRecord, board: BoardRecord) -> str:
    """The best set; or how many are better and worse than the baseline."""
    size = len(board.systems)
    if board.groups is not None:
        best = board.groups.best_set
        return f"best of {size}: {_listed(best)}" if best else f"no best set of {size}"
    if record.compare == "baseline" and record.baseline is not None and board.pairs:
        others = [(pair.u if pair.v == record.baseline else pair.v, pair) for pair in board.pairs]
        count = Counter(toward(pair, name)[1] for name, pair in others)
        return f"{count['better']} better and {count['worse']} worse of {size - 1} than {for_line(record.baseline)}"
    return counted(size, "system")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(map(for_line, names[:_LISTED])) + more


def _family(board: BoardRecord) -> str:
    known = kinds(board)
    how = f", {', '.join(known)}" if known else ""
    return f"{board.family.adjust}, {counted(board.family.size, 'pair')}{how}"


def _scores(board: BoardRecord) -> list[str]:
    shown = list(zip(board.systems, scores_of(board.systems), strict=True))[:_LISTED]
    more = len(board.systems) - len(shown)
    return [f"{for_line(system.name)}={score}" for system, score in shown] + ([f"+{more}"] if more else [])


def _items(board: BoardRecord) -> str:
    """How many items the systems have."""
    sizes = [system.n for system in board.systems]
    low, high = min(sizes), max(sizes)
    return str(low) if low == high else f"{low}..{high}"
