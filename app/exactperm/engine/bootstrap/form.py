"""The paired bootstrap of a sum: N draws with replacement from N units on a lattice.

Units are items, or clusters of items with their effects summed. Only the multiset of effects and their differences
matter: S* = offset + step T with T a sum of N independent draws on 0, 1, 2, ...
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..lattice import MAX_TOTAL, Integers, LatticeOverflowError, Reals, exact_total
from ..probability import Alternative, Region, clipped_region


@dataclass(frozen=True)
class ResampleForm:
    """S* = offset + step * T, T the sum of `draws` independent draws of values[j], probability counts[j] / draws.

    `values` ascend from 0, shape (U,), with greatest common divisor 1; `counts` are their numbers of units. `observed`
    is S, the sum over all units.
    """

    offset: int
    step: int
    values: Integers
    counts: Integers
    observed: int

    @cached_property
    def draws(self) -> int:
        """N, the number of units and of draws."""
        return int(self.counts.sum())

    @cached_property
    def range(self) -> int:
        """The largest value of T, exactly."""
        return self.draws * int(self.values[-1])

    @cached_property
    def probabilities(self) -> Reals:
        """The probabilities of one draw, shape (U,)."""
        return np.asarray(self.counts / self.draws, dtype=np.float64)

    @cached_property
    def mean_total(self) -> int:
        """The mean of T, an integer: T of the original units."""
        return (self.observed - self.offset) // self.step

    def mirrored(self) -> ResampleForm:
        """Return the law of range - T."""
        return ResampleForm(0, 1, (self.values[-1] - self.values)[::-1], self.counts[::-1], self._mirror())

    def _mirror(self) -> int:
        return self.range - self.mean_total


def resample_form(units: Integers) -> ResampleForm:
    """Reduce the effects of N >= 1 units, shape (N,), to the form of their bootstrap.

    Raises LatticeOverflowError when N times the largest effect is 2**61 or more.
    """
    distinct, counts = np.unique(units, return_counts=True)
    largest = max(-int(distinct[0]), int(distinct[-1]), int(distinct[-1]) - int(distinct[0]))
    if largest * len(units) >= MAX_TOTAL:
        raise LatticeOverflowError("a resampled sum could reach 2**61")
    lowest = int(distinct[0])
    step = max(int(np.gcd.reduce(distinct - lowest)), 1)
    values = (distinct - lowest) // step
    return ResampleForm(lowest * len(units), step, values, counts.astype(np.int64), exact_total(units))


def with_room(units: Integers) -> tuple[Integers, int]:
    """Divide the units by 2**bits, rounded, so that no resample reaches 2**61; bits is 0 where none did before.

    The magnitudes of real scores fill 59 bits with their sum, and a resample may draw the largest N times. The rounding
    is below 2**-58 of that. Halves round away from zero, so exchanging the systems mirrors all.
    """
    if len(units) == 0:
        return units, 0
    low, high = int(units.min()), int(units.max())
    bits = max((max(-low, high, high - low) * len(units)).bit_length() - 60, 0)
    if bits == 0:
        return units, 0
    return np.sign(units) * ((np.abs(units) + (1 << (bits - 1))) >> bits), bits


def shifted_null(form: ResampleForm, alternative: Alternative, wider: int = 0) -> Region:
    """Return the values of T at least as extreme, ties included, under the shifted null distribution of S* - S.

    `two-sided` is |S* - S| >= |S|, `greater` S* - S >= S, `less` S* - S <= S. The region is empty if no resample is
    that far out. `wider` widens the tails by that much in units of S, or narrows them where it is negative.
    """
    total, size = form.observed, abs(form.observed)
    intervals = []
    if alternative != "greater":
        end = 2 * total if alternative == "less" else total - size
        intervals.append((0, _floor(form, end + wider)))
    if alternative != "less":
        end = 2 * total if alternative == "greater" else total + size
        intervals.append((_ceil(form, end - wider), form.range))
    return clipped_region(form.range, intervals)


def _ceil(form: ResampleForm, total: int) -> int:
    return -((form.offset - total) // form.step)


def _floor(form: ResampleForm, total: int) -> int:
    return (total - form.offset) // form.step
