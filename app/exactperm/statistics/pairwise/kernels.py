"""Kernel sums of every item's value against the values of all others, one statistic at a time.

Each function takes the systems of a `Pool` (the values that items are compared with) and the items, and returns H_i(x)
for each item: the sum over the pool of the kernel with x in place of item i, times a factor that makes it an integer.
The item's values in the pool change H_i(u_i) and H_i(v_i) equally.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...engine.lattice import Integers
from ..scores import doubled_midranks
from .order import Placed

Indices = NDArray[np.int32]


def prefix_counts(points: Integers, prefixes: Integers, bounds: Integers) -> tuple[Integers, Integers]:
    """Count the points among the first `prefixes` that are less than a bound, and those equal to it.

    `points` are non-negative integers, shape (m,); `prefixes` has shape (k, n) with values in 0..m, and `bounds` shape
    (n,), non-negative integers. Both results have shape (k, n), up to a constant for each column: only differences of
    two rows are meaningful. O((m + k n) log(max)).
    """
    bits = max(int(points.max(initial=0)), int(bounds.max(initial=0)), 1).bit_length()
    rest, at = points.astype(np.int32), prefixes.astype(np.int32)
    less: Indices = np.zeros(at.shape, dtype=np.int32)
    for level in range(bits - 1, -1, -1):
        set_bits = (rest >> level) & 1 == 1
        zeros: Indices = np.zeros(len(rest) + 1, dtype=np.int32)
        np.cumsum(~set_bits, out=zeros[1:], dtype=np.int32)
        below = zeros[at]
        upper = (bounds >> level) & 1 == 1
        less += np.where(upper, below, 0)
        at = np.where(upper, zeros[-1] + at - below, below)
        rest = np.concatenate([rest[~set_bits], rest[set_bits]])
    return less.astype(np.int64), at.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Gold:
    """The true order of items; shape (n,) each.

    `group` are codes 0..n_groups-1; `rank` are dense ranks of gold within each group, from 0. `event` says which items
    of a concordance had their event, and of an auc which are positive; None elsewhere.
    """

    group: Integers
    n_groups: int
    rank: Integers
    event: np.ndarray[tuple[int], np.dtype[np.bool_]] | None = None

    def take(self, at: Integers) -> Gold:
        """Select the items at these positions, all or none of each group."""
        event = None if self.event is None else self.event[at]
        return Gold(self.group[at], self.n_groups, self.rank[at], event)


@dataclass(frozen=True, slots=True)
class Pool:
    """Values in the order of group and code: `key`, shape (m,), and the gold ranks of their items, in that order."""

    key: Integers
    rank: Integers
    width: int  # more than any code

    @classmethod
    def of(cls, systems: tuple[Placed, ...], gold: Gold, only: Integers | None = None) -> Pool:
        """Pool the values of some systems, of the items at the positions `only`, or of all."""
        kept = np.arange(len(gold.group)) if only is None else only
        width = max(int(system.upto.max(initial=0)) for system in systems) + 1
        key = np.concatenate([gold.group[kept] * width + system.code[kept] for system in systems])
        order = np.argsort(key, kind="stable")
        return cls(key[order], np.concatenate([gold.rank[kept]] * len(systems))[order], width)

    def prefixes(self, systems: tuple[Placed, ...], group: Integers, at: Integers) -> Integers:
        """Count values of the pool, shape (2 + 2 k, len(at)): before the group of each item at the positions `at`, up
        to the group's end, and of each of k systems below its value, and up to what ties with it.
        """
        start = group[at] * self.width
        bounds = [start, start + self.width]
        for system in systems:
            bounds += [start + system.below[at], start + system.upto[at]]
        return np.stack([np.searchsorted(self.key, bound, side="left") for bound in bounds])


Kernel = Callable[[tuple[Placed, ...], tuple[Placed, ...], Gold], Integers]


def auc(pool_of: tuple[Placed, ...], systems: tuple[Placed, ...], gold: Gold) -> Integers:
    """Sum 2 [x_i > y] + [x_i = y] over the negative y for a positive i, and the reverse; shape (k, n)."""
    assert gold.event is not None
    worth = np.zeros((len(systems), len(gold.group)), dtype=np.int64)
    for side in (True, False):
        of_side, others = np.flatnonzero(gold.event == side), np.flatnonzero(gold.event != side)
        pool = Pool.of(pool_of, gold, others)
        start, end, *bounds = pool.prefixes(systems, gold.group, of_side)
        for row, (below, upto) in enumerate(zip(bounds[::2], bounds[1::2], strict=True)):
            worth[row, of_side] = below + upto - 2 * start if side else 2 * end - below - upto
    return worth


def concordance(pool_of: tuple[Placed, ...], systems: tuple[Placed, ...], gold: Gold) -> Integers:
    """Sum 2 [x_i > y] + [x_i = y] over the events before i; the reverse over all after i, if i had its event."""
    assert gold.event is not None
    everyone, events = np.arange(len(gold.group)), np.flatnonzero(gold.event)
    worth = np.zeros((len(systems), len(everyone)), dtype=np.int64)
    for items, others in ((everyone, events), (events, everyone)):
        pool = Pool.of(pool_of, gold, others)
        counts = _Counts.of(pool, systems, gold, items)
        for row in range(len(systems)):
            below, upto = counts.bounds(row)
            if others is events:
                worth[row, items] += counts.less(below) + counts.less(upto)
            else:
                worth[row, items] += 2 * counts.more(counts.all) - counts.more(below) - counts.more(upto)
    return worth


def kendall(pool_of: tuple[Placed, ...], systems: tuple[Placed, ...], gold: Gold) -> Integers:
    """Sum sgn(x_i - y) sgn(g_i - g_y) over the pool."""
    at = np.arange(len(gold.group))
    counts = _Counts.of(Pool.of(pool_of, gold), systems, gold, at)

    def signs(prefix: int) -> Integers:
        return counts.less(prefix) - counts.more(prefix)

    rows = []
    for row in range(len(systems)):
        below, upto = counts.bounds(row)
        rows.append(signs(below) - signs(counts.all) + signs(upto))
    return np.stack(rows)


def pairwise_accuracy(pool_of: tuple[Placed, ...], systems: tuple[Placed, ...], gold: Gold) -> Integers:
    """Count the y of the pool that are in the order of gold with x_i, or tie where gold does."""
    at = np.arange(len(gold.group))
    counts = _Counts.of(Pool.of(pool_of, gold), systems, gold, at)
    rows = []
    for row in range(len(systems)):
        below, upto = counts.bounds(row)
        ordered = counts.less(below) + counts.more(counts.all) - counts.more(upto)
        rows.append(ordered + counts.equal(upto) - counts.equal(below))
    return np.stack(rows)


def spearman(pool_of: tuple[Placed, ...], systems: tuple[Placed, ...], gold: Gold) -> Integers:
    """Sum (G_i - G_y) sgn(x_i - y) over the pool, with G twice the mid-ranks of gold within the group."""
    doubled = midranks_by_group(gold)
    kept = Pool.of(pool_of, Gold(gold.group, gold.n_groups, doubled))
    start, end, *bounds = kept.prefixes(systems, gold.group, np.arange(len(gold.group)))
    sums = np.concatenate([[0], np.cumsum(kept.rank)])
    rows = []
    for below, upto in zip(bounds[::2], bounds[1::2], strict=True):
        signs = below + upto - start - end
        rows.append(doubled * signs - (sums[below] + sums[upto] - sums[start] - sums[end]))
    return np.stack(rows)


def midranks_by_group(gold: Gold) -> Integers:
    """Return twice the mid-ranks of gold within each group, from 2; shape (n,)."""
    sizes = np.bincount(gold.group, minlength=gold.n_groups)
    before = np.cumsum(sizes) - sizes
    width = int(gold.rank.max(initial=0)) + 1
    return np.asarray(doubled_midranks(gold.group * width + gold.rank) - 2 * before[gold.group])


@dataclass(frozen=True, slots=True)
class _Counts:
    """Count, for each item, the values in a prefix of its group in the pool that have less gold, and as much."""

    prefixes: Integers
    below: Integers
    same: Integers
    all: int = 1  # the row of the whole group

    @classmethod
    def of(cls, pool: Pool, systems: tuple[Placed, ...], gold: Gold, at: Integers) -> _Counts:
        """Count for the items at the positions `at`."""
        prefixes = pool.prefixes(systems, gold.group, at)
        below, same = prefix_counts(pool.rank, prefixes, gold.rank[at])
        return cls(prefixes - prefixes[0], below - below[0], same - same[0])

    def bounds(self, row: int) -> tuple[int, int]:
        """Return the rows of values below a system's value, and of values not above it."""
        return 2 + 2 * row, 3 + 2 * row

    def less(self, row: int) -> Integers:
        """Count the values of items with less gold."""
        return np.asarray(self.below[row])

    def equal(self, row: int) -> Integers:
        """Count the values of items with the same gold."""
        return np.asarray(self.same[row])

    def more(self, row: int) -> Integers:
        """Count the values of items with more gold."""
        return np.asarray(self.prefixes[row] - self.below[row] - self.same[row])
