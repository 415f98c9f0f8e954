"""Implement the published algorithms from their pseudo-code, as the yardstick of the benchmark.

Source: Zmigrod, Vieira & Cotterell 2022, "Exact Paired-Permutation Testing for Structured Test Statistics", Algorithms 1 to 4 (Algorithm 5
is in `paper_tuples`). They are efficient NumPy: no Python loop over samples or cells, no small mass deleted. They do not add techniques
that the pseudo-code lacks: grouping equal effects, tilting, or cutting a window. Faster variants are separate functions beside the
transcription (`monte_carlo_packed`, `convolve_fft_tuned`), so that readers can judge the yardstick.

Effects are int64 arrays of shape (N,): `stay[n] = g(u_n, v_n)` and `swap[n] = g(v_n, u_n)`.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Convolution = Callable[[IntArray], FloatArray]
Statistic = Callable[[IntArray], IntArray]
Convolve = Callable[[FloatArray, FloatArray], FloatArray]

COIN_BLOCK_CELLS = 1 << 18
"""Coins that Algorithm 1 draws at a time: 2 MB as doubles, which fits the cache."""

DIRECT_CONVOLUTION_MAX = 512
"""Below this length of the shorter factor, a direct convolution beats an FFT (measured)."""

RESCALE_EVERY = 512
"""Items whose factors 1/2 Algorithm 3 applies in one pass (2^512 is far from overflow)."""


def absolute(sums: IntArray) -> IntArray:
    """h(x) = |x|, the two-sided test of section 3."""
    return np.abs(sums)


def monte_carlo(
    stay: IntArray, swap: IntArray, samples: int, seed: int = 0, h: Statistic = absolute
) -> float:
    """Algorithm 1 transcribed: an array of K x N coins, the chosen effect of each, and its row sums.

    Returns the share b/K of samples at least as large as the observed effect, as in the paper; 0 is possible.
    """
    generator = np.random.default_rng(seed)
    observed = h(stay.sum(keepdims=True))
    rows = _rows_per_block(stay.size, samples)
    exceedances = 0
    for start in range(0, samples, rows):
        shape = (min(rows, samples - start), stay.size)
        swapped = generator.integers(0, 2, size=shape, dtype=np.bool_)
        sums = np.where(swapped, swap, stay).sum(axis=1)
        exceedances += int(np.count_nonzero(h(sums) >= observed))
    return exceedances / samples


def monte_carlo_packed(
    stay: IntArray, swap: IntArray, samples: int, seed: int = 0, h: Statistic = absolute
) -> float:
    """Algorithm 1 as fast as NumPy allows: one random bit per coin, and the sums as a BLAS product.

    Still K x N coins. The sums are exact: |stay| + |swap - stay| must add up to less than 2^53.
    """
    generator = np.random.default_rng(seed)
    difference = (swap - stay).astype(np.float64)
    base = stay.sum()
    if int(np.abs(difference).sum()) + abs(int(base)) >= 2**53:
        raise OverflowError("the sums of Algorithm 1 leave the integers that a double holds")
    observed = h(stay.sum(keepdims=True))
    rows = _rows_per_block(stay.size, samples)
    row_bytes = -(-stay.size // 8)
    exceedances = 0
    for start in range(0, samples, rows):
        block = min(rows, samples - start)
        packed = np.frombuffer(generator.bytes(block * row_bytes), dtype=np.uint8).reshape(block, row_bytes)
        swapped = np.unpackbits(packed, axis=1, count=stay.size).astype(np.float64)
        sums = base + (swapped @ difference).astype(np.int64)
        exceedances += int(np.count_nonzero(h(sums) >= observed))
    return exceedances / samples


def exact_perm_test(stay: IntArray, swap: IntArray, convolve: Convolution, h: Statistic = absolute) -> float:
    """Algorithm 2: P(h(S) >= h(sum of stay)) from the pmf of S that `convolve` makes of the |stay - swap|.

    Each Z_n is its smaller effect plus 0 or |stay_n - swap_n|, so the pmf is a dense array that starts at the
    sum of the smaller effects: array plus offset.
    """
    mass = convolve(np.abs(stay - swap))
    offset = int(np.minimum(stay, swap).sum())
    support = np.arange(offset, offset + mass.size, dtype=np.int64)
    return float(mass[h(support) >= h(stay.sum(keepdims=True))].sum())


def convolve_dp(weights: IntArray) -> FloatArray:
    """Algorithm 3 with its inner loops as one shifted addition per item; O(N W) additions, W = sum of weights.

    The factors 1/2 are applied every `RESCALE_EVERY` items, which saves every second pass.
    """
    current = np.zeros(int(weights.sum()) + 1)
    following = np.zeros_like(current)
    current[0] = 1.0
    length, owed = 1, 0
    for weight in weights.tolist():
        if weight == 0:
            continue
        head = min(weight, length)
        following[:head] = current[:head]
        following[head:weight] = 0.0
        if weight < length:
            np.add(current[weight:length], current[: length - weight], out=following[weight:length])
        following[max(length, weight) : length + weight] = current[max(length - weight, 0) : length]
        current, following = following, current
        length, owed = length + weight, owed + 1
        if owed == RESCALE_EVERY:
            current[:length] *= 2.0**-RESCALE_EVERY
            owed = 0
    current *= 2.0**-owed
    return current


def convolve_fft(weights: IntArray) -> FloatArray:
    """Algorithm 4 transcribed: the convolution of the two halves by FFT, recursively; O(W log W log N)."""
    return _convolve_halves([_leaf(weight) for weight in weights.tolist()], _by_fft)


def convolve_fft_tuned(weights: IntArray) -> FloatArray:
    """Algorithm 4 with short factors convolved directly, which is faster, but not in the pseudo-code."""
    return _convolve_halves([_leaf(weight) for weight in weights.tolist()], _direct_or_by_fft)


def _convolve_halves(factors: list[FloatArray], convolve: Convolve) -> FloatArray:
    if len(factors) <= 1:
        return factors[0] if factors else _leaf(0)
    middle = len(factors) // 2
    return convolve(
        _convolve_halves(factors[:middle], convolve), _convolve_halves(factors[middle:], convolve)
    )


def _by_fft(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.asarray(fftconvolve(left, right), dtype=np.float64)


def _direct_or_by_fft(left: FloatArray, right: FloatArray) -> FloatArray:
    short = min(left.size, right.size) <= DIRECT_CONVOLUTION_MAX
    return np.convolve(left, right) if short else _by_fft(left, right)


@lru_cache(maxsize=4096)
def _leaf(weight: int) -> FloatArray:
    """Make the pmf of eq. 4, moved to start at zero: two halves `weight` apart, or a certainty."""
    mass = np.zeros(weight + 1)
    mass[0] += 0.5
    mass[weight] += 0.5
    return mass


def _rows_per_block(items: int, samples: int) -> int:
    return max(1, min(samples, COIN_BLOCK_CELLS // max(1, items)))
