"""The content of a picture of the null distribution: bars, the tail, the observed value and texts."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise

from ...answers.test import Alternative, TestRecord
from ...presentation.escaping import single_line, what_was_read
from ...presentation.numbers import number
from ...statistics.measured import direction
from ..certainty import kind, manner, p_text
from ..titles import measured_in

# The axis is stretched to the observed value while the null keeps at least this share of it.
LEAST_SHARE = 0.45
MARGIN = 0.06
REACH = 4.75  # standard deviations on both sides; what lies further out cannot be seen
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
SLIVER = 1e-6  # of a bar: rounding, not a part of it


@dataclass(frozen=True, slots=True)
class Bar:
    """The probability of the values from `left` to `right`, or a part of that; `middle` is that of the whole bar."""

    left: float
    right: float
    height: float
    middle: float


@dataclass(frozen=True, slots=True)
class Scene:
    """The content of a picture; values in the statistic's units, or in 10**exponent of them.

    `beyond` says on which side the observed value lies outside the axis: -1, 0 (it is on it) or 1. `bars` hold
    all of the null, `tails` the parts of them that count for the p-value; both are empty where the null is not
    known. `regions` are the parts of the axis that count. Bars that are `separate` stand for single values and
    are drawn `share` times as wide as they are, so that they can be told apart and none is too thin to see.
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
    bars = _bars(small)
    left, right, beyond = _axis(small, bars)
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


def _bars(record: TestRecord) -> tuple[Bar, ...]:
    null, width = record.null, record.null.pmf_bin_width or 0.0
    pmf = null.pmf or ()
    if not pmf and null.min == null.max:  # a range of one value is a distribution that is known
        pmf = ((null.min, 1.0),)
    if width == 0.0:  # a single value
        width = max(abs(record.statistic.observed), abs(null.mean), 1.0) / 50
    return tuple(Bar(value - width / 2, value + width / 2, mass, value) for value, mass in pmf)


def _share(bars: tuple[Bar, ...], axis: float) -> float:
    """How much wider or narrower than its bin a bar is drawn."""
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
    """What the axis shows, and in which units."""
    of = "" if record.statistic.u is None else "difference in "
    return f"{of}{_name(record)}{_units(exponent)}"


def _units(exponent: int) -> str:
    return f" (in units of 1e{exponent})".replace("-", "\N{MINUS SIGN}") if exponent else ""


def _subtitle(record: TestRecord, note: str) -> str:
    items, better = record.items, direction(record.statistic.higher_is_better)
    clusters = "" if items.clusters is None else f" in {items.clusters:,} clusters"
    return (
        f"{SIDES[record.alternative]} {record.test} test{note}, {manner(record)} ({record.method.name}), "
        f"n = {items.n:,}{clusters}{f'; {better}' if better else ''}"
    )


def _is_sampled(record: TestRecord) -> bool:
    """Whether the bars are those of samples, as they are where several sums have no law of one lattice."""
    if any(warning.code == "null_sampled" for warning in record.warnings):
        return True
    method = record.method
    return record.test == "bootstrap" and method.monte_carlo is not None and method.lattice is None


def _axis(record: TestRecord, bars: tuple[Bar, ...]) -> tuple[float, float, int]:
    """Ends of the axis, and on which side of it the observed value is."""
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
    room = 0.3 * bulk  # for the arrow that points to it
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
    return label.replace("-", "\N{MINUS SIGN}")


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

    Moments that have left the range of doubles are taken from the probabilities again, or are zero where there
    are none.
    """
    null, observed = record.null, record.statistic.observed
    largest = max(abs(null.min), abs(null.max)) or abs(observed)
    exponent = math.floor(math.log10(largest)) if largest > 0.0 else 0
    if abs(exponent) <= LARGEST_EXPONENT:
        return record, 0

    def over(value: float) -> float:
        return float(Decimal(value).scaleb(-exponent))

    pmf = None if null.pmf is None else tuple((over(value), mass) for value, mass in null.pmf)
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
    """The values that are at least as extreme as observed; a bootstrap's null has the same rule."""
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

    Bars inside a region count as a whole. How much of a bar at the edge of a region counts is not known from its bin:
    it is what the p-value leaves, drawn on the side of the region.
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
    """Whether no resample is in the tail, so that the p-value is an upper bound."""
    return any(warning.code == "bootstrap_empty_tail" for warning in record.warnings)


def _part(bar: Bar, share: float, on_the_right: bool) -> Bar:
    width = share * (bar.right - bar.left)
    if on_the_right:
        return Bar(bar.right - width, bar.right, bar.height, bar.middle)
    return Bar(bar.left, bar.left + width, bar.height, bar.middle)


def legend(record: TestRecord, *, on_the_axis: bool) -> str:
    """What the shading means, or that it is outside the axis."""
    text = LEGENDS[record.alternative]
    return f"shaded: {text}" if on_the_axis else f"{text}: off this axis"
