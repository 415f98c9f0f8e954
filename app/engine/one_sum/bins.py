"""A law in bins of equal width, for pictures: those of a symmetric law are symmetric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..lattice import Integers
from .summary import MAX_BINS, Law

# Bins are laid over all but this much of the mass on either side.
_TRIMMED = 1e-12


@dataclass(frozen=True, slots=True)
class Bins:
    """Probabilities of bins of `width` consecutive lattice values; `first` is each bin's lowest."""

    first: Integers
    masses: NDArray[np.float64]
    width: int


def trimmed(found: Law) -> Law:
    """The law without the outer values that hold next to nothing."""
    first = int(np.searchsorted(np.cumsum(found.masses), _TRIMMED, side="right"))
    last = len(found.masses) - 1 - int(np.searchsorted(np.cumsum(found.masses[::-1]), _TRIMMED, side="right"))
    kept = slice(first, max(last, first) + 1)
    positive = found.masses[kept] > 0.0
    return Law(found.values[kept][positive], found.masses[kept][positive], found.width)


def binned(found: Law, spacing: int, max_bins: int = MAX_BINS) -> Bins:
    """At most `max_bins` bins of equal width, a multiple of `spacing`, as far over either end of the law's values."""
    points = int(found.values[-1] - found.values[0]) // spacing + 1
    each = -(-points // max_bins)
    while (number := _even_number(points, each)) > max_bins:
        each += 1
    width = spacing * each
    first = int(found.values[0]) - spacing * ((number * each - points) // 2)
    index = (found.values - first) // width
    masses = np.asarray(np.bincount(index, weights=found.masses), dtype=np.float64)
    filled = np.flatnonzero(masses > 0.0)
    return Bins(first + filled.astype(np.int64) * width, masses[filled], width)


def _even_number(points: int, each: int) -> int:
    """How many bins of `each` points cover all, with as many points over at either end; too many if there is no such."""
    number = -(-points // each)
    number += (number * each - points) % 2
    return number if (number * each - points) % 2 == 0 else points + 1
