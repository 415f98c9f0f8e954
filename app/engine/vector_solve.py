"""One door to the methods for vectors of sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.engine import fft, grid, grid_dp, vector_enumeration, vector_monte_carlo
from app.engine.grid_box import sums_on
from app.engine.grid_tiles import Tiles
from app.engine.lattice import Integers
from app.engine.monte_carlo import Estimate
from app.engine.null import CERTAIN, Probability, Region
from app.engine.vector_form import VectorForm

# The statistic's decision on k sums that broadcast against each other.
Extreme = Callable[[Sequence[Integers]], NDArray[np.bool_]]

# A region of more pieces than this is summed cell by cell instead of solved piece by piece.
_MAX_PIECES = 64


def exactly(method: str, form: VectorForm, extreme: Extreme, tiles: Tiles | None = None) -> Probability:
    """P(S is extreme) by an exact method of `vector_planner`; `tiles` decides whole boxes of states (see `grid`)."""
    if form.rank == 0:
        return CERTAIN
    if method == "enumeration":
        return vector_enumeration.probability(form, lambda states: extreme(list(states.T)))
    if method == "dp":
        return grid_dp.probability(form, extreme)
    if method == "fft":
        return _on_the_line(form, extreme, tiles)
    return grid.probability(form, extreme, tiles)


def by_sampling(form: VectorForm, extreme: Extreme, *, samples: int, seed: int) -> Estimate:
    """P(S is extreme) by Monte Carlo."""
    return vector_monte_carlo.estimate(
        form, lambda states: extreme(list(states.T)), samples=samples, seed=seed
    )


def _on_the_line(form: VectorForm, extreme: Extreme, tiles: Tiles | None) -> Probability:
    """Rank one: the region is a few intervals of one sum, each solved with relative accuracy."""
    box = grid_dp.support(form)
    mask = extreme(sums_on(form, box)).reshape(-1)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    if len(edges) > 2 * _MAX_PIECES:
        return grid.probability(form, extreme, tiles)
    pieces = tuple((int(first), int(stop) - 1) for first, stop in list(pairwise(edges.tolist()))[::2])
    return fft.probability(form.line(), Region(pieces))
