"""Rigorous brackets: their precision, their steps, and when one answers in place of another method.

`engine.real` and `engine.joint.linear_part` only compute. When an exact method gives way to a bracket, and how coarse a bracket
may become to fit the budget, is decided with the other prices (`engine.plan.LONG_S`, `engine.one_sum.methods.WIDEST`).

* A requested bracket has the precision of the request. It stops after `most_steps` at its current width.
* Before `auto` samples one sum it brackets it, as narrowly as the budget allows (`before_samples`).
* A bracket in place of an exact method must decide about alpha (`decides`), else the exact method runs.
* For several sums, a bracket precedes samples if it is as informative (`worth_it`). The less may lie outside of the
  bounds of the remainder (`statistics.remainder`), the wider these are: several chances are tried, and that with the
  narrowest bracket by the normal law is taken. Each is tried twice: bounds of all deviations leave open what a thin
  strip of them does, and bounds of the deviations in that strip are a fraction as wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr

from ..answers.test import ExactFraction
from ..engine.joint.linear_part import STEPS, Distance, LinearPart, bracket, linear_part
from ..engine.lattice import CanonicalForm, Reals
from ..engine.one_sum import methods
from ..engine.plan import Budget, Cost
from ..engine.probability import Alternative, Region
from ..engine.real import bounds
from ..engine.real.bounds import Bracket
from ..engine.real.form import RealForm, RealRegion
from ..engine.real.price import steps_and_bytes
from ..statistics.decisions import as_float, exact_value
from ..statistics.effects import Joint
from ..statistics.evaluation import ball, sign_of
from ..statistics.midpoint import Strip, rounded_line
from ..statistics.remainder import Midpoint, Remainder, midpoint_of
from .certificate import Answer, bracketed
from .options import Options

RealProblem = tuple[RealForm, RealRegion]

# A bracket stops after this many times its predicted steps, and this many more: some 50 ms.
_MOST_TIMES, _SPARE_STEPS = 4, 10_000_000


def most_steps(cost: Cost) -> int:
    """Elementary steps after which a bracket of this predicted cost stops."""
    return _SPARE_STEPS + _MOST_TIMES * cost.operations


def before_samples(form: CanonicalForm, region: Region, options: Options, budget: Budget) -> Cost | None:
    """The narrowest bracket of one sum within the budget, or None; `auto` tries it before it samples."""
    narrowest = methods.narrowest_bracket(form, region, options.precision, budget)
    return narrowest if narrowest.fits(budget) else None


def decides(low: float, high: float, alpha: float) -> bool:
    """Whether a bracket decides on which side of alpha p is."""
    return not low <= alpha <= high


def price_of_real(problem: RealProblem, options: Options, nanoseconds: float) -> Cost:
    """The predicted cost of a bracket at the precision of the request; `nanoseconds` of a step."""
    return Cost("bounds", *steps_and_bytes(*problem, options.precision), nanoseconds)


def bracket_of_real(
    problem: RealProblem, options: Options, cost: Cost, fraction: ExactFraction | None = None
) -> Answer:
    """The answer of a bracket for the original numbers, at the precision of the request or after `most_steps` of its
    cost.
    """
    bracket = bounds.bracket(*problem, precision=options.precision, steps=most_steps(cost))
    return bracketed(bracket, options.precision, fraction)


# A statistic of several sums: how wide its bracket will be, and the bracket itself


# Shares of the p-value outside the bounds, to try. The least of them that has bounds bounds all deviations.
_SHARES = (10.0**-4.0, 10.0**-3.0, 10.0**-2.0)
# Events number some dozens; each first gets this share of the outside.
_EVENTS = 40.0
# Smaller probabilities of the outside are not doubles.
_LEAST_LOG_P = -500.0
# A bracket replaces samples up to this width, if not wider than their 99 % interval of this many standard errors, or if
# narrow in any case.
_TELLING, _INTERVAL = 1.0, 5.15
# The tails are known to this part of the likely width.
_FINELY = 0.02
# Steps of `bounds` that a node of the formula takes each time.
_PER_NODE = 9_000
_U = 2.0**-52


@dataclass(frozen=True, eq=False)
class JointBracket:
    """A plan of a bracket, with its likely width relative to its lower end.

    `size` is the observed |t| / 2, `error` its error, `sign` that of t; `searched` are the steps of finding the
    bounds, which running the plan repeats.
    """

    part: LinearPart
    distance: Distance
    size: float
    error: float
    sign: int
    side: Alternative
    likely: tuple[float, float]
    held: int = 0
    searched: int = 0

    @property
    def width(self) -> float:
        """Likely, relative to the lower end."""
        low, high = self.likely
        return high / low - 1.0 if low > 0.0 else math.inf

    @property
    def cost(self) -> Cost:
        """Of both tails of the linear part, and of the bounds before them."""
        cost = self.part.cost(self.size, self.precision)
        return replace(cost, operations=cost.operations + self.searched, bytes=cost.bytes + self.held)

    @property
    def precision(self) -> float:
        """Of the tails: negligible beside the width."""
        return min(max(_FINELY * self.width, 1e-5), 1e-2)

    @cached_property
    def bracket(self) -> Bracket:
        """The bracket itself, proven."""
        return bracket(
            self.part, self.size, self.error, self.distance, self.side, self.sign, precision=self.precision
        )


def joint_bracket(problem: Joint, side: Alternative) -> JointBracket | None:
    """The narrowest bracket; None where the statistic cannot be bounded about its midpoint."""
    midpoint = midpoint_of(problem)
    observed = None if midpoint is None else _observed(problem)
    if midpoint is None or observed is None:
        return None
    log_p = _log_expected(midpoint, observed[0])
    if log_p < _LEAST_LOG_P:
        return None
    tried = list(_tried(midpoint, log_p, observed[0], observed[1]))
    if not tried:
        return None
    best = max(tried, key=lambda one: one.low / one.high)
    part = _linear_part(midpoint, best.slope)
    if part is None:
        return None
    distance = replace(best.distance, absolute=best.distance.absolute + best.factor * part.norm)
    likely = _on_the_side(best, side, observed[2])
    # The differences of the counts, once more as doubles, and their sizes.
    held, searched = 32 * midpoint.differences.size, (2 + len(_SHARES)) * _PER_NODE * best.nodes
    return JointBracket(part, distance, *observed, side, likely, held, searched)


def worth_it(low: float, high: float, options: Options) -> bool:
    """Whether a bracket has the requested width, or decides about alpha and is not much wider than the samples'
    interval.
    """
    if not low > 0.0:
        return False
    width = high / low - 1.0
    if width <= options.precision:
        return True
    sampled = _INTERVAL * math.sqrt(max(1.0 - low, 0.0) / (low * options.samples))
    return decides(low, high, options.alpha) and width <= max(min(sampled, _TELLING), methods.WIDEST)


@dataclass(frozen=True, slots=True)
class _Likely:
    """The two-sided bracket by the normal law, with bounds of the remainder.

    `factor` is how many standard deviations of what rounding moves the bounds allow.
    """

    slope: Reals
    factor: float
    nodes: int
    distance: Distance
    low: float
    high: float


def _tried(midpoint: Midpoint, log_p: float, size: float, error: float) -> Iterator[_Likely]:
    """By bounds of all deviations, and by those in the strip that such bounds leave open."""
    wide: Remainder | None = None
    for share in _SHARES:
        log_odds = math.log(_EVENTS / share) - log_p
        if wide is None:
            wide = midpoint.remainder(log_odds)
            if wide is None:
                continue
            outside = wide.reaches.log_outside
            yield _likely(midpoint, wide, size, outside)
            most = (size + error + wide.absolute) / (1.0 - wide.relative) * (1.0 + 1e-9)
            strip = Strip(wide.slope, most, midpoint.spread)
        inside = midpoint.remainder(log_odds, strip)
        # Both must be about one linear form, or they say nothing together.
        if inside is not None and np.array_equal(inside.slope, wide.slope):
            yield _likely(midpoint, inside, size, float(np.logaddexp(outside, inside.reaches.log_outside)))


def _observed(problem: Joint) -> tuple[float, float, int] | None:
    """|t| / 2, a bound on its error, and the sign of t; None without a value, or if its sign is unknown."""
    start = problem.stay.sum(axis=0).tolist()
    value = exact_value(problem.function.quantity, start)
    if value is None or (not isinstance(value, Fraction) and ball(value).contains(0)):
        return None
    number = as_float(value)
    error = 4.0 * _U * abs(number) + float(ball(value).rad()) + 1e-300
    sign = sign_of(value, last=True)
    return 0.5 * abs(number), error, sign


def _log_expected(midpoint: Midpoint, size: float) -> float:
    """The logarithm of the two-sided p-value by the normal law, of the linear part where that is known."""
    rough = midpoint.remainder(math.log(1e4))
    if rough is None:
        return 0.0
    deviation = math.sqrt(midpoint.spread.variance(rough.slope))
    return math.log(2.0) + float(log_ndtr(-size / deviation))


def _linear_part(midpoint: Midpoint, slope: Reals) -> LinearPart | None:
    """slope . s on a lattice, with what rounding its effects has changed."""
    differences = midpoint.differences
    slopes = [Fraction(one) / 2 for one in slope.tolist()]
    line = rounded_line(slopes, differences, np.ones(len(differences), dtype=np.int64), STEPS)
    if line is None:
        return None
    step = float(line.unit)
    terms = len(slope) + 4
    lost = terms * _U * (np.abs(differences) @ np.abs(slope))
    return linear_part(line.effects, step, np.abs(0.5 * (differences @ slope) - step * line.effects) + lost)


def _on_the_side(both: _Likely, side: Alternative, sign: int) -> tuple[float, float]:
    """The bracket of one side from that of both."""
    low, high = both.low, min(both.high, 1.0)
    if side == "two-sided":
        return low, high
    towards = sign != 0 and (sign > 0) == (side == "greater")
    return (0.5 * low, 0.5 * high) if towards else (1.0 - 0.5 * high, 1.0 - 0.5 * low)


def _likely(midpoint: Midpoint, remainder: Remainder, size: float, log_outside: float) -> _Likely:
    deviation = math.sqrt(midpoint.spread.variance(remainder.slope))
    near = max(size - remainder.absolute, 0.0) / (1.0 + remainder.relative)
    far = (size + remainder.absolute) / (1.0 - remainder.relative)
    # One more event: what rounding to a lattice moves.
    log_outside = float(np.logaddexp(log_outside, -remainder.reaches.log_odds)) + 1e-9
    outside = math.exp(log_outside)
    low, high = (2.0 * math.exp(float(log_ndtr(-end / deviation))) for end in (far, near))
    distance = Distance(remainder.relative, remainder.absolute, log_outside)
    return _Likely(
        remainder.slope,
        remainder.reaches.factor,
        remainder.nodes,
        distance,
        max(low - outside, 0.0),
        high + outside,
    )
