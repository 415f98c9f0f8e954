"""The methods for differences of quantiles, by name."""

from __future__ import annotations

import math
from functools import partial
from typing import Protocol

import numpy as np

from ..probability import (
    CERTAIN,
    IMPOSSIBLE,
    LN2,
    UNIT_ROUNDOFF,
    Alternative,
    Probability,
    add,
    complement,
    from_fraction,
)
from . import swaps
from .between import Between
from .form import Profile, QuantileForm, Staircase, staircase
from .items import ClusterLaw, ItemLaw

# The largest number of units for which the probability of the largest t is an exact fraction.
_COUNTED = 256


def law_of(form: QuantileForm, known: Profile) -> QuadrantLaw:
    """Return the joint law of two counts of U's values."""
    return ItemLaw(form, known) if form.alone else ClusterLaw(form)


def region(form: QuantileForm, known: Profile, side: Alternative) -> tuple[Staircase | None, int]:
    """Return the staircase of one tail, and how it makes p: 1 alone, 2 twice, -1 by its complement; None where p is 1.

    t is symmetric about zero, and `less` is `greater` with the systems exchanged.
    """
    observed = -form.observed if side == "less" else form.observed
    if side == "two-sided":
        size = abs(observed)
        return (staircase(form, known, size, strict=False), 2) if size else (None, 1)
    if observed > 0:
        return staircase(form, known, observed, strict=False), 1
    steps = staircase(form, known, -observed, strict=True)
    return (steps, -1) if len(steps) else (None, 1)


def between(form: QuantileForm, side: Alternative) -> tuple[Between | None, int]:
    """Return one tail where a quantile lies between two values, and how it makes p (see `region`)."""
    observed = -form.observed if side == "less" else form.observed
    if side == "two-sided":
        return (Between(form, abs(observed)), 2) if observed else (None, 1)
    if observed > 0:
        return Between(form, observed), 1
    # t takes integers: more than -observed is at least one more.
    return Between(form, 1 - observed), -1


def exact_probability(method: str, form: QuantileForm, known: Profile, side: Alternative) -> Probability:
    """Return P(t is at least as extreme as observed) by an exact method of `planner`.

    With a share, `dp` and `rational` need items that swap alone. An infinite error bound proves nothing.
    """
    if method == "enumeration":
        return swaps.enumerated(form, side)
    if form.share:
        law_between, times = between(form, side)
        if law_between is None:
            return CERTAIN
        tail = law_between.fraction() if method == "rational" else law_between.probability()
    else:
        steps, times = region(form, known, side)
        if steps is None:
            return CERTAIN
        law = law_of(form, known)
        solve = partial(fraction, units=form.units) if method == "rational" else probability
        tail = solve(law, steps)
    if times == -1:
        return _rest(tail)
    return add([tail] * times)


def _rest(tail: Probability) -> Probability:
    """Return one minus a probability of at most 1/2, exactly if that is a fraction."""
    if tail is IMPOSSIBLE:
        return CERTAIN
    if tail.fraction is None:
        return complement(tail)
    numerator, depth = tail.fraction
    return from_fraction((1 << depth) - numerator, depth)


def greatest(form: QuantileForm) -> int:
    """Return the largest t where every item swaps alone: U has the larger value of each, V the smaller."""
    high, low = np.maximum(form.ranks_u, form.ranks_v), np.minimum(form.ranks_u, form.ranks_v)
    return form.quantile(high) - form.quantile(low)


def attainable(form: QuantileForm, known: Profile) -> Probability | None:
    """Return P(t is the largest attainable), a fraction for few units; None where unknown."""
    if not form.alone or form.share:
        return None
    most = greatest(form)
    if most == 0:
        return CERTAIN
    law, steps = law_of(form, known), staircase(form, known, most, strict=False)
    return fraction(law, steps, form.units) if form.units <= _COUNTED else probability(law, steps)


# P(Q_U - Q_V >= d) by its staircase: in doubles with a certificate, or as an exact fraction.


# The largest share of the answer that may be omitted; a step has at most the probability of its quadrant.
_LEFT_OUT = 1e-9
# Steps between checks whether the others matter.
_AT_ONCE = 16


class QuadrantLaw(Protocol):
    """P(Q_U > values[below], Q_V <= values[at]) for at <= below."""

    @property
    def error(self) -> float:
        """A bound on the relative error of `quadrant`."""
        ...

    @property
    def lost(self) -> float:
        """A bound on the additional absolute error of its numbers."""
        ...

    def price(self, at: int, below: int) -> tuple[float, float, float]:
        """Predict the nanoseconds of `quadrant` and of `count`, and their bytes."""
        ...

    def quadrant(self, at: int, below: int) -> tuple[float, int]:
        """Return the probability as a mantissa and an exponent of two."""
        ...

    def count(self, at: int, below: int) -> int:
        """Return the probability times 2**units."""
        ...


def probability(law: QuadrantLaw, steps: Staircase) -> Probability:
    """Add the probabilities of the steps, likely ones first; the others are bounded."""
    if len(steps) == 0:
        return IMPOSSIBLE
    order = np.argsort(-steps.log_bound, kind="stable")
    bounds = steps.log_bound[order]
    # All steps from one on have at most their number times the largest bound.
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
    """Return the probability of the steps as numerator / 2**units."""
    total = 0
    for at, below, stop in zip(steps.at.tolist(), steps.below.tolist(), steps.stop.tolist(), strict=True):
        total += law.count(at, below)
        if stop >= 0:
            total -= law.count(at, stop)
    return from_fraction(total, units) if total else IMPOSSIBLE
