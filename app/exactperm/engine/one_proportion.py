"""One system alone: tails of Binomial(n, p) for any p, a tail bound of means of bounded scores, and their intervals.

A binomial tail is a regularised incomplete beta function, in ball arithmetic (Johansson 2017, Arb):

    P(B >= k) = I_p(k, n - k + 1).

`convex_bound` is for S, the sum of n independent scores in [0, 1] that are not right or wrong, or not equally likely to
be right. If their means are p on average, E f(S) <= E f(B) for every convex f, B ~ Binomial(n, p) (Hoeffding 1956,
theorem 3, for right-or-wrong scores; 1963, section 2, for others: a score spreads at most as a 0 or 1 with its mean).
With f(x) = (x - h)+ / (s - h), which is at least 1 from s on (Bentkus 2004),

    P(S >= s) <= min over h < s of E(B - h)+ / (s - h).

Over whole h the minimum is at the first with E(B | B > h) >= s: from h to h + 1 the numerator falls by P(B > h), the
denominator by 1.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction

import flint
import numpy as np
from scipy import special

from .lattice import Integers, Reals
from .paired_proportions import clopper_pearson
from .probability import CERTAIN, UNIT_ROUNDOFF, Probability, from_ratio
from .root import root

# First and last number of bits of ball arithmetic; beyond, a tail counts as out of reach.
_BITS, _MOST_BITS = 64, 1 << 16
_RADIUS = 2.0**-46
# Tails are counted in integers of so many bits, so that p equal to alpha decides.
_EXACT_BITS = 1_000
# The part of Binomial(n, p) to search for the best h; the rest is below the rounding of doubles.
_SDS, _MORE = 14.0, 60
_TOLERANCE = 1e-13


def upper_tail(n: int, k: int, chance: Fraction) -> Probability:
    """Return P(B >= k), B ~ Binomial(n, chance), 0 < chance < 1 and k <= n."""
    if k <= 0:
        return CERTAIN
    if _is_short(n, chance):
        return from_ratio(_expected(n, chance, k, lambda _: 1))
    return _probability(lambda: _tail(n, k, chance))


def _is_short(n: int, chance: Fraction) -> bool:
    return n * (chance.denominator - 1).bit_length() <= _EXACT_BITS


def _expected(n: int, chance: Fraction, least: int, value: Callable[[int], int]) -> Fraction:
    """Return E(value(B); B >= least) by counting."""
    a, b = chance.numerator, chance.denominator - chance.numerator
    ways = sum(value(j) * math.comb(n, j) * a**j * b ** (n - j) for j in range(least, n + 1))
    return Fraction(ways, chance.denominator**n)


def convex_bound(n: int, total: Fraction, chance: Fraction) -> Probability:
    """Bound P(S >= total), S the sum of n independent scores in [0, 1] whose means are at most `chance` on average.

    The bound is the least over whole numbers h, and 1 where the total is not above n * chance.
    """
    if total <= n * chance:
        return CERTAIN
    floors, logs = _log_bounds(n, float(total), float(chance))
    best = int(floors[int(np.argmin(logs))])  # up to rounding
    near = {h for h in range(best - 1, best + 2) if 0 <= h < total}
    return min((_bound(n, total, chance, h) for h in near), key=lambda bound: bound.log_p)


def binomial_interval(k: int, n: int, tail: Fraction) -> tuple[float, float]:
    """Return Clopper and Pearson's (1934) interval of a proportion, `tail` at each end, rounded outwards."""
    low, high = clopper_pearson(k, n, float(1 - 2 * tail))

    def end(at: float, successes: int) -> float:
        return _outwards(at, lambda chance: _is_at_most(upper_tail(n, successes, chance), tail))

    return end(low, k) if k else 0.0, _mirrored(end(1.0 - high, n - k) if k < n else 0.0)


def convex_interval(total: Fraction, n: int, tail: Fraction) -> tuple[float, float]:
    """Return the ends of the means that `convex_bound` does not reject, `tail` at each end, rounded outwards."""
    return _convex_low(total, n, tail), _mirrored(_convex_low(n - total, n, tail))


def _convex_low(total: Fraction, n: int, tail: Fraction) -> float:
    if total == 0:
        return 0.0

    def missing(chance: float) -> float:
        return float(_log_bounds(n, float(total), chance)[1].min()) - math.log(tail)

    least, mean = sys.float_info.min, float(total) / n
    low = root(missing, least, mean, tolerance=_TOLERANCE) if missing(least) < 0.0 < missing(mean) else mean
    return _outwards(low, lambda chance: _is_at_most(convex_bound(n, total, chance), tail))


def _outwards(end: float, rejects: Callable[[Fraction], bool]) -> float:
    """Return the lower end, or a smaller number that is certainly rejected, so that no interval is too narrow."""
    step = 4.0 * UNIT_ROUNDOFF
    while 0.0 < end < 1.0 and not rejects(Fraction(end)):
        end, step = end * (1.0 - step), min(8.0 * step, 0.5)
    return min(max(end, 0.0), 1.0)


def _mirrored(low: float) -> float:
    """Return the upper end, rounded up, from the lower end of the failures."""
    return min(math.nextafter(1.0 - low, 2.0), 1.0) if low else 1.0


def _is_at_most(p: Probability, level: Fraction) -> bool:
    return p.p * (1.0 + p.relative_error_bound) * (1.0 + 4.0 * UNIT_ROUNDOFF) <= level


def _bound(n: int, total: Fraction, chance: Fraction, h: int) -> Probability:
    """Return E(B - h)+ / (total - h), E(B - h)+ = n chance P(B' >= h) - h P(B > h), B' ~ Binomial(n - 1, chance)."""
    below = total - h
    if _is_short(n, chance):
        return from_ratio(min(_expected(n, chance, h + 1, lambda j: j - h) / below, Fraction(1)))

    def value() -> flint.arb:
        excess = _ball(n * chance) * _tail(n - 1, h, chance) - h * _tail(n, h + 1, chance)
        return excess / _ball(below)

    probability = _probability(value)
    return probability if probability.log_p < 0.0 else CERTAIN


def _ball(number: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(number.numerator, number.denominator))


def _tail(n: int, k: int, chance: Fraction) -> flint.arb:
    return flint.arb(1) if k <= 0 else _ball(chance).beta_lower(k, n - k + 1, True)


def _probability(value: Callable[[], flint.arb]) -> Probability:
    """Evaluate a ball with as many bits as needed."""
    bits = _BITS
    while bits <= _MOST_BITS:
        with flint.ctx.workprec(bits):
            ball = value()
            if ball > 0 and ball.rad() <= _RADIUS * ball.mid():
                log_p = float(ball.log().mid())
                return Probability(min(log_p, 0.0), 1.01 * _RADIUS + UNIT_ROUNDOFF * (8.0 + 2.0 * abs(log_p)))
        bits *= 2
    return Probability(-math.inf, math.inf)


def _log_bounds(n: int, total: float, chance: float) -> tuple[Integers, Reals]:
    """Return whole h below the total, the best among them, and the logarithms of their bounds; shape (H,) each."""
    mean, spread = n * chance, _SDS * math.sqrt(n * chance * (1.0 - chance)) + _MORE
    # E(B - h | B > h) falls with h, and is about a standard deviation at the mean.
    low = max(math.floor((mean if total - mean < spread else total) - spread), 0)
    high = min(n, math.ceil(max(total, mean) + 6.0 * math.sqrt(n) + _MORE))
    counts = np.arange(low + 1, high + 1)
    logs = (
        special.gammaln(n + 1)
        - special.gammaln(counts + 1)
        - special.gammaln(n - counts + 1)
        + special.xlogy(counts, chance)
        + special.xlog1py(n - counts, -chance)
    )
    peak = logs[: max(math.ceil(total) - low, 1)].max()
    tails = np.cumsum(np.exp(np.minimum(logs - peak, 700.0))[::-1])[::-1]
    excess = np.cumsum(tails[::-1])[::-1]
    floors = counts - 1
    kept = floors < total
    with np.errstate(divide="ignore"):
        return floors[kept], np.log(excess[kept]) + peak - np.log(total - floors[kept])
