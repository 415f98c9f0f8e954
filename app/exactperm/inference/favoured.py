"""The outcome on the same items that is most in favour of a test's alternative, as far as a quick look can tell, and its p-value.

Where the least p-value of all outcomes is not known, this one bounds it from above: a test that this outcome would have
passed could have been passed. Any outcome would do, so that it need not be the most extreme one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ..answers.test import Alternative
from ..engine.lattice import Integers, Reals
from ..engine.plan import Budget
from ..errors import InvalidTest, PlanTooLarge
from ..statistics.problems import Joint
from ..statistics.scores import Quantiles
from .additive_test import AdditiveTest
from .bootstrap_test import BootstrapTest, JointBootstrap, bootstrap_test
from .correlation_test import CorrelationTest, correlation_test
from .joint_test import JointTest, joint_test
from .options import Options
from .p_value import Answer
from .prepared import PlannedTest
from .quantile_test import QuantileTest, quantile_test
from .rounded_test import RoundedTest

# Seconds that it may take at least, and as a multiple of the test's.
_SECONDS, _TIMES = 1.0, 1.5
# A sampled p-value is taken for as large as it is but once in 10^12.
_UNSURE = 1e-12
# Standard deviations of a linear part in steps.
_STEPS = 1 << 16
# So many rounds of swaps that improve the statistic one by one.
_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Favoured:
    """The test of such an outcome; None where bounds without it are as good."""

    test: PlannedTest | None
    bound: float = 1.0

    @property
    def seconds(self) -> float:
        """Predicted time of `p_value`."""
        return 0.0 if self.test is None else self.test.seconds

    def p_value(self) -> float:
        """An upper bound of the outcome's p-value, 1 where nothing is known."""
        if self.test is None:
            return self.bound
        try:
            return min(self.bound, _at_most(self.test.solve().answer))
        except (InvalidTest, PlanTooLarge):
            return self.bound


def favoured(test: PlannedTest, budget: Budget) -> Favoured | None:
    """Plan it; None where the least p-value of all outcomes is known without it."""
    if isinstance(test, RoundedTest):
        return Favoured(None, test.attainable_at_most)
    if isinstance(test, AdditiveTest) or (
        isinstance(test, JointTest | QuantileTest | CorrelationTest) and test.knows_attainable
    ):
        return None
    assert isinstance(test, JointTest | QuantileTest | CorrelationTest | BootstrapTest | JointBootstrap)
    options = replace(
        test.options, method="auto", pmf="none", exact_fraction=False, confidence_level=None, power=None
    )
    seconds = max(_SECONDS, _TIMES * test.plan.chosen.seconds)
    less = replace(budget, operations=min(budget.operations, int(1e9 * seconds)))
    try:
        return Favoured(_planned(test, options, less))
    except (InvalidTest, PlanTooLarge):
        return Favoured(None)


def _planned(
    test: JointTest | QuantileTest | CorrelationTest | BootstrapTest | JointBootstrap,
    options: Options,
    budget: Budget,
) -> PlannedTest:
    side = options.alternative
    if isinstance(test, QuantileTest):
        return quantile_test(_quantiles(test.problem, side), options, budget)
    if isinstance(test, CorrelationTest):
        effects, _ = test.problem.line(_STEPS)
        swaps = effects > 0 if side == "less" else effects < 0
        return correlation_test(test.problem.exchanged(np.asarray(swaps)), options, budget)
    if isinstance(test, JointTest):
        return joint_test(_joint(test.problem, side), options, budget)
    if isinstance(test, JointBootstrap):
        return bootstrap_test(_joint(test.problem, side), options, budget)
    problem = test.problem
    swap = -problem.stay if problem.swap is None else problem.swap
    largest, least = np.maximum(problem.stay, swap), np.minimum(problem.stay, swap)
    stay, other = (least, largest) if side == "less" else (largest, least)
    return bootstrap_test(
        replace(problem, stay=stay, swap=None if problem.swap is None else other), options, budget
    )


def _quantiles(problem: Quantiles, side: Alternative) -> Quantiles:
    """Of every unit U has the values with the larger sum, of `less` V."""
    above = problem.u - problem.v
    if problem.codes is not None:
        order = np.argsort(problem.codes, kind="stable")
        sums = np.add.reduceat(above[order], np.flatnonzero(np.diff(problem.codes[order], prepend=-1)))
        above = sums[np.unique(problem.codes, return_inverse=True)[1].reshape(-1)]
    swaps = np.asarray(above > 0 if side == "less" else above < 0, dtype=bool)
    return replace(problem, u=np.where(swaps, problem.v, problem.u), v=np.where(swaps, problem.u, problem.v))


def _joint(problem: Joint, side: Alternative) -> Joint:
    """Swaps that improve the statistic one by one, all together, as often as that improves it."""
    stay, swap = problem.stay.copy(), problem.swap.copy()
    sign = -1.0 if side == "less" else 1.0

    def worth(sums: Integers) -> Reals:
        columns = list(sums.T)
        values = sign * np.asarray(problem.function.values(columns))
        return np.where(problem.function.undefined(columns), -np.inf, values)

    for _ in range(_ROUNDS):
        sums, moves = stay.sum(axis=0), swap - stay
        reached, one_by_one = float(worth(sums[None])[0]), worth(sums + moves)
        order = np.argsort(-one_by_one, kind="stable")
        count = int(np.count_nonzero(one_by_one > reached))
        while count and not worth((sums + moves[order[:count]].sum(axis=0))[None])[0] > reached:
            count //= 2
        if not count:
            break
        chosen = order[:count]
        stay[chosen], swap[chosen] = swap[chosen], stay[chosen]
    return replace(problem, stay=stay, swap=swap)


def _at_most(answer: Answer) -> float:
    """The upper end of a certified p-value, or of a sampled one at much more than its 99 %."""
    drawn = answer.monte_carlo
    if drawn is None:
        return answer.bounds[1]
    beyond, below = drawn.exceedances + 1, drawn.samples - drawn.exceedances
    return float(special.betainccinv(beyond, below, _UNSURE)) if below > 0 else 1.0
