"""The power of the test.

The test is conditional on the sizes |d|, so its power is a tail of the same sum with other coins: under the tilt theta,
unit n turns up with probability expit(theta w_n), so that large effects point more surely to the better system. This is
the exponential family through the null (theta = 0), in which the one-sided test is uniformly most powerful (Lehmann &
Romano 2005, section 3.4). The tail comes from the tilted law, without going back to the null.

The rejection region is by the exact p-value: T >= k with k the least value whose p-value is at most alpha, and for
two-sided tests also T <= W - k. With the mid-p-value, k is least for the mean of P(T >= k) and P(T >= k + 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import fft as transforms, special

from ..lattice import CanonicalForm, Integers, Reals, once_per_form
from ..one_sum import fft, rational
from ..one_sum.methods import fft_cost
from ..one_sum.spectrum import Spectrum, spectrum
from ..one_sum.tilt import tilt_at
from ..plan import Cost
from ..probability import UNIT_ROUNDOFF, Alternative, Probability, Region, clipped_region
from ..root import root
from .parts import LOOKS, parts_of, states_of

# The law of a sum under a tilt: listed states and a window (see `parts`).


# Tilted mass outside a window; powers are right to about 1e-12.
_OUTSIDE = 1e-16
# Rounding of a window's cumulative law, and of a state's share in roundoffs.
_CUMULATED, _OF_STATES = 1e-12, 64.0
# An error bound for states that underflow.
_UNDERFLOW = 1e-290
# With fewer than one frequency per _FEW points, single tails are summed over frequencies.
_FEW = 64


class _LightPart(Protocol):
    """The law of the part R that is not listed."""

    def above(self, values: Integers) -> Reals:
        """Return P(R >= value), shape (M,)."""
        ...

    def below(self, values: Integers) -> Reals:
        """Return P(R <= value), shape (M,)."""
        ...


@dataclass(frozen=True, slots=True)
class _NoLightPart:
    """All sizes are listed: R = 0."""

    def above(self, values: Integers) -> Reals:
        return (values <= 0).astype(np.float64)

    def below(self, values: Integers) -> Reals:
        return (values >= 0).astype(np.float64)


@dataclass(frozen=True)
class _Window:
    """The characteristic function of a law on the values `first` to `last`, with nearly all its mass."""

    phi: Spectrum
    first: int
    last: int
    range_: int

    def above(self, values: Integers) -> Reals:
        if len(values) == 1 and len(self.phi.frequencies) * _FEW < self.phi.length:
            return self._contracted(max(int(values[0]), self.first), self.last)
        return self._cumulated[0][np.clip(values - self.first, 0, self.last - self.first + 1)]

    def below(self, values: Integers) -> Reals:
        if len(values) == 1 and len(self.phi.frequencies) * _FEW < self.phi.length:
            return self._contracted(self.first, min(int(values[0]), self.last))
        return self._cumulated[1][np.clip(values - self.first + 1, 0, self.last - self.first + 1)]

    def _contracted(self, start: int, end: int) -> Reals:
        if start > end:
            return np.zeros(1)
        total, _ = fft.contract(self.phi, self.range_, start, end - start + 1, 0.0)
        return np.array([total])

    @cached_property
    def _cumulated(self) -> tuple[Reals, Reals]:
        """Return P(R >= first + i) and P(R < first + i), i from 0 to the number of values."""
        length, count = self.phi.length, self.last - self.first + 1
        turns = (self.phi.frequencies * ((2 * self.first - self.range_) % (2 * length))) % (2 * length)
        values = np.zeros(length // 2 + 1, dtype=np.complex128)
        angle = self.phi.phase - (math.pi / length) * turns
        # The transform has the opposite sign, hence conjugates.
        values[self.phi.frequencies] = np.exp(self.phi.log_modulus - 1j * angle)
        # Noise about 0 is kept, because clipped at 0 it would add up.
        masses = transforms.irfft(values, n=length)[:count]
        above, below = np.zeros(count + 1), np.zeros(count + 1)
        above[:-1] = np.cumsum(masses[::-1])[::-1]
        below[1:] = np.cumsum(masses)
        return above, below


@dataclass(frozen=True)
class TiltedLaw:
    """T = H + R: the values of H with their probabilities, shape (H,), and the law of R."""

    sums: Integers
    chances: Reals
    light: _LightPart
    range_: int
    # Bounds on the relative and the additional absolute error of a probability.
    relative: float
    absolute: float

    def error(self, probability: float) -> float:
        """Bound the error of a computed probability."""
        return self.relative * probability + self.absolute

    @property
    def is_listed(self) -> bool:
        """Whether every value of T is listed."""
        return isinstance(self.light, _NoLightPart)

    def next_sum(self, least: int) -> int:
        """Return the least value of T from `least` on, if all are listed."""
        return int(self.sums[np.searchsorted(self.sums, least)])

    def probability(self, region: Region) -> float:
        """Return P(T in region)."""
        return min(max(math.fsum(self._interval(*interval) for interval in region.intervals), 0.0), 1.0)

    def _interval(self, low: int, high: int) -> float:
        if low <= 0 and high >= self.range_:
            return 1.0
        if high >= self.range_:
            return self.above(low)
        if low <= 0:
            return self.below(high)
        # Subtract the smaller tails, so that little cancels.
        if 2 * low >= self.range_:
            return self.above(low) - self.above(high + 1)
        return self.below(high) - self.below(low - 1)

    def above(self, value: int) -> float:
        """Return P(T >= value)."""
        if self.is_listed:
            return float(self._from_above[np.searchsorted(self.sums, value)])
        return float(np.dot(self.chances, self.light.above(value - self.sums)))

    def below(self, value: int) -> float:
        """Return P(T <= value)."""
        if self.is_listed:
            return float(self._from_below[np.searchsorted(self.sums, value, side="right")])
        return float(np.dot(self.chances, self.light.below(value - self.sums)))

    @cached_property
    def _from_above(self) -> Reals:
        return np.append(np.cumsum(self.chances[::-1])[::-1], 0.0)

    @cached_property
    def _from_below(self) -> Reals:
        return np.concatenate([[0.0], np.cumsum(self.chances)])


def tilted_law(form: CanonicalForm, theta: float) -> TiltedLaw:
    """Return the law of T with the tilt `theta` >= 0."""
    states, light = states_of(form), form.without(parts_of(form).heavy)
    # Relative to the likeliest state, as differences of sums are exact: sums may be long.
    logs = states.log_ways + theta * states.sums.astype(np.float64)
    peak = int(np.argmax(logs))
    logs = (states.log_ways - states.log_ways[peak]) + theta * (states.sums - states.sums[peak])
    chances = np.exp(logs - logs.max())
    heavy = len(form.weights) - len(light.weights)
    listed = form.nonzero - light.nonzero
    error = UNIT_ROUNDOFF * (_OF_STATES + 2.0 * listed * (heavy + 1))
    if len(light.weights) == 0:
        return TiltedLaw(states.sums, chances / chances.sum(), _NoLightPart(), form.range, error, _UNDERFLOW)
    law = tilt_at(light, theta)
    first, last = fft.window_of(light, law, _OUTSIDE)
    phi = spectrum(light, law, _odd_and_smooth(last - first + 1))
    window = _Window(phi, first, last, light.range)
    return TiltedLaw(states.sums, chances / chances.sum(), window, form.range, error, _CUMULATED)


@once_per_form
def null_law(form: CanonicalForm) -> TiltedLaw:
    """Return the untilted law, cached."""
    return tilted_law(form, 0.0)


def _odd_and_smooth(least: int) -> int:
    """Return an odd length, at least `least`, with a fast transform: a product of 3, 5, 7 and 11."""
    best: int = 3 ** math.ceil(math.log(max(least, 3), 3) + 1e-9)
    elevens = 1
    while elevens < best:
        sevens = elevens
        while sevens < best:
            fives = sevens
            while fives < best:
                length = fives
                while length < least:
                    length *= 3
                best = min(best, length)
                fives *= 5
            sevens *= 7
        elevens *= 11
    return best


# The power of the test


# Up to this many bits, tails are compared with alpha in integers where doubles cannot decide.
_MOST_BITS = 5_000_000
# Up to this many items, a tail's numerator is the integer nearest to the double.
_MOST_COUNTED, _CERTAINLY = 48, 0.25
_ROOT = 1e-13
# The tolerance of the power of a tilt.
_POWER = 1e-12
# Levels with a larger relative error come from a tilted window.
_SURELY = 1e-6
# Larger p-values that doubles cannot tell from alpha count as above it where a certified one takes longer.
CERTIFIED_BELOW, LONGEST_CERTIFIED_S = 1e-6, 0.1
# The least level with a normal quantile.
_LEAST_LEVEL = 1e-300
# The least mass that a window distinguishes from zero.
_NOTHING = 1e-13


@dataclass(frozen=True, slots=True)
class Rejection:
    """The rejection region of a test, from T >= least, with its exact level.

    `least` is a value of T. `region` has both ends of a two-sided test.
    """

    region: Region
    least: int
    level: float


@dataclass(frozen=True, slots=True)
class LevelTest:
    """A test's level and side; `mid` uses the mid-p-value. The alternative less mirrors greater."""

    alpha: float
    alternative: Alternative
    mid: bool = False

    @property
    def two_sided(self) -> bool:
        """Whether both tails count."""
        return self.alternative == "two-sided"


def rejection(form: CanonicalForm, test: LevelTest) -> Rejection | None:
    """Return the largest region with a p-value of at most alpha; None where no outcome on these items is significant.

    Comparisons are exact where that is cheap and else by an upper bound, so that a region is never too large.
    """
    if not is_attainable(form, test):
        return None
    least = _reached_from(form, _critical(form, test))
    region = _tail(form, least, test)
    return Rejection(region, least, _probability(form, region))


def attained_level(form: CanonicalForm, test: LevelTest) -> float:
    """Return the level of `rejection`, the largest attainable p-value up to alpha; 0 where there is none."""
    if test.alpha >= 1.0:
        return 1.0
    return _probability(form, _tail(form, _critical(form, test), test)) if is_attainable(form, test) else 0.0


def _critical(form: CanonicalForm, test: LevelTest) -> int:
    """Return the least number whose tail has a p-value of at most alpha; it need not be a value of T."""
    # Near the middle the p-value is 1 for two tails, and at least 1/2 for one.
    low = form.range // 2 - 1 if test.two_sided or test.alpha < 0.5 else -1
    high, guess, step = form.range, _normal_quantile(form, test), 1
    while low < guess < high:
        # Move outwards from the guess until both ends are known.
        if _rejects(form, test, guess):
            high, guess = guess, guess - step
        else:
            low, guess = guess, guess + step
        step *= 4
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _rejects(form, test, middle) else (middle, high)
    return high


def is_attainable(form: CanonicalForm, test: LevelTest) -> bool:
    """Return whether the most extreme outcome, one assignment of signs per tail, has a p-value up to alpha."""
    if form.range == 0:
        return False
    # Two tails of one assignment each, halved with the mid-p-value.
    bits = form.nonzero - test.two_sided + test.mid
    return Fraction(1, 1 << bits) <= Fraction(test.alpha)


def power(form: CanonicalForm, region: Region, theta: float) -> float:
    """Return P(T in region) with the tilt `theta` >= 0, to about 1e-12."""
    return tilted_law(form, theta).probability(region)


def mean(form: CanonicalForm, theta: float) -> float:
    """Return the mean of T - W / 2 with the tilt."""
    return tilt_at(form, theta).mean


def tilt_of_power(form: CanonicalForm, region: Region, target: float) -> float | None:
    """Return the least tilt with the power `target`; None where no tilt reaches it.

    Power grows with theta for one-sided regions, and for two-sided ones of a symmetric law.
    """
    level = null_law(form).probability(region)
    if level >= target:
        return 0.0
    # At this tilt every coin is certain.
    most = 60.0 / float(form.weights[0])
    low, theta = 0.0, min(1.0 / math.sqrt(form.variance), most)
    factor = 2.0
    aim = float(special.ndtri(target))

    def missing(theta: float) -> float:
        """Return the missing power in normal quantiles, for secants: power is nearly Phi(a + b theta)."""
        reached = power(form, region, theta) if theta > 0.0 else level
        if abs(reached - target) <= _POWER:
            return 0.0
        return float(special.ndtri(min(max(reached, 1e-300), 1.0 - 1e-16))) - aim

    while missing(theta) < 0.0:
        if theta >= most:
            return None
        low, theta = theta, min(theta * factor, most)
        factor *= 2.0
    high = theta
    if low == 0.0 or high <= 4.0 * low:
        return root(missing, low, high, tolerance=_ROOT * high)
    # With sizes of every magnitude, the relevant tilts are of every magnitude as well.
    log_tilt = root(lambda log: missing(math.exp(log)), math.log(low), math.log(high), tolerance=_ROOT)
    return math.exp(log_tilt)


def tilt_of_mean(form: CanonicalForm, excess: float) -> float | None:
    """Return the tilt with which T - W / 2 has the mean `excess` >= 0; None beyond the range of these sizes."""
    if excess <= 0.0:
        return 0.0
    if excess >= form.range / 2.0:
        return None
    high, most = excess / form.variance, 60.0 / float(form.weights[0])
    while mean(form, high) < excess:
        if high >= most:
            return high  # sums of doubles come no nearer to the end
        high *= 2.0
    return root(lambda theta: mean(form, theta) - excess, 0.0, high, tolerance=_ROOT * high)


def _tail(form: CanonicalForm, least: int, test: LevelTest) -> Region:
    intervals = [(least, form.range)]
    if test.two_sided:
        intervals.insert(0, (0, form.range - least))
    return clipped_region(form.range, intervals)


def _rejects(form: CanonicalForm, test: LevelTest, least: int) -> bool:
    """Return whether the p-value of T = `least`, or of all values from there on, is certainly at most alpha."""
    tails = [_tail(form, least, test)]
    if test.mid:
        tails.append(_tail(form, least + 1, test))
    law = null_law(form)
    p = math.fsum(law.probability(tail) for tail in tails) / len(tails)
    error = law.error(p)
    if abs(p - test.alpha) > error:
        return p < test.alpha
    # In units of the probability of one assignment of signs, halved for the mid-p-value.
    bits = form.nonzero + len(tails) - 1
    if form.nonzero <= _MOST_COUNTED and math.ldexp(error, bits) < _CERTAINLY:
        return Fraction(round(math.ldexp(p, bits)), 1 << bits) <= Fraction(test.alpha)
    if 2 * least == form.range + 1 and not test.two_sided and not test.mid:
        return test.alpha >= 0.5  # the upper half of a symmetric law
    if p > CERTIFIED_BELOW and fft_cost(form).seconds > LONGEST_CERTIFIED_S:
        return False
    low, high = _bounds(form, tails)
    if low <= test.alpha < high and form.nonzero * form.range <= _MOST_BITS:
        parts = [rational.probability(form, tail).fraction for tail in tails if tail.intervals]
        exact = sum((Fraction(part[0], 1 << part[1]) for part in parts if part is not None), Fraction(0))
        return exact / len(tails) <= Fraction(test.alpha)
    return high <= test.alpha


def _bounds(form: CanonicalForm, tails: list[Region]) -> tuple[float, float]:
    """Return certified bounds of the mean of the tails' probabilities."""
    parts = [fft.probability(form, tail) for tail in tails if tail.intervals]
    lows = math.fsum(part.p * (1.0 - _error(part)) for part in parts)
    highs = math.fsum(part.p * (1.0 + _error(part)) for part in parts)
    return lows / len(tails), highs / len(tails)


def _error(probability: Probability) -> float:
    return 0.0 if probability.fraction is not None else probability.relative_error_bound


def _probability(form: CanonicalForm, region: Region) -> float:
    """Return P(T in region) under the null, to a small relative error."""
    law: TiltedLaw = null_law(form)
    p = law.probability(region)
    return p if law.error(p) <= _SURELY * p else fft.probability(form, region).p


def _reached_from(form: CanonicalForm, least: int) -> int:
    """Return the least value of T from `least` on; sizes with a common divisor, and enormous ones, leave gaps.

    On a window, values with a mass below 1e-13, under the tilt with its mean there, count as gaps.
    """
    law = null_law(form)
    if law.is_listed:
        return law.next_sum(least)
    if least >= form.range:
        return form.range
    # Tilted to that place, so that its values have some mass.
    law = tilted_law(form, tilt_of_mean(form, max(least - form.range / 2.0, 0.0)) or 0.0)

    def is_reached(value: int) -> bool:
        return law.probability(Region(((least, value),))) > _NOTHING

    low, high, step = least - 1, least, 1
    while high < form.range and not is_reached(high):
        low, high, step = high, min(high + step, form.range), 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_reached(middle) else (middle, high)
    return high


def _normal_quantile(form: CanonicalForm, test: LevelTest) -> int:
    level = test.alpha / 2.0 if test.two_sided else test.alpha
    reach = -float(special.ndtri(max(level, _LEAST_LEVEL))) * math.sqrt(form.variance)
    return math.ceil(form.range / 2.0 + reach)


# The predicted cost of power and of critical values, counted in laws.


# Number of laws in a search for a tilt.
SEARCH = 12
# Nanoseconds of a tail for a critical value, besides its states.
_PER_LOOK = 20_000
# Numbers of certified tails: for a level that p may equal, a small level, and one below double precision.
_NEAR, _BITS = 2, 40
_SMALL, _SMALL_LEVEL, _LEAST, _LEAST_CERTIFIED = 4, CERTIFIED_BELOW, 150, 1e-10
# Number of means in a search for a tilt, and their nanoseconds.
_MEANS, _PER_MEAN, _PER_SIZE = 80, 20_000, 30


def laws_cost(form: CanonicalForm, test: LevelTest, laws: int, *, meets: bool = True) -> Cost:
    """Predict the cost of a critical value and `laws` other laws; the level decides how many tails are certified.

    `meets` means that a p-value may be expected to equal a level of few bits.
    """
    if not is_attainable(form, test):
        return Cost("fft", _PER_LOOK, 0)
    parts = parts_of(form)
    looked = LOOKS * (_PER_LOOK + 2 * parts.look_operations)
    operations = (laws + 2) * parts.operations + parts.list_operations + looked
    if parts.window:
        operations += math.ceil(1e9 * _certified(form, test.alpha, meets=meets))
    operations += _MEANS * (_PER_MEAN + _PER_SIZE * len(form.weights))
    return Cost("fft", operations, parts.bytes)


def _certified(form: CanonicalForm, alpha: float, *, meets: bool) -> float:
    """Predict the seconds of certified tails: an upper bound unless alpha is constructed to be a p-value."""
    each = fft_cost(form).seconds
    if alpha < _SMALL_LEVEL:
        return each * (_LEAST if alpha < _LEAST_CERTIFIED else _SMALL)
    exact = meets and alpha.as_integer_ratio()[1] <= 1 << _BITS
    return _NEAR * each if exact and each <= LONGEST_CERTIFIED_S else 0.0
