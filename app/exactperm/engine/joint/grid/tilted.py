"""The part of a region that matters under a tilt, and its probability by one transform.

With x about the mean m of the tilted law, P(region) = exp(K(theta) - theta . m) E_theta[exp(-theta . (X - m)); region].
Cells far along the region's edge may weigh more than those near m, but are very unlikely. They are sorted into shells
by their distance from m along the edge, in standard deviations; the largest weight of a shell times Bernstein's bound
of its mass bounds the error of leaving it out.
"""

from __future__ import annotations

import math

import numpy as np

from ...lattice import Reals
from ...probability import UNIT_ROUNDOFF
from ..form import JointForm, means
from ..tilt import Tilted
from .allowance import Allowance
from .box import box_missing
from .hull import nearest_of_hull
from .price import transform_price
from .region import Runs, chosen, clipped, heights, lowest_cell, nearest
from .sum import run_sum

# Natural logarithm of the share of the tilted mass that may be left out.
_LOG_BEYOND = -51.0
# The largest window that is transformed: its cells are not held, and what its frequencies take is priced.
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
    """(log probability, relative error bound) of the runs by one tilted transform.

    The bound is infinite where the transform proves nothing. Where that is certain beforehand, or the `allowance` is
    used up, nothing is transformed.
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
    # `lowest` counts from the window's corner; weights are relative to it, and one at most.
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
    """K(theta) - theta . m: about log of the probability of what lies beyond the tilted mean m."""
    return law.cumulant - float(law.theta @ (means(form, law.tau) - means(form)))


def _exp(power: float) -> float:
    return math.exp(power) if power < 700.0 else math.inf


def needed(form: JointForm, runs: Runs, law: Tilted) -> tuple[Runs, float]:
    """The runs near enough along the edge, and the logarithm of a bound on what the others add.

    The bound is on E_theta[exp(-theta . (X - m)); the others].
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
    """Directions of variance one under the tilt that are uncorrelated with theta . X and with each other, (r, r - 1)."""
    sizes, axes = np.linalg.eigh(law.covariance(form))
    kept = sizes > max(float(sizes[-1]), 1e-300) * 1e-14
    white = axes[:, kept] / np.sqrt(sizes[kept])
    normal = np.linalg.pinv(white) @ law.theta
    rotation = np.linalg.svd(normal[None, :])[2]
    return np.asarray(white @ rotation[1:].T)


def _distances(runs: Runs, axes: Reals, mean: Reals) -> Reals:
    """The least distance of each run's cells from the mean along the edge, the largest over the directions; (I,)."""
    base = (runs.head - mean[:-1]) @ axes[:-1]
    one = base + np.multiply.outer(runs.first - mean[-1], axes[-1])
    other = base + np.multiply.outer(runs.last - mean[-1], axes[-1])
    least = np.where(one * other <= 0.0, 0.0, np.minimum(np.abs(one), np.abs(other)))
    return np.asarray(least.max(axis=1))


def nearest_of_runs(runs: Runs, centre: Reals, covariance: Reals) -> Reals:
    """The point of the runs' convex hull nearest to `centre` in the metric of the covariance's inverse, shape (r,)."""
    sizes, axes = np.linalg.eigh(covariance)
    white = axes / np.sqrt(np.maximum(sizes, sizes[-1] * 1e-14 + 1e-300))

    def lowest(point: Reals) -> Reals:
        return np.asarray((lowest_cell(runs, white @ point) - centre) @ white)

    start = (nearest(runs, centre, white @ white.T) - centre) @ white
    return np.asarray(centre + nearest_of_hull(lowest, start, _NEAR_ENOUGH) @ np.linalg.pinv(white))
