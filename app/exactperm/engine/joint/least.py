"""The smallest p-value that any outcome on the same items could have, of a statistic of several sums: by all its states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..lattice import Integers, Reals
from ..probability import Alternative
from . import enumeration
from .form import JointForm

# Which states are as extreme as one of them, shape (k,), on a side; undefined states are.
ExtremeAs = Callable[[Sequence[Integers], Integers, Alternative], NDArray[np.bool_]]
# Values in doubles are mostly right about the largest: how often an exact comparison may name a larger one.
_ROUNDS = 8


def smallest_attainable(
    form: JointForm,
    values: Callable[[Sequence[Integers]], Reals],
    undefined: Callable[[Sequence[Integers]], NDArray[np.bool_]],
    extreme: ExtremeAs,
    side: Alternative,
) -> Fraction | None:
    """P(t is as extreme as the most extreme state with a value), of few states; None where comparisons come to no end.

    The values are doubles and only say which state to try; `extreme` decides.
    """
    coordinates, ways = enumeration.listed(form)
    sums = list(form.states(coordinates).T)
    doubles, none = values(sums), undefined(sums)
    ends = []
    sides: tuple[Alternative, ...] = ("greater", "less") if side == "two-sided" else (side,)
    for towards in sides:
        key = np.where(none, -np.inf, doubles if towards == "greater" else -doubles)
        state = _outermost(sums, key, none, extreme, towards)
        if state is None:
            return None
        ends.append(state)
    state = ends[0]
    if side == "two-sided" and extreme([number[None] for number in ends[1]], state, side).all():
        state = ends[1]
    inside = extreme(sums, state, side)
    return Fraction(int(ways[inside].sum()), 1 << form.nonzero)


def _outermost(
    sums: list[Integers], key: Reals, undefined: NDArray[np.bool_], extreme: ExtremeAs, side: Alternative
) -> Integers | None:
    """The sums of a state that none is more extreme than on one side, shape (k,)."""
    other: Alternative = "less" if side == "greater" else "greater"
    at = int(key.argmax())
    for _ in range(_ROUNDS):
        state = np.array([column[at] for column in sums])
        level = np.flatnonzero(extreme(sums, state, side) & ~undefined)
        beyond = level[~extreme([column[level] for column in sums], state, other)]
        if len(beyond) == 0:
            return state
        at = int(beyond[key[beyond].argmax()])
    return None
