"""The sizes of a test's effects: all that its power depends on, once there is data."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from ...engine.lattice import CanonicalForm, canonical_form
from ...engine.power.tilted_sum import centred
from ...errors import InvalidTest
from ...statistics.additive_problem import Additive
from ...statistics.joint_problem import Joint
from ...statistics.midpoint import linearise, rounded_line
from ...statistics.problem import Problem
from .record import PowerMethod

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
# A longer window of sums is not transformed: sizes are rounded.
_LONGEST = 1 << 22
_STEPS_PER_SD = 1 << 11
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

    def scale(self, n: int) -> float:
        """t for one step of T, of n items with the same mixture of sizes."""
        own = float(self.unit * self.form.step)
        return own * self.items / n if self.grows == "mean" else own


def sizes_of(problem: Problem) -> Sizes:
    """The sizes of a test's effects; raises InvalidTest for tests that have no such power."""
    if isinstance(problem, Additive):
        return _of_sum(problem)
    if isinstance(problem, Joint):
        return _of_midpoint(problem)
    raise _no_power("quantiles")


def _of_sum(problem: Additive) -> Sizes:
    form = canonical_form(problem.stay, problem.swap)
    if problem.absolute or 2 * form.offset + form.step * form.range != 0:
        raise _no_power("effects whose exchange is not their negative")
    grows: Literal["mean", "sum"] | None = None
    if not problem.pairwise:
        grows = "mean" if problem.name in _MEANS else "sum" if problem.name in _SUMS else None
    return _short_enough(Sizes(form, problem.unit, problem.items, EXACT, grows), problem)


def _of_midpoint(problem: Joint) -> Sizes:
    linear = linearise(problem)
    if linear is None or linear.value != 0:
        raise _no_power("a statistic without a linear part")
    moved = problem.stay - problem.swap
    line = rounded_line(linear.gradient, moved, np.ones(len(moved), dtype=np.int64), _STEPS_PER_SD)
    if line is None:
        raise _no_power("a statistic without a linear part")
    # L = sum of signs times differences / 2.
    return Sizes(canonical_form(line.effects), line.unit / 2, problem.items, MIDPOINT, "mean")


def _short_enough(sizes: Sizes, problem: Additive) -> Sizes:
    """The sizes, rounded where their sums would fill too long a window."""
    if problem.rounding is None and 40.0 * math.sqrt(sizes.form.variance) <= _LONGEST:
        return sizes
    return rounded(sizes)


def rounded(sizes: Sizes) -> Sizes:
    """The sizes rounded to a 2,048th of the standard deviation of their sum: quick, and nearly the same."""
    form = sizes.form
    step = max(int(math.sqrt(form.variance)) // _STEPS_PER_SD, 1)
    if step == 1:
        return sizes
    weights, where = np.unique(np.rint(form.weights / step).astype(np.int64), return_inverse=True)
    counts = np.bincount(where, weights=form.counts).astype(np.int64)
    kept = weights > 0
    return replace(
        sizes, form=centred(weights[kept], counts[kept], form.step * step, form.items), method=ROUNDED
    )


def _no_power(what: str) -> InvalidTest:
    detail = f"There is no power of a test of {what}: ask for that of differences of scores, accuracy, F1 or another ratio."
    return InvalidTest.at("/design/request/statistic", "no_power", detail)
