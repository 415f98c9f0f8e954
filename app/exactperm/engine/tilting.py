"""Newton's method for the tilt that moves the mean of a law to a target.

A law tilted by theta has mean K'(theta) and variance K''(theta), K its cumulant generating function. With w the largest
value, log(w - K'(theta)) is nearly linear in theta, so Newton's method is applied to it, inside a bracket. Any theta
gives a correct answer; a mean within a twentieth of a standard deviation gives a quick one (Keich & Nagarajan 2006).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

_MAX_ITERATIONS = 80
NEAR_ENOUGH = 0.05  # standard deviations


class TiltedLaw(Protocol):
    """A law tilted by theta."""

    @property
    def theta(self) -> float:
        """The tilt."""

    @property
    def mean(self) -> float:
        """K'(theta)."""

    @property
    def variance(self) -> float:
        """K''(theta)."""


def bernstein_reach(log_odds: float, largest: float, variance: float) -> float:
    """Return R with P(|X - mean| > R) <= 2 exp(-log_odds), X a sum of independent terms.

    Terms lie within `largest` of their means; with 0 the sum is sub-Gaussian. Bernstein's inequality (Boucheron, Lugosi
    & Massart 2013, section 2.8).
    """
    slack = log_odds * largest / 3.0
    return slack + math.sqrt(slack * slack + 2.0 * log_odds * variance)


def log_cosh(size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log cosh of numbers >= 0; log(1 + 2 sinh(x / 2)**2) keeps the digits of small ones."""
    small = np.log1p(2.0 * np.sinh(0.5 * np.minimum(size, 1.0)) ** 2)
    return np.asarray(np.where(size < 1.0, small, size + np.log1p(np.exp(-2.0 * size)) - math.log(2.0)))


Law = TypeVar("Law", bound=TiltedLaw)


def tilt_to(
    tilted: Callable[[float], Law], *, target: float, below: float, start: float, unit: float, draws: int = 1
) -> Law:
    """Return the law `tilted(theta)`, theta >= 0, with a mean near `target`, or the last one tried if none is near.

    `below` is w - target > 0, `start` the first theta, and 1 / `unit` the least step while there is no upper end. The
    mean is that of one of `draws` independent draws, and near enough for their sum.
    """
    low, high = 0.0, math.inf
    law = tilted(start)
    for _ in range(_MAX_ITERATIONS):
        miss = law.mean - target
        if abs(miss) <= NEAR_ENOUGH * math.sqrt(law.variance / draws):
            break
        if miss < 0:
            low = law.theta
        else:
            high = law.theta
        left = below - miss  # w - mean, without the cancellation of large numbers
        step = math.inf
        if left > 0 < law.variance:
            step = law.theta + math.log(left / below) * left / law.variance
        if not low < step < high:
            step = 0.5 * (low + high) if math.isfinite(high) else 2.0 * law.theta + 1.0 / unit
        law = tilted(step)
    return law
