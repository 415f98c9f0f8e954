"""A rigorous bracket of a statistic of several sums: how wide it will be, and the bracket itself.

The less may lie outside of the bounds of the remainder (`statistics.remainder`), the wider these are: several chances are
tried, and that with the narrowest bracket by the normal law is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr

from ..engine.joint.linear_part import Distance, LinearPart, bracket, linear_part
from ..engine.plan import Cost
from ..engine.probability import Alternative
from ..engine.real.bounds import Bracket
from ..statistics.decisions import as_float, exact_value
from ..statistics.exact_value import ball, sign_of
from ..statistics.joint_problem import Joint
from ..statistics.remainder.remainder import Midpoint, midpoint_of
from ..statistics.sum_function import FunctionOf

# What lies outside, against the p-value: the shares that are tried, from many to few.
_SHARES = tuple(10.0**-exponent for exponent in (1.5, 2.0, 2.5, 3.0, 3.5, 4.0))
# Events are some dozens; each has this part of what lies outside at first.
_EVENTS = 40.0
_U = 2.0**-52


@dataclass(frozen=True, eq=False)
class JointBracket:
    """What is bracketed, and how wide the bracket is likely to be, relative to its lower end.

    `size` is |t| / 2 as observed, `error` what it is off by, `sign` that of t.
    """

    part: LinearPart
    distance: Distance
    size: float
    error: float
    sign: int
    side: Alternative
    likely: tuple[float, float]

    @property
    def width(self) -> float:
        """Likely, relative to the lower end."""
        low, high = self.likely
        return high / low - 1.0 if low > 0.0 else math.inf

    @property
    def cost(self) -> Cost:
        """Of the exact law of the linear part, twice."""
        return self.part.cost

    @cached_property
    def bracket(self) -> Bracket:
        """The bracket itself, proven."""
        return bracket(self.part, self.size, self.error, self.distance, self.side, self.sign)


def joint_bracket(problem: Joint, side: Alternative) -> JointBracket | None:
    """The narrowest bracket; None where the statistic cannot be bounded about its midpoint."""
    midpoint = midpoint_of(problem)
    observed = None if midpoint is None else _observed(problem)
    if midpoint is None or observed is None:
        return None
    best: JointBracket | None = None
    log_p = _log_expected(midpoint, observed[0])
    for share in _SHARES:
        tried = _tried(midpoint, observed, side, math.log(_EVENTS / share) - log_p)
        if tried is not None and (best is None or tried.width < best.width):
            best = tried
    return best


def _observed(problem: Joint) -> tuple[float, float, int] | None:
    """|t| / 2, a bound on its error, and the sign of t; None where there is no value."""
    assert isinstance(problem.function, FunctionOf)
    start = problem.stay.sum(axis=0).tolist()
    value = exact_value(problem.function.quantity, start)
    if value is None:
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


def _tried(
    midpoint: Midpoint, observed: tuple[float, float, int], side: Alternative, log_odds: float
) -> JointBracket | None:
    """The bracket where each event has the probability exp(-log_odds)."""
    found = midpoint.remainder(log_odds)
    if found is None:
        return None
    effects = 0.5 * (midpoint.differences @ found.slope)
    terms = len(found.slope) + 4
    errors = terms * _U * (np.abs(midpoint.differences) @ np.abs(found.slope))
    part = linear_part(effects, errors)
    if part is None:
        return None
    # One more event: what rounding moves.
    outside = np.logaddexp(found.reaches.log_outside, -log_odds)
    absolute = found.absolute + found.reaches.factor * part.norm
    distance = Distance(found.relative, absolute, float(outside) + 1e-9)
    size, error, sign = observed
    return JointBracket(part, distance, size, error, sign, side, _likely(part, distance, size))


def _likely(part: LinearPart, distance: Distance, size: float) -> tuple[float, float]:
    """The two-sided bracket by the normal law."""
    near = max(size - distance.absolute, 0.0) / (1.0 + distance.relative)
    far = (size + distance.absolute) / (1.0 - distance.relative)
    outside = math.exp(distance.log_outside)
    low, high = (2.0 * math.exp(float(log_ndtr(-end / part.deviation))) for end in (far, near))
    return max(low - outside, 0.0), high + outside
