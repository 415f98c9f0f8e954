"""The form and the region of effects that 64 bits do not hold, for `bounds`; its `slack` bounds all rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..lattice import Integers, Whole
from ..probability import UNIT_ROUNDOFF, Alternative
from .form import CERTAIN, RealForm, RealRegion, Tail

# Weights smaller than this against the largest effect are raised to it, so that squares do not underflow.
_NEGLIGIBLE = 2.0**-200


@dataclass(frozen=True, slots=True)
class _Observed:
    """The observed assignment: S, twice the mean of S, twice the form's unit, and the items of each group that are up."""

    total: int
    twice_centre: int
    twice_unit: int
    chosen: Integers

    def tail(self, form: RealForm, *, upwards: bool, strict: bool = False) -> Tail:
        """The tail from the observed sum upwards, or downwards and mirrored."""
        x = (2 * self.total - self.twice_centre) / self.twice_unit
        edge, chosen = (x, self.chosen) if upwards else (-x, form.counts - self.chosen)
        return Tail(edge - form.slack, edge + form.slack, chosen, strict)

    def both_tails(self, form: RealForm, *, strict: bool) -> tuple[Tail, Tail]:
        """|S| >= |xi|, or |S| > |xi| when `strict`: the tail from the observed sum, and the opposite one."""
        here = self.tail(form, upwards=self.total >= 0, strict=strict)
        if self.twice_centre == 0:
            return here, here
        centre = self.twice_centre if self.total >= 0 else -self.twice_centre
        opposite = (2 * abs(self.total) + centre) / self.twice_unit
        return here, Tail(opposite - form.slack, opposite + form.slack, strict=strict)


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
    unit = 1 << max(whole, default=1).bit_length()
    form = _form(whole, counts.astype(np.int64), len(stay), unit, error)
    if not whole:
        return form, CERTAIN  # no swap changes the sum: every assignment is as extreme as the observed one
    up = np.asarray(difference[moving] > 0, dtype=bool)
    chosen = np.bincount(group[up], minlength=len(whole)).astype(np.int64)
    total = sum(int(x) for x in stay.tolist())
    observed = _Observed(total, total + sum(int(x) for x in other.tolist()), 2 * unit, chosen)
    if absolute and alternative == "less":
        return form, RealRegion(observed.both_tails(form, strict=True), complement=True)
    if absolute or alternative == "two-sided":
        certain = total == 0 and error == 0
        return form, CERTAIN if certain else RealRegion(observed.both_tails(form, strict=False))
    return form, RealRegion((observed.tail(form, upwards=alternative == "greater"),))


def grouped_problem(
    sizes: Sequence[int], up: Integers, down: Integers, items: int, alternative: Alternative
) -> tuple[RealForm, RealRegion]:
    """The same of effects that a swap mirrors, in groups: `up` of them are size and `down` are -size, shape (U,) each.

    `sizes` are positive and ascending, no two alike; `items` counts zeros too.
    """
    whole = [2 * size for size in sizes]
    unit = 1 << max(whole, default=1).bit_length()
    form = _form(whole, up + down, items, unit, 0)
    total = sum(size * net for size, net in zip(sizes, (up - down).tolist(), strict=True))
    if not whole or (alternative == "two-sided" and total == 0):
        return form, CERTAIN
    observed = _Observed(total, 0, 2 * unit, up)
    if alternative == "two-sided":
        return form, RealRegion(observed.both_tails(form, strict=False))
    return form, RealRegion((observed.tail(form, upwards=alternative == "greater"),))


def _form(whole: list[int], counts: Integers, items: int, unit: int, error: int) -> RealForm:
    reach = sum(size * count for size, count in zip(whole, counts.tolist(), strict=True))
    # Ratios of integers are rounded once each, however large they are.
    halves = np.array([size / (2 * unit) for size in whole], dtype=np.float64)
    small = halves < _NEGLIGIBLE
    slack = 8.0 * UNIT_ROUNDOFF * (reach / (2 * unit)) + 2 * error / unit
    slack += 4.0 * _NEGLIGIBLE * float(counts[small].sum())
    return RealForm(
        np.maximum(halves, _NEGLIGIBLE),
        counts,
        items,
        float(min(unit, 1 << 1023)),
        slack,
        exact=error == 0 and not small.any(),
    )
