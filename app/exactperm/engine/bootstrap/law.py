"""`bootstrap`: the paired bootstrap's distribution of a sum with no resampling error.

S* is a sum of N independent draws, and its characteristic function the N-th power of that of one draw. So the transform
on a tilted window, as for the permutation test (`fft`), gives the bootstrap with relative accuracy and a certificate.
The p-value is that of the shifted null distribution of S* - S; unlike a permutation p-value it can be zero, when no
resample is as far out as the observed sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import flint
import numpy as np
from numpy.typing import NDArray
from scipy import fft as transform

from ..lattice import Integers, Reals
from ..one_sum.fft import contract
from ..one_sum.spectrum import Spectrum
from ..probability import CERTAIN, UNIT_ROUNDOFF, Probability, Region, add, complement
from ..tilting import bernstein_reach, tilt_to
from .form import ResampleForm

# Exponential tilting of one draw of the bootstrap, and so of their sum. One draw y has cumulant log M(theta) = log
# sum_j (c_j / N) exp(theta y_j); the sum of N has N times that.


# Beyond these, the exponent is computed in ball arithmetic.
_LARGE_SLOPE, _LARGE_ERROR = 30.0, 2e-13
_BALL_BITS = 200


@dataclass(frozen=True, slots=True)
class DrawTilt:
    """One draw tilted by `theta`: the probabilities of the values, shape (U,), its mean and variance."""

    theta: float
    probabilities: Reals
    mean: float
    variance: float


def draw_tilt_at(form: ResampleForm, theta: float) -> DrawTilt:
    """Return the law of one draw tilted by `theta` >= 0."""
    values = form.values.astype(np.float64)
    weights = form.probabilities * np.exp(theta * (values - values[-1]))
    probabilities = weights / weights.sum()
    mean = float(np.dot(probabilities, values))
    return DrawTilt(theta, probabilities, mean, float(np.dot(probabilities, np.square(values - mean))))


def draw_tilt_towards(form: ResampleForm, target: int) -> DrawTilt:
    """Return a tilt under which T has its mean near `target`, mean of T < target < range."""
    return tilt_to(
        lambda theta: draw_tilt_at(form, theta),
        target=target / form.draws,
        below=(form.range - target) / form.draws,
        start=0.0,
        unit=float(form.values[-1]),
        draws=form.draws,
    )


def draw_exponent(form: ResampleForm, law: DrawTilt, target: int) -> tuple[float, float]:
    """Return N log M(theta) - theta target, theta an exact double, and a bound on its absolute error."""
    if law.theta == 0.0:
        return 0.0, 0.0
    # y_j - target / N, from exact integers.
    distance = (form.values * form.draws - target).astype(np.float64) / form.draws
    slope = law.theta * distance
    if float(slope.max()) > _LARGE_SLOPE:
        return _by_ball_arithmetic(form, law.theta, target)
    growth = np.expm1(slope)
    excess = math.fsum((form.probabilities * growth).tolist())
    value = form.draws * math.log1p(excess)
    moved = np.dot(form.probabilities, (1.0 + growth) * np.abs(slope) + np.abs(growth)) / (1.0 + excess)
    error = UNIT_ROUNDOFF * (4.0 * form.draws * float(moved) + 4.0 * abs(value))
    return _by_ball_arithmetic(form, law.theta, target) if error > _LARGE_ERROR else (value, error)


def _by_ball_arithmetic(form: ResampleForm, theta: float, target: int) -> tuple[float, float]:
    """Compute `draw_exponent` in ball arithmetic (Johansson 2017, Arb), with the radius as the error bound."""
    with flint.ctx.workprec(_BALL_BITS):
        base = flint.arb(theta)
        total = flint.arb(0)
        for value, count in zip(form.values.tolist(), form.counts.tolist(), strict=True):
            total += count * (base * value).exp()
        result = form.draws * (total / form.draws).log() - base * target
        value = float(result.mid())
        return value, float(result.rad()) + 2.0 * UNIT_ROUNDOFF * abs(value)


# `bootstrap`: the paired bootstrap's distribution of a sum with no resampling error


IMPOSSIBLE = Probability(-math.inf, 0.0, (0, 0))
_OUTSIDE = 2.0**-58
_ATTEMPTS = 4
_LARGE_DECAY, _HALVINGS = 55.0, 40


def probability(form: ResampleForm, region: Region) -> Probability:
    """Return P(T in region), a region of tails from `shifted_null`.

    Raises WindowTooLongError when the lattice is too fine, which `cost` predicts.
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
    """Return P(T >= first)."""
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
    """Sum exp(-theta (x - first)) P_theta(T = x) over x >= first; return it and its absolute error."""
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
    """Return [low, high] with all but `outside` of T's tilted mass, by Bernstein's inequality for N equal draws."""
    variance = form.draws * law.variance
    reach = math.ceil(bernstein_reach(math.log(2.0 / outside), float(form.values[-1]), variance)) + 2
    centre = round(form.draws * law.mean)
    return max(0, centre - reach), min(form.range, centre + reach)


def spectrum_on(form: ResampleForm, law: DrawTilt, length: int) -> tuple[Spectrum, int]:
    """Return `bootstrap_spectrum` on an odd number of points, at least `length`."""
    return bootstrap_spectrum(form, law, length + 1 - length % 2)


def cost(form: ResampleForm) -> tuple[int, int]:
    """Predict the elementary steps (about a nanosecond each) and peak bytes for the tails of a region.

    Fitted by hand to measured times; tests/unit/inference/test_confidence.py checks the bytes.
    """
    law = draw_tilt_at(form, 0.0)
    low, high = window(form, law, _OUTSIDE)
    length, groups = high - low + 1, len(form.values)
    points = folded_points(math.sqrt(law.variance) + 0.5, form.draws, length)
    kept = retained_count(form, law, length)
    steps = 500_000 + 60 * points + 250 * (groups + 4) * kept
    return steps, 64 * points + 200 * min(groups * kept, 1 << 18) + 100 * (groups + kept)


def retained_count(form: ResampleForm, law: DrawTilt, length: int) -> int:
    """Estimate how many frequencies of a window of `length` points are retained."""
    return min(length // 2 + 1, 8 + math.ceil(length * _retained_angle(form, law) / (2.0 * math.pi)))


def _retained_angle(form: ResampleForm, law: DrawTilt) -> float:
    """Return the angle t beyond which N E min(t**2 (y - median)**2 / 2, 1), about -log|phi|, is large; at most pi."""
    median = form.values[int(np.searchsorted(np.cumsum(form.counts), 0.5 * form.draws))]
    spread = 0.5 * np.square((form.values - median).astype(np.float64))
    low, high = 0.0, math.pi
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        reached = form.draws * float(np.dot(law.probabilities, np.minimum(middle * middle * spread, 1.0)))
        low, high = (low, middle) if reached > _LARGE_DECAY else (middle, high)
    return high


# The characteristic function of a bootstrap sum at the non-negligible frequencies. phi(t) = (sum_j p_j exp(i t y_j)) **
# N falls so fast that only a few dozen of the L / 2 frequencies of the window matter. One short transform of the folded
# law of a single draw finds them: between two of its points |phi(t) ** (1 / N)| changes by no more than the distance
# times E|y - c|. Near zero the fourth moment proves most frequencies negligible. The others are evaluated directly.


# Points of the folded transform per unit of E|y - c|: |phi| is then known to within a thirtieth.
_POINTS_PER_SPREAD = 96
_LEAST_POINTS, _FINE_POINTS = 1 << 10, 1 << 17
_BLOCK = 1 << 18
# Angles must be reduced in 64 bits, and the folded transform held as a whole.
MAX_WINDOW, MAX_POINTS = 1 << 30, 1 << 25
_TRANSFORM_ERROR = 64.0 * UNIT_ROUNDOFF


class WindowTooLongError(ValueError):
    """The lattice is too fine for a transform; sample instead."""


def bootstrap_spectrum(form: ResampleForm, law: DrawTilt, length: int) -> tuple[Spectrum, int]:
    """Return the tilted phi of T - N c on a window of `length` points, and the integer 2 N c."""
    if length > MAX_WINDOW:
        raise WindowTooLongError(f"the window has {length} points")
    centre = round(law.mean)
    below = 39.0 + math.log(length)
    retained = _retained(form, law, centre, length, below)
    retained = retained[_decay_near_zero(form, law, retained, length) < below]
    block = max(_BLOCK // len(form.values), 1)
    parts = [
        _evaluate(form, law, centre, length, retained[start : start + block])
        for start in range(0, len(retained), block)
    ]
    log_modulus, phase, error = (np.concatenate(part) for part in zip(*parts, strict=True))
    large = log_modulus > -below
    dropped = length // 2 + 1 - int(np.count_nonzero(large))
    phi = Spectrum(length, retained[large], log_modulus[large], phase[large], error[large], dropped, below)
    return phi, 2 * form.draws * centre


def folded_points(spread: float, draws: int, length: int) -> int:
    """Return the number of points of the transform that finds the frequencies; `spread` is E|y - c|.

    The more draws, the more precise |phi| of one draw must be to bound its power.
    """
    points = min(0.25 * spread * draws, _FINE_POINTS)
    points = math.ceil(max(_LEAST_POINTS, _POINTS_PER_SPREAD * spread, points))
    return length if points >= length else int(transform.next_fast_len(points, real=True))


def _retained(form: ResampleForm, law: DrawTilt, centre: int, length: int, below: float) -> Integers:
    """Return the frequencies 0 <= f <= L/2 whose |phi| may exceed exp(-below)."""
    spread = float(np.dot(law.probabilities, np.abs(form.values - centre)))
    points = folded_points(spread, form.draws, length)
    if points > MAX_POINTS:
        raise WindowTooLongError(f"one draw spreads over {points} points")
    folded = np.bincount((form.values - centre) % points, weights=law.probabilities, minlength=points)
    size = np.abs(transform.rfft(folded)) + _TRANSFORM_ERROR
    if points < length:
        size += 1.01 * spread * math.pi / points
    coarse = np.flatnonzero(form.draws * np.log(np.maximum(size, 1e-300)) >= -below)
    if points == length:
        return coarse.astype(np.int64)
    # Every f with |f / L - m / M| <= 1 / 2M, in integers.
    first = -((1 - 2 * coarse) * length // (2 * points))
    last = np.minimum((2 * coarse + 1) * length // (2 * points), length // 2)
    return np.unique(_ranges(np.maximum(first, 0), last))


def _ranges(first: NDArray[np.int64], last: NDArray[np.int64]) -> Integers:
    """Return the integers of all intervals [first, last]."""
    lengths = np.maximum(last - first + 1, 0)
    starts = np.repeat(first - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    return np.asarray(starts + np.arange(int(lengths.sum())), dtype=np.int64)


def _decay_near_zero(form: ResampleForm, law: DrawTilt, frequencies: Integers, length: int) -> Reals:
    """Bound -log|phi| below: for D a difference of two draws, E cos(t D) <= 1 - E (tD)**2/2 + E (tD)**4/24."""
    fourth = float(np.dot(law.probabilities, (form.values - law.mean) ** 4))
    turn2 = np.square(2.0 * math.pi / length * frequencies)
    missing = turn2 * (law.variance - turn2 * (fourth + 3.0 * law.variance**2) / 12.0)
    return np.asarray(-0.5 * form.draws * np.log1p(-np.clip(missing * (1.0 - 1e-9), 0.0, 0.999)))


def _evaluate(
    form: ResampleForm, law: DrawTilt, centre: int, length: int, frequencies: Integers
) -> tuple[Reals, Reals, Reals]:
    """Return log-modulus, phase and relative error of phi at the frequencies, shape (F,) each.

    The value of one draw is 1 - a + i b; a and b are sums of small terms, so nothing cancels.
    """
    steps = np.multiply.outer(frequencies, (form.values - centre) % length) % length
    angle = (2.0 * math.pi / length) * np.where(2 * steps > length, steps - length, steps)
    missing = (law.probabilities * (2.0 * np.square(np.sin(0.5 * angle)))).sum(axis=1)
    along = (law.probabilities * np.sin(angle)).sum(axis=1)
    shrink = along * along + missing * missing - 2.0 * missing
    modulus2 = np.maximum(np.square(1.0 - missing) + along * along, 1e-300)
    log_modulus = 0.5 * np.where(shrink > -0.5, np.log1p(np.maximum(shrink, -0.5)), np.log(modulus2))
    phase = np.arctan2(along, 1.0 - missing)
    # Terms, tilted probabilities and sums are rounded; all are at most p_j |angle_j|.
    units = 24.0 + math.log2(len(form.values)) + law.theta * np.abs(form.values - law.mean)
    moved = (np.abs(angle) * (law.probabilities * units)).sum(axis=1) / np.sqrt(modulus2)
    error = moved + 4.0 * (np.abs(log_modulus) + np.abs(phase))
    return form.draws * log_modulus, form.draws * phase, UNIT_ROUNDOFF * (form.draws * error + 16.0)
