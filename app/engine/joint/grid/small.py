"""Small probabilities on the grid, at any depth: every lobe of the region by a tilt towards its dominating point.

An untilted transform is good to about 1e-16 of one. Under the tilt whose mean is the region's dominating point
(Bucklew 2004, *Introduction to Rare Event Simulation*, section 5.2) the answer is a large share of the tilted mass
again, so that it keeps its relative accuracy. What is left out is bounded in logarithms: beyond the box the untilted
law, and beyond the transform's window the tilted one, whose weight on the region is known from its lowest cell.
"""

from __future__ import annotations

import math

import numpy as np

from ...lattice import Reals
from ...probability import UNIT_ROUNDOFF, Probability
from ..form import VectorForm, means
from ..tilt import Tilted, tilt_towards, untilted
from .box import Box, Extreme, box_missing
from .region import Runs, nearest, runs_of, split
from .tiles import Tiles, TooMuchEdgeError, runs_by_tiles
from .tilted import nearest_of_runs, needed, tangents, under_tilt

_ROUNDS = 24
# A region that no tilt proves is not proven by a larger box.
_UNPROVEN_ROUNDS = 1
# The share of the answer that may lie beyond the box, as a natural logarithm: 1e-16.
_LOG_MISSED = -37.0
_GOOD = 1e-9
# Boxes up to here are decided whole; larger ones tile by tile.
_WHOLE_CELLS = 1 << 20
# The largest box that is decided whole where no ranges of the statistic are known.
MAX_WHOLE_CELLS = 1 << 28
_NEWTON_ROUNDS = 20
# How often a lobe may be split: up to 16 transforms.
_SPLITS = 4
UNPROVEN = Probability(-math.inf, math.inf)


def small_probability(
    form: VectorForm, extreme: Extreme, log_guess: float, tiles: Tiles | None = None
) -> Probability:
    """P(S is extreme) when its natural logarithm is about `log_guess` (which may be far too large).

    The bound is infinite when nothing could be proven.
    """
    depth = log_guess
    found, unproven = UNPROVEN, 0
    for _ in range(_ROUNDS):
        box = box_missing(form, untilted(form), depth + _LOG_MISSED)
        runs = region_of(form, box, extreme, tiles)
        if runs is None:
            break
        complete = box.log_outside == -math.inf
        if len(runs):
            found = _of_lobes(form, runs)
            missed = box.log_outside - found.log_p
            if complete or missed <= 0.9 * _LOG_MISSED:
                left_out = 0.0 if complete else math.exp(missed)
                return Probability(found.log_p, found.relative_error_bound + left_out)
            unproven += not found.relative_error_bound < 1.0
        if complete or unproven > _UNPROVEN_ROUNDS:
            break
        proven = math.isfinite(found.log_p)
        depth = min(found.log_p, 1.25 * depth) if proven else 2.0 * depth
    return Probability(found.log_p, math.inf)


def region_of(form: VectorForm, box: Box, extreme: Extreme, tiles: Tiles | None) -> Runs | None:
    """The extreme cells of the box; None when they cannot be listed."""
    if tiles is not None and box.cells > _WHOLE_CELLS:
        try:
            return runs_by_tiles(form, box, extreme, tiles)
        except TooMuchEdgeError:
            pass
    return runs_of(form, box, extreme) if box.cells <= MAX_WHOLE_CELLS else None


def _of_lobes(form: VectorForm, runs: Runs) -> Probability:
    """The region in two, on this side of the mean and on the other, as seen from its nearest point."""
    precision, centre = np.asarray(np.linalg.pinv(form.covariance), dtype=np.float64), means(form)
    direction = precision @ (nearest(runs, centre, precision) - centre)
    lobes = [lobe for lobe in split(runs, direction, float(direction @ centre)) if len(lobe)]
    log_p, bound = _added([_lobe(form, lobe, _SPLITS) for lobe in lobes])
    if not math.isfinite(log_p):
        return UNPROVEN
    return Probability(log_p, bound + UNIT_ROUNDOFF * (8.0 + 4.0 * abs(log_p)))


def _added(parts: list[tuple[float, float]]) -> tuple[float, float]:
    """The sum of disjoint parts, (log probability, relative error bound) each; every bound counts by its share."""
    peak = max(log_p for log_p, _ in parts)
    if not math.isfinite(peak) or any(math.isinf(bound) for _, bound in parts):
        return peak, math.inf
    log_p = peak + math.log(math.fsum(math.exp(part - peak) for part, _ in parts))
    return log_p, math.fsum(math.exp(part - log_p) * bound for part, bound in parts)


def _lobe(form: VectorForm, runs: Runs, splits: int) -> tuple[float, float]:
    """(log probability, relative error bound) of one lobe.

    One tilt is enough where the region's edge is nearly straight for some ten standard deviations; else the lobe is
    split beside its dominating cell, and each half has a tilt of its own.
    """
    law = tilt_towards(form, dominating_cell(form, runs))
    best = under_tilt(form, runs, law)
    if best[1] > _GOOD:
        flat = tilt_towards(form, _flattened(form, runs, law))
        best = min(best, under_tilt(form, runs, flat), key=lambda pair: pair[1])
    axes = tangents(form, law)
    if best[1] > _GOOD and splits and axes.shape[1]:
        halves = [
            half for half in split(runs, axes[:, 0], float(axes[:, 0] @ means(form, law.tau))) if len(half)
        ]
        if len(halves) == 2:
            best = min(best, _in_halves(form, halves, splits - 1, best[1]), key=lambda pair: pair[1])
    return best


def _in_halves(form: VectorForm, halves: list[Runs], splits: int, known: float) -> tuple[float, float]:
    """The sum of two halves; the second is not looked at where the first gains nothing, as on the edge of a ring."""
    first = _lobe(form, halves[0], splits)
    if not first[1] < known:
        return first[0], math.inf
    return _added([first, _lobe(form, halves[1], splits)])


def dominating_cell(form: VectorForm, runs: Runs) -> Reals:
    """The cell of the runs with about the least rate, shape (r,): Newton's steps, rounded to cells."""
    target, theta, covariance = means(form), np.zeros(form.rank), form.covariance
    for _ in range(_NEWTON_ROUNDS):
        precision = np.asarray(np.linalg.pinv(covariance), dtype=np.float64)
        last, target = target, nearest(runs, target - covariance @ theta, precision)
        if (last == target).all():
            break
        law = tilt_towards(form, target)
        theta, covariance = law.theta, law.covariance(form)
    return target


def _flattened(form: VectorForm, runs: Runs, law: Tilted) -> Reals:
    """The nearest point of the hull of the cells that matter: under its tilt none of them lies lower than the mean."""
    near = needed(form, runs, law)[0]
    return nearest_of_runs(
        near, means(form, law.tau) - law.covariance(form) @ law.theta, law.covariance(form)
    )
