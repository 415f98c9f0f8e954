"""P-values of many pairs at once where the sizes of their differences are few, and the p-values not small."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...engine.lattice import Integers, exact_total
from ...engine.one_sum import many
from ...engine.probability import UNIT_ROUNDOFF, Probability

# Sizes of differences, their common divisor, and points of a window, at the most.
_MOST_SIZES, _LARGEST_STEP, _MOST_POINTS = 128, 100, 1 << 14
# Standard deviations within which it is tried, and what relative error is good enough.
_FARTHEST, _SURE = 4.0, 1e-8


def at_once(effects: Sequence[Integers], quick_fraction: int) -> list[Probability | None]:
    """The two-sided p-values that are proven without a tilt, None for the others; `effects` of shape (M,) each.

    Nor for those whose fraction takes no more than `quick_fraction` coefficients times limbs: they get it.
    """
    answers: list[Probability | None] = [None] * len(effects)
    sizes = [np.abs(each) for each in effects]
    largest = max((int(each.max(initial=0)) for each in sizes), default=0)
    if not 0 < largest <= _MOST_SIZES * _LARGEST_STEP:
        return answers
    counts = np.array([np.bincount(each, minlength=largest + 1)[1:] for each in sizes], dtype=np.int64)
    step = int(np.gcd.reduce(np.flatnonzero(counts.any(axis=0)) + 1))
    if largest > _MOST_SIZES * step:
        return answers
    counts = counts[:, step - 1 :: step]
    observed = np.abs([exact_total(each) for each in effects]) // step
    values = np.arange(1, counts.shape[1] + 1)
    squares, total, nonzero = counts @ (values * values), counts @ values, counts.sum(axis=1)
    fractions = (total - observed) // 2 * (nonzero // 64 + 1) <= quick_fraction
    some = np.flatnonzero((observed > 0) & ~fractions & (observed <= _FARTHEST * np.sqrt(squares)))
    if len(some) == 0 or many.window(counts[some], observed[some]) > _MOST_POINTS:
        return answers
    p, error = many.two_sided(counts[some], observed[some])
    for at, one, off in zip(some.tolist(), p.tolist(), error.tolist(), strict=True):
        if off <= _SURE * one:
            log_p = min(math.log(one), 0.0)
            # Dividing, and the logarithm.
            answers[at] = Probability(log_p, off / one + UNIT_ROUNDOFF * (4.0 + 2.0 * abs(log_p)))
    return answers
