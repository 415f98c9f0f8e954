"""A comparison for a terminal: what was found, and a table of the systems of each board."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from ..client.results import Board, CompareResult
from ..presentation.words import cells_of, compare_sentence, found, short, table
from .output import printable

MAX_PAIRS = 50
TEXTS = frozenset({"system", "letters", "best set", "relation", "u", "v"})


def board_text(result: CompareResult) -> str:
    """The main board, what was found on each data set, pairs if some were asked for, warnings, and what was read."""
    lines = [compare_sentence(result), "", *_board(result, result.board)]
    for name, board in (result.datasets or {}).items():
        if board is not result.board:
            lines += ["", f"on {short(name)}: {found(result, board)}"]
            if result.overall is None:
                lines += ["", *_board(result, board)]
    lines.append("")
    lines += [f"warning: {one.detail}" for one in result.warnings]
    for dataset, board in (result.boards if result.datasets is not None else {}).items():
        of = "" if dataset is None else f"{short(dataset)}: "
        lines += [f"warning: {of}{one.detail}" for one in board.warnings]
    if result.reading is not None:
        lines += [f"read: {note}" for note in result.reading.notes]
    lines.append(result.id)
    return "".join(f"{printable(line)}\n" for line in lines)


def _board(result: CompareResult, board: Board) -> Iterator[str]:
    yield from _aligned(*table(result, board))
    if result.compare == "pairs":
        shown = board.pairs[:MAX_PAIRS]
        rows = [
            [str(number), short(one.u), short(one.v), *cells_of(one, board.family.alpha)]
            for number, one in enumerate(shown, 1)
        ]
        yield ""
        yield from _aligned(["pair", "u", "v", "difference", "p adjusted", "relation"], rows)
        if len(shown) < len(board.pairs):
            yield f"and {len(board.pairs) - len(shown):,} more pairs"


def _aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns two blanks apart: texts to the left, numbers to the right; empty columns are left out."""
    kept = [index for index in range(len(heads)) if any(row[index] for row in rows)]
    cells = [[heads[index] for index in kept], *([printable(row[index]) for index in kept] for row in rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = [
            cell + " " * (width - _width(cell))
            if heads[index] in TEXTS
            else " " * (width - _width(cell)) + cell
            for index, cell, width in zip(kept, row, widths, strict=True)
        ]
        yield "  ".join(padded).rstrip()


def _width(text: str) -> int:
    """Columns of a terminal: East Asian characters take two, marks none."""
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in {"W", "F"} else 1
        for one in text
    )
