"""A leaderboard: scores as dots, rank ranges as bars, letters, and a line where all above differ from all below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from ...answers.board import SystemRecord
from ...presentation.numbers import counted
from ..board_words import RELATIONS, against, confidence, toward
from .board import MOST_NAME, BoardScene, aligned, sentence_of
from .canvas import (
    LEAST_WIDTH,
    MARGIN,
    SMALL,
    Axis,
    Canvas,
    Drawing,
    Point,
    head_height,
    names_fitted,
    note_lines,
    score_axis,
    widest,
    width,
)

SCORES, RANKS = 2.5, 2.1  # inches
COLUMN = 0.2  # between columns
EDGE = 0.32  # of a panel: half a number of its axis
HEAD, AXIS = 0.24, 0.26
MOST_TICKS = 10
LETTERS_APART = 12  # more letters are written as runs


@dataclass(frozen=True, slots=True)
class _Columns:
    """Places of the columns, in inches, and their texts."""

    rank: float
    name: float
    score: float
    dots: Axis
    ranks: tuple[float, float] | None
    letters: float
    cluster: float
    width: float
    names: Sequence[str]
    scores: Sequence[str]
    marks: Sequence[str]


def leaderboard(scene: BoardScene) -> Drawing:
    """The picture of a board; without all pairs there are scores alone, and relations to the baseline."""
    columns = _columns(scene)
    title = f"{counted(len(scene.systems), 'system')} by {scene.measured}"
    notes = _notes(scene)
    top = head_height(title, scene.subtitle, columns.width) + 0.12
    rows = top + HEAD + (AXIS if _is_long(scene) else 0.0)
    bottom = rows + scene.row * len(scene.systems)
    height = bottom + AXIS + 0.1 + 0.165 * len(note_lines(notes, columns.width)) + MARGIN
    palette = scene.palette
    canvas = Canvas(columns.width, height, palette.paper, scene.name, scene.printable)
    canvas.title(title, scene.subtitle, ink=palette.ink, soft=palette.soft)
    _heads(canvas, scene, columns, top + HEAD / 2)
    _axes(canvas, scene, columns, rows, bottom)
    for place, system in enumerate(scene.systems):
        _row(canvas, scene, columns, place, system, rows + scene.row * (place + 0.5))
    _cluster_lines(canvas, scene, rows)
    canvas.notes(bottom + AXIS + 0.18, notes, color=palette.soft)
    return Drawing(canvas, title, _description(scene, title))


def _columns(scene: BoardScene) -> _Columns:
    size, systems = scene.size, scene.systems
    names = names_fitted([system.name for system in systems], size, MOST_NAME)
    scores = aligned([system.score for system in systems])
    marks = _marks(scene)
    rank = MARGIN + max(widest([str(system.rank) for system in systems], size), width("rank", SMALL))
    name = rank + COLUMN
    score = name + max(widest(names, size), width("system", SMALL)) + COLUMN
    score += max(widest(scores, size), width("score", SMALL))
    left = score + COLUMN + EDGE / 2
    dots = score_axis([system.score for system in systems], left, left + SCORES, SMALL)
    right, ranks = left + SCORES + EDGE, None
    if scene.board.groups is not None:
        ranks = (right + EDGE / 2, right + EDGE / 2 + RANKS)
        right = ranks[1] + EDGE
    letters = right
    head = _marks_head(scene)
    right += max(_marks_width(scene, marks), width(head, SMALL)) if head else 0.0
    cluster = right
    if scene.board.groups is not None:
        cluster = right + COLUMN + width("cluster", SMALL)
        right = cluster
    end = max(right + MARGIN, LEAST_WIDTH)
    return _Columns(rank, name, score, dots, ranks, letters, cluster, end, names, scores, marks)


def _marks(scene: BoardScene) -> list[str]:
    """The letters of each system; or its relation to the baseline."""
    if scene.board.groups is not None:
        return ["" if system.letters is None else system.letters for system in scene.systems]
    baseline = scene.record.baseline
    if baseline is None:
        return [""] * len(scene.systems)
    pairs = against(scene.board, baseline)
    relations = {name: RELATIONS[toward(pair, name)[1]] for name, pair in pairs.items()}
    return [
        "baseline" if system.name == baseline else relations.get(system.name, "") for system in scene.systems
    ]


def _marks_head(scene: BoardScene) -> str:
    if scene.board.groups is not None:
        return "letters" if scene.board.groups.letters is not None else ""
    return "" if scene.record.baseline is None else "against the baseline"


def _letters(scene: BoardScene) -> tuple[str, ...]:
    groups = scene.board.groups
    return () if groups is None or groups.letters is None else tuple(groups.letters)


def _marks_width(scene: BoardScene, marks: Sequence[str]) -> float:
    letters = _letters(scene)
    if scene.board.groups is None or len(letters) > LETTERS_APART:
        return widest([_runs(mark, letters) for mark in marks], scene.size)
    return _pitch(scene) * len(letters)


def _pitch(scene: BoardScene) -> float:
    """From one letter's column to the next."""
    return width("m", scene.size) + 0.02


def _runs(mark: str, letters: Sequence[str]) -> str:
    """Many letters, shorter: abcdeh is a-e h."""
    if not set(mark) <= set(letters):
        return mark
    places = sorted(letters.index(letter) for letter in mark)
    runs = [
        [at for _, at in run] for _, run in groupby(enumerate(places), key=lambda each: each[1] - each[0])
    ]
    return " ".join(
        f"{letters[run[0]]}\N{EN DASH}{letters[run[-1]]}"
        if len(run) > 2
        else "".join(letters[at] for at in run)
        for run in runs
    )


def _is_long(scene: BoardScene) -> bool:
    """So long that the axis is needed at the top as well."""
    return len(scene.systems) > 20


def _heads(canvas: Canvas, scene: BoardScene, columns: _Columns, y: float) -> None:
    def head(x: float, text: str, across: str) -> None:
        canvas.text(x, y, text, color=scene.palette.soft, size=SMALL, across=across)

    head(columns.rank, "rank", "right")
    head(columns.name, "system", "left")
    head(columns.score, "score", "right")
    units = columns.dots.units
    head((columns.dots.left + columns.dots.right) / 2, f"score{units}", "center")
    if columns.ranks is not None:
        head(sum(columns.ranks) / 2, f"rank range, {confidence(scene.board.family.alpha)}", "center")
        head(columns.cluster, "cluster", "right")
    head(columns.letters, _marks_head(scene), "left")


def _axes(canvas: Canvas, scene: BoardScene, columns: _Columns, top: float, bottom: float) -> None:
    """Lines of the ticks behind the rows, and their numbers below; of a long board also above."""
    palette, systems = scene.palette, len(scene.systems)
    ticks = [(list(columns.dots.ticks), columns.dots.left, columns.dots.right)]
    if columns.ranks is not None:
        left, right = columns.ranks
        places = _rank_ticks(systems)
        at = [(_rank_at(columns.ranks, systems, place), str(place)) for place in places]
        ticks.append((at, left, right))
    for places_, left, right in ticks:
        canvas.lines([((x, top), (x, bottom)) for x, _ in places_], color=palette.faint, linewidth=0.7)
        ends = [bottom, top] if _is_long(scene) else [bottom]
        for y in ends:
            canvas.line([(left, y), (right, y)], color=palette.soft, linewidth=0.8)
            away = 0.13 if y == bottom else -0.13
            for x, text in places_:
                canvas.text(x, y + away, text, color=palette.soft, size=SMALL, across="center")


def _rank_ticks(systems: int) -> list[int]:
    """1, round numbers, and K, without those that would touch."""
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 10**9) if systems / step <= MOST_TICKS)
    apart = (width(str(systems), SMALL) + 0.05) * systems / RANKS  # in ranks
    inner = range(step, systems, step)
    return sorted({1, systems, *(tick for tick in inner if min(tick - 1, systems - tick) >= apart)})


def _rank_at(panel: tuple[float, float], systems: int, rank: int) -> float:
    return panel[0] + (panel[1] - panel[0]) * (rank - 0.5) / systems


def _row(
    canvas: Canvas, scene: BoardScene, columns: _Columns, place: int, system: SystemRecord, y: float
) -> None:
    palette, said, size = scene.palette, sentence_of(system), scene.size
    canvas.text(columns.rank, y, str(system.rank), color=palette.soft, size=size, across="right")
    canvas.text(columns.name, y, columns.names[place], color=palette.ink, size=size, say=said)
    canvas.text(columns.score, y, columns.scores[place], color=palette.ink, size=size, across="right")
    hollow = system.in_best_set is False
    x = columns.dots.at(system.score)
    canvas.line([(columns.dots.left, y), (x, y)], color=palette.faint, linewidth=0.8)
    canvas.dot(x, y, color=palette.dot, fill=palette.paper if hollow else palette.dot, say=said)
    if columns.ranks is not None and system.rank_low is not None and system.rank_high is not None:
        half = 0.5 * (columns.ranks[1] - columns.ranks[0]) / len(scene.systems)
        low, high = (
            _rank_at(columns.ranks, len(scene.systems), rank) for rank in (system.rank_low, system.rank_high)
        )
        thick = 0.28 * scene.row
        inset = min(half, 0.06)
        canvas.boxes([(low - inset, y - thick, high + inset, y + thick)], color=palette.span, say=said)
        own = _rank_at(columns.ranks, len(scene.systems), system.rank)
        tall = 0.36 * scene.row
        canvas.line([(own, y - tall), (own, y + tall)], color=palette.ink, linewidth=1.6, say=said)
    _mark(canvas, scene, columns, columns.marks[place], y)
    if system.cluster is not None:
        canvas.text(columns.cluster, y, str(system.cluster), color=palette.soft, size=size, across="right")


def _mark(canvas: Canvas, scene: BoardScene, columns: _Columns, mark: str, y: float) -> None:
    letters, ink = _letters(scene), scene.palette.ink
    if scene.board.groups is None or len(letters) > LETTERS_APART:
        canvas.text(columns.letters, y, _runs(mark, letters), color=ink, size=scene.size)
        return
    for letter in mark:  # each in a column of its own, so that shared ones stand below each other
        x = columns.letters + _pitch(scene) * (letters.index(letter) + 0.5)
        canvas.text(x, y, letter, color=ink, size=scene.size, across="center")


def _cluster_lines(canvas: Canvas, scene: BoardScene, rows: float) -> None:
    clusters = [system.cluster for system in scene.systems]
    ends: list[Point] = [(MARGIN, 0.0), (canvas.width - MARGIN, 0.0)]
    for place, (above, below) in enumerate(pairwise(clusters), start=1):
        if above != below:
            y = rows + scene.row * place
            said = f"All of cluster {above} and above differ significantly from all below."
            canvas.line([(x, y) for x, _ in ends], color=scene.palette.ink, linewidth=0.9, say=said)


def _notes(scene: BoardScene) -> list[str]:
    groups, alpha = scene.board.groups, scene.board.family.alpha
    if groups is None:
        return ["Without the tests of all pairs there are no rank ranges and no groups."]
    said = [
        (
            f"Filled dots are the best set: the best system is in it with {confidence(alpha)} confidence. "
            f"Bars are rank ranges that hold for all systems at once with {confidence(alpha)} confidence; the tick is the rank."
        )
    ]
    if groups.letters is not None:
        said.append("Systems that share a letter do not differ significantly.")
    if len(groups.clusters) > 1:
        said.append("At a line, all above differ significantly from all below.")
    return [" ".join(said)]


def _description(scene: BoardScene, title: str) -> str:
    rows = " ".join(f"{sentence_of(system)}." for system in scene.systems)
    return f"{title}. {scene.subtitle}. {' '.join(_notes(scene))} Best first: {rows}"
