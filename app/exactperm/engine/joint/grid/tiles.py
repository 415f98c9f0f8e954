"""A region of a large box by its edge: tiles that are certainly inside or outside are not divided.

A tail of 1e-5000 lies so far out that its box has 10^9 cells and more, but its edge only some 10^5. Tiles are
halved along every axis while the statistic's range over a tile (interval arithmetic, Moore 1966) does not settle
it; only the smallest tiles are decided cell by cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...lattice import Integers, Reals
from ..form import JointForm
from .box import Box, Extreme, Runs
from .price import Allowance

Mask = NDArray[np.bool_]
# (certainly extreme, certainly not) for tiles on which the k sums lie between `low` and `high`, shape (M,) each.
Tiles = Callable[[Sequence[Reals], Sequence[Reals]], tuple[Mask, Mask]]

# Tiles of at most this many cells are decided cell by cell.
_LEAF_CELLS = 64
_AT_ONCE = 1 << 15
# With more undecided tiles at one level, the region has too much edge to list.
MAX_TILES = 1 << 20


class TooMuchEdgeError(Exception):
    """The region's edge crosses too many tiles, or more than planned."""


def runs_by_tiles(form: JointForm, box: Box, extreme: Extreme, tiles: Tiles, allowance: Allowance) -> Runs:
    """Return the extreme cells of the box as runs along its last axis, as `box.runs_of` does.

    Raises TooMuchEdgeError when more than MAX_TILES tiles stay undecided at one level, or the allowance is used up.
    """
    size = np.array([1 << max(length - 1, 0).bit_length() for length in box.shape], dtype=np.int64)
    top = box.low + np.array(box.shape, dtype=np.int64) - 1
    corners = box.low[None, :].copy()
    parts: list[Runs] = []
    while len(corners):
        if not allowance.decide(len(corners)):
            raise TooMuchEdgeError
        inside, unsure = _settled(form, tiles, corners, np.minimum(corners + size - 1, top))
        parts.append(_whole(corners[inside], size, top))
        corners = corners[unsure]
        if len(corners) > MAX_TILES:
            raise TooMuchEdgeError
        if math.prod(size.tolist()) <= _LEAF_CELLS:
            if not allowance.decide(len(corners) * math.prod(size.tolist())):
                raise TooMuchEdgeError
            parts.extend(_cells(form, extreme, some, size, top) for some in _chunks(corners, _AT_ONCE // 8))
            break
        corners, size = _halved(corners, size, top)
    return _merged(box, parts)


def _chunks(corners: Integers, count: int) -> Iterator[Integers]:
    for start in range(0, len(corners), count):
        yield corners[start : start + count]


def _settled(form: JointForm, tiles: Tiles, low: Integers, high: Integers) -> tuple[Mask, Mask]:
    """Return (certainly extreme, undecided) for tiles of coordinates low .. high, shape (M, r)."""
    inside, unsure = np.empty(len(low), dtype=bool), np.empty(len(low), dtype=bool)
    for start in range(0, len(low), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        least, most = _ranges(form, low[part], high[part])
        yes, no = tiles(least, most)
        inside[part], unsure[part] = yes, ~(yes | no)
    return inside, unsure


def _ranges(form: JointForm, low: Integers, high: Integers) -> tuple[list[Reals], list[Reals]]:
    """Return the least and the largest value of each of the k sums on every tile."""
    least, most = [], []
    for column, origin in enumerate(form.origin.tolist()):
        steps = form.steps[:, column]
        up, down = np.maximum(steps, 0), np.minimum(steps, 0)
        least.append((origin + low @ up + high @ down).astype(np.float64))
        most.append((origin + high @ up + low @ down).astype(np.float64))
    return least, most


def _halved(corners: Integers, size: Integers, top: Integers) -> tuple[Integers, Integers]:
    """Halve tiles along every axis of more than half the longest; drop those beyond the box."""
    long = size * 2 > size.max()
    half = np.where(long, np.maximum(size // 2, 1), size)
    for axis in np.flatnonzero(half < size).tolist():
        moved = corners.copy()
        moved[:, axis] += half[axis]
        corners = np.concatenate((corners, moved[moved[:, axis] <= top[axis]]))
    return corners, half


def _offsets(size: Integers) -> Integers:
    """Return every offset inside a tile, shape (prod size, len(size))."""
    return np.stack(np.meshgrid(*map(np.arange, size.tolist()), indexing="ij"), axis=-1).reshape(
        -1, len(size)
    )


def _whole(corners: Integers, size: Integers, top: Integers) -> Runs:
    """Convert whole tiles to runs."""
    if len(corners) == 0:
        return Runs(corners[:, :-1], corners[:, -1], corners[:, -1])
    ends = np.minimum(corners[:, -1] + size[-1] - 1, top[-1])
    if len(size) == 1:
        return Runs(corners[:, :0], corners[:, 0], ends)
    # All rows of the tiles that lie in the box.
    offsets = _offsets(size[:-1])
    heads = (corners[:, None, :-1] + offsets[None, :, :]).reshape(-1, len(size) - 1)
    kept = (heads <= top[:-1]).all(axis=1)
    return Runs(
        heads[kept], np.repeat(corners[:, -1], len(offsets))[kept], np.repeat(ends, len(offsets))[kept]
    )


def _cells(form: JointForm, extreme: Extreme, corners: Integers, size: Integers, top: Integers) -> Runs:
    """Return the extreme cells of the smallest tiles, one run each."""
    cells = (corners[:, None, :] + _offsets(size)[None, :, :]).reshape(-1, len(size))
    cells = cells[(cells <= top).all(axis=1)]
    cells = cells[np.asarray(extreme(list(form.states(cells).T)), dtype=bool)]
    return Runs(cells[:, :-1], cells[:, -1], cells[:, -1])


def _merged(box: Box, parts: list[Runs]) -> Runs:
    """Sort the runs and join those that touch."""
    head = np.concatenate([part.head for part in parts])
    first = np.concatenate([part.first for part in parts])
    last = np.concatenate([part.last for part in parts])
    if len(first) == 0:
        return Runs(head, first, last)
    row = np.zeros(len(first), dtype=np.int64)
    for axis, length in enumerate(box.shape[:-1]):
        row = row * length + (head[:, axis] - box.low[axis])
    order = np.lexsort((first, row))
    row, head, first, last = row[order], head[order], first[order], last[order]
    opens = np.ones(len(first), dtype=bool)
    opens[1:] = (row[1:] != row[:-1]) | (first[1:] > last[:-1] + 1)
    starts = np.flatnonzero(opens)
    stops = np.append(starts[1:], len(first)) - 1
    return Runs(head[starts], first[starts], last[stops])
