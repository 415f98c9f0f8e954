"""Power of the permutation test of one sum, given the sizes of its effects.

The test is conditional on the sizes |d|, so its power is a tail of the same sum with other coins: with the tilt theta unit n
turns up with probability expit(theta w_n), so that large effects point more surely to the better system. That is the
exponential family through the null (theta = 0), in which the one-sided test is uniformly most powerful (Lehmann & Romano 2005,
section 3.4). The tail comes from the characteristic function on a window, as in `one_sum.fft`, without going back to the null.

The rejection region is that of the exact p-value: T >= k with k the least value whose p-value is at most alpha, and for
two-sided tests also T <= W - k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from ..lattice import CanonicalForm
from ..one_sum import fft, rational
from ..one_sum.spectrum import spectrum
from ..one_sum.tilt import tilt_at
from ..probability import Alternative, Probability, Region, clipped_region

# Tilted mass that a window leaves out; powers are right to about 1e-12.
_OUTSIDE = 1e-16
# Tails of so few bits are compared with alpha in integers, where doubles cannot tell.
_MOST_BITS = 50_000_000
_ROOT = 1e-13


@dataclass(frozen=True, slots=True)
class Rejection:
    """Where a test rejects: T >= least, or T <= most where it is tested, with its exact level.

    `region` has both ends of a two-sided test.
    """

    region: Region
    least: int
    level: float


def rejection(form: CanonicalForm, alpha: float, alternative: Alternative) -> Rejection | None:
    """The largest region whose p-value is at most `alpha`; None where no outcome on these items is significant.

    For the alternative less it is the mirror image of that for greater: T is symmetric. Compared exactly where that is
    cheap, else by the certified upper bound, so that a region is never too large.
    """
    two_sided = alternative == "two-sided"

    def rejects(least: int) -> bool:
        return _at_most(form, _tail(form, least, two_sided=two_sided), alpha)

    low, high = form.range // 2, form.range + 1
    if form.range == 0 or not rejects(form.range):
        return None
    guess = _normal_quantile(form, alpha / 2.0 if two_sided else alpha)
    step = 1
    while low < guess < high and high - low > 1:
        # Outwards from the guess until both ends are known.
        if rejects(guess):
            high, guess = guess, guess - step
        else:
            low, guess = guess, guess + step
        step *= 4
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if rejects(middle) else (middle, high)
    region = _tail(form, high, two_sided=two_sided)
    return Rejection(region, high, fft.probability(form, region).p)


def power(form: CanonicalForm, region: Region, theta: float) -> float:
    """P(T in region) with the tilt `theta` >= 0, shape-free; right to about 1e-12."""
    law = tilt_at(form, theta)
    low, high = fft.window(form, law, _OUTSIDE)
    length = high - low + 1
    phi = spectrum(form, law, length + 1 - length % 2)
    parts = []
    for first, last in region.intervals:
        start, end = max(first, low), min(last, high)
        if start <= end:
            total, _ = fft.contract(phi, form.range, start, end - start + 1, 0.0)
            parts.append(total)
    return min(max(math.fsum(parts), 0.0), 1.0)


def mean(form: CanonicalForm, theta: float) -> float:
    """The mean of T - W / 2 with the tilt."""
    return tilt_at(form, theta).mean


def tilt_of_power(form: CanonicalForm, region: Region, wanted: float) -> float | None:
    """The least tilt with which the power is `wanted`; None where the region is never reached so often.

    Power grows with theta for one-sided regions, and for two-sided ones of a symmetric law.
    """
    if power(form, region, 0.0) >= wanted:
        return 0.0
    # By then every coin falls its likelier side.
    most = 60.0 / float(form.weights[0])
    high = min(1.0 / math.sqrt(form.variance), most)
    while power(form, region, high) < wanted:
        if high >= most:
            return None
        high = min(2.0 * high, most)
    root = optimize.brentq(lambda theta: power(form, region, theta) - wanted, 0.0, high, xtol=_ROOT * high)
    return float(root)


def tilt_of_mean(form: CanonicalForm, excess: float) -> float | None:
    """The tilt with which T - W / 2 has the mean `excess` >= 0; None where that is beyond what these sizes can have."""
    if excess <= 0.0:
        return 0.0
    if excess >= form.range / 2.0:
        return None
    high = excess / form.variance
    while mean(form, high) < excess:
        high *= 2.0
    return float(optimize.brentq(lambda theta: mean(form, theta) - excess, 0.0, high, xtol=_ROOT * high))


def resized(form: CanonicalForm, items: int) -> CanonicalForm:
    """The form of `items` items with the same mixture of sizes, by largest remainders; ties go to smaller sizes."""
    zeros = form.items - form.nonzero
    shares = np.concatenate([form.counts, [zeros]]).astype(np.float64) * (items / form.items)
    counts = np.floor(shares).astype(np.int64)
    order = np.argsort(-(shares - counts), kind="stable")
    counts[order[: items - int(counts.sum())]] += 1
    kept = np.flatnonzero(counts[:-1])
    weights, counts = form.weights[kept], counts[:-1][kept]
    range_ = int(np.dot(weights, counts))
    return CanonicalForm(-form.step * range_ // 2, form.step, weights, counts, items)


def _tail(form: CanonicalForm, least: int, *, two_sided: bool) -> Region:
    intervals = [(least, form.range)]
    if two_sided:
        intervals.insert(0, (0, form.range - least))
    return clipped_region(form.range, intervals)


def _at_most(form: CanonicalForm, region: Region, alpha: float) -> bool:
    """Whether P(T in region) <= alpha is certain."""
    if not region.intervals:
        return True
    found: Probability = fft.probability(form, region)
    if found.fraction is None:
        margin = found.relative_error_bound * found.p
        if abs(found.p - alpha) > margin or form.nonzero * form.range > _MOST_BITS:
            return found.p + margin <= alpha
        found = rational.probability(form, region)
    assert found.fraction is not None
    top, below = alpha.as_integer_ratio()
    return found.fraction[0] * below <= top << found.fraction[1]


def _normal_quantile(form: CanonicalForm, level: float) -> int:
    reach = -float(special.ndtri(level)) * math.sqrt(form.variance)
    return math.ceil(form.range / 2.0 + reach)
