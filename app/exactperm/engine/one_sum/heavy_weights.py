"""Enumeration of heavy weights, so that one outlier does not stretch the window of all the others.

Bernstein's window is at least a few dozen times the largest weight. Where few items carry weights far
above the rest, T = H + R with H the heavy part: P(T in I) = sum_h P(H = h) P(R in I - h), and R has a
short window. With P(H = h) = integer / 2**m this is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..lattice import CanonicalForm, once_per_form
from ..probability import Region
from ..tilting import bernstein_reach
from .enumeration import ways_to_sums
from .spectrum import frequencies

MAX_COMBINATIONS = 4096
# Nanoseconds of one run of `fft`, of one point of its window and of one distinct weight. They only compare splits with
# each other; `python -m loadtest.bench --section plan` checks them.
_PER_SOLVE = 300_000
_PER_POINT = 15
_PER_GROUP = 4_000
# A weight above _HUMP standard deviations of the lighter ones splits the law into humps, enumerated up to MAX_HUMPS.
MAX_HUMPS = 512
_HUMP = 6.0
# A difference of variances above this share of them has lost no significant digit.
_CLEARLY = 1e-6
_LOG_ODDS = 42.0  # log(2 / 1e-18), as in the window


@dataclass(frozen=True, slots=True)
class Split:
    """T = H + R: the `heavy` largest distinct weights are enumerated.

    R is solved at most `combinations` times on a window of `length` points, in about `nanoseconds` in total.
    """

    heavy: int
    combinations: int
    length: int
    nanoseconds: int


def window_length(form: CanonicalForm) -> int:
    """Return the points of the untilted window: twice Bernstein's reach, or the whole support where smaller."""
    if len(form.weights) == 0:
        return 1
    return min(form.range + 1, bernstein_window(float(form.weights[-1]), form.variance))


def bernstein_window(largest: float, variance: float, range_: float = math.inf) -> int:
    """Compute `window_length` from the largest weight, the variance, and the range where known."""
    length = 2 * math.ceil(bernstein_reach(_LOG_ODDS, largest, variance)) + 3
    return length if length <= range_ else int(range_) + 1


@once_per_form
def best_split(form: CanonicalForm) -> Split:
    """Choose the number of heaviest distinct weights to enumerate; usually none.

    A weight far above the spread of the lighter ones is always enumerated: the law then has a hump for each choice, and
    a tilt can move the mean to the tail of one hump only. Otherwise the cheapest split is chosen.
    """
    best = _cost(form, 0, 1)
    combinations = 1
    rest = form.variance
    for heavy in range(1, len(form.weights) + 1):
        weight, count = float(form.weights[-heavy]), int(form.counts[-heavy])
        combinations *= count + 1
        if combinations > MAX_COMBINATIONS:
            break
        rest -= 0.25 * count * weight * weight
        towers = combinations <= MAX_HUMPS and _separates_humps(form, heavy, rest)
        if not towers and combinations * _PER_SOLVE > best.nanoseconds:
            if combinations > MAX_HUMPS:
                break
            continue
        split = _cost(form, heavy, combinations)
        if towers or split.nanoseconds < best.nanoseconds:
            best = split
    return best


@once_per_form
def screening(form: CanonicalForm) -> tuple[int, int, int]:
    """Return `spectrum.frequencies` of the light part on its window."""
    split = best_split(form)
    return frequencies(form.without(split.heavy), split.length)


def _separates_humps(form: CanonicalForm, heavy: int, about: float) -> bool:
    """Return whether the lightest heavy weight exceeds _HUMP standard deviations of the rest.

    `about` is the variance of the rest, imprecise where the heavy weights have nearly all variance.
    """
    lightest = float(form.weights[-heavy])
    if about > _CLEARLY * form.variance and (1.0 - _CLEARLY) * about * _HUMP**2 > lightest * lightest:
        return False
    return lightest > _HUMP * math.sqrt(form.without(heavy).variance)


def _cost(form: CanonicalForm, heavy: int, combinations: int) -> Split:
    light = form.without(heavy)
    length = window_length(light)
    each = _PER_SOLVE + _PER_POINT * length + _PER_GROUP * len(light.weights)
    return Split(heavy, combinations, length, combinations * each)


def heavy_sums(form: CanonicalForm, heavy: int) -> tuple[dict[int, int], int]:
    """Return the law of the heavy part, {sum: number of ways}, and the log2 of the number of all ways."""
    groups = zip(form.weights[-heavy:].tolist(), form.counts[-heavy:].tolist(), strict=True)
    return ways_to_sums(groups), int(form.counts[-heavy:].sum())


def shifted(region: Region, by: int, range_: int) -> Region:
    """Shift the region by -`by` and clip it to {0, ..., range_}."""
    moved = ((max(low - by, 0), min(high - by, range_)) for low, high in region.intervals)
    return Region(tuple(pair for pair in moved if pair[0] <= pair[1]))
