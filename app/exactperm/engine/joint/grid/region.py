"""A region of a box as runs of cells along its last axis, which takes little memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...lattice import Integers, Reals
from ..form import JointForm
from .box import Box, Extreme, mask_of_slab, slabs


@dataclass(frozen=True, slots=True)
class Runs:
    """Cells (head, first) .. (head, last), ends included: head (I, r - 1), first and last (I,)."""

    head: Integers
    first: Integers
    last: Integers

    def __len__(self) -> int:
        return len(self.first)

    def ends(self) -> tuple[Integers, Integers]:
        """The two end cells of every run, shape (I, r) each."""
        return np.column_stack((self.head, self.first)), np.column_stack((self.head, self.last))

    def table(self) -> Integers:
        """Head, first and last of every run, shape (I, r + 1)."""
        return np.column_stack((self.head, self.first, self.last))

    def cells(self) -> int:
        """How many cells there are in all."""
        return int((self.last - self.first + 1).sum())


def runs_of(form: JointForm, box: Box, extreme: Extreme) -> Runs:
    """The extreme cells of the box, slab by slab of its first axis."""
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
    """The cells with direction . x > level, and the others; a run is cut where the plane meets it."""
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
    """The runs where the mask holds."""
    return Runs(runs.head[mask], runs.first[mask], runs.last[mask])


def clipped(runs: Runs, box: Box) -> Runs:
    """The part of the runs inside the box."""
    top = box.low + np.array(box.shape, dtype=np.int64) - 1
    inside = ((runs.head >= box.low[:-1]) & (runs.head <= top[:-1])).all(axis=1)
    first, last = np.maximum(runs.first, box.low[-1]), np.minimum(runs.last, top[-1])
    return chosen(Runs(runs.head, first, last), inside & (first <= last))


def lowest_cell(runs: Runs, theta: Reals) -> Reals:
    """The cell x of the runs with the least theta . x, shape (r,)."""
    ends = runs.first if theta[-1] >= 0.0 else runs.last
    best = int((runs.head @ theta[:-1] + ends * theta[-1]).argmin())
    return np.append(runs.head[best], ends[best]).astype(np.float64)


def heights(runs: Runs, theta: Reals, centre: Reals) -> Reals:
    """The least theta . (x - centre) over the cells of each run, shape (I,)."""
    ends = runs.first if theta[-1] >= 0.0 else runs.last
    return np.asarray((runs.head - centre[:-1]) @ theta[:-1] + (ends - centre[-1]) * theta[-1])


def nearest(runs: Runs, centre: Reals, precision: Reals) -> Reals:
    """The cell of the runs nearest to `centre` in the metric of `precision` (r, r)."""
    # Along a run the squared distance is a parabola: its vertex, clipped to the run, is the nearest cell.
    shifted = runs.head - centre[:-1]
    pull = shifted @ precision[:-1, -1]
    vertex = centre[-1] - pull / max(float(precision[-1, -1]), 1e-300)
    at = np.clip(np.rint(vertex), runs.first, runs.last)
    centred = np.column_stack((shifted, at - centre[-1]))
    distance = np.einsum("pi,ij,pj->p", centred, precision, centred)
    best = int(distance.argmin())
    return np.append(runs.head[best].astype(np.float64), at[best])
