"""The untilted characteristic function of short laws, from tables: the angles of all small weights are the same for all.

The window has a power of two points, so that there are few tables. On it one spectrum serves the law that is shown and, where
they are not small, p-values.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..lattice import CanonicalForm, once_per_form
from ..probability import UNIT_ROUNDOFF
from .spectrum import Spectrum, factor_error, log_moduli, negligible

# A table of the longest window has 1.6 MB.
_SHORTEST, LONGEST = 1 << 7, 1 << 11
MAX_WEIGHT = 64

_Rows = NDArray[np.float64]


def have_tables(form: CanonicalForm) -> bool:
    """Whether neither the range nor a weight is too large for a table."""
    return 0 < form.range < LONGEST and int(form.weights[-1]) <= MAX_WEIGHT


@once_per_form
def short_spectrum(form: CanonicalForm) -> Spectrum:
    """phi_c on all of the range, untilted; the form must `have_tables`."""
    length = max(1 << form.range.bit_length(), _SHORTEST)
    log_factor, turn, error_of = _table(length)
    groups, counts = form.weights - 1, form.counts.astype(np.float64)
    log_modulus = counts @ log_factor[groups]
    below = negligible(length)
    (large,) = (log_modulus > -below).nonzero()
    log_modulus = log_modulus[large]
    each = np.ix_(groups, large)
    error = UNIT_ROUNDOFF * (counts @ error_of[each] + 8.0 * np.abs(log_modulus) + 16.0)
    dropped = length // 2 + 1 - len(large)
    return Spectrum(length, large, log_modulus, counts @ turn[each], error, dropped, below)


@cache
def _table(length: int) -> tuple[_Rows, _Rows, _Rows]:
    """Log-modulus, phase and error (`factor_error`) of one item of each weight from 1; shape (MAX_WEIGHT, L/2 + 1) each."""
    frequencies = np.arange(length // 2 + 1, dtype=np.int64)
    turns = np.multiply.outer(np.arange(1, MAX_WEIGHT + 1, dtype=np.int64), frequencies) % (2 * length)
    np.subtract(turns, 2 * length, out=turns, where=turns > length)
    angle = (math.pi / length) * turns
    sine, cosine = np.sin(angle), np.cos(angle)
    modulus2 = np.maximum(cosine * cosine, 1e-300)
    flat, one = np.zeros((MAX_WEIGHT, 1)), np.ones((MAX_WEIGHT, 1))
    turn = np.arctan2(flat * sine, cosine)
    error = factor_error(angle, sine, cosine, turn, modulus2, flat, one)
    return log_moduli(sine, modulus2, 1.0), turn, error
