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
from scipy import special

from ..lattice import CanonicalForm, Integers, once_per_form
from ..one_sum import fft, rational
from ..one_sum.spectrum import Spectrum, spectrum
from ..one_sum.tilt import tilt_at
from ..probability import Alternative, Probability, Region, clipped_region
from ..root import root

# Tilted mass that a window leaves out; powers are right to about 1e-12.
_OUTSIDE = 1e-16
# Tails of so few bits are compared with alpha in integers, where doubles cannot tell.
_MOST_BITS = 50_000_000
_ROOT = 1e-13
# How near to the wanted power a tilt comes.
_POWER = 1e-12
_MOST_STEPS = 200
# Up to so many sizes largest remainders keep the mixture.
_FEW_SIZES = 64
# Errors of the null on one window that decide about alpha, relative to it.
_ABSOLUTE = 1e-6


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
    if form.range == 0 or not _at_most(form, _tail(form, form.range, two_sided=two_sided), alpha):
        return None
    window = _null_window(form)

    def rejects(least: int) -> bool:
        tail = _tail(form, least, two_sided=two_sided)
        p, error = _on(window, form, tail)
        if error <= _ABSOLUTE * alpha and abs(p - alpha) > error:
            return p < alpha
        return _at_most(form, tail, alpha)

    low, high = form.range // 2, form.range
    guess, step = _normal_quantile(form, alpha / 2.0 if two_sided else alpha), 1
    while low < guess < high:
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
    return min(max(_on(_window(form, theta), form, region)[0], 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class _Window:
    """The characteristic function of a tilted law on the values `first` to `last`, which hold nearly all of its mass."""

    phi: Spectrum
    first: int
    last: int


def _window(form: CanonicalForm, theta: float) -> _Window:
    law = tilt_at(form, theta)
    first, last = fft.window(form, law, _OUTSIDE)
    length = last - first + 1
    return _Window(spectrum(form, law, length + 1 - length % 2), first, last)


@once_per_form
def _null_window(form: CanonicalForm) -> _Window:
    return _window(form, 0.0)


def _on(window: _Window, form: CanonicalForm, region: Region) -> tuple[float, float]:
    """(probability of the region, bound on its absolute error)."""
    parts, errors = [0.0], _OUTSIDE
    for first, last in region.intervals:
        start, end = max(first, window.first), min(last, window.last)
        if start <= end:
            total, error = fft.contract(window.phi, form.range, start, end - start + 1, 0.0)
            parts.append(total)
            errors += error
    return math.fsum(parts), errors


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
    low, high, theta = 0.0, math.inf, min(1.0 / math.sqrt(form.variance), most)
    aim = float(special.ndtri(wanted))
    before: tuple[float, float] | None = None
    for _ in range(_MOST_STEPS):
        found = power(form, region, theta)
        if abs(found - wanted) <= _POWER:
            return theta
        if found < wanted:
            if theta >= most:
                return None
            low = theta
        else:
            high = theta
        # Power is nearly Phi(a + b theta): the secant in normal quantiles, kept inside what is known.
        here = (theta, float(special.ndtri(min(max(found, 1e-300), 1.0 - 1e-16))))
        step = math.inf
        if before is not None and here[1] != before[1]:
            step = theta + (aim - here[1]) * (theta - before[0]) / (here[1] - before[1])
        if not low < step < high:
            step = 0.5 * (low + high) if math.isfinite(high) else 2.0 * theta
        before, theta = here, min(step, most)
        if math.isfinite(high) and high - low <= _ROOT * high:
            break
    return theta


def tilt_of_mean(form: CanonicalForm, excess: float) -> float | None:
    """The tilt with which T - W / 2 has the mean `excess` >= 0; None where that is beyond what these sizes can have."""
    if excess <= 0.0:
        return 0.0
    if excess >= form.range / 2.0:
        return None
    high = excess / form.variance
    while mean(form, high) < excess:
        high *= 2.0
    return root(lambda theta: mean(form, theta) - excess, 0.0, high, tolerance=_ROOT * high)


def resized(form: CanonicalForm, items: int) -> CanonicalForm:
    """The form of `items` items with the same mixture of sizes.

    Few sizes by largest remainders, ties to the smaller; of many, where most counts become 0 or 1, what is left over goes to
    sizes at even distances, so that small and large ones stay in proportion.
    """
    zeros = form.items - form.nonzero
    shares = np.concatenate([[zeros], form.counts]).astype(np.float64) * (items / form.items)
    counts = np.floor(shares).astype(np.int64)
    left = items - int(counts.sum())
    if len(shares) <= _FEW_SIZES:
        counts[np.argsort(-(shares - counts), kind="stable")[:left]] += 1
    else:
        reached = np.cumsum(shares - counts)
        reached *= left / max(float(reached[-1]), 1e-300)
        given = np.floor(reached + 0.5).astype(np.int64)
        counts[0] += given[0]
        counts[1:] += given[1:] - given[:-1]
    kept = np.flatnonzero(counts[1:])
    return centred(form.weights[kept], counts[1:][kept], form.step, items)


def centred(weights: Integers, counts: Integers, step: int, items: int) -> CanonicalForm:
    """The form of sums of signed sizes, `step` w_j / 2 each, shape (U,)."""
    return CanonicalForm(-step * int(np.dot(weights, counts)) // 2, step, weights, counts, items)


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
