"""The test of a rank correlation whose denominators move with the swaps: all swaps, or samples with a control variate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..answers.test import LatticeRecord, NullRecord
from ..engine.joint.control import ControlledEstimate
from ..engine.lattice import CanonicalForm, Integers, Reals, canonical_form
from ..engine.one_sum import methods
from ..engine.one_sum.monte_carlo import SAMPLES_PER_BLOCK, Estimate
from ..engine.plan import Budget, Cost, Plan, choose
from ..engine.probability import SMALLEST, Probability, Region, from_fraction, region
from ..engine.quantiles.swaps import all_swaps, random_swaps
from ..errors import InvalidTest
from ..statistics.pairwise.correlation import Correlation
from ..statistics.pairwise.tie_counts import Swaps
from .certificate import Answer, Result, certified, certified_by, controlled, proven, sampled
from .options import Options
from .record import items_record, sampled_null_record, statistic_record

# Never enumerate more units, under any budget.
_MOST_UNITS = 40
# Values of items that are looked at at once.
_AT_ONCE = 1 << 21
# Fitted nanoseconds of a value in one swap: to sum; to count ties; of a pair of a group, and of a cell of rho, where ties do not decide.
_SUM, _VALUE, _PAIR, _CELL = 1.0, 10.0, 0.05, 20.0
# The same of a term: to bound it, and for its value.
_BOUND, _QUOTIENT = 150.0, 2_000.0
_CALL = 300_000
# Standard deviations of the linear part in steps, the finest first, and what its law may take: as long as so many samples, seconds.
_SPREADS = ((1 << 16, 0.5, 0.1), (1 << 12, 4.0, 0.4))
_LISTED_UNITS, _DRAWN = 10, 1_024
_SINGLE = 1 << 24  # whole numbers below are exact in single precision
_SAMPLED = (
    "The moments and the picture of the null distribution were sampled; `method` refers to the p-value."
)


@dataclass(frozen=True, slots=True)
class _Line:
    """The linear part, and the exact methods that may compute its tail, cheapest first."""

    effects: Integers
    form: CanonicalForm
    region: Region
    methods: tuple[Cost, ...]

    def tail(self) -> Probability | None:
        """The probability of its tail; None where no method can prove it."""
        return proven(self.methods, self.form, self.region)

    def inside(self, swaps: Swaps) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Where the linear part is in its tail, for swaps of shape (P, units)."""
        kind = np.float32 if int(np.abs(self.effects).sum()) < _SINGLE else np.float64
        totals = int(self.effects.sum()) - 2 * (swaps.astype(kind) @ self.effects.astype(kind)).astype(
            np.int64
        )
        mask = np.zeros(len(swaps), dtype=bool)
        for low, high in self.region.intervals:
            first, last = (self.form.offset + self.form.step * end for end in (low, high))
            mask |= (totals >= first) & (totals <= last)
        return mask


@dataclass(frozen=True, slots=True)
class CorrelationTest:
    """A rank correlation with its plan."""

    options: Options
    problem: Correlation
    plan: Plan
    nonzero: int
    look_ns: float
    line: _Line | None

    @property
    def seconds(self) -> float:
        """Predicted time: the p-value, and the null distribution."""
        looked = 1 << self.nonzero if self._listed else _DRAWN
        return self.plan.chosen.seconds + 1e-9 * (looked * self.look_ns + 4 * _CALL)

    @property
    def _listed(self) -> bool:
        return self.nonzero <= _LISTED_UNITS

    def solve(self) -> Result:
        """Run the planned method and summarise the null."""
        problem, least = self.problem, -self.nonzero * math.log10(2.0)
        by, answer = certified_by(self.plan.attempts, self._answer, least_log10=least)
        return Result(
            answer=answer,
            by=by,
            lattice=LatticeRecord(1.0, int(problem.cells[-1]), int(problem.cells[-1])),
            attainable_between=self._attainable_between(answer),
            items=items_record(problem, problem.by_unit, None, self.nonzero),
            statistic=statistic_record(problem, problem.difference),
            null=self._null(),
            warnings=() if self._listed else (("null_sampled", _SAMPLED),),
        )

    def _answer(self, by: Cost) -> Answer:
        options, problem, rows = self.options, self.problem, _rows(self.problem)
        if by.method == "enumeration":
            parts = (problem.extreme(swaps, options.alternative) for swaps in all_swaps(self.nonzero, rows))
            return certified(from_fraction(sum(int(np.count_nonzero(part)) for part in parts), self.nonzero))
        tail = None if self.line is None else self.line.tail()
        inside = gained = lost = 0
        for swaps in random_swaps(self.nonzero, rows, options.samples, options.seed):
            extreme = problem.extreme(swaps, options.alternative)
            inside += int(np.count_nonzero(extreme))
            if self.line is not None:
                linear = self.line.inside(swaps)
                gained += int(np.count_nonzero(extreme & ~linear))
                lost += int(np.count_nonzero(linear & ~extreme))
        plain = Estimate(options.samples, options.seed, inside)
        if tail is None:
            return sampled(plain)
        return controlled(ControlledEstimate(plain, tail, gained, lost), self._least())

    @property
    def knows_attainable(self) -> bool:
        """Whether the least p-value of any outcome is known."""
        return self._listed

    def _attainable_between(self, answer: Answer) -> tuple[float, float]:
        """Bounds of the least p-value of any outcome, equal where all swaps are listed."""
        if not self.knows_attainable:
            return min(self._least(), answer.bounds[1]), 1.0
        swaps = np.concatenate(list(all_swaps(self.nonzero, _rows(self.problem))))
        largest = self.problem.exchanged(swaps[int(self.problem.values(swaps).argmax())])
        both = self.options.alternative == "two-sided"
        reached = int(np.count_nonzero(largest.extreme(swaps, "two-sided" if both else "greater")))
        known = math.ldexp(reached, -self.nonzero)
        return known, known

    def _least(self) -> float:
        """A lower bound of every p-value: the most extreme outcome, and its mirror image."""
        if self.nonzero == 0:
            return 1.0
        both = self.options.alternative == "two-sided"
        return max(math.ldexp(1.0, int(both) - self.nonzero), SMALLEST)

    def _null(self) -> NullRecord:
        values = np.concatenate(list(self._looks()))
        return sampled_null_record(values, np.ones(len(values)), self.options.pmf, symmetric=True)

    def _looks(self) -> list[Reals]:
        rows = _rows(self.problem)
        swaps = (
            all_swaps(self.nonzero, rows)
            if self._listed
            else random_swaps(self.nonzero, rows, _DRAWN, self.options.seed)
        )
        return [self.problem.values(some) for some in swaps]


def correlation_test(problem: Correlation, options: Options, budget: Budget) -> CorrelationTest:
    """Plan the test; raises InvalidTest and PlanTooLarge."""
    nonzero, _ = problem.swapping
    each, look = _nanoseconds(problem, options)
    width, rows = len(problem.u) + int(problem.cells[-1]), _rows(problem)
    held = (16 * rows + 80 * max(rows // 8, 1) + 150) * width + 6 * sum(
        int(n) ** 2 for n in problem.sizes if n <= 4_000
    )
    candidates = [_cost("monte_carlo", options.samples, each, held)]
    if nonzero <= _MOST_UNITS:
        candidates.append(_cost("enumeration", 1 << nonzero, each, held))
    why = f"enumeration takes a step for every choice of units, of which {nonzero} differ: too many here."
    plan = choose(
        candidates,
        budget,
        method=options.method,
        where="the ties of the systems, and with them the denominators, change with the swaps",
        endless={} if nonzero <= _MOST_UNITS else {"enumeration": why},
    )
    line = None
    if plan.chosen.method == "monte_carlo":
        if options.exact_fraction:
            detail = "The ties of the systems change with the swaps, and all swaps are too many to be counted: leave `exact_fraction` out."
            raise InvalidTest.at("/exact_fraction", "fraction_not_available", detail)
        line = _planned_line(problem, options, budget, plan.chosen)
    if line is not None and not plan.by_name:
        plan = replace(plan, reason=f"{plan.reason}, with a control variate")
    return CorrelationTest(options, problem, plan, nonzero, look, line)


def _cost(method: str, swaps: int, each: float, held: int) -> Cost:
    return Cost(method, int(swaps * each) + _CALL * (1 + swaps // SAMPLES_PER_BLOCK), held)


def _rows(problem: Correlation) -> int:
    """The number of swaps tried at once, a power of two."""
    width = len(problem.u) + int(problem.cells[-1])
    return int(1 << (max(min(_AT_ONCE // width, SAMPLES_PER_BLOCK), 1).bit_length() - 1))


def _nanoseconds(problem: Correlation, options: Options) -> tuple[float, float]:
    """The cost of one decision, by the share of some swaps that sums and ties do not decide, and the cost of one value of t."""
    values = len(problem.u) + int(problem.cells[-1])
    if problem.measure == "rho":
        full = _CELL * values
    else:
        full = sum(_PAIR * n * n if n <= 4_000 else 100.0 * n * math.log2(n) for n in problem.sizes.tolist())
    counted, open_ = problem.undecided(options.alternative)
    terms = len(problem.weights)
    each = _SUM * values + _BOUND * terms + _VALUE * values * counted + full * open_
    return each, _VALUE * values + _QUOTIENT * terms + full


def _planned_line(problem: Correlation, options: Options, budget: Budget, sampling: Cost) -> _Line | None:
    """The linear part as a control variate; None if there is none, or its law takes too long."""
    for spread, times, seconds in _SPREADS:
        effects, _ = problem.line(spread)
        if not effects.any():
            return None
        form = canonical_form(effects)
        tail = region(form, int(effects.sum()), options.alternative)
        most = max(times * sampling.seconds, seconds)
        fitting = tuple(
            cost
            for cost in methods.costs(form, tail, 0)
            if cost.exact and cost.fits(budget) and cost.seconds <= most
        )
        if fitting:
            return _Line(effects, form, tail, fitting)
    return None
