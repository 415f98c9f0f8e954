"""The sizes of a test's effects: all that its power depends on, once there is data."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from ...answers.power import PowerMethod
from ...engine.lattice import MAX_TOTAL, CanonicalForm, canonical_form
from ...engine.power.parts import coarser, parts_of, resized
from ...errors import InvalidTest
from ...statistics.midpoint import linearise, rounded_line
from ...statistics.pairwise.correlation import Correlation
from ...statistics.problems import Additive, Joint
from ...statistics.reducers import Problem

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
        detail = f"The pilot's differences have too many digits to be summed over {n:,} items: round them, or leave out what is so much larger."
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
    detail = f"There is no power of a test of {what}: ask for that of differences of scores, accuracy, F1 or another ratio."
    return InvalidTest.at("/design/request/statistic", "no_power", detail)
