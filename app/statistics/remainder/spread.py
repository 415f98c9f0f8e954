"""Where the deviations s of k sums are, but for a proven little: bounds of linear forms of s and of their squares.

s = sum_n e_n d_n / 2 with random signs e_n and d_n = stay_n - swap_n. Each bound that is asked for holds outside of an
event of probability at most exp(-log_odds) (`engine.rademacher`); the events are counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...engine.lattice import Integers, Reals
from ...engine.rademacher import reach, reach_of_squares

_U = 2.0**-52
# Rows at a time.
_ROWS = 1 << 16
# The covariances of more forms take long: their squares are then bounded one by one.
_MOST_FORMS = 96


@dataclass(frozen=True, eq=False)
class Spread:
    """The covariance of s, shape (k, k), in doubles: (1 +- `rounding`) deviation_i deviation_j of each entry at most.

    `most` is the largest |s_i| under any swaps, rounded up.
    """

    covariance: Reals
    deviation: Reals
    most: Reals
    rounding: float

    def variance(self, form: Reals) -> float:
        """Of form . s, rounded up; `form` is taken as the doubles are, shape (k,)."""
        error = self.rounding * float(np.abs(form) @ self.deviation) ** 2
        return max(float(form @ self.covariance @ form), 0.0) + error


def spread_of(differences: Integers) -> Spread:
    """The spread of s for the `differences` d_n, shape (N, k), which doubles hold exactly."""
    width = differences.shape[1]
    covariance, most = np.zeros((width, width)), np.zeros(width)
    for start in range(0, len(differences), _ROWS):
        halves = 0.5 * differences[start : start + _ROWS]
        covariance += halves.T @ halves
        most += np.abs(halves).sum(axis=0)
    rounding = 2.0 * _U * (sum(differences.shape) * 2 + 16)
    deviation = np.sqrt(np.diagonal(covariance)) * (1.0 + 1e-6)
    return Spread(covariance, deviation, most * (1.0 + 1e-6), rounding)


class Reaches:
    """Bounds that all hold together outside of `events` events of probability exp(-log_odds) each at most."""

    def __init__(self, spread: Spread, log_odds: float) -> None:
        self.spread = spread
        self._log_odds = log_odds
        self._factor = reach(log_odds)
        self._forms: list[Reals] = []
        self._index: dict[bytes, int] = {}
        self._linear: dict[int, float] = {}
        self._squares: dict[tuple[tuple[int, float], ...], float] = {}

    @property
    def log_outside(self) -> float:
        """The logarithm of the probability that some bound does not hold, rounded up."""
        events = len(self._linear) + len(self._squares)
        return math.log(events) + 1e-9 - self._log_odds if events else -math.inf

    @property
    def log_odds(self) -> float:
        """Of each event."""
        return self._log_odds

    @property
    def factor(self) -> float:
        """How many standard deviations a linear form is allowed."""
        return self._factor

    def index(self, form: Reals) -> int:
        """The number under which a form is known here."""
        key = form.tobytes()
        if key not in self._index:
            self._index[key] = len(self._forms)
            self._forms.append(form)
        return self._index[key]

    def of(self, index: int) -> float:
        """At least |form . s|."""
        if index not in self._linear:
            size = math.sqrt(self.spread.variance(self._forms[index])) * (1.0 + 1e-12)
            self._linear[index] = self._factor * size
        return self._linear[index]

    def of_squares(self, weights: Mapping[int, float]) -> float:
        """At least the sum of weight (form . s)**2 over the forms."""
        if len(weights) == 1:
            ((index, weight),) = weights.items()
            return weight * self.of(index) ** 2
        if len(weights) > _MOST_FORMS:
            return math.fsum(weight * self.of(index) ** 2 for index, weight in weights.items())
        key = tuple(weights.items())
        if key not in self._squares:
            self._squares[key] = self._of_squares(weights)
        known = [self._linear.get(index) for index in weights]
        each = math.fsum(
            weight * one**2 if one is not None else math.inf
            for weight, one in zip(weights.values(), known, strict=True)
        )
        return min(self._squares[key], each)

    def _of_squares(self, weights: Mapping[int, float]) -> float:
        forms = np.array([self._forms[index] for index in weights])
        scaled = forms * np.sqrt(np.array(list(weights.values())))[:, None]
        covariances = scaled @ self.spread.covariance @ scaled.T
        sizes = (np.abs(scaled) @ self.spread.deviation) ** 2
        return reach_of_squares(covariances, 2.0 * self.spread.rounding * float(sizes.sum()), self._log_odds)
