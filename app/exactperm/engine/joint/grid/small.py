"""Arbitrarily small probabilities on the grid, with a tilt of every lobe of the region towards its dominating point.

An untilted transform has an absolute error of about 1e-16. Under the tilt with the region's dominating point as its
mean (Bucklew 2004, *Introduction to Rare Event Simulation*, section 5.2), the answer is a large share of the tilted
mass and keeps its relative accuracy.

The certificate rests on two bounds, both in logarithms. The untilted mass beyond the box of the region is at most
`box.log_outside` (`box_missing`). Under each tilt, `tilted.under_tilt` bounds the rounding of the transform, the tilted
mass beyond its window, and the cells far along the edge. Neither the tilt nor the dominating point need be optimal: any
theta gives a correct answer, a poor one a large error bound. Of several answers for a lobe, the one with the smallest
proven error bound is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...lattice import Integers, Reals
from ...probability import LN2, UNIT_ROUNDOFF, Probability
from ..form import JointForm, means
from ..tilt import Tilted, tilt_towards, untilted
from .box import (
    Box,
    Extreme,
    Runs,
    box_missing,
    chosen,
    clipped,
    heights,
    lowest_cell,
    nearest,
    runs_of,
    split,
)
from .price import Allowance, allowance_of, transform_price
from .sum import run_sum
from .tiles import Tiles, TooMuchEdgeError, runs_by_tiles

_ROUNDS = 24
# The logarithm of a region's probability is assumed to be at most this far below its dominating cell's exponent.
_ROOM = 12.0
# The share of the answer that may lie beyond the box, as a natural logarithm: 1e-16.
_LOG_MISSED = -37.0
# Relative error bounds above which another tilt, and another split, are tried.
_GOOD, _GOOD_ENOUGH = 1e-9, 2e-9
# The largest loss, in nats, of a tilt away from the dominating cell; beyond it no digit survives rounding.
_MOST_LOST = 25.0
# Boxes up to this size are decided whole; larger ones tile by tile.
_WHOLE_CELLS = 1 << 20
# The largest box to decide whole where no ranges of the statistic are known.
MAX_WHOLE_CELLS = 1 << 28
_NEWTON_ROUNDS = 20
# The largest number of splits of a lobe, which means up to 16 transforms.
_SPLITS = 4
UNPROVEN = Probability(-math.inf, math.inf)


def small_probability(
    form: JointForm,
    extreme: Extreme,
    log_guess: float,
    tiles: Tiles | None = None,
    allowance: Allowance | None = None,
) -> Probability:
    """Return P(S is extreme) when its natural logarithm is about `log_guess`, which may be far too large.

    The error bound is infinite when nothing is proven within the `allowance`, by default a multiple of the plan.
    """
    allowance = allowance_of(form) if allowance is None else allowance
    least = log_weight(form, tilt_towards(form, form.observed.astype(np.float64))) - _ROOM
    depth = log_guess
    result = UNPROVEN
    for _ in range(_ROUNDS):
        box = box_missing(form, untilted(form), depth + _LOG_MISSED)
        runs = region_of(form, box, extreme, tiles, allowance)
        if runs is None:
            break
        complete = box.log_outside == -math.inf
        if len(runs) == 0:
            if complete:
                break
            depth = least if depth > least else 2.0 * depth
            continue
        # The dominating cell shows the depth of the tail before any transform.
        about = log_weight(form, tilt_towards(form, dominating_cell(form, runs))) - _ROOM
        if not complete and about < depth:
            depth = about
            continue
        result = _solve_lobes(form, runs, allowance)
        missed = box.log_outside - result.log_p
        if complete or missed <= 0.9 * _LOG_MISSED:
            left_out = 0.0 if complete else math.exp(missed)
            return Probability(result.log_p, result.relative_error_bound + left_out)
        if not result.relative_error_bound < 1.0:
            # If no tilt proves the region, a larger box does not help.
            break
        depth = min(result.log_p, 1.25 * depth)
    return Probability(result.log_p, math.inf)


def region_of(
    form: JointForm, box: Box, extreme: Extreme, tiles: Tiles | None, allowance: Allowance
) -> Runs | None:
    """Return the extreme cells of the box; None when they cannot be listed within the allowance."""
    if tiles is not None and box.cells > _WHOLE_CELLS:
        try:
            return runs_by_tiles(form, box, extreme, tiles, allowance)
        except TooMuchEdgeError:
            pass
    return (
        runs_of(form, box, extreme) if box.cells <= MAX_WHOLE_CELLS and allowance.decide(box.cells) else None
    )


def _solve_lobes(form: JointForm, runs: Runs, allowance: Allowance) -> Probability:
    """Return P(region) from two lobes: the cells on the nearest cell's side of the mean, and the others."""
    precision, centre = np.asarray(np.linalg.pinv(form.covariance), dtype=np.float64), means(form)
    direction = precision @ (nearest(runs, centre, precision) - centre)
    lobes = [lobe for lobe in split(runs, direction, float(direction @ centre)) if len(lobe)]
    if len(lobes) == 2 and _mirror_images(form, lobes):
        half = _lobe(form, lobes[0], _SPLITS, allowance)
        log_p, bound = half[0] + LN2, half[1]
    else:
        log_p, bound = _added([_lobe(form, lobe, _SPLITS, allowance) for lobe in lobes])
    if not math.isfinite(log_p):
        return UNPROVEN
    return Probability(log_p, bound + UNIT_ROUNDOFF * (8.0 + 4.0 * abs(log_p)))


def _mirror_images(form: JointForm, lobes: list[Runs]) -> bool:
    """Return whether one lobe mirrors the other, T for low + high - T, with the same probability."""
    table, other = (lobe.table() for lobe in lobes)
    if table.shape != other.shape:
        return False
    total = form.low + form.high
    turned = np.column_stack((total[:-1] - other[:, :-2], total[-1] - other[:, -1], total[-1] - other[:, -2]))
    return bool((_sorted_rows(table) == _sorted_rows(turned)).all())


def _sorted_rows(table: Integers) -> Integers:
    return table[np.lexsort(table.T)]


def _added(parts: list[tuple[float, float]]) -> tuple[float, float]:
    """Add disjoint parts, (log probability, relative error bound) each; error bounds are weighted by share."""
    peak = max(log_p for log_p, _ in parts)
    if not math.isfinite(peak) or any(math.isinf(bound) for _, bound in parts):
        return peak, math.inf
    log_p = peak + math.log(math.fsum(math.exp(part - peak) for part, _ in parts))
    return log_p, math.fsum(math.exp(part - log_p) * bound for part, bound in parts)


def _lobe(form: JointForm, runs: Runs, splits: int, allowance: Allowance) -> tuple[float, float]:
    """Return (log probability, relative error bound) of one lobe.

    One tilt is enough where the region's edge is nearly straight for about ten standard deviations; otherwise the lobe
    is split next to its dominating cell, with a tilt for each half. A lobe that bends around the mean is split
    directly: under the tilt towards the nearest point of its hull, rounding would leave no digits.
    """
    law = tilt_towards(form, dominating_cell(form, runs))
    best = under_tilt(form, runs, law, allowance)
    if best[1] > _GOOD:
        flat = tilt_towards(form, _flattened(form, runs, law))
        lost = log_weight(form, flat) - log_weight(form, law)
        if lost <= _MOST_LOST:
            best = min(best, under_tilt(form, runs, flat, allowance), key=lambda pair: pair[1])
        elif lost > _MOST_LOST * 4.0**splits:
            # Half of an arc loses a quarter as much, so the remaining splits are not enough.
            return best
    axes = tangents(form, law)
    if best[1] > _GOOD_ENOUGH and splits and axes.shape[1]:
        halves = [
            half for half in split(runs, axes[:, 0], float(axes[:, 0] @ means(form, law.tau))) if len(half)
        ]
        if len(halves) == 2:
            parts = _solve_halves(form, halves, splits - 1, best[1], allowance)
            best = min(best, parts, key=lambda pair: pair[1])
    return best


def _solve_halves(
    form: JointForm, halves: list[Runs], splits: int, known: float, allowance: Allowance
) -> tuple[float, float]:
    """Add two halves; the second is not computed unless the first is better than `known`, an error bound."""
    first = _lobe(form, halves[0], splits, allowance)
    if not first[1] < known:
        return first[0], math.inf
    return _added([first, _lobe(form, halves[1], splits, allowance)])


def dominating_cell(form: JointForm, runs: Runs) -> Reals:
    """Return about the cell of least large-deviation rate, shape (r,), by Newton's method rounded to cells."""
    target, theta, covariance = means(form), np.zeros(form.rank), form.covariance
    for _ in range(_NEWTON_ROUNDS):
        precision = np.asarray(np.linalg.pinv(covariance), dtype=np.float64)
        last, target = target, nearest(runs, target - covariance @ theta, precision)
        if (last == target).all():
            break
        law = tilt_towards(form, target)
        theta, covariance = law.theta, law.covariance(form)
    return target


def _flattened(form: JointForm, runs: Runs, law: Tilted) -> Reals:
    """Return the nearest point of the needed cells' convex hull; under its tilt no cell outweighs the mean."""
    near = needed(form, runs, law)[0]
    return nearest_of_runs(
        near if len(near) else runs,
        means(form, law.tau) - law.covariance(form) @ law.theta,
        law.covariance(form),
    )


# The part of a region that matters under a tilt, and its probability by one transform. With x about the mean m of the
# tilted law, P(region) = exp(K(theta) - theta . m) E_theta[exp(-theta . (X - m)); region]. Cells far along the region's
# edge may weigh more than those near m, but are very unlikely. They are sorted into shells by their distance from m
# along the edge, in standard deviations; the largest weight of a shell times Bernstein's bound of its mass bounds the
# error of omitting it.


# Natural logarithm of the share of the tilted mass that may be omitted.
_LOG_BEYOND = -51.0
# The largest window to transform; its cells are not held, and its frequencies are priced.
MAX_WINDOW_CELLS = 1 << 30
# The tolerance of the hull's nearest point, in nats.
_NEAR_ENOUGH = 0.05
_FARTHEST = 200
# A tilt towards a corner of the support may grow without bound; beyond this cumulant rounding leaves no digit.
_MOST_CUMULANT = 1e12
# With weights above exp(_MOST_EXCESS) rounding leaves fewer than nine digits.
_MOST_EXCESS = 18.0
NOTHING = (-math.inf, math.inf)


def under_tilt(form: JointForm, runs: Runs, law: Tilted, allowance: Allowance) -> tuple[float, float]:
    """Return (log probability, relative error bound) of the runs by one tilted transform.

    The bound is infinite where the transform proves nothing; none is computed where that is certain beforehand, or
    the `allowance` is used up.
    """
    mean = means(form, law.tau)
    inner, log_dropped = needed(form, runs, law)
    if len(inner) == 0 or not law.cumulant < _MOST_CUMULANT:
        return NOTHING
    # Cells that weigh more than the mean need a wider window.
    excess = max(-float(heights(inner, law.theta, mean).min()), 0.0)
    if excess > _MOST_EXCESS:
        return NOTHING
    window = box_missing(form, law, _LOG_BEYOND - excess)
    inside = clipped(inner, window)
    if window.cells > MAX_WINDOW_CELLS or len(inside) == 0:
        return NOTHING
    if not allowance.transform(transform_price(form, law, window)[0]):
        return NOTHING
    total, error, lowest = run_sum(form, law, window, inside)
    # `lowest` counts from the window's corner; weights are relative to it, and at most one.
    corner = float(law.theta @ (window.low - mean))
    shift = lowest + corner
    error += _exp(log_dropped + shift)
    if window.log_outside > -math.inf:
        error += _exp(window.log_outside) + _exp(window.log_outside + excess + shift)
    if not total > error:
        return NOTHING
    drift = float(law.theta @ (mean - means(form)))
    log_p = law.cumulant - drift - shift + math.log(total)
    rounding = UNIT_ROUNDOFF * (64.0 + 8.0 * (law.cumulant + abs(drift) + abs(lowest) + abs(corner)))
    return log_p, error / total + rounding


def log_weight(form: JointForm, law: Tilted) -> float:
    """Return K(theta) - theta . m, about the log probability of the tail beyond the tilted mean m."""
    return law.cumulant - float(law.theta @ (means(form, law.tau) - means(form)))


def _exp(power: float) -> float:
    return math.exp(power) if power < 700.0 else math.inf


def needed(form: JointForm, runs: Runs, law: Tilted) -> tuple[Runs, float]:
    """Select the runs near enough along the edge, and bound the others.

    The second result is the logarithm of a bound on E_theta[exp(-theta . (X - m)); the others].
    """
    mean = means(form, law.tau)
    axes = tangents(form, law)
    if axes.shape[1] == 0:
        return runs, -math.inf
    distance = _distances(runs, axes, mean)
    shell = np.minimum(np.floor(distance), _FARTHEST).astype(np.int64)
    lowest = np.full(_FARTHEST + 1, np.inf)
    np.minimum.at(lowest, shell, heights(runs, law.theta, mean))
    widest = float(np.abs(form.vectors @ axes).max())
    radius = np.arange(_FARTHEST + 1, dtype=np.float64)
    log_tail = math.log(2.0 * axes.shape[1]) - 0.5 * radius * radius / (1.0 + widest * radius / 3.0)
    logs = np.where(np.isfinite(lowest), log_tail - lowest, -np.inf)
    beyond = np.logaddexp.accumulate(logs[::-1])[::-1]
    enough = np.flatnonzero(beyond <= _LOG_BEYOND)
    if len(enough) == 0:
        return runs, -math.inf
    reach = int(enough[0])
    return chosen(runs, shell < reach), float(beyond[reach])


def tangents(form: JointForm, law: Tilted) -> Reals:
    """Return directions of unit variance under the tilt, uncorrelated with theta . X and each other, (r, r - 1)."""
    sizes, axes = np.linalg.eigh(law.covariance(form))
    kept = sizes > max(float(sizes[-1]), 1e-300) * 1e-14
    white = axes[:, kept] / np.sqrt(sizes[kept])
    normal = np.linalg.pinv(white) @ law.theta
    rotation = np.linalg.svd(normal[None, :])[2]
    return np.asarray(white @ rotation[1:].T)


def _distances(runs: Runs, axes: Reals, mean: Reals) -> Reals:
    """Return the least distance of each run from the mean along the edge, the largest over directions; (I,)."""
    base = (runs.head - mean[:-1]) @ axes[:-1]
    at_first = base + np.multiply.outer(runs.first - mean[-1], axes[-1])
    at_last = base + np.multiply.outer(runs.last - mean[-1], axes[-1])
    least = np.where(at_first * at_last <= 0.0, 0.0, np.minimum(np.abs(at_first), np.abs(at_last)))
    return np.asarray(least.max(axis=1))


def nearest_of_runs(runs: Runs, centre: Reals, covariance: Reals) -> Reals:
    """Return the point of the runs' convex hull nearest to `centre` in the inverse covariance metric, shape (r,)."""
    sizes, axes = np.linalg.eigh(covariance)
    white = axes / np.sqrt(np.maximum(sizes, sizes[-1] * 1e-14 + 1e-300))

    def lowest(point: Reals) -> Reals:
        return np.asarray((lowest_cell(runs, white @ point) - centre) @ white)

    start = (nearest(runs, centre, white @ white.T) - centre) @ white
    return np.asarray(centre + nearest_of_hull(lowest, start, _NEAR_ENOUGH) @ np.linalg.pinv(white))


# The point of a convex hull nearest to the origin (Wolfe 1976, *Finding the nearest point in a polytope*).


_HULL_ROUNDS = 60
_NO_WEIGHT = 1e-12


def nearest_of_hull(lowest: Callable[[Reals], Reals], start: Reals, tolerance: float) -> Reals:
    """Return the point x of the hull of a set with least |x|, shape (r,), up to x . x - min x . y <= tolerance.

    `lowest(x)` returns the point y of the set with the least x . y; `start` is any point of the set.
    """
    corners, weights, point = start[None, :], np.ones(1), start
    for _ in range(_HULL_ROUNDS):
        corner = lowest(point)
        if float(point @ point - point @ corner) <= tolerance or (corners == corner).all(axis=1).any():
            break
        corners, weights = np.vstack((corners, corner)), np.append(weights, 0.0)
        while True:
            affine = _affine_weights(corners)
            if (affine > _NO_WEIGHT).all():
                weights = affine
                break
            # Move towards the affine minimum until a weight becomes zero, and drop that corner.
            falling = affine <= _NO_WEIGHT
            share = float((weights[falling] / np.maximum(weights[falling] - affine[falling], 1e-300)).min())
            weights = weights + min(share, 1.0) * (affine - weights)
            kept = weights > _NO_WEIGHT
            if kept.all() or not kept.any():
                return point
            corners, weights = corners[kept], weights[kept] / weights[kept].sum()
        point = weights @ corners
    return point


def _affine_weights(corners: Reals) -> Reals:
    """Return weights, with sum one, of the point of the affine hull nearest to the origin."""
    gram = corners @ corners.T
    solved = np.linalg.lstsq(gram + 1.0, np.ones(len(corners)), rcond=None)[0]
    return np.asarray(solved / solved.sum())
