"""Heavy weights are enumerated, so that one outlier does not stretch everybody's window.

Bernstein's window is at least a few dozen times the largest weight. Where few items carry weights far
above the rest, T = H + R with H the heavy part: P(T in I) = sum_h P(H = h) P(R in I - h), and R has a
short window. With P(H = h) = integer / 2**m this is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..lattice import CanonicalForm, once_per_form
from ..probability import Region
from .spectrum import frequencies

MAX_COMBINATIONS = 4096
# Costs in nanoseconds, for comparing splits only: a solve, a window point, a group.
_PER_SOLVE = 300_000
_PER_POINT = 15
_PER_GROUP = 4_000
MAX_HUMPS = 512
_HUMP = 6.0
_LOG_ODDS = 42.0  # log(2 / 1e-18), as in the window


@dataclass(frozen=True, slots=True)
class Split:
    """T = H + R: `heavy` distinct weights are enumerated, `combinations` solves are needed at most."""

    heavy: int
    combinations: int
    length: int
    nanoseconds: int


def window_length(form: CanonicalForm) -> int:
    """Points of the untilted window: twice Bernstein's reach, or the whole support when smaller."""
    if len(form.weights) == 0:
        return 1
    slack = _LOG_ODDS * float(form.weights[-1]) / 3.0
    reach = slack + math.sqrt(slack * slack + 2.0 * _LOG_ODDS * form.variance)
    return min(form.range + 1, 2 * math.ceil(reach) + 3)


@once_per_form
def best_split(form: CanonicalForm) -> Split:
    """The number of heaviest distinct weights to enumerate; usually none.

    Where a weight towers over the spread of the lighter ones it is always enumerated: the law has as many
    humps as there are choices, and only tails of single humps can be tilted towards. Otherwise the cheapest.
    """
    best = _cost(form, 0, 1)
    combinations = 1
    for heavy in range(1, len(form.weights) + 1):
        combinations *= int(form.counts[-heavy]) + 1
        if combinations > MAX_COMBINATIONS:
            break
        towers = combinations <= MAX_HUMPS and _towers(form, heavy)
        if not towers and combinations * _PER_SOLVE > best.nanoseconds:
            if combinations > MAX_HUMPS:
                break
            continue
        split = _cost(form, heavy, combinations)
        if towers or split.nanoseconds < best.nanoseconds:
            best = split
    return best


@once_per_form
def screening(form: CanonicalForm) -> tuple[int, int]:
    """What `spectrum.frequencies` says of the light part on its window."""
    split = best_split(form)
    return frequencies(form.without(split.heavy), split.length)


def _towers(form: CanonicalForm, heavy: int) -> bool:
    """Whether the lightest of the heavy weights exceeds _HUMP standard deviations of the rest."""
    rest = form.without(heavy)
    return float(form.weights[-heavy]) > _HUMP * math.sqrt(rest.variance)


def _cost(form: CanonicalForm, heavy: int, combinations: int) -> Split:
    light = form.without(heavy)
    length = window_length(light)
    each = _PER_SOLVE + _PER_POINT * length + _PER_GROUP * len(light.weights)
    return Split(heavy, combinations, length, combinations * each)


def heavy_sums(form: CanonicalForm, heavy: int) -> tuple[dict[int, int], int]:
    """The law of the heavy part: {sum: number of ways}, and the log2 of the number of all ways."""
    ways = {0: 1}
    items = 0
    for weight, count in zip(form.weights[-heavy:].tolist(), form.counts[-heavy:].tolist(), strict=True):
        items += count
        spread: dict[int, int] = {}
        for total, number in ways.items():
            for chosen in range(count + 1):
                moved = total + weight * chosen
                spread[moved] = spread.get(moved, 0) + number * math.comb(count, chosen)
        ways = spread
    return ways, items


def shifted(region: Region, by: int, range_: int) -> Region:
    """The region minus `by`, clipped to {0, ..., range_}."""
    moved = ((max(low - by, 0), min(high - by, range_)) for low, high in region.intervals)
    return Region(tuple(pair for pair in moved if pair[0] <= pair[1]))
