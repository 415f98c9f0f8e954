"""The interval of all hypotheses that a two-sided test of flipped signs does not reject: first planned, then solved.

There are three methods: counting subsets by halves (few units), the joint law of effects and sizes (a coarse
lattice), and rigorous brackets of the tail (everything else). See `subset_means` for the theory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from ..lattice import Integers
from ..plan import Budget
from . import subset_bounds, subset_halves, subset_law
from .subset_bounds import BoundsPlan
from .subset_law import LawPlan
from .subset_means import End, Units, units_of

# Returns the lower end, and the lower end of the mirror image, which is minus the upper end.
FindEnds = Callable[[], tuple[End, End]]

# Halves up to this cost are not compared with the law.
_CHEAP_NANOSECONDS = 10_000_000
# Brackets are preferred to a law that takes longer than this.
_MOST_NANOSECONDS = 250_000_000
# An interval whose ends are less certain than this share of its width is not reported.
_MOST_OPEN = Fraction(1, 16)
# With this many units, 2 / 2**n is below every positive double.
_MANY = 1100


@dataclass(frozen=True, slots=True)
class Ends:
    """The ends, None where no hypothesis is rejected; each is at most `width` too far out, 0 if exact."""

    low: Fraction | None
    high: Fraction | None
    width: Fraction


@dataclass(frozen=True, slots=True)
class IntervalPlan:
    """The plan for both ends: by `subset_halves`, `subset_law` or `subset_bounds`; r is in units of `scale`."""

    units: Units
    scale: Fraction
    method: str
    find: FindEnds | None
    nanoseconds: int

    def solve(self) -> Ends:
        """Return the ends of the interval, in the effects' unit per unit of size, or raise NotAnIntervalError."""
        if self.find is None:
            return Ends(None, None, Fraction(0))
        below, above = self.find()
        width = max(below.width, above.width)
        return Ends(below.at * self.scale, -above.at * self.scale, width * self.scale)


class NotAnIntervalError(ValueError):
    """No interval is available; the message gives the reason."""


def plan(effects: Integers, sizes: Integers | None, alpha: Fraction, budget: Budget) -> IntervalPlan:
    """Plan the interval {r : two-sided p(r) > alpha} for effects of symmetric units, shape (M,); 0 < alpha < 1.

    `sizes`, shape (M,), are the units' shares of the shift, one each when None.

    Raises
    ------
        NotAnIntervalError: if the interval does not fit the budget, or some unit has an effect but no size.
    """
    reduced = units_of(effects, sizes)
    if reduced is None:
        raise NotAnIntervalError("some unit has an effect but no size by which to share the shift")
    units, scale = reduced
    tail = alpha / 2
    if units.n < _MANY and tail < Fraction(1, 1 << units.n):
        return IntervalPlan(units, scale, "none", None, 0)
    if units.lowest == units.observed:
        # All means are equal, so every other hypothesis is rejected.
        return IntervalPlan(units, scale, "listed", partial(_exactly, units), 0)
    halves = subset_halves.nanoseconds(units) if subset_halves.applies(units) else None
    if halves is not None and halves <= _CHEAP_NANOSECONDS:
        return _by_halves(units, scale, tail, halves)
    law = subset_law.plan(units, budget.bytes)
    if law is not None and law.nanoseconds < min(
        budget.operations, _MOST_NANOSECONDS, halves or _MOST_NANOSECONDS
    ):
        return _by_law(units, scale, tail, law)
    if halves is not None and halves <= budget.operations:
        return _by_halves(units, scale, tail, halves)
    return _by_bounds(units, scale, tail, budget)


def _exactly(units: Units) -> tuple[End, End]:
    return End(units.observed, Fraction(0)), End(-units.observed, Fraction(0))


def _halved(units: Units, tail: Fraction) -> tuple[End, End]:
    return subset_halves.lower_end(units, tail), subset_halves.lower_end(units.mirrored(), tail)


def _by_halves(units: Units, scale: Fraction, tail: Fraction, price: int) -> IntervalPlan:
    return IntervalPlan(units, scale, "halves", partial(_halved, units, tail), price)


def _by_law(units: Units, scale: Fraction, tail: Fraction, planned: LawPlan) -> IntervalPlan:
    find = partial(_ends_by_law, units, tail, planned)
    return IntervalPlan(units, scale, "law", find, planned.nanoseconds)


def _ends_by_law(units: Units, tail: Fraction, planned: LawPlan) -> tuple[End, End]:
    law = subset_law.subset_law(units, planned)
    below = subset_law.lower_end(units, law, tail)
    above = subset_law.lower_end(units.mirrored(), law.mirrored(), tail)
    if (below.width or above.width) and subset_halves.applies(units):
        return _halved(units, tail)  # doubles cannot decide a p of exactly alpha, integers can
    return below, above


def _by_bounds(units: Units, scale: Fraction, tail: Fraction, budget: Budget) -> IntervalPlan:
    planned = subset_bounds.plan(units, tail)
    if planned is None:
        raise NotAnIntervalError(
            "its ends are too near to the observed difference to be distinguished from it"
        )
    if planned.nanoseconds > budget.operations or planned.bytes > budget.bytes:
        raise NotAnIntervalError(
            f"its ends would take about {planned.nanoseconds * 1e-9:.3g} s and {planned.bytes:,} bytes"
        )

    find = partial(_ends_by_bounds, planned, tail)
    return IntervalPlan(units, scale, "bounds", find, planned.nanoseconds)


def _ends_by_bounds(planned: BoundsPlan, tail: Fraction) -> tuple[End, End]:
    below, above = (subset_bounds.lower_end(planned, tail, upper=upper) for upper in (False, True))
    if max(below.width, above.width) > _MOST_OPEN * -(below.at + above.at):
        raise NotAnIntervalError("its ends could not be narrowed down in reasonable time")
    return below, above
