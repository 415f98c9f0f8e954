"""Compute the sensitivity of a test: its critical difference, and the true difference that it detects with a given probability."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from ..answers.power import PowerMethod
from ..answers.test import Alternative, SensitivityRecord
from ..engine.lattice import MAX_TOTAL, CanonicalForm, canonical_form
from ..engine.plan import Budget, Cost
from ..engine.power.paired_binary import ROUNDING, PairedBinary
from ..engine.power.parts import coarser, parts_of, resized
from ..engine.power.tilted_sum import (
    SEARCH,
    LevelTest,
    Rejection,
    laws_cost,
    mean as mean_of,
    power,
    rejection,
    tilt_of_mean,
    tilt_of_power,
)
from ..errors import InvalidTest, mapped
from ..statistics.effects import Additive, Joint
from ..statistics.midpoint import linearise, rounded_line
from ..statistics.pairwise.correlation import Correlation
from ..statistics.reducers import Problem
from .options import Significance
from .power import Design, Needed

# The sizes of a test's effects: all that its power depends on, once there is data


EXACT = PowerMethod(
    "tilted_sum",
    True,
    "The sizes of all differences; each turns up with chance expit(lambda size), lambda set by the true difference.",
)
ROUNDED = PowerMethod(
    "tilted_sum_rounded",
    False,
    "The sizes of all differences, rounded to a 2,048th of their sum's standard deviation, so that this is approximate.",
)
MIDPOINT = PowerMethod(
    "midpoint",
    False,
    "The sizes of all effects in the statistic's linear part about the mean of both systems, so that this is approximate.",
)
# Nanoseconds of a law: sizes whose sums take longer are rounded. A curve is drawn from quicker ones.
EXACT_LAW, ROUGH_LAW = 50_000_000, 2_000_000
_STEPS_PER_SD = 1 << 11
# Linear effects are rounded finely, and then as the sizes of any sum are.
_LINE_STEPS_PER_SD = 1 << 32
# Means: their effects shrink as items are added. Sums do not.
_MEANS = {"mean_difference", "accuracy", "exact_match", "token_accuracy"}
_SUMS = {"sum_difference", "sign"}


@dataclass(frozen=True, slots=True)
class Sizes:
    """t = unit * step * (T - W / 2), T that of `form`; its units are items, or clusters.

    `grows` says how t changes with the number of items, None where that is not known: ranks, pairs of items.
    """

    form: CanonicalForm
    unit: Fraction
    items: int
    method: PowerMethod
    grows: Literal["mean", "sum"] | None

    @property
    def scale(self) -> float:
        """t for one step of T."""
        return float(self.unit * self.form.step)

    @property
    def largest(self) -> float:
        """The largest |t| of these sizes: all on one side."""
        return self.form.range / 2.0 * self.scale

    def units(self, n: int) -> int:
        """How many units n items are."""
        return max(round(n * self.form.items / self.items), 1)

    def of(self, n: int) -> Sizes:
        """Those of n items with the same mixture; a mean's unit shrinks with them. Raises InvalidTest for sums beyond 61 bits."""
        units = self.units(n)
        for sizes in (self, rounded(self)):
            form = resized(sizes.form, units)
            if form.range < MAX_TOTAL:
                unit = sizes.unit * Fraction(self.items, n) if self.grows == "mean" else sizes.unit
                return replace(sizes, form=form, unit=unit, items=n)
        detail = f"The pilot's differences have too many digits to be summed over {n:,} items: round them, or leave out the much larger ones."
        raise InvalidTest.at("/design/request", "too_many_digits", detail)


def sizes_of(problem: Problem) -> Sizes:
    """The sizes of a test's effects; raises InvalidTest for tests that have no such power."""
    if isinstance(problem, Additive):
        return _of_sum(problem)
    if isinstance(problem, Joint):
        return _of_midpoint(problem)
    if isinstance(problem, Correlation):
        effects, unit = problem.line(_LINE_STEPS_PER_SD)
        return Sizes(canonical_form(effects), unit, problem.items, MIDPOINT, None)
    raise _no_power("quantiles")


def _of_sum(problem: Additive) -> Sizes:
    form = canonical_form(problem.stay, problem.swap)
    if problem.absolute or 2 * form.offset + form.step * form.range != 0:
        raise _no_power("effects whose exchange is not their negative")
    grows: Literal["mean", "sum"] | None = None
    if not problem.pairwise:
        grows = "mean" if problem.name in _MEANS else "sum" if problem.name in _SUMS else None
    method = EXACT if problem.rounding is None else ROUNDED
    return Sizes(form, problem.unit, problem.items, method, grows)


def _of_midpoint(problem: Joint) -> Sizes:
    linear = linearise(problem)
    if linear is None or linear.value != 0:
        raise _no_power("a statistic without a linear part")
    moved = problem.stay - problem.swap
    line = rounded_line(linear.gradient, moved, np.ones(len(moved), dtype=np.int64), _LINE_STEPS_PER_SD)
    if line is None:
        raise _no_power("a statistic without a linear part")
    # L = sum of signs times differences / 2.
    return Sizes(canonical_form(line.effects), line.unit / 2, problem.items, MIDPOINT, "mean")


def quick(sizes: Sizes, most: int) -> Sizes:
    """The sizes, rounded where a law of theirs would take more than `most` nanoseconds."""
    return sizes if parts_of(sizes.form).operations <= most else rounded(sizes)


def rounded(sizes: Sizes) -> Sizes:
    """The sizes rounded to a 2,048th of the standard deviation of their sum: quick, and nearly the same.

    Few sizes are rounded alike, up or down: the unit takes out by how much, so that the standard deviation stays.
    """
    form = coarser(sizes.form, _STEPS_PER_SD)
    if form is sizes.form:
        return sizes
    steps = math.sqrt(sizes.form.variance / form.variance) * sizes.form.step / form.step
    unit = sizes.unit * Fraction(steps)
    return replace(sizes, form=form, unit=unit, method=ROUNDED if sizes.method.exact else sizes.method)


def _no_power(what: str) -> InvalidTest:
    detail = f"There is no power of a test of {what}: it is available for differences of scores, accuracy, F1 or another ratio."
    return InvalidTest.at("/design/request/statistic", "no_power", detail)


# Data that is there already, a pilot: power given the sizes of its differences


# Beyond so many items nothing is searched.
MOST_ITEMS = 10_000_000
# The power of few sizes is not monotone: try this many numbers below a solution, again below a new one, and all below the last.
_LOOK_BACK, _LOOKS_BACK, _FEW_SIZES, _ALL_BELOW = 24, 20, 64, 64
# Of one size, up to so many times the number found it is tried to prove that all from there on have the power.
_MOST_PROVEN = 4
# An effect this much beyond the sizes is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class PilotDesign(Design):
    """A test's own sizes; of another number of items the same mixture. A law of theirs may take `most` nanoseconds."""

    sizes: Sizes
    test: LevelTest
    most: int = EXACT_LAW
    _sizes: dict[int, Sizes] = field(default_factory=dict, repr=False)
    _rejections: dict[int, Rejection | None] = field(default_factory=dict, repr=False)

    @property
    def pilot_n(self) -> int:
        """The pilot's items."""
        return self.sizes.items

    @property
    def rough(self) -> PilotDesign:
        """The same with rounded sizes: for curves, and to begin a search."""
        return replace(self, most=ROUGH_LAW, _sizes={}, _rejections={})

    def method_at(self, n: int) -> PowerMethod:
        """See `Design`."""
        return self.sizes_at(n).method

    def power(self, n: int, size: float) -> float:
        """See `Design`; raises InvalidTest for a size that the pilot's differences cannot have."""
        sizes, rejects = self.sizes_at(n), self._rejects(n)
        most = max(sizes.largest, self.sizes.largest) if self.sizes.grows == "mean" else sizes.largest
        if size > most * (1.0 + _ROUNDING):
            detail = f"With all differences on one side it is {most:.6g}: the effect is at most that."
            raise InvalidTest.at("/effect", "effect_too_large", detail)
        if rejects is None:
            return 0.0
        tilt = tilt_of_mean(sizes.form, size / sizes.scale)
        return 1.0 if tilt is None else power(sizes.form, rejects.region, tilt)

    def detectable(self, n: int, power: float) -> float | None:
        """See `Design`."""
        sizes, rejects = self.sizes_at(n), self._rejects(n)
        tilt = None if rejects is None else tilt_of_power(sizes.form, rejects.region, power)
        return None if tilt is None else mean_of(sizes.form, tilt) * sizes.scale

    def needed(self, size: float, power: float) -> Needed | None:
        """See `Design`: found by bisection, on rounded sizes first; of more than one size no number is proven to be the last."""
        if size == 0.0:
            return None
        if self.sizes.grows == "sum":
            detail = "A sum grows with the items, and so would the effect: ask for mean_difference, whose effect does not."
            raise InvalidTest.at("/solve", "not_available", detail)
        start = _least(_reaching(self.rough, size, power), self.pilot_n)
        reaches = _reaching(self, size, power)
        high = None if start is None else _least(reaches, start)
        if high is None:
            return None
        if len(self.sizes.form.weights) > _FEW_SIZES:
            return Needed(high, None)
        for _ in range(_LOOKS_BACK):
            first = 1 if high <= _ALL_BELOW else high - _LOOK_BACK
            before = next((n for n in range(first, high) if reaches(n)), None)
            if before is None:
                break
            high = before
        return Needed(high, self._always(high, size, power))

    def _always(self, smallest: int, size: float, power: float) -> int | None:
        """The first number from which on all have the power, where all differences are of one size; else None.

        Then k of the n items differ, each of them for the better system with chance q, 1/2 more where the size is all of it. A
        test of k or more such items has at least the power of the randomised test of k at the least of their levels
        (`paired_binary`), with the least q that any number from n on has. Downwards from where that proves it.
        """
        form = self.sizes.form
        if (
            len(form.weights) != 1
            or self.sizes.grows != "mean"
            or self.test.mid
            or not self.sizes.method.exact
        ):
            return None
        # q - 1/2 for each item that differs, of one item in all.
        ahead = size / (self.sizes.scale * self.sizes.items * float(form.weights[0]))
        proven, gap = smallest, max(smallest // 100, 1)
        while True:
            # k <= share n + 1 + share / 2, as units and those that differ are rounded.
            share = form.nonzero / form.items
            most = form.nonzero / self.sizes.items + (1.0 + 0.5 * share) / proven
            flips, differ = self._flips(ahead / most), self._differ(proven)
            level = flips.least_level_from(differ)
            if level > 0.0 and flips.randomised_power(differ, level) - 2.0 * ROUNDING >= power:
                break
            proven, gap = proven + gap, 2 * gap
            if proven > _MOST_PROVEN * smallest:
                return None
        while proven > smallest:
            differ = self._differ(proven - 1)
            if differ == 0 or self._flips(ahead * (proven - 1) / differ).power(differ) < power:
                break
            proven -= 1
        return proven

    def _differ(self, n: int) -> int:
        """How many of n items differ."""
        return resized(self.sizes.form, self.sizes.units(n)).nonzero

    def _flips(self, ahead: float) -> PairedBinary:
        """Items that all differ, for the better system with chance 1/2 + `ahead`."""
        p10 = min(0.5 + ahead, 1.0)
        side: Alternative = "two-sided" if self.test.two_sided else "greater"
        return PairedBinary(p10, 1.0 - p10, self.test.alpha, side)

    def critical(self, n: int) -> float | None:
        """See `Design`."""
        sizes, rejects = self.sizes_at(n), self._rejects(n)
        return None if rejects is None else (rejects.least - sizes.form.range / 2.0) * sizes.scale

    def actual_alpha(self, n: int) -> float:
        """See `Design`."""
        rejects = self._rejects(n)
        return 0.0 if rejects is None else rejects.level

    def cost(self, n: int, *, solved: bool) -> Cost:
        """The cost of the power of n items, or, if `solved`, of their detectable effect; raises InvalidTest."""
        laws = 1 + SEARCH * solved
        return laws_cost(self.sizes_at(n).form, self.test, laws, meets=self.most > ROUGH_LAW)

    def sizes_at(self, n: int) -> Sizes:
        """The sizes of n items, rounded where their law would take too long; raises InvalidTest."""
        if n not in self._sizes:
            self._sizes[n] = quick(self.sizes if n == self.pilot_n else self._resized(n), self.most)
        return self._sizes[n]

    def _rejects(self, n: int) -> Rejection | None:
        if n not in self._rejections:
            self._rejections[n] = rejection(self.sizes_at(n).form, self.test)
        return self._rejections[n]

    def _resized(self, n: int) -> Sizes:
        if self.sizes.grows is None:
            detail = f"How this statistic changes with the number of items is not known: leave n out, for the {self.pilot_n} of the pilot."
            raise InvalidTest.at("/n", "only_own_n", detail)
        return self.sizes.of(n)


def _reaching(design: PilotDesign, size: float, power: float) -> Callable[[int], bool]:
    """Whether a number of items has the power; cached."""
    known: dict[int, bool] = {}

    def reaches(n: int) -> bool:
        if n not in known:
            known[n] = design.power(n, size) >= power
        return known[n]

    return reaches


def _least(reaches: Callable[[int], bool], start: int) -> int | None:
    """A number that reaches it, the one before it not, by steps that double from `start` on, and bisection."""
    low, high, step = start - 1, start, 1
    if reaches(start):
        while low > 0 and reaches(low):
            high, low, step = low, max(low - step, 0), 2 * step
    else:
        while not reaches(high):
            low, high, step = high, high + step, 2 * step
            if low >= MOST_ITEMS:
                return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


# What takes longer by the sizes themselves is computed from rounded ones.
_LONGEST_S = 0.5


@dataclass(frozen=True, slots=True)
class PlannedSensitivity:
    """The sizes of a test's effects, the question, and the predicted time of both numbers."""

    design: PilotDesign
    power: float
    seconds: float

    def solve(self) -> SensitivityRecord:
        """Compute both numbers; they are sizes, without a sign."""
        design, n = self.design, self.design.pilot_n
        method = design.method_at(n)
        return SensitivityRecord(
            power=self.power,
            critical_difference=design.critical(n),
            minimum_detectable_effect=design.detectable(n, self.power),
            method=method.name,
            exact=method.exact,
        )


@dataclass(frozen=True, slots=True)
class SensitivityQuestion:
    """The power that is wanted, of a test at a level whose `significance` is that of p or of the mid-p-value."""

    power: float
    alpha: float
    alternative: Alternative
    significance: Significance = "p"


def planned_sensitivity(problem: Problem, wanted: SensitivityQuestion, budget: Budget) -> PlannedSensitivity:
    """Plan it; raises InvalidTest for tests that have no such power."""
    sizes = mapped(lambda _: "/power", sizes_of, problem)
    test = LevelTest(wanted.alpha, wanted.alternative, mid=wanted.significance == "mid_p")
    design = PilotDesign(sizes, test)
    cost = design.cost(design.pilot_n, solved=True)
    if cost.seconds > _LONGEST_S or not cost.fits(budget):
        design = PilotDesign(sizes, test, ROUGH_LAW)
        cost = design.cost(design.pilot_n, solved=True)
    return PlannedSensitivity(design, wanted.power, cost.seconds)


def sensitivity_if_any(
    problem: Problem, wanted: SensitivityQuestion, budget: Budget
) -> PlannedSensitivity | None:
    """The same; None if there is none."""
    try:
        return planned_sensitivity(problem, wanted, budget)
    except InvalidTest:
        return None
