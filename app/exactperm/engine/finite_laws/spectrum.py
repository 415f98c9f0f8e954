"""The characteristic function of a sum of finite laws at the non-negligible frequencies.

For window length L and frequency f the angle of one step is w = 2 pi f / L. With y_k = x_k - c, c the integer next to the tilted
mean of a law, its factor is exp(i w c) (1 - a + i b),

    a = sum_k h_k 2 sin(w y_k / 2)**2,    b = sum_k h_k sin(w y_k),    |factor|**2 = 1 - (2 a - a**2 - b**2).

Both vanish with w, and so do their errors, so that no digits are lost at the low frequencies with the mass: at most
half of 2 a cancels, as |E y| <= 1/2.

Dropping frequencies: |phi|**2 = 1 - 4 sum_{j<k} h_j h_k sin(w (x_j - x_k) / 2)**2, so that pairs of values act as coins,

    log |prod phi|**2 <= - sum_gap A_gap sin(w gap / 2)**2,    A_gap = sum 4 c h_j h_k over pairs that far apart,

and a few gaps decide about all frequencies before any factor is computed: those of neighbours, and, as laws of many values have
little weight on each, of values that are 2, 4, 8, ... places apart.
"""

from __future__ import annotations

import math

import numpy as np

from ..lattice import Integers, Reals
from ..one_sum.spectrum import Spectrum, negligible
from ..probability import UNIT_ROUNDOFF
from .form import FiniteLaws
from .tilt import Tilt

# Numbers held while computing factors, and frequencies screened at once.
_BLOCK, _SCREENED = 1 << 19, 1 << 16
# The number of gaps to screen by, the heaviest first; more add little.
_MOST_GAPS = 64
# Rounding of the screening, as a share of the decay.
_SCREEN_MARGIN = 1e-9
# How many times as fast matrices multiply as sines are computed.
_SHARED = 15
# A factor below _ERRORS times its error counts as that, with a relative error of _LOST.
_ERRORS, _LOST = 2.0, 4.0


def spectrum(form: FiniteLaws, law: Tilt, length: int) -> Spectrum:
    """Return phi of T less the laws' `centre`, on the window of `length` points, without negligible frequencies."""
    below = negligible(length)
    frequencies = _screened(form, law, length, below)
    block = max(_BLOCK // max(form.values.size, 1), 1)
    parts = [
        _evaluate(form, law, length, frequencies[start : start + block])
        for start in range(0, len(frequencies), block)
    ]
    log_modulus, phase, error = (np.concatenate(part) for part in zip(*parts, strict=True))
    large = log_modulus > -below
    kept = frequencies[large]
    dropped = length // 2 + 1 - len(kept)
    return Spectrum(length, kept, log_modulus[large], phase[large], error[large], dropped, below)


def centre(form: FiniteLaws, law: Tilt) -> int:
    """Return the exact sum of the laws' centres."""
    return sum(c * n for c, n in zip(law.centres.tolist(), form.counts.tolist(), strict=True))


def _screened(form: FiniteLaws, law: Tilt, length: int, below: float) -> Integers:
    """Return the frequencies that coins between neighbouring values do not prove negligible, ascending."""
    gaps, decays = _coins(form, law)
    limit = 2.0 * below * (1.0 + _SCREEN_MARGIN)
    end = length // 2 + 1
    kept = []
    for first in range(0, end, _SCREENED):
        chosen = np.arange(first, min(first + _SCREENED, end), dtype=np.int64)
        decay = np.zeros(len(chosen))
        for gap, weight in zip(gaps.tolist(), decays.tolist(), strict=True):
            turns = (chosen * (gap % length)) % length
            decay += weight * np.square(np.sin((math.pi / length) * turns))
            matters = decay < limit
            if np.count_nonzero(matters) < 0.5 * len(chosen):
                chosen, decay = chosen[matters], decay[matters]
        kept.append(chosen[decay < limit])
    return np.concatenate(kept)


def _coins(form: FiniteLaws, law: Tilt) -> tuple[Integers, Reals]:
    """Return the gaps between values that are 1, 2, 4, ... places apart, and A_gap of each, the largest first."""
    gaps, weights = [], []
    for places in (1 << power for power in range((form.values.shape[1] - 1).bit_length())):
        apart = form.values[:, places:] - form.values[:, :-places]
        weight = 4.0 * form.counts[:, None] * law.chances[:, :-places] * law.chances[:, places:]
        there = weight > 0.0
        gaps.append(apart[there])
        weights.append(weight[there])
    distinct, where = np.unique(np.concatenate(gaps), return_inverse=True)
    decays = np.bincount(where, np.concatenate(weights), minlength=len(distinct)).astype(np.float64)
    order = np.argsort(-decays, kind="stable")[:_MOST_GAPS]
    return distinct[order], decays[order]


def _evaluate(form: FiniteLaws, law: Tilt, length: int, frequencies: Integers) -> tuple[Reals, Reals, Reals]:
    """Return log-modulus, phase and relative error of phi from all laws; shape (F,) each."""
    a, b = _parts(form, law, length, frequencies)
    real = 1.0 - a
    missing = 2.0 * a - a * a - b * b
    modulus2 = np.where(missing < 0.5, 1.0 - missing, real * real + b * b)
    relative = law.error[:, None]
    a_error = (relative + 10.0 * UNIT_ROUNDOFF) * a
    b_error = (2.3 * relative + 10.0 * UNIT_ROUNDOFF) * np.sqrt(a)
    least = np.square(_ERRORS * (a_error + b_error))
    lost = modulus2 < least
    modulus2 = np.maximum(modulus2, np.maximum(least, 1e-300))
    near = missing < 0.5
    log_factor = 0.5 * np.where(near, np.log1p(-np.where(near, missing, 0.0)), np.log(modulus2))
    turn = np.arctan2(b, real)
    # d log|phi| = (re da + b db) / |phi|**2, d arg phi = (re db + b da) / |phi|**2.
    moved = (np.abs(real) + np.abs(b)) * (a_error + b_error)
    rounding = np.where(near, 4.0 * a / modulus2, 4.0) + 4.0 * np.abs(turn)
    factor_error = moved / modulus2 + UNIT_ROUNDOFF * rounding
    factor_error[lost] = _LOST
    counts = form.counts.astype(np.float64)
    log_modulus, phase = counts @ log_factor, counts @ turn
    error = counts @ factor_error + UNIT_ROUNDOFF * (8.0 * np.abs(log_modulus) + 16.0)
    return log_modulus, phase, 1.01 * error


def _parts(form: FiniteLaws, law: Tilt, length: int, frequencies: Integers) -> tuple[Reals, Reals]:
    """Return a and b of every law, shape (G, F) each."""
    steps = form.values - law.centres[:, None]
    distinct, where = np.unique(steps, return_inverse=True)
    rows = np.arange(len(steps))
    if len(distinct) <= _SHARED * steps.shape[1]:
        # Sines of each distance once, and a product of matrices.
        chances = np.zeros((len(steps), len(distinct)))
        np.add.at(chances, (rows[:, None], where.reshape(steps.shape)), law.chances)
        lag, turn = _waves(distinct, length, frequencies)
        return chances @ lag, chances @ turn
    a, b = np.zeros((2, len(steps), len(frequencies)))
    for column in range(steps.shape[1]):
        lag, turn = _waves(steps[:, column], length, frequencies)
        a += law.chances[:, column, None] * lag
        b += law.chances[:, column, None] * turn
    return a, b


def _waves(steps: Integers, length: int, frequencies: Integers) -> tuple[Reals, Reals]:
    """Return 1 - cos and sin of the angles of steps, shape (S, F); angles are reduced in integers to [-pi, pi)."""
    turns = np.multiply.outer(steps % length, frequencies) % length
    np.subtract(turns, length, out=turns, where=2 * turns > length)
    half = (math.pi / length) * turns
    sine = np.sin(half)
    return 2.0 * sine * sine, 2.0 * sine * np.cos(half)
