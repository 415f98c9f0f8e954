"""Bounds of the probability of a union from the probabilities of its events, one by one and two by two.

`a` and `b` are events, p_a their probabilities, p_ab those of both. Upper: Hunter 1976, *Journal of Applied Probability*
13:597-603, and Worsley 1982, *Biometrika* 69:297-302: the sum of p_a less that of p_ab over the edges of any forest.
Lower: Dawson & Sankoff 1967, *Proceedings of the AMS* 18:504-507.
"""

from __future__ import annotations

import math

import numpy as np

from ..lattice import Integers, Reals
from ..probability import UNIT_ROUNDOFF
from .forest import heaviest_forest


def hunter_worsley(single: Reals, edges: Integers, joint: Reals) -> float:
    """An upper bound; `single` (m,) at least p_a, `edges` (E, 2) and `joint` (E,) at most p_ab.

    The heaviest spanning forest of the edges that are given: any forest bounds the union.
    """
    total = math.fsum(single.tolist())
    forest = heaviest_forest(len(single), edges, joint)
    total = math.fsum([total, *(-joint[forest]).tolist()])
    return min(max(total, float(single.max(initial=0.0))) * (1.0 + 4.0 * UNIT_ROUNDOFF), 1.0)


def dawson_sankoff(single: Reals, joint: Reals) -> float:
    """A lower bound; `single` (m,) at most p_a, `joint` (m, m) at least p_ab, its diagonal unused.

    2 S_1 / (h + 1) - 2 S_2 / (h (h + 1)) for every h = 1, 2, ...; the best is h = 1 + floor(2 S_2 / S_1).
    """
    first = math.fsum(single.tolist())
    second = math.fsum(joint[np.triu_indices(len(single), 1)].tolist())
    if first <= 0.0:
        return 0.0
    h = 1 + math.floor(min(2.0 * second / first, float(len(single))))
    bound = 2.0 * first / (h + 1) - 2.0 * second / (h * (h + 1))
    return max(bound - 16.0 * UNIT_ROUNDOFF * (first + second), 0.0)
