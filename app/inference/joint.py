"""The test of a statistic of several sums: F1 and other ratios, expressions, corpus metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.engine import vector_law, vector_planner, vector_solve
from app.engine.lattice import Integers, Reals
from app.engine.planner import Budget, Cost, Plan
from app.engine.vector_form import VectorForm, vector_form
from app.errors import InvalidTest
from app.inference.answers import SMALLEST, Answer, certified, sampled
from app.inference.certificate import certified_by
from app.inference.null_record import sampled_null_record
from app.inference.options import Options
from app.inference.record import ItemsRecord, LatticeRecord, StatisticRecord
from app.inference.solvable import Findings
from app.statistics.joint import Joint

# Wins, ties and losses.
_SECONDS_PER_ITEM = 4e-8


@dataclass(frozen=True, slots=True)
class JointTest:
    """A joint problem on the lattice of its differences, with its plan."""

    options: Options
    problem: Joint
    form: VectorForm
    observed: Integers
    plan: Plan

    @property
    def seconds(self) -> float:
        """Predicted time of the p-value and of the law, without which there are no moments either."""
        return (
            self.plan.chosen.seconds + vector_law.seconds(self.form) + _SECONDS_PER_ITEM * self.problem.items
        )

    def solve(self) -> Findings:
        """Run the planned method and summarise the null."""
        options = self.options
        by, answer = certified_by(self.plan.in_turn, self._answer, least_log10=self._least_log10())
        attainable = self._attainable()
        return Findings(
            answer=answer,
            by=by,
            lattice=self._lattice(),
            attainable=attainable,
            items=self._items(),
            statistic=self._statistic(),
            null=sampled_null_record(*self._law(), options.pmf),
            cautions=self._cautions(),
        )

    def _least_log10(self) -> float:
        """log10 of the observed assignment's own probability, 2**-n; it must be among those that count."""
        own = [self.observed[index : index + 1] for index in range(len(self.observed))]
        if not np.asarray(self._extreme(own)).all():
            raise ArithmeticError("the observed sums are not among those at least as extreme")
        return -self.form.nonzero * math.log10(2.0)

    def _answer(self, by: Cost) -> Answer:
        """The answer of one method, not checked yet."""
        options = self.options
        if by.method == "monte_carlo":
            return sampled(
                vector_solve.by_sampling(self.form, self._extreme, samples=options.samples, seed=options.seed)
            )
        found = certified(vector_solve.exactly(by.method, self.form, self._extreme, self._tiles))
        if options.exact_fraction and found.fraction is None:
            raise InvalidTest.at(
                "/exact_fraction",
                "fraction_not_available",
                "An exact fraction of this statistic comes from method 'enumeration' only, while n is small.",
            )
        return found

    def _extreme(self, sums: Sequence[Integers]) -> NDArray[np.bool_]:
        return self.problem.function.extreme(sums, self.observed, self.options.alternative)

    def _tiles(
        self, low: Sequence[Reals], high: Sequence[Reals]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return self.problem.function.settled(low, high, self.observed, self.options.alternative)

    def _values(self, sums: Sequence[Integers]) -> Reals:
        return self.problem.function.values(sums)

    def _law(self) -> tuple[Reals, Reals]:
        return vector_law.law_of(self.form, self._values, self.options.seed)

    def _lattice(self) -> LatticeRecord:
        spans = (self.form.high - self.form.low).tolist()
        return LatticeRecord(1.0, len(self.form.counts), math.prod(spans) if spans else 0, self.form.rank)

    def _attainable(self) -> float:
        """A lower bound: the most extreme outcome, and its mirror image for a difference of scores."""
        if self.form.nonzero == 0:
            return 1.0
        mirrored = self.options.alternative == "two-sided" and self.problem.mirrored
        return max(math.ldexp(1.0, int(mirrored) - self.form.nonzero), SMALLEST)

    def _items(self) -> ItemsRecord:
        """Units where U's own counts give the statistic more, the same or less than V's."""
        problem = self.problem
        stay = np.asarray(problem.function.values(list(problem.stay.T)))
        swap = np.asarray(problem.function.values(list(problem.swap.T)))
        wins, losses = int((stay > swap).sum()), int((stay < swap).sum())
        return ItemsRecord(
            problem.items, self.form.nonzero, problem.clusters, wins, len(stay) - wins - losses, losses
        )

    def _statistic(self) -> StatisticRecord:
        problem = self.problem
        observed = problem.function.values([self.observed[k : k + 1] for k in range(len(self.observed))])
        score_u = None if problem.score_u is None else float(problem.score_u)
        score_v = None if problem.score_v is None else float(problem.score_v)
        return StatisticRecord(problem.name, float(observed[0]), score_u, score_v)

    def _cautions(self) -> tuple[tuple[str, str], ...]:
        if self.options.pmf == "none" or vector_law.is_listed(self.form):
            return ()
        return (
            (
                "null_sampled",
                "The picture of the null distribution was sampled; only the p-value is what `method` says.",
            ),
        )


def joint_test(problem: Joint, options: Options, budget: Budget) -> JointTest:
    """Plan the test; raises InvalidTest and PlanTooLarge."""
    form = vector_form(problem.stay, problem.swap)
    plan = vector_planner.plan(form, budget, method=options.method, samples=options.samples)
    return JointTest(options, problem, form, problem.stay.sum(axis=0), plan)
