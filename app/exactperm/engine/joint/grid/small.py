"""Small probabilities on the grid, of any size: every lobe of the region by a tilt towards its dominating point.

An untilted transform has an absolute error of about 1e-16. Under the tilt whose mean is the region's dominating point
(Bucklew 2004, *Introduction to Rare Event Simulation*, section 5.2) the answer is a large share of the tilted mass
again, and keeps its relative accuracy.

The certificate rests on two bounds, both in logarithms. The untilted mass beyond the box of the region is at most
`box.log_outside` (`box_missing`). Under each tilt, `tilted.under_tilt` bounds the rounding of the transform, the
tilted mass beyond its window, and the cells that are far along the edge. The tilt itself need not be optimal, and so
neither does the dominating point: any theta gives a correct answer, a poor one a large error bound. Of several
answers for one lobe the one with the smallest proven error bound is kept.
"""

from __future__ import annotations

import math

import numpy as np

from ...lattice import Integers, Reals
from ...probability import LN2, UNIT_ROUNDOFF, Probability
from ..form import JointForm, means
from ..tilt import Tilted, tilt_towards, untilted
from .allowance import Allowance
from .box import Box, Extreme, box_missing
from .price import allowance_of
from .region import Runs, nearest, runs_of, split
from .tiles import Tiles, TooMuchEdgeError, runs_by_tiles
from .tilted import log_weight, nearest_of_runs, needed, tangents, under_tilt

_ROUNDS = 24
# The logarithm of a region's probability is assumed to be at most this far below its dominating cell's exponent.
_ROOM = 12.0
# The share of the answer that may lie beyond the box, as a natural logarithm: 1e-16.
_LOG_MISSED = -37.0
# Relative error bounds above which another tilt, and another split, are tried.
_GOOD, _GOOD_ENOUGH = 1e-9, 2e-9
# What a tilt away from the dominating cell may lose, in nats; beyond that no digit survives rounding.
_MOST_LOST = 25.0
# Boxes up to here are decided whole; larger ones tile by tile.
_WHOLE_CELLS = 1 << 20
# The largest box that is decided whole where no ranges of the statistic are known.
MAX_WHOLE_CELLS = 1 << 28
_NEWTON_ROUNDS = 20
# How often a lobe may be split: up to 16 transforms.
_SPLITS = 4
UNPROVEN = Probability(-math.inf, math.inf)


def small_probability(
    form: JointForm,
    extreme: Extreme,
    log_guess: float,
    tiles: Tiles | None = None,
    allowance: Allowance | None = None,
) -> Probability:
    """P(S is extreme) when its natural logarithm is about `log_guess`, which may be far too large.

    The error bound is infinite when nothing could be proven within the `allowance`, by default a multiple of the plan.
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
        # The dominating cell says how deep the tail is before anything is transformed.
        about = log_weight(form, tilt_towards(form, dominating_cell(form, runs))) - _ROOM
        if not complete and about < depth:
            depth = about
            continue
        result = _of_lobes(form, runs, allowance)
        missed = box.log_outside - result.log_p
        if complete or missed <= 0.9 * _LOG_MISSED:
            left_out = 0.0 if complete else math.exp(missed)
            return Probability(result.log_p, result.relative_error_bound + left_out)
        if not result.relative_error_bound < 1.0:
            # A region that no tilt proves is not proven by a larger box.
            break
        depth = min(result.log_p, 1.25 * depth)
    return Probability(result.log_p, math.inf)


def region_of(
    form: JointForm, box: Box, extreme: Extreme, tiles: Tiles | None, allowance: Allowance
) -> Runs | None:
    """The extreme cells of the box; None when they cannot be listed within the allowance."""
    if tiles is not None and box.cells > _WHOLE_CELLS:
        try:
            return runs_by_tiles(form, box, extreme, tiles, allowance)
        except TooMuchEdgeError:
            pass
    return (
        runs_of(form, box, extreme) if box.cells <= MAX_WHOLE_CELLS and allowance.decide(box.cells) else None
    )


def _of_lobes(form: JointForm, runs: Runs, allowance: Allowance) -> Probability:
    """P(region) by two lobes: the cells on the side of the mean where the nearest cell lies, and the others."""
    precision, centre = np.asarray(np.linalg.pinv(form.covariance), dtype=np.float64), means(form)
    direction = precision @ (nearest(runs, centre, precision) - centre)
    lobes = [lobe for lobe in split(runs, direction, float(direction @ centre)) if len(lobe)]
    if len(lobes) == 2 and _mirror_images(form, lobes):
        one = _lobe(form, lobes[0], _SPLITS, allowance)
        log_p, bound = one[0] + LN2, one[1]
    else:
        log_p, bound = _added([_lobe(form, lobe, _SPLITS, allowance) for lobe in lobes])
    if not math.isfinite(log_p):
        return UNPROVEN
    return Probability(log_p, bound + UNIT_ROUNDOFF * (8.0 + 4.0 * abs(log_p)))


def _mirror_images(form: JointForm, lobes: list[Runs]) -> bool:
    """Whether one lobe is the other with every swap reversed: T for low + high - T, which is as likely."""
    one, other = (lobe.table() for lobe in lobes)
    if one.shape != other.shape:
        return False
    total = form.low + form.high
    turned = np.column_stack((total[:-1] - other[:, :-2], total[-1] - other[:, -1], total[-1] - other[:, -2]))
    return bool((_in_order(one) == _in_order(turned)).all())


def _in_order(table: Integers) -> Integers:
    return table[np.lexsort(table.T)]


def _added(parts: list[tuple[float, float]]) -> tuple[float, float]:
    """The sum of disjoint parts, (log probability, relative error bound) each; error bounds are weighted by share."""
    peak = max(log_p for log_p, _ in parts)
    if not math.isfinite(peak) or any(math.isinf(bound) for _, bound in parts):
        return peak, math.inf
    log_p = peak + math.log(math.fsum(math.exp(part - peak) for part, _ in parts))
    return log_p, math.fsum(math.exp(part - log_p) * bound for part, bound in parts)


def _lobe(form: JointForm, runs: Runs, splits: int, allowance: Allowance) -> tuple[float, float]:
    """(log probability, relative error bound) of one lobe.

    One tilt is enough where the region's edge is nearly straight for about ten standard deviations; else the lobe is
    split next to its dominating cell, and each half has its own tilt. A lobe that bends around the mean is split
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
            # Half of an arc loses a quarter as much, so that the splits left are not enough.
            return best
    axes = tangents(form, law)
    if best[1] > _GOOD_ENOUGH and splits and axes.shape[1]:
        halves = [
            half for half in split(runs, axes[:, 0], float(axes[:, 0] @ means(form, law.tau))) if len(half)
        ]
        if len(halves) == 2:
            parts = _in_halves(form, halves, splits - 1, best[1], allowance)
            best = min(best, parts, key=lambda pair: pair[1])
    return best


def _in_halves(
    form: JointForm, halves: list[Runs], splits: int, known: float, allowance: Allowance
) -> tuple[float, float]:
    """The sum of two halves; the second is not computed where the first is not better than `known`, a bound."""
    first = _lobe(form, halves[0], splits, allowance)
    if not first[1] < known:
        return first[0], math.inf
    return _added([first, _lobe(form, halves[1], splits, allowance)])


def dominating_cell(form: JointForm, runs: Runs) -> Reals:
    """The cell of the runs of about the least large-deviation rate, shape (r,), by Newton's method rounded to cells."""
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
    """The nearest point of the convex hull of the cells that matter: under its tilt no cell weighs more than the mean."""
    near = needed(form, runs, law)[0]
    return nearest_of_runs(
        near if len(near) else runs,
        means(form, law.tau) - law.covariance(form) @ law.theta,
        law.covariance(form),
    )
