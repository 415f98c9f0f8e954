"""A comparison in a notebook: a sentence, a table of the systems, a picture; and as data frames of pandas.

As in `notebook`, nothing is fetched, no script is run, and every text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, cast

from ..presentation.columns import PAIR, SYSTEM, board_row, values
from ..presentation.escaping import single_line
from ..presentation.numbers import enclosing, known_digits, probability
from .notebook import frame_of, measured, notes_of, read_rows

if TYPE_CHECKING:
    from .compare_results import Board, CompareResult, PairResult, SystemResult

# The picture of a board


WIDTH, ROW, TOP, BOTTOM = 640, 20, 8, 26
AXIS_LEFT, AXIS_RIGHT = 200, 450  # of the axis of scores; names are left of it, ranks and letters right
BEST, REST, INK = "#0072b2", "#8aa1b8", "currentColor"  # dark and light for eyes that see no colours, too
LABEL_CHARS = 28
MAX_SYSTEMS = 60


def board_picture(result: CompareResult) -> str:
    """Scores as dots, lines between clusters, and rank ranges and letters in words, best first; the best set is dark."""
    board = result.board
    shown = board.systems[:MAX_SYSTEMS]
    height = TOP + ROW * len(shown) + BOTTOM
    scores = [one.score for one in shown]
    low, high = min(scores), max(scores)
    reach = (high / 2 - low / 2) * 2
    # Halves, because the range of doubles may be more than a double.
    places = [0.5 if reach == 0 else (one / 2 - low / 2) / (reach / 2) for one in scores]
    rows = "".join(
        _row(one, place, TOP + ROW * index, board)
        for index, (one, place) in enumerate(zip(shown, places, strict=True))
    )
    base = TOP + ROW * len(shown)
    label = escape(compare_sentence(result))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img" '
        f'aria-label="{label}" font-size="12" fill="{INK}">{_lines(board, len(shown))}{rows}'
        f'<line x1="{AXIS_LEFT}" y1="{base}" x2="{AXIS_RIGHT}" y2="{base}" stroke="{INK}"/>'
        f'<text x="{AXIS_LEFT}" y="{base + 16}" text-anchor="middle">{low:.4g}</text>'
        + (f'<text x="{AXIS_RIGHT}" y="{base + 16}" text-anchor="middle">{high:.4g}</text>' if reach else "")
        + "</svg>"
    )


def _row(system: SystemResult, place: float, top: int, board: Board) -> str:
    name = short(system.name)
    name = name if len(name) <= LABEL_CHARS else name[: LABEL_CHARS - 1] + "…"
    at, middle = AXIS_LEFT + place * (AXIS_RIGHT - AXIS_LEFT), top + ROW / 2
    best = system.in_best_set
    fill = BEST if best or board.groups is None else REST
    words = f"{system.rank}. of {len(board.systems)}"
    if board.groups is not None:
        words = f"rank {ranks(system)} {system.letters or ''}".strip()
    return (
        f'<text x="{AXIS_LEFT - 10}" y="{middle + 4}" text-anchor="end">{escape(name)}</text>'
        f'<circle cx="{at:.2f}" cy="{middle}" r="4.5" fill="{fill}"><title>{escape(short(system.name))}: {system.score:.6g}'
        f"{', in the best set' if best else ''}</title></circle>"
        f'<text x="{AXIS_RIGHT + 14}" y="{middle + 4}">{escape(words)}</text>'
    )


def _lines(board: Board, shown: int) -> str:
    """A line after every cluster but the last."""
    if board.groups is None:
        return ""
    lines, above = [], 0
    for cluster in board.groups.clusters[:-1]:
        above += len(cluster)
        if above < shown:
            y = TOP + ROW * above
            lines.append(
                f'<line x1="0" y1="{y}" x2="{WIDTH}" y2="{y}" stroke="{INK}" stroke-dasharray="4 3"/>'
            )
    return "".join(lines)


# A comparison in a notebook: a sentence, a table of the systems, a picture; and as data frames of


# A comparison in words and in a table's cells, for notebooks and terminals


MAX_NAMED = 6
NAME_CHARS = 60


def compare_sentence(result: CompareResult) -> str:
    """What was found on the main board, over how many data sets; a line that does not begin with what a caller named."""
    over = ""
    if result.datasets is not None:
        first = "overall" if result.overall is not None else f"on {next(iter(result.datasets))}"
        over = f"{first} of {len(result.datasets)} data sets, "
    return f"{over}by {measured(result.metric, result.statistic, result.higher_is_better)}: {found(result, result.board)}"


def found(result: CompareResult, board: Board) -> str:
    """The best set of a board; or how many are better and worse than the baseline."""
    family, size = board.family, len(board.systems)
    pairs = "1 pair" if family.size == 1 else f"{family.size:,} pairs"
    how = f"({family.adjust}, {pairs}{_sure(board)}, alpha {family.alpha!r})"
    if board.groups is not None:
        best = board.groups.best_set
        more = f" and {len(best) - MAX_NAMED} more" if len(best) > MAX_NAMED else ""
        named = ", ".join(map(short, best[:MAX_NAMED])) or "nobody"
        return f"{named}{more} in the best set of {size} systems {how}"
    relations = [pair.relation for pair in board.pairs]
    better, worse = relations.count("better"), relations.count("worse")
    if result.compare == "baseline" and result.baseline is not None and len(relations) == family.size:
        return f"{better} better and {worse} worse of {size - 1} than {short(result.baseline)} {how}"
    return f"{size} systems {how}"


def kinds(board: Board) -> dict[str, int]:
    """How many adjusted p-values are exact, bracketed and sampled, listed or not; those that there are."""
    known = board.family.certainty
    counts = {"exact": known.exact, "bracketed": known.bracketed, "sampled": known.sampled}
    return {kind: count for kind, count in counts.items() if count}


def _sure(board: Board) -> str:
    """How the adjusted p-values are known: exact; or 4 exact, 2 sampled."""
    known = kinds(board)
    if len(known) == 1:
        return f", {next(iter(known))}"
    return "".join(f", {count:,} {kind}" for kind, count in known.items())


def short(name: str) -> str:
    """A name in one line, cut where it is very long."""
    text = single_line(name)
    return text if len(text) <= NAME_CHARS else text[: NAME_CHARS - 1] + "…"


def ranks(system: SystemResult) -> str:
    """The range of a system's rank."""
    if system.rank_low is None or system.rank_high is None:
        return ""
    low, high = system.rank_low, system.rank_high
    return str(low) if low == high else f"{low}–{high}"


def table(result: CompareResult, board: Board, size: int | None = None) -> tuple[list[str], list[list[str]]]:
    """The heads and the cells of a board's table of systems; of the first `size`.

    Scores have as many digits as it takes to tell different ones apart.
    """
    shown = board.systems[:size]
    heads = ["rank", "system", result.metric or "score"]
    scores = scores_in_words([one.score for one in shown])
    rows = [[str(one.rank), short(one.name), score] for one, score in zip(shown, scores, strict=True)]
    if board.groups is not None:
        heads += ["rank range", "letters", "cluster", "best set"]
        for row, one in zip(rows, shown, strict=True):
            cluster = "" if one.cluster is None else str(one.cluster)
            row += [ranks(one), one.letters or "", cluster, "yes" if one.in_best_set else ""]
    elif result.compare == "baseline" and board.pairs:
        heads += ["difference", "p adjusted", "relation"]
        pairs = {pair.u: pair for pair in board.pairs}
        for row, one in zip(rows, shown, strict=True):
            pair = pairs.get(one.name)
            row.extend(["", "", ""] if pair is None else cells_of(pair, board.family.alpha))
    return heads, rows


def cells_of(pair: PairResult, alpha: float) -> list[str]:
    """The difference of a pair, its adjusted p-value, and the relation."""
    low, high = pair.p_adjusted_bounds
    digits = known_digits(
        pair.p_adjusted, "confidence" if pair.p_adjusted_certainty == "sampled" else "", low, high
    )
    p = probability(pair.p_adjusted, pair.log10_p_adjusted, alpha, digits=digits)
    sure = (
        ""
        if pair.p_adjusted_certainty == "exact"
        else f" ({pair.p_adjusted_certainty}, {' to '.join(enclosing(low, high, alpha))})"
    )
    return [f"{pair.difference:+.4g}", p + sure, pair.relation]


def scores_in_words(scores: Sequence[float]) -> list[str]:
    """Four significant digits, or more, so that different scores look different."""
    digits = 4
    while digits < 17 and len({f"{one:.{digits}g}" for one in scores}) < len(set(scores)):
        digits += 1
    return [f"{one:.{digits}g}" for one in scores]


# A comparison in a notebook: a sentence, a table of the systems, a picture; and as data frames of


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
