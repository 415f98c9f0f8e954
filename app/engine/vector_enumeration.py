"""Every reachable vector of sums, with the number of ways to it: exact while there are few.

Items with the same vector are counted together, so there are prod_j (c_j + 1) states and not 2**n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.engine.lattice import Integers
from app.engine.null import Probability, from_fraction
from app.engine.vector_form import VectorForm

States = Callable[[Integers], NDArray[np.bool_]]
_BLOCK = 1 << 18


def states_count(form: VectorForm) -> int:
    """How many combinations there are; exact."""
    return math.prod(count + 1 for count in form.counts.tolist())


def probability(form: VectorForm, extreme: States) -> Probability:
    """P(S is extreme) as an exact fraction."""
    coordinates, ways = listed(form)
    inside = 0
    for start in range(0, len(coordinates), _BLOCK):
        mask = extreme(form.states(coordinates[start : start + _BLOCK]))
        inside += _total(ways[start : start + _BLOCK][mask])
    return from_fraction(inside, form.nonzero)


def listed(form: VectorForm) -> tuple[Integers, NDArray[Any]]:
    """The lattice points T reachable by any choice, shape (P, r), and in how many ways each choice is made."""
    coordinates = np.zeros((1, form.rank), dtype=np.int64)
    # 2**n ways fit an int64 up to n = 62; beyond, Python integers.
    kind: type = np.int64 if form.nonzero <= 62 else object
    ways: NDArray[Any] = np.ones(1, dtype=kind)
    for vector, count in zip(form.vectors, form.counts.tolist(), strict=True):
        chosen: NDArray[Any] = np.array([math.comb(count, heads) for heads in range(count + 1)], dtype=kind)
        steps = np.multiply.outer(np.arange(count + 1), vector)
        coordinates = (coordinates[None, :, :] + steps[:, None, :]).reshape(-1, form.rank)
        ways = np.multiply.outer(chosen, ways).reshape(-1)
    return coordinates, ways


def _total(ways: NDArray[Any]) -> int:
    return int(ways.sum()) if len(ways) else 0
