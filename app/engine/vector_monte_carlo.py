"""Sampled swaps of a vector of sums: for statistics that no grid can hold (macro F1, corpus BLEU, MCC).

Two ways to the same law. Where many items share their vector, binomials per distinct vector; otherwise packed
random bits times the matrix of vectors by BLAS, in blocks of bounded memory. Blocks have a Philox stream each,
so the answer depends on the seed alone (see `monte_carlo`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from app.engine.lattice import Integers
from app.engine.monte_carlo import SAMPLES_PER_BLOCK, Estimate, blocks, heads, stream
from app.engine.vector_form import VectorForm

# Sums that a double holds exactly: BLAS adds in doubles.
_EXACT = 2**53
# A distinct vector costs about as much as this many single coins in the matrix product.
_COINS_PER_GROUP = 6
_ROWS_AT_ONCE = 512

States = Callable[[Integers], NDArray[np.bool_]]


def estimate(form: VectorForm, extreme: States, *, samples: int, seed: int) -> Estimate:
    """Estimate P(S is extreme); `extreme` decides for states of shape (P, k)."""
    inside = sum(int(np.count_nonzero(extreme(states))) for states in draws(form, samples, seed))
    return Estimate(samples, seed, inside)


def draws(form: VectorForm, samples: int, seed: int) -> Iterator[Integers]:
    """`samples` independent states S, in blocks of shape (P, k)."""
    by_coin = form.nonzero <= _COINS_PER_GROUP * len(form.counts)
    for block, size in blocks(samples):
        drawn = _by_coin(form, seed, block) if by_coin else _by_group(form, seed, block)
        yield form.states(drawn[:size])


def _by_group(form: VectorForm, seed: int, block: int) -> Integers:
    totals = np.zeros((SAMPLES_PER_BLOCK, form.rank), dtype=np.int64)
    for vector, ones in zip(form.vectors, heads(form.counts, seed, block), strict=True):
        totals += np.multiply.outer(ones, vector)
    return totals


def _by_coin(form: VectorForm, seed: int, block: int) -> Integers:
    vectors = np.repeat(form.vectors, form.counts, axis=0).astype(np.float64)
    if float(np.abs(vectors).sum(axis=0).max(initial=0.0)) >= _EXACT:
        return _by_group(form, seed, block)
    bits = stream(seed, block)
    words = -(-len(vectors) // 64)
    totals = np.empty((SAMPLES_PER_BLOCK, form.rank), dtype=np.int64)
    for start in range(0, SAMPLES_PER_BLOCK, _ROWS_AT_ONCE):
        raw = bits.random_raw(_ROWS_AT_ONCE * words).astype("<u8").view(np.uint8)
        coins = np.unpackbits(raw.reshape(_ROWS_AT_ONCE, -1), axis=1, count=len(vectors), bitorder="little")
        totals[start : start + _ROWS_AT_ONCE] = np.rint(coins.astype(np.float64) @ vectors)
    return totals
