"""Test several systems at once: whether any differs (Cochran's Q, Friedman), a trend, a contrast or an interaction."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ..answers.test import ItemsRecord, LatticeRecord, NullRecord, StatisticRecord
from ..engine import column_totals
from ..engine.column_totals import Counted, ThreeColumns
from ..engine.one_sum.monte_carlo import estimate_by
from ..engine.plan import Budget, Cost, Plan, choose
from ..engine.probability import Region, mid_p
from ..errors import InvalidTest
from ..statistics.paired import StatisticSpec, Systems
from ..statistics.runs import Runs
from ..statistics.several_systems import Omnibus, reduce_systems
from .additive import additive_test
from .certificate import Answer, PlannedTest, Result, certified, certified_by, sampled
from .options import Options
from .record import sampled_null_record, times
from .runs import planned_laws

# Nanoseconds of a step of counting, of a coefficient and word of a polynomial, of a cell of a window, and of a window.
_STEP, _WORD, _CELL, _WINDOW = 900, 40, 50, 3_000_000
_SAMPLED = "The picture of the null distribution was sampled; `method` refers to the p-value."
_DRAWN = 4_096
# Methods that give p as a fraction.
_COUNTING = ("rational", "enumeration")


@dataclass(frozen=True)
class OmnibusTest:
    """Cochran's Q or Friedman's test, with its plan."""

    options: Options
    problem: Omnibus
    plan: Plan

    @cached_property
    def three(self) -> ThreeColumns | None:
        """The law of three systems."""
        return ThreeColumns.of(self.problem.rows) if self.problem.systems == 3 else None

    @property
    def seconds(self) -> float:
        """Predicted time: the p-value, and the null distribution."""
        return 2.0 * self.plan.chosen.seconds

    def solve(self) -> Result:
        """Run the planned method and summarise the null."""
        problem = self.problem
        least = -sum(count * math.log10(column_totals.orders_of(row)) for row, count in problem.rows.items())
        by, answer = certified_by(self.plan.attempts, self._answer, least_log10=least)
        low, high = self._attainable(answer)
        null, warnings = self._null(by)
        moved = sum(problem.rows.values())
        return Result(
            answer=answer,
            by=by,
            lattice=LatticeRecord(
                float(problem.unit), len(problem.rows), problem.observed, problem.systems - 1
            ),
            attainable_between=(low, high),
            items=ItemsRecord(problem.items, moved, None, 0, problem.items, 0),
            statistic=StatisticRecord(problem.name, times(problem.observed, problem.unit), None, None),
            null=null,
            warnings=warnings,
        )

    @cached_property
    def _counted(self) -> Counted:
        """The law, if its ways are counted."""
        return column_totals.ways(self.three) if self.three else column_totals.counted(self.problem.rows)

    def _answer(self, by: Cost) -> Answer:
        problem, options = self.problem, self.options
        if by.method == "monte_carlo":
            tail = Region(((problem.observed, 2**62),))
            draw = partial(column_totals.draw, problem.rows, options.seed)
            return sampled(estimate_by(draw, tail, samples=options.samples, seed=options.seed))
        if by.method == "fft" and self.three is not None:
            extreme, tied = column_totals.tail(self.three, problem.observed)
        else:
            extreme, tied = self._counted.tail(problem.observed)
        return certified(extreme, None, mid_p(extreme, tied))

    def _attainable(self, answer: Answer) -> tuple[float, float]:
        if not self.problem.rows:
            return 1.0, 1.0
        law = self.three or (self._counted if self.plan.chosen.method == "enumeration" else None)
        if law is None:
            return 0.0, answer.bounds[1]
        return law.smallest_attainable(), law.smallest_attainable()

    def _null(self, by: Cost) -> tuple[NullRecord, tuple[tuple[str, str], ...]]:
        problem, three = self.problem, self.three if by.method == "fft" else None
        warnings: tuple[tuple[str, str], ...] = ()
        if by.method == "monte_carlo":
            values: Iterable[int] = column_totals.draw(problem.rows, self.options.seed, 0)[:_DRAWN].tolist()
            masses: Iterable[float] = [1.0] * _DRAWN
            warnings = (("null_sampled", _SAMPLED),)
        else:
            law = column_totals.masses(three) if three is not None else self._counted.masses()
            values, masses = zip(*law, strict=True)
        scaled = np.array(values, dtype=np.float64) * float(problem.unit)
        return sampled_null_record(scaled, np.array(masses), self.options.pmf), warnings


def systems_test(data: Systems, spec: StatisticSpec, options: Options, budget: Budget) -> PlannedTest:
    """Plan the test of several systems; raises InvalidTest and what the engine raises."""
    problem = reduce_systems(data.columns, spec)  # type: ignore[arg-type]  # they are columns of scores
    if isinstance(problem, Omnibus):
        return _omnibus_test(problem, options, budget)  # type: ignore[return-value]  # of no pair
    if isinstance(problem, Runs):
        return planned_laws(problem, options, budget)
    return additive_test(problem, options, budget)


def _omnibus_test(problem: Omnibus, options: Options, budget: Budget) -> OmnibusTest:
    """P(H >= observed); there is no other side."""
    costs = _costs(problem, options.samples)
    if options.exact_fraction:
        costs = [cost for cost in costs if cost.method in _COUNTING]
        if options.method not in {"auto", *_COUNTING} or not any(cost.fits(budget) for cost in costs):
            detail = (
                "There are too many items to count all ways, or the method does not: leave "
                "`exact_fraction` out."
            )
            raise InvalidTest.at("/exact_fraction", "fraction_not_available", detail)
    return OmnibusTest(options, problem, choose(costs, budget, method=options.method))


def _costs(problem: Omnibus, samples: int) -> list[Cost]:
    rows = problem.rows
    items = sum(rows.values())
    draws = (samples + _DRAWN) * column_totals.draw_nanoseconds(rows)
    costs = [Cost("monte_carlo", draws + 100_000, column_totals.draw_bytes(rows))]
    if problem.systems == 3:
        three = ThreeColumns.of(rows)
        cells = (column_totals.lattice_points(three)) ** 2
        words = items // 25 + 1
        costs.append(Cost("rational", cells * words * _WORD + 50_000, 32 * cells * words))
        window = min(column_totals.window_length(three) ** 2, cells) if items else 1
        times = column_totals.windows(three, problem.observed)
        costs.append(Cost("fft", times * (window * _CELL + _WINDOW), 64 * window))
        return costs
    steps = column_totals.steps_of(rows) if rows else 1
    if steps <= column_totals.MOST_STEPS:
        costs.append(Cost("enumeration", steps * _STEP + 50_000, 200 * steps))
    return costs
