"""What a test could have found: its critical difference, and the true difference that it finds with a given probability."""

from __future__ import annotations

from dataclasses import dataclass

from ..answers.test import Alternative, SensitivityRecord
from ..engine.plan import Budget, Cost
from ..engine.power.tilted_sum import LevelTest
from ..errors import InvalidTest, relocated
from ..statistics.reducers import Problem
from .options import Significance
from .power.pilot import PilotDesign
from .power.sizes import ROUGH_LAW, sizes_of

# What takes longer by the sizes themselves is computed from rounded ones.
_LONGEST_S = 0.5


@dataclass(frozen=True, slots=True)
class PlannedSensitivity:
    """The sizes of a test's effects, and the question."""

    design: PilotDesign
    power: float

    @property
    def cost(self) -> Cost:
        """Of both numbers."""
        return self.design.cost(self.design.own_n, solved=True)

    @property
    def seconds(self) -> float:
        """Predicted time."""
        return self.cost.seconds

    def solve(self) -> SensitivityRecord:
        """Compute both numbers; they are sizes, without a sign."""
        design, n = self.design, self.design.own_n
        method = design.method_at(n)
        return SensitivityRecord(
            power=self.power,
            critical_difference=design.critical(n),
            minimum_detectable_effect=design.detectable(n, self.power),
            method=method.name,
            exact=method.exact,
        )


@dataclass(frozen=True, slots=True)
class SensitivityQuestion:
    """The power that is wanted, of a test at a level whose `significance` is that of p or of the mid-p-value."""

    power: float
    alpha: float
    alternative: Alternative
    significance: Significance = "p"


def planned_sensitivity(problem: Problem, asked: SensitivityQuestion, budget: Budget) -> PlannedSensitivity:
    """Plan it; raises InvalidTest for tests that have no such power."""
    with relocated(lambda _: "/power"):
        sizes = sizes_of(problem)
    test = LevelTest(asked.alpha, asked.alternative, mid=asked.significance == "mid_p")
    planned = PlannedSensitivity(PilotDesign(sizes, test), asked.power)
    if planned.seconds > _LONGEST_S or not planned.cost.fits(budget):
        planned = PlannedSensitivity(PilotDesign(sizes, test, ROUGH_LAW), asked.power)
    return planned


def sensitivity_if_any(
    problem: Problem, asked: SensitivityQuestion, budget: Budget
) -> PlannedSensitivity | None:
    """The same, None where there is none."""
    try:
        return planned_sensitivity(problem, asked, budget)
    except InvalidTest:
        return None
