"""Adjusted p-values of a family of tests: values, certified bounds, and what they say at alpha."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import accumulate, pairwise
from types import MappingProxyType

import numpy as np

from ...engine.probability import SMALLEST
from ...errors import InvalidTest
from .adjusted import Adjusted
from .attainable import smallest_p
from .columns import concatenated
from .decisions import decide
from .holm_discrete import holm_discrete
from .pair_tests import PairTests
from .record import Adjust
from .rounding import LOG10_DEEP, log10_of, log10_or, nearest, raw_bounds
from .stepwise import BH, BONFERRONI, BY, HOCHBERG, HOLM, NONE, Procedure

Adjuster = Callable[[PairTests, Fraction], Adjusted]
# So many tests are adjusted as fractions: some 30 ms.
FEW = 2_000


def adjust_boards(boards: Sequence[PairTests], adjust: Adjust, alpha: Fraction) -> list[Adjusted]:
    """The adjusted p-values of one family, by board; raises InvalidTest where `adjust` does not apply."""
    adjuster = ADJUSTERS.get(adjust)
    if adjuster is None:
        names = ", ".join(ADJUSTERS)
        raise InvalidTest.at("/adjust", "not_available", f"{adjust} is not available: use one of {names}.")
    tests = concatenated(boards)
    # An adjusted p-value depends on the others' too, so that one estimate makes all bounds intervals.
    sampled = np.full(len(tests), bool(tests.sampled.any()) and adjust != "none")
    adjusted = replace(adjuster(tests, alpha), sampled=sampled | tests.sampled)
    ends = accumulate((len(board) for board in boards), initial=0)
    return [adjusted.part(start, end) for start, end in pairwise(ends)]


def stepwise(procedure: Procedure, tests: PairTests, alpha: Fraction) -> Adjusted:
    """Adjusted by ranks, with bounds rounded outward; compared with alpha without rounding where fractions are known."""
    smallest, exact = smallest_p(tests)
    smallest = np.nan_to_num(smallest)  # what is not known may be as small as one likes
    reachable, _ = procedure.rejects(np.where(exact, smallest, smallest * (1.0 - 1e-6)), {}, alpha)
    fractions = None if procedure is NONE else _all_fractions(tests)
    if fractions is not None:
        exactly = procedure.adjust_exactly(fractions)
        p, low, high = nearest(exactly)
        rejected = np.array([value <= alpha for value in exactly], bool)
        log10_p = log10_or(p, lambda: np.array([log10_of(value) for value in exactly], np.float64))
        return Adjusted(p, low, high, log10_p, rejected, np.zeros_like(rejected), ~reachable, len(tests))
    low, high = raw_bounds(tests)
    rejected, possible = decide(procedure, low, high, tests.fraction, alpha)
    low, high = procedure.adjust(low, "down"), procedure.adjust(high, "up")
    p = procedure.adjust(tests.p)
    log10_p = log10_or(p, lambda: procedure.adjust_log10(tests.log10_p))
    p = np.where(log10_p < LOG10_DEEP, np.maximum(10.0**log10_p, SMALLEST), p).clip(low, high)
    return Adjusted(p, low, high, log10_p, rejected, possible & ~rejected, ~reachable, len(tests))


def _all_fractions(tests: PairTests) -> list[Fraction] | None:
    """The exact p-values of few tests, if all are known."""
    if len(tests) > FEW:
        return None
    fractions = []
    for i in range(len(tests)):
        fraction = tests.fraction(i)
        if fraction is None:
            return None
        fractions.append(fraction)
    return fractions


# What adjusts a family by its p-values alone, by the request's name. `max_t` looks at the items: `max_t.plan_max_t`.
ADJUSTERS: Mapping[Adjust, Adjuster] = MappingProxyType(
    {
        "bonferroni": partial(stepwise, BONFERRONI),
        "holm": partial(stepwise, HOLM),
        "hochberg": partial(stepwise, HOCHBERG),
        "bh": partial(stepwise, BH),
        "by": partial(stepwise, BY),
        "holm_discrete": holm_discrete,
        "none": partial(stepwise, NONE),
    }
)
