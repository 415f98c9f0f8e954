"""An axis of scores or differences: ends, ticks that do not touch, and powers of ten where numbers are extreme."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from .labels import width

LEAST_EXPONENT, LARGEST_EXPONENT = -4, 5
PAD = 0.05
MOST_TICKS = 7
GAP = 0.12  # inches between numbers


@dataclass(frozen=True, slots=True)
class ScoreAxis:
    """Places of values on paper: `at(value)` in inches; values are drawn over 10**exponent."""

    left: float
    right: float
    low: float
    high: float
    exponent: int
    ticks: tuple[tuple[float, str], ...]  # in inches, with their numbers

    def at(self, value: float) -> float:
        """Where a value is, in inches; outside the axis at its end."""
        share = (scaled(value, self.exponent) - self.low) / (self.high - self.low)
        return self.left + (self.right - self.left) * min(max(share, 0.0), 1.0)

    @property
    def units(self) -> str:
        """What to add to the name of the axis."""
        return f" (in units of 1e{self.exponent})".replace("-", "\N{MINUS SIGN}") if self.exponent else ""


def score_axis(values: Iterable[float], left: float, right: float, points: float) -> ScoreAxis:
    """An axis from `left` to `right`, in inches, with room for all finite values; its numbers have so many points."""
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    exponent = _exponent(finite)
    small = [scaled(value, exponent) for value in finite]
    low, high = min(small), max(small)
    reach = (high - low) or 0.1 * abs(high) or 1.0
    low, high = low - PAD * reach, high + PAD * reach
    ticks = _ticks(low, high, right - left, points)
    placed = tuple(
        (left + (right - left) * (float(tick) - low) / (high - low), tick.replace("-", "\N{MINUS SIGN}"))
        for tick in ticks
    )
    return ScoreAxis(left, right, low, high, exponent, placed)


def scaled(value: float, exponent: int) -> float:
    """The value over 10**exponent, also where that power is no double."""
    return float(Decimal(value).scaleb(-exponent)) if exponent else value


def _exponent(values: Sequence[float]) -> int:
    largest = max(map(abs, values))
    exponent = math.floor(math.log10(largest)) if largest > 0.0 else 0
    return exponent if not LEAST_EXPONENT <= exponent <= LARGEST_EXPONENT else 0


def _ticks(low: float, high: float, room: float, points: float) -> list[str]:
    """Round numbers, as many as fit side by side; none where not even two do."""
    from matplotlib.ticker import MaxNLocator

    for bins in range(MOST_TICKS, 0, -1):
        locator = MaxNLocator(nbins=bins, steps=[1, 2, 2.5, 5, 10])
        places = [float(place) for place in locator.tick_values(low, high)]
        step = places[1] - places[0]
        decimals = max(0, math.ceil(-math.log10(step) - 1e-9))
        if round(step * 10**decimals, 6) % 1:
            decimals += 1
        texts = [_fixed(place, decimals) for place in places if low <= place <= high]
        widths = [width(text, points) for text in texts]
        apart = room * step / (high - low)
        if all((one + other) / 2 + GAP <= apart for one, other in pairwise(widths)):
            return texts
    return []


def _fixed(value: float, decimals: int) -> str:
    """So many decimals, and no negative zero."""
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0.0 else text
