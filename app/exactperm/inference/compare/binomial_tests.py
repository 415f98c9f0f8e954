"""Sign tests of many pairs at once: of n units on which two systems differ, one is better on b and the other on c.

The null of b is Binomial(n, 1/2). For right or wrong that is McNemar's exact test (1947).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ...engine.binomial_tails import Tails, log10_power_of_two, upper_tails
from ...engine.lattice import Integers, Reals
from ...engine.probability import SMALLEST
from ..options import Options
from .binomial_values import BinomialValues
from .pair_tests import PairTests

# Seconds for each pair, and for each round of Pascal's rule.
_PER_PAIR, _PER_ROUND = 2e-6, 2e-6
# What all fractions of a board may take together, as `BinomialValues` counts it: half a second.
_WORK = 4e9
# Times as many units this is below 2**53.
_PLAIN = 1 << 24


def binomial_seconds(pairs: int, units: int) -> float:
    """Predicted time of the tests of so many pairs."""
    return pairs * _PER_PAIR * (1.0 + math.sqrt(units) / 100.0) + min(units, 1_000) * _PER_ROUND


def binomial_tests(
    pairs: tuple[Integers, Integers],
    n: Integers,
    units: Integers,
    counts: tuple[Integers, Integers],
    differences: Reals,
    options: Options,
    board: int,
) -> PairTests:
    """The tests of m pairs (u, v), shape (m,) each, of the `board` pairs of a board.

    `n` items and `units` that swap; `counts` are on how many u has more and on how many less; `differences` is the
    statistic.
    """
    u, v = pairs
    more, less = counts
    wins, losses = (less, more) if options.higher_is_better is False else (more, less)
    two_sided = options.alternative == "two-sided"
    heads = np.maximum(more, less) if two_sided else wins if options.alternative == "greater" else losses
    differ = more + less
    tails = _two_sided(differ, heads) if two_sided else upper_tails(differ, heads)
    exact = tails.error == 0.0
    low, high = tails.p * (1.0 - tails.error), tails.p * (1.0 + tails.error)
    log_width = 1.01 * tails.log_error / math.log(10.0)
    values = BinomialValues(differ, heads, two_sided, _WORK / max(board, 1))
    return PairTests(
        u=u,
        v=v,
        n=n,
        wins=wins,
        ties=units - differ,
        losses=losses,
        difference=differences,
        sign=np.sign(wins - losses),
        p=tails.p,
        p_low=np.where(exact, tails.p, np.maximum(np.nextafter(low, 0.0), 0.0)),
        p_high=np.where(exact, tails.p, np.minimum(np.nextafter(high, 2.0), 1.0)),
        log10_p=tails.log10_p,
        log10_low=tails.log10_p - log_width,
        log10_high=np.minimum(tails.log10_p + log_width, 0.0),
        attainable=log10_power_of_two(np.minimum(int(two_sided) - differ, 0)),
        method=("binomial",) * len(u),
        exact=np.ones(len(u), dtype=bool),
        sampled=np.zeros(len(u), dtype=bool),
        fraction=values.fraction,
        attained=values.attained,
        null_key=values.null_key,
        support=values.support,
    )


def quotients(totals: Integers, step: Fraction, items: Integers) -> Reals:
    """totals * step / items as the nearest doubles, shape (m,); nothing divided by no items is 0."""
    below = np.maximum(items, 1)
    large = max(int(np.abs(totals).max(initial=0)), int(below.max(initial=1)))
    if max(step.numerator, step.denominator) < _PLAIN and large < 1 << 28:
        # Both are integers that doubles hold: rounded once.
        return np.asarray((totals * step.numerator) / (below * step.denominator))
    both = zip(totals.tolist(), below.tolist(), strict=True)
    return np.array([float(step * total / n) for total, n in both], dtype=np.float64)


def _two_sided(n: Integers, heads: Integers) -> Tails:
    """Twice the tail of the larger count, and at most one; `heads` >= n / 2."""
    tails = upper_tails(n, heads)
    certain = 2 * heads - n <= 1
    log10_p = np.where(certain, 0.0, np.minimum(tails.log10_p + np.log10(2.0), 0.0))
    # A tail that underflows is the smallest double, and so is twice it.
    p = np.where(log10_p < np.log10(SMALLEST), SMALLEST, np.minimum(2.0 * tails.p, 1.0))
    return Tails(
        p=np.where(certain, 1.0, p),
        log10_p=log10_p,
        error=np.where(certain, 0.0, tails.error),
        log_error=np.where(certain, 0.0, tails.log_error + 2.0**-50 * (1.0 + np.abs(tails.log10_p))),
    )
