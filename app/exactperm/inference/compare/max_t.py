"""Westfall and Young's step-down max T over the pairs of one or several boards.

Westfall & Young 1993, *Resampling-Based Multiple Testing*, algorithm 2.8: each p-value is adjusted by the law of the
largest statistic |S| / sqrt(sum d**2) of the tests that are not more extreme, with the same swaps for all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from ...engine.lattice import Integers, exact_total
from ...engine.max_t import step_down
from ...engine.max_t.family import Family, SignedSums, signed_sums
from ...engine.max_t.unions import exact_seconds
from ...engine.plan import Budget
from ...errors import Flaw, InvalidTest, PlanTooLarge, mapped
from ...statistics.effects import Additive
from ...statistics.paired import StatisticSpec, Systems
from ...statistics.reducers import reduce
from ..options import Options
from ..paired import engine_errors
from .adjustment import Adjusted
from .integer_systems import BinarySystems, IntegerSystems
from .pair_tests import PairTests, columns_of, concatenated, raw_bounds, smallest_p
from .pairs import Reduced
from .systems import common_items, pair_data, pointers, system_sizes

# The pairs of a board as sums with one sign for each swapping unit, for joint analysis by `max_t`


# Right-or-wrong systems whose units must repeat: at most one distinct unit for each subset of the systems.
_REPEATING = 20


@dataclass(frozen=True)
class PairSums:
    """The pairs of one board, `pairs` (m, 2) as positions in the systems by code point.

    `once` are the systems as integers, where they lie on one lattice. `turned`: effects count for v and not for u.
    """

    systems: Systems
    spec: StatisticSpec
    pairs: Integers
    once: Reduced | None
    turned: bool = False

    @property
    def size(self) -> tuple[int, int, int]:
        """Tests, swapping units and columns of numbers, for the price."""
        tests, units = len(self.pairs), self._units
        if self._columns is None:
            return tests, units, tests
        systems = len(self.systems.names)
        if isinstance(self.once, BinarySystems) and systems <= _REPEATING:
            units = min(units, 8 << systems)
        return tests, units, systems

    def require_sums(self) -> None:
        """Raise InvalidTest where the first pair is not a sum of integers; the others are alike but for their values."""
        if self._columns is None and len(self.pairs):
            self._effects(*self.pairs[0].tolist())

    @cached_property
    def sums(self) -> SignedSums:
        """The sums of all pairs; raises InvalidTest where one is not a sum of integers."""
        u, v = self.pairs.T
        if self.turned:
            u, v = v, u
        if self._columns is not None:
            return signed_sums(self._columns, u, v)
        base = np.zeros((self._units, len(self.pairs)), dtype=np.int64)
        for k, pair in enumerate(self.pairs.tolist()):
            units, effects = self._effects(*pair)
            base[units, k] = -effects if self.turned else effects
        return signed_sums(base, np.arange(len(self.pairs)), np.full(len(self.pairs), -1))

    @cached_property
    def _columns(self) -> Integers | None:
        """Numbers of each system, shape (units, K), whose differences are the effects of all pairs; None for none."""
        once = self.once
        if once is None or once.there is not None:
            return None
        if isinstance(once, BinarySystems):
            return np.ascontiguousarray(once.right.T).astype(np.int64)
        return np.ascontiguousarray(once.swapping.T) if once.linear else None

    @cached_property
    def _units(self) -> int:
        """How many units swap on the whole board."""
        pairing, systems = self.systems.pairing, self.systems
        if pairing.n_clusters is not None:
            return pairing.n_clusters
        sizes = dict(zip(systems.names, system_sizes(systems), strict=True))
        sizes |= {name: int(items[-1]) + 1 for name, items in systems.present.items() if len(items)}
        return max(sizes.values())

    def _effects(self, u: int, v: int) -> tuple[Integers | slice, Integers]:
        """The units of a pair, and the effect of each as observed."""
        names = self.systems.names
        items = common_items(self.systems, names[u], names[v])
        if isinstance(self.once, IntegerSystems):
            return _all_or(items), self.once.effects(u, v)
        if isinstance(self.once, BinarySystems):
            right = self.once.right[[u, v]].astype(np.int64)
            difference = right[0] - right[1]
            return _all_or(items), difference if items is None else difference[items]
        data = pair_data(self.systems, names[u], names[v])
        if data is None:
            return slice(0), np.zeros(0, dtype=np.int64)
        problem = mapped(pointers(names[u], names[v]), reduce, data, self.spec)
        clusters = self.systems.pairing.clusters
        if items is not None and clusters is not None:
            # As the clusters of a pair are numbered: in the order of their first items.
            items = np.fromiter(dict.fromkeys(clusters[items].tolist()), np.int64)
        return _all_or(items), _symmetric(problem)


def _all_or(items: Integers | None) -> Integers | slice:
    return slice(None) if items is None else items


def _symmetric(problem: object) -> Integers:
    """The effects of a sum that changes its sign when all units swap; raises InvalidTest for anything else."""
    if isinstance(problem, Additive) and problem.rounding is None and not problem.absolute:
        if problem.swap is None:
            return problem.stay
        if exact_total(problem.stay) == -exact_total(problem.swap):
            return problem.stay - problem.swap
    raise InvalidTest.at(
        "/adjust",
        "not_additive",
        "max_t compares sums of differences per item, on one decimal lattice, under common signs: this statistic or "
        "this data has none (F1 and other functions of several sums, scores with more digits than a double holds "
        "exactly). Use holm.",
    )


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
                raw_low=np.where(tests.sampled, 0.0, raw_bounds(tests)[0]),
            )
        adjusted = _by_test(family, by_step, tests, alpha)
        ends = accumulate((len(board) for board in boards), initial=0)
        return [adjusted.part(start, end) for start, end in pairwise(ends)]


def plan_max_t(boards: Sequence[PairSums], options: Options, budget: Budget) -> PlannedMaxT:
    """Plan one family; raises InvalidTest if pairs are not sums, and PlanTooLarge for too many."""
    for board in boards:
        board.require_sums()
    planned = PlannedMaxT(tuple(boards), options, budget)
    tests = sum(board.size[0] for board in boards)
    held = step_down.bytes_held([board.size for board in boards])
    if held > budget.bytes or planned.seconds * 1e9 > budget.operations:
        detail = (
            f"max_t over {tests:,} tests would take about {planned.seconds:.3g} s and {held / 2**20:,.0f} MiB, more than is "
            "allowed. Use holm, fewer samples, or compare fewer systems."
        )
        raise PlanTooLarge(detail, flaws=(Flaw("/adjust", "plan_too_large", detail),))
    return planned


def _by_test(family: Family, max_t: step_down.MaxT, tests: PairTests, alpha: Fraction) -> Adjusted:
    """The adjusted p-value of each test is that of its step."""
    if max_t.fractions is not None:
        p, low, high, log10_p, rejected = columns_of(max_t.fractions, alpha)
        open_ = np.zeros_like(rejected)
    else:
        p, low, high = max_t.p, max_t.low, max_t.high
        rejected = np.array([value <= alpha for value in high.tolist()], bool)
        open_ = np.array([value <= alpha for value in low.tolist()], bool) & ~rejected
        log10_p = np.minimum(np.log10(p), 0.0)
    # The p-value of a test is a lower bound of its adjusted one, so no test gets below its least attainable p-value.
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
        max_t.sampled[step],
    )
