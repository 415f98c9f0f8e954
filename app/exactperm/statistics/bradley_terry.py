"""The Bradley-Terry model of preferences (1952): i beats j with probability 1 / (1 + exp(strength_j - strength_i)).

Ties are half a win of both. The maximum likelihood exists if no set of models is undefeated by the others (Ford 1957).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

# Newton's steps are at most 1; if more are needed, the models are further apart than the data can tell.
_MOST_STEPS, _CLOSE, _DIGITS = 200, 1e-12, 9


def strengths_of(names: Sequence[str], wins: NDArray[np.float64]) -> tuple[Mapping[str, float] | None, str]:
    """The strengths by name, with mean 0, from wins[i, j] of i over j, shape (K, K); or None and the reason as a sentence."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components
    from scipy.special import expit

    k, games = len(wins), wins + wins.T
    count, label = connected_components(csr_matrix(np.ceil(wins)), directed=True, connection="strong")
    for component in range(count if count > 1 else 0):
        inside = label == component
        if not wins[np.ix_(~inside, inside)].any():
            top = ", ".join(names[at] for at in np.flatnonzero(inside)[:3]) + (
                ", …" if inside.sum() > 3 else ""
            )
            lone = not wins[np.ix_(inside, ~inside)].any()
            return (
                None,
                f"{top} {'had no battle with' if lone else 'never lost or tied against'} the other models",
            )
    theta = np.zeros(k)
    for _ in range(_MOST_STEPS):
        p = expit(theta[:, None] - theta[None, :])
        weight = games * p * (1.0 - p)
        curvature = np.diag(weight.sum(axis=1)) - weight + 1.0 / k  # the last term fixes the mean
        step = np.linalg.solve(curvature, wins.sum(axis=1) - (games * p).sum(axis=1))
        largest = np.abs(step).max()
        theta += step / max(largest, 1.0)
        if largest < _CLOSE * max(1.0, np.abs(theta).max()):
            values = np.round(theta - theta.mean(), _DIGITS) + 0.0
            return dict(zip(names, values.tolist(), strict=True)), ""
    return None, "models are too far apart"
