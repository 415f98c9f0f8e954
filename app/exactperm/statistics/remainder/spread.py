"""Where the deviations s of k sums are, but for a proven little: bounds of linear forms of s and of their squares.

s = sum_n e_n d_n / 2 with random signs e_n and d_n = stay_n - swap_n. Each bound that is asked for holds outside of an
event of probability at most exp(-log_odds) (`engine.rademacher`); the events are counted. Between two planes, where one
linear form l . s is known to be small (`Strip`), any other form g is share l + rest: the first part is known, and the
second is nearly uncorrelated with it and so much smaller.
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


class Strip:
    """All s with |form . s| <= `most`; other forms are parted into a share of `form` and a rest."""

    def __init__(self, form: Reals, most: float, spread: Spread) -> None:
        self.form, self.most = form, most
        moved = spread.covariance @ form
        variance = float(form @ moved)
        self._share = moved / variance if variance > 0.0 else np.zeros(len(form))

    def parts(self, forms: Reals) -> tuple[Reals, Reals, Reals]:
        """(shares, rests, what both together are off by, in sizes) of forms, shape (J, k): (J,), (J, k) and (J, k)."""
        shares = forms @ self._share
        moved = shares[:, None] * self.form
        return shares, forms - moved, 2.0 * _U * (np.abs(forms) + np.abs(moved))


class Reaches:
    """Bounds that all hold together outside of `events` events of probability exp(-log_odds) each at most.

    With a `strip` they are of the s in it.
    """

    def __init__(self, spread: Spread, log_odds: float, strip: Strip | None = None) -> None:
        self.spread, self._strip = spread, strip
        self._log_odds = log_odds
        self._factor = reach(log_odds)
        self._forms: list[Reals] = []
        self._index: dict[bytes, int] = {}
        self._linear: dict[int, float] = {}
        self._squares: dict[tuple[tuple[int, float], ...], float] = {}

    @property
    def log_outside(self) -> float:
        """The logarithm of the probability that some bound does not hold, rounded up."""
        each = 1 if self._strip is None else 2
        events = len(self._linear) + each * len(self._squares)
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
            form = self._forms[index]
            whole = self._factor * self._deviation(form)
            self._linear[index] = (
                whole if self._strip is None else min(whole, self._in_strip(self._strip, form))
            )
        return self._linear[index]

    def _deviation(self, form: Reals) -> float:
        """Of form . s, rounded up."""
        return math.sqrt(self.spread.variance(form)) * (1.0 + 1e-12)

    def _in_strip(self, strip: Strip, form: Reals) -> float:
        (share,), (rest,), (off,) = strip.parts(form[None])
        rounded = float(off @ self.spread.most)
        return (abs(float(share)) * strip.most + self._factor * self._deviation(rest) + rounded) * (
            1.0 + 1e-12
        )

    def of_squares(self, weights: Mapping[int, float]) -> float:
        """At least the sum of weight (form . s)**2 over the forms."""
        if len(weights) == 1:
            ((index, weight),) = weights.items()
            return weight * self.of(index) ** 2
        if len(weights) > _MOST_FORMS:
            return math.fsum(weight * self.of(index) ** 2 for index, weight in weights.items())
        key = tuple(weights.items())
        if key not in self._squares:
            roots = np.sqrt(np.array(list(weights.values())))
            scaled = np.array([self._forms[index] for index in weights]) * roots[:, None]
            whole = self._of_squares(scaled)
            inside = math.inf if self._strip is None else self._squares_in(self._strip, scaled)
            self._squares[key] = min(whole, inside)
        known = [self._linear.get(index) for index in weights]
        each = math.fsum(
            weight * one**2 if one is not None else math.inf
            for weight, one in zip(weights.values(), known, strict=True)
        )
        return min(self._squares[key], each)

    def _of_squares(self, forms: Reals) -> float:
        """At least the sum of (form . s)**2, `forms` of shape (J, k)."""
        covariances = forms @ self.spread.covariance @ forms.T
        sizes = (np.abs(forms) @ self.spread.deviation) ** 2
        return reach_of_squares(covariances, 2.0 * self.spread.rounding * float(sizes.sum()), self._log_odds)

    def _squares_in(self, strip: Strip, forms: Reals) -> float:
        """The same in a strip: (share l . s)**2 + 2 (share l . s) (rest . s) + (rest . s)**2, summed."""
        shares, rests, off = strip.parts(forms)
        # Of the sum of share (rest . s), and what its coefficients were rounded by.
        lost = _U * (len(forms) + 2) * (np.abs(shares) @ np.abs(rests))
        crossed = self._factor * self._deviation(shares @ rests) + float(lost @ self.spread.most)
        known = float(shares @ shares) * strip.most**2
        squares = known + 2.0 * strip.most * crossed + self._of_squares(rests)
        # Minkowski: what the sums were rounded by.
        rounded = float(np.linalg.norm(off @ self.spread.most))
        return (math.sqrt(squares) + rounded) ** 2 * (1.0 + 1e-12)
