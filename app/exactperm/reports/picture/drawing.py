"""A scene on paper: the null distribution's bars, the tail in another colour and hatched, the observed value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .axis import Axis, across, axis_of, upwards
from .canvas import TEXT, Canvas, Drawing, Point
from .labels import fitted, width
from .scene import Bar, Scene
from .style import Palette

WIDTH, HEIGHT = 6.2, 3.75
LEFT, RIGHT, TOP, BOTTOM = 0.775, 6.045, 0.75, 3.16875  # of the axes
TITLE_SIZE, LABEL_SIZE = 15.0, 10.0
HEADROOM = 1.27  # over the highest bar, for the observed value's label
STRIP = 0.02  # of the axes' height: the tail's part of the axis
TICKLESS = 0.03  # of the axis, at both ends: a long number there would be cut
DASHES = "3 2.5"
UNKNOWN = ("The null distribution was not computed.", "The band is its mean and standard deviation.")


def draw(scene: Scene, palette: Palette, name: str, printable: Callable[[str], str] = str) -> Drawing:
    """The picture of a scene."""
    canvas = Canvas(WIDTH, HEIGHT, palette.paper, name, printable)
    top = TOP if scene.bars else TOP + 0.1 * HEIGHT
    highest = max((bar.height for bar in scene.bars), default=0.0) or 1.0
    up = axis_of(0.0, HEADROOM * highest, (BOTTOM, top), upwards(TEXT))
    along = axis_of(scene.left, scene.right, (LEFT, RIGHT), across(TEXT))
    head(canvas, scene.title, scene.subtitle, palette, scene.legend)
    if scene.bars:
        grid(canvas, up, palette, f"{scene.probability}{up.units}")
        _bars(canvas, scene, palette, along, up)
    else:
        _unknown(canvas, scene, palette, along, top)
    strip = STRIP * (BOTTOM - top)
    regions = [(along.at(low), BOTTOM, along.at(high), BOTTOM + strip) for low, high in scene.regions]
    canvas.boxes(regions, color=palette.tail)
    _observed(canvas, scene, palette, along, up, top)
    base(canvas, along, palette, f"{scene.statistic}{along.units}")
    return Drawing(canvas, scene.title, scene.description)


def head(canvas: Canvas, title: str, subtitle: Sequence[str], palette: Palette, legend: str = "") -> None:
    """The title, and below it lines in small letters."""
    canvas.text(LEFT, 0.28, title, color=palette.ink, size=TITLE_SIZE, bold=True)
    canvas.text(RIGHT, 0.28, legend, color=palette.ink, across="right")
    for row, text in enumerate(subtitle):
        canvas.text(LEFT, 0.54 + 0.17 * row, text, color=palette.ink)


def grid(canvas: Canvas, up: Axis, palette: Palette, label: str) -> None:
    """Lines behind the picture with their numbers at the left."""
    canvas.lines([((LEFT, y), (RIGHT, y)) for y, _ in up.ticks], color=palette.faint, linewidth=0.6)
    for y, text in up.ticks:
        canvas.text(LEFT - 0.06, y, text, color=palette.ink, size=TEXT, across="right")
    middle = (up.left + up.right) / 2
    canvas.text(0.16, middle, label, color=palette.ink, size=LABEL_SIZE, across="center", turned=True)


def base(canvas: Canvas, along: Axis, palette: Palette, label: str) -> None:
    """The axis at the bottom with its numbers."""
    edge = TICKLESS * (RIGHT - LEFT)
    canvas.line([(LEFT, BOTTOM), (RIGHT, BOTTOM)], color=palette.ink, linewidth=0.8)
    for x, text in along.ticks:
        if LEFT + edge <= x <= RIGHT - edge or len(along.ticks) < 3:
            canvas.line([(x, BOTTOM), (x, BOTTOM + 0.05)], color=palette.ink, linewidth=0.8)
            half = width(text, TEXT) / 2
            middle = min(max(x, half), WIDTH - half)
            canvas.text(middle, BOTTOM + 0.15, text, color=palette.ink, size=TEXT, across="center")
    middle = (LEFT + RIGHT) / 2
    label = fitted(label, LABEL_SIZE, 2 * min(middle, WIDTH - middle))
    canvas.text(middle, BOTTOM + 0.37, label, color=palette.ink, size=LABEL_SIZE, across="center")


def _bars(canvas: Canvas, scene: Scene, palette: Palette, along: Axis, up: Axis) -> None:
    canvas.shapes(_outlines(scene.bars, scene, along, up), color=palette.bar)
    canvas.shapes(_outlines(scene.tails, scene, along, up), color=canvas.hatched(palette.tail, palette.hatch))


def _outlines(bars: Sequence[Bar], scene: Scene, along: Axis, up: Axis) -> list[list[Point]]:
    """Bars that stand for single values; or one outline of all that touch: hundreds of neighbours would show seams."""
    outlines: list[list[Point]] = []
    end = 0.0
    for bar in sorted(bars, key=lambda each: each.left):
        share = scene.share if scene.separate else 1.0
        left, right = (bar.middle + share * (edge - bar.middle) for edge in (bar.left, bar.right))
        touches = outlines and not scene.separate and abs(end - bar.left) <= 1e-6 * (bar.right - bar.left)
        x0, x1, y = along.at(left), along.at(right), up.at(bar.height)
        if touches:
            outlines[-1][-1:] = [(x0, y), (x1, y), (x1, BOTTOM)]
        else:
            outlines.append([(x0, BOTTOM), (x0, y), (x1, y), (x1, BOTTOM)])
        end = bar.right
    return outlines


def _unknown(canvas: Canvas, scene: Scene, palette: Palette, along: Axis, top: float) -> None:
    """Mean and standard deviation, and a sentence: a curve that was not computed is not drawn."""
    for row, text in enumerate(UNKNOWN[: 2 if scene.sd > 0.0 else 1]):
        canvas.text(LEFT, 0.85 + 0.17 * row, text, color=palette.ink)
    reach = top + 0.2 * (BOTTOM - top)
    low, mean, high = (along.at(scene.mean + way * scene.sd) for way in (-1, 0, 1))
    canvas.boxes([(low, reach, high, BOTTOM)], color=palette.faint)
    canvas.line([(mean, reach), (mean, BOTTOM)], color=palette.ink, linewidth=0.8, dashes=DASHES)


def _observed(canvas: Canvas, scene: Scene, palette: Palette, along: Axis, up: Axis, top: float) -> None:
    label = {"color": palette.observed, "size": LABEL_SIZE, "bold": True, "behind": palette.paper}
    if scene.beyond:
        edge = RIGHT if scene.beyond > 0 else LEFT
        reach, y = 0.11 * (RIGHT - LEFT) * scene.beyond, (top + BOTTOM) / 2
        tip = 0.11 * scene.beyond
        canvas.line([(edge - reach, y), (edge - tip, y)], color=palette.observed, linewidth=2.0)
        points = [(edge - tip, y - 0.05), (edge, y), (edge - tip, y + 0.05)]
        canvas.shapes([points], color=palette.observed)
        side = "right" if scene.beyond > 0 else "left"
        canvas.text(edge - 0.12 * reach, y - 0.12, scene.observed_label, across=side, up="bottom", **label)  # type: ignore[arg-type]
        return
    x, height = along.at(scene.observed), top + 0.07 * (BOTTOM - top)
    canvas.line([(x, up.at(_foot(scene))), (x, height)], color=palette.observed, linewidth=2.0)
    is_right = scene.observed > 0.5 * scene.left + 0.5 * scene.right
    shift = -0.06 if is_right else 0.06
    side = "right" if is_right else "left"
    canvas.text(x + shift, height, scene.observed_label, across=side, up="top", **label)  # type: ignore[arg-type]


def _foot(scene: Scene) -> float:
    """Where the observed value's line begins: on its bar, which it would hide, where bars stand for single values."""
    if not scene.separate:
        return 0.0
    half = 0.5 * scene.share * (scene.bars[0].right - scene.bars[0].left)
    return max((bar.height for bar in scene.bars if abs(bar.middle - scene.observed) <= half), default=0.0)
