"""Which adjusted p-values are at most alpha: by certified bounds, and by fractions where these do not tell."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ...engine.lattice import Reals
from .stepwise import Flags, Procedure


def decide(
    procedure: Procedure,
    low: Reals,
    high: Reals,
    fraction: Callable[[int], Fraction | None],
    alpha: Fraction,
) -> tuple[Flags, Flags]:
    """Whether each hypothesis is rejected at alpha for certain, and whether it is possibly.

    `low` and `high` bound the raw p-values, shape (m,); `fraction` gives an exact one, or None. Fractions are asked for
    where they matter alone: first for the tests whose own term may be on either side of alpha, then for all that are
    still open. That settles all if all fractions are known: an adjusted p-value is monotone in rank, so that a test that
    is not open is on the same side of alpha as all below it (rejected) or above it (not), and where its p-value lies
    among them does not matter to the others.
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
        ask = open_ & own_low & ~own_high & ~asked
        if not ask.any():
            ask = open_ & ~asked
        if not ask.any():
            return certain, possible
        asked |= ask
        for i in np.flatnonzero(ask).tolist():
            exact = fraction(i)
            if exact is not None:
                known[i] = exact
                low[i] = high[i] = float(exact)
