"""Real-valued effects: a sum that no lattice holds, and its tails.

Effects are exactly their doubles, and so is the p-value. Everything is divided by a power of two, which is exact,
so that nothing over- or underflows; all rounding goes into `slack`, which widens the tails for the upper bound and
narrows them for the lower one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import special

from ..lattice import CanonicalForm, Integers, Reals, Whole
from ..probability import LN2, UNIT_ROUNDOFF, Alternative, Region


@dataclass(frozen=True)
class RealForm:
    """X = sum_j halves[j] (2 Binomial(counts[j], 1/2) - counts[j]), symmetric about zero.

    `halves` are the distinct non-zero |stay - swap| / 2 in ascending order, shape (U,), in units of `unit`, a power of
    two; `counts` are their numbers of items; `items` is N, zeros included. The difference of the sums of two
    assignments is known to within `slack`; `exact` means that equal halves are not equal by rounding, `sharp` that
    their sums are not rounded.
    """

    halves: Reals
    counts: Integers
    items: int
    unit: float = 1.0
    slack: float = 0.0
    exact: bool = True
    sharp: bool = False

    @cached_property
    def nonzero(self) -> int:
        """n, the number of items whose swap changes the sum."""
        return int(self.counts.sum())

    @cached_property
    def reach(self) -> float:
        """The largest value of X, rounded."""
        return float(np.dot(self.counts, self.halves))

    @cached_property
    def variance(self) -> float:
        """Variance of X."""
        return float(np.dot(self.counts, self.halves * self.halves))

    def lightest(self, groups: int) -> RealForm:
        """Keep the `groups` smallest distinct weights."""
        return replace(self, halves=self.halves[:groups], counts=self.counts[:groups])

    def log_atom(self, chosen: Integers) -> float:
        """Return the log mass of the assignments with `chosen` items of each group up, shape (U,), rounded down."""
        log_mass = -self.nonzero * LN2 + (_log_ways(self.counts, chosen) if self.exact else 0.0)
        return log_mass - 4.0 * UNIT_ROUNDOFF * abs(log_mass)


@dataclass(frozen=True, slots=True)
class Tail:
    """An upper tail of X that contains {X > inner} and lies in {X >= outer}.

    Between the two may lie the observed assignment and those that tie with it through equal weights: `chosen`,
    shape (U,), counts its items of each group that are up. A `strict` tail excludes it, others include it.
    """

    outer: float
    inner: float
    chosen: Integers | None = None
    strict: bool = False

    def seen_from(self, sum_: float, rounding: float, chosen: Integers | None) -> Tail:
        """Return the tail for the other items when some add up to `sum_`, known to within `rounding`."""
        return Tail(self.outer - sum_ - rounding, self.inner - sum_ + rounding, chosen, self.strict)


@dataclass(frozen=True, slots=True)
class RealRegion:
    """The union of disjoint tails (lower ones mirrored, as X is symmetric), or its `complement`."""

    tails: tuple[Tail, ...]
    complement: bool = False


CERTAIN = RealRegion((), complement=True)


def _log_ways(counts: Integers, chosen: Integers) -> float:
    """Return log prod_j binom(counts[j], chosen[j]), rounded down."""
    several = counts > 1
    counts, chosen = counts[several], chosen[several]
    parts = [special.gammaln(part + 1.0) for part in (counts, chosen, counts - chosen)]
    margin = 2.0**-44 * sum(float(np.abs(part).sum()) for part in parts)
    return float((parts[0] - parts[1] - parts[2]).sum()) - margin


def from_lattice(
    form: CanonicalForm, region: Region, chosen: Integers | None = None
) -> tuple[RealForm, RealRegion]:
    """Return the form and the region of a lattice test, for windows too long for `fft`.

    `chosen`, shape (U,), counts the items of each weight that the observed assignment has up (`items_up`): its ties
    are then known to be in the tails that it bounds, however fine the lattice. Raises ValueError for a region that
    is neither one or two tails nor the complement of two.
    """
    top = form.range
    largest = int(form.weights[-1]) if len(form.weights) else 1
    unit = math.ldexp(1.0, largest.bit_length())
    halves = form.weights.astype(np.float64) / (2.0 * unit)
    # Exact below 2**53; above, every weight and threshold is rounded once.
    slack = 0.0 if top < 1 << 52 else 4.0 * UNIT_ROUNDOFF * top / unit
    real = RealForm(halves, form.counts, form.items, unit, slack, sharp=slack == 0.0)
    if region.covers(form):
        return real, CERTAIN
    beyond = [low if high == top else top - high for low, high in region.intervals if low == 0 or high == top]
    if len(beyond) == len(region.intervals):
        tails = {first: _lattice_tail(real, form, first, chosen) for first in beyond}
        return real, RealRegion(tuple(tails[first] for first in beyond))
    low, high = region.intervals[0]
    if len(region.intervals) != 1:
        raise ValueError("a region of inner intervals is not a pair of tails")
    outside = tuple(_lattice_tail(real, form, first, chosen) for first in (high + 1, top - low + 1))
    return real, RealRegion(outside, complement=True)


def items_up(form: CanonicalForm, stay: Integers, swap: Integers | None = None) -> Integers:
    """Count the items of each weight that are up in the data, with `stay` as the larger effect; shape (U,)."""
    difference = 2 * stay if swap is None else stay - swap
    up = difference[difference > 0] // form.step
    group = np.searchsorted(form.weights, up)
    return np.bincount(group, minlength=len(form.weights)).astype(np.int64)


def _lattice_tail(real: RealForm, form: CanonicalForm, first: int, chosen: Integers | None) -> Tail:
    """Return the tail T >= first; no value lies between first - 1 and first, and either may be the observed one."""
    top, scale = form.range, 2.0 * real.unit
    edge = (2 * first - top) / scale
    if chosen is not None:
        total = sum(w * c for w, c in zip(form.weights.tolist(), chosen.tolist(), strict=True))
        known = {total: chosen, top - total: form.counts - chosen}
        for at in (first, first - 1):
            if at in known:
                middle = (2 * at - top) / scale
                return Tail(middle - real.slack, middle + real.slack, known[at], strict=at < first)
    return Tail(edge - real.slack, (2 * first - 2 - top) / scale + real.slack)


# The form and the region of effects beyond 64 bits, for `bounds`; its `slack` bounds all rounding.


# Weights below this share of the largest effect are raised to it, so that squares do not underflow.
_NEGLIGIBLE = 2.0**-200


@dataclass(frozen=True, slots=True)
class _Observed:
    """The observed assignment: S, twice its mean, twice the form's unit, and the items of each group that are up."""

    total: int
    twice_centre: int
    twice_unit: int
    chosen: Integers

    def tail(self, form: RealForm, *, upwards: bool, strict: bool = False) -> Tail:
        """Return the tail from the observed sum upwards, or downwards and mirrored."""
        x = (2 * self.total - self.twice_centre) / self.twice_unit
        edge, chosen = (x, self.chosen) if upwards else (-x, form.counts - self.chosen)
        return Tail(edge - form.slack, edge + form.slack, chosen, strict)

    def both_tails(self, form: RealForm, *, strict: bool) -> tuple[Tail, Tail]:
        """Return the tails of |S| >= |xi|, or |S| > |xi| if `strict`: from the observed sum, and the opposite one."""
        here = self.tail(form, upwards=self.total >= 0, strict=strict)
        if self.twice_centre == 0:
            return here, here
        centre = self.twice_centre if self.total >= 0 else -self.twice_centre
        opposite = (2 * abs(self.total) + centre) / self.twice_unit
        return here, Tail(opposite - form.slack, opposite + form.slack, strict=strict)


def real_problem(
    stay: Whole, swap: Whole | None, alternative: Alternative, *, absolute: bool = False, error: int = 0
) -> tuple[RealForm, RealRegion]:
    """Return the form and the region of effects, shape (N,) each; `swap` None means -stay.

    For rounded effects, `error` bounds the error of the difference of the sums of two assignments, in the effects'
    unit; the region is then valid for all effects within it.
    """
    other = -stay if swap is None else swap
    difference = stay - other
    moving = np.flatnonzero(difference != 0)
    sizes, group, counts = np.unique(np.abs(difference[moving]), return_inverse=True, return_counts=True)
    whole = [int(size) for size in sizes.tolist()]
    unit = 1 << max(whole, default=1).bit_length()
    form = _form(whole, counts.astype(np.int64), len(stay), unit, error)
    if not whole:
        return form, CERTAIN  # no swap changes the sum, so every assignment is as extreme
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
    """Return `real_problem` of mirrored effects in groups: `up` of them are size and `down` are -size, shape (U,) each.

    `sizes` are positive, distinct and ascending; `items` includes zeros.
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
