"""Confidence intervals of the listed pairs: those that single tests have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...answers.test import ConfidenceInterval, WarningRecord
from ...engine.lattice import Integers
from ...engine.plan import Budget
from ...errors import relocated
from ...statistics.paired import StatisticSpec, Systems
from ..confidence import PlannedInterval
from ..interval import interval_of, planned_interval
from ..options import Options
from ..paired_test import planned_test
from ..prepared import PlannedTest
from .general import single
from .notes import about_pairs
from .pair_data import counted_systems, pair_data
from .pair_tests import PairTests
from .system_scores import pointers

# To plan a test and its interval.
_SECONDS_PER_PAIR = 2e-3
_SAMPLED_PAIRS = 4


@dataclass(frozen=True)
class PairIntervals:
    """The intervals of a board's pairs, in the statistic's own sign, of the test's u minus its v."""

    systems: Systems
    spec: StatisticSpec
    options: Options
    pairs: Integers
    budget: Budget

    @cached_property
    def seconds(self) -> float:
        """Predicted time if all pairs are listed, from the plans of some; raises InvalidTest and PlanTooLarge."""
        some = np.unique(
            np.linspace(0, len(self.pairs) - 1, min(len(self.pairs), _SAMPLED_PAIRS)).astype(int)
        )
        planned = [self.planned(*pair) for pair in self.pairs[some].tolist()]
        each = [test.seconds + interval.seconds for test, interval in filter(None, planned)]
        return len(self.pairs) * (_SECONDS_PER_PAIR + sum(each) / max(len(each), 1))

    @cached_property
    def _counted(self) -> tuple[Systems, StatisticSpec]:
        return counted_systems(self.systems, self.spec)

    @property
    def of_one(self) -> Options:
        """The options of one pair's test with its interval."""
        return replace(single(self.options), confidence_level=self.options.confidence_level)

    def planned(self, u: int, v: int) -> tuple[PlannedTest, PlannedInterval] | None:
        """The test of one pair and its interval; None without a common item."""
        test = self.test(u, v)
        if test is None:
            return None
        interval = planned_interval(self.of_one, self.budget, test)
        return None if interval is None else (test, interval)

    def test(self, u: int, v: int) -> PlannedTest | None:
        """The planned test of one pair; None without a common item."""
        (systems, spec), names = self._counted, self.systems.names
        with relocated(pointers(names[u], names[v])):
            data = pair_data(systems, names[u], names[v])
            return None if data is None else planned_test(data, spec, self.of_one, self.budget)

    def computing(self) -> ComputedIntervals:
        """Computes them one by one, as they are asked for."""
        return ComputedIntervals(self)


class ComputedIntervals:
    """The interval of the i-th pair, None where there is none; what was to be said about them."""

    def __init__(self, intervals: PairIntervals) -> None:
        self.intervals = intervals
        self.notes: list[tuple[int, str, str]] = []

    def __call__(self, test: int) -> ConfidenceInterval | None:
        """Compute one."""
        u, v = self.intervals.pairs[test].tolist()
        planned = self.intervals.planned(u, v)
        if planned is None:
            return None
        one, interval = planned
        result = interval_of(interval, self.intervals.of_one, one.solve())
        self.notes.extend((test, *warning) for warning in result.warnings)
        return result.interval

    def warnings(self, names: Sequence[str], tests: PairTests) -> tuple[WarningRecord, ...]:
        """Why there is none, or why one disagrees with its p-value."""
        return about_pairs(names, tests, self.notes)
