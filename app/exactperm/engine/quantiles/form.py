"""Two paired samples and the order statistic of each that is compared, as ranks among all values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..lattice import Integers, Whole


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
        """Whether every item swaps by itself."""
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
