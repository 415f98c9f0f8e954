"""Power of the permutation test of one sum, given the sizes of its effects.

The test is conditional on the sizes |d|, so its power is a tail of the same sum with other coins: with the tilt theta unit n
turns up with probability expit(theta w_n), so that large effects point more surely to the better system. That is the
exponential family through the null (theta = 0), in which the one-sided test is uniformly most powerful (Lehmann & Romano 2005,
section 3.4). The tail comes from the tilted law itself, without going back to the null.

The rejection region is that of the exact p-value: T >= k with k the least value whose p-value is at most alpha, and for
two-sided tests also T <= W - k. With the mid-p-value it is that of the mean of P(T >= k) and P(T >= k + 1).
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

# The law of a sum under a tilt: what is listed, and what is on a window (see `parts`).


# Tilted mass that a window leaves out; powers are right to about 1e-12.
_OUTSIDE = 1e-16
# Rounding of a cumulative law of a window; of a state's share, in roundoffs.
_CUMULATED, _OF_STATES = 1e-12, 64.0
# States of less than the least double are lost.
_UNDERFLOW = 1e-290
# With fewer frequencies than a point in so many has, single tails are summed over them.
_FEW = 64


class _Light(Protocol):
    """The law of the part that is not listed."""

    def above(self, values: Integers) -> Reals:
        """P(R >= value), shape (M,)."""
        ...

    def below(self, values: Integers) -> Reals:
        """P(R <= value)."""
        ...


@dataclass(frozen=True, slots=True)
class _Nothing:
    """All sizes are listed: R = 0."""

    def above(self, values: Integers) -> Reals:
        return (values <= 0).astype(np.float64)

    def below(self, values: Integers) -> Reals:
        return (values >= 0).astype(np.float64)


@dataclass(frozen=True)
class _Window:
    """The characteristic function of a law on the values `first` to `last`, which hold nearly all of its mass."""

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
        """P(R >= first + i) and P(R < first + i), i from 0 to the number of values."""
        length, count = self.phi.length, self.last - self.first + 1
        turns = (self.phi.frequencies * ((2 * self.first - self.range_) % (2 * length))) % (2 * length)
        values = np.zeros(length // 2 + 1, dtype=np.complex128)
        angle = self.phi.phase - (math.pi / length) * turns
        # The transform's sign is the other one: conjugates.
        values[self.phi.frequencies] = np.exp(self.phi.log_modulus - 1j * angle)
        # Noise about 0 stays as it is: cut at 0 it would add up.
        masses = transforms.irfft(values, n=length)[:count]
        above, below = np.zeros(count + 1), np.zeros(count + 1)
        above[:-1] = np.cumsum(masses[::-1])[::-1]
        below[1:] = np.cumsum(masses)
        return above, below


@dataclass(frozen=True)
class TiltedLaw:
    """T = H + R: the values of H with their chances, shape (H,), and the law of R."""

    sums: Integers
    chances: Reals
    light: _Light
    range_: int
    # Bounds on the error of a probability: relative to it, and besides.
    relative: float
    absolute: float

    def error(self, found: float) -> float:
        """A bound on the error of a probability that was found."""
        return self.relative * found + self.absolute

    @property
    def is_listed(self) -> bool:
        """Whether every value of T is in the list."""
        return isinstance(self.light, _Nothing)

    def next_sum(self, least: int) -> int:
        """The least value of T from `least` on, all being listed."""
        return int(self.sums[np.searchsorted(self.sums, least)])

    def probability(self, region: Region) -> float:
        """P(T in region)."""
        return min(max(math.fsum(self._interval(*interval) for interval in region.intervals), 0.0), 1.0)

    def _interval(self, low: int, high: int) -> float:
        if low <= 0 and high >= self.range_:
            return 1.0
        if high >= self.range_:
            return self.above(low)
        if low <= 0:
            return self.below(high)
        # The smaller tails, so that little is lost.
        if 2 * low >= self.range_:
            return self.above(low) - self.above(high + 1)
        return self.below(high) - self.below(low - 1)

    def above(self, value: int) -> float:
        """P(T >= value)."""
        if self.is_listed:
            return float(self._from_above[np.searchsorted(self.sums, value)])
        return float(np.dot(self.chances, self.light.above(value - self.sums)))

    def below(self, value: int) -> float:
        """P(T <= value)."""
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
    """The law of T with the tilt `theta` >= 0."""
    states, light = states_of(form), form.without(parts_of(form).heavy)
    # From the likeliest state on, whose differences to others are exact: sums may be long.
    logs = states.log_ways + theta * states.sums.astype(np.float64)
    peak = int(np.argmax(logs))
    logs = (states.log_ways - states.log_ways[peak]) + theta * (states.sums - states.sums[peak])
    chances = np.exp(logs - logs.max())
    heavy = len(form.weights) - len(light.weights)
    listed = form.nonzero - light.nonzero
    error = UNIT_ROUNDOFF * (_OF_STATES + 2.0 * listed * (heavy + 1))
    if len(light.weights) == 0:
        return TiltedLaw(states.sums, chances / chances.sum(), _Nothing(), form.range, error, _UNDERFLOW)
    law = tilt_at(light, theta)
    first, last = fft.window(light, law, _OUTSIDE)
    phi = spectrum(light, law, _odd_and_smooth(last - first + 1))
    window = _Window(phi, first, last, light.range)
    return TiltedLaw(states.sums, chances / chances.sum(), window, form.range, error, _CUMULATED)


@once_per_form
def null_law(form: CanonicalForm) -> TiltedLaw:
    """That of no tilt, kept."""
    return tilted_law(form, 0.0)


def _odd_and_smooth(least: int) -> int:
    """An odd length that is transformed quickly, at least `least`: a product of 3, 5, 7 and 11."""
    found: int = 3 ** math.ceil(math.log(max(least, 3), 3) + 1e-9)
    elevens = 1
    while elevens < found:
        sevens = elevens
        while sevens < found:
            fives = sevens
            while fives < found:
                length = fives
                while length < least:
                    length *= 3
                found = min(found, length)
                fives *= 5
            sevens *= 7
        elevens *= 11
    return found


# Power of the permutation test of one sum, given the sizes of its effects


# Tails of so few bits are compared with alpha in integers, where doubles cannot tell.
_MOST_BITS = 5_000_000
# Of so few items a tail's numerator is the integer next to what doubles say.
_MOST_COUNTED, _CERTAINLY = 48, 0.25
_ROOT = 1e-13
# How near to the wanted power a tilt comes.
_POWER = 1e-12
# Levels that are not so right, relatively, are those of a tilted window.
_SURELY = 1e-6
# Where doubles do not tell larger p-values from alpha, and certified ones take longer, they pass for more than alpha.
CERTIFIED_BELOW, LONGEST_CERTIFIED_S = 1e-6, 0.1
# Levels below this have no normal quantile.
_LEAST_LEVEL = 1e-300
# What is less than this is not told from nothing on a window.
_NOTHING = 1e-13


@dataclass(frozen=True, slots=True)
class Rejection:
    """The rejection region of a test: T >= least, or T <= most where it is tested, with its exact level.

    `least` is a value that T has. `region` has both ends of a two-sided test.
    """

    region: Region
    least: int
    level: float


@dataclass(frozen=True, slots=True)
class LevelTest:
    """A test at a level, and its side: `mid` decides by the mid-p-value. For the alternative less it is the mirror image of that for greater."""

    alpha: float
    alternative: Alternative
    mid: bool = False

    @property
    def two_sided(self) -> bool:
        """Return whether both tails count."""
        return self.alternative == "two-sided"


def rejection(form: CanonicalForm, test: LevelTest) -> Rejection | None:
    """The largest region whose p-value is at most alpha; None where no outcome on these items is significant.

    Compared exactly where that is cheap, else by an upper bound, so that a region is never too large.
    """
    if not is_attainable(form, test):
        return None
    least = _reached_from(form, _critical(form, test))
    region = _tail(form, least, test)
    return Rejection(region, least, _probability(form, region))


def attained_level(form: CanonicalForm, test: LevelTest) -> float:
    """The largest p-value of any outcome that is at most alpha, 0 where there is none: the level of `rejection`."""
    if test.alpha >= 1.0:
        return 1.0
    return _probability(form, _tail(form, _critical(form, test), test)) if is_attainable(form, test) else 0.0


def _critical(form: CanonicalForm, test: LevelTest) -> int:
    """The least number whose tail's p-value is at most alpha; T may not have it as a value."""
    # About the middle the p-value is 1 of two tails, and 1/2 and more of one.
    low = form.range // 2 - 1 if test.two_sided or test.alpha < 0.5 else -1
    high, guess, step = form.range, _normal_quantile(form, test), 1
    while low < guess < high:
        # Outwards from the guess until both ends are known.
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
    """Whether the p-value of the most extreme outcome, one assignment of signs of all in each tail, is at most alpha."""
    if form.range == 0:
        return False
    # Two tails of one assignment each; half of them with the mid-p-value.
    bits = form.nonzero - test.two_sided + test.mid
    return Fraction(1, 1 << bits) <= Fraction(test.alpha)


def power(form: CanonicalForm, region: Region, theta: float) -> float:
    """P(T in region) with the tilt `theta` >= 0; right to about 1e-12."""
    return tilted_law(form, theta).probability(region)


def mean(form: CanonicalForm, theta: float) -> float:
    """The mean of T - W / 2 with the tilt."""
    return tilt_at(form, theta).mean


def tilt_of_power(form: CanonicalForm, region: Region, wanted: float) -> float | None:
    """The least tilt with which the power is `wanted`; None where the region is never reached so often.

    Power grows with theta for one-sided regions, and for two-sided ones of a symmetric law.
    """
    level = null_law(form).probability(region)
    if level >= wanted:
        return 0.0
    # By then every coin falls on its likelier side.
    most = 60.0 / float(form.weights[0])
    low, theta = 0.0, min(1.0 / math.sqrt(form.variance), most)
    factor = 2.0
    aim = float(special.ndtri(wanted))

    def missing(theta: float) -> float:
        """Power is nearly Phi(a + b theta): what is missing in normal quantiles, for secants."""
        found = power(form, region, theta) if theta > 0.0 else level
        if abs(found - wanted) <= _POWER:
            return 0.0
        return float(special.ndtri(min(max(found, 1e-300), 1.0 - 1e-16))) - aim

    while missing(theta) < 0.0:
        if theta >= most:
            return None
        low, theta = theta, min(theta * factor, most)
        factor *= 2.0
    high = theta
    if low == 0.0 or high <= 4.0 * low:
        return root(missing, low, high, tolerance=_ROOT * high)
    # Sizes of every magnitude: tilts that matter are of every magnitude as well.
    found = root(lambda log: missing(math.exp(log)), math.log(low), math.log(high), tolerance=_ROOT)
    return math.exp(found)


def tilt_of_mean(form: CanonicalForm, excess: float) -> float | None:
    """The tilt with which T - W / 2 has the mean `excess` >= 0; None where that is beyond what these sizes can have."""
    if excess <= 0.0:
        return 0.0
    if excess >= form.range / 2.0:
        return None
    high, most = excess / form.variance, 60.0 / float(form.weights[0])
    while mean(form, high) < excess:
        if high >= most:
            return high  # sums of doubles are no nearer to the end
        high *= 2.0
    return root(lambda theta: mean(form, theta) - excess, 0.0, high, tolerance=_ROOT * high)


def _tail(form: CanonicalForm, least: int, test: LevelTest) -> Region:
    intervals = [(least, form.range)]
    if test.two_sided:
        intervals.insert(0, (0, form.range - least))
    return clipped_region(form.range, intervals)


def _rejects(form: CanonicalForm, test: LevelTest, least: int) -> bool:
    """Whether the p-value of T = `least`, or of all values from there on, is certainly at most alpha."""
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
    """Certified bounds of the mean of the probabilities of the tails."""
    found = [fft.probability(form, tail) for tail in tails if tail.intervals]
    lows = math.fsum(one.p * (1.0 - _error(one)) for one in found)
    highs = math.fsum(one.p * (1.0 + _error(one)) for one in found)
    return lows / len(tails), highs / len(tails)


def _error(found: Probability) -> float:
    return 0.0 if found.fraction is not None else found.relative_error_bound


def _probability(form: CanonicalForm, region: Region) -> float:
    """P(T in region) of the null, relatively right."""
    law: TiltedLaw = null_law(form)
    found = law.probability(region)
    return found if law.error(found) <= _SURELY * found else fft.probability(form, region).p


def _reached_from(form: CanonicalForm, least: int) -> int:
    """The least value from `least` on that T has: between sizes with a common divisor, and beside enormous ones, there are gaps.

    On a window values of less than 1e-13, under the tilt that has its mean there, pass for none.
    """
    law = null_law(form)
    if law.is_listed:
        return law.next_sum(least)
    if least >= form.range:
        return form.range
    # Tilted there, so that what there is has some mass.
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


# The predicted cost of questions about power, counted in laws of some nanoseconds each.


# Laws of a search for a tilt.
SEARCH = 12
# A tail that a critical value is found from, besides its states.
_PER_LOOK = 20_000
# Certified tails: of a level that p may meet exactly, so that doubles do not tell; of a small one, and of one of which they tell nothing.
_NEAR, _BITS = 2, 40
_SMALL, _SMALL_LEVEL, _LEAST, _LEAST_CERTIFIED = 4, CERTIFIED_BELOW, 150, 1e-10
# Means on the way to a tilt.
_MEANS, _PER_MEAN, _PER_SIZE = 80, 20_000, 30


def laws_cost(form: CanonicalForm, test: LevelTest, laws: int, *, meets: bool = True) -> Cost:
    """The cost of a critical value, and of `laws` other laws; the level decides how many tails have to be certified.

    `meets`: whether it is to be expected that a p-value meets a level of few bits.
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
    """Seconds of tails that are certified: at most, but for an alpha that is made to be a p-value."""
    each = fft_cost(form).seconds
    if alpha < _SMALL_LEVEL:
        return each * (_LEAST if alpha < _LEAST_CERTIFIED else _SMALL)
    exact = meets and alpha.as_integer_ratio()[1] <= 1 << _BITS
    return _NEAR * each if exact and each <= LONGEST_CERTIFIED_S else 0.0
