"""P(Q_U - Q_V >= d) by its staircase: in doubles with a certificate, or as an exact fraction."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from ..probability import IMPOSSIBLE, LN2, UNIT_ROUNDOFF, Probability, from_fraction
from .staircase import Staircase

# What is left out may be so large a part of the answer; a step has at most the probability of its quadrant.
_LEFT_OUT = 1e-9
# Steps between two looks at whether the others matter.
_AT_ONCE = 16


class QuadrantLaw(Protocol):
    """P(Q_U > values[below], Q_V <= values[at]) for at <= below."""

    @property
    def error(self) -> float:
        """A bound on the relative error of `quadrant`."""
        ...

    @property
    def lost(self) -> float:
        """And on what its numbers may have lost beside that, absolutely."""
        ...

    def price(self, at: int, below: int) -> tuple[float, float, float]:
        """Nanoseconds of `quadrant` and of `count`, and the bytes they hold."""
        ...

    def quadrant(self, at: int, below: int) -> tuple[float, int]:
        """The probability, as a mantissa and an exponent of two."""
        ...

    def count(self, at: int, below: int) -> int:
        """The probability times 2**units."""
        ...


def probability(law: QuadrantLaw, steps: Staircase) -> Probability:
    """The probability of the region, likely steps first; the others are bounded."""
    if len(steps) == 0:
        return IMPOSSIBLE
    order = np.argsort(-steps.log_bound, kind="stable")
    bounds = steps.log_bound[order]
    # Of all steps from one on: at most their number times the largest.
    left = bounds + np.log(np.arange(len(order), 0, -1)) + 1e-9
    parts: list[tuple[float, int]] = []
    net = gross = 0.0
    base = done = 0
    while done < len(order):
        for step in order[done : done + _AT_ONCE].tolist():
            at, below, stop = int(steps.at[step]), int(steps.below[step]), int(steps.stop[step])
            parts.append(law.quadrant(at, below))
            if stop >= 0:
                mantissa, exponent = law.quadrant(at, stop)
                parts.append((-mantissa, exponent))
        done = min(done + _AT_ONCE, len(order))
        base = max((exponent for mantissa, exponent in parts if mantissa), default=0)
        scaled = [math.ldexp(mantissa, max(exponent - base, -2000)) for mantissa, exponent in parts]
        net, gross = math.fsum(scaled), math.fsum(map(abs, scaled))
        if done < len(order) and net > 0.0 and left[done] < math.log(net * _LEFT_OUT) + base * LN2:
            break
    lost = len(parts) * law.lost
    if not gross:
        return IMPOSSIBLE if not lost else Probability(math.log(lost), 1.0)
    if not net > 0.0:
        return Probability(0.0, math.inf)
    log_p = math.log(net) + base * LN2
    rest = 0.0 if done == len(order) else math.exp(min(float(left[done]) - log_p, 0.0))
    if lost:
        rest += math.exp(min(math.log(lost) - log_p, 0.0))
    rounding = 2.0 * UNIT_ROUNDOFF * (2.0 + abs(log_p))
    return Probability(min(log_p, 0.0), 1.01 * (law.error * gross / net + rest) + rounding + 1e-200)


def fraction(law: QuadrantLaw, steps: Staircase, units: int) -> Probability:
    """The same as numerator / 2**units."""
    total = 0
    for at, below, stop in zip(steps.at.tolist(), steps.below.tolist(), steps.stop.tolist(), strict=True):
        total += law.count(at, below)
        if stop >= 0:
            total -= law.count(at, stop)
    return from_fraction(total, units) if total else IMPOSSIBLE
