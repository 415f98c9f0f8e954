"""One door to the methods for vectors of sums, and the law of a statistic of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.engine import fft, grid, grid_dp, vector_enumeration, vector_monte_carlo
from app.engine.grid_box import Box, bounding_box, sums_on
from app.engine.grid_law import law_on
from app.engine.lattice import Integers, Reals
from app.engine.monte_carlo import Estimate
from app.engine.null import CERTAIN, Probability, Region
from app.engine.vector_form import VectorForm
from app.engine.vector_tilt import untilted

# The statistic's decision on k sums that broadcast against each other.
Extreme = Callable[[Sequence[Integers]], NDArray[np.bool_]]
Values = Callable[[Sequence[Integers]], Reals]

# A region of more pieces than this is summed cell by cell instead of solved piece by piece.
_MAX_PIECES = 64
_SUMMARY_CELLS = 1 << 22
_SUMMARY_SAMPLES = 20_000
_OUTSIDE = 1e-17


def exactly(method: str, form: VectorForm, extreme: Extreme) -> Probability:
    """P(S is extreme) by an exact method of `vector_planner`."""
    if form.rank == 0:
        return CERTAIN
    if method == "enumeration":
        return vector_enumeration.probability(form, lambda states: extreme(list(states.T)))
    if method == "dp":
        return grid_dp.probability(form, extreme)
    if method == "fft":
        return _on_the_line(form, extreme)
    return grid.probability(form, extreme)


def by_sampling(form: VectorForm, extreme: Extreme, *, samples: int, seed: int) -> Estimate:
    """P(S is extreme) by Monte Carlo."""
    return vector_monte_carlo.estimate(
        form, lambda states: extreme(list(states.T)), samples=samples, seed=seed
    )


def _on_the_line(form: VectorForm, extreme: Extreme) -> Probability:
    """Rank one: the region is a few intervals of one sum, each solved with relative accuracy."""
    box = grid_dp.support(form)
    mask = extreme(sums_on(form, box)).reshape(-1)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    if len(edges) > 2 * _MAX_PIECES:
        return grid.probability(form, extreme)
    pieces = tuple((int(first), int(stop) - 1) for first, stop in list(pairwise(edges.tolist()))[::2])
    return fft.probability(form.line(), Region(pieces))


def law_of(form: VectorForm, values: Values, seed: int) -> tuple[Reals, Reals]:
    """The statistic's values and their probabilities under the null, shape (P,) each.

    Listed, or on a box of the lattice, while that `is_listed`; else from a fixed number of samples.
    """
    if form.rank == 0:
        return (
            np.asarray(values([form.origin[k : k + 1] for k in range(len(form.origin))])),
            np.ones(1),
        )
    if _few_states(form):
        coordinates, ways = vector_enumeration.listed(form)
        masses = np.array([way / 2**form.nonzero for way in ways.tolist()])
        return values(list(form.states(coordinates).T)), masses
    box = _summary_box(form)
    if box.cells <= _SUMMARY_CELLS:
        return _on_the_box(form, box, values)
    drawn = np.concatenate(
        [values(list(states.T)) for states in vector_monte_carlo.draws(form, _SUMMARY_SAMPLES, seed)]
    )
    return drawn, np.full(len(drawn), 1.0 / len(drawn))


def is_listed(form: VectorForm) -> bool:
    """Whether `law_of` is the law itself and not a sample of it."""
    return form.rank == 0 or _few_states(form) or _summary_box(form).cells <= _SUMMARY_CELLS


def _few_states(form: VectorForm) -> bool:
    return vector_enumeration.states_count(form) <= _SUMMARY_CELLS // 16


def _summary_box(form: VectorForm) -> Box:
    return bounding_box(form, untilted(form), _OUTSIDE)


def _on_the_box(form: VectorForm, box: Box, values: Values) -> tuple[Reals, Reals]:
    masses = law_on(form, box)
    found = np.broadcast_to(values(sums_on(form, box)), box.shape)
    kept = masses > 1e-15
    return found[kept], masses[kept]
