"""How far sums of random signs reach, and sums of their squares: tails that hold for any effects and any number of them.

For signs e_n, +1 or -1 with chance 1/2 each and independent, and any numbers b_n with norm |b|:

    P(|sum_n e_n b_n| >= x |b|) <= 2 exp(-x**2 / 2)                      (Hoeffding 1963, theorem 2)
    P(|sum_n e_n b_n| >= x |b|) <= 2 c P(Z >= x),  c = 3.178...          (Bentkus & Dzindzalieta 2015, theorem 1.1)

with Z standard normal. Vectors of such sums are sub-Gaussian for their own covariance, cosh(x) being at most
exp(x**2 / 2), so that a sum of squares q of linear forms of them has, K the matrix of the forms' covariances,

    P(q > tr K + 2 sqrt(tr(K K) t) + 2 |K| t) <= exp(-t)                  (Hsu, Kakade & Zhang 2012, theorem 1).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri_exp

from .lattice import Reals

# 1 / (4 P(Z >= sqrt 2)) = 3.17781..., rounded up.
_GAUSSIAN = 3.178
# What rounding may take from a bound.
_WIDER = 1.0 + 1e-9


def reach(log_odds: float) -> float:
    """x with P(|sum_n e_n b_n| >= x |b|) <= exp(-log_odds), `log_odds` >= 0."""
    hoeffding = math.sqrt(2.0 * (log_odds + math.log(2.0)))
    gaussian = -float(ndtri_exp(-log_odds - math.log(2.0 * _GAUSSIAN)))
    return _WIDER * min(hoeffding, gaussian)


def reach_of_squares(covariances: Reals, rounding: float, log_odds: float) -> float:
    """What a sum of squares of sums exceeds with probability at most exp(-log_odds).

    `covariances` is K, shape (J, J); `rounding` bounds the Frobenius norm, and the trace, of its error.
    """
    frobenius = float(np.linalg.norm(covariances)) + rounding
    spectral = min(_spectral(covariances) + rounding, frobenius)
    trace = float(np.trace(covariances)) + rounding
    return _WIDER * (trace + 2.0 * frobenius * math.sqrt(log_odds) + 2.0 * spectral * log_odds)


def _spectral(symmetric: Reals) -> float:
    """At least the largest size of an eigenvalue: |K**16|_F ** (1 / 16)."""
    size = float(np.linalg.norm(symmetric))
    if size == 0.0:
        return 0.0
    power = symmetric / size
    for _ in range(4):
        power = power @ power
    # Rounding of entries of size one.
    largest = float(np.linalg.norm(power)) + 1e-13 * len(power) ** 2
    return size * math.pow(largest, 1.0 / 16.0)
