"""Which pairs of systems are tested, and the quickest way to do it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...engine.plan import Budget
from ...statistics.paired import StatisticSpec
from ...statistics.systems import Systems
from ..options import Options
from .columns import concatenated
from .general import GeneralPairs
from .pair_tests import PairTests

__all__ = ["PlannedPairs", "concatenated", "plan_pairs"]


class PlannedPairs(Protocol):
    """The tests of pairs that were planned and have not run."""

    @property
    def seconds(self) -> float:
        """Predicted time of all of them."""
        ...

    @property
    def longest_seconds(self) -> float:
        """What they take at the most, infinite where that is not known."""
        ...

    def solve(self, start: int = 0, stop: int | None = None) -> PairTests:
        """The tests of the pairs from `start` to `stop`; parts are put together by `concatenated`."""
        ...


def plan_pairs(
    systems: Systems,
    spec: StatisticSpec,
    options: Options,
    pairs: Sequence[tuple[int, int]],
    budget: Budget,
) -> PlannedPairs:
    """Plan the tests of `pairs`, positions (u, v) in the systems' names; raises InvalidTest and PlanTooLarge."""
    return GeneralPairs(systems, spec, options, pairs, budget)
