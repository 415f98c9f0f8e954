"""Which values count for a p-value, and which parts of the bars they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...inference.options import Alternative
from ...inference.record import TestRecord

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
