"""Which states of several sums can be reached at all: the range of a statistic, where its law is sampled or cut."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..lattice import Integers, Reals
from .form import JointForm
from .grid.dp import support

# Boxes of so many cells are looked through.
MOST_CELLS = 1 << 18
# Nanoseconds for a cell and a shift.
_PER_CELL = 0.7


def is_small(form: JointForm) -> bool:
    """Whether the box of all states has no more cells than are looked through."""
    return support(form).cells <= MOST_CELLS


def seconds(form: JointForm, value_ns: float) -> float:
    """Predicted time of `value_range`."""
    shifts = sum(count.bit_length() + 1 for count in form.counts.tolist())
    return float(1e-9 * support(form).cells * (_PER_CELL * shifts + value_ns))


def value_range(form: JointForm, values: Callable[[Sequence[Integers]], Reals]) -> tuple[float, float]:
    """The least and the largest value of a statistic over all states."""
    reached = np.argwhere(_reached(form)) + form.low
    found = values(list(form.states(reached).T))
    return float(found.min()), float(found.max())


def _reached(form: JointForm) -> NDArray[np.bool_]:
    """The cells of the box that some swaps lead to."""
    shape = support(form).shape
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    reached = np.zeros(math.prod(shape), dtype=bool)
    reached[-int(np.dot(form.low, strides))] = True
    for vector, count in zip(form.vectors.tolist(), form.counts.tolist(), strict=True):
        step, done = sum(one * stride for one, stride in zip(vector, strides, strict=True)), 0
        # Of the first so many of the vector none, some or all: as many again with each shift.
        while done < count:
            more = min(done + 1, count - done) * step
            before = reached.copy()
            # Every sum of some of the vectors is in the box, so a shift along the flat array never crosses an edge.
            if more > 0:
                reached[more:] |= before[:-more]
            else:
                reached[:more] |= before[-more:]
            done = min(2 * done + 1, count)
    return reached.reshape(shape)
