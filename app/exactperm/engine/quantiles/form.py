"""Two paired samples and the order statistic of each that is compared, as ranks among all values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..lattice import Integers, Reals, Whole


@dataclass(frozen=True, slots=True)
class QuantileForm:
    """t = Q(U) - Q(V), Q = (1 - share) x_(place) + share x_(place + 1) of n values each.

    `values`, shape (D,), are the distinct values of both samples, ascending; `own` and `other`, shape (n,), are the ranks
    (from 0) of U's and V's values among them, as observed. `unit`, shape (n,), says with which unit an item swaps, 0 to
    units - 1. `place` counts from 1. t is in parts of `share.denominator` of the values' unit.
    """

    values: Whole
    own: Integers
    other: Integers
    unit: Integers
    units: int
    place: int
    share: Fraction

    @property
    def items(self) -> int:
        """n."""
        return len(self.own)

    @property
    def alone(self) -> bool:
        """Return whether every item swaps by itself."""
        return self.units == self.items

    def quantile(self, ranks: Integers) -> int:
        """Q of a sample of these ranks, shape (n,), in parts of `share.denominator`."""
        ordered = np.sort(ranks)
        low = int(self.values[ordered[self.place - 1]])
        if not self.share:
            return low
        high = int(self.values[ordered[self.place]])
        return low * (self.share.denominator - self.share.numerator) + high * self.share.numerator

    @property
    def observed(self) -> int:
        """t as observed."""
        return self.quantile(self.own) - self.quantile(self.other)


def quantile_form(
    u: Whole, v: Whole, unit: Integers | None, units: int, place: int, share: Fraction
) -> QuantileForm:
    """The form of the values u and v, shape (n,) each; units whose values a swap leaves as they are stay units.

    `unit` None: every item swaps by itself.
    """
    values, ranks = np.unique(np.concatenate([u, v]), return_inverse=True)
    ranks = np.asarray(ranks.reshape(-1), dtype=np.int64)
    own, other = ranks[: len(u)], ranks[len(u) :]
    codes = np.arange(len(u)) if unit is None else unit
    return QuantileForm(values, own, other, codes, units, place, share)


def swapping(form: QuantileForm) -> Integers:
    """The units that a swap changes: those whose values are not the same, as often, in both samples; ascending."""
    if form.alone:
        return np.asarray(form.unit[form.own != form.other])
    first, second = (ranks[np.lexsort((ranks, form.unit))] for ranks in (form.own, form.other))
    return np.unique(np.sort(form.unit)[first != second])


# {Q_U - Q_V >= d} as a staircase of quadrants {Q_U >= a, Q_V <= b}; see section 17 of the README.


@dataclass(frozen=True, slots=True)
class Profile:
    """What the counts F(x), of U's values of rank at most x, can be; shape (D,) each.

    `pooled` counts the values of both samples, `spread` is the sum over units of |d|, d what a swap of the unit changes F(x)
    by; `squares` that of d**2. F(x) is symmetric about pooled / 2, and at least `least`.
    """

    pooled: Integers
    spread: Integers
    squares: Integers

    @property
    def least(self) -> Integers:
        """The least F(x)."""
        return np.asarray((self.pooled - self.spread) // 2)


def profile(form: QuantileForm) -> Profile:
    """The profile of a form, in O(n log n)."""
    ranks = np.concatenate([form.own, form.other])
    units = np.concatenate([form.unit, form.unit])
    step = np.repeat(np.array([1, -1]), form.items)
    order = np.lexsort((ranks, units))
    ranks, step = ranks[order], step[order]
    # A unit has as many values of U as of V, so that its sum ends at 0, where the next one begins.
    after = np.cumsum(step)
    before = after - step
    return Profile(
        _accumulated(ranks, np.ones(len(ranks), dtype=np.int64), form),
        _accumulated(ranks, np.abs(after) - np.abs(before), form),
        _accumulated(ranks, after * after - before * before, form),
    )


def _accumulated(ranks: Integers, amounts: Integers, form: QuantileForm) -> Integers:
    totals = np.zeros(len(form.values), dtype=np.int64)
    np.add.at(totals, ranks, amounts)
    return np.asarray(np.cumsum(totals))


@dataclass(frozen=True, slots=True)
class Staircase:
    """Steps of the region, shape (m,) each, as ranks: Q_V <= values[at], and Q_U > values[below] but not > values[stop].

    `stop` is -1 where there is no such end. `log_bound` is the logarithm of a bound on the probability of
    {Q_U > values[below], Q_V <= values[at]}.
    """

    at: Integers
    below: Integers
    stop: Integers
    log_bound: Reals

    def __len__(self) -> int:
        return len(self.at)


def staircase(form: QuantileForm, known: Profile, distance: int, *, strict: bool) -> Staircase:
    """The steps of {Q_U - Q_V >= distance}, distance > 0, or > where `strict`, distance >= 0; impossible ones left out.

    For order statistics themselves: `share` is zero.
    """
    # Python integers: their difference may outgrow 64 bits.
    wanted = form.values - distance if form.values.dtype == object else form.values - np.int64(distance)
    at = np.searchsorted(form.values, wanted, side="left" if strict else "right") - 1
    steps = np.flatnonzero((at >= 0) & (at != np.concatenate(([-1], at[:-1]))))
    ends = np.concatenate((steps[1:] - 1, [-1]))
    at, below = at[steps], steps - 1
    most_v, most_u = known.pooled - form.place, form.place - 1
    possible = (known.least[at] <= most_v[at]) & (known.least[below] <= most_u)
    at, below, ends = at[possible], below[possible], ends[possible]
    by_v = _log_hoeffding(known, at, form.place - known.pooled[at] / 2.0)
    by_u = _log_hoeffding(known, below, known.pooled[below] / 2.0 - (form.place - 1))
    return Staircase(at, below, ends, np.minimum(by_v, by_u))


def _log_hoeffding(known: Profile, at: Integers, distance: Reals) -> Reals:
    """log of a bound on P(F(x) is this far, or farther, from its mean on one side); Hoeffding 1963, theorem 2."""
    squares = np.maximum(known.squares[at], 1)
    return np.asarray(-2.0 * np.square(np.maximum(distance, 0.0)) / squares)
