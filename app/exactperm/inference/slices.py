"""Test slices of the items together: did any slice get worse?

Each slice is a test of its own. Slices that share neither an item nor a cluster are independent under the null, so the smallest of their
p-values has an exact law. With F_k(x) = P(p_k <= x), the largest p-value of any outcome of slice k that is at most x (0 where there is
none),

    P(smallest p <= x) = 1 - prod_k (1 - F_k(x)).

Step-down (Romano & Wolf 2005): with p ascending, the j-th adjusted p-value is the largest of 1 - prod_{k >= i} (1 - F_(k)(p_(i))) over i <=
j. Overlapping slices have sums in place of the products: Holm's method for discrete tests (Tarone 1990; Westfall & Wolfinger 1997). A slice
with unknown attainable p-values counts with x, because a p-value is at most x with probability at most x (Sidak 1967; Holm 1979). Adjusted
p-values grow with each p-value and each F_k, so bounds of these bound the adjusted p-values.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..answers.test import Alternative, SliceMethod, SliceRecord, SlicesRecord, WarningRecord
from ..engine.lattice import CanonicalForm, Integers
from ..engine.one_sum.methods import fft_cost
from ..engine.one_sum.rational import tails
from ..engine.power.tilted_sum import (
    CERTIFIED_BELOW,
    LONGEST_CERTIFIED_S,
    LevelTest,
    attained_level,
    null_law,
)
from ..engine.probability import SMALLEST
from ..errors import InvalidTest
from ..statistics.columns import taken_items
from ..statistics.paired import Column, Paired, Pairing
from .additive import AdditiveTest
from .certificate import EXACT_STEPS, EXACT_WIDTH, PlannedTest, is_at_most, require
from .options import Options

if TYPE_CHECKING:
    from .one_sided import MarginTest

MOST_SLICES = 200
_NAMED = 5
# Laws of at most so many bits in all are counted in integers; up to the second number, products are fractions.
_COUNTED_BITS, _FRACTION_BITS = 1 << 25, 4_096
# Relative errors: of a level that certified tails are compared with, or others; of a tail.
_APART, _APART_UNCERTIFIED, _OF_A_TAIL, _ROUNDOFF = 1e-9, 4e-6, 1e-6, 2.0**-52
# Predicted seconds of a tail that is searched for, of one that is looked up, and of a bit of a law.
_SEARCHED_S, _LOOKED_UP_S, _PER_BIT_S = 4e-4, 4e-6, 4e-9
# Small tails of all slices may take so many seconds, each of so many looks.
_DEEP_S, _LOOKS = 0.5, 20
# Smaller doubles have lost digits.
_DIGITS_LEFT = 1e-300
# By whether the slices are independent, and their attainable p-values known.
_METHODS: dict[tuple[bool, bool], SliceMethod] = {
    (True, True): "exact_minimum",
    (True, False): "sidak",
    (False, True): "holm_discrete",
    (False, False): "holm",
}
Number = float | Fraction


# The attainable p-values of one slice: `at_most` bounds F(x)


class PValue(NamedTuple):
    """A p-value within its bounds, which are fractions if it is known without rounding."""

    low: Number
    high: Number


@dataclass(frozen=True, slots=True)
class Counted:
    """All attainable p-values, ascending, as numbers of 2**bits assignments of signs."""

    bits: int
    numbers: Sequence[int]

    def at_most(self, x: PValue) -> PValue:
        """Compared in integers."""
        return PValue(self._at_most(x.low), self._at_most(x.high))

    def _at_most(self, x: Number) -> Fraction:
        top, bottom = x.as_integer_ratio()
        at = bisect_right(self.numbers, (top << self.bits) // bottom)
        return Fraction(self.numbers[at - 1] if at else 0, 1 << self.bits)


@dataclass(frozen=True, slots=True)
class Searched:
    """The attainable p-values of a law that is too long to count, by a search for the tail at x; at least `least`."""

    form: CanonicalForm
    alternative: Alternative
    least: float
    known: dict[PValue, PValue] = field(default_factory=dict)

    def at_most(self, x: PValue) -> PValue:
        """Two searches if x itself may be attained, otherwise one."""
        if x.high < self.least:
            return PValue(0.0, x.high)
        if x not in self.known:
            low, high = float(x.low), float(x.high)
            certified = fft_cost(self.form).seconds <= LONGEST_CERTIFIED_S
            apart = _APART if certified else _APART_UNCERTIFIED
            level = below = self._level(high * (1.0 + apart))
            if level * (1.0 + _OF_A_TAIL) > low:
                below = self._level(low * (1.0 - apart))
            most = min(level * (1.0 + _OF_A_TAIL), high)
            self.known[x] = PValue(min(below * (1.0 - _OF_A_TAIL), most), most)
        return self.known[x]

    def _level(self, x: float) -> float:
        return attained_level(self.form, LevelTest(x, self.alternative))


@dataclass(frozen=True, slots=True)
class Unknown:
    """Unknown attainable p-values, of which none is below `least`; above it x itself counts."""

    least: float

    def at_most(self, x: PValue) -> PValue:
        """x itself, or 0 below `least`."""
        return x if x.high >= self.least * (1.0 - _OF_A_TAIL) else PValue(0.0, 0.0)


Attainable = Counted | Searched | Unknown


def _attainable(law: AdditiveTest | None, least: float, slices: int) -> Attainable:
    if law is None:
        return Unknown(least)
    form, alternative = law.form, law.options.alternative
    if not _is_counted(form, slices):
        # Small tails of a window must be certified separately.
        quick = null_law(form).is_listed or slices * slices * _LOOKS * fft_cost(form).seconds <= _DEEP_S
        return Searched(form, alternative, _DIGITS_LEFT if quick else CERTIFIED_BELOW)
    return Counted(form.nonzero, tails(form, two_sided=alternative == "two-sided"))


def _bits(form: CanonicalForm) -> int:
    return form.nonzero * (form.range + 1)


def _is_counted(form: CanonicalForm, slices: int) -> bool:
    return _bits(form) * slices <= _COUNTED_BITS


# The tests of slices


@dataclass(frozen=True, slots=True)
class Found:
    """The p-value of one slice.

    `counts` is adjusted instead if a slice is sampled: the p-value, or the upper end of an estimate that is not a valid p-value.
    `attainable` bounds the least p-value of any outcome; `law` has all attainable p-values, if known.
    """

    name: str
    n: int
    difference: float
    p_value: float
    log10_p_value: float
    bounds: tuple[float, float]
    counts: float
    sampled: bool
    attainable: tuple[float, float]
    law: AdditiveTest | None


@dataclass(frozen=True, slots=True)
class SliceTest:
    """The planned test of the n items of a slice, and that of a margin, which then decides the p-value."""

    name: str
    n: int
    test: PlannedTest
    margin: MarginTest | None = None

    @property
    def seconds(self) -> float:
        """Predicted time of `run`."""
        return self.test.seconds + (0.0 if self.margin is None else self.margin.seconds)

    @property
    def law(self) -> AdditiveTest | None:
        """The test, if its p-values are one or two equal tails of the symmetric law of one sum; otherwise None."""
        test = self.test if self.margin is None else getattr(self.margin, "test", None)
        if not isinstance(test, AdditiveTest) or test.problem.absolute:
            return None
        mirrored = 2 * test.form.offset + test.form.step * test.form.range == 0
        return test if mirrored or test.options.alternative != "two-sided" else None

    def run(self) -> Found:
        """Run the test and certify its answer. An asymptotic p-value of a margin has no attainable p-values."""
        result = self.test.solve()
        answer, drawn = result.answer, result.answer.monte_carlo
        require(answer, exact=result.exact, attainable=result.attainable_between[0])
        slice_ = Found(
            name=self.name,
            n=self.n,
            difference=result.statistic.observed,
            p_value=answer.p_value,
            log10_p_value=answer.log10_p_value,
            bounds=answer.bounds,
            counts=answer.bounds[1] if drawn is None or drawn.control else answer.p_value,
            sampled=drawn is not None,
            attainable=result.attainable_between,
            law=self.law if result.exact else None,
        )
        if self.margin is None:
            return slice_
        outcome = self.margin.run()
        least, sampled = outcome.min_attainable_p, outcome.p_value_bounds_kind == "confidence"
        return replace(
            slice_,
            p_value=outcome.p_value,
            log10_p_value=outcome.log10_p_value,
            bounds=outcome.p_value_bounds,
            counts=outcome.p_value if sampled else outcome.p_value_bounds[1],
            sampled=sampled,
            attainable=(0.0, 1.0) if least is None else (least, least),
            law=self.law if outcome.exact else None,
        )


@dataclass(frozen=True, slots=True)
class PlannedSlices:
    """The tests of all slices; `disjoint` where no two share an item or a cluster."""

    tests: tuple[SliceTest, ...]
    disjoint: bool
    alpha: float

    @property
    def seconds(self) -> float:
        """Predicted time of the tests, and of looking up their attainable p-values."""
        forms, number = [test.law.form for test in self.tests if test.law is not None], len(self.tests)
        bits = [_bits(form) for form in forms if _is_counted(form, number)]
        each = _LOOKED_UP_S * len(bits) + _SEARCHED_S * (len(forms) - len(bits))
        return sum(test.seconds for test in self.tests) + _PER_BIT_S * sum(bits) + number * each

    @property
    def brackets(self) -> bool:
        """Whether any test is planned as a bracket, whose price is unproven."""
        return any(test.test.plan.chosen.method == "bounds" for test in self.tests)

    def solve(self) -> AdjustedSlices:
        """Run all tests, and adjust their p-values."""
        return adjusted_slices([test.run() for test in self.tests], disjoint=self.disjoint, alpha=self.alpha)


def planned_slices(
    data: Paired, alpha: float, plan: Callable[[str, int, Paired], SliceTest]
) -> PlannedSlices:
    """The tests that `plan` makes from a slice's name, its number of items, and its items.

    Raises InvalidTest if there are no slices, too many, or one that cannot be tested.
    """
    slices = data.pairing.slices
    assert slices is not None
    if not slices.names:
        detail = "No item has a label: give each item its slice, or a list of slices, or leave slices out."
        raise InvalidTest.at("/slices", "no_slices", detail)
    if len(slices.names) > MOST_SLICES:
        detail = f"There are {len(slices.names):,} slices; at most {MOST_SLICES} are tested together. Give coarser labels."
        raise InvalidTest.at("/slices", "too_many_slices", detail)
    rows = np.repeat(np.arange(len(slices.codes)), slices.codes.lengths)
    codes, plain = slices.codes.values, replace(data, pairing=replace(data.pairing, slices=None))
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(1, len(slices.names)))
    tests = []
    for name, items in zip(slices.names, np.split(rows[order], ends), strict=True):
        try:
            tests.append(plan(name, len(items), taken_items(plain, items)))
        except InvalidTest as error:
            detail = f"The slice {json.dumps(name)} cannot be tested: {error.detail} Give its items null to leave it out."
            code = error.flaws[0].code if error.flaws else "slice_not_testable"
            raise InvalidTest.at("/slices", code, detail) from error
    return PlannedSlices(tuple(tests), _are_disjoint(slices.codes.lengths, codes, rows, data.pairing), alpha)


def refuse_for_slices(options: Options, *, gaps: bool) -> None:
    """Refuse all but fixed-size permutation tests of complete data by p; raises InvalidTest."""
    if (
        options.test == "bootstrap"
        or options.significance == "mid_p"
        or options.sequential is not None
        or gaps
    ):
        detail = (
            "Slices are tested by the p-value of the permutation test of complete data: leave `test`, `significance`, "
            "`sequential` and `on_missing=bounds` out, or slices."
        )
        raise InvalidTest.at("/slices", "not_available", detail)


def _are_disjoint(lengths: Integers, codes: Column, rows: Integers, pairing: Pairing) -> bool:
    if (lengths > 1).any():
        return False
    if pairing.clusters is None:
        return True
    together = np.unique(np.stack([pairing.clusters[rows], codes]), axis=1)
    return bool(len(np.unique(together[0])) == together.shape[1])


# Adjusted p-values


@dataclass(frozen=True, slots=True)
class AdjustedSlices:
    """The record of the slices, and log10 of its p-value.

    `least` is the smallest p-value of any outcome, or an upper bound of it unless `least_known`.
    """

    record: SlicesRecord
    log10_p_value: float
    least: float
    least_known: bool
    warnings: tuple[WarningRecord, ...]


def adjusted_slices(tests: Sequence[Found], *, disjoint: bool, alpha: float) -> AdjustedSlices:
    """Adjust the p-values of slices; if one is sampled, as dependent ones, because they share the random numbers."""
    ranked = sorted(tests, key=lambda one: (one.log10_p_value, one.p_value, one.name))
    sampled, number = any(one.sampled for one in ranked), len(ranked)
    family = _Family(
        ranked,
        [_attainable(one.law, one.attainable[0], number) for one in ranked],
        independent=disjoint and not sampled,
    )
    p_values = [_p_value(one, value) for one, value in zip(ranked, family.values, strict=True)]
    highs = family.adjusted(p_values, 1)
    lows = highs if family.in_fractions else family.adjusted(p_values, 0)
    points = highs
    if sampled:
        points = family.adjusted([PValue(one.counts, one.counts) for one in ranked], 1)
    adjusted = [max(float(point), SMALLEST) for point in points]
    bounds = [(_outward(low, -number), _outward(high, number)) for low, high in zip(lows, highs, strict=True)]
    items = []
    for one, p, ends, point in zip(ranked, adjusted, bounds, points, strict=True):
        head = one.name, one.n, one.difference, one.p_value, one.bounds
        items.append(SliceRecord(*head, p, ends, significant=is_at_most(point, alpha)))
    low, high = bounds[0]
    record = SlicesRecord(
        method=_METHODS[family.independent, not any(isinstance(each, Unknown) for each in family.values)],
        p_value=adjusted[0],
        p_value_bounds=(low, high),
        p_value_bounds_kind="confidence" if sampled else "certified",
        exact=not sampled and high - low <= max(EXACT_WIDTH * high, EXACT_STEPS),
        worst=ranked[0].name,
        items=tuple(items),
    )
    # Below, a double has no digits left: take Bonferroni's bound.
    deep = min(ranked[0].log10_p_value + math.log10(number), 0.0)
    return AdjustedSlices(
        record,
        math.log10(record.p_value) if record.p_value >= _DIGITS_LEFT else deep,
        family.least(),
        all(low == high for low, high in (one.attainable for one in ranked)),
        _warnings(ranked, alpha),
    )


@dataclass(frozen=True)
class _Family:
    """The slices that are adjusted together, ascending by p-value; in fractions if all their laws are short."""

    found: Sequence[Found]
    values: Sequence[Attainable]
    independent: bool

    @cached_property
    def in_fractions(self) -> bool:
        counted = [each.bits for each in self.values if isinstance(each, Counted)]
        return len(counted) == len(self.values) and sum(counted) <= _FRACTION_BITS

    def adjusted(self, p_values: Sequence[PValue], end: int) -> list[Number]:
        """The lower (0) or upper (1) bounds of the adjusted p-values."""

        def below(k: int, i: int) -> Number:
            x, each = p_values[i], self.values[k]
            return (x if k == i or _have_one_law(each, self.values[i]) else each.at_most(x))[end]

        ends = [x[end] for x in p_values]
        order = sorted(range(len(ends)), key=ends.__getitem__)
        adjusted, largest = list(ends), min(ends)
        for place, i in enumerate(order):
            if largest < 1:
                largest = max(largest, self._union([below(k, i) for k in order[place:]]))
            adjusted[i] = largest
        return adjusted

    def least(self) -> float:
        """The smallest p-value of all outcomes, or an upper bound of it for long laws."""
        x = min(one.attainable[1] for one in self.found)
        parts = [x if type(each) is Searched else each.at_most(PValue(x, x)).high for each in self.values]
        return max(float(self._union(parts)), SMALLEST)

    def _union(self, parts: Sequence[Number]) -> Number:
        """The probability that any slice has such a p-value, or an upper bound of it."""
        if self.in_fractions:
            rest = math.prod(1 - Fraction(part) for part in parts) if self.independent else 1 - sum(parts)
            return min(Fraction(1 - rest), Fraction(1))
        doubles = list(map(float, parts))
        if not self.independent or max(doubles) >= 1.0:
            return min(math.fsum(doubles), 1.0)
        return -math.expm1(math.fsum(math.log1p(-part) for part in doubles))


def _p_value(one: Found, value: Attainable) -> PValue:
    """The bounds of a slice's p-value, without rounding if its law is counted."""
    if not isinstance(value, Counted) or one.law is None:
        return PValue(*one.bounds)
    form, (low, high) = one.law.form, one.law.region.intervals[0]
    depth = form.range - low if one.law.options.alternative == "greater" else high
    number = 1 << value.bits if one.law.region.covers(form) else value.numbers[depth]
    return PValue(Fraction(number, 1 << value.bits), Fraction(number, 1 << value.bits))


def _have_one_law(one: Attainable, other: Attainable) -> bool:
    """Whether both attain the same p-values with the same probabilities; False for counted laws, where this saves nothing."""
    if not isinstance(one, Searched) or not isinstance(other, Searched):
        return False
    mine, its = one.form, other.form
    return np.array_equal(mine.weights, its.weights) and np.array_equal(mine.counts, its.counts)


def _outward(value: Number, steps: int) -> float:
    """Move a bound by `steps` roundings of doubles, downwards if negative."""
    if isinstance(value, Fraction):
        double = float(value)
        beyond = Fraction(double) < value if steps > 0 else Fraction(double) > value
        return min(math.nextafter(double, math.inf if steps > 0 else 0.0), 1.0) if beyond else double
    return min(max(value * (1.0 + _ROUNDOFF * (steps + math.copysign(8.0, steps))), 0.0), 1.0)


def _warnings(slices: Sequence[Found], alpha: float) -> tuple[WarningRecord, ...]:
    """Warn about slices so small that none of their outcomes would be significant."""
    names = sorted(one.name for one in slices if one.attainable[0] > alpha)
    if not names:
        return ()
    shown = ", ".join(map(json.dumps, names[:_NAMED])) + (", …" if len(names) > _NAMED else "")
    detail = (
        f"{len(names):,} of {len(slices):,} slices could not have been significant at alpha = {alpha:g}, whatever their outcome, "
        f"as too few of their items differ: {shown}."
    )
    return (WarningRecord("slices_too_small", detail),)
