"""Pairs tested one by one, as single tests are: for every statistic and all data that have no quicker way."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...answers.test import Alternative, Fraction2
from ...engine.lattice import Integers
from ...engine.plan import Budget
from ...engine.probability import SMALLEST
from ...errors import relocated
from ...statistics.paired import StatisticSpec, Systems
from ...statistics.pairwise.correlation import Correlation
from ...statistics.pairwise.data import seconds_of
from ...statistics.problems import Additive
from ...statistics.reducers import Problem
from ...statistics.scores import Quantiles
from ..additive_test import AdditiveTest
from ..certificate import require
from ..joint_test import JointTest
from ..options import Options
from ..paired_test import planned_test
from ..prepared import PlannedTest, Result
from ..rounded_test import RoundedTest
from .columns import PairTest, from_rows, log10_bounds
from .pair_data import counted_systems, pair_data
from .pair_tests import PairTests
from .system_scores import pointers

# What it takes to plan a pair, besides what its test takes: reduction, canonical form, prices.
_SECONDS_PER_PAIR = 1.5e-3
_SECONDS_PER_ITEM = 4e-7
# And more for corpus scores, whose prices are found by trying: BLEU took 7 ms a pair of 4 items, chrF 10.
_SECONDS_PER_CORPUS_SCORE = 7e-3
_CORPUS_SCORES = ("bleu", "chrf")
# Exact methods of all pairs together, and of a pair at the least, before quicker ones that are not exact take their place.
_PATIENCE_S, _LEAST_PATIENCE_S = 20.0, 0.1
# So many pairs are planned before the others: the price of all follows from theirs.
_SAMPLED_PAIRS = 6
# Floats whose difference is this small a part of them may be equal: that is decided exactly.
_NEARLY = 1e-6
_FLIPPED: dict[Alternative, Alternative] = {"two-sided": "two-sided", "greater": "less", "less": "greater"}


@dataclass(frozen=True)
class GeneralPairs:
    """The pairs of a board, each with a test of its own; `pairs`, shape (m, 2), are positions in the systems by code point."""

    systems: Systems
    spec: StatisticSpec
    options: Options
    pairs: Integers
    budget: Budget

    @property
    def seconds(self) -> float:
        """Predicted time of all pairs, from the plans of some."""
        each = [plan.seconds for plan in self._sampled]
        return len(self.pairs) * (self._planning_seconds + sum(each) / max(len(each), 1))

    @property
    def longest_seconds(self) -> float:
        """What it takes at the most if no pair takes longer than the longest of those that were planned."""
        each = [_longest(plan) for plan in self._sampled]
        return len(self.pairs) * (self._planning_seconds + max(each, default=0.0))

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of the pairs that were planned."""
        return tuple(sorted({plan.plan.chosen.method for plan in self._sampled}))

    @property
    def _planning_seconds(self) -> float:
        items = max((plan.problem.items for plan in self._sampled), default=0)
        corpus_score = _SECONDS_PER_CORPUS_SCORE if self.spec.name in _CORPUS_SCORES else 0.0
        ordered = seconds_of(items, self.spec)
        return _SECONDS_PER_PAIR + _SECONDS_PER_ITEM * items + corpus_score + ordered

    @cached_property
    def _sampled(self) -> tuple[PlannedTest, ...]:
        """The plans of some pairs from all over the board; raises InvalidTest and PlanTooLarge."""
        some = np.unique(
            np.linspace(0, len(self.pairs) - 1, min(len(self.pairs), _SAMPLED_PAIRS)).astype(int)
        )
        plans = (self.planned(*pair) for pair in self.pairs[some].tolist())
        return tuple(plan for plan in plans if plan is not None)

    @cached_property
    def _each(self) -> Budget:
        """The budget of a pair: all share what patience there is with exact methods that take long."""
        patience = max(_PATIENCE_S / max(len(self.pairs), 1), _LEAST_PATIENCE_S)
        return replace(self.budget, patience_s=min(self.budget.patience_s, patience))

    @cached_property
    def _counted(self) -> tuple[Systems, StatisticSpec]:
        return counted_systems(self.systems, self.spec)

    def planned(self, u: int, v: int) -> PlannedTest | None:
        """The planned test of one pair, None without a common item; raises InvalidTest and PlanTooLarge."""
        (systems, spec), names = self._counted, self.systems.names
        with relocated(pointers(names[u], names[v])):
            data = pair_data(systems, names[u], names[v])
            return None if data is None else planned_test(data, spec, single(self.options), self._each)

    def solve(self, start: int = 0, stop: int | None = None) -> PairTests:
        """The tests of a slice of the pairs; raises InvalidTest and PlanTooLarge."""
        rows = [self.row(*pair) for pair in self.pairs[start:stop].tolist()]
        return from_rows(rows, two_sided=self.options.alternative == "two-sided")

    def row(self, u: int, v: int) -> PairTest:
        """The test of one pair; raises InvalidTest and PlanTooLarge."""
        planned = self.planned(u, v)
        if planned is None:
            return _nothing_in_common(u, v)
        result = planned.solve()
        require(result.answer, exact=result.exact, attainable=result.attainable_between[0])
        return _row_of(u, v, planned, result, lower_is_better=self.options.higher_is_better is False)


def single(options: Options) -> Options:
    """The options of one pair's test: `greater` is about who is better, which is less where lower is better."""
    lower = options.higher_is_better is False
    alternative = _FLIPPED[options.alternative] if lower else options.alternative
    return replace(options, alternative=alternative, pmf="none", confidence_level=None)


def _longest(planned: PlannedTest) -> float:
    if planned.plan.chosen.method == "bounds":
        return math.inf
    return planned.longest_seconds if isinstance(planned, JointTest) else planned.seconds


def _row_of(u: int, v: int, planned: PlannedTest, result: Result, *, lower_is_better: bool) -> PairTest:
    answer, items = result.answer, result.items
    sign = _sign(planned.problem, result.statistic.observed)
    low, high = log10_bounds(answer)
    return PairTest(
        u=u,
        v=v,
        n=items.n,
        wins=items.losses if lower_is_better else items.wins,
        ties=items.ties,
        losses=items.wins if lower_is_better else items.losses,
        difference=result.statistic.observed if sign else 0.0,
        sign=-sign if lower_is_better else sign,
        p=answer.p_value,
        p_low=answer.bounds[0],
        p_high=answer.bounds[1],
        log10_p=answer.log10_p_value,
        log10_low=low,
        log10_high=high,
        attainable=_log10_attainable(planned, result),
        method=result.by.method,
        exact=result.exact,
        sampled=answer.monte_carlo is not None,
        fraction=answer.fraction,
        notes=result.warnings,
    )


def _sign(problem: Problem, observed: float) -> int:
    """The sign of the statistic as observed, exactly."""
    u, v = problem.score_u, problem.score_v
    if u is not None and v is not None:
        difference = u - v
        if not isinstance(difference, float) or abs(difference) > _NEARLY * max(abs(float(u)), abs(float(v))):
            return int(difference > 0) - int(difference < 0)
    if isinstance(problem, Additive | Quantiles):
        return int(observed > 0) - int(observed < 0)
    if isinstance(problem, Correlation):
        return problem.sign
    # With the systems exchanged t changes its sign: it is at most t0 iff t0 >= 0.
    stay, swap = problem.stay.sum(axis=0), list(problem.swap.sum(axis=0)[:, None])
    up = bool(problem.function.extreme(swap, stay, "less").all())
    down = bool(problem.function.extreme(swap, stay, "greater").all())
    return int(up) - int(down)


def _log10_attainable(planned: PlannedTest, result: Result) -> float:
    """log10 of the least attainable p-value; NaN where it is not known.

    Where it underflows it is that of one sum, and of other statistics the share of one assignment, which is no more.
    """
    if result.attainable is None:
        return math.nan
    if result.attainable > SMALLEST:
        return math.log10(result.attainable)
    if not isinstance(planned, AdditiveTest | RoundedTest):
        return -result.items.nonzero * math.log10(2.0)
    return (int(planned.options.alternative == "two-sided") - planned.form.nonzero) * math.log10(2.0)


def _nothing_in_common(u: int, v: int) -> PairTest:
    """Two systems without a common item: nothing was observed that could differ, so that p is 1."""
    return PairTest(
        u=u,
        v=v,
        n=0,
        wins=0,
        ties=0,
        losses=0,
        difference=0.0,
        sign=0,
        p=1.0,
        p_low=1.0,
        p_high=1.0,
        log10_p=0.0,
        log10_low=0.0,
        log10_high=0.0,
        attainable=0.0,
        method="enumeration",
        exact=True,
        sampled=False,
        fraction=Fraction2(1, 0),
        null=((), ()),
    )
