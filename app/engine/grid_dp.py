"""The shift algorithm on a grid: additions of positive numbers, so every cell keeps its digits.

The direct form of Algorithm 3 of Zmigrod, Vieira & Cotterell 2022 in r dimensions. It costs n passes over the
whole support and serves small problems with small p-values, and as the check of `grid`.
"""

from __future__ import annotations

import math

import numpy as np

from app.engine.grid_box import Box, Extreme, mask_of
from app.engine.lattice import Reals
from app.engine.null import LN2, UNIT_ROUNDOFF, Probability
from app.engine.vector_form import VectorForm

# 2**n, the number of all ways, must stay a double.
MAX_ITEMS = 1000


def support(form: VectorForm) -> Box:
    """The box of everything T can be."""
    return Box(form.low, tuple(int(size) + 1 for size in (form.high - form.low).tolist()), 0.0)


def operations(form: VectorForm) -> int:
    """Cell additions, exactly."""
    return form.nonzero * support(form).cells


def probability(form: VectorForm, extreme: Extreme) -> Probability:
    """P(S is extreme) for n <= MAX_ITEMS; relative error at most about n roundoffs."""
    ways = counts(form)[mask_of(form, support(form), extreme)]
    log_p = min(math.log(math.fsum(ways.tolist())) - form.nonzero * LN2, 0.0)
    return Probability(log_p, UNIT_ROUNDOFF * (8.0 + 1.01 * form.nonzero + 2.0 * abs(log_p)))


def counts(form: VectorForm) -> Reals:
    """In how many ways T = x comes about, on the whole support, shape support(form).shape."""
    shape = support(form).shape
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    cells = np.zeros(math.prod(shape))
    moved = np.empty_like(cells)
    cells[-int(np.dot(form.low, strides))] = 1.0
    for vector, count in zip(form.vectors.tolist(), form.counts.tolist(), strict=True):
        # Every partial sum is in the support, so a step along the flat array never takes mass across an edge.
        step = sum(one * stride for one, stride in zip(vector, strides, strict=True))
        size = len(cells) - abs(step)
        source, target = (cells[:size], cells[step:]) if step > 0 else (cells[-step:], cells[:size])
        copy = moved[:size]
        for _ in range(count):
            # A copy first: the old cells are what is added.
            np.copyto(copy, source)
            np.add(target, copy, out=target)
    return cells.reshape(shape)
