"""Ranks of systems by their scores, and the ranks that they may truly have."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ...engine.lattice import Integers
from .decisions import decide
from .pair_tests import PairTests
from .rounding import raw_bounds
from .stepwise import HOLM_ONE_SIDED, Flags, Procedure

Score = Fraction | float


def best_first(names: Sequence[str], scores: Sequence[Score], *, higher_is_better: bool) -> list[int]:
    """Positions of the systems, best first; equal scores by name (code point), never by the order of a request."""
    by_name = sorted(range(len(names)), key=names.__getitem__)
    return sorted(
        by_name, key=scores.__getitem__, reverse=higher_is_better
    )  # sorts are stable, reversed ones too


def competition_ranks(order: Sequence[int], scores: Sequence[Score]) -> list[int]:
    """1 + the number of better systems, by position: equal scores share a rank (1, 2, 2, 4)."""
    ranks = [0] * len(order)
    for place, i in enumerate(order):
        ahead = order[place - 1]
        ranks[i] = ranks[ahead] if place and scores[ahead] == scores[i] else place + 1
    return ranks


def rank_ranges(size: int, tests: PairTests, alpha: Fraction) -> tuple[Integers, Integers]:
    """Lowest and highest rank of each system, all true at once with confidence 1 - alpha, shape (K,).

    Mogstad, Romano, Shaikh & Wilhelm (2024), *Inference for Ranks*, Review of Economic Studies 91:476-518, section 3:
    from 1 + the number of significantly better systems to K minus that of significantly worse ones, by Holm over the
    one-sided tests of all pairs. Exchanging the systems on all items changes the sign of a difference, so that its null
    distribution is symmetric: the one-sided p-value in the observed direction is half of the two-sided one, and that
    in the other direction is at least 1/2 (at any alpha below 2/3 never rejected by Holm; above, we do not either).
    """
    low, high = raw_bounds(tests)
    certain, _ = decide(HOLM_ONE_SIDED, low, high, tests.fraction, alpha)
    better, worse = directed(tests, certain)
    return 1 + np.bincount(worse, minlength=size), size - np.bincount(better, minlength=size)


def best_set(size: int, tests: PairTests, alpha: Fraction) -> Flags:
    """Whether each system may be the best, with confidence 1 - alpha; shape (K,). Circular tests may leave out all.

    Hsu (1996), *Multiple Comparisons*, chapter 4 (constrained comparisons with the best), with Bonferroni: a system is
    left out iff K - 1 times the smallest one-sided p-value of another one being better is at most alpha.
    """
    half = Fraction(size - 1, 2)
    procedure = Procedure("single", lambda m: np.full(m, float(half)), lambda k, m: half)
    low, high = raw_bounds(tests)
    certain, _ = decide(procedure, low, high, tests.fraction, alpha)
    _, worse = directed(tests, certain)
    left_out = np.bincount(worse, minlength=size) > 0
    return ~left_out


def directed(tests: PairTests, chosen: Flags) -> tuple[Integers, Integers]:
    """The systems that are better, and those that are worse, in the chosen pairs with a difference."""
    chosen = chosen & (tests.sign != 0)
    u, v, first = tests.u[chosen], tests.v[chosen], tests.sign[chosen] > 0
    return np.where(first, u, v), np.where(first, v, u)
