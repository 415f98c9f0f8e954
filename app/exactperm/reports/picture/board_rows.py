"""Pictures with a row for each system or slice: the leaderboard, the forest plot of differences, and the slices of a test.

The leaderboard has scores as dots, rank ranges as bars, letters, and a line where all above differ from all below. The forest
has the differences to the baseline, or to the best system, with their confidence intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from ...answers.board import PairRecord, Relation, SystemRecord
from ...answers.test import ConfidenceInterval, SliceRecord, SlicesRecord
from ...presentation.escaping import short
from ...presentation.numbers import MINUS, counted, number, p_number, percent, short_p
from ...presentation.words import p_adjusted
from ..board_words import RELATIONS, against, confidence, toward
from .board import FEW, MOST_NAME, BoardScene, Scene, aligned, refusal, sentence_of
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
    score_axis,
    widest,
    width,
)

SCORES, RANKS = 2.5, 2.1  # inches
COLUMN = 0.2  # between columns
EDGE = 0.32  # of a panel: half a number of its axis
HEAD, AXIS = 0.24, 0.26
MOST_TICKS = 10
LETTERS_APART = 12  # more letters are shortened to runs


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
    """The picture of a board; without all pairs it has only scores, and relations to the baseline."""
    columns = _columns(scene)
    title = f"{counted(len(scene.systems), 'system')} by {scene.measured}"
    notes = _notes(scene)
    top = head_height(title, scene.subtitle, columns.width) + 0.12
    rows = top + HEAD + (AXIS if _is_long(scene.systems) else 0.0)
    bottom = rows + scene.row * len(scene.systems)
    canvas = scene.canvas(title, columns.width, bottom + AXIS + 0.1, notes)
    _heads(canvas, scene, columns, top + HEAD / 2)
    _axes(canvas, scene, columns, rows, bottom)
    for place, system in enumerate(scene.systems):
        _row(canvas, scene, columns, place, system, rows + scene.row * (place + 0.5))
    _cluster_lines(canvas, scene, rows)
    sentences = " ".join(f"{sentence_of(system)}." for system in scene.systems)
    return scene.drawn(canvas, title, bottom + AXIS + 0.18, notes, f"{notes[0]} Best first: {sentences}")


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


def _is_long(rows: Sequence[object]) -> bool:
    """Whether the board is so long that it needs the axis at the top as well."""
    return len(rows) > 20


def _numbered(
    canvas: Canvas,
    scene: Scene,
    axis: tuple[Sequence[tuple[float, str]], float, float],
    ends: Sequence[float],
) -> None:
    """The ends of the lines of ticks with their numbers; the first of `ends` is at the bottom."""
    ticks, left, right = axis
    for y in ends:
        canvas.line([(left, y), (right, y)], color=scene.palette.soft, linewidth=0.8)
        away = 0.13 if y == ends[0] else -0.13
        for x, text in ticks:
            canvas.text(x, y + away, text, color=scene.palette.soft, size=SMALL, across="center")


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
        _numbered(
            canvas, scene, (places_, left, right), [bottom, top] if _is_long(scene.systems) else [bottom]
        )


def _rank_ticks(systems: int) -> list[int]:
    """1, round numbers, and K, without numbers that would touch."""
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 10**9) if systems / step <= MOST_TICKS)
    apart = (width(str(systems), SMALL) + 0.05) * systems / RANKS  # in ranks
    inner = range(step, systems, step)
    return sorted({1, systems, *(tick for tick in inner if min(tick - 1, systems - tick) >= apart)})


def _rank_at(panel: tuple[float, float], systems: int, rank: int) -> float:
    return panel[0] + (panel[1] - panel[0]) * (rank - 0.5) / systems


def _row(
    canvas: Canvas, scene: BoardScene, columns: _Columns, place: int, system: SystemRecord, y: float
) -> None:
    palette, tooltip, size = scene.palette, sentence_of(system), scene.size
    canvas.text(columns.rank, y, str(system.rank), color=palette.soft, size=size, across="right")
    canvas.text(columns.name, y, columns.names[place], color=palette.ink, size=size, say=tooltip)
    canvas.text(columns.score, y, columns.scores[place], color=palette.ink, size=size, across="right")
    hollow = system.in_best_set is False
    x = columns.dots.at(system.score)
    canvas.line([(columns.dots.left, y), (x, y)], color=palette.faint, linewidth=0.8)
    canvas.dot(x, y, color=palette.dot, fill=palette.paper if hollow else palette.dot, say=tooltip)
    if columns.ranks is not None and system.rank_low is not None and system.rank_high is not None:
        half = 0.5 * (columns.ranks[1] - columns.ranks[0]) / len(scene.systems)
        low, high = (
            _rank_at(columns.ranks, len(scene.systems), rank) for rank in (system.rank_low, system.rank_high)
        )
        thick = 0.28 * scene.row
        inset = min(half, 0.06)
        canvas.boxes([(low - inset, y - thick, high + inset, y + thick)], color=palette.span, say=tooltip)
        x_of_rank = _rank_at(columns.ranks, len(scene.systems), system.rank)
        tall = 0.36 * scene.row
        canvas.line(
            [(x_of_rank, y - tall), (x_of_rank, y + tall)], color=palette.ink, linewidth=1.6, say=tooltip
        )
    _mark(canvas, scene, columns, columns.marks[place], y)
    if system.cluster is not None:
        canvas.text(columns.cluster, y, str(system.cluster), color=palette.soft, size=size, across="right")


def _mark(canvas: Canvas, scene: BoardScene, columns: _Columns, mark: str, y: float) -> None:
    letters, ink = _letters(scene), scene.palette.ink
    if scene.board.groups is None or len(letters) > LETTERS_APART:
        canvas.text(columns.letters, y, _runs(mark, letters), color=ink, size=scene.size)
        return
    for letter in mark:  # a column for each letter, so that shared ones are aligned
        x = columns.letters + _pitch(scene) * (letters.index(letter) + 0.5)
        canvas.text(x, y, letter, color=ink, size=scene.size, across="center")


def _cluster_lines(canvas: Canvas, scene: BoardScene, rows: float) -> None:
    clusters = [system.cluster for system in scene.systems]
    ends: list[Point] = [(MARGIN, 0.0), (canvas.width - MARGIN, 0.0)]
    for place, (above, below) in enumerate(pairwise(clusters), start=1):
        if above != below:
            y = rows + scene.row * place
            tooltip = f"All of cluster {above} and above differ significantly from all below."
            canvas.line([(x, y) for x, _ in ends], color=scene.palette.ink, linewidth=0.9, say=tooltip)


def _notes(scene: BoardScene) -> list[str]:
    groups, alpha = scene.board.groups, scene.board.family.alpha
    if groups is None:
        return ["Rank ranges and groups need the tests of all pairs."]
    notes = [
        (
            f"Filled dots are the best set, which holds the best system with {confidence(alpha)} "
            f"confidence. Bars are rank ranges that hold for all systems at once with {confidence(alpha)} "
            "confidence; the tick is the rank."
        )
    ]
    if groups.letters is not None:
        notes.append("Systems that share a letter do not differ significantly.")
    if len(groups.clusters) > 1:
        notes.append("All above a line differ significantly from all below it.")
    return [" ".join(notes)]


PANEL = 3.1
SIGNS: dict[Relation, str] = {"better": "+", "worse": MINUS, "tied": "", "undecided": "?", "untestable": ""}


@dataclass(frozen=True, slots=True)
class _Difference:
    """A difference: its name, its ends (None is unbounded), and its test."""

    label: str
    name: str
    difference: float
    relation: Relation
    interval: ConfidenceInterval | None
    p: str
    short: str


@dataclass(frozen=True, slots=True)
class _RowLayout:
    """Places in inches: the axis, the end of the column of p-values, and the ends of the rows."""

    axis: Axis
    p: float
    width: float
    top: float
    first: float
    bottom: float


def forest(scene: BoardScene) -> Drawing:
    """The picture of a board; refused if none of its pairs is listed."""
    rows, to = _differences(scene)
    if not rows:
        raise refusal(
            "The forest shows pairs with the baseline or the best system, and none is listed: set pairs to "
            "all, or choose another picture."
        )
    title = f"Differences{f' to {short(to)}' if to else ''} in {scene.measured}"
    notes, palette, size = _forest_notes(rows), scene.palette, scene.size
    beside = COLUMN + widest(map(_words, rows), size)
    columns = [row.label for row in rows], [row.short for row in rows]
    layout = _row_layout(scene, title, ("system", *columns), _values(rows), size, scene.row, beside)
    canvas = _row_canvas(scene, title, "system", layout, notes, is_long=_is_long(rows))
    for place, row in enumerate(rows):
        y = layout.first + scene.row * (place + 0.5)
        tooltip = _sentence(row, to)
        canvas.text(MARGIN, y, row.label, color=palette.ink, size=size, say=tooltip)
        _draw_difference(canvas, scene, layout.axis, row, y, tooltip)
        canvas.text(layout.p, y, row.short, color=palette.ink, size=size, across="right")
        canvas.text(layout.p + COLUMN, y, _words(row), color=palette.soft, size=size)
    every = " ".join(f"{_sentence(row, to)}." for row in rows)
    return scene.drawn(canvas, title, layout.bottom + AXIS + 0.18, notes, f"{notes[0]} {every}")


def _row_layout(
    scene: Scene, title: str, columns: tuple[str, Sequence[str], Sequence[str]], values: Sequence[float], size: float, row: float,
    beside: float = 0.0,
) -> _RowLayout:  # fmt: skip
    """The layout of rows of a name, a difference and a p-value: the head of the names, these, and the p-values; `beside` is to the right."""
    head, labels, p_values = columns
    left = MARGIN + max(widest(labels, size), width(head, SMALL)) + COLUMN + EDGE / 2
    axis = score_axis(values, left, left + PANEL, SMALL)
    p = axis.right + EDGE + max(widest(p_values, size), width("adjusted p", SMALL))
    wide = max(p + beside + MARGIN, LEAST_WIDTH)
    top = head_height(title, scene.subtitle, wide) + 0.12
    first = top + HEAD + (AXIS if beside and _is_long(labels) else 0.0)
    return _RowLayout(axis, p, wide, top, first, first + row * len(labels))


def _words(row: _Difference) -> str:
    """The relation with its sign."""
    return f"{SIGNS[row.relation]} {RELATIONS[row.relation]}".strip()


def _differences(scene: BoardScene) -> tuple[list[_Difference], str]:
    """The differences, best system first, and their reference system; named pairs in their order, without one."""
    record, board, alpha = scene.record, scene.board, scene.board.family.alpha
    if record.compare == "pairs":
        names = list(dict.fromkeys(name for pair in board.pairs for name in (pair.u, pair.v)))
        shown = dict(zip(names, names_fitted(names, scene.size, MOST_NAME / 2), strict=True))
        return [
            _difference(
                pair,
                pair.u,
                f"{shown[pair.u]} {MINUS} {shown[pair.v]}",
                f"{short(pair.u)} minus {short(pair.v)}",
                alpha,
            )
            for pair in board.pairs
        ], ""
    to = record.baseline or scene.systems[0].name
    pairs = against(board, to)
    others = [system.name for system in scene.systems if system.name in pairs]
    labels = names_fitted(others, scene.size, MOST_NAME)
    named = zip(others, labels, strict=True)
    return [_difference(pairs[name], name, label, short(name), alpha) for name, label in named], to


def _difference(pair: PairRecord, name: str, label: str, sentence: str, alpha: float) -> _Difference:
    difference, relation = toward(pair, name)
    interval = pair.confidence_interval
    if interval is not None and pair.u != name:
        low, high = (None if end is None else 0.0 - end for end in (interval.high, interval.low))
        interval = replace(interval, low=low, high=high)
    return _Difference(
        label,
        sentence,
        difference,
        relation,
        interval,
        p_adjusted(pair, alpha),
        short_p(pair.p_adjusted, pair.log10_p_adjusted, alpha, 3),
    )


def _values(rows: Sequence[_Difference]) -> list[float]:
    ends = [
        end
        for row in rows
        if row.interval is not None
        for end in (row.interval.low, row.interval.high)
        if end is not None
    ]
    return [0.0, *(row.difference for row in rows), *ends]


def _row_canvas(
    scene: Scene, title: str, head: str, layout: _RowLayout, notes: Sequence[str], *, is_long: bool = False
) -> Canvas:
    """A canvas with the heads of the columns, and the axis."""
    palette, axis = scene.palette, layout.axis
    canvas = scene.canvas(title, layout.width, layout.bottom + AXIS + 0.1, notes)
    y = layout.top + HEAD / 2
    canvas.text(MARGIN, y, head, color=palette.soft, size=SMALL)
    middle = (axis.left + axis.right) / 2
    canvas.text(middle, y, f"difference{axis.units}", color=palette.soft, size=SMALL, across="center")
    canvas.text(layout.p, y, "adjusted p", color=palette.soft, size=SMALL, across="right")
    first, bottom = layout.first, layout.bottom
    canvas.lines([((x, first), (x, bottom)) for x, _ in axis.ticks], color=palette.faint, linewidth=0.7)
    zero = axis.at(0.0)
    canvas.line([(zero, first), (zero, bottom)], color=palette.ink, linewidth=0.9, say="No difference")
    ends = [bottom, first] if is_long else [bottom]
    _numbered(canvas, scene, (axis.ticks, axis.left, axis.right), ends)
    return canvas


def _draw_difference(
    canvas: Canvas, scene: BoardScene, axis: Axis, row: _Difference, y: float, tooltip: str
) -> None:
    palette, interval = scene.palette, row.interval
    if interval is not None:
        low = axis.left if interval.low is None else axis.at(interval.low)
        high = axis.right if interval.high is None else axis.at(interval.high)
        canvas.line([(low, y), (high, y)], color=palette.dot, linewidth=1.6, say=tooltip)
        half, tip = 0.05, 0.06
        for x, end, inwards in ((low, interval.low, 1), (high, interval.high, -1)):
            if end is None:  # an arrow: unbounded
                points = [(x + inwards * tip, y - half), (x, y), (x + inwards * tip, y + half)]
            else:
                points = [(x, y - half), (x, y + half)]
            canvas.line(points, color=palette.dot, linewidth=1.2)
    filled = row.relation in {"better", "worse"}
    fill = palette.dot if filled else palette.paper
    canvas.dot(axis.at(row.difference), y, color=palette.dot, fill=fill, say=tooltip)


def _sentence(row: _Difference, to: str) -> str:
    than = f" than {short(to)}" if to and row.relation in {"better", "worse"} else ""
    interval = ""
    if row.interval is not None:
        low, high = (
            "unbounded" if end is None else number(end) for end in (row.interval.low, row.interval.high)
        )
        interval = f", {percent(row.interval.level)} interval {low} to {high}"
    return f"{row.name}: difference {number(row.difference)}{interval}, adjusted p {row.p}, {RELATIONS[row.relation]}{than}"


def _forest_notes(rows: Sequence[_Difference]) -> list[str]:
    levels = {percent(row.interval.level) for row in rows if row.interval is not None}
    notes = ["Filled dots: significantly better or worse."]
    if levels:
        count = sum(row.interval is not None for row in rows)
        some = "" if count == len(rows) else f" ({count} of {counted(len(rows), 'pair')} have one)"
        notes.append(
            f"Lines are {', '.join(sorted(levels))} confidence intervals of single pairs{some}; they are "
            "not adjusted for several comparisons, so they may exclude 0 although the adjusted p-value is "
            "above alpha."
        )
    else:
        notes.append(
            "There are no confidence intervals: none was requested (confidence_level), or none could be computed."
        )
    return [" ".join(notes)]


# Slices: a row for each, with its difference and its adjusted p-value, the smallest p-value first


SLICE_ROW, SLICE_SIZE = 0.235, 9.0
_SLICE_NOTES = ("Filled dots: significant after the adjustment over all slices.",)


@dataclass(frozen=True, slots=True)
class SlicesScene(Scene):
    """Slices to draw, and how."""

    slices: SlicesRecord
    alpha: float

    @property
    def subtitle(self) -> str:
        """The p-value of all slices, and its method."""
        return f"smallest p-value {p_number(self.slices.p_value, self.alpha)}, {self.slices.method}"


def slices_panel(scene: SlicesScene) -> Drawing:
    """The first FEW slices; a table has all of them."""
    every, palette, size = scene.slices.items, scene.palette, SLICE_SIZE
    rows, title = every[:FEW], f"Differences in {counted(len(every), 'slice')}"
    names = names_fitted([row.slice for row in rows], size, MOST_NAME)
    p_values = [p_number(row.p_adjusted, scene.alpha, digits=3) for row in rows]
    values = [0.0, *(row.difference for row in rows)]
    layout = _row_layout(scene, title, ("slice", names, p_values), values, size, SLICE_ROW)
    canvas = _row_canvas(scene, title, "slice", layout, _SLICE_NOTES)
    zero, sentences = layout.axis.at(0.0), [_slice_sentence(row, scene.alpha) for row in rows]
    for place, (row, name, p, tooltip) in enumerate(zip(rows, names, p_values, sentences, strict=True)):
        x, y = layout.axis.at(row.difference), layout.first + SLICE_ROW * (place + 0.5)
        canvas.text(MARGIN, y, name, color=palette.ink, size=size, say=tooltip)
        canvas.line([(zero, y), (x, y)], color=palette.dot, linewidth=1.6, say=tooltip)
        canvas.dot(
            x, y, color=palette.dot, fill=palette.dot if row.significant else palette.paper, say=tooltip
        )
        canvas.text(layout.p, y, p, color=palette.ink, size=size, across="right")
    words = " ".join([*_SLICE_NOTES, *(f"{sentence}." for sentence in sentences)])
    return scene.drawn(canvas, title, layout.bottom + AXIS + 0.18, _SLICE_NOTES, words)


def _slice_sentence(row: SliceRecord, alpha: float) -> str:
    decided = "significant" if row.significant else "not significant"
    return (
        f"{short(row.slice)}: {counted(row.n, 'item')}, difference {number(row.difference)}, "
        f"adjusted p {p_number(row.p_adjusted, alpha)}, {decided}"
    )
