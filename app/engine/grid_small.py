"""Small probabilities on the grid: every lobe of the region by a tilt towards its nearest point.

An untilted transform is good to about 1e-16 of one. Under a tilt towards the region's dominating point the
answer is a large share of the (tilted) mass again, so that it keeps its relative accuracy.
"""

from __future__ import annotations

import math

import numpy as np

from app.engine.grid_box import Box, Extreme, bounding_box
from app.engine.grid_region import Runs, nearest, runs_of, split
from app.engine.grid_sum import run_sum
from app.engine.null import UNIT_ROUNDOFF, Probability
from app.engine.vector_form import VectorForm, means
from app.engine.vector_tilt import tilt_towards, untilted

_ROUNDS = 4
_MISSED = 1e-13
_TILTED_OUTSIDE = 1e-24
_GOOD = 1e-11
_DEEPEST = 1e-300
# Where to aim next when a tilt was off: between the mean and the nearest cell, or beyond it.
_AIMS = (1.0, 0.9, 1.1, 0.75)


def small_probability(form: VectorForm, extreme: Extreme, guess: float) -> Probability:
    """P(S is extreme) when it is about `guess` (which may be far too large); bound may be infinite."""
    outside = max(guess * _MISSED * 1e-3, _DEEPEST)
    found = Probability(math.log(_DEEPEST), math.inf)
    for _ in range(_ROUNDS):
        box = bounding_box(form, untilted(form), outside)
        runs = runs_of(form, box, extreme)
        if len(runs):
            found = _of_lobes(form, box, runs)
            if box.outside <= _MISSED * math.exp(max(found.log_p, -690.0)):
                return found
        if outside <= _DEEPEST:
            break
        outside = max(outside**2, _DEEPEST)
    return Probability(found.log_p, math.inf)


def _of_lobes(form: VectorForm, box: Box, runs: Runs) -> Probability:
    """The region in two, on this side of the mean and on the other, as seen from its nearest point."""
    precision, centre = np.asarray(np.linalg.pinv(form.covariance), dtype=np.float64), means(form)
    direction = precision @ (nearest(runs, centre, precision) - centre)
    lobes = [lobe for lobe in split(runs, direction, float(direction @ centre)) if len(lobe)]
    parts = [_lobe(form, box, lobe) for lobe in lobes]
    peak = max(log_p for log_p, _ in parts)
    if not math.isfinite(peak):
        return Probability(math.log(_DEEPEST), math.inf)
    log_p = peak + math.log(math.fsum(math.exp(part - peak) for part, _ in parts))
    missed = 2.0 * _MISSED if box.outside else 0.0
    bound = max(error for _, error in parts) + missed
    return Probability(log_p, bound + UNIT_ROUNDOFF * (8.0 + 4.0 * abs(log_p)))


def _lobe(form: VectorForm, box: Box, runs: Runs) -> tuple[float, float]:
    """(log probability, relative error bound) of one lobe, by the tilt that proves most."""
    centre = means(form)
    away = nearest(runs, centre, np.asarray(np.linalg.pinv(form.covariance), dtype=np.float64)) - centre
    best = (-math.inf, math.inf)
    for aim in _AIMS:
        law = tilt_towards(form, centre + aim * away)
        # The transform must hold the tilted mass as well, or that would alias into the box.
        inner = bounding_box(form, law, _TILTED_OUTSIDE)
        total, error, lowest = run_sum(form, law, _union(box, inner), runs)
        if total > 0.0:
            log_p = law.cumulant - (lowest - float(law.theta @ centre)) + math.log(total)
            bound = (error + inner.outside) / total + 64.0 * UNIT_ROUNDOFF
            best = min(best, (log_p, bound), key=lambda pair: pair[1])
            if bound < _GOOD:
                break
    return best


def _union(one: Box, other: Box) -> Box:
    """The smallest box that holds both."""
    low = np.minimum(one.low, other.low)
    high = np.maximum(one.low + np.array(one.shape), other.low + np.array(other.shape))
    return Box(low, tuple((high - low).tolist()), min(one.outside, other.outside))
