"""A planned test, of whatever kind of problem, and its result: the parts of a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..answers.test import ItemsRecord, LatticeRecord, NullRecord, StatisticRecord
from ..engine.lattice import Reals
from ..engine.plan import Cost, Plan
from ..statistics.reducers import Problem
from .p_value import Answer


@dataclass(frozen=True, slots=True)
class Result:
    """What running a test gives."""

    answer: Answer
    by: Cost  # the method that answered, which need not be the planned one
    lattice: LatticeRecord | None
    # The least p-value that any outcome on the same items has lies between these; they are equal where it is known.
    attainable_between: tuple[float, float]
    items: ItemsRecord
    statistic: StatisticRecord
    null: NullRecord
    warnings: tuple[tuple[str, str], ...] = ()
    # The statistic's values in resamples, shape (K,), where it is resampled.
    resampled: Reals | None = None

    @property
    def attainable(self) -> float | None:
        """The least p-value that any outcome on the same items has, None where it is not known."""
        low, high = self.attainable_between
        return low if low == high else None

    @property
    def exact(self) -> bool:
        """Whether the answer is the p-value itself: neither a bracket, an estimate nor an upper bound."""
        answer = self.answer
        return self.by.exact and not answer.bracket and answer.relative_error_bound is not None


class PlannedTest(Protocol):
    """A test that was validated and planned, and has not run."""

    @property
    def problem(self) -> Problem:
        """What is tested."""
        ...

    @property
    def plan(self) -> Plan:
        """The method that will run, and what the others would cost."""
        ...

    @property
    def seconds(self) -> float:
        """Predicted time of everything that `solve` will do."""
        ...

    def solve(self) -> Result:
        """Run it."""
        ...
