"""Sequential tests and gates: e-values, and verdicts that hold for any number of looks.

See `engine.e_value` for the mathematics. Repeated looks at a test of fixed size reject a true null far more often
than alpha; an e-value of at least 1 / alpha at any look is evidence at level alpha. The price is power: at one size
a fixed test finds smaller differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..answers.test import Alternative, SequentialRecord
from ..engine.e_value import EValue, Form, e_value, reaches
from ..engine.finite_laws.form import FiniteLaws
from ..engine.lattice import MAX_TOTAL, CanonicalForm, LatticeOverflowError, canonical_form, exact_total
from ..engine.one_sum import fft
from ..engine.one_sum.methods import fft_cost
from ..engine.power.parts import centred
from ..engine.probability import SMALLEST, region
from ..errors import InvalidTest
from ..statistics.effects import Additive
from ..statistics.paired import Paired, StatisticSpec
from ..statistics.reducers import Problem, reduce
from ..statistics.runs import ROUNDED, Runs, reduce_runs, require_runs
from ..statistics.scores import NotShiftableError, shifted
from .options import Sequential

POINTER = "/sequential"
# Statistics whose effects are differences of items, u - v over the number of items, or the differences themselves.
_MEANS = frozenset({"mean_difference", "accuracy", "exact_match", "token_accuracy"})
_DIFFERENCES = _MEANS | {"sum_difference", "sign"}
_MARGIN_OF_SUM = "A margin of a sum changes with the number of items: use mean_difference."
# Beyond this many scales, logarithms of e-values are not doubles.
_MOST_SCALES = 10**100
# Seventeen tilts of every size, in doubles and in ball arithmetic.
_SECONDS, _SECONDS_PER_SIZE, _BALL_SECONDS_PER_SIZE = 5e-4, 1e-6, 1e-4


@dataclass(frozen=True, slots=True)
class Rest:
    """The items still to come: their number, and the range of their differences, less the margin."""

    items: int
    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """The sign flips of a sum, or the reassigned runs: the swapping units' differences, in units of `unit`; `observed` is their sum."""

    form: Form
    observed: int
    unit: Fraction
    items: int
    alternative: Alternative
    asked: Sequential
    rest: Rest | None = None

    @property
    def seconds(self) -> float:
        """Predicted time of the e-value, and of the tests of both extreme completions."""
        seconds = _SECONDS + _SECONDS_PER_SIZE * self._sizes
        return (
            seconds
            if self.rest is None
            else seconds + 4.0 * fft_cost(self._completed(self.rest.high)[0]).seconds
        )

    @property
    def longest_seconds(self) -> float:
        """The exact comparison, if doubles do not tell on which side of 1 / alpha the e-value is."""
        return self.seconds + _BALL_SECONDS_PER_SIZE * self._sizes

    @property
    def _sizes(self) -> int:
        return self.form.values.size if isinstance(self.form, FiniteLaws) else len(self.form.weights)

    def e_value(self, observed: int | None = None) -> EValue:
        """The e-value, of another sum of the same sizes if one is given, with that of earlier batches multiplied in."""
        total = self.observed if observed is None else observed
        e = e_value(self.form, total, self.unit / self._scale, self.alternative)
        log_e = e.log_e + self.asked.prior_log_e
        return EValue(log_e, e.error + abs(log_e) * 2.0**-52)

    def rejects(self, alpha: float) -> bool:
        """Whether the e-value is certainly at least 1 / alpha; alpha is the decimal as written."""
        return reaches(
            self.form,
            self.observed,
            self.unit / self._scale,
            self.alternative,
            prior_log_e=self.asked.prior_log_e,
            level=Fraction(repr(alpha)),
        )

    def record(self, alpha: float) -> SequentialRecord:
        """The record for the answer."""
        e = self.e_value()
        log10_p = min(-e.log10, 0.0)
        return SequentialRecord(
            e_value=e.value,
            log10_e_value=e.log10,
            p_anytime=max(10.0**log10_p, SMALLEST),
            log10_p_anytime=log10_p,
            curtailed=None if self.rest is None else self._curtailed(self.rest, alpha),
        )

    def _curtailed(self, rest: Rest, alpha: float) -> bool:
        """Whether no completion can change the verdict of the test of the planned size.

        With b_i the coins of the r items to come, p_final = E P(T >= S + 2 sum b_i d_i): it falls in every d_i, so that its
        extremes are at all d_i highest, and at all lowest. Two-sided tests are two one-sided ones at alpha / 2.
        """
        sides: tuple[Alternative, ...] = (
            ("greater", "less") if self.alternative == "two-sided" else (self.alternative,)
        )
        level = alpha / len(sides)
        ends = [self._completed(each) for each in (rest.low, rest.high)]
        bounds = [[_p_bounds(form, total, side) for form, total in ends] for side in sides]
        always = any(max(high for _, high in both) <= level for both in bounds)
        never = all(min(low for low, _ in both) > level for both in bounds)
        return always or never

    def _completed(self, each: Fraction) -> tuple[CanonicalForm, int]:
        """The sum with all items to come at one difference, in integers of a finer unit, and its observed value."""
        assert self.rest is not None
        assert isinstance(self.form, CanonicalForm)
        left, step = self.rest.items, each / self.unit
        fine, more = step.denominator, abs(step.numerator)
        sizes = np.append(self.form.weights * (self.form.step // 2 * fine), more)
        counts = np.append(self.form.counts, left if more else 0)
        weights, where = np.unique(sizes, return_inverse=True)
        counts_by_weight = np.zeros(len(weights), dtype=np.int64)
        np.add.at(counts_by_weight, where, counts)
        weights, counts_by_weight = weights[counts_by_weight > 0], counts_by_weight[counts_by_weight > 0]
        if len(weights) == 0:
            return centred(weights, counts_by_weight, 2, self.items + left), 0
        divisor = int(np.gcd.reduce(weights))
        form = centred(weights // divisor, counts_by_weight, 2 * divisor, self.items + left)
        return form, self.observed * fine + left * step.numerator

    @property
    def _scale(self) -> Fraction:
        return Fraction(1) if self.asked.scale is None else Fraction(repr(self.asked.scale))


def _p_bounds(form: CanonicalForm, total: int, side: Alternative) -> tuple[float, float]:
    """Bounds of the one-sided p-value of a sum whose observed value is `total`."""
    tail = fft.probability(form, region(form, total, side))
    return tail.p * (1.0 - tail.relative_error_bound), tail.p * (1.0 + tail.relative_error_bound)


def sequential_test(
    problem: Problem, terms: Sequential, alternative: Alternative, difference: Fraction = Fraction(0)
) -> SequentialTest:
    """The test behind an e-value, with `difference` subtracted from every item.

    Raises InvalidTest if the statistic has no e-value, a scale is needed, or the plan does not fit the data.
    """
    additive = _differences(problem, difference)
    try:
        form = canonical_form(additive.stay)
    except LatticeOverflowError as error:
        raise _refusal("not_available", "The differences cannot be summed exactly: round them.") from error
    weighing = additive.items if additive.sizes is None else exact_total(additive.sizes)
    unit = additive.unit * (weighing if additive.name in _MEANS else 1)
    largest = int(np.abs(additive.stay).max(initial=0)) * unit
    _require_terms(terms, additive.items, largest, scaled=additive.clusters is not None or bool(difference))
    rest = _rest(additive, unit, terms, difference)
    return SequentialTest(form, exact_total(additive.stay), unit, additive.items, alternative, terms, rest)


def runs_sequential_test(
    problem: Runs,
    data: Paired,
    spec: StatisticSpec,
    terms: Sequential,
    alternative: Alternative,
    difference: Fraction = Fraction(0),
) -> SequentialTest:
    """The test behind an e-value of reassigned runs: that of the items if all have one run; raises InvalidTest."""
    if difference and spec.name == "sum_difference":
        raise _refusal("not_available", _MARGIN_OF_SUM)
    if difference:
        problem = reduce_runs(require_runs(data, spec.name), spec, difference)
    if problem.samples in {None, (problem.items, problem.items)}:
        return sequential_test(reduce(data, spec), terms, alternative, difference)
    assert problem.samples is not None
    if problem.coarse is not None:
        detail = "These runs cannot be summed exactly: round them (`decimals`)."
        raise InvalidTest.at(POINTER, "not_available", detail, ROUNDED)
    pooled = spec.parameters.get("average") == "runs" and spec.name in _MEANS
    if pooled and problem.samples[0] != problem.samples[1]:
        detail = "The share of an item in the means over all runs changes with every new item, so that unequal numbers have no e-value: average over items."
        raise _refusal("not_available", detail)
    # Of equal numbers it is U's sum of runs less V's, whatever comes later.
    unit = problem.unit * (problem.samples[0] if pooled else problem.items if spec.name in _MEANS else 1)
    if terms.planned_n is not None and terms.max_difference is not None:
        detail = "How many runs the items to come have is unknown: leave max_difference out."
        raise InvalidTest.at(f"{POINTER}/max_difference", "not_available", detail)
    most = max((max(law.mean, law.top - law.mean) for law in problem.form.laws), default=Fraction(0))
    scaled = problem.clusters is not None or bool(difference)
    _require_terms(terms, problem.items, most * problem.form.step * unit, scaled=scaled)
    return SequentialTest(problem.form, problem.observed, unit, problem.items, alternative, terms)


def _require_terms(terms: Sequential, items: int, largest: Fraction, *, scaled: bool) -> None:
    """Refuse a missing scale, one that is too small, and more items than planned; raises InvalidTest."""
    if terms.scale is None and (scaled or largest > 1):
        detail = (
            "Give the scale of differences, chosen before seeing data: it is needed with clusters or a "
            "margin, or if a difference can exceed 1. The largest possible difference, such as 100 for "
            "percentages, is a good choice."
        )
        raise InvalidTest.at(f"{POINTER}/scale", "missing", detail)
    if terms.scale is not None and largest > _MOST_SCALES * Fraction(repr(terms.scale)):
        detail = (
            f"A difference is more than {_MOST_SCALES:.0e} times the scale: give the largest possible "
            "difference."
        )
        raise InvalidTest.at(f"{POINTER}/scale", "out_of_range", detail)
    if terms.planned_n is not None and terms.planned_n < items:
        detail = f"There are already {items:,} items, more than planned."
        raise InvalidTest.at(f"{POINTER}/planned_n", "exceeded", detail)


def _rest(additive: Additive, unit: Fraction, terms: Sequential, difference: Fraction) -> Rest | None:
    """The items still to come, if given; raises InvalidTest if that contradicts the data."""
    if terms.planned_n is None or terms.max_difference is None:
        return None
    pointer = f"{POINTER}/max_difference"
    alike = additive.sizes is None or bool((additive.sizes == 1).all())
    if additive.clusters is not None or not alike:
        detail = "The number of items in future clusters or sequences is unknown: leave max_difference out."
        raise InvalidTest.at(pointer, "not_available", detail)
    most = Fraction(repr(terms.max_difference))
    rest = Rest(terms.planned_n - additive.items, -most - difference, most - difference)
    stay = additive.stay
    if len(stay) and not (rest.low <= int(stay.min()) * unit and int(stay.max()) * unit <= rest.high):
        detail = (
            "An item differs by more than max_difference: give the largest possible difference of an item."
        )
        raise InvalidTest.at(pointer, "exceeded", detail)
    fine = max(rest.low / unit, rest.high / unit, key=lambda step: step.denominator).denominator
    extreme = max(abs(rest.low), abs(rest.high)) / unit * fine
    if int(np.abs(stay).max(initial=0)) * fine * len(stay) + extreme * rest.items >= MAX_TOTAL // 2:
        detail = "max_difference and the differences take too many digits to be summed exactly: round them."
        raise InvalidTest.at(pointer, "not_available", detail)
    return rest


def _differences(problem: Problem, difference: Fraction) -> Additive:
    if not isinstance(problem, Additive) or problem.name not in _DIFFERENCES or problem.swap is not None:
        detail = (
            "E-values are for differences of items: mean_difference, sum_difference, sign, accuracy, "
            "exact_match, token_accuracy."
        )
        raise _refusal("not_available", detail)
    if difference and problem.name == "sum_difference":
        raise _refusal("not_available", _MARGIN_OF_SUM)
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
