"""Exponential tilting of finite laws, which moves the mean of T into the requested tail.

Tilted by theta, a law has the probabilities h_k exp(theta x_k) / exp(K(theta)), K its cumulant generating function.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import flint
import numpy as np

from ..lattice import Integers, Reals
from ..probability import UNIT_ROUNDOFF
from ..tilting import tilt_to
from .form import FiniteLaws

# Beyond this, rounding of the exponent would be the largest error, so ball arithmetic (Arb) is used.
_BALL_EXPONENT = 24.0
_BALL_BITS = 160
# Probabilities below this do not affect the relative errors of the others.
_NO_CHANCE = 1e-20


@dataclass(frozen=True, slots=True)
class Tilt:
    """The laws tilted by theta.

    `chances`, shape (G, K), are the tilted probabilities, each within a relative `error`, shape (G,), of the truth;
    `centres`, shape (G,), are the integers nearest to the means of the laws; `mean` is E T less the untilted mean.
    """

    theta: float
    chances: Reals
    centres: Integers
    error: Reals
    mean: float
    variance: float


def tilt_at(form: FiniteLaws, theta: float) -> Tilt:
    """Return the laws tilted by `theta`, any double."""
    values = form.values.astype(np.float64)
    logs = form.log_chances + theta * values if theta else form.log_chances
    peak = logs.argmax(axis=1)
    rows = np.arange(len(logs))
    # Relative to the likeliest value, so that products of theta are small where the mass is.
    base = values - values[rows, peak][:, None]
    shifted = form.log_chances - form.log_chances[rows, peak][:, None] + theta * base
    chances = np.exp(shifted)
    chances /= chances.sum(axis=1, keepdims=True)
    drift = (chances * base).sum(axis=1)
    variances = (chances * np.square(base - drift[:, None])).sum(axis=1)
    centres = form.values[rows, peak] + np.rint(drift).astype(np.int64)
    matters = chances >= _NO_CHANCE
    logs_of = np.where(matters, np.abs(np.where(matters, form.log_chances, 0.0)), 0.0)
    largest = (logs_of + np.where(matters, np.abs(theta * base), 0.0)).max(axis=1, initial=0.0)
    largest += np.abs(form.log_chances[rows, peak])
    error = UNIT_ROUNDOFF * (12.0 + 3.0 * largest + values.shape[1])
    means = values[rows, peak] + drift
    untilted = float(form.mean)
    mean = float(form.counts @ means) - untilted if theta else 0.0
    return Tilt(theta, chances, centres, error, mean, float(form.counts @ variances))


def tilt_towards(form: FiniteLaws, target: int) -> Tilt:
    """Return a tilt with its mean near `target`, mean <= target < range (see `tilting.tilt_to`)."""
    excess = float(target - form.mean)
    return tilt_to(
        lambda theta: tilt_at(form, theta),
        target=excess,
        below=float(form.range - target),
        start=excess / form.variance if excess > 0 else 0.0,
        unit=float(form.tops.max()),
    )


def exponent(form: FiniteLaws, theta: float, target: int) -> tuple[float, float]:
    """Return K(theta) - theta * target and a bound on its absolute error; theta is an exact double."""
    if theta == 0.0:
        return 0.0, 0.0
    terms, sizes = log_moments(form, theta)
    sizes += abs(theta * target)
    if sizes > _BALL_EXPONENT:
        return _exponent_by_ball_arithmetic(form, theta, target)
    return math.fsum([*terms.tolist(), -theta * target]), 16.0 * UNIT_ROUNDOFF * sizes


def log_moments(form: FiniteLaws, theta: float) -> tuple[Reals, float]:
    """Return the laws' shares of K(theta), shape (G,), and the size of the numbers whose roundings they have."""
    tilted = form.log_chances + theta * form.values
    peaks = tilted.max(axis=1)
    terms = form.counts * (peaks + np.log(np.exp(tilted - peaks[:, None]).sum(axis=1)))
    return terms, float(form.counts @ (np.abs(peaks) + 1.0))


def _exponent_by_ball_arithmetic(form: FiniteLaws, theta: float, target: int) -> tuple[float, float]:
    """Compute `exponent` in ball arithmetic (Johansson 2017, Arb), with the radius as the error bound."""
    with flint.ctx.workprec(_BALL_BITS):
        slope = flint.arb(theta)
        total = -slope * target
        for law, count in zip(form.laws, form.counts.tolist(), strict=True):
            tilted = sum(
                (ways * (slope * value).exp() for value, ways in zip(law.values, law.ways, strict=True)),
                flint.arb(0),
            )
            total += count * (tilted / law.total).log()
        value = float(total.mid())
        return value, float(total.rad()) + 2.0 * UNIT_ROUNDOFF * abs(value)
