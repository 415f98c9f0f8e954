"""Many units, real-valued or on a fine lattice: the end between two rigorous brackets of G.

Each hypothesis is a tail of a sum of coins of weight |d - r s|, which `bounds` brackets as narrowly as it takes to
say on which side of the level it lies. Hypotheses are multiples of a step, so that the integers stay exact and
the answer does not depend on the last digit of a guess.
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

# Shares of the interval's width that an end is resolved to, finest first; the last one is the least worth having.
_RESOLUTIONS = (2.0**-20, 2.0**-17, 2.0**-14, 2.0**-10)
_CHEAP_NANOSECONDS = 150_000_000
_PER_STEP, _PER_LOOK = 6, 3_000_000
# Elementary steps of a look beside those of its bracket.
_LOOK_STEPS = 200_000
# Looks that an end takes: at once, and by way of coarser steps.
_LOOKS, _LOOKS_BY_WAY = 3, 5
# Elementary steps of a group beside those of the transform; `tail_steps` has fewer, but for every unit.
_PER_GROUP, _PER_UNIT_PRICED = 240, 120
# An end may take so many times what was planned, and so many steps more (40 ms). Where it needs more it is less
# resolved. A single look may take this share of what is left: next to a jump of the law none is enough.
_MOST_TIMES, _SPARE_STEPS = 2, 8_000_000
# No end is planned at more.
_CAPPED_STEPS = 150_000_000
_SHARE_OF_A_LOOK = 3
# A bracket that does not tell is made this much narrower.
_FINER = 8.0
_ATTEMPTS = 2
_NARROWEST = 1e-9
# More distinct effects than this are rounded to this part of their spread.
_MOST_DISTINCT = 1 << 17
_PER_SPREAD = 1 << 14
_RARE = 2.0**-24
# The level as a double, and sums with it.
_ROUNDING = 2.0**-50


@dataclass(frozen=True)
class Coins:
    """What is tried in the place of `units`: themselves, or with effects rounded.

    The rounding of a random subset is half of all rounding and a deviation, which exceeds `stray` / 2 on either
    side with a probability of at most `rare` (Hoeffding 1963, theorem 2).
    """

    units: Units
    rounded: Units
    stray: int
    rare: float

    def mirrored(self) -> Coins:
        """The same with V in the place of U."""
        return Coins(self.units.mirrored(), self.rounded.mirrored(), self.stray, self.rare)

    def hypothesis(self, r: Fraction) -> tuple[RealForm, RealRegion]:
        """P(region) = G(r): its tail is outside of what the upper bound needs, inside of what the lower one does."""
        these, top, bottom = self.rounded, r.numerator, r.denominator
        weights, group = np.unique(np.abs(these.effects * bottom - these.sizes * top), return_inverse=True)
        counts = np.bincount(group, weights=these.counts).astype(np.int64)
        if weights[0] == 0:
            weights, counts = weights[1:], counts[1:]
        divisor = int(np.gcd.reduce(weights)) if len(weights) else 1
        weights = weights // divisor
        form = CanonicalForm(-int((weights * counts).sum()), 2, weights, counts, these.n)
        observed, stray = self.units.total_effect * bottom - self.units.total_size * top, self.stray * bottom
        real, outer = from_lattice(form, region(form, (observed - stray) // divisor, "greater"))
        if not stray:
            return real, outer
        _, inner = from_lattice(form, region(form, -(-(observed + stray) // divisor), "greater"))
        return real, RealRegion((Tail(outer.tails[0].outer, inner.tails[0].inner),))


def coins(units: Units, tail: Fraction) -> Coins:
    """The units as they are, unless their effects are too many."""
    alike = int(units.sizes.max()) == 1
    if len(units.counts) <= _MOST_DISTINCT or not alike:
        return Coins(units, units, 0, 0.0)
    spread = Approximation(units).error * math.sqrt(units.n)
    step = max(round(spread / _PER_SPREAD), 1)
    nearest = (2 * units.effects + step) // (2 * step)
    error = (units.effects - nearest * step).astype(np.float64)
    rare = float(tail) * _RARE
    # 2 exp(-2 x**2 / sum of error**2) <= rare, x being half of `stray`.
    stray = math.ceil(
        2.001 * math.sqrt(0.5 * float((units.counts * error * error).sum()) * math.log(2.0 / rare))
    )
    distinct, group = np.unique(nearest, return_inverse=True)
    counts = np.bincount(group, weights=units.counts).astype(np.int64)
    rounded = Units(distinct * step, np.ones(len(distinct), dtype=np.int64), counts)
    return Coins(units, rounded, stray, rare)


@dataclass(frozen=True, slots=True)
class BoundsPlan:
    """The grid of hypotheses, how narrow brackets have to be, and the price.

    `coarse` steps of the grid are looked at first; `allowed` elementary steps may be spent on either end.
    """

    coins: Coins
    guess: float
    grid: Grid
    precision: float
    coarse: int
    allowed: int
    bytes: int
    nanoseconds: int


def plan(units: Units, tail: Fraction) -> BoundsPlan | None:
    """The finest resolution that is cheap; the coarsest where none is.

    None for a tail so near to a half that doubles do not tell the end from the observed mean.
    """
    these = coins(units, tail)
    looking = Approximation(these.rounded)
    guess = looking.end(float(tail))
    width = 2.0 * (looking.centre - guess)
    if not width > 0.0:
        return None
    room = units.finest(2 * abs(Fraction(guess)) + 8 * Fraction(width))
    found: BoundsPlan | None = None
    coarsest = Grid(_step(_RESOLUTIONS[-1] * width, room))
    form, tails = these.hypothesis(coarsest.at(coarsest.near(guess)))
    theta = real_tilt_towards(form, tails.tails[0].outer).theta
    for share in _RESOLUTIONS[-1:] if these.stray else _RESOLUTIONS:
        grid = Grid(_step(share * width, room))
        apart = math.log(looking.tail(guess + float(grid.step)) / looking.tail(guess))
        precision = min(max(0.25 * abs(apart), _NARROWEST), 0.1)
        steps, held = _price(form, theta, precision)
        coarse = max(round(coarsest.step / grid.step), 1)
        looks = _LOOKS if coarse == 1 else _LOOKS_BY_WAY
        an_end = min(looks * (_PER_LOOK + _PER_STEP * steps), _PER_STEP * _CAPPED_STEPS)
        allowed, nanoseconds = _SPARE_STEPS + _MOST_TIMES * an_end // _PER_STEP, 2 * an_end
        if found is None or nanoseconds < found.nanoseconds:
            found = BoundsPlan(these, guess, grid, precision, coarse, allowed, held, nanoseconds)
        if nanoseconds <= _CHEAP_NANOSECONDS:
            break
    assert found is not None
    return found


def _step(resolution: float, room: int) -> Fraction:
    """A power of two, two of which are the resolution or less; with room for it in the engine's integers."""
    return Fraction(2) ** max(math.floor(math.log2(0.5 * resolution)), -room)


def _price(form: RealForm, theta: float, precision: float) -> tuple[int, int]:
    """Elementary steps of one look, and bytes."""
    steps, retained = tail_steps(form, theta, precision)
    groups = len(form.halves)
    # `tail_steps` counts every unit as a group, and samples the groups where they are many.
    steps += _PER_GROUP * groups - _PER_UNIT_PRICED * form.nonzero + retained * evaluation_steps(form) // 2
    return max(steps, 0), 200 * (groups + min(retained, 1 << 21)) + (1 << 26)


class _Looks:
    """Decides hypotheses one after another while its elementary steps last; then it knows none any more."""

    def __init__(self, planned: BoundsPlan, these: Coins, looking: Approximation, target: float) -> None:
        self.planned, self.these, self.looking, self.target = planned, these, looking, target
        self.left = planned.allowed

    def side(self, index: int) -> int:
        """By brackets as narrow as the expansion says it takes, and narrower ones where it is wrong."""
        these, r = self.these, self.planned.grid.at(index)
        if self.left <= 0 or not these.units.room(r.numerator, r.denominator):
            return 0
        tried = these.hypothesis(r)
        apart = abs(math.log(max(self.looking.tail(float(r)), 1e-300) / self.target))
        precision = min(max(0.4 * apart, self.planned.precision), 0.1)
        for _ in range(_ATTEMPTS):
            found = bounds.bracket(*tried, precision=precision, steps=self.left // _SHARE_OF_A_LOOK)
            self.left -= found.steps + _LOOK_STEPS
            if found.high + these.rare < self.target * (1.0 - _ROUNDING):
                return -1
            if found.low - these.rare > self.target * (1.0 + _ROUNDING):
                return 1
            if self.left <= 0 or not found.reached or precision <= _NARROWEST:
                break
            precision = max(precision / _FINER, _NARROWEST)
        return 0


def lower_end(planned: BoundsPlan, tail: Fraction, *, upper: bool = False) -> End:
    """A bracket of the smallest r that is not rejected; of minus the largest one when `upper`.

    Coarsely first, which is always cheap, and then more and more finely while the steps last: on a lattice whose
    subsets have few different means, looks next to one of them are dear.
    """
    these = planned.coins.mirrored() if upper else planned.coins
    looking = Approximation(these.rounded)
    guess = looking.end(float(tail)) if upper else planned.guess
    looks = _Looks(planned, these, looking, float(tail))
    bracket: tuple[int, int] | None = None
    for spread in dict.fromkeys((planned.coarse, math.isqrt(planned.coarse), 1)):
        bracket = search(
            these.units, planned.grid, looks.side, guess, spread=spread, goal=spread, within=bracket
        )
    assert bracket is not None
    return end_of(these.units, *(planned.grid.at(index) for index in bracket))
