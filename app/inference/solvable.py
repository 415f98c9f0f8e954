"""What every kind of problem offers once it is planned: the parts of a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from app.engine.lattice import Reals
from app.engine.planner import Plan
from app.inference.answers import Answer
from app.inference.record import ItemsRecord, LatticeRecord, NullRecord, StatisticRecord
from app.statistics.joint import Joint
from app.statistics.problem import Additive


@dataclass(frozen=True, slots=True)
class Findings:
    """What running a problem found."""

    answer: Answer
    lattice: LatticeRecord | None
    attainable: float
    items: ItemsRecord
    statistic: StatisticRecord
    null: NullRecord
    cautions: tuple[tuple[str, str], ...] = ()
    # The method that answered, where it is not the planned one.
    method: str | None = None
    # Whether the answer is exact, where that is not for the planned method to say.
    exact: bool | None = None
    # The statistic's values in resamples, shape (K,), where it is resampled.
    resampled: Reals | None = None


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
