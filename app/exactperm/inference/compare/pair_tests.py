"""The tests of the pairs of one board before they are adjusted, as columns: a board may have 250,000."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...engine.lattice import Integers, Reals


@dataclass(frozen=True, slots=True)
class PairTests:
    """m tests, shape (m,) each. `u` and `v` are positions in the board's systems by code point.

    The null distribution of a difference of two systems is symmetric about zero: exchanging all items changes its
    sign. So the one-sided p-values follow from the two-sided one, and `sign`.

    Attributes
    ----------
    n, wins, ties, losses
        Items of the pair; swapping units on which u is better, as good, and worse.
    difference
        score(u) - score(v) over the pair's items, in the statistic's own sign.
    sign
        1 where u is observed to be better, -1 where it is worse, 0 where they are equal.
    p, p_low, p_high
        The p-value of the requested alternative, and certified bounds; nearest doubles, the smallest positive one
        where it underflows.
    log10_p, log10_low, log10_high
        The same as logarithms, where nothing underflows. The bounds are rounded outward.
    attainable
        log10 of the smallest p-value of the same alternative that any outcome of the test has; NaN where it is not known.
    method, exact, sampled
        Names of methods; whether the p-value is exact; whether its bounds are a confidence interval at 99 %.
    fraction
        The exact p-value of the i-th test, or None where it is not known (or not cheap).
    attained
        For `holm_discrete`: F_k of the i-th test, the largest attainable p-value that is at most x, as a fraction (0 if
        there is none); None where its null distribution is not known exactly.
    null_key
        Tests with the same key have the same null distribution: what was found for one of them holds for all.
    support
        All attainable p-values of the i-th test, ascending, where they are few; None where `attained` is quicker.
    notes
        What the reader of single tests should know: the test's position, a code and a sentence.
    """

    u: Integers
    v: Integers
    n: Integers
    wins: Integers
    ties: Integers
    losses: Integers
    difference: Reals
    sign: Integers
    p: Reals
    p_low: Reals
    p_high: Reals
    log10_p: Reals
    log10_low: Reals
    log10_high: Reals
    attainable: Reals
    method: tuple[str, ...]
    exact: NDArray[np.bool_]
    sampled: NDArray[np.bool_]
    fraction: Callable[[int], Fraction | None]
    attained: Callable[[int, Fraction], Fraction] | None = None
    null_key: Callable[[int], Hashable] | None = None
    support: Callable[[int], Sequence[Fraction] | None] | None = None
    notes: tuple[tuple[int, str, str], ...] = ()

    def __len__(self) -> int:
        """How many tests."""
        return len(self.u)
