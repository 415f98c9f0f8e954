"""Systems on the axis of scores, and a bar for each clique of systems that do not differ significantly, as in Demšar
(2006), *Statistical Comparisons of Classifiers over Multiple Data Sets*, Journal of Machine Learning Research 7:1-30,
section 3.2.4; here a bar has a dot for each member, because other systems may lie between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...answers.board import SystemRecord
from ...presentation.escaping import short
from ...presentation.numbers import counted
from .board import MOST_NAME, BoardScene, aligned, refusal, sentence_of
from .canvas import (
    LEAST_WIDTH,
    MARGIN,
    SMALL,
    Axis,
    Canvas,
    Drawing,
    head_height,
    names_fitted,
    score_axis,
    widest,
    width,
)

MOST_SYSTEMS = 30
PANEL = 4.2
LEVEL, ROW, SIZE = 0.15, 0.2, 9.0
NEAR = 0.1  # between a name and its score


@dataclass(frozen=True, slots=True)
class _Bar:
    """A clique, and the level of its bar."""

    letter: str
    members: tuple[SystemRecord, ...]
    level: int


@dataclass(frozen=True, slots=True)
class _Label:
    """A name and its score, in `room` inches."""

    name: str
    score: str
    room: float
    system: SystemRecord


def bars(scene: BoardScene) -> Drawing:
    """The picture of a board; refused beyond 30 systems, and without letters."""
    systems = scene.systems
    if len(systems) > MOST_SYSTEMS:
        raise refusal(
            f"Bars show at most {MOST_SYSTEMS} systems, and there are {len(systems)}: choose the "
            "leaderboard or the heatmap."
        )
    groups = scene.board.groups
    if groups is None:
        raise refusal(
            "Bars show groups, which need the tests of all pairs: choose the leaderboard or the forest."
        )
    if groups.letters is None:
        raise refusal("There are too many groups for bars: choose the leaderboard or the heatmap.")
    scores = aligned([system.score for system in systems])
    numbers = widest(scores, SIZE)
    names = names_fitted([system.name for system in systems], SIZE, MOST_NAME - numbers)
    half = (len(systems) + 1) // 2
    ordered = sorted(range(len(systems)), key=lambda place: (systems[place].score, place))
    left_side, right_side = ordered[:half], ordered[half:][::-1]
    sides = [
        widest([names[place] for place in side], SIZE) + NEAR + numbers for side in (left_side, right_side)
    ]
    left = MARGIN + sides[0] + 0.3
    axis = score_axis([system.score for system in systems], left, left + PANEL, SMALL)
    wide = max(axis.right + 0.3 + sides[1] + MARGIN, LEAST_WIDTH)
    title = f"{counted(len(systems), 'system')} by {scene.measured}"
    notes = _notes(scene)
    top = head_height(title, scene.subtitle, wide) + 0.42
    packed = _packed(scene, axis)
    levels = max((bar.level for bar in packed), default=-1) + 1
    labels = top + 0.16 + LEVEL * levels + 0.1
    bottom = labels + ROW * half
    canvas = scene.canvas(title, wide, bottom + 0.14, notes)
    _axis(canvas, scene, axis, top)
    for side, places in enumerate((left_side, right_side)):
        for row, place in enumerate(places):
            label = _Label(names[place], scores[place], numbers, systems[place])
            _leader(canvas, scene, axis, label, side, (top, labels + ROW * (row + 0.5)))
    for bar in packed:
        _draw(canvas, scene, axis, bar, top + 0.16 + LEVEL * (bar.level + 0.5))
    return scene.drawn(canvas, title, bottom + 0.2, notes, _sentences(scene))


def _packed(scene: BoardScene, axis: Axis) -> list[_Bar]:
    """Cliques of at least two on as few levels as they fit on, best first; identical scores need room for a dot."""
    groups = scene.board.groups
    assert groups is not None
    of_name = {system.name: system for system in scene.systems}
    free: list[list[tuple[float, float]]] = []
    packed = []
    for letter, names in (groups.letters or {}).items():
        if len(names) < 2:
            continue
        members = tuple(of_name[name] for name in names)
        low, high = _ends(members, axis)
        low, high = low - 0.1 - width("m", SMALL), high + 0.1
        level = next((at for at, taken in enumerate(free) if _is_free(taken, low, high)), len(free))
        free += [[]] * (level == len(free))
        free[level] = [*free[level], (low, high)]
        packed.append(_Bar(letter, members, level))
    return packed


def _is_free(taken: Sequence[tuple[float, float]], low: float, high: float) -> bool:
    return all(high < other_low or other_high < low for other_low, other_high in taken)


def _ends(members: Sequence[SystemRecord], axis: Axis) -> tuple[float, float]:
    places = [axis.at(system.score) for system in members]
    return min(places), max(places)


def _axis(canvas: Canvas, scene: BoardScene, axis: Axis, y: float) -> None:
    palette = scene.palette
    canvas.line([(axis.left, y), (axis.right, y)], color=palette.ink, linewidth=1.0)
    canvas.lines([((x, y - 0.05), (x, y)) for x, _ in axis.ticks], color=palette.ink, linewidth=0.8)
    for x, text in axis.ticks:
        canvas.text(x, y - 0.13, text, color=palette.soft, size=SMALL, across="center")
    if axis.units:
        canvas.text(MARGIN, y - 0.3, f"score{axis.units}", color=palette.soft, size=SMALL)


def _leader(
    canvas: Canvas, scene: BoardScene, axis: Axis, label: _Label, side: int, ends: tuple[float, float]
) -> None:
    """From the axis straight down, and to the label at the side."""
    top, y = ends
    x, palette, tooltip = axis.at(label.system.score), scene.palette, sentence_of(label.system)
    edge = axis.left - 0.12 if side == 0 else axis.right + 0.12
    canvas.line([(x, top), (x, y), (edge, y)], color=palette.span, linewidth=0.8, say=tooltip)
    canvas.line([(x, top), (x, top + 0.1)], color=palette.dot, linewidth=1.4, say=tooltip)
    score: dict[str, Any] = {"color": palette.soft, "size": SIZE, "across": "right"}
    if side == 0:
        canvas.text(edge - 0.06, y, label.score, **score)
        canvas.text(
            edge - 0.06 - label.room - NEAR, y, label.name, color=palette.ink, across="right", say=tooltip
        )
    else:
        canvas.text(edge + 0.06 + label.room, y, label.score, **score)
        canvas.text(edge + 0.06 + label.room + NEAR, y, label.name, color=palette.ink, say=tooltip)


def _draw(canvas: Canvas, scene: BoardScene, axis: Axis, bar: _Bar, y: float) -> None:
    palette = scene.palette
    low, high = _ends(bar.members, axis)
    names = ", ".join(short(system.name) for system in bar.members)
    tooltip = f"{bar.letter}: {names} do not differ significantly"
    canvas.line([(low - 0.04, y), (high + 0.04, y)], color=palette.ink, linewidth=2.6, say=tooltip)
    for system in bar.members:
        canvas.dot(axis.at(system.score), y, color=palette.ink, fill=palette.paper, size=3.6, say=tooltip)
    canvas.text(low - 0.1, y, bar.letter, color=palette.soft, size=SMALL, across="right")


def _notes(scene: BoardScene) -> list[str]:
    groups = scene.board.groups
    assert groups is not None
    alone = sum(len(names) == 1 for names in (groups.letters or {}).values())
    note = "Bars join systems that do not differ significantly; their dots are the members."
    if alone:
        note += f" {counted(alone, 'system')} {'differs' if alone == 1 else 'differ'} significantly from all others, without a bar."
    return [note]


def _sentences(scene: BoardScene) -> str:
    groups = scene.board.groups
    assert groups is not None
    sentences = " ".join(
        f"{letter}: {', '.join(map(short, names))}." for letter, names in (groups.letters or {}).items()
    )
    rows = " ".join(f"{sentence_of(system)}." for system in scene.systems)
    return f"{' '.join(_notes(scene))} Groups: {sentences} Systems: {rows}"
