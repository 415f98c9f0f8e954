"""How much better U was than V on every item: what effect sizes are of, and what items are ranked by."""

from __future__ import annotations

import numpy as np

from ..engine.lattice import Reals, Whole
from ..statistics.additive_problem import Additive
from ..statistics.finite import values_of
from ..statistics.joint_problem import Joint
from ..statistics.paired import Paired, Scores, StatisticSpec
from ..statistics.repeated import item_scores, unit_of


def scores_of(data: Paired, spec: StatisticSpec) -> tuple[Whole, Whole] | None:
    """One number per item and system, shape (N,) each, on a lattice of their own; None for anything but scores."""
    if not isinstance(data, Scores):
        return None
    u, v = item_scores(data, unit_of(spec.parameters.get("unit"))).columns
    return u, v


def of_problem(problem: Additive | Joint) -> Whole | Reals:
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
