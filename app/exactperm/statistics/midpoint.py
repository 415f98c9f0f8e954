"""The midpoint linearisation of a statistic of several sums: a test of one sum that approximates its test.

t = h(S), and a swap of item n moves S from stay_n to swap_n. No swap changes the midpoint m = (sum of stay + sum of
swap) / 2, so with signs s_n (+1 as observed, -1 swapped)

    S - m = sum_n s_n (stay_n - swap_n) / 2,    h(S) = h(m) + grad h(m) . (S - m) + rest.

For a difference of scores, t = f(m + s) - f(m - s), h(m) is 0 and the rest begins with terms of the third order. The
linear part has one effect for each item and so a p-value that the methods for one sum compute exactly. It serves as a
control variate of samples, and in proven brackets. For any gradient and any rounding of its effects the linear part is
a fixed function of the signs: rounding reduces agreement with t, not validity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np

from ..engine.lattice import Integers, Reals
from ..engine.rademacher import reach, reach_of_squares
from .effects import Joint
from .evaluation import NotSmoothError
from .reduction import totals

_BITS = 192
# Limits of the slopes, as powers of two: beyond any double.
_MOST_EXPONENT = 1 << 12
# Bound on products of effects and integer slopes, and on their sums.
_ROOM = 1 << 61


@dataclass(frozen=True, slots=True)
class Linearisation:
    """h(S) = value + sum_j gradient[j] (S_j - twice_m[j] / 2) + rest.

    `gradient` and `twice_m` have one number for each of the k sums; `value` is h(m), exactly 0 for a difference
    of scores (a `mirrored` problem). All are dyadic rationals near the true ones.
    """

    twice_m: tuple[int, ...]
    value: Fraction
    gradient: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class RoundedLine:
    """The linear part in integers: each vector v changes it by `unit` times its integer in `effects`, shape (U,)."""

    unit: Fraction
    effects: Integers


def linearise(problem: Joint) -> Linearisation | None:
    """Linearise at the midpoint; None where the statistic has no gradient there, or a gradient of zero."""
    function = problem.function
    twice = [x + y for x, y in zip(totals(problem.stay), totals(problem.swap), strict=True)]
    with flint.ctx.workprec(_BITS):
        point = [flint.arb(total) / 2 for total in twice]
        try:
            tangent = function.quantity.tangent(point)
            if tangent is None:
                return None
            slopes = [_dyadic(tangent.slopes.get(index)) for index in range(len(twice))]
            value = Fraction(0) if problem.mirrored else _dyadic(tangent.value)
        except NotSmoothError:
            return None
    if not any(slopes):
        return None
    return Linearisation(tuple(twice), value, tuple(slopes))


def rounded_line(
    slopes: Sequence[Fraction], vectors: Integers, counts: Integers, spread: int
) -> RoundedLine | None:
    """Return slope . v for each of the `vectors`, shape (U, m), that occur `counts` times, rounded to a lattice.

    Its step is such that the sum of signs times effects has a standard deviation of `spread` to twice as many steps.
    None where all are zero. All in integers, so that every machine rounds alike.
    """
    if not vectors.size:
        return None
    sizes = [max(-int(column.min()), int(column.max())) for column in vectors.T]
    most = sum(abs(slope) * size for slope, size in zip(slopes, sizes, strict=True))
    if most == 0 or sum(sizes) > _ROOM:
        return None
    fine = _power_of_two(Fraction(_ROOM) / most)
    # The slope of a sum that no swap moves is arbitrary.
    factors = np.array(
        [round(slope * fine) if size else 0 for slope, size in zip(slopes, sizes, strict=True)],
        dtype=np.int64,
    )
    effects = vectors @ factors
    size = _root_mean_square(effects, counts)
    shift = max(int(size * math.sqrt(int(counts.sum())) / spread).bit_length() - 1, 0)
    if shift:
        effects = (effects + (1 << (shift - 1))) >> shift
    return RoundedLine(Fraction(1 << shift) / fine, effects) if effects.any() else None


def _root_mean_square(effects: Integers, counts: Integers) -> float:
    """Return the root mean square of all effects from their leading bits: the same double on every machine."""
    largest = max(-int(effects.min()), int(effects.max()))
    items = int(counts.sum())
    dropped = max(largest.bit_length() - (62 - items.bit_length()) // 2, 0)
    leading = effects >> dropped
    return math.sqrt(int((counts * leading * leading).sum()) / items) * 2.0**dropped


def _power_of_two(value: Fraction) -> Fraction:
    """Return the largest power of two that is at most `value`."""
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    power = Fraction(2) ** bits
    return power if power <= value else power / 2


def _dyadic(number: flint.arb | None) -> Fraction:
    """Return the midpoint of a ball; raises NotSmoothError where no double is near it."""
    if number is None:
        return Fraction(0)
    mantissa, exponent = number.mid().man_exp()
    if abs(int(exponent)) > _MOST_EXPONENT:
        raise NotSmoothError
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


# The region that holds the deviations s of k sums, up to a proven small probability: bounds of linear forms of s and of
# their squares. s = sum_n e_n d_n / 2 with random signs e_n and d_n = stay_n - swap_n. Each requested bound holds
# outside an event of probability at most exp(-log_odds) (`engine.rademacher`); the events are counted. Between two
# planes, where one linear form l . s is known to be small (`Strip`), any other form g is share l + rest: the first part
# is known, and the second is nearly uncorrelated with it and so much smaller.


_U = 2.0**-52
# Rows at a time.
_ROWS = 1 << 16
# With more forms the covariances take long, so their squares are bounded one by one.
_MOST_FORMS = 96


@dataclass(frozen=True, eq=False)
class Spread:
    """The covariance of s, shape (k, k), in doubles, with errors of at most `rounding` deviation_i deviation_j.

    `most` is the largest |s_i| under any swaps, rounded up.
    """

    covariance: Reals
    deviation: Reals
    most: Reals
    rounding: float

    def variance(self, form: Reals) -> float:
        """Return the variance of form . s, rounded up; `form`, shape (k,), is taken as exact doubles."""
        error = self.rounding * float(np.abs(form) @ self.deviation) ** 2
        return max(float(form @ self.covariance @ form), 0.0) + error


def spread_of(differences: Integers) -> Spread:
    """Return the spread of s for the `differences` d_n, shape (N, k), which doubles hold exactly."""
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
    """All s with |form . s| <= `most`; other forms are split into a share of `form` and a rest."""

    def __init__(self, form: Reals, most: float, spread: Spread) -> None:
        self.form, self.most = form, most
        moved = spread.covariance @ form
        variance = float(form @ moved)
        self._share = moved / variance if variance > 0.0 else np.zeros(len(form))

    def parts(self, forms: Reals) -> tuple[Reals, Reals, Reals]:
        """Return (shares, rests, absolute errors of both together) of forms, shape (J, k): (J,), (J, k) and (J, k)."""
        shares = forms @ self._share
        moved = shares[:, None] * self.form
        return shares, forms - moved, 2.0 * _U * (np.abs(forms) + np.abs(moved))


class Reaches:
    """Bounds that hold jointly outside `events` events of probability at most exp(-log_odds) each.

    With a `strip` they cover the s in it.
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
        """Return the logarithm of the probability that some bound fails, rounded up."""
        each = 1 if self._strip is None else 2
        events = len(self._linear) + each * len(self._squares)
        return math.log(events) + 1e-9 - self._log_odds if events else -math.inf

    @property
    def log_odds(self) -> float:
        """The logarithm of the odds of each event."""
        return self._log_odds

    @property
    def factor(self) -> float:
        """Return the number of standard deviations allowed to a linear form."""
        return self._factor

    def index(self, form: Reals) -> int:
        """Return the index of a form."""
        key = form.tobytes()
        if key not in self._index:
            self._index[key] = len(self._forms)
            self._forms.append(form)
        return self._index[key]

    def of(self, index: int) -> float:
        """Return an upper bound of |form . s|."""
        if index not in self._linear:
            form = self._forms[index]
            whole = self._factor * self._deviation(form)
            self._linear[index] = (
                whole if self._strip is None else min(whole, self._in_strip(self._strip, form))
            )
        return self._linear[index]

    def _deviation(self, form: Reals) -> float:
        """Return the deviation of form . s, rounded up."""
        return math.sqrt(self.spread.variance(form)) * (1.0 + 1e-12)

    def _in_strip(self, strip: Strip, form: Reals) -> float:
        (share,), (rest,), (off,) = strip.parts(form[None])
        rounded = float(off @ self.spread.most)
        return (abs(float(share)) * strip.most + self._factor * self._deviation(rest) + rounded) * (
            1.0 + 1e-12
        )

    def of_squares(self, weights: Mapping[int, float]) -> float:
        """Return an upper bound of the sum of weight (form . s)**2 over the forms."""
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
            weight * bound**2 if bound is not None else math.inf
            for weight, bound in zip(weights.values(), known, strict=True)
        )
        return min(self._squares[key], each)

    def _of_squares(self, forms: Reals) -> float:
        """Return an upper bound of the sum of (form . s)**2, `forms` of shape (J, k)."""
        covariances = forms @ self.spread.covariance @ forms.T
        sizes = (np.abs(forms) @ self.spread.deviation) ** 2
        return reach_of_squares(covariances, 2.0 * self.spread.rounding * float(sizes.sum()), self._log_odds)

    def _squares_in(self, strip: Strip, forms: Reals) -> float:
        """Bound the sum of squares in a strip: (share l . s)**2 + 2 (share l . s) (rest . s) + (rest . s)**2,
        summed.
        """
        shares, rests, off = strip.parts(forms)
        # The deviation of the sum of share (rest . s), and the rounding of its coefficients.
        lost = _U * (len(forms) + 2) * (np.abs(shares) @ np.abs(rests))
        crossed = self._factor * self._deviation(shares @ rests) + float(lost @ self.spread.most)
        known = float(shares @ shares) * strip.most**2
        squares = known + 2.0 * strip.most * crossed + self._of_squares(rests)
        # Minkowski: the rounding of the sums.
        rounded = float(np.linalg.norm(off @ self.spread.most))
        return (math.sqrt(squares) + rounded) ** 2 * (1.0 + 1e-12)
