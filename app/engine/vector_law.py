"""The law of a statistic of several sums, to look at: listed, on a box of the lattice, or sampled."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from app.engine import vector_enumeration, vector_monte_carlo
from app.engine.grid_box import Box, bounding_box, sums_on
from app.engine.grid_law import law_on
from app.engine.lattice import Integers, Reals
from app.engine.vector_form import VectorForm
from app.engine.vector_planner import sampling
from app.engine.vector_tilt import untilted

Values = Callable[[Sequence[Integers]], Reals]

MAX_CELLS = 1 << 22
# Beyond so few states a box costs less than a list, and what it leaves out nobody sees.
LISTED_STATES = 1 << 12
SAMPLES = 20_000
_OUTSIDE = 1e-17
_NOISE = 1e-15


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
    box = _box(form)
    if box.cells <= MAX_CELLS:
        return _on_the_box(form, box, values)
    drawn = np.concatenate(
        [values(list(states.T)) for states in vector_monte_carlo.draws(form, SAMPLES, seed)]
    )
    return drawn, np.full(len(drawn), 1.0 / len(drawn))


def seconds(form: VectorForm) -> float:
    """Predicted time of `law_of` on one ordinary core."""
    if form.rank == 0:
        return 0.0
    if _few_states(form):
        return 2e-4 + 3e-7 * vector_enumeration.states_count(form)
    cells = _box(form).cells
    if cells > MAX_CELLS:
        return sampling(form, SAMPLES).seconds
    return 3e-4 + min(9e-8 * cells, 6e-3 + 3.8e-8 * cells)


def is_listed(form: VectorForm) -> bool:
    """Whether `law_of` is the law itself and not a sample of it."""
    return form.rank == 0 or _few_states(form) or _box(form).cells <= MAX_CELLS


def _few_states(form: VectorForm) -> bool:
    return vector_enumeration.states_count(form) <= LISTED_STATES


def _box(form: VectorForm) -> Box:
    return bounding_box(form, untilted(form), _OUTSIDE)


def _on_the_box(form: VectorForm, box: Box, values: Values) -> tuple[Reals, Reals]:
    masses = law_on(form, box)
    found = np.broadcast_to(values(sums_on(form, box)), box.shape)
    kept = masses > _NOISE
    return found[kept], masses[kept]
