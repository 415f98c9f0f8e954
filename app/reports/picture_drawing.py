"""A scene drawn with matplotlib: figures of its object interface, no global state, no display."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from app.reports.picture_scene import Bar, Scene
from app.reports.picture_style import Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHADED = "shaded: at least as far out as observed"
INCHES = (6.2, 3.75)


def draw(scene: Scene, palette: Palette) -> Figure:
    """The picture of a scene."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=INCHES, facecolor=palette.paper)
    axes = figure.add_axes((0.125, 0.155, 0.85, 0.645), facecolor=palette.paper)
    figure.text(0.125, 0.925, scene.title, fontsize=15, fontweight="bold", color=palette.ink, va="center")
    figure.text(0.125, 0.85, scene.subtitle, fontsize=9.0, color=palette.ink, va="center")
    if scene.tails:
        figure.text(0.975, 0.925, SHADED, fontsize=9.0, color=palette.ink, va="center", ha="right")
    axes.set_xlim(scene.left, scene.right)
    if scene.bars:
        top = max(bar.height for bar in scene.bars)
        axes.set_ylim(0.0, 1.16 * top)
        _bars(axes, scene, palette)
        axes.set_ylabel("probability", color=palette.ink, labelpad=8)
    else:
        axes.set_ylim(0.0, 1.0)
        _unknown(axes, scene, palette)
    _observed(axes, scene, palette)
    axes.set_xlabel(scene.statistic, color=palette.ink, labelpad=6)
    _frame(axes, scene, palette)
    return figure


def _bars(axes: Axes, scene: Scene, palette: Palette) -> None:
    shrink = 0.82 if scene.separate else 1.0
    _rectangles(axes, scene.bars, shrink, facecolor=palette.bar, linewidth=0.0)
    _rectangles(
        axes,
        scene.tails,
        shrink,
        facecolor=palette.tail,
        edgecolor=palette.hatch,
        hatch="////",
        linewidth=0.0,
    )


def _rectangles(axes: Axes, bars: Sequence[Bar], shrink: float, **looks: Any) -> None:
    if not bars:
        return
    widths = [shrink * (bar.right - bar.left) for bar in bars]
    lefts = [bar.left + (1.0 - shrink) / 2 * (bar.right - bar.left) for bar in bars]
    if shrink == 1.0:  # one outline: hundreds of neighbours would show seams
        for run in _runs(bars):
            edges = [run[0].left, *(bar.right for bar in run)]
            axes.stairs([bar.height for bar in run], edges, fill=True, antialiased=True, **looks)
        return
    axes.bar(lefts, [bar.height for bar in bars], width=widths, align="edge", **looks)


def _runs(bars: Sequence[Bar]) -> list[list[Bar]]:
    """Bars that touch, together."""
    runs: list[list[Bar]] = []
    for bar in sorted(bars, key=lambda each: each.left):
        near = 1e-6 * (bar.right - bar.left)
        if runs and abs(runs[-1][-1].right - bar.left) <= near:
            runs[-1].append(bar)
        else:
            runs.append([bar])
    return runs


def _unknown(axes: Axes, scene: Scene, palette: Palette) -> None:
    """Mean and standard deviations, and a sentence: a curve that was not computed is not drawn."""
    axes.axvspan(scene.mean - scene.sd, scene.mean + scene.sd, facecolor=palette.faint, linewidth=0.0)
    axes.axvline(scene.mean, color=palette.ink, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.text(
        0.5,
        0.9,
        "The null distribution was not computed; the band is its mean and standard deviation.",
        transform=axes.transAxes,
        ha="center",
        fontsize=9,
        color=palette.ink,
    )
    axes.set_yticks([])


def _observed(axes: Axes, scene: Scene, palette: Palette) -> None:
    if scene.beyond:
        edge = scene.right if scene.beyond > 0 else scene.left
        reach = 0.11 * (scene.right - scene.left) * scene.beyond
        axes.annotate(
            "",
            xy=(edge, 0.5),
            xytext=(edge - reach, 0.5),
            xycoords=("data", "axes fraction"),
            arrowprops={
                "arrowstyle": "-|>",
                "color": palette.observed,
                "linewidth": 2.0,
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )
        place, across = edge - 0.12 * reach, "right" if scene.beyond > 0 else "left"
        height = 0.58
    else:
        axes.axvline(scene.observed, ymax=0.93, color=palette.observed, linewidth=2.0)
        middle = 0.5 * (scene.left + scene.right)
        across = "right" if scene.observed > middle else "left"
        shift = 0.012 * (scene.right - scene.left)
        place, height = scene.observed + (-shift if across == "right" else shift), 0.92
    axes.text(
        place,
        height,
        scene.observed_label,
        transform=axes.get_xaxis_transform(),
        ha=across,
        va="bottom" if scene.beyond else "top",
        fontsize=10,
        fontweight="bold",
        color=palette.observed,
        bbox={"facecolor": palette.paper, "edgecolor": "none", "alpha": 0.75, "pad": 1.5},
    )


def _frame(axes: Axes, scene: Scene, palette: Palette) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(palette.ink)
    axes.tick_params(axis="x", colors=palette.ink)
    axes.tick_params(axis="y", colors=palette.ink, length=0)
    if scene.bars:
        axes.yaxis.grid(visible=True, color=palette.faint, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.ticklabel_format(axis="both", useOffset=False, scilimits=(-4, 5))
    for axis in (axes.xaxis, axes.yaxis):
        axis.get_offset_text().set_color(palette.ink)
