"""A law in bins of equal width, for pictures: those of a symmetric law are symmetric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..lattice import Integers
from .summary import MAX_BINS, Law

# Bins cover all but this much of the mass on either side.
_TRIMMED = 1e-12


@dataclass(frozen=True, slots=True)
class Bins:
    """Probabilities of bins of `width` consecutive lattice values; `first` is each bin's lowest."""

    first: Integers
    masses: NDArray[np.float64]
    width: int


def trimmed(law: Law) -> Law:
    """The law without the outer values, which hold at most 1e-12 of the mass on either side."""
    masses = law.masses
    first = 0 if masses[0] > _TRIMMED else int(masses.cumsum().searchsorted(_TRIMMED, side="right"))
    last = len(masses) - 1 - int(masses[::-1].cumsum().searchsorted(_TRIMMED, side="right"))
    kept = slice(first, max(last, first) + 1)
    values, masses = law.values[kept], masses[kept]
    if not masses.min() > 0.0:
        positive = masses > 0.0
        values, masses = values[positive], masses[positive]
    return Law(values, masses, law.width)


def binned(law: Law, spacing: int, max_bins: int = MAX_BINS) -> Bins:
    """At most `max_bins` bins of equal width, a multiple of `spacing`; they overhang both ends of the values alike."""
    points = int(law.values[-1] - law.values[0]) // spacing + 1
    if points == len(law.values) <= max_bins:  # a bin for each value
        return Bins(law.values, law.masses, spacing)
    each = -(-points // max_bins)
    while (number := _even_number(points, each)) > max_bins:
        each += 1
    width = spacing * each
    first = int(law.values[0]) - spacing * ((number * each - points) // 2)
    index = (law.values - first) // width
    masses = np.asarray(np.bincount(index, weights=law.masses), dtype=np.float64)
    (filled,) = masses.nonzero()  # none is negative
    return Bins(first + filled * width, masses[filled], width)


def _even_number(points: int, each: int) -> int:
    """How many bins of `each` points cover all and overhang both ends alike; points + 1 where no number does."""
    number = -(-points // each)
    number += (number * each - points) % 2
    return number if (number * each - points) % 2 == 0 else points + 1
