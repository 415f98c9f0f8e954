"""The smallest p-value that any outcome on the same items could have."""

from __future__ import annotations

import math

import numpy as np

from ..lattice import CanonicalForm
from ..probability import SMALLEST, Alternative, region
from . import fft
from .enumeration import subset_sums
from .heavy_weights import best_split

# How many lattice values around zero are tried for the least |S|, and how sure the mass must be.
_NEAR = 16
_SURE = 1e-6
_CHEAP_NANOSECONDS = 2_000_000
# Up to this many items all sums are listed instead.
FEW = 14


def smallest_attainable(
    form: CanonicalForm, alternative: Alternative, *, absolute: bool
) -> tuple[float, float]:
    """Bounds of the smallest p-value that any outcome on these items could have, equal where it is known; no zeros.

    The largest sum has probability 2**-n; for |S| both ends count when they are equally far out.
    """
    two_tailed = absolute or alternative == "two-sided"
    if form.nonzero == 0:
        return 1.0, 1.0
    if absolute and alternative == "less":
        return _smallest_of_the_middle(form)
    both_ends = two_tailed and 2 * form.offset + form.step * form.range == 0
    least = max(math.ldexp(1.0, int(both_ends) - form.nonzero), SMALLEST)
    return least, least


def _smallest_of_the_middle(form: CanonicalForm) -> tuple[float, float]:
    """P(|S| = its least value), the first of the lattice's |S| that has mass; from 2**-n to 1 where
    that is not near zero or not cheap to compute.
    """
    least = max(math.ldexp(1.0, -form.nonzero), SMALLEST)
    if form.nonzero <= FEW:
        sizes = np.abs(form.offset + form.step * subset_sums(np.repeat(form.weights, form.counts)))
        attained = float(np.count_nonzero(sizes == sizes.min())) / float(1 << form.nonzero)
        return attained, attained
    if best_split(form).nanoseconds > _CHEAP_NANOSECONDS:
        return least, 1.0
    nearest = -(form.offset // form.step)
    for index in range(_NEAR):
        # Outwards from zero on both sides: |offset + step k| for k = nearest, nearest - 1, nearest + 1, ...
        size = abs(form.offset + form.step * (nearest + (-(index + 1) // 2 if index % 2 else index // 2)))
        tail = region(form, size, "less", absolute=True)
        if not tail.intervals:
            continue
        found = fft.probability(form, tail)
        if not found.relative_error_bound < _SURE or found.p < 0.9 * least:
            break  # whether it has any mass is not known
        return found.p, found.p
    return least, 1.0
