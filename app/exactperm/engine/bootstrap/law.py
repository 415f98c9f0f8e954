"""`bootstrap`: the paired bootstrap's distribution of a sum with no resampling error.

S* is a sum of N independent draws, its characteristic function the N-th power of that of one draw: the
transform on a tilted window that gives the permutation test (`fft`) gives the bootstrap too, with
relative accuracy and a certificate. The p-value is that of the shifted null distribution, S* - S in the place of S;
unlike a permutation p-value it can be zero, when no resample is as far out as the observed sum.
"""

from __future__ import annotations

import math

import numpy as np

from ..one_sum.fft import contract
from ..one_sum.spectrum import Spectrum
from ..probability import CERTAIN, UNIT_ROUNDOFF, Probability, Region, add, complement
from ..tilting import bernstein_reach
from .form import ResampleForm
from .spectrum import bootstrap_spectrum, folded_points
from .tilt import DrawTilt, draw_exponent, draw_tilt_at, draw_tilt_towards

IMPOSSIBLE = Probability(-math.inf, 0.0, (0, 0))
_OUTSIDE = 2.0**-58
_ATTEMPTS = 4
_LARGE_DECAY, _HALVINGS = 55.0, 40


def probability(form: ResampleForm, region: Region) -> Probability:
    """P(T in region), a region of tails as `shifted_null` makes them.

    Raises WindowTooLongError when the lattice is too fine; `cost` says so beforehand.
    """
    if region.intervals == ((0, form.range),):
        return CERTAIN
    parts = []
    for low, high in region.intervals:
        if low > 0 and high == form.range:
            parts.append(upper_tail(form, low))
        elif low == 0:
            parts.append(upper_tail(form.mirrored(), form.range - high))
        else:
            raise ValueError("an inner interval is not a tail")
    return add(parts) if parts else IMPOSSIBLE


def upper_tail(form: ResampleForm, first: int) -> Probability:
    """P(T >= first)."""
    if first <= 0:
        return CERTAIN
    if first > form.range:
        return IMPOSSIBLE
    if first == form.range:
        log_chance = math.log(form.counts[-1] / form.draws)
        return Probability(
            form.draws * log_chance, UNIT_ROUNDOFF * (8.0 + 4.0 * form.draws * (1.0 - log_chance))
        )
    if first <= form.mean_total:
        return complement(upper_tail(form.mirrored(), form.range - first + 1))
    law = draw_tilt_towards(form, first)
    weight, weight_error = draw_exponent(form, law, first)
    total, error = _tilted_sum(form, law, first)
    bound = error / total if total > error else math.inf
    log_p = weight + math.log(total) if total > 0.0 else -math.inf
    return Probability(log_p, bound + 1.01 * weight_error + UNIT_ROUNDOFF * (4.0 + 2.0 * abs(log_p)))


def _tilted_sum(form: ResampleForm, law: DrawTilt, first: int) -> tuple[float, float]:
    """sum over x >= first of exp(-theta (x - first)) P_theta(T = x), and its absolute error."""
    outside = _OUTSIDE / (1.0 + math.sqrt(form.draws * law.variance))
    total = error = 0.0
    for _ in range(_ATTEMPTS):
        low, high = window(form, law, outside)
        low, high = min(low, first), max(high, first)
        phi, centred = spectrum_on(form, law, high - low + 1)
        total, error = contract(phi, centred, first, high - first + 1, law.theta)
        if total > 0.0 and outside <= _OUTSIDE * total:
            break
        outside = _OUTSIDE * max(total, outside) * 2.0**-12
    return total, error + outside


def window(form: ResampleForm, law: DrawTilt, outside: float) -> tuple[int, int]:
    """[low, high] that holds all but `outside` of T's tilted mass: Bernstein's inequality for N equal draws."""
    variance = form.draws * law.variance
    reach = math.ceil(bernstein_reach(math.log(2.0 / outside), float(form.values[-1]), variance)) + 2
    centre = round(form.draws * law.mean)
    return max(0, centre - reach), min(form.range, centre + reach)


def spectrum_on(form: ResampleForm, law: DrawTilt, length: int) -> tuple[Spectrum, int]:
    """`bootstrap_spectrum` on an odd number of points, at least `length`."""
    return bootstrap_spectrum(form, law, length + 1 - length % 2)


def cost(form: ResampleForm) -> tuple[int, int]:
    """Predicted elementary steps (about a nanosecond each) and bytes at the peak, for the tails of a region.

    Fitted by hand to measured times; tests/unit/inference/test_confidence.py holds the bytes.
    """
    law = draw_tilt_at(form, 0.0)
    low, high = window(form, law, _OUTSIDE)
    length, groups = high - low + 1, len(form.values)
    points = folded_points(math.sqrt(law.variance) + 0.5, form.draws, length)
    kept = retained_count(form, law, length)
    steps = 500_000 + 60 * points + 250 * (groups + 4) * kept
    return steps, 64 * points + 200 * min(groups * kept, 1 << 18) + 100 * (groups + kept)


def retained_count(form: ResampleForm, law: DrawTilt, length: int) -> int:
    """An estimate of how many frequencies of a window of `length` points matter."""
    return min(length // 2 + 1, 8 + math.ceil(length * _retained_angle(form, law) / (2.0 * math.pi)))


def _retained_angle(form: ResampleForm, law: DrawTilt) -> float:
    """The angle t beyond which N E min(t**2 (y - median)**2 / 2, 1), about -log|phi|, is large; at most pi."""
    median = form.values[int(np.searchsorted(np.cumsum(form.counts), 0.5 * form.draws))]
    spread = 0.5 * np.square((form.values - median).astype(np.float64))
    low, high = 0.0, math.pi
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        reached = form.draws * float(np.dot(law.probabilities, np.minimum(middle * middle * spread, 1.0)))
        low, high = (low, middle) if reached > _LARGE_DECAY else (middle, high)
    return high
