"""Sampled swaps of a vector of sums, for statistics that no grid can hold (corpus BLEU; macro F1 and MCC of many
classes).

Where many items share their vector, one binomial per distinct vector; otherwise packed random bits times the matrix of
vectors by BLAS, in blocks of bounded memory. Each block has its own Philox stream, so the answer depends on the seed
alone (see `one_sum.monte_carlo`). The distinct sums are added up, not lattice coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..lattice import EXACT_DOUBLE, Integers
from ..one_sum.monte_carlo import SAMPLES_PER_BLOCK, blocks, heads, stream
from .form import JointForm

# A distinct vector costs about as much as this many single items in the matrix product;
# `python -m loadtest.bench --section plan` times the sampling.
_ITEMS_PER_GROUP = 6
# Single precision holds all integers up to this.
_EXACT_SINGLE = 1 << 24
# Samples per matrix product, a power of two, and the largest number of random bits in one.
_ROWS_AT_ONCE, BITS_AT_ONCE = 512, 1 << 22


def draws(form: JointForm, samples: int, seed: int) -> Iterator[Integers]:
    """Draw `samples` independent states S, in blocks of shape (P, k)."""
    # Without items that swap there is one state; `_by_group` returns it.
    draw = _by_item if form.nonzero and by_item(form) else _by_group
    for block, size in blocks(samples):
        yield form.sums(draw(form, seed, block)[:size])


def draws_with_control(
    form: JointForm, effects: Integers, samples: int, seed: int
) -> Iterator[tuple[Integers, Integers]]:
    """Draw the states of `draws` with the sums of effects times heads, shape (P,); `effects` has the shape (U,)."""
    draw = _by_item if form.nonzero and by_item(form) else _by_group
    wider = replace(form, table=np.column_stack([form.table, effects]))
    for block, size in blocks(samples):
        totals = draw(wider, seed, block)[:size]
        yield form.sums(totals[:, :-1]), totals[:, -1]


def by_item(form: JointForm) -> bool:
    """Return whether to draw a random bit per item; the sums are then added in doubles, which hold them exactly."""
    if form.nonzero > _ITEMS_PER_GROUP * len(form.counts):
        return False
    return _most(form) < 0.5 * EXACT_DOUBLE


def _most(form: JointForm) -> float:
    """Return the largest possible |sum| of rows."""
    sizes = np.abs(form.table).astype(np.float64)
    return float((form.counts @ sizes).max(initial=0.0))


def _by_group(form: JointForm, seed: int, block: int) -> Integers:
    totals = np.zeros((SAMPLES_PER_BLOCK, form.table.shape[1]), dtype=np.int64)
    for vector, ones in zip(form.table, heads(form.counts, seed, block), strict=True):
        totals += np.multiply.outer(ones, vector)
    return totals


def _by_item(form: JointForm, seed: int, block: int) -> Integers:
    # Sums are exact in either precision; single takes half the time.
    kind: type[np.floating[Any]] = np.float32 if _most(form) < _EXACT_SINGLE else np.float64
    vectors: NDArray[np.floating[Any]] = np.repeat(form.table, form.counts, axis=0).astype(kind)
    bits = stream(seed, block)
    words = -(-len(vectors) // 64)
    rows = min(1 << (max(BITS_AT_ONCE // len(vectors), 1).bit_length() - 1), _ROWS_AT_ONCE)
    totals = np.empty((SAMPLES_PER_BLOCK, vectors.shape[1]), dtype=np.int64)
    for start in range(0, SAMPLES_PER_BLOCK, rows):
        raw = bits.random_raw(rows * words).astype("<u8").view(np.uint8)
        swaps = np.unpackbits(raw.reshape(rows, -1), axis=1, count=len(vectors), bitorder="little")
        totals[start : start + rows] = np.rint(swaps.astype(kind) @ vectors)
    return totals
