"""Power of the permutation test of one sum, given the sizes of its effects.

The test is conditional on the sizes |d|, so its power is a tail of the same sum with other coins: with the tilt theta unit n
turns up with probability expit(theta w_n), so that large effects point more surely to the better system. That is the
exponential family through the null (theta = 0), in which the one-sided test is uniformly most powerful (Lehmann & Romano 2005,
section 3.4). The tail comes from the tilted law itself (`tilted_law`), without going back to the null.

The rejection region is that of the exact p-value: T >= k with k the least value whose p-value is at most alpha, and for
two-sided tests also T <= W - k. With the mid-p-value it is that of the mean of P(T >= k) and P(T >= k + 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from scipy import special

from ..lattice import CanonicalForm
from ..one_sum import fft, rational
from ..one_sum.planner import fft_cost
from ..one_sum.tilt import tilt_at
from ..probability import Alternative, Probability, Region, clipped_region
from ..root import root
from .tilted_law import TiltedLaw, null_law, tilted_law

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
    """Where a test rejects: T >= least, or T <= most where it is tested, with its exact level.

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
        """Whether both tails count."""
        return self.alternative == "two-sided"


def rejection(form: CanonicalForm, test: LevelTest) -> Rejection | None:
    """The largest region whose p-value is at most alpha; None where no outcome on these items is significant.

    Compared exactly where that is cheap, else by an upper bound, so that a region is never too large.
    """
    top = form.range
    if not is_attainable(form, test):
        return None
    # About the middle the p-value is 1 of two tails, and 1/2 and more of one.
    low = top // 2 - 1 if test.two_sided or test.alpha < 0.5 else -1
    high, guess, step = top, _normal_quantile(form, test), 1
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
    least = _reached_from(form, high)
    region = _tail(form, least, test)
    return Rejection(region, least, _probability(form, region))


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
    # By then every coin falls its likelier side.
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
    # Sizes of every magnitude: tilts that matter are of every magnitude, too.
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
