"""The paired bootstrap by resampling, to check the exact law, and for statistics that are not sums.

p = (b + 1) / (K + 1) with >= on integers; blocks and Philox streams are those of `one_sum.monte_carlo`, so the
answer depends on the seed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ..lattice import Integers
from ..one_sum.monte_carlo import SAMPLES_PER_BLOCK, Estimate, estimate_by, stream
from ..probability import Region
from .form import ResampleForm

# A binomial of the multinomial costs about as much as this many single draws; measured by hand.
_DRAWS_PER_GROUP = 16
_CELLS_AT_ONCE = 1 << 19

Weighted = Callable[[Integers], NDArray[np.bool_]]


def estimate(form: ResampleForm, region: Region, *, samples: int, seed: int) -> Estimate:
    """Estimate P(T in region) from `samples` independent resamples."""
    return estimate_by(lambda block: draw_block(form, seed, block), region, samples=samples, seed=seed)


def draw_block(form: ResampleForm, seed: int, block: int) -> Integers:
    """Draw SAMPLES_PER_BLOCK independent values of T, by multinomial counts of the distinct values or single draws."""
    generator = np.random.Generator(stream(seed, block))
    by_group = _DRAWS_PER_GROUP * len(form.values) <= form.draws
    width = len(form.values) if by_group else form.draws
    rows = max(_CELLS_AT_ONCE // width, 1)
    totals = np.empty(SAMPLES_PER_BLOCK, dtype=np.int64)
    each = np.repeat(form.values, form.counts)
    for start in range(0, SAMPLES_PER_BLOCK, rows):
        part = totals[start : start + rows]
        if by_group:
            part[:] = generator.multinomial(form.draws, form.probabilities, size=len(part)) @ form.values
        else:
            part[:] = each[generator.integers(0, form.draws, size=(len(part), form.draws))].sum(axis=1)
    return totals


def estimate_any(units: int, extreme: Weighted, *, samples: int, seed: int) -> Estimate:
    """Estimate the share of resamples that are extreme; `extreme` decides from weights, shape (K, units).

    For statistics of several sums: row k of the weights counts resample k's units; weights @ counts are the resampled
    sums.
    """
    inside = sum(int(np.count_nonzero(extreme(weights))) for weights in resampled(units, samples, seed))
    return Estimate(samples, seed, inside)


def resampled(units: int, samples: int, seed: int) -> Iterator[Integers]:
    """Yield `samples` multinomial weight vectors, `units` draws from as many units, in blocks (K, units)."""
    rows = rows_at_once(units)
    for block, start in enumerate(range(0, samples, rows)):
        generator = np.random.Generator(stream(seed, block))
        drawn = generator.integers(0, units, size=(rows, units))[: samples - start]
        drawn += units * np.arange(len(drawn))[:, None]
        yield np.bincount(drawn.reshape(-1), minlength=drawn.size).reshape(drawn.shape)


def rows_at_once(units: int) -> int:
    """Return the number of resamples of `units` units drawn at once."""
    return min(max(_CELLS_AT_ONCE // units, 1), SAMPLES_PER_BLOCK)
