"""Short laws from tables: without a tilt and on a window of all values, the angles of all small weights are the same for all.

The window has a power of two points L, so that there are few tables. On it one spectrum serves the law that is shown, ties
and, where they are not small, p-values. Every factor is a cosine, so that phases are whole half-turns; angles are multiples of
pi / L, reduced as integers, and their sines come from a table of L numbers, each within three roundoffs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft as transform

from ..lattice import CanonicalForm, Integers, Reals, once_per_form
from ..probability import UNIT_ROUNDOFF, Probability
from .spectrum import factor_error, log_moduli, negligible

# The tables of the longest window have 1.6 MB.
_SHORTEST, LONGEST = 1 << 7, 1 << 11
MAX_WEIGHT = 64
# Roundoffs of a term of the sum: three of each of three sines, and of what is done with them.
_TERM_ROUNDOFFS = 24.0


@dataclass(frozen=True, slots=True)
class ShortSpectrum:
    """The characteristic function of T at the retained frequencies 0 <= f <= L/2, shape (F,) each.

    It is modulus * exp(i pi half_turns / L). `modulus` counts the conjugate frequency as well; `dropped` is the sum of the
    moduli left out, at the most. `error` is the relative error of a term of the sum: of its modulus and of three sines.
    """

    length: int
    frequencies: Integers
    kept: slice | Integers  # what takes their values from those of all
    modulus: Reals
    half_turns: Integers
    quarter_on: Integers  # half_turns + L / 2, of which the sine is the cosine
    error: Reals
    dropped: float


def have_tables(form: CanonicalForm) -> bool:
    """Whether neither the range nor a weight is too large for a table."""
    return 0 < form.range < LONGEST and int(form.weights[-1]) <= MAX_WEIGHT


@once_per_form
def short_spectrum(form: CanonicalForm) -> ShortSpectrum:
    """The untilted spectrum on all of the range; the form must `have_tables`."""
    length = max(1 << form.range.bit_length(), _SHORTEST)
    below, groups = negligible(length), len(form.weights)
    without_gaps = int(form.weights[-1]) == groups
    rows = slice(0, groups) if without_gaps else form.weights - 1
    counts, of_items = form.counts.astype(np.float64), _items(length)
    log_modulus = counts @ of_items[0, rows]
    (large,) = (log_modulus > -below).nonzero()
    kept = slice(0, len(large)) if large[-1] + 1 == len(large) else large  # mostly all of the lowest
    log_modulus = log_modulus[kept]
    # Numbers of negative cosines are small integers, which doubles add exactly.
    negative, error = counts @ of_items[1:, rows][:, :, kept]
    half_turns = large * form.range + length * negative.astype(np.int64)
    modulus = 2.0 * np.exp(log_modulus)
    modulus[0] = 1.0
    if large[-1] * 2 == length:
        modulus[-1] *= 0.5
    return ShortSpectrum(
        length,
        large,
        kept,
        modulus,
        half_turns,
        half_turns + length // 2,
        UNIT_ROUNDOFF * (error - 8.0 * log_modulus + (16.0 + _TERM_ROUNDOFFS)),
        2.0 * (length // 2 + 1 - len(large)) * math.exp(-below),
    )


def short_sum(form: CanonicalForm, low: int, high: int) -> Probability:
    """P(low <= T <= high), 0 <= low <= high <= range, with its certificate, which is infinite where nothing is proven.

    That is (1/L) sum_f phi(f) sum_x exp(-2 pi i f x / L), the inner sum over low <= x <= high a quotient of two sines.
    """
    phi, terms = short_spectrum(form), high - low + 1
    sines, mask = _sines(phi.length), 2 * phi.length - 1
    # The middle of the interval; cos(a) is sin(a + pi / 2).
    turned = phi.quarter_on - phi.frequencies * (low + high)
    magnitude = phi.modulus * sines[turned & mask]
    if terms > 1:
        above = phi.frequencies[1:]
        magnitude[1:] *= sines[(above * terms) & mask] / sines[above]
        magnitude[0] *= terms
    total = math.fsum(magnitude.tolist()) / phi.length
    error = 1.01 * (float(np.abs(magnitude) @ phi.error) + phi.dropped * terms) / phi.length
    if not total > 0.0:
        return Probability(-math.inf, math.inf)
    log_p = math.log(total)
    return Probability(log_p, error / total + UNIT_ROUNDOFF * (4.0 + 2.0 * abs(log_p)))


def short_masses(form: CanonicalForm) -> Reals:
    """P(T = x) for x = 0, ..., range, each to about 1e-15; shape (range + 1,)."""
    phi = short_spectrum(form)
    sines, mask = _sines(phi.length), 2 * phi.length - 1
    line = np.zeros(phi.length // 2 + 1, dtype=np.complex128)
    size = phi.modulus * 0.5
    size[0] = 1.0
    if phi.frequencies[-1] * 2 == phi.length:
        size[-1] *= 2.0
    line.real[phi.kept] = size * sines[phi.quarter_on & mask]
    line.imag[phi.kept] = size * sines[-phi.half_turns & mask]
    return np.asarray(transform.irfft(line, phi.length)[: form.range + 1])


@cache
def _sines(length: int) -> Reals:
    """sin(pi k / length) for k = 0, ..., 2 length - 1, relatively to a few roundoffs: the angles stay below pi / 4."""
    k = np.arange(length)
    folded = np.minimum(k, length - k)
    unit = math.pi / length
    half = np.where(folded <= length // 4, np.sin(unit * folded), np.cos(unit * (length // 2 - folded)))
    return np.concatenate([half, -half])


@cache
def _items(length: int) -> Reals:
    """Of one item of each weight from 1: log-modulus, whether its cosine is negative, and `factor_error`.

    Shape (3, MAX_WEIGHT, L/2 + 1). The characteristic function of the item, centred, is cos(pi f v / L).
    """
    frequencies = np.arange(length // 2 + 1, dtype=np.int64)
    turns = np.multiply.outer(np.arange(1, MAX_WEIGHT + 1, dtype=np.int64), frequencies) % (2 * length)
    np.subtract(turns, 2 * length, out=turns, where=turns > length)
    angle = (math.pi / length) * turns
    sine, cosine = np.sin(angle), np.cos(angle)
    modulus2 = np.maximum(cosine * cosine, 1e-300)
    flat: NDArray[np.float64] = np.zeros_like(angle)
    error = factor_error(angle, sine, cosine, flat, modulus2, flat, np.ones_like(angle))
    return np.stack([log_moduli(sine, modulus2, 1.0), cosine < 0.0, error])
