"""`fft` for finite laws: tail probabilities by one tilted characteristic function on a window.

The steps and their sources are those of `one_sum.fft`, with the factors of `spectrum`. T need not be symmetric: a lower
tail is the upper tail of the reflected laws.
"""

from __future__ import annotations

import math
from fractions import Fraction

import flint

from ..one_sum.fft import contract, summed
from ..probability import CERTAIN, IMPOSSIBLE, UNIT_ROUNDOFF, Probability, Region, complement
from ..tilting import bernstein_reach
from .form import FiniteLaws
from .spectrum import centre, spectrum
from .tilt import Tilt, exponent, tilt_at, tilt_towards

# Mass outside the window relative to the answer: below roundoff, so that only rounding matters.
_OUTSIDE = 2.0**-58
_ATTEMPTS = 4


def probability(form: FiniteLaws, region: Region) -> Probability:
    """Return P(T in region)."""
    return with_ties(form, region, ())[0]


def with_ties(form: FiniteLaws, region: Region, ties: tuple[int, ...]) -> tuple[Probability, Probability]:
    """Return P(T in region) and P(T in ties), `ties` being values in the region."""
    if form.range == 0:
        return (CERTAIN if region.intervals else IMPOSSIBLE), (CERTAIN if ties else IMPOSSIBLE)
    parts = [interval_probability(form, *interval) for interval in region.intervals]
    tied = [interval_probability(form, value, value) for value in ties]
    return summed(parts), summed(tied)


def interval_probability(form: FiniteLaws, low: int, high: int) -> Probability:
    """Return P(low <= T <= high); a mass below the window's error is that error, with a relative bound >= 1."""
    low, high = max(low, 0), min(high, form.range)
    if low == 0 and high == form.range:
        return CERTAIN
    if high < form.mean or (low == 0 and high < form.range):
        if low == 0 and high >= form.mean:
            return complement(interval_probability(form, high + 1, form.range))
        return interval_probability(form.reflected, form.range - high, form.range - low)
    if low == form.range:
        return top_probability(form)
    if low <= form.mean and high == form.range:
        return complement(interval_probability(form.reflected, form.range - low + 1, form.range))
    law = tilt_at(form, 0.0) if low <= form.mean else tilt_towards(form, low)
    weight, weight_error = exponent(form, law.theta, low)
    outside = _OUTSIDE / (1.0 + law.sd)
    for _ in range(_ATTEMPTS):
        total, error = _windowed_sum(form, law, low, high, outside)
        if total > 0.0 and outside <= _OUTSIDE * total:
            break
        outside = _OUTSIDE * max(total, outside) * 2.0**-12
    total = max(total, error)
    log_p = weight + math.log(total)
    return Probability(log_p, error / total + 1.01 * weight_error + UNIT_ROUNDOFF * (4.0 + 2.0 * abs(log_p)))


def top_probability(form: FiniteLaws) -> Probability:
    """Return P(T = range), with every law at its largest value."""
    with flint.ctx.workprec(160):
        total = flint.arb(0)
        for law, count in zip(form.laws, form.counts.tolist(), strict=True):
            total += count * (flint.arb(law.ways[-1]) / law.total).log()
        value = float(total.mid())
        return Probability(value, float(total.rad()) + 2.0 * UNIT_ROUNDOFF * (1.0 + abs(value)))


def _windowed_sum(form: FiniteLaws, law: Tilt, first: int, last: int, outside: float) -> tuple[float, float]:
    """Sum exp(-theta (x - first)) P_theta(T = x) over first <= x <= last; return it and its absolute error."""
    reach = math.ceil(bernstein_reach(math.log(2.0 / outside), float(form.tops.max()), law.variance)) + 1
    mean = math.floor(form.mean + Fraction(law.mean))
    low, high = max(0, mean - reach), min(form.range, mean + reach + 2)
    start = max(first, low) if law.theta == 0.0 else first
    terms = min(last, high) - start + 1
    if terms <= 0:
        return 0.0, outside
    length = max(high, start + terms - 1) - min(low, start) + 1
    phi = spectrum(form, law, length + 1 - length % 2)
    total, error = contract(phi, 2 * centre(form, law), start, terms, law.theta)
    return total, error + outside
