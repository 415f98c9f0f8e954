"""An axis: its ends, ticks that do not touch, and powers of ten where numbers are extreme."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from .labels import POINTS_PER_INCH, width

LEAST_EXPONENT, LARGEST_EXPONENT = -4, 5
PAD = 0.05
MOST_TICKS = 7
GAP = 0.12  # inches between numbers

Gap = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class Axis:
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


def score_axis(values: Iterable[float], left: float, right: float, points: float) -> Axis:
    """An axis from `left` to `right`, in inches, with room for all finite values; its numbers have so many points."""
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    exponent = _exponent(finite)
    small_low, small_high = scaled(low, exponent), scaled(high, exponent)
    reach = (small_high - small_low) or 0.1 * abs(small_high) or 1.0
    return _axis(small_low - PAD * reach, small_high + PAD * reach, (left, right), exponent, across(points))


def axis_of(low: float, high: float, ends: tuple[float, float], gap: Gap) -> Axis:
    """An axis from a low value to a high one at `ends`, in inches; `gap` says how far two numbers have to be apart."""
    exponent = _exponent([low, high])
    return _axis(scaled(low, exponent), scaled(high, exponent), ends, exponent, gap)


def across(points: float) -> Gap:
    """How far two numbers side by side have to be apart: half of each, and some room."""
    return lambda one, other: (width(one, points) + width(other, points)) / 2 + GAP


def upwards(points: float) -> Gap:
    """How far two numbers above each other have to be apart."""
    return lambda one, other: 2.6 * points / POINTS_PER_INCH


def _axis(low: float, high: float, ends: tuple[float, float], exponent: int, gap: Gap) -> Axis:
    left, right = ends
    placed = tuple(
        (left + (right - left) * (float(tick) - low) / (high - low), tick.replace("-", "\N{MINUS SIGN}"))
        for tick in _ticks(low, high, abs(right - left), gap)
    )
    return Axis(left, right, low, high, exponent, placed)


def scaled(value: float, exponent: int) -> float:
    """The value over 10**exponent, also where that power is no double."""
    return float(Decimal(value).scaleb(-exponent)) if exponent else value


def _exponent(values: Sequence[float]) -> int:
    largest = max(map(abs, values))
    exponent = math.floor(math.log10(largest)) if largest > 0.0 else 0
    return exponent if not LEAST_EXPONENT <= exponent <= LARGEST_EXPONENT else 0


def _ticks(low: float, high: float, room: float, gap: Gap) -> list[str]:
    """Round numbers, as many as fit; none where not even two do."""
    for most in range(MOST_TICKS, 0, -1):
        step, decimals = _step((high - low) / most)
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        texts = [_fixed(step * at, decimals) for at in range(first, last + 1)]
        apart = room * step / (high - low)
        if all(gap(one, other) <= apart for one, other in pairwise(texts)):
            return texts
    return []


def _step(least: float) -> tuple[float, int]:
    """The next round number, and how many decimals its multiples have."""
    magnitude = math.floor(math.log10(least))
    for digits, more in ((1.0, 0), (2.0, 0), (2.5, 1), (5.0, 0)):
        if digits * 10.0**magnitude >= least * (1.0 - 1e-9):
            return digits * 10.0**magnitude, max(0, more - magnitude)
    return 10.0 ** (magnitude + 1), max(0, -magnitude - 1)


def _fixed(value: float, decimals: int) -> str:
    """So many decimals, and no negative zero."""
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0.0 else text
