"""Sampled swaps of a vector of sums: for statistics that no grid can hold (macro F1, corpus BLEU, MCC).

Two ways to the same law. Where many items share their vector, binomials per distinct vector; otherwise packed
random bits times the matrix of vectors by BLAS, in blocks of bounded memory. Blocks have a Philox stream each,
so the answer depends on the seed alone (see `monte_carlo`). What is added up are the distinct sums themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ..lattice import EXACT_DOUBLE, Integers
from ..one_sum.monte_carlo import SAMPLES_PER_BLOCK, Estimate, blocks, heads, stream
from .form import JointForm

# A distinct vector costs about as much as this many single coins in the matrix product.
_COINS_PER_GROUP = 6
# Rows of coins at once, a power of two of them, and how many coins that may be.
_ROWS_AT_ONCE, COINS_AT_ONCE = 512, 1 << 22

States = Callable[[Integers], NDArray[np.bool_]]


def estimate(form: JointForm, extreme: States, *, samples: int, seed: int) -> Estimate:
    """Estimate P(S is extreme); `extreme` decides for states of shape (P, k)."""
    inside = sum(int(np.count_nonzero(extreme(states))) for states in draws(form, samples, seed))
    return Estimate(samples, seed, inside)


def draws(form: JointForm, samples: int, seed: int) -> Iterator[Integers]:
    """`samples` independent states S, in blocks of shape (P, k)."""
    # Without any coins there is one state, which a group of none gives as well.
    draw = _by_coin if form.nonzero and by_coin(form) else _by_group
    for block, size in blocks(samples):
        yield form.sums(draw(form, seed, block)[:size])


def by_coin(form: JointForm) -> bool:
    """Whether coins are tossed one by one, and added up in doubles, which hold such sums exactly."""
    if form.nonzero > _COINS_PER_GROUP * len(form.counts):
        return False
    sizes = np.abs(form.table).astype(np.float64)
    return float((form.counts @ sizes).max(initial=0.0)) < 0.5 * EXACT_DOUBLE


def _by_group(form: JointForm, seed: int, block: int) -> Integers:
    totals = np.zeros((SAMPLES_PER_BLOCK, form.table.shape[1]), dtype=np.int64)
    for vector, ones in zip(form.table, heads(form.counts, seed, block), strict=True):
        totals += np.multiply.outer(ones, vector)
    return totals


def _by_coin(form: JointForm, seed: int, block: int) -> Integers:
    vectors = np.repeat(form.table, form.counts, axis=0).astype(np.float64)
    bits = stream(seed, block)
    words = -(-len(vectors) // 64)
    rows = min(1 << (max(COINS_AT_ONCE // len(vectors), 1).bit_length() - 1), _ROWS_AT_ONCE)
    totals = np.empty((SAMPLES_PER_BLOCK, vectors.shape[1]), dtype=np.int64)
    for start in range(0, SAMPLES_PER_BLOCK, rows):
        raw = bits.random_raw(rows * words).astype("<u8").view(np.uint8)
        coins = np.unpackbits(raw.reshape(rows, -1), axis=1, count=len(vectors), bitorder="little")
        totals[start : start + rows] = np.rint(coins.astype(np.float64) @ vectors)
    return totals
