"""The control variate of a sampled test: the midpoint linearisation, and the exact test of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from ..answers.test import Alternative
from ..engine import methods
from ..engine.joint.control import Control, Tail, tail_of
from ..engine.joint.form import JointForm
from ..engine.lattice import MAX_TOTAL
from ..engine.one_sum import planner
from ..engine.plan import Budget, Cost, Plan
from ..statistics.midpoint import Linearisation, linearise, rounded_line
from ..statistics.problems import Joint
from .certificate import flaw_of
from .p_value import certified

# Standard deviations of the linear part in steps of its lattice, the finest first: a coarser one agrees less with t.
# Each with what its exact test may take, as a multiple of what the samples take, and in seconds in any case.
_SPREADS = ((1 << 16, 0.5, 0.01), (1 << 14, 0.5, 0.02), (1 << 12, 4.0, 0.1))


@dataclass(frozen=True, slots=True)
class PlannedControl:
    """The tail of the linear part, and the exact methods that may compute its probability, cheapest first."""

    tail: Tail
    methods: tuple[Cost, ...]

    @property
    def cost(self) -> Cost:
        """Of the method that is run first."""
        return self.methods[0]

    def known(self) -> Control | None:
        """The control variate with its exact probability; None when no method can prove it."""
        # The observed assignment is in the tail.
        least = -self.tail.line.nonzero * math.log10(2.0)
        for cost in self.methods:
            found = methods.exactly(cost.method, self.tail.line, self.tail.region)
            if flaw_of(certified(found), exact=True, least_log10=least) is None:
                return self.tail.known(found)
        return None


def planned_control(
    problem: Joint, form: JointForm, alternative: Alternative, budget: Budget, sampling: Cost
) -> PlannedControl | None:
    """The control variate of `sampling`, when both fit the budget; None without a linear part.

    `form` is that of the problem.
    """
    linear = linearise(problem) if form.nonzero else None
    if linear is None:
        return None
    for spread, times, seconds in _SPREADS:
        line = rounded_line(_by_column(linear, form), form.table, form.counts, spread)
        if line is None:
            return None
        # Both in halves of the line's unit: S - m is half of the sum of signs times differences.
        shift = round(2 * linear.value / line.unit)
        if abs(shift) >= MAX_TOTAL // 2:
            return None  # what moves is nothing beside what stays
        tail = tail_of(form, line.effects, shift, alternative)
        fitting = tuple(
            cost
            for cost in planner.costs(tail.line, tail.region, 0)
            if cost.exact
            and _fits(cost, sampling, budget)
            and cost.seconds <= max(times * sampling.seconds, seconds)
        )
        if fitting:
            return PlannedControl(tail, fitting)
    return None


def controlled_plan(plan: Plan, control: PlannedControl) -> Plan:
    """The plan of samples with the price of the control variate."""
    price = with_control(plan.chosen, control)
    reason = plan.reason if plan.asked else f"{plan.reason}, with a control variate"
    return replace(plan, chosen=price, reason=reason)


def with_control(sampling: Cost, control: PlannedControl) -> Cost:
    """The price of samples with that of their control variate."""
    return replace(
        sampling,
        operations=sampling.operations + _operations(control.cost, sampling),
        bytes=max(sampling.bytes, control.cost.bytes),
    )


def _operations(cost: Cost, sampling: Cost) -> int:
    """What a method costs, in operations of the sampling's rate."""
    return int(cost.seconds * 1e9 / sampling.rate)


def _by_column(linear: Linearisation, form: JointForm) -> list[Fraction]:
    """The slopes in the distinct sums, shape (m,)."""
    slopes = [Fraction(0)] * form.table.shape[1]
    for slope, column, sign in zip(linear.gradient, form.index.tolist(), form.sign.tolist(), strict=True):
        if sign:
            slopes[column] += sign * slope
    return slopes


def _fits(cost: Cost, sampling: Cost, budget: Budget) -> bool:
    return (
        sampling.operations + _operations(cost, sampling) <= budget.operations and cost.bytes <= budget.bytes
    )
