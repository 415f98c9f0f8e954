"""The characteristic function of the null distribution at the frequencies of non-negligible modulus.

For window length L and frequency f the angle is t = 2 pi f / L, and with a_j = t v_j / 2

    phi_c(t) = prod_j (cos a_j + i tau_j sin a_j) ** c_j

is the tilted characteristic function of T - W/2 (Pagano & Tritchler 1983; Hong 2013). Its modulus falls so
fast that a few dozen of the L/2 frequencies carry everything; the others are dropped as soon as a few groups
(distinct weights) have shown them to be negligible.

With many groups and a long window, frequencies are dropped by blocks. From f - h to f + h the angle a_j moves by at
most pi h v_j / L, so its distance to the nearest multiple of pi, with which sin(a_j)**2 grows, is at least the distance
at f less that. Groups of small weights screen wide blocks; the blocks left are screened in parts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..lattice import CanonicalForm
from ..probability import UNIT_ROUNDOFF
from .tilt import Tilt

# Error bound of the logarithm in single precision; screening drops frequencies that much later.
_SCREEN_MARGIN = 2.0
_CHUNK = 1 << 16
_SMALL_ENOUGH = 1 << 11
_BLOCK = 1 << 15
# Angles per screened batch of groups, few enough for the cache.
_BATCH = 1 << 14
# Blocks have _PARTS**k frequencies, an odd number. A group may screen them if its angle moves by at most _MOVED
# half-turns (1/2 would be everything); such groups must have _ITEMS times the items that drop a typical block. Fewer
# groups or points are screened without blocks.
_PARTS, _MOVED, _ITEMS = 5, 0.14, 8.0
_GROUPS_OF_BLOCKS, _POINTS_OF_BLOCKS = 64, 1 << 13
# Mean and variance of -log|z| for a factor of a block.
_BLOCK_MEAN, _BLOCK_VARIANCE = 0.25, 0.1
_FIRST = (np.arange(1, 65), special.gammaln(0.5 * np.arange(1, 65) + 1.0))
# Rounding of a half-turn to single precision.
_TURN_ROUNDING = 2.0**-22


@dataclass(frozen=True, slots=True)
class Spectrum:
    """phi_c at the retained frequencies 0 <= f <= L/2; all arrays have shape (F,).

    `error` bounds the relative error of each value; the `dropped` frequencies have moduli below exp(-dropped_below).
    """

    length: int
    frequencies: NDArray[np.int64]
    log_modulus: NDArray[np.float64]
    phase: NDArray[np.float64]
    error: NDArray[np.float64]
    dropped: int
    dropped_below: float

    def multiplicity(self) -> NDArray[np.float64]:
        """Return how many of the L frequencies each one represents: itself and its conjugate."""
        alone = (self.frequencies == 0) | (2 * self.frequencies == self.length)
        return np.where(alone, 1.0, 2.0)


def widest_block(form: CanonicalForm, length: int) -> int:
    """Return the number of frequencies in the first blocks: a power of _PARTS, 1 without blocks."""
    if len(form.weights) < _GROUPS_OF_BLOCKS or length < _POINTS_OF_BLOCKS:
        return 1
    needed = _ITEMS * negligible(length)
    light = min(int(np.searchsorted(np.cumsum(form.counts), needed)), len(form.weights) - 1)
    most = 1 + 2 * int(_MOVED * length / float(form.weights[light]))
    return int(_PARTS ** int(math.log(most) / math.log(_PARTS)))


def negligible(length: int) -> float:
    """Return -log of the modulus below which frequencies are dropped.

    Summed over all frequencies and tail weights, the dropped ones stay below a tenth of a roundoff.
    """
    return 39.0 + math.log(length)


def frequencies(form: CanonicalForm, length: int) -> tuple[int, int, int]:
    """Predict (blocks, factors screened, frequencies retained) for the untilted law on `length` points.

    At a typical frequency -log|cos| has mean log 2 and variance pi^2 / 12 per item, so the share left after some groups
    follows from the normal law; both are smaller in a block. For few groups of many items that overestimates: the
    frequencies left have angles a_j in the ball sum_j c_j a_j^2 / 2 <= limit, a share that soon vanishes.
    """
    half = length // 2 + 1
    if len(form.weights) == 0:
        return half, half, half
    order = (form.counts * np.square(form.weights.astype(np.float64))).argsort()[::-1]
    counts = form.counts[order].astype(np.float64)
    limit = negligible(length)
    groups, log_gamma = _groups(len(counts))
    volume = groups * (0.5 * math.log(2.0 * limit / math.pi)) - log_gamma
    ball = volume - 0.5 * np.log(counts).cumsum()

    single = _share_left(counts, limit, math.log(2.0), math.pi**2 / 12.0, ball)
    share = float(single[-1])
    if length >= _POINTS_OF_BLOCKS:
        share = max(share, _share_on_two_lattices(form, limit))
    retained = min(half, 64 + int(half * share))
    width = widest_block(form, length)
    if width == 1:
        before = float(single[:-1].sum()) if len(single) > 1 else 0.0
        return half, int(half * (1.0 + before)), retained
    blocks = half // width + 1
    light = form.counts[form.weights <= 2.0 * _MOVED * length / width][::-1].astype(np.float64)
    left = _share_left(light, limit, _BLOCK_MEAN, _BLOCK_VARIANCE, np.zeros(len(light)))
    screened = blocks * (1.0 + float(left[:-1].sum())) + half * float(left[-1]) * (
        1.0 + float(single[:-1].sum())
    )
    return blocks, int(screened) + 3 * retained * len(counts), retained


def _groups(number: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return k = 1, 2, ..., number and log Gamma(1 + k / 2)."""
    if number > len(_FIRST[0]):
        groups = np.arange(1, number + 1)
        return groups, special.gammaln(0.5 * groups + 1.0)
    return _FIRST[0][:number], _FIRST[1][:number]


def _share_left(
    counts: NDArray[np.float64], limit: float, mean: float, variance: float, ball: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Predict the share of frequencies left after each group, by the normal law of the decay, at most exp(ball)."""
    total, spread = mean * counts.cumsum(), np.sqrt(variance * (counts * counts).cumsum())
    return np.asarray(np.minimum(special.ndtr((limit - total) / spread), np.exp(np.minimum(ball, 0.0))))


def _share_on_two_lattices(form: CanonicalForm, limit: float) -> float:
    """Predict the share left where the lightest third shares a divisor g, and the others one residue up to its sign.

    So it is for right and wrong with a covariate. Then all angles follow from two: those of g and of the residue, whose
    squares times the items have the sum 2 limit / pi^2 on the border of what is left, an ellipse. Half of it is returned, because so
    many frequencies take half of their price; 0 for other weights.
    """
    weights, counts = form.weights, form.counts.astype(np.float64)
    divisor = int(np.gcd.reduce(weights[: int(np.searchsorted(counts.cumsum(), counts.sum() / 3.0))]))
    if divisor < 2:
        return 0.0
    residues = weights % divisor
    odd = residues > 0
    across = float(counts[odd].sum())
    few = len(np.unique(np.minimum(residues, divisor - residues)[odd])) == 1
    if not few or divisor * min(math.sqrt(2.0 * limit / across) / math.pi, 0.5) < 2.0:
        return 0.0
    along = float(counts[~odd] @ np.square(weights[~odd] / divisor))
    return min(limit / (math.pi * math.sqrt(along * across)), 1.0)


def spectrum(form: CanonicalForm, law: Tilt, length: int, *, bounded: bool = True) -> Spectrum:
    """Compute phi_c on the window of `length` points without negligible frequencies; `error` only if `bounded`."""
    last = length // 2
    below = negligible(length)
    frequencies = _screened(form, law, length, below)
    block = max(_BLOCK // max(len(form.weights), 1), 1)
    parts = [
        _evaluate(form, law, length, frequencies[start : start + block], bounded=bounded)
        for start in range(0, len(frequencies), block)
    ]
    log_modulus, phase, error = (
        parts[0] if len(parts) == 1 else tuple(np.concatenate(part) for part in zip(*parts, strict=True))
    )
    large = log_modulus > -below
    if not large.all():
        frequencies, log_modulus = frequencies[large], log_modulus[large]
        phase, error = phase[large], error[large] if bounded else error
    return Spectrum(length, frequencies, log_modulus, phase, error, last + 1 - len(frequencies), below)


def _screened(form: CanonicalForm, law: Tilt, length: int, below: float) -> NDArray[np.int64]:
    """Return the frequencies that screening leaves, or all of them where it would cost more than it saves."""
    end = length // 2 + 1
    width = widest_block(form, length)
    if width == 1 and end * len(form.weights) <= _SMALL_ENOUGH:
        return np.arange(end, dtype=np.int64)
    influence = form.counts * (law.sech2 * np.square(form.weights.astype(np.float64)))
    order = np.argsort(influence)[::-1]
    kept = [
        _retained_in_span(form, law, length, order, (first, min(first + _CHUNK * width, end)), width, below)
        for first in range(0, end, _CHUNK * width)
    ]
    return np.concatenate(kept)


def _retained_in_span(
    form: CanonicalForm,
    law: Tilt,
    length: int,
    order: NDArray[np.intp],
    span: tuple[int, int],
    width: int,
    below: float,
) -> NDArray[np.int64]:
    """Screen the frequencies of the half-open `span` by blocks of `width` and then their parts; ascending."""
    first, end = span
    middles = np.arange(first + width // 2, end + width // 2, width, dtype=np.int64)
    while True:
        able = order[form.weights[order] <= 2.0 * _MOVED * length / width] if width > 1 else order
        parts = range(0, len(middles), _CHUNK)
        chosen = [
            _screen(form, law, length, able, middles[at : at + _CHUNK], below, width // 2) for at in parts
        ]
        middles = np.concatenate([np.zeros(0, dtype=np.int64), *chosen])
        if width == 1:
            return middles
        width //= _PARTS
        steps = width * np.arange(-(_PARTS // 2), _PARTS // 2 + 1, dtype=np.int64)
        middles = np.add.outer(middles, steps).reshape(-1)
        middles = middles[middles - width // 2 < end]


def _screen(
    form: CanonicalForm,
    law: Tilt,
    length: int,
    order: NDArray[np.intp],
    frequencies: NDArray[np.int64],
    below: float,
    reach: int,
) -> NDArray[np.int64]:
    """Drop those `frequencies` that the groups of `order` prove negligible together with all within `reach`."""
    decay = np.zeros(len(frequencies), dtype=np.float32)
    limit = np.float32(below + _SCREEN_MARGIN + 1e-6 * form.nonzero)
    fast = form.weights[order] / float(length)
    moved = (reach * fast + _TURN_ROUNDING).astype(np.float32)
    sech2 = law.sech2[order].astype(np.float32)
    halves = (0.5 * form.counts[order]).astype(np.float32)
    at = 0
    while at < len(order) and len(frequencies) * len(order) > _SMALL_ENOUGH:
        batch = slice(at, at + max(_BATCH // len(frequencies), 1))
        at = batch.stop
        # Half-turns are reduced in double precision; only their fraction is rounded to single.
        turns = np.multiply.outer(fast[batch], frequencies)
        turns -= np.rint(turns)
        sine = turns.astype(np.float32)
        if reach:
            np.abs(sine, out=sine)
            sine -= moved[batch, None]
            np.maximum(sine, np.float32(0.0), out=sine)
        sine *= np.float32(math.pi)
        np.sin(sine, out=sine)
        sine *= sine
        sine *= -sech2[batch, None]
        sine += np.float32(1.0)
        modulus2 = np.maximum(sine, np.float32(1e-10), out=sine)
        decay -= halves[batch] @ np.log(modulus2, out=modulus2)
        retained = decay < limit
        if np.count_nonzero(retained) < 0.9 * len(frequencies):
            frequencies, decay = frequencies[retained], decay[retained]
    return frequencies[decay < limit]


def _evaluate(
    form: CanonicalForm, law: Tilt, length: int, frequencies: NDArray[np.int64], *, bounded: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return log-modulus, phase and, if `bounded`, relative error of phi_c from all groups; shape (F,) each."""
    # Angles are reduced exactly, in integers, to [-pi, pi): f v / L half-turns modulo two.
    turns = np.multiply.outer(form.weights % (2 * length), frequencies) % (2 * length)
    np.subtract(turns, 2 * length, out=turns, where=turns > length)
    angle = (math.pi / length) * turns
    sine, cosine = np.sin(angle), np.cos(angle)
    counts = form.counts.astype(np.float64)
    if law.theta == 0.0 and not bounded:  # every factor is a cosine
        log_factor = log_moduli(sine, np.maximum(cosine * cosine, 1e-300), 1.0)
        turn = np.copysign(math.pi * (cosine < 0.0), sine)
        return counts @ log_factor, counts @ turn, np.zeros(0)
    tau, sech2 = law.tau[:, None], law.sech2[:, None]
    modulus2 = np.maximum(cosine * cosine + tau * tau * sine * sine, 1e-300)
    log_factor = log_moduli(sine, modulus2, sech2)
    turn = np.arctan2(tau * sine, cosine)
    log_modulus = counts @ log_factor
    phase = counts @ turn
    if not bounded:
        return log_modulus, phase, np.zeros(0)
    error = counts @ factor_error(angle, sine, cosine, turn, modulus2, tau, sech2)
    tilt_rounding = 4.0 + law.theta * float(form.weights[-1])
    error = UNIT_ROUNDOFF * (error * tilt_rounding / 4.0 + 8.0 * np.abs(log_modulus) + 16.0)
    return log_modulus, phase, error


def log_moduli(
    sine: NDArray[np.float64], modulus2: NDArray[np.float64], sech2: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Return log|z| of factors, shape (U, F), from 1 - |z|**2 where that is small and else from |z|**2."""
    missing = sech2 * sine * sine
    return np.asarray(0.5 * np.where(missing < 0.5, np.log1p(-np.minimum(missing, 0.5)), np.log(modulus2)))


def factor_error(
    angle: NDArray[np.float64],
    sine: NDArray[np.float64],
    cosine: NDArray[np.float64],
    turn: NDArray[np.float64],
    modulus2: NDArray[np.float64],
    tau: NDArray[np.float64],
    sech2: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Bound the error of each factor's logarithm in units of roundoff; shape (U, F).

    The angle carries a relative error of two units; it moves the phase by tau / |z|^2 and the log-modulus by sech^2
    |sin cos| / |z|^2 per radian. The errors of tau, sech^2, sine and cosine are added.
    """
    moved = 2.0 * np.abs(angle) * (tau + sech2 * np.abs(sine * cosine)) / modulus2
    return moved + 6.0 * np.abs(turn) + np.minimum(4.0 * sech2 * sine * sine / modulus2, 4.0)
