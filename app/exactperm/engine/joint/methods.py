"""The methods for vectors of sums, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from ..lattice import Integers, Reals
from ..one_sum import fft
from ..one_sum.monte_carlo import Estimate
from ..probability import CERTAIN, LN2, Probability, Region
from . import enumeration, monte_carlo
from .control import Control, ControlledEstimate
from .form import JointForm
from .grid import dp, grid
from .grid.box import Extreme, box_sums
from .grid.tiles import Tiles

Values = Callable[[Sequence[Integers]], Reals]

# A region of more pieces than this is summed cell by cell instead of solved piece by piece.
_MAX_PIECES = 64


def exact_probability(
    method: str, form: JointForm, extreme: Extreme, tiles: Tiles | None = None
) -> Probability:
    """Return P(S is extreme) by an exact method of `joint.planner`; `tiles` decides whole boxes of states (see `grid`).

    The error bound is infinite when the observed sums are not extreme, or p is below their probability 2**-n.
    """
    if form.rank == 0:
        return CERTAIN
    result = _solve(method, form, extreme, tiles)
    observed = extreme(list(form.states(form.observed[None, :]).T))
    log_observed = -form.nonzero * LN2
    if not np.all(observed) or not result.log_p >= log_observed * (1.0 + 1e-9) - math.log1p(
        result.relative_error_bound
    ):
        return Probability(result.log_p, math.inf)
    return result


def share(method: str, form: JointForm, states: Extreme) -> float:
    """Return P(S in states), rounded down by its error bound; 0 where nothing is proven."""
    if form.rank == 0:
        return 0.0
    # Mass too small to appear without a tilt does not matter.
    result = grid.share(form, states) if method in {"grid", "fft"} else _solve(method, form, states, None)
    if result.log_p == -math.inf or not result.relative_error_bound < 1.0:
        return 0.0
    return result.p * (1.0 - result.relative_error_bound)


def _solve(method: str, form: JointForm, extreme: Extreme, tiles: Tiles | None) -> Probability:
    if method == "enumeration":
        return enumeration.probability(form, lambda states: extreme(list(states.T)))
    if method == "dp":
        return dp.probability(form, extreme)
    if method == "fft":
        return _solve_line(form, extreme, tiles)
    return grid.probability(form, extreme, tiles)


def fraction(method: str, form: JointForm, extreme: Extreme) -> Probability:
    """Return P(S is extreme) as an exact fraction, by `enumeration` or `dp`."""
    if form.rank == 0:
        return CERTAIN
    return dp.fraction(form, extreme) if method == "dp" else exact_probability(method, form, extreme)


def sampled_probability(
    form: JointForm, extreme: Extreme, *, samples: int, seed: int, values: Values | None = None, kept: int = 0
) -> tuple[Estimate, Reals]:
    """Estimate P(S is extreme) by Monte Carlo; also return the values of the first `kept` samples."""
    inside = drawn = 0
    kept_values: list[Reals] = [np.zeros(0)]
    for states in monte_carlo.draws(form, samples, seed):
        sums = list(states.T)
        inside += int(np.count_nonzero(extreme(sums)))
        if values is not None and drawn < kept:
            kept_values.append(values([column[: kept - drawn] for column in sums]))
        drawn += len(states)
    return Estimate(samples, seed, inside), np.concatenate(kept_values)


def controlled_probability(
    form: JointForm,
    extreme: Extreme,
    control: Control,
    *,
    samples: int,
    seed: int,
    values: Values,
    kept: int = 0,
) -> tuple[ControlledEstimate, Reals]:
    """Estimate as `sampled_probability` does, from the same samples, with a control variate."""
    inside = gained = lost = drawn = 0
    kept_values: list[Reals] = [np.zeros(0)]
    for states, moved in monte_carlo.draws_with_control(form, control.effects, samples, seed):
        sums = list(states.T)
        counted, near = extreme(sums), control.inside(moved)
        inside += int(np.count_nonzero(counted))
        gained += int(np.count_nonzero(counted & ~near))
        lost += int(np.count_nonzero(near & ~counted))
        if drawn < kept:
            kept_values.append(values([column[: kept - drawn] for column in sums]))
        drawn += len(states)
    plain = Estimate(samples, seed, inside)
    return ControlledEstimate(plain, control.tail, gained, lost), np.concatenate(kept_values)


def _solve_line(form: JointForm, extreme: Extreme, tiles: Tiles | None) -> Probability:
    """Solve rank one: the region is a few intervals of one sum, each solved with relative accuracy."""
    box = dp.support(form)
    mask = extreme(box_sums(form, box)).reshape(-1)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    if len(edges) > 2 * _MAX_PIECES:
        return grid.probability(form, extreme, tiles)
    pieces = tuple((int(first), int(stop) - 1) for first, stop in list(pairwise(edges.tolist()))[::2])
    return fft.probability(form.line(), Region(pieces))
