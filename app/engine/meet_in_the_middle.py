"""`meet_in_the_middle`: any weights, lattice or not, for n up to about 46.

Horowitz & Sahni 1974: all sums of each half are sorted, and for every sum of one half the number of
sums of the other that lands in the region is found by bisection. Time and memory 2**(n/2); the count
is exact, so ties are.
"""

from __future__ import annotations

import numpy as np

from app.engine.enumeration import subset_sums
from app.engine.lattice import CanonicalForm
from app.engine.null import CERTAIN, Probability, Region, from_fraction

_BLOCK = 1 << 20


def probability(form: CanonicalForm, region: Region) -> Probability:
    """P(T in region) as an exact fraction."""
    if region.covers(form):
        return CERTAIN
    weights = np.repeat(form.weights, form.counts)
    # Alternate weights go to either half, so that both span the same range.
    first, second = (np.sort(subset_sums(half)) for half in (weights[::2], weights[1::2]))
    inside = 0
    for start in range(0, len(first), _BLOCK):
        block = first[start : start + _BLOCK]
        for low, high in region.intervals:
            reached = np.searchsorted(second, high - block, side="right")
            missed = np.searchsorted(second, low - block, side="left")
            inside += int((reached - missed).sum())
    return from_fraction(inside, form.nonzero)
