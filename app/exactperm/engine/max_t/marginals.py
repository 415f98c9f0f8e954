"""The probability of each test alone at every step: P(T_k >= t_i), with bounds."""

from __future__ import annotations

import math

import numpy as np

from ..binomial_tails import upper_tails
from ..joint.form import JointForm, axes_form
from ..joint.grid.law import law_on
from ..joint.grid.price import box_of, law_nanoseconds, spectrum_nanoseconds
from ..lattice import CanonicalForm, Integers, Reals
from ..one_sum import fft
from ..probability import SMALLEST, UNIT_ROUNDOFF, region
from .family import Family

# A law that takes more cells is not made, nor those behind it once all have taken so many seconds.
_MOST_CELLS, LAWS_SECONDS = 1 << 22, 4.0
# Probabilities below this have few certified digits; of those far below others of their step none are needed.
_DEEP, _NOTHING = 1e-6, 1e-6
# What an exponential function of a rounded statistic is off by, generously.
_EXPONENT = 1e-9


def marginals(family: Family) -> tuple[Reals, Reals]:
    """Certified bounds, shape (g, m) each: absolute errors far below 1e-8, relative ones on sums of equal weights.

    Sums whose law takes too many cells, or too long, have Hoeffding's bound alone.
    """
    ceiling = _hoeffding(family)
    low, high = np.zeros_like(ceiling), np.ones_like(ceiling)
    binomial = [k for k, form in enumerate(family.forms) if form.weights.tolist() == [1]]
    if binomial:
        low[:, binomial], high[:, binomial] = _binomial(family, binomial)
    known: dict[tuple[bytes, ...], tuple[Reals, Reals] | None] = {}
    left = LAWS_SECONDS
    for k, form in enumerate(family.forms):
        cuts = _cuts(form, family.thresholds[:, k])
        if not form.nonzero:
            low[:, k] = high[:, k] = np.where(cuts <= 0, 1.0, 0.0)
        elif len(form.weights) > 1:
            key = (form.weights.tobytes(), form.counts.tobytes(), cuts.tobytes())
            if key not in known:
                line = axes_form(form.weights[:, None], form.counts)
                price = _seconds(line)
                known[key] = _doubled(family, *_tails(form, line, cuts)) if price <= left else None
                left -= price if price <= left else 0.0
            found = known[key]
            if found is not None:
                low[:, k], high[:, k] = found
    certain = family.thresholds <= 0
    if family.two_sided:
        low[certain] = high[certain] = 1.0
    return low, np.minimum(high, ceiling)


def _cuts(form: CanonicalForm, least: Integers) -> Integers:
    """S >= least iff T >= these."""
    return -((form.offset - least) // form.step)


def _seconds(line: JointForm) -> float:
    """Predicted time of a law, infinite beyond what is allowed."""
    if box_of(line).cells > _MOST_CELLS:
        return math.inf
    return 1e-9 * (spectrum_nanoseconds(line) + law_nanoseconds(line, 0.0))


def _doubled(family: Family, low: Reals, high: Reals) -> tuple[Reals, Reals]:
    """Both tails of a symmetric sum, where the test has two."""
    if not family.two_sided:
        return low, np.minimum(high, 1.0)
    return np.minimum(2.0 * low, 1.0), np.minimum(2.0 * high, 1.0)


def _binomial(family: Family, tests: list[int]) -> tuple[Reals, Reals]:
    """Sums of equal weights: binomial tails, right however small."""
    flips = np.array([family.forms[k].nonzero for k in tests], dtype=np.int64)
    cuts = np.column_stack([_cuts(family.forms[k], family.thresholds[:, k]) for k in tests])
    flips = np.broadcast_to(flips, cuts.shape)
    tails = upper_tails(flips.reshape(-1), np.minimum(cuts, flips).reshape(-1))
    reached = (cuts <= flips).astype(np.float64)
    low = (tails.p * (1.0 - 1.01 * tails.error)).reshape(cuts.shape) * reached
    high = (tails.p * (1.0 + 1.01 * tails.error)).reshape(cuts.shape)
    # Below the normal numbers a double is rounded by the smallest one.
    low = np.maximum(np.where(high < 2.0**-1000, 0.0, low) * (1.0 - 4.0 * UNIT_ROUNDOFF), 0.0)
    high = np.where(reached > 0.0, high * (1.0 + 4.0 * UNIT_ROUNDOFF) + SMALLEST, 0.0)
    return _doubled(family, low, high)


def _tails(form: CanonicalForm, line: JointForm, cuts: Integers) -> tuple[Reals, Reals]:
    """Bounds of P(T >= cut) from the law on a window; shape (g,)."""
    box = box_of(line)
    masses, error = law_on(line, box)
    tails = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
    at = np.clip(cuts - int(box.low[0]), 0, len(masses))
    # What lies outside is missed at most once, and aliases into the window at most once.
    slack = error + 2.0 * box.outside
    values = tails[at]
    rounding = 2.0 * len(masses) * UNIT_ROUNDOFF * (np.abs(values) + 2.0 * slack)
    low = np.maximum(values - slack - rounding, 0.0)
    high = np.where(cuts > form.range, 0.0, np.minimum(values + slack + rounding, 1.0))
    certain = np.ones_like(low)
    return np.where(cuts <= 0, certain, low), np.where(cuts <= 0, certain, high)


def deepen(family: Family, low: Reals, high: Reals) -> None:
    """Replace bounds of small probabilities by relative ones, one transform each."""
    for i, k in np.argwhere((high < _DEEP) & (high > low * (1.0 + 1e-6))).tolist():
        form, least = family.forms[k], int(family.thresholds[i, k])
        if family.step[k] < i or high[i, k] <= _NOTHING * high[i].max() or _cells(form) > _MOST_CELLS:
            continue
        tail = region(form, least, "two-sided" if family.two_sided else "greater")
        if not tail.intervals:
            low[i, k] = high[i, k] = 0.0
            continue
        found = fft.probability(form, tail)
        error = found.relative_error_bound + UNIT_ROUNDOFF * (8.0 + 2.0 * abs(found.log_p))
        if error < 1e-6:
            # Below the normal numbers a double is rounded by the smallest one.
            low[i, k] = max(low[i, k], found.p * (1.0 - error) - SMALLEST)
            high[i, k] = min(high[i, k], found.p * (1.0 + error) + SMALLEST)


def _cells(form: CanonicalForm) -> float:
    """About how many cells the law of a sum takes."""
    return min(20.0 * math.sqrt(form.variance), float(form.range))


def _hoeffding(family: Family) -> Reals:
    """P(S >= c) <= exp(-c**2 / (2 D)) for c > 0 (Hoeffding 1963, theorem 2); twice that for both tails. Shape (g, m)."""
    squares = np.array([float(max(square, 1)) for square in family.squares])
    cuts = np.maximum(family.thresholds, 0).astype(np.float64)
    bound = np.exp(-0.5 * cuts * cuts / squares * (1.0 - _EXPONENT)) * (1.0 + _EXPONENT)
    return np.asarray(np.minimum(np.maximum(bound, SMALLEST) * (2.0 if family.two_sided else 1.0), 1.0))
