"""Exponential tilting of one draw of the bootstrap, and with it of their sum.

One draw y has cumulant log M(theta) = log sum_j (c_j / N) exp(theta y_j); the sum of N has N times that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import flint
import numpy as np

from ..lattice import Reals
from ..probability import UNIT_ROUNDOFF
from ..tilting import tilt_to
from .form import ResampleForm

# Beyond these the exponent is computed in ball arithmetic.
_LARGE_SLOPE, _LARGE_ERROR = 30.0, 2e-13
_BALL_BITS = 200


@dataclass(frozen=True, slots=True)
class DrawTilt:
    """One draw tilted by `theta`: the probabilities of the values, shape (U,), its mean and variance."""

    theta: float
    probabilities: Reals
    mean: float
    variance: float


def draw_tilt_at(form: ResampleForm, theta: float) -> DrawTilt:
    """The law of one draw tilted by `theta` >= 0."""
    values = form.values.astype(np.float64)
    weights = form.probabilities * np.exp(theta * (values - values[-1]))
    probabilities = weights / weights.sum()
    mean = float(np.dot(probabilities, values))
    return DrawTilt(theta, probabilities, mean, float(np.dot(probabilities, np.square(values - mean))))


def draw_tilt_towards(form: ResampleForm, target: int) -> DrawTilt:
    """A tilt under which T has its mean near `target`, mean of T < target < range."""
    return tilt_to(
        lambda theta: draw_tilt_at(form, theta),
        target=target / form.draws,
        below=(form.range - target) / form.draws,
        start=0.0,
        unit=float(form.values[-1]),
        draws=form.draws,
    )


def draw_exponent(form: ResampleForm, law: DrawTilt, target: int) -> tuple[float, float]:
    """N log M(theta) - theta target, theta an exact double, and a bound on its absolute error."""
    if law.theta == 0.0:
        return 0.0, 0.0
    # y_j - target / N, from exact integers.
    distance = (form.values * form.draws - target).astype(np.float64) / form.draws
    slope = law.theta * distance
    if float(slope.max()) > _LARGE_SLOPE:
        return _by_ball_arithmetic(form, law.theta, target)
    growth = np.expm1(slope)
    excess = math.fsum((form.probabilities * growth).tolist())
    value = form.draws * math.log1p(excess)
    moved = np.dot(form.probabilities, (1.0 + growth) * np.abs(slope) + np.abs(growth)) / (1.0 + excess)
    error = UNIT_ROUNDOFF * (4.0 * form.draws * float(moved) + 4.0 * abs(value))
    return _by_ball_arithmetic(form, law.theta, target) if error > _LARGE_ERROR else (value, error)


def _by_ball_arithmetic(form: ResampleForm, theta: float, target: int) -> tuple[float, float]:
    """The same in ball arithmetic (Johansson 2017, Arb), whose radius is the error bound."""
    with flint.ctx.workprec(_BALL_BITS):
        base = flint.arb(theta)
        total = flint.arb(0)
        for value, count in zip(form.values.tolist(), form.counts.tolist(), strict=True):
            total += count * (base * value).exp()
        result = form.draws * (total / form.draws).log() - base * target
        value = float(result.mid())
        return value, float(result.rad()) + 2.0 * UNIT_ROUNDOFF * abs(value)
