"""Floors of a suite, from runs of one system: how low a new run of the same items may be without an alarm.

If t of n runs of an item were right, a new run has it right with probability t / n, independently of the others. The number of right items
is Poisson-binomial: exact given the rates, which are estimates.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ..answers.power import PowerMethod, PowerRecord, Solution
from ..answers.test import WarningRecord
from ..engine.finite_laws import fft, methods
from ..engine.finite_laws.form import FiniteLaws, grouped_laws
from ..engine.plan import Cost
from ..engine.probability import Region
from ..presentation.numbers import number
from .power import Question

# Exact fractions are counted up to so many steps; beyond that, the window of `fft` answers.
_PATIENCE_S = 0.5
_FEW_RUNS = 5
SOLVED = ("floor", "false_alarm")


@dataclass(frozen=True)  # no slots: `cached_property` needs a `__dict__`
class RunsDesign:
    """The laws of the items of a new run, from `right` and `runs` of each item; `fewest` runs of an item."""

    laws: FiniteLaws
    fewest: int

    @classmethod
    def of(cls, right: Iterable[int], runs: Iterable[int]) -> RunsDesign:
        """The design of the numbers of right runs and of all runs of each item."""
        rates = Counter(zip(right, runs, strict=True))
        laws = (({0: n - t, 1: t} if 0 < t < n else {t // n: 1}, count) for (t, n), count in rates.items())
        return cls(grouped_laws(laws, sum(rates.values())), min(n for _, n in rates))

    @property
    def cost(self) -> Cost:
        """Predicted time of the exact law, or of the tails of a search."""
        exact, tail = methods.rational_cost(self.laws), methods.fft_cost(self.laws)
        if exact.seconds <= _PATIENCE_S:
            return exact
        return Cost("fft", tail.operations * (self.laws.range.bit_length() + 2), tail.bytes)

    @cached_property
    def _below(self) -> list[int] | None:
        """The number of ways in which T is at most 0, 1, ...; the last is all of them. None for too many."""
        if self.cost.method != "rational":
            return None
        total, ways = 0, []
        for count in methods.ways_of(self.laws).coeffs():
            total += int(count)
            ways.append(total)
        return ways

    def alarm(self, least: int) -> tuple[float, Fraction, Fraction]:
        """P(a new run has fewer than `least` right items), and its lower and upper bounds."""
        top = min(least - 1 - self.laws.offset, self.laws.range)
        if top < 0:
            return 0.0, Fraction(0), Fraction(0)
        if self._below is not None:
            exact = Fraction(self._below[top], self._below[-1])
            return float(exact), exact, exact
        tail = fft.probability(self.laws, Region(((0, top),)))
        p, off = Fraction(tail.p), Fraction(tail.relative_error_bound) + Fraction(1, 10**15)
        return tail.p, p * (1 - off), p * (1 + off)

    def floor(self, level: Fraction) -> tuple[int, bool]:
        """The largest number of right items that a new run is below with probability at most `level`, and whether that is certain.

        It is uncertain if the probability for the next number equals `level` up to the error of `fft`.
        """
        low, high = self.laws.offset, self.laws.offset + self.laws.range
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.alarm(middle)[2] <= level else (low, middle - 1)
        return low, low == self.laws.offset + self.laws.range or self.alarm(low + 1)[1] > level


def floor_answer(question: Question, design: RunsDesign, digest: str) -> PowerRecord:
    """Answer with the floor of a level, or the rate of false alarms of a floor."""
    items, level = design.laws.items, Fraction(repr(question.alpha)) / question.comparisons
    certain = True
    if question.solve == "floor":
        least, certain = design.floor(level)
    else:
        assert question.floor is not None
        least = math.ceil(Fraction(repr(question.floor)) * items)
        least -= least > 0 and (least - 1) / items >= question.floor  # a quotient that was rounded up
    alarm = design.alarm(least)[0]
    floor = least / items if question.floor is None else question.floor
    mean = (design.laws.mean + design.laws.offset) / items
    given = "The rates of the items are those of the runs, which are estimates; items are independent."
    warnings = []
    if design.fewest < _FEW_RUNS:
        detail = f"Some items have {design.fewest} runs only: those that were always right count as certain. Run them more often."
        warnings.append(WarningRecord("few_runs", detail))
    return PowerRecord(
        id=f"w_{digest}",
        solve=question.solve,
        solution=Solution(None, items, None, None, floor, alarm),
        wanted_power=None,
        alpha=question.alpha,
        comparisons=question.comparisons,
        alternative="less",
        critical_difference=None,
        actual_alpha=alarm,
        curve=(),
        method=PowerMethod("poisson_binomial", exact=certain, given=given),
        sentence=(
            f"A new run of these {items:,} items, {number(float(mean))} right on average, is below the floor {number(floor)} ({least:,} right) "
            f"with probability {number(alarm)}, given the items' rates."
        ),
        warnings=tuple(warnings),
    )
