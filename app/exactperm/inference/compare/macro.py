"""Pairs whose statistic is the mean over data sets: one test of the items of all sets, with weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...engine import methods
from ...engine.lattice import Integers
from ...engine.plan import Budget, Cost
from ...engine.probability import LN2, LN10
from ...engine.real import bounds
from ...engine.real.form import RealForm, RealRegion, grouped_problem
from ...engine.real.price import steps_and_bytes
from ...statistics.numbers import MAX_INTEGER, on_one_unit
from ...statistics.paired import Predictions, StatisticSpec, Systems
from ...statistics.pairwise.correlation import Correlation, joined
from ...statistics.pairwise.reduce import correlation_of
from ...statistics.problems import Additive, Joint
from ...statistics.reducers import mean_of, reduce
from ...statistics.scores import Quantiles
from ..additive import AdditiveTest
from ..certificate import flaw_of
from ..options import Options
from ..paired import planned_problem
from ..result import PlannedTest, bracketed, certified, most_steps
from .integer_systems import BinarySystems, IntegerSystems
from .pair_tests import PairTest, log10_bounds, null_of
from .pairs import ANY_FRACTION, GeneralPairs, PairIntervals, Reduced, reduced, single
from .systems import counted_systems, pair_data

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


# So many units that swap may be enumerated; more are bracketed.
_FEW = 64
# Seconds for each pair, and for each item of a lattice with more than two values.
_PER_PAIR, _PER_ITEM = 1e-3, 5e-8
_NANOSECONDS = 20.0
_SAMPLED_PAIRS = 5
_STATISTICS = ("mean_difference", "sum_difference", "accuracy", "exact_match", "token_accuracy")


@dataclass(frozen=True, slots=True)
class PairSums:
    """t = unit * sum of effects of one pair over all data sets, in groups.

    `sizes` are the distinct sizes of the effects that are not zero, ascending; `up` and `down`, shape (U,), how many
    units have them with either sign. `units` counts those that swap, ties included.
    """

    unit: Fraction
    sizes: tuple[int, ...]
    up: Integers
    down: Integers
    items: int
    units: int

    @property
    def nonzero(self) -> int:
        """n, the number of units whose swap changes the sum."""
        return int(self.up.sum() + self.down.sum())

    @property
    def reach(self) -> int:
        """The sum of all sizes."""
        return sum(
            size * count for size, count in zip(self.sizes, (self.up + self.down).tolist(), strict=True)
        )

    @property
    def total(self) -> int:
        """The sum of effects as observed."""
        return sum(size * net for size, net in zip(self.sizes, (self.up - self.down).tolist(), strict=True))


@dataclass(frozen=True)
class MacroSums(MacroPairs):
    """The pairs of an overall board of scores; `lattices` are the systems in each data set."""

    lattices: tuple[Reduced, ...] = ()

    @cached_property
    def _some(self) -> tuple[tuple[float, bool], ...]:
        """(seconds, whether a bracket) of some pairs from all over the board; raises InvalidTest and PlanTooLarge."""
        count = len(self.pairs)
        some = np.unique(np.linspace(0, count - 1, min(count, _SAMPLED_PAIRS)).astype(int))
        result = []
        for u, v in self.pairs[some].tolist():
            found = self._bracketing(u, v)
            if found is not None:
                result.append((found[1].seconds + _PER_PAIR + _PER_ITEM * found[0].items, True))
                continue
            planned = self.planned(u, v)
            result.append((self._planning_seconds + (0.0 if planned is None else planned.seconds), False))
        return tuple(result)

    @property
    def seconds(self) -> float:
        """Predicted time of all pairs, from the plans of some."""
        return len(self.pairs) * sum(seconds for seconds, _ in self._some) / max(len(self._some), 1)

    @property
    def longest_seconds(self) -> float:
        """What it takes at the most; a bracket's price is likely and not proven."""
        if any(bracket for _, bracket in self._some):
            return math.inf
        return super().longest_seconds

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of the pairs that were planned."""
        if all(bracket for _, bracket in self._some):
            return ("bounds",)
        return super().methods

    def row(self, u: int, v: int) -> PairTest:
        """The test of one pair; raises InvalidTest and PlanTooLarge."""
        found = self._bracketing(u, v)
        if found is None:
            return super().row(u, v)
        sums, cost, problem = found
        options = single(self.options)
        bracket = bounds.bracket(*problem, precision=options.precision, steps=most_steps(cost))
        answer = bracketed(bracket, options.precision)
        if flaw_of(answer, exact=False, least_log10=-sums.nonzero * LN2 / LN10) is not None:
            return super().row(u, v)
        total, low, high = sums.total, *log10_bounds(answer)
        up, down = int(sums.up.sum()), int(sums.down.sum())
        sign, lower = (total > 0) - (total < 0), self.options.higher_is_better is False
        return PairTest(
            u=u,
            v=v,
            n=sums.items,
            wins=down if lower else up,
            ties=sums.units - up - down,
            losses=up if lower else down,
            difference=float(total * sums.unit),
            sign=-sign if lower else sign,
            p=answer.p_value,
            p_low=answer.bounds[0],
            p_high=answer.bounds[1],
            log10_p=answer.log10_p_value,
            log10_low=low,
            log10_high=high,
            # The largest and the smallest sum have 2**-n each.
            attainable=(int(options.alternative == "two-sided") - sums.nonzero) * LN2 / LN10,
            method="bounds",
            exact=False,
            sampled=False,
            fraction=None,
            notes=(BRACKETED,),
        )

    def _bracketing(self, u: int, v: int) -> tuple[PairSums, Cost, tuple[RealForm, RealRegion]] | None:
        """A pair's sums, the price of its bracket, and what is bracketed; None where another method comes first."""
        sums = self.sums(u, v)
        if sums is None or sums.nonzero <= _FEW or sums.reach < MAX_INTEGER:
            return None
        options = single(self.options)
        problem = grouped_problem(sums.sizes, sums.up, sums.down, sums.units, options.alternative)
        cost = Cost("bounds", *steps_and_bytes(*problem, options.precision), _NANOSECONDS)
        return (sums, cost, problem) if cost.fits(self.budget) else None

    def sums(self, u: int, v: int) -> PairSums | None:
        """The effects of one pair; None where a data set has no item that both have."""
        parts = [_effects_of(lattice, u, v) for lattice in self.lattices]
        if any(part.items == 0 for part in parts):
            return None
        base, factors = on_one_unit([part.unit / len(parts) for part in parts])
        counts: dict[int, list[int]] = {}
        for factor, part in zip(factors, parts, strict=True):
            for size, up, down in zip(part.sizes, part.up.tolist(), part.down.tolist(), strict=True):
                known = counts.setdefault(factor * size, [0, 0])
                known[0] += up
                known[1] += down
        sizes = sorted(size for size, (up, down) in counts.items() if up or down)
        table = np.array([counts[size] for size in sizes], dtype=np.int64).reshape(-1, 2)
        items, units = sum(part.items for part in parts), sum(part.units for part in parts)
        return PairSums(base, tuple(sizes), table[:, 0], table[:, 1], items, units)


def _effects_of(lattice: Reduced, u: int, v: int) -> PairSums:
    """The effects of one pair on one data set."""
    if isinstance(lattice, BinarySystems):
        # Without a right item, or a wrong one, there is no step.
        step = lattice.right_value - lattice.wrong_value or Fraction(1)
        items = int(lattice.sizes[u] if lattice.common is None else lattice.common[u, v])
        up, down = (np.array([count], dtype=np.int64) for count in (lattice.only[u, v], lattice.only[v, u]))
        return PairSums(step / max(items, 1) if lattice.mean else step, (1,), up, down, items, items)
    effects, items = lattice.effects(u, v), lattice.items(u, v)
    sizes, where = np.unique(np.abs(effects), return_inverse=True)
    up, down = (
        np.bincount(where[side], minlength=len(sizes)).astype(np.int64) for side in (effects > 0, effects < 0)
    )
    return PairSums(lattice.step(max(items, 1)), tuple(sizes.tolist()), up, down, items, len(effects))


def macro_pairs(pairs: MacroPairs) -> MacroPairs:
    """The same pairs in the quickest way there is."""
    options = pairs.options
    if options.method != "auto" or options.exact_fraction or pairs.spec.name not in _STATISTICS:
        return pairs
    lattices = tuple(reduced(part, pairs.spec) for part in pairs.datasets.parts)
    known = tuple(lattice for lattice in lattices if isinstance(lattice, BinarySystems | IntegerSystems))
    if len(known) < len(lattices):
        return pairs
    return MacroSums(
        pairs.systems,
        pairs.spec,
        options,
        pairs.pairs,
        pairs.budget,
        pairs.datasets,
        pairs.with_nulls,
        known,
    )
