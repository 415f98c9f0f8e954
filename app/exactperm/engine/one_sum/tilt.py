"""Exponential tilting, which moves the mean of the null distribution into the requested tail.

T = sum_j v_j Binomial(c_j, 1/2) tilted by theta has each B ~ Bernoulli(expit(theta v_j)). Everything is
centred, with W the range of T: K_c(theta) = sum_j c_j log cosh(theta v_j / 2) is the cumulant
generating function of T - W/2 (Keich & Nagarajan 2006; Peres, Lee & Keich 2021).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import flint
import numpy as np
from numpy.typing import NDArray

from ..lattice import CanonicalForm
from ..probability import UNIT_ROUNDOFF
from ..tilting import log_cosh, tilt_to

# Beyond this, rounding of the exponent would be the largest error, so ball arithmetic (Arb) is used.
_BALL_EXPONENT = 24.0
_BALL_BITS = 160


@dataclass(frozen=True, slots=True)
class Tilt:
    """A tilt and the law of T - W/2 under it: tau_j = tanh(theta v_j / 2), sech2_j = 1 - tau_j**2, shape (U,)."""

    theta: float
    tau: NDArray[np.float64]
    sech2: NDArray[np.float64]
    mean: float
    variance: float


def tilt_at(form: CanonicalForm, theta: float) -> Tilt:
    """Return the law of T tilted by `theta`."""
    weights = form.weights.astype(np.float64)
    if theta == 0.0:
        flat = np.ones(len(weights))
        return Tilt(
            theta,
            np.zeros(len(weights)),
            flat,
            0.0,
            0.25 * float(np.dot(form.counts * weights * weights, flat)),
        )
    half = 0.5 * theta * weights
    decay = np.exp(-2.0 * half)
    tau = np.tanh(half)
    sech2 = 4.0 * decay / (1.0 + decay) ** 2
    mean = 0.5 * float(np.dot(form.counts * weights, tau))
    variance = 0.25 * float(np.dot(form.counts * weights * weights, sech2))
    return Tilt(theta, tau, sech2, mean, variance)


def tilt_towards(form: CanonicalForm, target: int) -> Tilt:
    """Return a tilt with its mean near `target`, range / 2 <= target < range (see `tilting.tilt_to`)."""
    excess = target - form.range / 2.0
    return tilt_to(
        lambda theta: tilt_at(form, theta),
        target=excess,
        below=float(form.range - target),
        start=excess / form.variance if excess > 0 else 0.0,
        unit=float(form.weights[-1]),
    )


def exponent(form: CanonicalForm, theta: float, target: int) -> tuple[float, float]:
    """Return K(theta) - theta * target and a bound on its absolute error; theta is an exact double.

    This is the logarithm of the untilted mass at `target` divided by the tilted one.
    """
    if theta == 0.0:
        return 0.0, 0.0
    terms = form.counts * log_cosh(0.5 * theta * form.weights.astype(np.float64))
    shift = 0.5 * theta * float(2 * target - form.range)
    value = math.fsum([*terms.tolist(), -shift])
    if float(terms.sum()) + abs(shift) > _BALL_EXPONENT:
        return _exponent_by_ball_arithmetic(form, theta, target)
    return value, 8.0 * UNIT_ROUNDOFF * (float(terms.sum()) + abs(shift))


def _exponent_by_ball_arithmetic(form: CanonicalForm, theta: float, target: int) -> tuple[float, float]:
    """Compute `exponent` in ball arithmetic (Johansson 2017, Arb), with the radius as the error bound."""
    with flint.ctx.workprec(_BALL_BITS):
        half = flint.arb(theta) / 2
        total = -half * (2 * target - form.range)
        for weight, count in zip(form.weights.tolist(), form.counts.tolist(), strict=True):
            total += count * (half * weight).cosh().log()
        value = float(total.mid())
        return value, float(total.rad()) + 2.0 * UNIT_ROUNDOFF * abs(value)
