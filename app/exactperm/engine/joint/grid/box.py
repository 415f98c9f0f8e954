"""Boxes of lattice points: the mass outside them, their sums, and their extreme cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...lattice import Integers, Reals
from ...probability import SMALLEST
from ...tilting import bernstein_reach
from ..form import JointForm, means
from ..tilt import Tilted

# Maps k arrays that broadcast against each other to the mask of extreme sums, in their common shape.
Extreme = Callable[[Sequence[Integers]], NDArray[np.bool_]]

# Cells whose statistic is computed at once, few enough for the cache.
_CELLS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class Box:
    """Cells low[a] .. low[a] + shape[a] - 1 on each axis; `outside` bounds the mass it misses.

    `log_outside` is its natural logarithm, for masses far below the smallest double; minus infinity when the box
    holds the whole support.
    """

    low: Integers
    shape: tuple[int, ...]
    outside: float
    log_outside: float = -math.inf

    @property
    def cells(self) -> int:
        """The number of lattice points in the box."""
        return math.prod(self.shape)


def bounding_box(form: JointForm, law: Tilted, outside: float) -> Box:
    """Return an interval on every axis, cut to the support; together they miss at most `outside` of the law's mass.

    Under a tilt these are Bernstein's intervals, otherwise Hoeffding's: a swap of step v is within v / 2 of its
    mean, so the variance is the sub-Gaussian bound (Boucheron, Lugosi & Massart 2013, sections 2.6 and 2.8).
    """
    return box_missing(form, law, math.log(outside))


def box_missing(form: JointForm, law: Tilted, log_outside: float) -> Box:
    """Compute `bounding_box` from the natural logarithm of the bound on the missed mass."""
    log_odds = math.log(2.0 * form.rank) - log_outside
    centre = means(form, law.tau)
    bernstein = bool(law.theta.any())
    low, shape, cut = [], [], 0
    for axis in range(form.rank):
        steps = form.vectors[:, axis].astype(np.float64)
        variance = 0.25 * float(np.dot(form.counts * law.sech2, steps * steps))
        largest = float(np.abs(steps).max()) if bernstein else 0.0
        reach = math.ceil(bernstein_reach(log_odds, largest, variance)) + 1
        first = max(int(form.low[axis]), math.floor(float(centre[axis])) - reach)
        last = min(int(form.high[axis]), math.ceil(float(centre[axis])) + reach)
        cut += last - first < int(form.high[axis] - form.low[axis])
        low.append(first)
        shape.append(last - first + 1)
    corner = np.array(low, dtype=np.int64)
    if cut == 0:
        return Box(corner, tuple(shape), 0.0)
    log_missed = log_outside + math.log(cut / form.rank)
    return Box(corner, tuple(shape), max(math.exp(log_missed), SMALLEST), log_missed)


def mask_of(form: JointForm, box: Box, extreme: Extreme) -> NDArray[np.bool_]:
    """Return which cells of the box are extreme, shape box.shape."""
    masks = [mask_of_slab(form, box, extreme, *slab) for slab in slabs(box)]
    return masks[0] if len(masks) == 1 else np.concatenate(masks)


def slabs(box: Box) -> Iterator[tuple[int, int]]:
    """Yield slabs [start, stop) of the first axis whose cells fit the cache."""
    rows = max(_CELLS_AT_ONCE // max(box.cells // box.shape[0], 1), 1)
    for start in range(0, box.shape[0], rows):
        yield start, min(start + rows, box.shape[0])


def mask_of_slab(form: JointForm, box: Box, extreme: Extreme, start: int, stop: int) -> NDArray[np.bool_]:
    """Return which cells of a slab of the box are extreme."""
    extreme_cells = extreme(box_sums(form, box, start, stop))
    return np.asarray(np.broadcast_to(extreme_cells, (stop - start, *box.shape[1:])))


def box_sums(form: JointForm, box: Box, start: int = 0, stop: int | None = None) -> list[Integers]:
    """Return the k sums on a slab of the box, each an array that extends only along the axes it depends on."""
    stop = box.shape[0] if stop is None else stop
    # The coordinates along each axis.
    lines = []
    for axis, (low, size) in enumerate(zip(box.low.tolist(), box.shape, strict=True)):
        first, last = (start, stop) if axis == 0 else (0, size)
        lines.append(along(axis, form.rank, np.arange(low + first, low + last)))
    sums = []
    for origin, steps in zip(form.origin.tolist(), form.steps.T.tolist(), strict=True):
        total = np.full((1,) * form.rank, origin, dtype=np.int64)
        for line, step in zip(lines, steps, strict=True):
            if step:
                total = total + step * line
        sums.append(total)
    return sums


def along(axis: int, rank: int, line: NDArray[Any]) -> NDArray[Any]:
    """Reshape a line of values, shape (L,), to lie along one axis of `rank`."""
    return line.reshape([-1 if a == axis else 1 for a in range(rank)])


# A region of a box as runs of cells along the last axis, to save memory.


@dataclass(frozen=True, slots=True)
class Runs:
    """The cells (head, first) .. (head, last), inclusive: `head` (I, r - 1), `first` and `last` (I,)."""

    head: Integers
    first: Integers
    last: Integers

    def __len__(self) -> int:
        return len(self.first)

    def ends(self) -> tuple[Integers, Integers]:
        """Return the two end cells of every run, shape (I, r) each."""
        return np.column_stack((self.head, self.first)), np.column_stack((self.head, self.last))

    def table(self) -> Integers:
        """Return head, first and last of every run, shape (I, r + 1)."""
        return np.column_stack((self.head, self.first, self.last))

    def cells(self) -> int:
        """Return the total number of cells."""
        return int((self.last - self.first + 1).sum())


def runs_of(form: JointForm, box: Box, extreme: Extreme) -> Runs:
    """Return the extreme cells of the box, slab by slab of its first axis."""
    heads, firsts, lasts = [], [], []
    for start, stop in slabs(box):
        mask = mask_of_slab(form, box, extreme, start, stop)
        before, after = np.zeros_like(mask), np.zeros_like(mask)
        before[..., 1:], after[..., :-1] = mask[..., :-1], mask[..., 1:]
        opening, closing = np.nonzero(mask & ~before), np.nonzero(mask & ~after)
        head = np.column_stack(
            [index.astype(np.int64) for index in opening[:-1]] or [opening[0][:, None][:, :0]]
        )
        if form.rank > 1:
            head[:, 0] += start
        heads.append(head + box.low[:-1])
        offset = int(box.low[-1]) + (start if form.rank == 1 else 0)
        firsts.append(opening[-1] + offset)
        lasts.append(closing[-1] + offset)
    return Runs(np.concatenate(heads), np.concatenate(firsts), np.concatenate(lasts))


def split(runs: Runs, direction: Reals, level: float) -> tuple[Runs, Runs]:
    """Split the cells into those with direction . x > level and the others, cutting runs at the plane."""
    slope = float(direction[-1])
    base = runs.head @ direction[:-1]
    if slope == 0.0:
        above = base > level
        return chosen(runs, above), chosen(runs, ~above)
    # The last cell on the lower side of the plane, going up the run when the slope is positive.
    edge = np.floor((level - base) / slope) if slope > 0 else np.ceil((level - base) / slope)
    edge = np.clip(edge, -(2.0**52), 2.0**52).astype(np.int64)
    if slope > 0:
        high = Runs(runs.head, np.maximum(runs.first, edge + 1), runs.last)
        low = Runs(runs.head, runs.first, np.minimum(runs.last, edge))
    else:
        high = Runs(runs.head, runs.first, np.minimum(runs.last, edge - 1))
        low = Runs(runs.head, np.maximum(runs.first, edge), runs.last)
    return chosen(high, high.first <= high.last), chosen(low, low.first <= low.last)


def chosen(runs: Runs, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Runs:
    """Return the runs where the mask holds."""
    return Runs(runs.head[mask], runs.first[mask], runs.last[mask])


def clipped(runs: Runs, box: Box) -> Runs:
    """Clip the runs to the box."""
    top = box.low + np.array(box.shape, dtype=np.int64) - 1
    inside = ((runs.head >= box.low[:-1]) & (runs.head <= top[:-1])).all(axis=1)
    first, last = np.maximum(runs.first, box.low[-1]), np.minimum(runs.last, top[-1])
    return chosen(Runs(runs.head, first, last), inside & (first <= last))


def lowest_cell(runs: Runs, theta: Reals) -> Reals:
    """Return the cell x of the runs with the least theta . x, shape (r,)."""
    ends = runs.first if theta[-1] >= 0.0 else runs.last
    best = int((runs.head @ theta[:-1] + ends * theta[-1]).argmin())
    return np.append(runs.head[best], ends[best]).astype(np.float64)


def heights(runs: Runs, theta: Reals, centre: Reals) -> Reals:
    """Return the least theta . (x - centre) over the cells of each run, shape (I,)."""
    ends = runs.first if theta[-1] >= 0.0 else runs.last
    return np.asarray((runs.head - centre[:-1]) @ theta[:-1] + (ends - centre[-1]) * theta[-1])


def nearest(runs: Runs, centre: Reals, precision: Reals) -> Reals:
    """Return the cell of the runs nearest to `centre` in the metric of `precision` (r, r)."""
    # Along a run the squared distance is a parabola: its vertex, clipped to the run, is the nearest cell.
    shifted = runs.head - centre[:-1]
    pull = shifted @ precision[:-1, -1]
    vertex = centre[-1] - pull / max(float(precision[-1, -1]), 1e-300)
    at = np.clip(np.rint(vertex), runs.first, runs.last)
    centred = np.column_stack((shifted, at - centre[-1]))
    distance = np.einsum("pi,ij,pj->p", centred, precision, centred)
    best = int(distance.argmin())
    return np.append(runs.head[best].astype(np.float64), at[best])
