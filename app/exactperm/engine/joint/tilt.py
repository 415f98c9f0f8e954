"""Exponential tilting of a vector of sums.

The log-odds of the swap of an item with vector v are theta . v; K_c(theta) = sum_j c_j log cosh(theta . v_j / 2) is
the cumulant generating function of T about its mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..lattice import Reals
from ..tilting import log_cosh
from .form import JointForm, means

_ITERATIONS = 60
_NEAR_ENOUGH = 0.05


@dataclass(frozen=True, slots=True)
class Tilted:
    """A tilt theta (r,), tau_j = tanh(theta . v_j / 2) and sech2_j = 1 - tau_j**2 (U,), and the `cumulant` K_c(theta)."""

    theta: Reals
    tau: Reals
    sech2: Reals
    cumulant: float

    def covariance(self, form: JointForm) -> Reals:
        """Return the covariance of T under the tilt, shape (r, r)."""
        steps = form.vectors.astype(np.float64)
        return np.asarray(0.25 * (steps * (form.counts * self.sech2)[:, None]).T @ steps)


def untilted(form: JointForm) -> Tilted:
    """Return the law at theta = 0."""
    zero = np.zeros(len(form.counts))
    return Tilted(np.zeros(form.rank), zero, np.ones(len(form.counts)), 0.0)


def tilted(form: JointForm, theta: Reals) -> Tilted:
    """Return the law tilted by `theta`, shape (r,)."""
    half = 0.5 * (form.vectors @ theta)
    size = np.abs(half)
    decay = np.exp(-2.0 * size)
    cumulant = math.fsum((form.counts * log_cosh(size)).tolist())
    return Tilted(theta, np.tanh(half), 4.0 * decay / (1.0 + decay) ** 2, cumulant)


def tilt_towards(form: JointForm, target: Reals) -> Tilted:
    """Return a tilt with its mean near `target`, shape (r,), by Newton's method on K(theta) - theta . target.

    Steps are halved as needed. Any theta gives a correct answer; a mean within 0.05 standard deviations a quick one.
    """
    theta = np.zeros(form.rank)
    centre = means(form)
    for _ in range(_ITERATIONS):
        law = tilted(form, theta)
        gradient = means(form, law.tau) - target
        hessian = law.covariance(form)
        scale = math.sqrt(max(float(gradient @ np.linalg.pinv(hessian) @ gradient), 0.0))
        if scale < _NEAR_ENOUGH:
            return law
        step = -np.linalg.pinv(hessian) @ gradient
        objective = law.cumulant - float(theta @ (target - centre))
        size = 1.0
        while size > 1e-6:
            tried = theta + size * step
            value = tilted(form, tried).cumulant - float(tried @ (target - centre))
            if value <= objective:
                break
            size *= 0.5
        theta = theta + size * step
    return tilted(form, theta)
