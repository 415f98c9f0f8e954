"""The family's largest statistics under sampled signs: the number of samples that reach each step's threshold.

Each block of samples has its own Philox stream for each data set, so that the counts depend on the seed alone (see
`one_sum.monte_carlo`). Statistics are compared with thresholds as integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..lattice import Integers
from ..one_sum.monte_carlo import SAMPLES_PER_BLOCK, blocks, heads, stream
from .family import Family, SignedSums

# Random signs at once, and entries of the largest table that maps sums to steps.
_BITS_AT_ONCE = 1 << 21
_TABLE = 1 << 23
# A distinct row costs about as much as _ITEMS_PER_GROUP single units; _GROUPS_AT_ONCE rows are drawn at once.
_ITEMS_PER_GROUP, _GROUPS_AT_ONCE = 6, 256
# Nanoseconds for each sign, each product, and each test of a sample.
_PER_SIGN, _PER_PRODUCT, _PER_TEST = 5.0, 0.5, 30.0


def seconds(parts: Sequence[tuple[int, int, int]], samples: int) -> float:
    """Bound the time of `exceedances`; `parts` are the tests, swapping units and columns of each data set."""
    drawn = SAMPLES_PER_BLOCK * -(-samples // SAMPLES_PER_BLOCK)
    each = sum(
        units * (_PER_SIGN + _PER_PRODUCT * columns) + _PER_TEST * tests for tests, units, columns in parts
    )
    return 1e-9 * drawn * each


def exceedances(family: Family, samples: int, seed: int) -> Integers:
    """Count the samples with max over R_i of T_k >= t_i, shape (g,)."""
    counts = np.zeros(family.steps, dtype=np.int64)
    order = np.argsort(family.step, kind="stable")
    ranked = family.step[order]
    starts = np.searchsorted(ranked, np.arange(family.steps))
    lookup = _Lookup(family, order)
    steps = np.arange(family.steps, dtype=np.int32)[:, None]
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    for block, size in blocks(samples):
        rows = max(min(_BITS_AT_ONCE // max(sum(part.units for part in family.parts), 1), size), 1)
        states = [_Signs(part, seed, block, number) for number, part in enumerate(family.parts)]
        for start in range(0, size, rows):
            some = min(rows, size - start)
            first = np.empty((len(family), some), dtype=np.int32)
            for (at, part), state in zip(family.places, states, strict=True):
                sums = np.ascontiguousarray(state.sums(some).T)
                for k in range(len(part)):
                    column = sums[part.first[k]]
                    if part.second[k] >= 0:
                        column = column - sums[part.second[k]]
                    first[place[at + k]] = lookup(int(place[at + k]), column)
            # The earliest step that any test of R_i, those at a step and behind it, reaches.
            earliest = np.minimum.accumulate(first[::-1], axis=0)[::-1][starts]
            counts += np.count_nonzero(earliest <= steps, axis=1)
    return counts


class _Lookup:
    """Maps sums to the first step whose threshold they reach; tests by their rank."""

    def __init__(self, family: Family, order: Integers) -> None:
        self.family, self.order = family, order
        self.low, self.high = family.thresholds.min(axis=0), family.thresholds.max(axis=0)
        spans = self.high.astype(np.float64) - self.low.astype(np.float64) + 2.0
        self.tables: list[NDArray[np.int32]] | None = None
        if float(spans.sum()) <= _TABLE:
            self.tables = [
                family.first(k, np.arange(int(self.low[k]) - 1, int(self.high[k]) + 1)).astype(np.int32)
                if not family.two_sided or self.low[k] > 0
                else self._from_zero(k)
                for k in order.tolist()
            ]

    def _from_zero(self, k: int) -> NDArray[np.int32]:
        """Return the table from -1 on, below any absolute value."""
        values = np.maximum(np.arange(int(self.low[k]) - 1, int(self.high[k]) + 1), 0)
        return self.family.first(k, values).astype(np.int32)

    def __call__(self, rank: int, sums: Integers) -> NDArray[np.int32]:
        k = int(self.order[rank])
        if self.tables is None:
            return self.family.first(k, sums).astype(np.int32)
        values = np.abs(sums) if self.family.two_sided else sums
        return np.asarray(self.tables[rank].take(values - (self.low[k] - 1), mode="clip"))


class _Signs:
    """The samples of one data set in one block, taken in turn."""

    def __init__(self, part: SignedSums, seed: int, block: int, number: int) -> None:
        self.part = part
        self.total = part.base.sum(axis=0)
        # Blocks are 2**128 apart, data sets 2**192.
        counter = block + (number << 64)
        self.bits = stream(seed, counter)
        self.words = -(-part.units // 64)
        self.kind: type[Any] = np.float64 if part.doubles else np.int64
        rows, counts = part.grouped
        self.grouped = part.units > _ITEMS_PER_GROUP * len(counts)
        self.base = (rows if self.grouped else part.base).astype(self.kind)
        self.sampled = self._by_group(counts, seed, counter) if self.grouped else None
        self.taken = 0

    def sums(self, rows: int) -> Integers:
        """Return sums of the columns of `base` with random signs, shape (rows, B)."""
        if self.sampled is not None:
            self.taken += rows
            return self.sampled[self.taken - rows : self.taken]
        raw = self.bits.random_raw(rows * self.words).astype("<u8").view(np.uint8)
        swaps = np.unpackbits(raw.reshape(rows, -1), axis=1, count=self.part.units, bitorder="little")
        return self._signed(swaps.astype(self.kind) @ self.base)

    def _by_group(self, counts: Integers, seed: int, counter: int) -> Integers:
        """Draw a whole block, with one binomial for all units with the same row."""
        kept: NDArray[Any] = np.zeros((SAMPLES_PER_BLOCK, self.base.shape[1]), dtype=self.kind)
        drawn = heads(counts, seed, counter)
        for start in range(0, len(counts), _GROUPS_AT_ONCE):
            some = list(islice(drawn, _GROUPS_AT_ONCE))
            kept = kept + np.column_stack(some).astype(self.kind) @ self.base[start : start + len(some)]
        return self._signed(kept)

    def _signed(self, kept: NDArray[Any]) -> Integers:
        """Return the sums where the units in `kept` have sign 1 and the others -1."""
        whole = np.rint(kept).astype(np.int64) if self.part.doubles else kept
        return np.asarray(2 * whole - self.total, dtype=np.int64)
