"""A comparison in a notebook: a sentence, a table of the systems, a picture; and as data frames of pandas.

As in `notebook`, nothing is fetched, no script is run, and every text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any, cast

from .board_picture import board_picture
from .compare_words import compare_sentence, found, kinds, table
from .notebook import frame_of, notes_of, one_line, read_rows

if TYPE_CHECKING:
    from .compare_results import Board, CompareResult, PairResult, SystemResult

MAX_ROWS = 60  # of a table in a notebook
LEFT, RIGHT = "text-align:left", "text-align:right"


class CompareInNotebook:
    """How a CompareResult is shown: by `print` in one line, in a notebook as HTML."""

    __slots__ = ()

    def __str__(self) -> str:
        return one_line(compare_sentence(cast("CompareResult", self)))

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
                {**before, **_system_fields(one), **after}
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
                {**before, **_pair_fields(one), **after}
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
        codes = dict.fromkeys(warning.code for warning in (*result.warnings, *board.warnings))
        before = {"id": result.id, "board": kind, "dataset": name}
        after = {
            "statistic": result.statistic,
            "metric": result.metric,
            "higher_is_better": result.higher_is_better,
            "compare": result.compare,
            "baseline": result.baseline,
            "adjust": board.family.adjust,
            "family_size": board.family.size,
            "alpha": board.family.alpha,
            "certainty": " ".join(f"{kind}:{count}" for kind, count in kinds(board).items()),
            "warnings": " ".join(codes),
        }
        yield board, before, after


def _system_fields(one: SystemResult) -> dict[str, Any]:
    return {
        "name": one.name,
        "score": one.score,
        "n": one.n,
        "rank": one.rank,
        "rank_low": one.rank_low,
        "rank_high": one.rank_high,
        "cluster": one.cluster,
        "tier": one.tier,
        "letters": one.letters,
        "in_best_set": one.in_best_set,
        "better_than": one.better_than,
        "worse_than": one.worse_than,
    }


def _pair_fields(one: PairResult) -> dict[str, Any]:
    interval = one.confidence_interval
    return {
        "u": one.u,
        "v": one.v,
        "n": one.n,
        "difference": one.difference,
        "p_value": one.p_value,
        "log10_p_value": one.log10_p_value,
        "p_value_low": one.p_value_bounds[0],
        "p_value_high": one.p_value_bounds[1],
        "p_value_bounds_kind": one.p_value_bounds_kind,
        "p_adjusted": one.p_adjusted,
        "log10_p_adjusted": one.log10_p_adjusted,
        "p_adjusted_low": one.p_adjusted_bounds[0],
        "p_adjusted_high": one.p_adjusted_bounds[1],
        "p_adjusted_bounds_kind": one.p_adjusted_bounds_kind,
        "relation": one.relation,
        "min_attainable_p": one.min_attainable_p,
        "wins": one.wins,
        "ties": one.ties,
        "losses": one.losses,
        "method": one.method,
        "exact": one.exact,
        "confidence_level": None if interval is None else interval.level,
        "interval_low": None if interval is None else interval.low,
        "interval_high": None if interval is None else interval.high,
        "interval_method": None if interval is None else interval.method,
        "interval_kind": None if interval is None else interval.kind,
    }
