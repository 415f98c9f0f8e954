"""The picture of slices: a row for each, with its difference and its adjusted p-value, the smallest p-value first."""

from __future__ import annotations

from collections.abc import Callable

from ...answers.test import SliceRecord, SlicesRecord
from ...presentation.escaping import short
from ...presentation.numbers import counted, number, p_number
from .board import FEW, MOST_NAME
from .board_rows import AXIS, COLUMN, EDGE, HEAD, PANEL
from .canvas import (
    LEAST_WIDTH,
    LINE,
    MARGIN,
    SMALL,
    BoardPalette,
    Canvas,
    Drawing,
    head_height,
    names_fitted,
    note_lines,
    score_axis,
    widest,
    width,
)

ROW, SIZE = 0.235, 9.0
_NOTES = ("Filled dots: significant after the adjustment over all slices.",)


def slices_panel(
    slices: SlicesRecord, alpha: float, palette: BoardPalette, name: str, printable: Callable[[str], str]
) -> Drawing:
    """The first FEW slices; a table has all of them."""
    rows = slices.items[:FEW]
    title = f"Differences in {counted(len(slices.items), 'slice')}"
    subtitle = f"smallest p-value {p_number(slices.p_value, alpha)}, {slices.method}"
    names = names_fitted([row.slice for row in rows], SIZE, MOST_NAME)
    p_values = [p_number(row.p_adjusted, alpha, digits=3) for row in rows]
    left = MARGIN + max(widest(names, SIZE), width("slice", SMALL)) + COLUMN + EDGE / 2
    axis = score_axis([0.0, *(row.difference for row in rows)], left, left + PANEL, SMALL)
    at_p = axis.right + EDGE + max(widest(p_values, SIZE), width("adjusted p", SMALL))
    wide = max(at_p + MARGIN, LEAST_WIDTH)
    top = head_height(title, subtitle, wide) + 0.12
    first = top + HEAD
    bottom = first + ROW * len(rows)
    height = bottom + AXIS + 0.1 + LINE * len(note_lines(_NOTES, wide)) + MARGIN
    canvas = Canvas(wide, height, palette.paper, name, printable)
    canvas.title(title, subtitle, ink=palette.ink, soft=palette.soft)
    middle = (axis.left + axis.right) / 2
    for x, text, side in (
        (MARGIN, "slice", "left"),
        (middle, f"difference{axis.units}", "center"),
        (at_p, "adjusted p", "right"),
    ):
        canvas.text(x, top + HEAD / 2, text, color=palette.soft, size=SMALL, across=side)
    canvas.lines([((x, first), (x, bottom)) for x, _ in axis.ticks], color=palette.faint, linewidth=0.7)
    zero = axis.at(0.0)
    canvas.line([(zero, first), (zero, bottom)], color=palette.ink, linewidth=0.9, say="No difference")
    canvas.line([(axis.left, bottom), (axis.right, bottom)], color=palette.soft, linewidth=0.8)
    for x, text in axis.ticks:
        canvas.text(x, bottom + 0.13, text, color=palette.soft, size=SMALL, across="center")
    for place, (row, shown, p) in enumerate(zip(rows, names, p_values, strict=True)):
        y, said = first + ROW * (place + 0.5), _sentence(row, alpha)
        canvas.text(MARGIN, y, shown, color=palette.ink, size=SIZE, say=said)
        x = axis.at(row.difference)
        canvas.line([(zero, y), (x, y)], color=palette.dot, linewidth=1.6, say=said)
        canvas.dot(x, y, color=palette.dot, fill=palette.dot if row.significant else palette.paper, say=said)
        canvas.text(at_p, y, p, color=palette.ink, size=SIZE, across="right")
    canvas.notes(bottom + AXIS + 0.18, _NOTES, color=palette.soft)
    every = " ".join(f"{_sentence(row, alpha)}." for row in rows)
    return Drawing(canvas, title, f"{title}. {subtitle}. {_NOTES[0]} {every}")


def _sentence(row: SliceRecord, alpha: float) -> str:
    decided = "significant" if row.significant else "not significant"
    return (
        f"{short(row.slice)}: {counted(row.n, 'item')}, difference {number(row.difference)}, "
        f"adjusted p {p_number(row.p_adjusted, alpha)}, {decided}"
    )
