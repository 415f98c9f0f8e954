"""Pairs whose statistic is the mean over data sets: one test of the items of all sets, with weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from ...engine import methods
from ...engine.plan import Budget
from ...statistics.paired import Predictions, StatisticSpec, Systems
from ...statistics.pairwise.correlation import Correlation, joined
from ...statistics.pairwise.reduce import correlation_of
from ...statistics.problems import Additive, Joint
from ...statistics.reducers import mean_of, reduce
from ...statistics.scores import Quantiles
from ..additive_test import AdditiveTest
from ..options import Options
from ..p_value import certified
from ..paired_test import planned_problem
from ..prepared import PlannedTest
from .columns import PairTest
from .general import GeneralPairs, single
from .integer_pairs import ANY_FRACTION
from .pair_data import counted_systems, pair_data
from .pair_intervals import PairIntervals
from .sum_values import null_of

BRACKETED = (
    "weights_too_fine",
    (
        "The weights of the items, 1 / (data sets x items of the set), take more than 60 bits together: the p-value is a "
        "rigorous bracket for the weights as they are, and narrower with a smaller precision."
    ),
)


@dataclass(frozen=True)
class DataSets:
    """The same systems on several data sets."""

    parts: tuple[Systems, ...]
    spec: StatisticSpec

    @cached_property
    def _counted(self) -> tuple[tuple[Systems, StatisticSpec], ...]:
        return tuple(counted_systems(part, self.spec) for part in self.parts)

    def planned(self, u: int, v: int, options: Options, budget: Budget) -> PlannedTest | None:
        """The planned test of one pair, None where a data set has no item that both have.

        Raises InvalidTest and PlanTooLarge.
        """
        names = self.parts[0].names
        problems: list[Additive | Joint | Correlation] = []
        read = []
        for systems, spec in self._counted:
            data = pair_data(systems, names[u], names[v])
            if data is None:
                return None
            problem = reduce(data, spec)
            if isinstance(problem, Quantiles):
                raise TypeError(f"{spec.name} has no mean over data sets")  # refused by `overall`
            problems.append(problem)
            read.append((data, spec))
        if any(isinstance(problem, Correlation) for problem in problems):
            mean = joined(
                [correlation_of(data, spec) for data, spec in read if isinstance(data, Predictions)]
            )
            return planned_problem(mean, options, budget)
        sums = [problem for problem in problems if not isinstance(problem, Correlation)]
        return planned_problem(mean_of(sums), options, budget)


@dataclass(frozen=True)
class MacroPairs(GeneralPairs):
    """The pairs of an overall board, each with a test of its own; `systems` are those of all items.

    `with_nulls` asks for the exact null distribution of every pair, as far as a lattice is not too long.
    """

    datasets: DataSets
    with_nulls: bool = False

    def planned(self, u: int, v: int) -> PlannedTest | None:
        """The planned test of one pair."""
        return self.datasets.planned(u, v, single(self.options), self.budget)

    def row(self, u: int, v: int) -> PairTest:
        """The test of one pair; raises InvalidTest and PlanTooLarge."""
        row = super().row(u, v)
        # Not the scores: their weights.
        notes = (BRACKETED if code == "scores_rounded" else (code, detail) for code, detail in row.notes)
        row = replace(row, notes=tuple(notes))
        return self._with_null(row) if self.with_nulls else row

    def _with_null(self, row: PairTest) -> PairTest:
        """The test with its exact p-value and its null distribution, where the lattice is not too long."""
        planned = self.planned(row.u, row.v)
        if not isinstance(planned, AdditiveTest):
            return row
        form = planned.form
        if form.range // 2 * (form.nonzero // 64 + 1) > ANY_FRACTION:
            return row
        exact = certified(methods.exactly("rational", form, planned.region))
        return replace(row, fraction=exact.fraction, null=null_of(form))


@dataclass(frozen=True)
class MacroIntervals(PairIntervals):
    """Intervals of a mean over data sets: every data set is shifted by the same difference."""

    datasets: DataSets

    def test(self, u: int, v: int) -> PlannedTest | None:
        """The planned test of one pair."""
        return self.datasets.planned(u, v, self.of_one, self.budget)
