"""Exponential tilting of a real-valued sum, and bounds of its deviations from the mean.

As in `one_sum.tilt`, for X symmetric about zero: K(theta) = log E exp(theta X) = sum_j c_j log cosh(theta d_j).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..lattice import Reals
from ..probability import UNIT_ROUNDOFF
from ..tilting import log_cosh, tilt_to
from .form import RealForm

# Chernoff's exponent need not be optimal; these multiples of the normal law's choice are tried.
_EXPONENTS = (1.0, 0.6)
_ROUNDING = 32.0 * UNIT_ROUNDOFF


@dataclass(frozen=True, slots=True)
class RealTilt:
    """The law tilted by `theta`: tau_j = tanh(theta d_j) and sech2_j = 1 - tau_j**2, shape (U,)."""

    theta: float
    tau: Reals
    sech2: Reals
    mean: float
    variance: float
    cumulant: float

    @property
    def sd(self) -> float:
        """The standard deviation of X under the tilt."""
        return math.sqrt(self.variance)

    def log_weight(self, at: float) -> tuple[float, float]:
        """Return K(theta) - theta at, the log of the untilted over the tilted mass at `at`, and its error bound."""
        shift = self.theta * at
        return self.cumulant - shift, _ROUNDING * (self.cumulant + abs(shift))

    def log_most(self, at: Reals) -> Reals:
        """Return Chernoff's bound at this tilt on the untilted log P(X >= at), for each of `at`, shape (B,)."""
        shift = self.theta * at
        return np.asarray(
            np.minimum(self.cumulant - shift + _ROUNDING * (self.cumulant + np.abs(shift)), 0.0)
        )


def cumulant(form: RealForm, theta: float) -> float:
    """Return K(theta), with a relative error of at most 32 roundoffs."""
    return float(
        (form.counts * log_cosh(np.abs(theta) * form.halves)).sum()
    )  # pairwise sums: log2(U) roundoffs


def real_tilt_at(form: RealForm, theta: float) -> RealTilt:
    """Return the law of X tilted by `theta` >= 0."""
    if theta == 0.0:
        zeros = np.zeros(len(form.halves))
        return RealTilt(0.0, zeros, zeros + 1.0, 0.0, form.variance, 0.0)
    half = theta * form.halves
    decay = np.exp(-2.0 * half)
    tau = np.tanh(half)
    sech2 = 4.0 * decay / (1.0 + decay) ** 2
    mean = float(np.dot(form.counts * form.halves, tau))
    variance = float(np.dot(form.counts * form.halves * form.halves, sech2))
    return RealTilt(theta, tau, sech2, mean, variance, cumulant(form, theta))


def real_tilt_towards(form: RealForm, target: float) -> RealTilt:
    """Return a tilt with its mean near `target` < reach; theta = 0 when the target is not positive.

    Any theta gives a correct answer, so neither the end of the range nor the last digit matters.
    """
    if target <= 0.0:
        return real_tilt_at(form, 0.0)
    remaining = max(form.reach - target, 0.25 * float(form.halves[0]))
    target = form.reach - remaining
    return tilt_to(
        lambda theta: real_tilt_at(form, theta),
        target=target,
        below=remaining,
        start=max(target, 0.0) / form.variance,
        unit=float(form.halves[-1]),
    )


def deviations(form: RealForm, law: RealTilt, log_odds: float) -> tuple[float, float]:
    """Return (below, above) with P(X < mean - below) and P(X > mean + above) at most exp(-log_odds) each.

    Chernoff's bound in the tilted family, K(theta + s) - K(theta) - s x; never beyond the range.
    """
    usual = math.sqrt(2.0 * log_odds / max(law.variance, 1e-300))
    # A tenth of a unit in the exponent pays for the rounding of the cumulants.
    odds = log_odds + 0.1 + 2.0 * _ROUNDING * law.cumulant
    best = [form.reach + law.mean, form.reach - law.mean]
    for multiple in _EXPONENTS:
        s = multiple * usual
        for side, sign in enumerate((-1.0, 1.0)):
            grown = cumulant(form, law.theta + sign * s) - law.cumulant
            best[side] = min(best[side], (grown + odds) / s - sign * law.mean)
    rounding = 1e-12 * form.reach
    return best[0] + rounding, best[1] + rounding
