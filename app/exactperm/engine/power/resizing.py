"""Forms of other numbers of items, and of rounded sizes."""

from __future__ import annotations

import math

import numpy as np

from ..lattice import CanonicalForm, Integers
from ..one_sum.heavy_weights import best_split

# Up to so many sizes largest remainders keep the mixture.
_FEW_SIZES = 64
# So many items that round to nothing count as the least size: they are nothing in the sum, and something among its values.
_KEPT = 4_096


def resized(form: CanonicalForm, items: int) -> CanonicalForm:
    """The form of `items` items with the same mixture of sizes.

    Few sizes by largest remainders, ties to the smaller; of many, where most counts become 0 or 1, what is left over goes to
    sizes at even distances, so that small and large ones stay in proportion.
    """
    zeros = form.items - form.nonzero
    shares = np.concatenate([[zeros], form.counts]).astype(np.float64) * (items / form.items)
    counts = np.floor(shares).astype(np.int64)
    left = items - int(counts.sum())
    if len(shares) <= _FEW_SIZES:
        counts[np.argsort(-(shares - counts), kind="stable")[:left]] += 1
    else:
        reached = np.cumsum(shares - counts)
        reached *= left / max(float(reached[-1]), 1e-300)
        given = np.floor(reached + 0.5).astype(np.int64)
        counts[0] += given[0]
        counts[1:] += given[1:] - given[:-1]
    kept = np.flatnonzero(counts[1:])
    return centred(form.weights[kept], counts[1:][kept], form.step, items)


def coarser(form: CanonicalForm, steps_per_sd: int) -> CanonicalForm:
    """The form with sizes rounded to the standard deviation of its sum over `steps_per_sd`; itself where that is no less than a step.

    Sizes far above the others (`heavy_weights`) make separate humps, and do not count in that deviation: rounded by theirs, the others
    would be nothing.
    """
    light = form.without(best_split(form).heavy)
    step = math.isqrt(int(light.variance)) // steps_per_sd
    if step <= 1:
        return form
    rough = np.rint(form.weights / step).astype(np.int64)
    if int(form.counts[rough == 0].sum()) <= _KEPT:
        rough = np.maximum(rough, 1)
    weights, where = np.unique(rough, return_inverse=True)
    counts = np.bincount(where, weights=form.counts).astype(np.int64)
    weights, counts = weights[weights > 0], counts[weights > 0]
    divisor = int(np.gcd.reduce(weights))
    return centred(weights // divisor, counts, form.step * step * divisor, form.items)


def centred(weights: Integers, counts: Integers, step: int, items: int) -> CanonicalForm:
    """The form of sums of signed sizes, `step` w_j / 2 each, shape (U,)."""
    total = sum(weight * count for weight, count in zip(weights.tolist(), counts.tolist(), strict=True))
    return CanonicalForm(-step * total // 2, step, weights, counts, items)
