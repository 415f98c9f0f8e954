"""Algorithm 5 of Zmigrod, Vieira & Cotterell 2022 (Appendix B): m additive functions, here those of F1.

As in Theorem 5, the pmfs are m-dimensional arrays, convolved in a product tree by m-dimensional FFTs. For F1 the four functions are tp and
incorrect of either system (eqs. 15 and 16), so the array has O(G^4 N^4) cells; `cells` computes the number beforehand.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
TupleStatistic = Callable[..., FloatArray]

TIE_TOLERANCE = 1e-12
"""h is computed in doubles, so that values equal as fractions may differ in the last bits; they must tie."""

MAX_CELLS = 1 << 24
"""Largest array accepted: 128 MB of masses, and about ten times that inside the FFTs."""


def f1_difference(tp_u: IntArray, in_u: IntArray, tp_v: IntArray, in_v: IntArray) -> FloatArray:
    """|F1(u) - F1(v)|, eq. 16 under an absolute value; F1 is 0 when there is nothing to count."""
    return np.abs(_f1(tp_u, in_u) - _f1(tp_v, in_v))


def f1_effects(counts_u: IntArray, counts_v: IntArray) -> tuple[IntArray, IntArray]:
    """Stay and swap tuples (tp, incorrect, tp, incorrect), shape (N, 4), from (N, 2) counts of each system."""
    return np.hstack([counts_u, counts_v]), np.hstack([counts_v, counts_u])


def cells(stay: IntArray, swap: IntArray) -> int:
    """Count the cells of the m-dimensional pmf of the sum."""
    return math.prod(int(extent) + 1 for extent in np.abs(stay - swap).sum(axis=0))


def exact_perm_test_m(stay: IntArray, swap: IntArray, h: TupleStatistic = f1_difference) -> float:
    """Algorithm 5: P(h(S) >= h(sum of stay)) for effects of shape (N, m).

    Raises MemoryError when the pmf would have more than `MAX_CELLS` cells.
    """
    if cells(stay, swap) > MAX_CELLS:
        raise MemoryError(f"a pmf of {cells(stay, swap):,} cells")
    lower = np.minimum(stay, swap)
    mass = _convolve_halves([_leaf(a, b) for a, b in zip(stay - lower, swap - lower, strict=True)])
    offset = lower.sum(axis=0)
    observed = float(h(*stay.sum(axis=0)))
    total = 0.0
    for first in range(mass.shape[0]):  # one slab at a time: h needs temporaries as large as its arguments
        axes = [np.arange(extent) for extent in mass.shape[1:]]
        grid = np.meshgrid(*axes, indexing="ij", sparse=True)
        others = [start + axis for start, axis in zip(offset[1:], grid, strict=True)]
        values = np.broadcast_to(h(offset[0] + np.int64(first), *others), mass.shape[1:])
        total += float(mass[first][values >= observed - TIE_TOLERANCE].sum())
    return total


def _leaf(stay: IntArray, swap: IntArray) -> FloatArray:
    mass = np.zeros(np.maximum(stay, swap) + 1)
    mass[tuple(stay)] += 0.5
    mass[tuple(swap)] += 0.5
    return mass


def _convolve_halves(leaves: list[FloatArray]) -> FloatArray:
    if len(leaves) == 1:
        return leaves[0]
    middle = len(leaves) // 2
    left, right = _convolve_halves(leaves[:middle]), _convolve_halves(leaves[middle:])
    if min(left.size, right.size) == 1:
        return left * right
    return np.asarray(fftconvolve(left, right), dtype=np.float64)


def _f1(tp: IntArray, incorrect: IntArray) -> FloatArray:
    denominator = 2.0 * tp + incorrect
    scores: FloatArray = np.zeros_like(denominator)
    np.divide(2.0 * tp, denominator, out=scores, where=denominator > 0)
    return scores
