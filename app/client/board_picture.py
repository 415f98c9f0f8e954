"""The picture of a board for notebooks, as SVG: drawn from the answer alone, without matplotlib and the server."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .compare_words import compare_sentence, ranks, short

if TYPE_CHECKING:
    from .compare_results import Board, CompareResult, SystemResult

WIDTH, ROW, TOP, BOTTOM = 640, 20, 8, 26
LEFT, RIGHT = 200, 450  # of the axis of scores; names are left of it, ranks and letters right
BEST, REST, INK = "#0072b2", "#8aa1b8", "currentColor"  # dark and light for eyes that see no colours, too
NAME_CHARS = 28
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
        f'<line x1="{LEFT}" y1="{base}" x2="{RIGHT}" y2="{base}" stroke="{INK}"/>'
        f'<text x="{LEFT}" y="{base + 16}" text-anchor="middle">{low:.4g}</text>'
        + (f'<text x="{RIGHT}" y="{base + 16}" text-anchor="middle">{high:.4g}</text>' if reach else "")
        + "</svg>"
    )


def _row(system: SystemResult, place: float, top: int, board: Board) -> str:
    name = short(system.name)
    name = name if len(name) <= NAME_CHARS else name[: NAME_CHARS - 1] + "…"
    at, middle = LEFT + place * (RIGHT - LEFT), top + ROW / 2
    best = system.in_best_set
    fill = BEST if best or board.groups is None else REST
    words = f"{system.rank}. of {len(board.systems)}"
    if board.groups is not None:
        words = f"rank {ranks(system)} {system.letters or ''}".strip()
    return (
        f'<text x="{LEFT - 10}" y="{middle + 4}" text-anchor="end">{escape(name)}</text>'
        f'<circle cx="{at:.2f}" cy="{middle}" r="4.5" fill="{fill}"><title>{escape(short(system.name))}: {system.score:.6g}'
        f"{', in the best set' if best else ''}</title></circle>"
        f'<text x="{RIGHT + 14}" y="{middle + 4}">{escape(words)}</text>'
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
