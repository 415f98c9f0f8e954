"""Pairs whose statistic is the mean over data sets: one test of the items of all sets, with weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...engine.lattice import Integers
from ...engine.plan import Cost
from ...engine.probability import LN2, LN10
from ...engine.real.form import RealForm, RealRegion, grouped_problem
from ...statistics.effects import MAX_INTEGER, common_unit
from ..brackets import bracket_of_real, price_of_real
from ..certificate import flaw_of
from .integer_systems import BinarySystems
from .pair_tests import PairTest, PairTests, from_rows, pair_test
from .pairs import BRACKETED, GeneralPairs, Reduced, reduced, single, some_of

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
class MacroSums:
    """The pairs of an overall board of scores, by `general` where no bracket comes first; `lattices` are the systems in each data set."""

    general: GeneralPairs
    lattices: tuple[Reduced, ...]

    @cached_property
    def _some(self) -> tuple[tuple[float, bool], ...]:
        """(seconds, whether a bracket) of some pairs; raises InvalidTest and PlanTooLarge."""
        result = []
        for pair in some_of(self.general.pairs, _SAMPLED_PAIRS):
            bracketing = self._bracketing(*pair)
            if bracketing is not None:
                result.append((bracketing[1].seconds + _PER_PAIR + _PER_ITEM * bracketing[0].items, True))
                continue
            planned = self.general.planned(*pair)
            seconds = self.general.planning_seconds + (0.0 if planned is None else planned.seconds)
            result.append((seconds, False))
        return tuple(result)

    @property
    def seconds(self) -> float:
        """Predicted time of all pairs, from the plans of some."""
        return len(self.general.pairs) * sum(seconds for seconds, _ in self._some) / max(len(self._some), 1)

    @property
    def longest_seconds(self) -> float:
        """The highest predicted cost; a bracket's price is likely, not proven."""
        return math.inf if any(bracket for _, bracket in self._some) else self.general.longest_seconds

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of the pairs that were planned."""
        return ("bounds",) if all(bracket for _, bracket in self._some) else self.general.methods

    def solve(self, start: int = 0, stop: int | None = None) -> PairTests:
        """The tests of a slice of the pairs; raises InvalidTest and PlanTooLarge."""
        rows = [self.row(*pair) for pair in self.general.pairs[start:stop].tolist()]
        return from_rows(rows, two_sided=self.general.options.alternative == "two-sided")

    def row(self, u: int, v: int) -> PairTest:
        """The test of one pair; raises InvalidTest and PlanTooLarge."""
        bracketing = self._bracketing(u, v)
        if bracketing is None:
            return self.general.row(u, v)
        sums, cost, problem = bracketing
        options = single(self.general.options)
        answer, log10_share = bracket_of_real(problem, options, cost), -sums.nonzero * LN2 / LN10
        if flaw_of(answer, exact=False, least_log10=log10_share) is not None:
            return self.general.row(u, v)
        total, up, down = sums.total, int(sums.up.sum()), int(sums.down.sum())
        return pair_test(
            (u, v),
            (sums.items, up, sums.units - up - down, down),
            (float(total * sums.unit), (total > 0) - (total < 0)),
            answer,
            # The largest and the smallest sum have 2**-n each.
            (int(options.alternative == "two-sided") - sums.nonzero) * LN2 / LN10,
            ("bounds", False),
            lower_is_better=self.general.options.higher_is_better is False,
            notes=(BRACKETED,),
        )

    def _bracketing(self, u: int, v: int) -> tuple[PairSums, Cost, tuple[RealForm, RealRegion]] | None:
        """A pair's sums, the price of its bracket, and the bracketed problem; None if another method is preferred."""
        sums = self.sums(u, v)
        if sums is None or sums.nonzero <= _FEW or sums.reach < MAX_INTEGER:
            return None
        options = single(self.general.options)
        problem = grouped_problem(sums.sizes, sums.up, sums.down, sums.units, options.alternative)
        cost = price_of_real(problem, options, _NANOSECONDS)
        return (sums, cost, problem) if cost.fits(self.general.budget) else None

    def sums(self, u: int, v: int) -> PairSums | None:
        """The effects of one pair; None where a data set has no item that both have."""
        parts = [_effects_of(lattice, u, v) for lattice in self.lattices]
        if any(part.items == 0 for part in parts):
            return None
        base, factors = common_unit([part.unit / len(parts) for part in parts])
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
        # No step without a right and a wrong item.
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


def macro_pairs(general: GeneralPairs) -> GeneralPairs | MacroSums:
    """Pairs of a mean over data sets, by the fastest way."""
    options, spec = general.options, general.spec
    if options.method != "auto" or options.exact_fraction or spec.name not in _STATISTICS:
        return general
    lattices = [reduced(part, spec) for part in general.sets]
    known = tuple(lattice for lattice in lattices if lattice is not None)
    return MacroSums(general, known) if len(known) == len(lattices) else general
