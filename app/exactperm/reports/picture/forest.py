"""Differences to the baseline, or to the best system, with their confidence intervals: a forest plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...answers.board import PairRecord, Relation
from ...answers.test import ConfidenceInterval
from ...presentation.escaping import short
from ...presentation.numbers import counted, number, percent
from ...presentation.words import p_adjusted
from ..board_words import RELATIONS, against, toward
from .board import MINUS, MOST_NAME, BoardScene, refusal, short_p
from .canvas import (
    LEAST_WIDTH,
    LINE,
    MARGIN,
    SMALL,
    Axis,
    Canvas,
    Drawing,
    head_height,
    names_fitted,
    note_lines,
    score_axis,
    widest,
    width,
)

PANEL = 3.1
COLUMN, EDGE, HEAD, AXIS = 0.2, 0.32, 0.24, 0.26
SIGNS: dict[Relation, str] = {"better": "+", "worse": MINUS, "tied": "", "undecided": "?", "untestable": ""}


@dataclass(frozen=True, slots=True)
class _Row:
    """A difference: of whom, its ends (None is unbounded), and its test."""

    label: str
    name: str
    difference: float
    relation: Relation
    interval: ConfidenceInterval | None
    p: str
    short: str


@dataclass(frozen=True, slots=True)
class _Layout:
    """Places in inches: the axis, the ends of the columns of numbers and words, and the ends of the rows."""

    axis: Axis
    p: float
    relation: float
    width: float
    top: float
    first: float
    bottom: float


def forest(scene: BoardScene) -> Drawing:
    """The picture of a board; refused where none of its pairs is listed."""
    rows, to = _rows(scene)
    if not rows:
        raise refusal(
            "The forest shows pairs, here those with the baseline or the best system, and none is listed: set pairs to all, or "
            "ask for another picture."
        )
    title = f"Differences{f' to {short(to)}' if to else ''} in {scene.measured}"
    notes, palette = _notes(rows), scene.palette
    layout = _layout(scene, rows, title)
    height = layout.bottom + AXIS + 0.1 + LINE * len(note_lines(notes, layout.width)) + MARGIN
    canvas = Canvas(layout.width, height, palette.paper, scene.name, scene.printable)
    canvas.title(title, scene.subtitle, ink=palette.ink, soft=palette.soft)
    _frame(canvas, scene, layout, [layout.bottom, layout.first] if _is_long(rows) else [layout.bottom])
    for place, row in enumerate(rows):
        y = layout.first + scene.row * (place + 0.5)
        said = _sentence(row, to)
        canvas.text(MARGIN, y, row.label, color=palette.ink, size=scene.size, say=said)
        _draw(canvas, scene, layout.axis, row, y, said)
        canvas.text(layout.p, y, row.short, color=palette.ink, size=scene.size, across="right")
        canvas.text(layout.relation, y, _words(row), color=palette.soft, size=scene.size)
    canvas.notes(layout.bottom + AXIS + 0.18, notes, color=palette.soft)
    every = " ".join(f"{_sentence(row, to)}." for row in rows)
    return Drawing(canvas, title, f"{title}. {scene.subtitle}. {' '.join(notes)} {every}")


def _layout(scene: BoardScene, rows: Sequence[_Row], title: str) -> _Layout:
    size = scene.size
    left = MARGIN + max(widest([row.label for row in rows], size), width("system", SMALL)) + COLUMN + EDGE / 2
    axis = score_axis(_values(rows), left, left + PANEL, SMALL)
    p = axis.right + EDGE + max(widest([row.short for row in rows], size), width("adjusted p", SMALL))
    wide = max(p + COLUMN + widest(map(_words, rows), size) + MARGIN, LEAST_WIDTH)
    top = head_height(title, scene.subtitle, wide) + 0.12
    first = top + HEAD + (AXIS if _is_long(rows) else 0.0)
    return _Layout(axis, p, p + COLUMN, wide, top, first, first + scene.row * len(rows))


def _is_long(rows: Sequence[_Row]) -> bool:
    """So long that the axis is needed at the top as well."""
    return len(rows) > 20


def _words(row: _Row) -> str:
    """The relation with its sign."""
    return f"{SIGNS[row.relation]} {RELATIONS[row.relation]}".strip()


def _rows(scene: BoardScene) -> tuple[list[_Row], str]:
    """The differences, best system first, and the system that they are to; named pairs in their order, to none."""
    record, board, alpha = scene.record, scene.board, scene.board.family.alpha
    if record.compare == "pairs":
        names = list(dict.fromkeys(name for pair in board.pairs for name in (pair.u, pair.v)))
        shown = dict(zip(names, names_fitted(names, scene.size, MOST_NAME / 2), strict=True))
        return [
            _row(
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
    return [_row(pairs[name], name, label, short(name), alpha) for name, label in named], to


def _row(pair: PairRecord, name: str, label: str, said: str, alpha: float) -> _Row:
    difference, relation = toward(pair, name)
    interval = pair.confidence_interval
    if interval is not None and pair.u != name:
        low, high = (None if end is None else 0.0 - end for end in (interval.high, interval.low))
        interval = replace(interval, low=low, high=high)
    return _Row(label, said, difference, relation, interval, p_adjusted(pair, alpha), short_p(pair, alpha, 3))


def _values(rows: Sequence[_Row]) -> list[float]:
    ends = [
        end
        for row in rows
        if row.interval is not None
        for end in (row.interval.low, row.interval.high)
        if end is not None
    ]
    return [0.0, *(row.difference for row in rows), *ends]


def _frame(canvas: Canvas, scene: BoardScene, layout: _Layout, ends: Sequence[float]) -> None:
    palette, axis = scene.palette, layout.axis
    y = layout.top + HEAD / 2
    canvas.text(MARGIN, y, "system", color=palette.soft, size=SMALL)
    middle = (axis.left + axis.right) / 2
    canvas.text(middle, y, f"difference{axis.units}", color=palette.soft, size=SMALL, across="center")
    canvas.text(layout.p, y, "adjusted p", color=palette.soft, size=SMALL, across="right")
    first, bottom = layout.first, layout.bottom
    canvas.lines([((x, first), (x, bottom)) for x, _ in axis.ticks], color=palette.faint, linewidth=0.7)
    zero = axis.at(0.0)
    canvas.line([(zero, first), (zero, bottom)], color=palette.ink, linewidth=0.9, say="No difference")
    for end in ends:
        canvas.line([(axis.left, end), (axis.right, end)], color=palette.soft, linewidth=0.8)
        for x, text in axis.ticks:
            away = 0.13 if end == bottom else -0.13
            canvas.text(x, end + away, text, color=palette.soft, size=SMALL, across="center")


def _draw(canvas: Canvas, scene: BoardScene, axis: Axis, row: _Row, y: float, said: str) -> None:
    palette, interval = scene.palette, row.interval
    if interval is not None:
        low = axis.left if interval.low is None else axis.at(interval.low)
        high = axis.right if interval.high is None else axis.at(interval.high)
        canvas.line([(low, y), (high, y)], color=palette.dot, linewidth=1.6, say=said)
        half, tip = 0.05, 0.06
        for x, end, inwards in ((low, interval.low, 1), (high, interval.high, -1)):
            if end is None:  # an arrow: it goes on
                points = [(x + inwards * tip, y - half), (x, y), (x + inwards * tip, y + half)]
            else:
                points = [(x, y - half), (x, y + half)]
            canvas.line(points, color=palette.dot, linewidth=1.2)
    filled = row.relation in {"better", "worse"}
    fill = palette.dot if filled else palette.paper
    canvas.dot(axis.at(row.difference), y, color=palette.dot, fill=fill, say=said)


def _sentence(row: _Row, to: str) -> str:
    than = f" than {short(to)}" if to and row.relation in {"better", "worse"} else ""
    interval = ""
    if row.interval is not None:
        low, high = (
            "unbounded" if end is None else number(end) for end in (row.interval.low, row.interval.high)
        )
        interval = f", {percent(row.interval.level)} interval {low} to {high}"
    return f"{row.name}: difference {number(row.difference)}{interval}, adjusted p {row.p}, {RELATIONS[row.relation]}{than}"


def _notes(rows: Sequence[_Row]) -> list[str]:
    levels = {percent(row.interval.level) for row in rows if row.interval is not None}
    said = ["Filled dots: significantly better or worse."]
    if levels:
        count = sum(row.interval is not None for row in rows)
        some = "" if count == len(rows) else f" ({count} of {counted(len(rows), 'pair')} have one)"
        said.append(
            f"Lines are {', '.join(sorted(levels))} confidence intervals of single pairs{some}; they are not adjusted for several "
            "comparisons, so they may exclude 0 where the adjusted p-value is above alpha."
        )
    else:
        said.append(
            "There are no confidence intervals: none was requested (confidence_level), or none could be computed."
        )
    return [" ".join(said)]
