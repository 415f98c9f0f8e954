"""What every kind of problem offers once it is planned: the parts of a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..engine.lattice import Reals
from ..engine.plan import Cost, Plan
from ..statistics.additive_problem import Additive
from ..statistics.joint_problem import Joint
from .p_value import Answer
from .record import ItemsRecord, LatticeRecord, NullRecord, StatisticRecord


@dataclass(frozen=True, slots=True)
class Findings:
    """What running a problem found."""

    answer: Answer
    by: Cost  # the method that answered, which need not be the planned one
    lattice: LatticeRecord | None
    attainable: float
    items: ItemsRecord
    statistic: StatisticRecord
    null: NullRecord
    cautions: tuple[tuple[str, str], ...] = ()
    # The statistic's values in resamples, shape (K,), where it is resampled.
    resampled: Reals | None = None

    @property
    def exact(self) -> bool:
        """Whether the answer is the p-value itself: neither a bracket, an estimate nor an upper bound."""
        answer = self.answer
        return self.by.exact and not answer.bracket and answer.relative_error_bound is not None


class Solvable(Protocol):
    """A problem that was validated and planned, and has not run."""

    @property
    def problem(self) -> Additive | Joint:
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

    def solve(self) -> Findings:
        """Run it."""
        ...
