"""The form and the region of effects that 64 bits do not hold, for `bounds`; its `slack` bounds all rounding."""

from __future__ import annotations

import numpy as np

from ..lattice import Whole
from ..probability import UNIT_ROUNDOFF, Alternative
from .form import CERTAIN, RealForm, RealRegion, Tail

# Weights smaller than this against the largest effect are raised to it, so that squares do not underflow.
_NEGLIGIBLE = 2.0**-200


def real_problem(
    stay: Whole,
    swap: Whole | None,
    alternative: Alternative,
    *,
    absolute: bool = False,
    error: int = 0,
) -> tuple[RealForm, RealRegion]:
    """The form and the region of effects, shape (N,) each; `swap` None means -stay.

    Where the effects are rounded themselves, `error` bounds the error of the difference of the sums of two
    assignments, in the effects' unit; the region is then right for all effects as near as that.
    """
    other = -stay if swap is None else swap
    difference = stay - other
    moving = np.flatnonzero(difference != 0)
    sizes, group, counts = np.unique(np.abs(difference[moving]), return_inverse=True, return_counts=True)
    whole = [int(size) for size in sizes.tolist()]
    reach = sum(size * count for size, count in zip(whole, counts.tolist(), strict=True))
    unit = 1 << max(whole, default=1).bit_length()
    # Ratios of integers are rounded once each, however large they are.
    halves = np.array([size / (2 * unit) for size in whole], dtype=np.float64)
    small = halves < _NEGLIGIBLE
    slack = 8.0 * UNIT_ROUNDOFF * (reach / (2 * unit)) + 2 * error / unit
    slack += 4.0 * _NEGLIGIBLE * float(counts[small].sum())
    form = RealForm(
        np.maximum(halves, _NEGLIGIBLE),
        counts.astype(np.int64),
        len(stay),
        float(min(unit, 1 << 1023)),
        slack,
        exact=error == 0 and not small.any(),
    )
    if not whole:
        return (
            form,
            CERTAIN,
        )  # no swap changes the sum, so that every assignment is as extreme as the observed one
    up = np.asarray(difference[moving] > 0, dtype=bool)
    chosen = np.bincount(group[up], minlength=len(whole)).astype(np.int64)
    total = sum(int(x) for x in stay.tolist())
    twice_centre = total + sum(int(x) for x in other.tolist())
    x = (2 * total - twice_centre) / (2 * unit)

    def beyond(upwards: bool, strict: bool = False) -> Tail:
        edge = x if upwards else -x
        return Tail(edge - slack, edge + slack, chosen if upwards else form.counts - chosen, strict)

    def both_sides(strict: bool) -> RealRegion:
        here = beyond(total >= 0, strict)
        if twice_centre == 0:
            return RealRegion((here, here))
        opposite = (2 * abs(total) + (twice_centre if total >= 0 else -twice_centre)) / (2 * unit)
        return RealRegion((here, Tail(opposite - slack, opposite + slack, strict=strict)))

    if absolute and alternative == "less":
        return form, RealRegion(both_sides(strict=True).tails, complement=True)
    if absolute or alternative == "two-sided":
        return form, CERTAIN if total == 0 and error == 0 else both_sides(strict=False)
    return form, RealRegion((beyond(alternative == "greater"),))
