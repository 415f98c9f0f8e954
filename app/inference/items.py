"""What was observed: the statistic and the scores, the items, and the units on which U won, tied or lost."""

from __future__ import annotations

from ..engine.lattice import CanonicalForm, Reals, Whole
from ..statistics.additive_problem import Additive
from ..statistics.finite import values_of
from ..statistics.joint_problem import Joint
from .record import ItemsRecord, StatisticRecord


def statistic_record(problem: Additive | Joint, observed: float) -> StatisticRecord:
    """The observed value of the statistic, and each system's score where there are scores."""
    u, v = (None if score is None else float(score) for score in (problem.score_u, problem.score_v))
    return StatisticRecord(problem.name, observed, u, v)


def additive_items(problem: Additive, form: CanonicalForm) -> ItemsRecord:
    """Units whose effect is larger as observed than with the systems swapped, as large, or smaller."""
    return items_record(problem, problem.stay, problem.swap, form.nonzero)


def joint_items(problem: Joint) -> ItemsRecord:
    """Units whose own counts give the statistic more with the systems as observed, the same, or less."""
    stay = values_of(problem.function, list(problem.stay.T))
    swap = values_of(problem.function, list(problem.swap.T))
    differ = int((problem.stay != problem.swap).any(axis=1).sum())
    return items_record(problem, stay, swap, differ)


def items_record(
    problem: Additive | Joint, stay: Whole | Reals, swap: Whole | Reals | None, nonzero: int | None = None
) -> ItemsRecord:
    """The record from each unit's two values, shape (M,) each; `swap` None means -stay.

    `nonzero` counts the units that a swap changes: those that win or lose unless it is given.
    """
    other = 0 if swap is None else swap
    wins, losses = int((stay > other).sum()), int((stay < other).sum())
    differ = wins + losses if nonzero is None else nonzero
    return ItemsRecord(problem.items, differ, problem.clusters, wins, len(stay) - wins - losses, losses)
