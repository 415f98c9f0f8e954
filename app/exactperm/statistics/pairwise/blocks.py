"""Pairs of small groups: every item against every other of its group, in blocks of groups of similar size.

A kernel is defined by the value of a pair of items i and y where y's value is below x_i, ties with it, or is above
it. All three depend on gold alone, and fit in one byte for groups of up to MOST items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...engine.lattice import Integers
from .kernels import Gold, midranks_by_group
from .order import Placed

# The largest group whose differences of doubled ranks stay within 127.
MOST = 64
# Groups of at most this many items share a block; smaller ones leave places empty.
_WIDTHS = (4, 8, 12, 16, 24, 32, 48, MOST)
# Pairs of a block, few enough for the cache.
_PAIRS = 1 << 18

Bytes = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about items apart from their values, in blocks: dense ranks of gold from 0, twice the mid-ranks up to a
    constant, events.
    """

    rank: Bytes
    doubled: Bytes
    event: Bytes

    def along(self, axis: int) -> Facts:
        """Insert an axis."""
        return Facts(*(np.expand_dims(fact, axis) for fact in (self.rank, self.doubled, self.event)))


@dataclass(frozen=True, slots=True)
class Pairs:
    """The values of pairs: `tied`, and `below` and `above` less `tied`; None is 0."""

    below: Bytes
    above: Bytes
    tied: Bytes | None = None

    def only(self, counted: NDArray[np.bool_]) -> Pairs:
        """Set the values of uncounted pairs to 0."""
        below, above = (worth * counted for worth in (self.below, self.above))
        return Pairs(below, above, None if self.tied is None else self.tied * counted)

    def summed(self, below: NDArray[np.bool_], above: NDArray[np.bool_]) -> NDArray[np.int16]:
        """Sum over the first axis, for values below x_i, or above it."""
        worth = self.below * below.view(np.int8)
        worth += self.above * above.view(np.int8)
        if self.tied is not None:
            worth += self.tied
        return np.asarray(worth.sum(axis=0, dtype=np.int16))


# Maps the facts of y and those of i to values of pairs.
Worth = Callable[[Facts, Facts], Pairs]


def auc(other: Facts, item: Facts) -> Pairs:
    """Return 2 [x_i > y] + [x_i = y] for a positive i and a negative y, and the reverse."""
    return _halves((1 - other.event) * item.event, other.event * (1 - item.event))


def concordance(other: Facts, item: Facts) -> Pairs:
    """Return the values of `auc` for an event y before i, and the reverse for an event i before y."""
    later = (other.rank > item.rank).view(np.int8)
    earlier = (other.rank < item.rank).view(np.int8)
    return _halves(earlier * other.event, later * item.event)


def _halves(better: Bytes, worse: Bytes) -> Pairs:
    """Return the pairs in which i should have the larger value, or the smaller one."""
    signed = better - worse
    return Pairs(signed, -signed, better + worse)


def kendall(other: Facts, item: Facts) -> Pairs:
    """Return sgn(x_i - y) sgn(g_i - g_y)."""
    sign = (item.rank > other.rank).view(np.int8) - (item.rank < other.rank).view(np.int8)
    return Pairs(sign, -sign)


def pairwise_accuracy(other: Facts, item: Facts) -> Pairs:
    """Return 1 where x_i and y are in the order of gold, or tie where gold does."""
    tied = (other.rank == item.rank).view(np.int8)
    below, above = (
        (first > second).view(np.int8) for first, second in ((item.rank, other.rank), (other.rank, item.rank))
    )
    return Pairs(below - tied, above - tied, tied)


def spearman(other: Facts, item: Facts) -> Pairs:
    """Return (G_i - G_y) sgn(x_i - y), with G twice the mid-ranks of gold."""
    apart = item.doubled - other.doubled
    return Pairs(apart, -apart)


def worth(pairs_of: Worth, pools: tuple[Placed, ...], systems: tuple[Placed, ...], gold: Gold) -> Integers:
    """Sum each item of each system against the values of each pool in its group; shape (pools, systems, n).

    No group has more than MOST items. An item is compared with itself as well.
    """
    # They range from 2 to 2 MOST, so that they fit bytes after subtracting the middle.
    rank, doubled = gold.rank.astype(np.int8), (midranks_by_group(gold) - MOST).astype(np.int8)
    event = np.zeros_like(rank) if gold.event is None else gold.event.view(np.int8)
    codes = [pool.code.astype(np.int32) for pool in pools]
    bounds = [(system.below.astype(np.int32), system.upto.astype(np.int32)) for system in systems]
    sums = np.zeros((len(pools), len(systems), len(rank)), dtype=np.int64)
    for at, filled in _blocks(gold):
        # The axes: items to sum over, items to sum for, groups.
        facts = Facts(rank[at], doubled[at], event[at])
        pairs = pairs_of(facts.along(1), facts.along(0)).only(filled[:, None])
        for totals, (below, upto) in zip(sums.swapaxes(0, 1), bounds, strict=True):
            lower, upper = below[at][None], upto[at][None]
            for row, code in zip(totals, codes, strict=True):
                values = code[at][:, None]
                row[at[filled]] = pairs.summed(values < lower, values >= upper)[filled]
    return sums


def _blocks(gold: Gold) -> Iterator[tuple[Integers, NDArray[np.bool_]]]:
    """Yield positions of items, shape (places, groups), and which places are filled; each item is in one block."""
    sizes = np.bincount(gold.group, minlength=gold.n_groups)
    first = np.cumsum(sizes) - sizes
    order = np.argsort(gold.group, kind="stable")
    least = 0
    for width in _WIDTHS:
        groups = np.flatnonzero((sizes > least) & (sizes <= width))
        least, step = width, _PAIRS // width**2
        for start in range(0, len(groups), step):
            some = groups[start : start + step]
            places = np.arange(width)[:, None]
            filled = places < sizes[some]
            yield order[np.where(filled, first[some] + places, 0)], filled
