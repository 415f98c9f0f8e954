"""How much better U was than V on every item, for effect sizes, and the ids of the items that moved most."""

from __future__ import annotations

import numpy as np

from ..engine.lattice import Reals, Whole
from ..statistics.additive_problem import Additive
from ..statistics.finite import values_of
from ..statistics.joint_problem import Joint
from ..statistics.paired import Paired, Pairing, Scores, StatisticSpec
from ..statistics.repeated import item_scores, unit_of
from .record import Moved

MOST = 10


def item_scores_of(data: Paired, spec: StatisticSpec) -> tuple[Whole, Whole] | None:
    """One number per item and system, shape (N,) each, on a lattice of their own; None for anything but scores."""
    if not isinstance(data, Scores):
        return None
    u, v = item_scores(data, unit_of(spec.parameters.get("unit"))).columns
    return u, v


def differences_of(problem: Additive | Joint) -> Whole | Reals:
    """The statistic of every unit by itself less that with the systems swapped, shape (M,).

    For a joint statistic that is its value at the unit's own counts, twice: it ranks, and says no more.
    """
    if isinstance(problem, Additive):
        if problem.rounding is not None and problem.rounding.exact is not None:
            own, *swapped = problem.rounding.exact
            return np.asarray(own - swapped[0] if swapped else 2 * own, dtype=object)
        return 2 * problem.stay if problem.swap is None else problem.stay - problem.swap
    stay = values_of(problem.function, list(problem.stay.T))
    swap = values_of(problem.function, list(problem.swap.T))
    difference = stay - swap
    return np.where(np.isfinite(difference), difference, 0.0)


def most_moved(differences: Whole | Reals, pairing: Pairing, *, lower_is_better: bool = False) -> Moved:
    """The ten largest of `differences`, shape (N,), by size, then in their order; zeros are left out.

    An item moved toward the system that it favours: the one with more, or with less where lower is better.
    """
    sizes = np.abs(differences)
    order = _largest(sizes, min(MOST, int(np.count_nonzero(sizes))))
    names = [str(index) if pairing.ids is None else str(pairing.ids[index]) for index in order]
    upwards = [bool(differences[index] > 0) != lower_is_better for index in order]
    return Moved(
        toward_u=tuple(name for name, up in zip(names, upwards, strict=True) if up),
        toward_v=tuple(name for name, up in zip(names, upwards, strict=True) if not up),
    )


def _largest(sizes: Whole | Reals, most: int) -> list[int]:
    """Where the largest are, largest first, the first ones of equal size first."""
    if most == 0:
        return []
    least = np.partition(sizes, len(sizes) - most)[len(sizes) - most]
    above = np.flatnonzero(sizes > least)
    above = above[np.argsort(-sizes[above], kind="stable")]
    level = np.flatnonzero(sizes == least)[: most - len(above)]
    return [*above.tolist(), *level.tolist()]
