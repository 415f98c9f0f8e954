"""Power against the number of items, the wanted power as a rule and the answer as a dot, as SVG and PNG.

Where several numbers of items were asked for a difference each, the difference against the number of items.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from ...inference.power.record import PowerRecord
from ..number_format import exactly, number
from .fonts import prepare
from .rendering import Kind, saved, svg_file, themed_svg
from .style import PALETTES, STAND_INS, Palette, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INCHES = (6.2, 3.75)
LEFT, RIGHT, BOTTOM, TOP = 0.125, 0.965, 0.155, 0.8


def power_svg(record: PowerRecord, theme: Theme = "light") -> bytes:
    """A picture as a file of its own; the same record gives the same bytes."""
    drawn = _saved(record, PALETTES[theme], "svg").decode()
    return svg_file(drawn, "power", "Power", record.sentence)


def power_png(record: PowerRecord, theme: Theme = "light") -> bytes:
    """A picture at twice the usual resolution."""
    prepare()
    return _saved(record, PALETTES[theme], "png")


def inline_power(record: PowerRecord) -> str:
    """A picture for a page, whose light or dark it follows."""
    drawn = _saved(record, STAND_INS, "svg").decode()
    light, dark = (asdict(replace(PALETTES[theme], paper="transparent")) for theme in ("light", "dark"))
    name = f"w{record.digest[:12]}"
    return themed_svg(
        drawn, name, "Power", record.sentence, stand_ins=asdict(STAND_INS), light=light, dark=dark
    )


def _saved(record: PowerRecord, palette: Palette, kind: Kind) -> bytes:
    return saved(lambda: _draw(record, palette), record.digest, kind)


def _draw(record: PowerRecord, palette: Palette) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=INCHES, facecolor=palette.paper)
    axes = figure.add_axes((LEFT, BOTTOM, RIGHT - LEFT, TOP - BOTTOM), facecolor=palette.paper)
    figure.text(LEFT, 0.925, _title(record), fontsize=15, fontweight="bold", color=palette.ink, va="center")
    for row, text in enumerate(_subtitle(record)):
        figure.text(LEFT, 0.865 - 0.045 * row, text, fontsize=9, color=palette.ink, va="center")
    if _of_differences(record):
        _line(axes, record, palette, [abs(point.effect) for point in record.curve])
        axes.set_ylim(bottom=0.0)
        axes.set_ylabel("true difference that is found", color=palette.ink, labelpad=8)
    else:
        _line(axes, record, palette, [point.power for point in record.curve])
        axes.set_ylim(0.0, 1.03)
        axes.set_ylabel("power", color=palette.ink, labelpad=8)
        if record.wanted_power is not None:
            axes.axhline(record.wanted_power, color=palette.ink, linewidth=0.9, linestyle=(0, (4, 3)))
        _answer(axes, record, palette)
    axes.set_xlabel("items", color=palette.ink, labelpad=6)
    _frame(axes, palette)
    return figure


def _of_differences(record: PowerRecord) -> bool:
    return record.solve == "effect" and len({point.effect for point in record.curve}) > 1


def _title(record: PowerRecord) -> str:
    solution = record.solution
    if solution.n is None or solution.effect is None:
        return "Out of reach"
    if _of_differences(record):
        return "What so many items find"
    if record.solve == "n":
        return f"{solution.n:,} items"
    if record.solve == "effect":
        return f"A difference of {number(solution.effect)}"
    return f"Power {_percent(solution.power)}"


def _subtitle(record: PowerRecord) -> list[str]:
    known = "exact" if record.method.exact else "approximate"
    effect = None if _of_differences(record) else record.solution.effect
    wanted = "" if record.wanted_power is None else f", power {exactly(record.wanted_power)}"
    of = "" if effect is None else f"True difference {number(effect)}, "
    shared = "" if record.comparisons == 1 else f" over {record.comparisons} comparisons"
    return [f"{of}alpha {exactly(record.alpha)}{shared}, {record.alternative}{wanted}; {known}"]


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100.0 * share:.1f} %"


def _line(axes: Axes, record: PowerRecord, palette: Palette, heights: list[float]) -> None:
    numbers = [point.n for point in record.curve]
    axes.plot(numbers, heights, color=palette.tail, linewidth=2.0, marker="o", markersize=3.5)


def _answer(axes: Axes, record: PowerRecord, palette: Palette) -> None:
    solution = record.solution
    if solution.n is None or solution.power is None:
        return
    axes.plot([solution.n], [solution.power], "o", color=palette.observed, markersize=8, zorder=5)
    axes.annotate(
        f"{solution.n:,} items: {_percent(solution.power)}",
        (solution.n, solution.power),
        textcoords="offset points",
        xytext=(8, -14),
        fontsize=10,
        fontweight="bold",
        color=palette.observed,
        bbox={"facecolor": palette.paper, "edgecolor": "none", "alpha": 0.75, "pad": 1.5},
    )


def _frame(axes: Axes, palette: Palette) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(palette.ink)
    axes.tick_params(axis="x", colors=palette.ink)
    axes.tick_params(axis="y", colors=palette.ink, length=0)
    axes.yaxis.grid(visible=True, color=palette.faint, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.ticklabel_format(axis="both", useOffset=False, scilimits=(-4, 6))
