"""The Bradley-Terry model of preferences (1952): i beats j with probability 1 / (1 + exp(strength_j - strength_i)).

Ties are half a win of both. The maximum likelihood exists if no set of models is undefeated by the others (Ford 1957).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

# A step of Newton's moves no two models that met further apart than 1.
_MOST_STEPS, _CLOSE, _DIGITS = 100, 1e-10, 9


def strengths_of(names: Sequence[str], wins: NDArray[np.float64]) -> tuple[Mapping[str, float] | None, str]:
    """The strengths by name, with mean 0, from wins[i, j] of i over j, shape (K, K); or None and the reason as a sentence."""
    from scipy.special import expit

    k, games = len(wins), wins + wins.T
    above = (wins > 0) | np.eye(k, dtype=bool)
    for _ in range(k.bit_length()):
        above = above.astype(np.float32) @ above.astype(np.float32) > 0  # by chains of twice as many wins
    label = (above & above.T).argmax(axis=1)
    if label.any():
        winner, loser = (label[side] for side in np.nonzero(wins))
        unbeaten = np.setdiff1d(label, loser[winner != loser])[0]  # of the components
        inside = np.flatnonzero(label == unbeaten)
        top = ", ".join(names[at] for at in inside[:3]) + (", …" if len(inside) > 3 else "")
        met = (winner[winner != loser] == unbeaten).any()
        return None, f"{top} {'never lost or tied against' if met else 'had no battle with'} the other models"
    theta = np.zeros(k)
    for _ in range(_MOST_STEPS):
        gaps = theta[:, None] - theta[None, :]
        p, q = expit(gaps), expit(-gaps)
        weight = games * p * q
        curvature = np.diag(weight.sum(axis=1)) - weight + 1.0 / k  # the last term fixes the mean
        step = np.linalg.solve(curvature, (wins * q - wins.T * p).sum(axis=1))
        largest = np.abs(step[:, None] - step[None, :])[games > 0].max()
        theta += step / max(largest, 1.0)
        if largest < _CLOSE:
            values = np.round(theta - theta.mean(), _DIGITS) + 0.0
            return dict(zip(names, values.tolist(), strict=True)), ""
    return None, "models are too far apart"
