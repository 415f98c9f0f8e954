"""The characteristic function of a bootstrap sum at the frequencies that matter.

phi(t) = (sum_j p_j exp(i t y_j)) ** N falls so fast that a few dozen of the L / 2 frequencies of the
window carry everything. One short transform of the folded law of a single draw finds them: between two of
its points |phi(t) ** (1 / N)| changes by no more than the distance times E|y - c|. Near zero the fourth
moment proves most frequencies negligible. The others are evaluated directly.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import fft as transform

from ..lattice import Integers, Reals
from ..one_sum.spectrum import Spectrum
from ..probability import UNIT_ROUNDOFF
from .form import ResampleForm
from .tilt import DrawTilt

# Points of the folded transform per unit of E|y - c|: |phi| is then known to within a thirtieth.
_POINTS_PER_SPREAD = 96
_LEAST_POINTS, _FINE_POINTS = 1 << 10, 1 << 17
_BLOCK = 1 << 18
# Angles are reduced in 64 bits; and the folded transform is held as a whole.
MAX_WINDOW, MAX_POINTS = 1 << 30, 1 << 25
_TRANSFORM_ERROR = 64.0 * UNIT_ROUNDOFF


class WindowTooLongError(ValueError):
    """The lattice is too fine for a transform; sampling is the alternative."""


def bootstrap_spectrum(form: ResampleForm, law: DrawTilt, length: int) -> tuple[Spectrum, int]:
    """The tilted phi of T - N c on a window of `length` points, and the integer 2 N c it is centred by."""
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
    """How many points the transform that finds the frequencies has; `spread` is E|y - c|.

    The more draws, the more precisely |phi| of one draw must be known to bound its power.
    """
    wanted = min(0.25 * spread * draws, _FINE_POINTS)
    wanted = math.ceil(max(_LEAST_POINTS, _POINTS_PER_SPREAD * spread, wanted))
    return length if wanted >= length else int(transform.next_fast_len(wanted, real=True))


def _retained(form: ResampleForm, law: DrawTilt, centre: int, length: int, below: float) -> Integers:
    """Frequencies 0 <= f <= L/2 whose |phi| may exceed exp(-below)."""
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
    """The integers of all the intervals [first, last]."""
    lengths = np.maximum(last - first + 1, 0)
    starts = np.repeat(first - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    return np.asarray(starts + np.arange(int(lengths.sum())), dtype=np.int64)


def _decay_near_zero(form: ResampleForm, law: DrawTilt, frequencies: Integers, length: int) -> Reals:
    """A lower bound of -log|phi|: for D a difference of two draws, E cos(t D) <= 1 - E (tD)**2/2 + E (tD)**4/24."""
    fourth = float(np.dot(law.probabilities, (form.values - law.mean) ** 4))
    turn2 = np.square(2.0 * math.pi / length * frequencies)
    missing = turn2 * (law.variance - turn2 * (fourth + 3.0 * law.variance**2) / 12.0)
    return np.asarray(-0.5 * form.draws * np.log1p(-np.clip(missing * (1.0 - 1e-9), 0.0, 0.999)))


def _evaluate(
    form: ResampleForm, law: DrawTilt, centre: int, length: int, frequencies: Integers
) -> tuple[Reals, Reals, Reals]:
    """Log-modulus, phase and relative error of phi at the frequencies, shape (F,) each.

    The value of one draw is 1 - a + i b; a and b are sums of small terms, computed apart from the 1 without cancellation.
    """
    steps = np.multiply.outer(frequencies, (form.values - centre) % length) % length
    angle = (2.0 * math.pi / length) * np.where(2 * steps > length, steps - length, steps)
    missing = (law.probabilities * (2.0 * np.square(np.sin(0.5 * angle)))).sum(axis=1)
    along = (law.probabilities * np.sin(angle)).sum(axis=1)
    shrink = along * along + missing * missing - 2.0 * missing
    modulus2 = np.maximum(np.square(1.0 - missing) + along * along, 1e-300)
    log_modulus = 0.5 * np.where(shrink > -0.5, np.log1p(np.maximum(shrink, -0.5)), np.log(modulus2))
    phase = np.arctan2(along, 1.0 - missing)
    # Terms, the tilted probabilities and the sums round; all of them are at most p_j |angle_j|.
    units = 24.0 + math.log2(len(form.values)) + law.theta * np.abs(form.values - law.mean)
    moved = (np.abs(angle) * (law.probabilities * units)).sum(axis=1) / np.sqrt(modulus2)
    error = moved + 4.0 * (np.abs(log_modulus) + np.abs(phase))
    return form.draws * log_modulus, form.draws * phase, UNIT_ROUNDOFF * (form.draws * error + 16.0)
