"""The law of a statistic of several sums for display: listed, on a box of the lattice, or sampled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..lattice import Integers, Reals
from ..probability import Alternative
from . import enumeration, monte_carlo
from .form import JointForm
from .grid.box import Box, box_sums
from .grid.price import box_of, law_nanoseconds, spectrum_nanoseconds
from .grid.spectrum import box_probabilities
from .planner import sampling

Values = Callable[[Sequence[Integers]], Reals]

MAX_CELLS = 1 << 22
# With more states, a box costs less than a list, and the mass outside it is invisible.
LISTED_STATES = 1 << 12
# Samples for a picture; for moments alone, to some hundredths of a standard deviation; and the minimum.
SAMPLES, MOMENTS, _LEAST_SAMPLES = 20_000, 4_096, 2_000
_NOISE = 1e-15
_NUMBERS_AT_ONCE = 1 << 21


@dataclass(frozen=True, slots=True)
class JointLawPlan:
    """The method for the law, and its predicted time on one ordinary core."""

    way: Literal["certain", "listed", "box", "sampled"]
    seconds: float
    samples: int = 0

    @property
    def whole(self) -> bool:
        """Whether this is the law itself, not a sample."""
        return self.way != "sampled"


def plan_law(
    form: JointForm, allowed: float, work: float, *, gridded: bool, most: int = SAMPLES
) -> JointLawPlan:
    """Plan the law within about `allowed` seconds; `work` is the statistic's nanoseconds per state.

    `gridded` means that the p-value is by `grid`, whose frequencies are reused; `most` limits the samples.
    """
    if form.rank == 0:
        return JointLawPlan("certain", 0.0)
    states = enumeration.states_count(form)
    if states <= LISTED_STATES:
        width = form.rank + len(form.origin)
        return JointLawPlan("listed", 3e-4 + 1e-9 * (work + 200 + 4 * width) * states)
    if box_of(form).cells <= MAX_CELLS:
        seconds = 1e-9 * (law_nanoseconds(form, work) + (0.0 if gridded else spectrum_nanoseconds(form)))
        if seconds <= allowed:
            return JointLawPlan("box", seconds)
    each = sampling(form, most, work).seconds
    samples = max(min(most, int(most * allowed / each)), _LEAST_SAMPLES)
    return JointLawPlan("sampled", sampling(form, samples, work).seconds, samples)


def law_of(form: JointForm, values: Values, planned: JointLawPlan, seed: int) -> tuple[Reals, Reals]:
    """Return the statistic's values and their probabilities under the null hypothesis, shape (P,) each, unsorted."""
    if planned.way == "certain":
        return np.asarray(values([form.origin[k : k + 1] for k in range(len(form.origin))])), np.ones(1)
    if planned.way == "listed":
        coordinates, ways = enumeration.listed(form)
        masses = np.array([way / 2**form.nonzero for way in ways.tolist()])
        step = max(_NUMBERS_AT_ONCE // len(form.origin), 1)
        parts = [coordinates[start : start + step] for start in range(0, len(coordinates), step)]
        return np.concatenate([values(list(form.states(part).T)) for part in parts]), masses
    if planned.way == "box":
        return _box_law(form, box_of(form), values)
    drawn = np.concatenate(
        [values(list(states.T)) for states in monte_carlo.draws(form, planned.samples, seed)]
    )
    return drawn, np.full(len(drawn), 1.0 / len(drawn))


def _box_law(form: JointForm, box: Box, values: Values) -> tuple[Reals, Reals]:
    masses, _ = box_probabilities(form, box)
    statistic = np.broadcast_to(values(box_sums(form, box)), box.shape)
    kept = masses > _NOISE
    return statistic[kept], masses[kept]


# The smallest attainable p-value of a statistic of several sums, from all its states.


# Return which states are as extreme as a given one, shape (k,), on a side; undefined states are.
ExtremeAs = Callable[[Sequence[Integers], Integers, Alternative], NDArray[np.bool_]]
# How often an exact comparison may replace the largest double, which is usually right.
_ROUNDS = 8


def smallest_attainable(
    form: JointForm,
    values: Callable[[Sequence[Integers]], Reals],
    undefined: Callable[[Sequence[Integers]], NDArray[np.bool_]],
    extreme: ExtremeAs,
    side: Alternative,
) -> Fraction | None:
    """Return P(t is as extreme as the most extreme state with a value), of few states; None if comparisons do not end.

    The values are doubles that only suggest which state to try; `extreme` decides.
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
    """Return the sums of a most extreme state on one side, shape (k,)."""
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
