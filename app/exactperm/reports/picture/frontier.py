"""Cost against quality: a dot for each system, hollow where another one is shown to be better and cheaper."""

from __future__ import annotations

from ...answers.board import FrontierSystem
from ...presentation.escaping import short
from ...presentation.numbers import counted, number
from ..board_words import confidence
from .board import MOST_NAME, BoardScene, refusal
from .canvas import (
    LEAST_WIDTH,
    MARGIN,
    SMALL,
    TEXT,
    Drawing,
    head_height,
    names_fitted,
    score_axis,
    upwards,
    widest,
)

MOST_SYSTEMS = 60
PANEL, LEAST_HEIGHT, ROW = 4.2, 2.6, 0.19
NOTE = "Hollow dots: another system is shown to be better and cheaper. The filled ones hold the true frontier with {} confidence."


def frontier(scene: BoardScene) -> Drawing:
    """The picture of a board with costs; refused without them, and beyond 60 systems."""
    record = scene.record.frontier
    if record is None or len(scene.systems) > MOST_SYSTEMS:
        raise refusal(
            f"Cost against quality needs costs (`frontier`), of at most {MOST_SYSTEMS} systems: choose the leaderboard."
        )
    palette, systems, of = scene.palette, scene.systems, {system.name: system for system in record.systems}
    names = names_fitted([system.name for system in systems], TEXT, MOST_NAME)
    left = MARGIN + 0.75
    wide = max(left + PANEL + 0.5 + widest(names, TEXT) + MARGIN, LEAST_WIDTH)
    kept = sum(not system.excluded for system in record.systems)
    title = f"{kept} of {counted(len(systems), 'system')} may be on the frontier"
    notes = [NOTE.format(confidence(scene.board.family.alpha))]
    top = head_height(title, scene.subtitle, wide) + 0.34
    bottom = top + max(LEAST_HEIGHT, ROW * len(systems))
    canvas = scene.canvas(title, wide, bottom + 0.62, notes)
    along = score_axis([system.cost for system in record.systems], left, left + PANEL, SMALL)
    up = score_axis([system.score for system in systems], bottom, top, SMALL, upwards(SMALL))
    canvas.lines([((left, y), (left + PANEL, y)) for y, _ in up.ticks], color=palette.faint)
    canvas.line([(left, top), (left, bottom), (left + PANEL, bottom)], color=palette.ink)
    for y, text in up.ticks:
        canvas.text(left - 0.08, y, text, color=palette.soft, size=SMALL, across="right")
    for x, text in along.ticks:
        canvas.text(x, bottom + 0.14, text, color=palette.soft, size=SMALL, across="center")
    costs = f"mean cost of an item{along.units}"
    canvas.text(left + PANEL / 2, bottom + 0.36, costs, color=palette.soft, size=SMALL, across="center")
    canvas.text(MARGIN, top - 0.2, f"score{up.units}", color=palette.soft, size=SMALL, across="left")
    step = (bottom - top) / len(systems)
    sentences = {system.name: _said(system.score, of[system.name]) for system in systems}
    for row, (system, name) in enumerate(zip(systems, names, strict=True)):
        cost, y = of[system.name], top + step * (row + 0.5)
        at, tooltip = (along.at(cost.cost), up.at(system.score)), sentences[system.name]
        canvas.line(
            [at, (left + PANEL, at[1]), (left + PANEL + 0.3, y)],
            color=palette.span,
            linewidth=0.7,
            say=tooltip,
        )
        canvas.text(
            left + PANEL + 0.36, y, name, color=palette.soft if cost.excluded else palette.ink, say=tooltip
        )
    for system in systems:
        cost = of[system.name]
        fill = palette.paper if cost.excluded else palette.dot
        x, y, tooltip = along.at(cost.cost), up.at(system.score), sentences[system.name]
        canvas.dot(x, y, color=palette.dot, fill=fill, size=7.0, say=tooltip)
    words = " ".join(f"{sentence}." for sentence in sentences.values())
    return scene.drawn(canvas, title, bottom + 0.62, notes, f"{notes[0]} Systems: {words}")


def _said(score: float, system: FrontierSystem) -> str:
    behind = "" if system.dominated_by is None else f", behind {short(system.dominated_by)}"
    return f"{short(system.name)}: score {number(score)}, cost {number(system.cost)}{behind}"
