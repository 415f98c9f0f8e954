"""The point of a convex hull nearest to the origin (Wolfe 1976, *Finding the nearest point in a polytope*)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...lattice import Reals

_ROUNDS = 60
_NO_WEIGHT = 1e-12


def nearest_of_hull(lowest: Callable[[Reals], Reals], start: Reals, tolerance: float) -> Reals:
    """The point x of the hull of a set with least |x|, shape (r,), up to x . x - min x . y <= tolerance.

    `lowest(x)` gives the point y of the set with the least x . y; `start` is any point of the set.
    """
    corners, weights, point = start[None, :], np.ones(1), start
    for _ in range(_ROUNDS):
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
    """Weights, of sum one, of the point nearest to the origin in the affine hull."""
    gram = corners @ corners.T
    solved = np.linalg.lstsq(gram + 1.0, np.ones(len(corners)), rcond=None)[0]
    return np.asarray(solved / solved.sum())
