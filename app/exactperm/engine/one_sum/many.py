"""Two-sided p-values, not small ones, of many sums at once: no tilt, and one table of cosines for all.

For d with c_v items of size v, X = sum +-d / 2 has the characteristic function prod_v cos(pi f v / L)**c_v at the angle
2 pi f / L. The logarithms for all sums are one matrix product, counts times a table. With k = |sum d| and K = k - 1,

    p = 1 - P(2 |X| < k),   P(2 |X| < k) = (K + 2 sum_{f > 0} phi(f) sin(K pi f / L) / sin(pi f / L)) / L

for odd L, except for the mass outside the window (Hoeffding 1963, theorem 2). The error of one minus a mass is
absolute, so p must be far above it; small p-values need the tilt of `fft`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..lattice import Integers, Reals
from ..probability import UNIT_ROUNDOFF

# The mass outside the window.
_OUTSIDE = 1e-18
# The largest number of cells of an array.
_CELLS = 1 << 21
# Frequencies of a smaller modulus are omitted.
_NEGLIGIBLE = 1e-25


def window(counts: Integers, observed: Integers) -> int:
    """Return an odd L for all sums, `counts` of sizes 1..V, shape (m, V), and `observed` |sum d|, shape (m,)."""
    squares = counts @ np.square(np.arange(1, counts.shape[1] + 1, dtype=np.float64))
    reach = np.sqrt(0.5 * math.log(2.0 / _OUTSIDE) * squares) + 0.5 * observed
    points = math.ceil(float(reach.max(initial=1.0))) + 2
    return points + 1 - points % 2


def two_sided(counts: Integers, observed: Integers) -> tuple[Reals, Reals]:
    """Return P(|S| >= observed) and bounds on its absolute error, shape (m,) each; `observed` >= 1 and attainable.

    `counts`, shape (m, V), are the numbers of items of size 1, ..., V in each sum.
    """
    length = window(counts, observed)
    frequencies = np.arange(1, length // 2 + 1, dtype=np.int64)
    sizes = np.arange(1, counts.shape[1] + 1, dtype=np.int64)
    # Angles f v / L half-turns, reduced in integers.
    cosine, angle = _cosine(np.multiply.outer(sizes, frequencies), length)
    log_modulus = np.log(np.abs(cosine))
    tangent = np.abs(angle) * np.sqrt(np.maximum(1.0 - cosine * cosine, 0.0)) / np.abs(cosine)
    off = UNIT_ROUNDOFF * (8.0 + 8.0 * tangent + (8.0 + len(sizes)) * np.abs(log_modulus))
    negative = (cosine < 0.0).astype(np.float64)
    parts = max(_CELLS // max(len(frequencies), 1), 1)
    p, error = np.empty(len(counts)), np.empty(len(counts))
    for start in range(0, len(counts), parts):
        rows = slice(start, start + parts)
        block, points = counts[rows].astype(np.float64), observed[rows] - 1
        modulus = np.exp(block @ log_modulus)
        large = modulus.max(axis=0, initial=0.0) >= _NEGLIGIBLE
        modulus = modulus[:, large]
        signed = np.where((block @ negative[:, large]) % 2.0 == 1.0, -modulus, modulus)
        kernel, kernel_error = _kernel(points, frequencies[large], length)
        terms = signed * kernel
        # An error x of a logarithm is a relative error e**x - 1; where that is large, the modulus is negligible.
        relative = np.expm1(np.minimum(block @ off[:, large], 1.0)) + 8.0 * UNIT_ROUNDOFF
        wrong = (np.abs(terms) * relative + modulus * kernel_error).sum(axis=1)
        # A kernel is at most L / 2.
        wrong += _NEGLIGIBLE * length * length
        mass = (points + 2.0 * np.array([math.fsum(row) for row in terms.tolist()])) / length
        p[rows] = 1.0 - mass
        error[rows] = 1.01 * (2.0 * wrong / length + 4.0 * UNIT_ROUNDOFF * (1.0 + np.abs(mass))) + _OUTSIDE
    return p, error


def _kernel(points: Integers, frequencies: Integers, length: int) -> tuple[Reals, Reals]:
    """Return sin(K pi f / L) / sin(pi f / L), shape (m, F), and a bound on its absolute error."""
    turns = np.multiply.outer(points, frequencies) % (2 * length)
    turns = np.where(turns > length, turns - 2 * length, turns)
    below = np.sin((math.pi / length) * frequencies)
    kernel = np.sin((math.pi / length) * turns) / below
    return kernel, UNIT_ROUNDOFF * (16.0 / below + 8.0 * np.abs(kernel))


def _cosine(turns: NDArray[np.int64], length: int) -> tuple[Reals, Reals]:
    """Return cos(pi turns / L), never 0 as L is odd, and the angle reduced to [-pi, pi]."""
    reduced = turns % (2 * length)
    angle = (math.pi / length) * np.where(reduced > length, reduced - 2 * length, reduced)
    return np.cos(angle), angle
