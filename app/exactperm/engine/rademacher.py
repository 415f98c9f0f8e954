"""Tail bounds of sums of random signs, and of sums of squares of such sums, for any number of effects of any size.

For signs e_n, +1 or -1 with chance 1/2 each and independent, and any numbers b_n with norm |b|:

    P(|sum_n e_n b_n| >= x |b|) <= 2 exp(-x**2 / 2)                      (Hoeffding 1963, theorem 2)
    P(|sum_n e_n b_n| >= x |b|) <= 2 c P(Z >= x),  c = 3.1786...        (Bentkus & Dzindzalieta 2015, theorem 1.1)

with Z standard normal. Vectors of such sums are sub-Gaussian with their covariance, since cosh(x) <= exp(x**2 / 2). So
for a sum q of squares of linear forms of them, with x_i the eigenvalues of the forms' covariance matrix and h any
number with 2 h x_i < 1 (Hsu, Kakade & Zhang 2012, proof of theorem 1; Chernoff's bound),

    P(q > (t - sum_i log(1 - 2 h x_i) / 2) / h) <= exp(-t).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri_exp

from .lattice import Reals

# 1 / (4 P(Z >= sqrt 2)) = 3.178655..., rounded up.
_GAUSSIAN = 3.1787
# Values of 2 h times the largest eigenvalue. Any is valid, and the best of these is nearly optimal.
_TILTS = 1.0 - np.geomspace(0.9, 0.01, 24)
# A bound on the relative rounding error of a result.
_WIDER = 1.0 + 1e-9


def reach(log_odds: float) -> float:
    """Return x with P(|sum_n e_n b_n| >= x |b|) <= exp(-log_odds), `log_odds` >= 0."""
    hoeffding = math.sqrt(2.0 * (log_odds + math.log(2.0)))
    gaussian = -float(ndtri_exp(-log_odds - math.log(2.0 * _GAUSSIAN)))
    return _WIDER * min(hoeffding, gaussian)


def reach_of_squares(covariances: Reals, rounding: float, log_odds: float) -> float:
    """Return the value that a sum of squares of linear forms exceeds with probability at most exp(-log_odds).

    `covariances` is that matrix of the forms, shape (J, J); `rounding` bounds the Frobenius norm of its error.
    """
    size = float(np.linalg.norm(covariances))
    # No eigenvalue moves by more than the norm of the error (Weyl); LAPACK's error is a few units of the norm.
    spare = rounding + 1e-12 * len(covariances) * size
    values = np.maximum(np.linalg.eigvalsh(covariances), 0.0) + spare
    largest = float(values.max())
    if largest == 0.0:
        return 0.0
    halved = -0.5 * np.log1p(-_TILTS[:, None] * (values / largest)).sum(axis=1)
    return _WIDER * 2.0 * largest * float(((log_odds + halved) / _TILTS).min())
