"""The values of two systems in one order, on the scale where they are exchanged; decided exactly.

Two systems' numbers are exchanged with each other, so they must mean the same. `ranks`: mid-ranks within each whole
system. `raw`: as they are, decimals as written. `standardized`: less the system's mean, over its standard deviation
(of all items, ddof = 0): Deutsch, Dror & Roth 2021, "A statistical analysis of summarization evaluation metrics using
resampling methods", PERM-BOTH.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...engine.lattice import Integers, Reals, Whole
from ..numbers import MAX_INTEGER
from ..paired import Column
from ..scores import doubled_midranks
from .printed import as_printed
from .standardized import standardized


@dataclass(frozen=True, slots=True)
class Placed:
    """The values of one system, shape (n,) each, by integers that compare with those of the other system.

    A value y is more than epsilon below x if its `code` is less than `below` of x; more than epsilon above x if its
    code is not less than `upto` of x; else the two tie.
    """

    code: Integers
    below: Integers
    upto: Integers

    def take(self, at: Integers) -> Placed:
        """Of the items at these positions."""
        return Placed(self.code[at], self.below[at], self.upto[at])


def placed(u: Column, v: Column, scale: str, epsilon: Fraction) -> tuple[Placed, Placed]:
    """Both systems' values, shape (n,) each, in one order; epsilon is in units of the scale.

    Raises InvalidTest where a system cannot be put on the scale.
    """
    if scale == "standardized":
        (u_places, v_places) = standardized(u, v, epsilon)
        return Placed(*u_places), Placed(*v_places)
    if scale == "ranks":
        within = min(int(2 * epsilon), 2 * len(u))
        return _on_ranks(doubled_midranks(u), within), _on_ranks(doubled_midranks(v), within)
    if epsilon == 0 and u.dtype == v.dtype:
        return _on_integers(u, v, 0)  # doubles compare as the decimals that they print as
    unit, columns = as_printed(u, v)
    return _on_integers(columns[0], columns[1], int(epsilon / unit))


def _on_ranks(doubled: Integers, within: int) -> Placed:
    """Integers from 2 to 2 n, which are their own codes."""
    return Placed(doubled, np.maximum(doubled - within, 0), doubled + within + 1)


def _on_integers(u: Whole | Reals, v: Whole | Reals, within: int) -> tuple[Placed, Placed]:
    """Values tie that are at most `within` apart. Doubles are given only with 0."""
    values, where = np.unique(np.concatenate([u, v]), return_inverse=True)
    code = where.reshape(-1).astype(np.int64)
    below, upto = code, code + 1
    if within:
        reach = within if values.dtype == object else min(within, 2 * MAX_INTEGER)
        below = np.searchsorted(values, values - reach, side="left")[code]
        upto = np.searchsorted(values, values + reach, side="right")[code]
    n = len(u)
    return Placed(code[:n], below[:n], upto[:n]), Placed(code[n:], below[n:], upto[n:])
