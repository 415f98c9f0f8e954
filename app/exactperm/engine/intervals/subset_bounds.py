"""Ends for many units, real-valued or on a fine lattice, between two rigorous brackets of G.

Each hypothesis is a tail of a random sum with weights |d - r s|, which `bounds` brackets narrowly enough to decide on
which side of the level it lies. Hypotheses are multiples of a step, so that integers stay exact and the answer does not
depend on the last digit of a guess.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..lattice import CanonicalForm
from ..probability import region
from ..real import bounds
from ..real.form import RealForm, RealRegion, Tail, from_lattice
from ..real.price import tail_steps
from ..real.spectrum import evaluation_steps
from ..real.tilt import real_tilt_towards
from .subset_means import Approximation, End, Grid, Units, end_of, search

# Resolutions of an end as shares of the interval's width, finest first; coarser ones are useless.
_RESOLUTIONS = (2.0**-20, 2.0**-17, 2.0**-14, 2.0**-10)
_CHEAP_NANOSECONDS = 150_000_000
# Nanoseconds of an elementary step of a bracket, and of an evaluation of G (one hypothesis) besides its bracket. Fitted
# by hand to measured times, as are the constants below; no section of the benchmark checks them.
_PER_STEP, _PER_EVALUATION = 10, 6_000_000
# Elementary steps of an evaluation besides those of its bracket.
_EVALUATION_STEPS = 200_000
# Evaluations for an end: directly, and by way of coarser steps.
_EVALUATIONS, _EVALUATIONS_BY_WAY = 3, 5
# Elementary steps of a group besides those of the transform; `tail_steps` counts fewer, but for every unit.
_PER_GROUP, _PER_UNIT_PRICED = 240, 120
# An end may take this multiple of the plan, plus this many steps (about 40 ms); beyond that it stays less resolved.
_MOST_TIMES, _SPARE_STEPS = 2, 8_000_000
# The largest plan of an end.
_CAPPED_STEPS = 150_000_000
# An evaluation may take one part in this many of the remaining steps, because next to a jump no number is enough.
_SHARE_OF_AN_EVALUATION = 3
# An undecided bracket is narrowed by this factor.
_FINER = 8.0
_ATTEMPTS = 2
_NARROWEST = 1e-9
# More distinct effects are rounded to multiples of their spread over _PER_SPREAD.
_MOST_DISTINCT = 1 << 17
_PER_SPREAD = 1 << 14
_RARE = 2.0**-24
# Relative rounding of the level as a double, and of sums with it.
_ROUNDING = 2.0**-50


@dataclass(frozen=True)
class RoundedUnits:
    """The `units`, and their replacement: the same units, or units with effects `rounded`.

    The rounding error of a random subset's sum is half of the total error plus a deviation, which exceeds
    `deviation` / 2 on either side with a probability of at most `rare` (Hoeffding 1963, theorem 2).
    """

    units: Units
    rounded: Units
    deviation: int
    rare: float

    def mirrored(self) -> RoundedUnits:
        """Exchange U and V."""
        return RoundedUnits(self.units.mirrored(), self.rounded.mirrored(), self.deviation, self.rare)

    def hypothesis(self, r: Fraction) -> tuple[RealForm, RealRegion]:
        """Return the form and the region with P(region) = G(r), up to rounding; its tail allows for all deviations."""
        rounded, top, bottom = self.rounded, r.numerator, r.denominator
        weights, group = np.unique(
            np.abs(rounded.effects * bottom - rounded.sizes * top), return_inverse=True
        )
        counts = np.bincount(group, weights=rounded.counts).astype(np.int64)
        if weights[0] == 0:
            weights, counts = weights[1:], counts[1:]
        divisor = int(np.gcd.reduce(weights)) if len(weights) else 1
        weights = weights // divisor
        form = CanonicalForm(-int((weights * counts).sum()), 2, weights, counts, rounded.n)
        observed = self.units.total_effect * bottom - self.units.total_size * top
        deviation = self.deviation * bottom
        real, outer = from_lattice(form, region(form, (observed - deviation) // divisor, "greater"))
        if not deviation:
            return real, outer
        _, inner = from_lattice(form, region(form, -(-(observed + deviation) // divisor), "greater"))
        return real, RealRegion((Tail(outer.tails[0].outer, inner.tails[0].inner),))


def rounded_units(units: Units, tail: Fraction) -> RoundedUnits:
    """Return the units unchanged, or with rounded effects where more than _MOST_DISTINCT are distinct."""
    alike = int(units.sizes.max()) == 1
    if len(units.counts) <= _MOST_DISTINCT or not alike:
        return RoundedUnits(units, units, 0, 0.0)
    spread = Approximation(units).error * math.sqrt(units.n)
    step = max(round(spread / _PER_SPREAD), 1)
    nearest = (2 * units.effects + step) // (2 * step)
    error = (units.effects - nearest * step).astype(np.float64)
    rare = float(tail) * _RARE
    # 2 exp(-2 x**2 / sum of error**2) <= rare, with x half of `deviation`.
    deviation = math.ceil(
        2.001 * math.sqrt(0.5 * float((units.counts * error * error).sum()) * math.log(2.0 / rare))
    )
    distinct, group = np.unique(nearest, return_inverse=True)
    counts = np.bincount(group, weights=units.counts).astype(np.int64)
    rounded = Units(distinct * step, np.ones(len(distinct), dtype=np.int64), counts)
    return RoundedUnits(units, rounded, deviation, rare)


@dataclass(frozen=True, slots=True)
class BoundsPlan:
    """The grid of hypotheses, the relative `precision` of brackets, and the cost.

    Hypotheses `coarse` steps apart are evaluated first; `allowed` elementary steps may be spent on each end.
    """

    units: RoundedUnits
    guess: float
    grid: Grid
    precision: float
    coarse: int
    allowed: int
    bytes: int
    nanoseconds: int


def plan(units: Units, tail: Fraction) -> BoundsPlan | None:
    """Plan the finest resolution that is cheap, or the coarsest where none is, for one `tail` of the interval.

    None for a tail so near 1/2 that doubles cannot separate the end from the observed mean.
    """
    tried = rounded_units(units, tail)
    approximation = Approximation(tried.rounded)
    guess = approximation.end(float(tail))
    width = 2.0 * (approximation.centre - guess)
    if not width > 0.0:
        return None
    room = units.finest(2 * abs(Fraction(guess)) + 8 * Fraction(width))
    best: BoundsPlan | None = None
    coarsest = Grid(_step(_RESOLUTIONS[-1] * width, room))
    form, tails = tried.hypothesis(coarsest.at(coarsest.near(guess)))
    theta = real_tilt_towards(form, tails.tails[0].outer).theta
    for share in _RESOLUTIONS[-1:] if tried.deviation else _RESOLUTIONS:
        grid = Grid(_step(share * width, room))
        apart = math.log(approximation.tail(guess + float(grid.step)) / approximation.tail(guess))
        precision = min(max(0.25 * abs(apart), _NARROWEST), 0.1)
        steps, held = _price(form, theta, precision)
        coarse = max(round(coarsest.step / grid.step), 1)
        evaluations = _EVALUATIONS if coarse == 1 else _EVALUATIONS_BY_WAY
        an_end = min(evaluations * (_PER_EVALUATION + _PER_STEP * steps), _PER_STEP * _CAPPED_STEPS)
        allowed, nanoseconds = _SPARE_STEPS + _MOST_TIMES * an_end // _PER_STEP, 2 * an_end
        if best is None or nanoseconds < best.nanoseconds:
            best = BoundsPlan(tried, guess, grid, precision, coarse, allowed, held, nanoseconds)
        if nanoseconds <= _CHEAP_NANOSECONDS:
            break
    assert best is not None
    return best


def _step(resolution: float, room: int) -> Fraction:
    """Return the largest power of two up to half the resolution, at least 2**-room for the engine's integers."""
    return Fraction(2) ** max(math.floor(math.log2(0.5 * resolution)), -room)


def _price(form: RealForm, theta: float, precision: float) -> tuple[int, int]:
    """Predict the elementary steps of one evaluation, and its bytes."""
    steps, retained = tail_steps(form, theta, precision)
    groups = len(form.halves)
    # `tail_steps` counts every unit as a group, and samples the groups if there are many.
    steps += _PER_GROUP * groups - _PER_UNIT_PRICED * form.nonzero + retained * evaluation_steps(form) // 2
    return max(steps, 0), 200 * (groups + min(retained, 1 << 21)) + (1 << 26)


class _Decisions:
    """Decides hypotheses in turn while its elementary steps last."""

    def __init__(
        self, planned: BoundsPlan, units: RoundedUnits, approximation: Approximation, target: float
    ) -> None:
        self.planned, self.units, self.approximation, self.target = planned, units, approximation, target
        self.left = planned.allowed

    def side(self, index: int) -> int:
        """Decide as `Sides` by a bracket of the precision that the approximation suggests, or a narrower one."""
        units, r = self.units, self.planned.grid.at(index)
        if self.left <= 0 or not units.units.room(r.numerator, r.denominator):
            return 0
        hypothesis = units.hypothesis(r)
        apart = abs(math.log(max(self.approximation.tail(float(r)), 1e-300) / self.target))
        precision = min(max(0.4 * apart, self.planned.precision), 0.1)
        for _ in range(_ATTEMPTS):
            bracket = bounds.bracket(
                *hypothesis, precision=precision, steps=self.left // _SHARE_OF_AN_EVALUATION
            )
            self.left -= bracket.steps + _EVALUATION_STEPS
            if bracket.high + units.rare < self.target * (1.0 - _ROUNDING):
                return -1
            if bracket.low - units.rare > self.target * (1.0 + _ROUNDING):
                return 1
            if self.left <= 0 or not bracket.reached or precision <= _NARROWEST:
                break
            precision = max(precision / _FINER, _NARROWEST)
        return 0


def lower_end(planned: BoundsPlan, tail: Fraction, *, upper: bool = False) -> End:
    """Bracket the smallest r that is not rejected, or minus the largest one if `upper`.

    The search is coarse first, which is always cheap, and then ever finer while the steps last: on a lattice whose
    subsets have few distinct means, evaluations next to one of them are expensive.
    """
    units = planned.units.mirrored() if upper else planned.units
    approximation = Approximation(units.rounded)
    guess = approximation.end(float(tail)) if upper else planned.guess
    decisions = _Decisions(planned, units, approximation, float(tail))
    bracket: tuple[int, int] | None = None
    for spread in dict.fromkeys((planned.coarse, math.isqrt(planned.coarse), 1)):
        bracket = search(
            units.units, planned.grid, decisions.side, guess, spread=spread, goal=spread, within=bracket
        )
    assert bracket is not None
    return end_of(units.units, *(planned.grid.at(index) for index in bracket))
