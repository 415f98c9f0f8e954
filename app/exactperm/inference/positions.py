"""Whether the place of an answer decides battles: how often the first one won, and the test of that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..answers.test import PositionBiasRecord
from ..statistics.paired import Effects, Paired, Repeated, StatisticSpec
from .certificate import PlannedTest, require
from .options import Options

_SUM = StatisticSpec("expression", {"expression": "x1"})


@dataclass(frozen=True, slots=True)
class PlannedPositions:
    """The planned test of the places, and the numbers of battles that the first, the second and none won."""

    counts: tuple[int, int, int]
    test: PlannedTest

    @property
    def seconds(self) -> float:
        """Predicted time of `solve`."""
        return self.test.seconds

    def solve(self) -> PositionBiasRecord:
        """Run the test."""
        result = self.test.solve()
        require(result.answer, exact=result.exact, attainable=result.attainable_between[0])
        return PositionBiasRecord(*self.counts, result.answer.p_value)


def planned_positions(
    positions: Repeated, plan: Callable[[Paired, StatisticSpec, Options], PlannedTest]
) -> PlannedPositions:
    """Plan the two-sided test that flips the sign of each item's sum."""
    results = positions.values
    sums = np.add.reduceat(results, np.cumsum(positions.lengths) - positions.lengths)
    first, second, ties = (int((results == one).sum()) for one in (1, -1, 0))
    return PlannedPositions((first, second, ties), plan(Effects(sums), _SUM, Options(pmf="none")))
