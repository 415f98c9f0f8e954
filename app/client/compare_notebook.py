"""A comparison in a notebook: a sentence, a table of the systems, a picture; and as data frames of pandas.

As in `notebook`, nothing is fetched, no script is run, and every text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any, cast

from ..presentation.columns import PAIR, SYSTEM, board_row, values
from ..presentation.escaping import single_line
from .board_picture import board_picture
from .compare_words import compare_sentence, found, table
from .notebook import frame_of, notes_of, read_rows

if TYPE_CHECKING:
    from .compare_results import Board, CompareResult

MAX_ROWS = 60  # of a table in a notebook
LEFT, RIGHT = "text-align:left", "text-align:right"


class CompareInNotebook:
    """How a CompareResult is shown: by `print` in one line, in a notebook as HTML."""

    __slots__ = ()

    def __str__(self) -> str:
        return single_line(compare_sentence(cast("CompareResult", self)))

    def _repr_html_(self) -> str:
        result = cast("CompareResult", self)
        parts = [
            f"<p>{escape(compare_sentence(result))}</p>",
            _html_table(result, result.board),
            self.picture(),
        ]
        for name, board in (result.datasets or {}).items():
            if board is not result.board:
                summary = escape(f"{name}: {found(result, board)}")
                parts.append(f"<details><summary>{summary}</summary>{_html_table(result, board)}</details>")
        parts += [f"<p>Warning: {escape(warning.detail)}</p>" for warning in result.warnings]
        parts += [f"<p>Read: {escape(note)}</p>" for _, note in read_rows(result.reading)]
        return f'<div class="exactperm">{"".join(parts)}</div>'

    def picture(self) -> str:
        """The main board as SVG: scores as dots, rank ranges as text. It is drawn here, without the server."""
        return board_picture(cast("CompareResult", self))

    def systems_frame(self) -> Any:
        """A pandas.DataFrame with a row for each system of each board, best first; its columns are those of the CSV report.

        Raises ImportError without pandas.
        """
        result = cast("CompareResult", self)
        return _frame(
            result,
            [
                {**before, **values(SYSTEM, one), **after}
                for board, before, after in _boards(result)
                for one in board.systems
            ],
        )

    def pairs_frame(self) -> Any:
        """A pandas.DataFrame with a row for each listed pair of each board; its columns are those of the CSV report.

        Raises ImportError without pandas.
        """
        result = cast("CompareResult", self)
        return _frame(
            result,
            [
                {**before, **values(PAIR, one), **after}
                for board, before, after in _boards(result)
                for one in board.pairs
            ],
        )


def _html_table(result: CompareResult, board: Board) -> str:
    heads, rows = table(result, board, MAX_ROWS)
    styles = [LEFT if head in {"system", "letters"} else RIGHT for head in heads]
    parts = ["<table><thead><tr>"]
    parts += [f'<th style="{style}">{escape(head)}</th>' for head, style in zip(heads, styles, strict=True)]
    parts.append("</tr></thead><tbody>")
    for row in rows:
        cells = "".join(
            f'<td style="{style}">{escape(cell)}</td>' for cell, style in zip(row, styles, strict=True)
        )
        parts.append(f"<tr>{cells}</tr>")
    left = len(board.systems) - len(rows)
    more = f"<p>{left:,} more systems</p>" if left else ""
    return "".join([*parts, "</tbody></table>", more])


def _frame(result: CompareResult, rows: list[dict[str, Any]]) -> Any:
    """The rows with how files were read, in the first of them alone."""
    notes = notes_of(result.reading)
    return frame_of([{**row, "notes": None if place else notes} for place, row in enumerate(rows)])


def _boards(result: CompareResult) -> Iterator[tuple[Board, dict[str, Any], dict[str, Any]]]:
    """Every board with the columns before and after those of a system or a pair."""
    for name, board in result.boards.items():
        kind = "dataset" if name is not None else "overall" if result.datasets is not None else None
        before = {"id": result.id, "board": kind, "dataset": name}
        after = board_row(values, result, board)
        yield board, before, after
