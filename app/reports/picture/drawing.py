"""A scene drawn with matplotlib: figures of its object interface, no global state, no display."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .scene import Scene
from .style import Palette
from .tail import Bar

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INCHES = (6.2, 3.75)
LEFT, RIGHT, BOTTOM, TOP = 0.125, 0.975, 0.155, 0.8
HEADROOM = 1.27  # over the highest bar, for the observed value's label
STRIP = 0.02  # of the axes' height: the tail's part of the axis
TICKLESS = 0.03  # of the axis, at both ends: a long number there would be cut
UNKNOWN = ("The null distribution was not computed.", "The band is its mean and standard deviation.")


def draw(scene: Scene, palette: Palette) -> Figure:
    """The picture of a scene."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=INCHES, facecolor=palette.paper)
    top = TOP if scene.bars else TOP - 0.1
    axes = figure.add_axes((LEFT, BOTTOM, RIGHT - LEFT, top - BOTTOM), facecolor=palette.paper)
    _words(figure, scene, palette)
    axes.set_xlim(scene.left, scene.right)
    highest = max((bar.height for bar in scene.bars), default=0.0) or 1.0
    axes.set_ylim(0.0, HEADROOM * highest)
    if scene.bars:
        _bars(axes, scene, palette)
        axes.set_ylabel(scene.probability, color=palette.ink, labelpad=8)
    else:
        _unknown(figure, axes, scene, palette)
    _strip(axes, scene, palette)
    _observed(axes, scene, palette)
    axes.set_xlabel(scene.statistic, color=palette.ink, labelpad=6)
    _frame(axes, scene, palette)
    return figure


def _words(figure: Figure, scene: Scene, palette: Palette) -> None:
    figure.text(LEFT, 0.925, scene.title, fontsize=15, fontweight="bold", color=palette.ink, va="center")
    figure.text(RIGHT, 0.925, scene.legend, fontsize=9, color=palette.ink, va="center", ha="right")
    for row, text in enumerate(scene.subtitle):
        figure.text(LEFT, 0.855 - 0.045 * row, text, fontsize=9, color=palette.ink, va="center")


def _bars(axes: Axes, scene: Scene, palette: Palette) -> None:
    _rectangles(axes, scene.bars, scene, facecolor=palette.bar, linewidth=0.0)
    style = {"facecolor": palette.tail, "edgecolor": palette.hatch, "hatch": "////", "linewidth": 0.0}
    _rectangles(axes, scene.tails, scene, **style)


def _rectangles(axes: Axes, bars: Sequence[Bar], scene: Scene, **style: Any) -> None:
    if not bars:
        return
    if not scene.separate:  # one outline: hundreds of neighbours would show seams
        for run in _runs(bars):
            edges = [run[0].left, *(bar.right for bar in run)]
            axes.stairs([bar.height for bar in run], edges, fill=True, antialiased=True, **style)
        return
    lefts = [bar.middle + scene.share * (bar.left - bar.middle) for bar in bars]
    widths = [scene.share * (bar.right - bar.left) for bar in bars]
    axes.bar(lefts, [bar.height for bar in bars], width=widths, align="edge", **style)


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


def _strip(axes: Axes, scene: Scene, palette: Palette) -> None:
    """The tail's values marked along the axis, so that they can be found where their probability is next to nothing."""
    from matplotlib.patches import Rectangle

    for low, high in scene.regions:
        mark = Rectangle(
            (low, -STRIP),
            high - low,
            STRIP,
            transform=axes.get_xaxis_transform(),
            facecolor=palette.tail,
            linewidth=0.0,
            clip_on=False,
        )
        axes.add_patch(mark)


def _unknown(figure: Figure, axes: Axes, scene: Scene, palette: Palette) -> None:
    """Mean and standard deviation, and a sentence: a curve that was not computed is not drawn."""
    lines = UNKNOWN[: 2 if scene.sd > 0.0 else 1]
    for row, text in enumerate(lines):
        figure.text(LEFT, 0.775 - 0.045 * row, text, fontsize=9, color=palette.ink, va="center")
    axes.axvspan(
        scene.mean - scene.sd, scene.mean + scene.sd, ymax=0.8, facecolor=palette.faint, linewidth=0.0
    )
    axes.axvline(scene.mean, ymax=0.8, color=palette.ink, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_yticks([])


def _observed(axes: Axes, scene: Scene, palette: Palette) -> None:
    if scene.beyond:
        x, across, height, va = *_arrow(axes, scene, palette), 0.58, "bottom"
    else:
        foot = _foot(scene) / axes.get_ylim()[1]
        axes.axvline(scene.observed, ymin=foot, ymax=0.93, color=palette.observed, linewidth=2.0)
        middle = 0.5 * scene.left + 0.5 * scene.right
        across = "right" if scene.observed > middle else "left"
        shift = 0.012 * (scene.right - scene.left)
        x, height, va = scene.observed + (-shift if across == "right" else shift), 0.93, "top"
    axes.text(
        x,
        height,
        scene.observed_label,
        transform=axes.get_xaxis_transform(),
        ha=across,
        va=va,
        fontsize=10,
        fontweight="bold",
        color=palette.observed,
        bbox={"facecolor": palette.paper, "edgecolor": "none", "alpha": 0.75, "pad": 1.5},
    )


def _foot(scene: Scene) -> float:
    """Where the observed value's line begins: on its bar, which it would hide, where bars stand for single values."""
    if not scene.separate:
        return 0.0
    half = 0.5 * scene.share * (scene.bars[0].right - scene.bars[0].left)
    return max((bar.height for bar in scene.bars if abs(bar.middle - scene.observed) <= half), default=0.0)


def _arrow(axes: Axes, scene: Scene, palette: Palette) -> tuple[float, str]:
    """An arrow to where the observed value is; the place of its label, and how that is aligned."""
    edge = scene.right if scene.beyond > 0 else scene.left
    reach = 0.11 * (scene.right - scene.left) * scene.beyond
    style = {"arrowstyle": "-|>", "color": palette.observed, "linewidth": 2.0, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (edge, 0.5), (edge - reach, 0.5), xycoords=("data", "axes fraction"), arrowprops=style)
    return edge - 0.12 * reach, "right" if scene.beyond > 0 else "left"


def _frame(axes: Axes, scene: Scene, palette: Palette) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(palette.ink)
    axes.tick_params(axis="x", colors=palette.ink)
    axes.tick_params(axis="y", colors=palette.ink, length=0)
    if scene.bars:
        axes.yaxis.grid(visible=True, color=palette.faint, linewidth=0.6)
    axes.set_axisbelow(True)
    edge = TICKLESS * (scene.right - scene.left)
    ticks = [tick for tick in axes.get_xticks() if scene.left + edge <= tick <= scene.right - edge]
    if ticks:  # where the locator finds none, its own way out is better than no numbers
        axes.set_xticks(ticks)
    axes.ticklabel_format(axis="both", useOffset=False, scilimits=(-4, 5))
    for axis in (axes.xaxis, axes.yaxis):
        axis.get_offset_text().set_color(palette.ink)
