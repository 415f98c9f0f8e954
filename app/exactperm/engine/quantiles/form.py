"""Two paired samples and the order statistics to compare, as ranks among all values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..lattice import Integers, Reals, Whole


@dataclass(frozen=True, slots=True)
class QuantileForm:
    """t = Q(U) - Q(V), Q = (1 - share) x_(place) + share x_(place + 1) of n values each.

    `values`, shape (D,), are the distinct values of both samples, ascending; `ranks_u` and `ranks_v`, shape (n,), are
    the ranks (from 0) of the observed values of U and V among them. `unit`, shape (n,), is the unit with which an item
    swaps, 0 to units - 1. `place` counts from 1. t is in parts of `share.denominator` of the values' unit.
    """

    values: Whole
    ranks_u: Integers
    ranks_v: Integers
    unit: Integers
    units: int
    place: int
    share: Fraction

    @property
    def items(self) -> int:
        """n, the number of items."""
        return len(self.ranks_u)

    @property
    def alone(self) -> bool:
        """Whether every item swaps alone."""
        return self.units == self.items

    def quantile(self, ranks: Integers) -> int:
        """Return Q of a sample with these ranks, shape (n,), in parts of `share.denominator`."""
        ordered = np.sort(ranks)
        low = int(self.values[ordered[self.place - 1]])
        if not self.share:
            return low
        high = int(self.values[ordered[self.place]])
        return low * (self.share.denominator - self.share.numerator) + high * self.share.numerator

    @property
    def observed(self) -> int:
        """The observed t."""
        return self.quantile(self.ranks_u) - self.quantile(self.ranks_v)


def quantile_form(
    u: Whole, v: Whole, unit: Integers | None, units: int, place: int, share: Fraction
) -> QuantileForm:
    """Return the form of the values u and v, shape (n,) each; units that no swap changes are kept.

    With `unit` None, every item swaps alone.
    """
    values, ranks = np.unique(np.concatenate([u, v]), return_inverse=True)
    ranks = np.asarray(ranks.reshape(-1), dtype=np.int64)
    ranks_u, ranks_v = ranks[: len(u)], ranks[len(u) :]
    codes = np.arange(len(u)) if unit is None else unit
    return QuantileForm(values, ranks_u, ranks_v, codes, units, place, share)


def swapping(form: QuantileForm) -> Integers:
    """Return the units that a swap changes, ascending: those with different multisets of values in U and V."""
    if form.alone:
        return np.asarray(form.unit[form.ranks_u != form.ranks_v])
    first, second = (ranks[np.lexsort((ranks, form.unit))] for ranks in (form.ranks_u, form.ranks_v))
    return np.unique(np.sort(form.unit)[first != second])


# {Q_U - Q_V >= d} as a staircase of quadrants {Q_U >= a, Q_V <= b}; see section 17 of the README.


@dataclass(frozen=True, slots=True)
class Profile:
    """The ranges of the counts F(x), of U's values of rank at most x; shape (D,) each.

    `pooled` counts the values of both samples; `spread` sums |d| over units, d the change of F(x) by a swap of the
    unit; `squares` sums d**2. F(x) is symmetric about pooled / 2, and at least `least`.
    """

    pooled: Integers
    spread: Integers
    squares: Integers

    @property
    def least(self) -> Integers:
        """The least F(x)."""
        return np.asarray((self.pooled - self.spread) // 2)


def profile(form: QuantileForm) -> Profile:
    """Compute the profile of a form, in O(n log n)."""
    ranks = np.concatenate([form.ranks_u, form.ranks_v])
    units = np.concatenate([form.unit, form.unit])
    step = np.repeat(np.array([1, -1]), form.items)
    order = np.lexsort((ranks, units))
    ranks, step = ranks[order], step[order]
    # A unit has equally many values of U and V, so its sum ends at 0, where the next one begins.
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
    """Steps of the region, shape (m,) each, as ranks: Q_V <= values[at] and values[below] < Q_U <= values[stop].

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
    """Return the steps of {Q_U - Q_V >= distance}, distance > 0, or, if `strict`, of {> distance}, distance >= 0.

    Impossible steps are dropped. For plain order statistics only: `share` must be zero.
    """
    # Differences of Python integers may outgrow 64 bits.
    highest = form.values - distance if form.values.dtype == object else form.values - np.int64(distance)
    at = np.searchsorted(form.values, highest, side="left" if strict else "right") - 1
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
    """Return the log of a bound on P(F(x) - mean >= distance), on either side (Hoeffding 1963, theorem 2)."""
    squares = np.maximum(known.squares[at], 1)
    return np.asarray(-2.0 * np.square(np.maximum(distance, 0.0)) / squares)
