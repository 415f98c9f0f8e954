"""The picture of a null distribution: bars, the tail in another colour and hatched, the observed value and texts.

Also power against the number of items, with the wanted power as a line and the answer as a dot; or, for differences
at several numbers of items, the difference against the number of items.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

from ...answers.power import PowerRecord
from ...answers.test import Alternative, Mass, TestRecord
from ...presentation.escaping import single_line, what_was_read
from ...presentation.numbers import MINUS, exactly, number
from ...presentation.words import p_text
from ...statistics.names import direction
from ..sentences import kind, manner, measured_in
from .canvas import (
    TEXT,
    Axis,
    Canvas,
    Drawing,
    Palette,
    Point,
    across,
    axis_of,
    fitted,
    upwards,
    width,
    wrapped,
)

# The axis is stretched to the observed value if the null keeps at least this share of it.
LEAST_SHARE = 0.45
MARGIN = 0.06
REACH = 4.75  # standard deviations on both sides; anything further out is invisible
MAX_NAME_CHARS = 40
MAX_SEPARATE = 60
LINE_CHARS = 76
BAR_OF_GAP, BAR_OF_AXIS = 0.82, 0.06

SIDES: dict[Alternative, str] = {
    "two-sided": "two-sided",
    "greater": "one-sided (greater)",
    "less": "one-sided (less)",
}

LARGEST_EXPONENT = 100
Region = tuple[float, float]

LEGENDS: dict[Alternative, str] = {
    "two-sided": "|value| \N{GREATER-THAN OR EQUAL TO} |observed|",
    "greater": "values \N{GREATER-THAN OR EQUAL TO} observed",
    "less": "values \N{LESS-THAN OR EQUAL TO} observed",
}
SLIVER = 1e-6  # of a bar: a smaller part is rounding


@dataclass(frozen=True, slots=True)
class Bar:
    """The probability of the values from `left` to `right`, or a part of a bar; `middle` is that of the whole bar."""

    left: float
    right: float
    height: float
    middle: float


@dataclass(frozen=True, slots=True)
class Scene:
    """The content of a picture; values in the statistic's units, or in 10**exponent of them.

    `beyond` is -1, 0 or 1: the observed value is left of, on or right of the axis. `bars` hold the null, `tails` the
    parts that count for the p-value; both are empty if the null is unknown. `regions` are the parts of the axis that
    count. `separate` bars stand for single values and are drawn at `share` of their width, so that they are distinct
    and visible.
    """

    title: str
    subtitle: tuple[str, ...]
    legend: str
    statistic: str
    probability: str
    observed: float
    observed_label: str
    left: float
    right: float
    beyond: int
    bars: tuple[Bar, ...]
    tails: tuple[Bar, ...]
    regions: tuple[tuple[float, float], ...]
    separate: bool
    share: float
    mean: float
    sd: float
    description: str


def scene(record: TestRecord, note: str = "") -> Scene:
    """The scene of one test; `note` is added to the subtitle."""
    small, exponent = scaled(record)
    null, observed = small.null, small.statistic.observed
    bars = _bars_of(small)
    left, right, beyond = _axis_ends(small, bars)
    separate = 0 < len(bars) <= MAX_SEPARATE
    regions = tail_regions(small)
    shown = regions_on(regions, left, right)
    title = _title(record)
    return Scene(
        title=title,
        subtitle=tuple(textwrap.wrap(_subtitle(record, note), LINE_CHARS)),
        legend=legend(record, on_the_axis=bool(shown)),
        statistic=_axis_title(record, exponent),
        probability="probability (sampled)" if _is_sampled(record) else "probability",
        observed=observed,
        observed_label=_observed_label(record, small, beyond),
        left=left,
        right=right,
        beyond=beyond,
        bars=bars,
        tails=tails_of(small, bars, regions),
        regions=shown,
        separate=separate,
        share=_share(bars, right - left) if separate else 1.0,
        mean=null.mean,
        sd=null.sd,
        description=_description(record, title),
    )


def _bars_of(record: TestRecord) -> tuple[Bar, ...]:
    null, width = record.null, record.null.pmf_bin_width or 0.0
    pmf = null.pmf or ()
    if not pmf and null.min == null.max:  # a range of one value is a known distribution
        pmf = (Mass(null.min, 1.0),)
    if width == 0.0:  # a single value
        width = max(abs(record.statistic.observed), abs(null.mean), 1.0) / 50
    return tuple(Bar(value - width / 2, value + width / 2, mass, value) for value, mass in pmf)


def _share(bars: tuple[Bar, ...], axis: float) -> float:
    """The drawn width of a bar over its bin's."""
    middles = sorted(bar.middle for bar in bars)
    width = bars[0].right - bars[0].left
    gap = min((after - before for before, after in pairwise(middles)), default=width)
    return min(BAR_OF_GAP * max(gap, width), BAR_OF_AXIS * axis) / width


def _title(record: TestRecord) -> str:
    """The p-value: exact, approximate, or an upper bound."""
    sign = "=" if kind(record) == "exact" else "\N{ALMOST EQUAL TO}"
    if is_empty(record):
        sign = "\N{LESS-THAN OR EQUAL TO}"
    return f"p {sign} {p_text(record)}"


def _name(record: TestRecord) -> str:
    name = single_line(measured_in(record, single_line))
    return name if len(name) <= MAX_NAME_CHARS else name[: MAX_NAME_CHARS - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _axis_title(record: TestRecord, exponent: int) -> str:
    """The name of the axis, with units."""
    of = "" if record.statistic.u is None else "difference in "
    return f"{of}{_name(record)}{_units(exponent)}"


def _units(exponent: int) -> str:
    return f" (in units of 1e{exponent})".replace("-", MINUS) if exponent else ""


def _subtitle(record: TestRecord, note: str) -> str:
    items, better = record.items, direction(record.statistic.higher_is_better)
    clusters = "" if items.clusters is None else f" in {items.clusters:,} clusters"
    return (
        f"{SIDES[record.alternative]} {record.test} test{note}, {manner(record)} ({record.method.name}), "
        f"n = {items.n:,}{clusters}{f'; {better}' if better else ''}"
    )


def _is_sampled(record: TestRecord) -> bool:
    """Whether the bars come from samples, as for several sums without a common lattice."""
    if any(warning.code == "null_sampled" for warning in record.warnings):
        return True
    method = record.method
    return record.test == "bootstrap" and method.monte_carlo is not None and method.lattice is None


def _axis_ends(record: TestRecord, bars: tuple[Bar, ...]) -> tuple[float, float, int]:
    """The ends of the axis, and the side of it that the observed value is on."""
    null, observed = record.null, record.statistic.observed
    low, high = null.mean - REACH * null.sd, null.mean + REACH * null.sd
    if bars:
        low, high = max(low, bars[0].left), min(high, bars[-1].right)
        if low >= high:  # all of it in one place
            low, high = bars[0].left, bars[-1].right
            low, high = low - 10 * (high - low), high + 10 * (high - low)
    bulk = (high - low) or max(abs(observed), abs(low), 1.0) / 5
    wide_low, wide_high = min(low, observed), max(high, observed)
    beyond = 0
    if bulk < LEAST_SHARE * (wide_high - wide_low):
        beyond = 1 if observed > high else -1
        wide_low, wide_high = low, high
    pad = MARGIN * max(wide_high - wide_low, bulk)
    room = 0.3 * bulk  # for the arrow to it
    return (
        wide_low - pad - (room if beyond < 0 else 0.0),
        wide_high + pad + (room if beyond > 0 else 0.0),
        beyond,
    )


def _observed_label(record: TestRecord, small: TestRecord, beyond: int) -> str:
    label = f"observed {number(record.statistic.observed)}"
    out = abs(small.statistic.observed - small.null.mean) / (small.null.sd or math.inf)
    if beyond and 0.0 < out < math.inf:
        label += f",\n{out:.3g} sd out"
    return label.replace("-", MINUS)


def _description(record: TestRecord, title: str) -> str:
    null = record.null
    spread = f"standard deviation {number(null.sd)}, " if math.isfinite(null.sd) else ""
    how = ""
    if not null.pmf and null.min != null.max:
        how = " The distribution itself was not computed."
    elif _is_sampled(record):
        how = " The distribution was sampled."
    better = direction(record.statistic.higher_is_better)
    return (
        f"The null distribution of {_name(record)}{f' ({better})' if better else ''}: mean {number(null.mean)}, "
        f"{spread}from {number(null.min)} to {number(null.max)}. Observed: {number(record.statistic.observed)}. "
        f"{title}, {record.alternative}, {manner(record)}.{how}{what_was_read(record.notes)}"
    )


# Numbers that an axis can hold


def scaled(record: TestRecord) -> tuple[TestRecord, int]:
    """The record with its values over 10**exponent, and the exponent: zero except for extreme magnitudes.

    Moments outside the range of doubles are recomputed from the probabilities, or zero without any.
    """
    null, observed = record.null, record.statistic.observed
    largest = max(abs(null.min), abs(null.max)) or abs(observed)
    exponent = math.floor(math.log10(largest)) if largest > 0.0 else 0
    if abs(exponent) <= LARGEST_EXPONENT:
        return record, 0

    def over(value: float) -> float:
        return float(Decimal(value).scaleb(-exponent))

    pmf = None if null.pmf is None else tuple(Mass(over(value), mass) for value, mass in null.pmf)
    mean, sd = _moments(pmf) if pmf else (over(null.mean), over(null.sd))
    small = replace(
        null,
        mean=mean if math.isfinite(mean) else 0.0,
        sd=sd if math.isfinite(sd) else 0.0,
        min=over(null.min),
        max=over(null.max),
        pmf=pmf,
        pmf_bin_width=None if null.pmf_bin_width is None else over(null.pmf_bin_width),
    )
    lattice = record.method.lattice
    method = replace(record.method, lattice=lattice and replace(lattice, unit=over(lattice.unit)))
    statistic = replace(record.statistic, observed=over(observed))
    return replace(record, null=small, method=method, statistic=statistic), exponent


def _moments(pmf: tuple[tuple[float, float], ...]) -> tuple[float, float]:
    total = math.fsum(mass for _, mass in pmf) or 1.0
    mean = math.fsum(value * mass for value, mass in pmf) / total
    variance = math.fsum((value - mean) ** 2 * mass for value, mass in pmf) / total
    return mean, math.sqrt(variance)


# The tail


def tail_regions(record: TestRecord) -> tuple[Region, ...]:
    """The values that are at least as extreme as observed, also for the bootstrap."""
    observed = record.statistic.observed
    if record.alternative == "greater":
        return ((observed, math.inf),)
    if record.alternative == "less":
        return ((-math.inf, observed),)
    if observed == 0.0:
        return ((-math.inf, math.inf),)
    return ((-math.inf, -abs(observed)), (abs(observed), math.inf))


def regions_on(regions: Sequence[Region], left: float, right: float) -> tuple[Region, ...]:
    """The parts of the regions that are on the axis."""
    clipped = ((max(low, left), min(high, right)) for low, high in regions)
    return tuple((low, high) for low, high in clipped if low < high)


def tails_of(record: TestRecord, bars: Sequence[Bar], regions: Sequence[Region]) -> tuple[Bar, ...]:
    """The parts of the bars that count for the p-value.

    Bars inside a region count fully. The part of a bar at the edge of a region is the rest of the p-value, drawn on the
    side of the region.
    """
    if is_empty(record):
        return ()
    inside, cut = [], []
    for bar in bars:
        least = SLIVER * (bar.right - bar.left)
        for low, high in regions:
            if bar.height <= 0.0 or min(bar.right, high) - max(bar.left, low) <= least:
                continue
            if low <= bar.left + least and bar.right - least <= high:
                inside.append(bar)
            else:
                cut.append((bar, low > bar.left + least))
    left_over = record.p_value - math.fsum(bar.height for bar in inside)
    share = left_over / (math.fsum(bar.height for bar, _ in cut) or math.inf)
    return (
        *inside,
        *(_part(bar, min(share, 1.0), on_the_right) for bar, on_the_right in cut if share > SLIVER),
    )


def is_empty(record: TestRecord) -> bool:
    """Whether the tail has no resample, so that the p-value is an upper bound."""
    return any(warning.code == "bootstrap_empty_tail" for warning in record.warnings)


def _part(bar: Bar, share: float, on_the_right: bool) -> Bar:
    width = share * (bar.right - bar.left)
    if on_the_right:
        return Bar(bar.right - width, bar.right, bar.height, bar.middle)
    return Bar(bar.left, bar.left + width, bar.height, bar.middle)


def legend(record: TestRecord, *, on_the_axis: bool) -> str:
    """The meaning of the shading, or a note that it is off the axis."""
    text = LEGENDS[record.alternative]
    return f"shaded: {text}" if on_the_axis else f"{text}: off this axis"


WIDTH, HEIGHT = 6.2, 3.75
LEFT, RIGHT, TOP, BOTTOM = 0.775, 6.045, 0.75, 3.16875  # of the axes
TITLE_SIZE, LABEL_SIZE = 15.0, 10.0
HEADROOM = 1.27  # over the highest bar, for the observed value's label
STRIP = 0.02  # of the axes' height: the tail's part of the axis
TICKLESS = 0.03  # of the axis, at both ends: long numbers there would be cut
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
    """Bars of single values; or one outline of touching bars, as hundreds of neighbours would show seams."""
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
    """Mean and standard deviation, and a sentence, but no curve that was not computed."""
    for row, text in enumerate(UNKNOWN[: 2 if scene.sd > 0.0 else 1]):
        canvas.text(LEFT, 0.85 + 0.17 * row, text, color=palette.ink)
    reach = top + 0.2 * (BOTTOM - top)
    low, mean, high = (along.at(scene.mean + way * scene.sd) for way in (-1, 0, 1))
    canvas.boxes([(low, reach, high, BOTTOM)], color=palette.faint)
    canvas.line([(mean, reach), (mean, BOTTOM)], color=palette.ink, linewidth=0.8, dashes=DASHES)


def _observed(canvas: Canvas, scene: Scene, palette: Palette, along: Axis, up: Axis, top: float) -> None:
    label: Any = {"color": palette.observed, "size": LABEL_SIZE, "bold": True, "behind": palette.paper}
    if scene.beyond:
        edge = RIGHT if scene.beyond > 0 else LEFT
        reach, y = 0.11 * (RIGHT - LEFT) * scene.beyond, (top + BOTTOM) / 2
        tip = 0.11 * scene.beyond
        canvas.line([(edge - reach, y), (edge - tip, y)], color=palette.observed, linewidth=2.0)
        points = [(edge - tip, y - 0.05), (edge, y), (edge - tip, y + 0.05)]
        canvas.shapes([points], color=palette.observed)
        side = "right" if scene.beyond > 0 else "left"
        canvas.text(edge - 0.12 * reach, y - 0.12, scene.observed_label, across=side, up="bottom", **label)
        return
    x, height = along.at(scene.observed), top + 0.07 * (BOTTOM - top)
    canvas.line([(x, up.at(_foot(scene))), (x, height)], color=palette.observed, linewidth=2.0)
    is_right = scene.observed > 0.5 * scene.left + 0.5 * scene.right
    shift = -0.06 if is_right else 0.06
    side = "right" if is_right else "left"
    canvas.text(x + shift, height, scene.observed_label, across=side, up="top", **label)


def _foot(scene: Scene) -> float:
    """The start of the observed value's line: above its bar if bars stand for single values."""
    if not scene.separate:
        return 0.0
    half = 0.5 * scene.share * (scene.bars[0].right - scene.bars[0].left)
    return max((bar.height for bar in scene.bars if abs(bar.middle - scene.observed) <= half), default=0.0)


PAD = 0.05  # of the axis of items at both ends


def power_curve(
    record: PowerRecord, palette: Palette, name: str, printable: Callable[[str], str] = str
) -> Drawing:
    """The picture of an answer about power."""
    canvas = Canvas(WIDTH, HEIGHT, palette.paper, name, printable)
    differences = _of_differences(record)
    heights = [abs(point.effect) if differences else point.power for point in record.curve]
    numbers = [point.n for point in record.curve]
    solution = record.solution
    shown = numbers or [solution.n or 1]  # without a curve, only the answer
    first, last = min(shown), max(shown)
    pad = PAD * (last - first) or 0.5 * first
    along = axis_of(first - pad, last + pad, (LEFT, RIGHT), across(TEXT))
    top = (1.05 * max(heights, default=0.0) or 1.0) if differences else 1.03
    up = axis_of(0.0, top, (BOTTOM, TOP), upwards(TEXT))
    head(canvas, _power_title(record), _power_subtitle(record), palette)
    grid(canvas, up, palette, ("detectable true difference" if differences else "power") + up.units)
    points = [(along.at(n), up.at(height)) for n, height in zip(numbers, heights, strict=True)]
    if points:
        canvas.line(points, color=palette.tail, linewidth=2.0)
    for x, y in points:
        canvas.dot(x, y, color=palette.tail, fill=palette.tail, size=3.5)
    if not differences and record.wanted_power is not None:
        y = up.at(record.wanted_power)
        canvas.line([(LEFT, y), (RIGHT, y)], color=palette.ink, linewidth=0.9, dashes=DASHES)
    if not differences and solution.n is not None and solution.power is not None:
        x, y = along.at(solution.n), up.at(solution.power)
        canvas.dot(x, y, color=palette.observed, fill=palette.observed, size=8.0)
        label = f"{solution.n:,} items: {_percent(solution.power)}"
        is_right = x > (LEFT + RIGHT) / 2
        canvas.text(
            x + (-0.11 if is_right else 0.11), y + 0.06, label, color=palette.observed, size=LABEL_SIZE, bold=True,
            across="right" if is_right else "left", up="top", behind=palette.paper,
        )  # fmt: skip
    base(canvas, along, palette, f"items{along.units}")
    return Drawing(canvas, "Power", record.sentence)


def _of_differences(record: PowerRecord) -> bool:
    return record.solve == "effect" and len({point.effect for point in record.curve}) > 1


def _power_title(record: PowerRecord) -> str:
    solution = record.solution
    if solution.floor is not None:
        return f"Floor {number(solution.floor)}, false alarms {_percent(solution.false_alarm)}"
    if solution.n is None or solution.effect is None:
        return "Out of reach"
    if _of_differences(record):
        return "What these items detect"
    if record.solve == "n":
        return f"{solution.n:,} items"
    if record.solve == "effect":
        return f"A difference of {number(solution.effect)}"
    return f"Power {_percent(solution.power)}"


def _power_subtitle(record: PowerRecord) -> list[str]:
    known = "exact" if record.method.exact else "approximate"
    effect = None if _of_differences(record) else record.solution.effect
    wanted = "" if record.wanted_power is None else f", power {exactly(record.wanted_power)}"
    of = "" if effect is None else f"True difference {number(effect)}, "
    shared = "" if record.comparisons == 1 else f" over {record.comparisons} comparisons"
    subtitle = f"{of}alpha {exactly(record.alpha)}{shared}, {record.alternative}{wanted}; {known}"
    return wrapped(subtitle, TEXT, RIGHT - LEFT)


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100.0 * share:.1f} %"
