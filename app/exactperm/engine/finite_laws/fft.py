"""`fft` for finite laws: tail probabilities by one tilted characteristic function on a window.

The steps and their sources are those of `one_sum.fft`, with the factors of `spectrum`. T need not be symmetric: a lower
tail is the upper tail of the reflected laws.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import flint

from ..one_sum.fft import Window, contract, sum_in_window, summed, weighted
from ..probability import CERTAIN, IMPOSSIBLE, UNIT_ROUNDOFF, Probability, Region, complement
from ..tilting import bernstein_reach
from .form import FiniteLaws
from .spectrum import centre, spectrum
from .tilt import Tilt, exponent, tilt_at, tilt_towards

# The mass of a tie is read from another window only up to this relative error.
_TIE_ERROR = 1e-13
# Windows already solved, with their laws, which may be reflected.
_Solved = list[tuple[FiniteLaws, Tilt, Window]]


def probability(form: FiniteLaws, region: Region) -> Probability:
    """Return P(T in region)."""
    return with_ties(form, region, ())[0]


def with_ties(form: FiniteLaws, region: Region, ties: tuple[int, ...]) -> tuple[Probability, Probability]:
    """Return P(T in region) and P(T in ties), `ties` being values in the region; ties rarely cost another transform."""
    if form.range == 0:
        return (CERTAIN if region.intervals else IMPOSSIBLE), (CERTAIN if ties else IMPOSSIBLE)
    solved: _Solved = []
    parts = [interval_probability(form, *interval, solved) for interval in region.intervals]
    tied = [_point_probability(form, value, solved) for value in ties]
    return summed(parts), summed(tied)


def _point_probability(form: FiniteLaws, value: int, solved: _Solved) -> Probability:
    """Return P(T = value), on a window already solved that has the value if there is one."""
    for laws, law, window in solved:
        at = value if laws is form else form.range - value
        if window.first <= at < window.first + window.phi.length and at not in (0, form.range):
            total, error = contract(window.phi, 2 * centre(laws, law), at, 1, law.theta)
            found = weighted(total, error + window.outside, *exponent(laws, law.theta, at))
            if found.relative_error_bound <= _TIE_ERROR:
                return found
    return interval_probability(form, value, value, solved)


def interval_probability(form: FiniteLaws, low: int, high: int, solved: _Solved) -> Probability:
    """Return P(low <= T <= high); a mass below the window's error is that error, with a relative bound >= 1."""
    low, high = max(low, 0), min(high, form.range)
    if low == 0 and high == form.range:
        return CERTAIN
    if high < form.mean or (low == 0 and high < form.range):
        if low == 0 and high >= form.mean:
            return complement(interval_probability(form, high + 1, form.range, solved))
        return interval_probability(form.reflected, form.range - high, form.range - low, solved)
    if low == form.range:
        return top_probability(form)
    if low <= form.mean and high == form.range:
        return complement(interval_probability(form.reflected, form.range - low + 1, form.range, solved))
    law = tilt_at(form, 0.0) if low <= form.mean else tilt_towards(form, low)
    middle = math.floor(form.mean + Fraction(law.mean))

    def span(outside: float) -> tuple[int, int]:
        reach = math.ceil(bernstein_reach(math.log(2.0 / outside), float(form.tops.max()), law.variance)) + 1
        return max(0, middle - reach), min(form.range, middle + reach + 2)

    total, error, window = sum_in_window(
        law, span, 2 * centre(form, law), partial(spectrum, form, law), low, high
    )
    if window is not None:
        solved.append((form, law, window))
    return weighted(total, error, *exponent(form, law.theta, low))


def top_probability(form: FiniteLaws) -> Probability:
    """Return P(T = range), with every law at its largest value."""
    with flint.ctx.workprec(160):
        total = flint.arb(0)
        for law, count in zip(form.laws, form.counts.tolist(), strict=True):
            total += count * (flint.arb(law.ways[-1]) / law.total).log()
        value = float(total.mid())
        return Probability(value, float(total.rad()) + 2.0 * UNIT_ROUNDOFF * (1.0 + abs(value)))
