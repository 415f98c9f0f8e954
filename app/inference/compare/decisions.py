"""Which adjusted p-values are at most alpha: by certified bounds, and by fractions where these do not tell."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ...engine.lattice import Reals
from .stepwise import Flags, Procedure

# Fractions settle what a rounding left open; a wider interval is a bracket or an estimate, and its neighbours are not asked.
_TIGHT = 1e-6


def decide(
    procedure: Procedure,
    low: Reals,
    high: Reals,
    fraction: Callable[[int], Fraction | None],
    alpha: Fraction,
) -> tuple[Flags, Flags]:
    """Whether each hypothesis is rejected at alpha for certain, and whether it is possibly.

    `low` and `high` bound the raw p-values, shape (m,); `fraction` gives an exact one, or None. Fractions are asked for
    where they matter alone: first for the tests whose own term may be on either side of alpha, with all that may be
    before or behind them, then for all that are still open.
    """
    low, high = low.copy(), high.copy()
    known: dict[int, Fraction] = {}
    asked = np.zeros(len(low), bool)
    while True:
        certain, own_high = procedure.rejects(high, known, alpha)
        possible, own_low = procedure.rejects(low, known, alpha)
        open_ = possible & ~certain
        if not open_.any():
            return certain, possible
        ask = _neighbours(low, high, open_ & own_low & ~own_high) & ~asked
        if not ask.any():
            ask = _neighbours(low, high, open_) & ~asked
        if not ask.any():
            return certain, possible
        asked |= ask
        for i in np.flatnonzero(ask).tolist():
            exact = fraction(i)
            if exact is not None:
                known[i] = exact
                low[i] = high[i] = float(exact)


def _neighbours(low: Reals, high: Reals, chosen: Flags) -> Flags:
    """The chosen intervals, and all that share a point with a narrow one of them."""
    narrow = chosen & (high - low <= _TIGHT * high)
    if not narrow.any():
        return chosen
    order = np.argsort(low[narrow], kind="stable")
    starts, ends = low[narrow][order], np.maximum.accumulate(high[narrow][order])
    at = np.searchsorted(starts, high, "right") - 1
    return chosen | ((at >= 0) & (ends[np.maximum(at, 0)] >= low))
