"""`dp`: the shift algorithm, one addition of positive numbers per item and cell.

Streitberg & Roehmel 1986; convolve_DP of Zmigrod, Vieira & Cotterell 2022 (Algorithm 3). Cells count
subsets by D = W - T, the distance from the maximum, so that an upper tail needs only the cells near
zero. Every cell is a sum of products of at most n roundings and nothing cancels: relative error n u.

The counts span 2**n, more than a double's exponent. Cell d is therefore kept as
count(d) * 2**-e(d) with e(d) = floor(alpha d) and alpha from the exponential tilt: multiplying by
powers of two is exact, and what underflows is negligible under the tilted law.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from app.engine.lattice import CanonicalForm
from app.engine.null import CERTAIN, LN2, UNIT_ROUNDOFF, Interval, Probability, Region, add
from app.engine.tilt import tilt_towards

# Additions at most double a cell, so this many steps keep a normalised array below overflow.
_STEPS_PER_RESCALE = 256
# Underflow and the rescaling of cells far from the target lose less than this, relatively.
_LOST = 2.0**-200


def probability(form: CanonicalForm, region: Region) -> Probability:
    """P(T in region); relative error at most about n roundoffs."""
    if region.covers(form):
        return CERTAIN
    solved: dict[Interval, Probability] = {}
    parts = []
    for low, high in region.intervals:
        mirrored = (low, high) if low + high >= form.range else (form.range - high, form.range - low)
        if mirrored not in solved:
            solved[mirrored] = _interval(form, *mirrored)
        parts.append(solved[mirrored])
    return add(parts)


def _interval(form: CanonicalForm, low: int, high: int) -> Probability:
    if 2 * low <= form.range and high >= form.range:
        below = _from_the_top(form, form.range - low + 1, form.range)
        p = math.exp(below.log_p)
        bound = below.relative_error_bound * p / (1.0 - p) + 4.0 * UNIT_ROUNDOFF
        return Probability(math.log1p(-p), bound)
    return _from_the_top(form, low, high)


def _from_the_top(form: CanonicalForm, low: int, high: int) -> Probability:
    """P(low <= T <= high) from the cells D = W - T in [W - high, W - low]."""
    nearest, farthest = form.range - high, form.range - low
    towards = min(max(low, (form.range + 1) // 2), form.range - 1)
    alpha = tilt_towards(form, towards).theta / LN2 if form.range > 1 else 0.0
    exponents = np.floor(alpha * np.arange(farthest + 1)).astype(np.int64)
    cells, scale = _count(form, exponents)
    tail = cells[nearest:]
    top = int(exponents[-1])
    total = math.fsum(np.ldexp(tail, np.maximum(exponents[nearest:] - top, -4000)).tolist())
    # Powers of two are taken off first: near p = 1/2 the logarithms of both would cancel.
    mantissa, power = math.frexp(total)
    log_p = math.log(mantissa) + (power + top + scale - form.nonzero) * LN2
    rounding = UNIT_ROUNDOFF * (8.0 + 1.01 * form.nonzero + 2.0 * abs(log_p))
    return Probability(log_p, rounding + _LOST)


def _count(form: CanonicalForm, exponents: NDArray[np.int64]) -> tuple[NDArray[np.float64], int]:
    """count(d) * 2**-(e(d) + scale) for d = 0 .. len(exponents) - 1, and the scale."""
    size = len(exponents)
    cells = np.zeros(size)
    cells[0] = 1.0
    lifted = np.empty(size)
    scale = since = reached = 0
    for weight, count in zip(form.weights.tolist(), form.counts.tolist(), strict=True):
        if weight >= size:
            break  # weights ascend: this one and the rest leave the cells we need
        lift = np.ldexp(1.0, exponents[:-weight] - exponents[weight:])
        for _ in range(count):
            reached = min(reached + weight, size - 1)
            moved = reached + 1 - weight
            # A copy first: the old cells are what is added.
            np.multiply(cells[:moved], lift[:moved], out=lifted[:moved])
            cells[weight : reached + 1] += lifted[:moved]
            since += 1
            if since == _STEPS_PER_RESCALE:
                excess = math.frexp(float(cells.max()))[1]
                np.ldexp(cells, -excess, out=cells)
                scale, since = scale + excess, 0
    return cells, scale
