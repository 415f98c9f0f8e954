"""How much better U was than V on every item: what effect sizes are of, and what items are ranked by."""

from __future__ import annotations

import numpy as np

from app.engine.lattice import Reals, Whole
from app.statistics.joint import Joint
from app.statistics.paired import Paired, Scores, StatisticSpec
from app.statistics.problem import Additive
from app.statistics.repeated import item_scores, unit_of


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
            stay, *swapped = problem.rounding.exact
            return np.asarray(stay - swapped[0] if swapped else 2 * stay, dtype=object)
        return 2 * problem.stay if problem.swap is None else problem.stay - problem.swap
    stay = np.asarray(problem.function.values(list(problem.stay.T)))
    swap = np.asarray(problem.function.values(list(problem.swap.T)))
    difference = stay - swap
    return np.where(np.isfinite(difference), difference, 0.0)
