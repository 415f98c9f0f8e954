"""Westfall and Young's step-down max T over the pairs of one or several boards.

Westfall & Young 1993, *Resampling-Based Multiple Testing*, algorithm 2.8: each p-value is adjusted by the law of the
largest statistic |S| / sqrt(sum d**2) of the tests that are not more extreme, all swaps being common to all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from ...engine.max_t import step_down
from ...engine.max_t.family import Family
from ...engine.max_t.unions import exact_seconds
from ...engine.plan import Budget
from ...errors import Flaw, PlanTooLarge
from ..engine_errors import engine_errors
from ..options import Options
from .adjusted import Adjusted
from .attainable import smallest_p
from .columns import concatenated
from .pair_tests import PairTests
from .rounding import log10_of, log10_or, nearest, raw_bounds
from .signed_sums import PairSums


@dataclass(frozen=True)
class PlannedMaxT:
    """One family, of the pairs of some boards; `plan_max_t` has made sure of its price."""

    boards: tuple[PairSums, ...]
    options: Options
    budget: Budget

    @property
    def seconds(self) -> float:
        """Predicted time at the most."""
        sizes = [board.size for board in self.boards]
        exact = 0.0
        if sum(tests for tests, _, _ in sizes) <= step_down.EXACT_TESTS:
            with engine_errors():
                exact = exact_seconds(self._family, self.budget)
        return step_down.seconds(sizes, self.options.samples) + exact

    @cached_property
    def _family(self) -> Family:
        return Family(tuple(board.sums for board in self.boards), self.options.alternative == "two-sided")

    def adjusted(self, boards: Sequence[PairTests], alpha: Fraction) -> list[Adjusted]:
        """The adjusted p-values of the tests of these boards, in the order of their pairs; raises InvalidTest."""
        tests, options = concatenated(boards), self.options
        if len(tests) == 0:
            empty, none = np.zeros(0), np.zeros(0, bool)
            return [Adjusted(empty, empty, empty, empty, none, none, none, 0, none) for _ in boards]
        family = self._family
        with engine_errors():
            by_step = step_down.step_down(
                family,
                self.budget,
                alpha=alpha,
                precision=options.precision,
                samples=options.samples,
                seed=options.seed,
                own=np.where(tests.sampled, 0.0, raw_bounds(tests)[0]),
            )
        adjusted = _by_test(family, by_step, tests, alpha)
        ends = accumulate((len(board) for board in boards), initial=0)
        return [adjusted.part(start, end) for start, end in pairwise(ends)]


def plan_max_t(boards: Sequence[PairSums], options: Options, budget: Budget) -> PlannedMaxT:
    """Plan one family; raises InvalidTest where pairs are no sums, and PlanTooLarge for too many."""
    for board in boards:
        board.require_sums()
    planned = PlannedMaxT(tuple(boards), options, budget)
    tests = sum(board.size[0] for board in boards)
    held = step_down.held_bytes([board.size for board in boards])
    if held > budget.bytes or planned.seconds * 1e9 > budget.operations:
        detail = (
            f"max_t over {tests:,} tests would take about {planned.seconds:.3g} s and {held / 2**20:,.0f} MiB, more than is "
            "allowed. Use holm, fewer samples, or compare fewer systems."
        )
        raise PlanTooLarge(detail, flaws=(Flaw("/adjust", "plan_too_large", detail),))
    return planned


def _by_test(family: Family, found: step_down.MaxT, tests: PairTests, alpha: Fraction) -> Adjusted:
    """The adjusted p-value of each test is that of its step."""
    p, low, high = found.p, found.low, found.high
    if found.fractions is not None:
        p, low, high = nearest(found.fractions)
        fractions = found.fractions
        rejected = np.array([value <= alpha for value in fractions], bool)
        open_ = np.zeros_like(rejected)
        log10_p = log10_or(p, lambda: np.array([log10_of(value) for value in fractions], np.float64))
    else:
        rejected = np.array([value <= alpha for value in high.tolist()], bool)
        open_ = np.array([value <= alpha for value in low.tolist()], bool) & ~rejected
        log10_p = np.minimum(np.log10(p), 0.0)
    # As its own p-value is a lower bound, no test gets below what that could be.
    smallest, exact = smallest_p(tests)
    hopeless = np.where(exact, smallest, smallest * (1.0 - 1e-6)) > float(alpha) * (1.0 + 1e-9)
    step = family.step
    return Adjusted(
        p[step],
        low[step],
        high[step],
        log10_p[step],
        rejected[step],
        open_[step],
        hopeless,
        len(tests),
        found.sampled[step],
    )
