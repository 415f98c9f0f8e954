"""The methods for differences of quantiles, by name."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..probability import CERTAIN, IMPOSSIBLE, Alternative, Probability, add, complement, from_fraction
from . import swaps, tail
from .between import Between
from .clusters import ClusterLaw
from .form import QuantileForm
from .items import ItemLaw
from .staircase import Profile, Staircase, staircase

# Of so many units the probability of the largest t is counted.
_COUNTED = 256


def law_of(form: QuantileForm, known: Profile) -> tail.QuadrantLaw:
    """The joint law of two counts of U's values."""
    return ItemLaw(form, known) if form.alone else ClusterLaw(form)


def region(form: QuantileForm, known: Profile, side: Alternative) -> tuple[Staircase | None, int]:
    """The staircase of one tail, and how it makes p: +1 as it is, +2 twice, -1 its complement; None where p is 1.

    t is symmetric about zero, and `less` is `greater` for the systems exchanged.
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
    """One tail where a quantile lies between two values, and how it makes p, as `region` has them."""
    observed = -form.observed if side == "less" else form.observed
    if side == "two-sided":
        return (Between(form, abs(observed)), 2) if observed else (None, 1)
    if observed > 0:
        return Between(form, observed), 1
    # t takes integers: more than -observed is at least one more.
    return Between(form, 1 - observed), -1


def exactly(method: str, form: QuantileForm, known: Profile, side: Alternative) -> Probability:
    """P(t is at least as extreme as observed) by an exact method of `planner`; with a share `dp` and `rational` need items alone.

    The error bound is infinite where nothing is proven.
    """
    if method == "enumeration":
        return swaps.enumerated(form, side)
    if form.share:
        law_between, times = between(form, side)
        if law_between is None:
            return CERTAIN
        one = law_between.fraction() if method == "rational" else law_between.probability()
    else:
        steps, times = region(form, known, side)
        if steps is None:
            return CERTAIN
        law = law_of(form, known)
        solve = partial(tail.fraction, units=form.units) if method == "rational" else tail.probability
        one = solve(law, steps)
    if times == -1:
        return _rest(one)
    return add([one] * times)


def _rest(one: Probability) -> Probability:
    """One minus a probability of at most a half, as a fraction where it is one."""
    if one is IMPOSSIBLE:
        return CERTAIN
    if one.fraction is None:
        return complement(one)
    numerator, depth = one.fraction
    return from_fraction((1 << depth) - numerator, depth)


def greatest(form: QuantileForm) -> int:
    """The largest t where every item swaps by itself: U has the larger value of each, V the smaller."""
    high, low = np.maximum(form.own, form.other), np.minimum(form.own, form.other)
    return form.quantile(high) - form.quantile(low)


def attainable(form: QuantileForm, known: Profile) -> Probability | None:
    """P(t is the largest that it can be), a fraction of few units; None where that is not known."""
    if not form.alone or form.share:
        return None
    most = greatest(form)
    if most == 0:
        return CERTAIN
    law, steps = law_of(form, known), staircase(form, known, most, strict=False)
    return tail.fraction(law, steps, form.units) if form.units <= _COUNTED else tail.probability(law, steps)
