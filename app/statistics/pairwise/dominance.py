"""Counts of points below and left of others, for many queries at once: a wavelet matrix, level by level.

Claude, Navarro & Ordonez 2015, "The wavelet matrix": points in the order of one coordinate are parted, from the
highest bit to the lowest, by the bits of the other. A prefix stays a prefix of one part, so that a count of a prefix
takes one look-up for each bit. No level is kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...engine.lattice import Integers

Indices = NDArray[np.int32]


def prefix_counts(points: Integers, prefixes: Integers, bounds: Integers) -> tuple[Integers, Integers]:
    """How many of the first `prefixes` points are less than, and how many equal to, a bound.

    `points` are non-negative integers, shape (m,); `prefixes` has shape (k, n) with values in 0..m, and `bounds`
    shape (n,), non-negative integers. Both results have shape (k, n), up to a number for each column that is the same
    in all rows: only differences of two rows mean something. O((m + k n) log(max)).
    """
    bits = max(int(points.max(initial=0)), int(bounds.max(initial=0)), 1).bit_length()
    rest, at = points.astype(np.int32), prefixes.astype(np.int32)
    less: Indices = np.zeros(at.shape, dtype=np.int32)
    for level in range(bits - 1, -1, -1):
        one = (rest >> level) & 1 == 1
        zeros: Indices = np.zeros(len(rest) + 1, dtype=np.int32)
        np.cumsum(~one, out=zeros[1:], dtype=np.int32)
        below = zeros[at]
        upper = (bounds >> level) & 1 == 1
        less += np.where(upper, below, 0)
        at = np.where(upper, zeros[-1] + at - below, below)
        rest = np.concatenate([rest[~one], rest[one]])
    return less.astype(np.int64), at.astype(np.int64)
