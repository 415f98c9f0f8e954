"""The smallest p-value that any outcome of a test has: whether the test could be significant at all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...engine.lattice import Reals
from .adjusted import Flags
from .pair_tests import PairTests

_LOG2_10 = np.log2(10.0)
# What rounding may do to a logarithm. The smallest p-value of a sum of effects is a power of two, known by its logarithm.
_ROUNDING = 1e-9


def smallest_p(tests: PairTests) -> tuple[Reals, Flags]:
    """The smallest attainable p-values, and whether these doubles are exact; 0 where they underflow, NaN if not known."""
    log2 = tests.attainable * _LOG2_10
    power = np.rint(log2)
    exact = np.abs(log2 - power) <= _ROUNDING
    # Far below the smallest double `ldexp` is 0, whatever the exponent.
    as_power = np.ldexp(1.0, np.maximum(np.where(exact, power, 0.0), -2000.0).astype(np.int64))
    if not exact.all():
        as_power[~exact] = 10.0 ** tests.attainable[~exact]
    return as_power, exact


def untestable(tests: PairTests, alpha: Fraction) -> Flags:
    """Whether no outcome of a test has p <= alpha for certain; decided exactly, false where that is not possible."""
    smallest, exact = smallest_p(tests)
    limit = float(alpha)
    above = smallest > limit
    for i in np.flatnonzero(np.abs(smallest - limit) <= 4 * _ROUNDING * limit).tolist():
        if exact[i]:
            above[i] = Fraction(float(smallest[i])) > alpha
        else:
            above[i] = tests.attained is not None and tests.attained(i, alpha) == 0
    return above
