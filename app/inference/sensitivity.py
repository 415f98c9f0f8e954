"""What a test could have found: its critical difference, and the true difference that it finds with a given probability."""

from __future__ import annotations

from dataclasses import dataclass

from ..engine.one_sum.planner import window_cost
from ..engine.plan import Budget
from ..errors import InvalidTest, relocated
from ..statistics.problem import Problem
from .options import Alternative
from .power.pilot import PilotDesign
from .power.sizes import Sizes, rounded, sizes_of
from .record import SensitivityRecord

# Transforms for both numbers.
_TRANSFORMS = 8
# What takes longer by the sizes themselves is computed from rounded ones.
_LONGEST_S = 0.5


@dataclass(frozen=True, slots=True)
class PlannedSensitivity:
    """The sizes of a test's effects, and the question."""

    sizes: Sizes
    power: float
    alpha: float
    alternative: Alternative

    @property
    def seconds(self) -> float:
        """Predicted time."""
        return _TRANSFORMS * window_cost(self.sizes.form).seconds

    def solve(self) -> SensitivityRecord:
        """Compute both numbers; they are sizes, without a sign."""
        design, n = PilotDesign(self.sizes, self.alpha, self.alternative), self.sizes.items
        return SensitivityRecord(
            power=self.power,
            critical_difference=design.critical(n),
            minimum_detectable_effect=design.detectable(n, self.power),
            method=design.method.name,
            exact=design.method.exact,
        )


def planned_sensitivity(
    problem: Problem, power: float, alpha: float, alternative: Alternative, budget: Budget
) -> PlannedSensitivity:
    """Plan it; raises InvalidTest for tests that have no such power."""
    with relocated(lambda _: "/power"):
        sizes = sizes_of(problem)
    planned = PlannedSensitivity(sizes, power, alpha, alternative)
    if planned.seconds > _LONGEST_S or not window_cost(sizes.form).fits(budget):
        planned = PlannedSensitivity(rounded(sizes), power, alpha, alternative)
    return planned


def sensitivity_if_any(
    problem: Problem, power: float, alpha: float, alternative: Alternative, budget: Budget
) -> PlannedSensitivity | None:
    """The same, None where there is none."""
    try:
        return planned_sensitivity(problem, power, alpha, alternative, budget)
    except InvalidTest:
        return None
