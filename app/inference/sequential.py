"""Tests and gates that may be looked at after every item: e-values, and verdicts that stay right however often they are asked.

See `engine.e_value` for the mathematics. Whoever looks at a test of fixed size again and again rejects a true null far more
often than alpha; an e-value of at least 1 / alpha at any look is evidence at level alpha. The price is power: at one size
a fixed test finds smaller differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..engine.e_value import EValue, e_value, reaches
from ..engine.lattice import MAX_TOTAL, Integers, LatticeOverflowError, canonical_form, exact_total
from ..engine.one_sum import fft
from ..engine.probability import SMALLEST, region
from ..errors import InvalidTest
from ..statistics.additive_problem import Additive
from ..statistics.problem import Problem
from ..statistics.shift import NotShiftableError, shifted
from .options import Alternative, Sequential
from .record import SequentialRecord

POINTER = "/sequential"
# Statistics whose effects are differences of items, u - v over the number of items, or the differences themselves.
_MEANS = frozenset({"mean_difference", "accuracy", "exact_match", "token_accuracy"})
_DIFFERENCES = _MEANS | {"sum_difference", "sign"}


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """The sign flips of a sum: `effects` are the swapping units' differences in units of `unit`, shape (M,)."""

    effects: Integers
    unit: Fraction
    items: int
    alternative: Alternative
    asked: Sequential

    @property
    def observed(self) -> int:
        """The sum."""
        return exact_total(self.effects)

    def e_value(self, observed: int | None = None) -> EValue:
        """The e-value, of another sum of the same sizes if one is given, with that of earlier batches multiplied in."""
        form = canonical_form(self.effects)
        total = self.observed if observed is None else observed
        found = e_value(form, total, self.unit / self._scale, self.alternative)
        log_e = found.log_e + self.asked.prior_log_e
        return EValue(log_e, found.error + abs(log_e) * 2.0**-52)

    def rejects(self, alpha: float) -> bool:
        """Whether the e-value is at least 1 / alpha, certainly; alpha is the decimal that was written."""
        return reaches(
            canonical_form(self.effects),
            self.observed,
            self.unit / self._scale,
            self.alternative,
            prior_log_e=self.asked.prior_log_e,
            level=Fraction(repr(alpha)),
        )

    def record(self, alpha: float) -> SequentialRecord:
        """What an answer says."""
        found = self.e_value()
        log10_p = min(-found.log10, 0.0)
        return SequentialRecord(
            e_value=found.value,
            log10_e_value=found.log10,
            p_anytime=max(10.0**log10_p, SMALLEST),
            log10_p_anytime=log10_p,
            curtailed=self.curtailed(alpha),
        )

    def curtailed(self, alpha: float) -> bool | None:
        """Whether no completion to `planned_n` items can change the verdict of the test of that size; None if not asked.

        With b_i the coins of the r items to come, p_final = E P(T >= S + 2 sum b_i d_i): it falls in every d_i, so that its
        extremes are at all d_i = max_difference, and at all its negative. Two-sided tests are two one-sided ones at alpha / 2.
        """
        asked = self.asked
        if asked.planned_n is None or asked.max_difference is None:
            return None
        effects, most = self._on_one_lattice(Fraction(repr(asked.max_difference)))
        left = asked.planned_n - self.items
        sides: tuple[Alternative, ...] = (
            ("greater", "less") if self.alternative == "two-sided" else (self.alternative,)
        )
        level = alpha / len(sides)
        ends = [
            [_p_bounds(np.concatenate([effects, np.full(left, sign * most)]), side) for sign in (1, -1)]
            for side in sides
        ]
        always = any(max(high for _, high in both) <= level for both in ends)
        never = all(min(low for low, _ in both) > level for both in ends)
        return always or never

    @property
    def _scale(self) -> Fraction:
        return Fraction(1) if self.asked.scale is None else Fraction(repr(self.asked.scale))

    def _on_one_lattice(self, most: Fraction) -> tuple[Integers, int]:
        """The effects and the largest difference as integers of one unit; raises InvalidTest where it is exceeded."""
        step = most / self.unit
        largest = int(np.abs(self.effects).max(initial=0))
        if largest > step:
            detail = "An item differs by more than max_difference: give the largest difference that an item can have."
            raise InvalidTest.at(f"{POINTER}/max_difference", "exceeded", detail)
        if largest * step.denominator * len(self.effects) >= MAX_TOTAL:
            raise _refusal("not_available", "The differences cannot be summed exactly: round them.")
        return self.effects * step.denominator, step.numerator


def _p_bounds(effects: Integers, side: Alternative) -> tuple[float, float]:
    """Bounds of the one-sided p-value of effects."""
    form = canonical_form(effects)
    found = fft.probability(form, region(form, exact_total(effects), side))
    return found.p * (1.0 - found.relative_error_bound), found.p * (1.0 + found.relative_error_bound)


def sequential_test(
    problem: Problem, asked: Sequential, alternative: Alternative, difference: Fraction = Fraction(0)
) -> SequentialTest:
    """The test behind an e-value, `difference` taken off every item first.

    Raises InvalidTest where the statistic has no e-value, where a scale is needed, and where the plan does not fit the data.
    """
    additive = _differences(problem, difference)
    try:
        canonical_form(additive.stay)
    except LatticeOverflowError as error:
        raise _refusal("not_available", "The differences cannot be summed exactly: round them.") from error
    weighing = additive.items if additive.sizes is None else exact_total(additive.sizes)
    unit = additive.unit * (weighing if additive.name in _MEANS else 1)
    largest = int(np.abs(additive.stay).max(initial=0)) * unit
    if asked.scale is None and (additive.clusters is not None or difference or largest > 1):
        detail = (
            "Say what differences are measured in, chosen before there was any data: with clusters or a margin, and where a "
            "difference can be more than 1. The largest that can be, such as 100 for percentages, is a good choice."
        )
        raise InvalidTest.at(f"{POINTER}/scale", "missing", detail)
    if asked.planned_n is not None and asked.planned_n < additive.items:
        detail = f"There are {additive.items:,} items already, more than were planned."
        raise InvalidTest.at(f"{POINTER}/planned_n", "exceeded", detail)
    if asked.planned_n is not None and asked.max_difference is not None and additive.clusters is not None:
        detail = "How many clusters are still to come is not known: leave max_difference out."
        raise InvalidTest.at(f"{POINTER}/max_difference", "not_available", detail)
    return SequentialTest(additive.stay, unit, additive.items, alternative, asked)


def _differences(problem: Problem, difference: Fraction) -> Additive:
    if not isinstance(problem, Additive) or problem.name not in _DIFFERENCES or problem.swap is not None:
        detail = "E-values are of differences of items: mean_difference, sum_difference, sign, accuracy, exact_match, token_accuracy."
        raise _refusal("not_available", detail)
    if difference:
        try:
            problem = shifted(problem, difference)
        except (NotShiftableError, OverflowError) as error:
            raise _refusal("not_available", "This statistic has no e-value with a margin.") from error
    if problem.rounding is not None:
        raise _refusal(
            "not_available", "These scores take more than 60 bits together: round them (`decimals`)."
        )
    return problem


def _refusal(code: str, detail: str) -> InvalidTest:
    return InvalidTest.at(POINTER, code, detail)
