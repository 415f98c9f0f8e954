"""Pairs of `IntegerSystems`: differences of integer columns, without reading data again.

P-values that are not small come at once for many pairs (`engine.one_sum.many`). Every other pair goes straight to its
canonical form, and from there to `rational` where that is cheap and to `fft`. What these cannot prove is tested as single
tests are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...answers.test import Alternative
from ...engine import methods
from ...engine.lattice import CanonicalForm, Integers, canonical_form, exact_total, form_and_sum
from ...engine.one_sum import many, rational
from ...engine.one_sum.attainable import smallest_attainable
from ...engine.one_sum.heavy_weights import best_split
from ...engine.one_sum.planner import fft_cost
from ...engine.probability import LN2, LN10, SMALLEST, UNIT_ROUNDOFF, Probability, region
from ..certificate import flaw_of, require
from ..p_value import certified
from .binomial_tests import binomial_seconds, binomial_tests
from .columns import PairTest, from_rows, log10_bounds
from .general import GeneralPairs, single
from .integer_systems import IntegerSystems
from .pair_tests import PairTests
from .sum_values import null_of

# P-values of many pairs at once where the sizes of their differences are few


# Sizes of differences, their common divisor, and points of a window, at the most.
_MOST_SIZES, _LARGEST_STEP, _MOST_POINTS = 128, 100, 1 << 14
# Standard deviations within which it is tried, and what relative error is good enough.
_FARTHEST, _SURE = 4.0, 1e-8


def at_once(effects: Sequence[Integers], quick_fraction: int) -> list[Probability | None]:
    """The two-sided p-values that are proven without a tilt, None for the others; `effects` of shape (M,) each.

    Nor for those whose fraction takes no more than `quick_fraction` coefficients times limbs: they get it.
    """
    answers: list[Probability | None] = [None] * len(effects)
    sizes = [np.abs(each) for each in effects]
    largest = max((int(each.max(initial=0)) for each in sizes), default=0)
    if not 0 < largest <= _MOST_SIZES * _LARGEST_STEP:
        return answers
    counts = np.array([np.bincount(each, minlength=largest + 1)[1:] for each in sizes], dtype=np.int64)
    step = int(np.gcd.reduce(np.flatnonzero(counts.any(axis=0)) + 1))
    if largest > _MOST_SIZES * step:
        return answers
    counts = counts[:, step - 1 :: step]
    observed = np.abs([exact_total(each) for each in effects]) // step
    values = np.arange(1, counts.shape[1] + 1)
    squares, total, nonzero = counts @ (values * values), counts @ values, counts.sum(axis=1)
    fractions = (total - observed) // 2 * (nonzero // 64 + 1) <= quick_fraction
    some = np.flatnonzero((observed > 0) & ~fractions & (observed <= _FARTHEST * np.sqrt(squares)))
    if len(some) == 0 or many.window(counts[some], observed[some]) > _MOST_POINTS:
        return answers
    p, error = many.two_sided(counts[some], observed[some])
    for at, one, off in zip(some.tolist(), p.tolist(), error.tolist(), strict=True):
        if off <= _SURE * one:
            log_p = min(math.log(one), 0.0)
            # Dividing, and the logarithm.
            answers[at] = Probability(log_p, off / one + UNIT_ROUNDOFF * (4.0 + 2.0 * abs(log_p)))
    return answers


# Coefficients times limbs up to which the exact fraction costs no more than the transform.
_QUICK_FRACTION = 400
# The same where every null distribution is asked for, and a coefficient's seconds for each limb.
ANY_FRACTION, _PER_LIMB = 200_000, 6e-7
# Of the transform; and of one weight at one frequency, at the most.
_LONG_NANOSECONDS, _PER_FACTOR = 5_000_000, 120
# Differences of at most this size have short windows.
_NARROW = 1_000
# Pairs at a time. Whatever part of a board is asked for, the same ones go together.
_BLOCK = 256
# Seconds: for each pair, and each of its items.
_PER_PAIR, _PER_ITEM = 2.5e-4, 2e-8
_SAMPLED_PAIRS = 5


@dataclass(frozen=True)
class IntegerPairs:
    """The tests of `general.pairs`, by their differences; by `general` where these prove nothing.

    `with_nulls` asks for the exact null distribution of every pair, as far as a lattice is not too long.
    """

    systems: IntegerSystems
    general: GeneralPairs
    with_nulls: bool = False

    @property
    def seconds(self) -> float:
        """Predicted time of all pairs, from the forms of some."""
        pairs, items = len(self.general.pairs), int(self.systems.values.shape[1])
        if self._signs:
            return binomial_seconds(pairs, items) + pairs * (_PER_ITEM * items + 2e-5)
        return pairs * (_PER_PAIR + _PER_ITEM * items + sum(self._sampled))

    @property
    def longest_seconds(self) -> float:
        """A bound on it; infinite where pairs may go to `general`."""
        if self._signs:
            return 3.0 * self.seconds
        values = self.systems.swapping
        spread = int(values.max(initial=0)) - int(values.min(initial=0))
        # Doubled ranks reach twice the number of items.
        widest = spread if self.systems.linear else 2 * int(values.shape[1])
        return 3.0 * self.seconds if widest <= _NARROW else math.inf

    @property
    def methods(self) -> tuple[str, ...]:
        """One for all pairs of sign tests; otherwise the methods of some pairs."""
        if self._signs:
            return ("binomial",)
        alternative = single(self.general.options).alternative
        effects = [self.systems.effects(u, v) for u, v in self._some]
        known: Sequence[Probability | None] = [None] * len(effects)
        if alternative == "two-sided":
            known = at_once(effects, self._fractions)
        some = zip(self._some, effects, known, strict=True)
        return tuple(sorted({self._method(*one, alternative) for one in some}))

    def _method(
        self,
        pair: tuple[int, int],
        effects: Integers,
        known: Probability | None,
        alternative: Alternative,
    ) -> str:
        if known is not None:
            return "fft"
        form, observed = form_and_sum(effects)
        tail = region(form, observed, alternative)
        if rational.coefficients(form, tail) * (form.nonzero // 64 + 1) <= self._fractions:
            return "rational"
        planned = self.general.planned(*pair) if _is_long(form) else None
        return "fft" if planned is None else planned.plan.chosen.method

    @cached_property
    def _sampled(self) -> tuple[float, ...]:
        each = [self.systems.effects(u, v) for u, v in self._some]
        if self.with_nulls:
            forms = [canonical_form(one) for one in each]
            limbs = [form.range // 2 * (form.nonzero // 64 + 1) for form in forms]
            return (sum(min(work, ANY_FRACTION) * _PER_LIMB for work in limbs) / max(len(each), 1),)
        known = at_once(each, _QUICK_FRACTION)
        alone = 0.0
        for pair, one, answer in zip(self._some, each, known, strict=True):
            form = canonical_form(one)
            if answer is None and form.nonzero:
                own = self.general.planned(*pair) if _is_long(form) else None
                alone += fft_cost(form).seconds if own is None else own.seconds
        return (alone / max(len(each), 1),)

    @property
    def _some(self) -> list[tuple[int, int]]:
        """Some pairs from all over the board."""
        pairs = self.general.pairs
        some = np.unique(np.linspace(0, len(pairs) - 1, min(len(pairs), _SAMPLED_PAIRS)).astype(int))
        return [(u, v) for u, v in pairs[some].tolist()]

    @property
    def _signs(self) -> bool:
        """Whether these are sign tests of single items, which are binomial."""
        return self.systems.spec.name == "sign" and self.systems.clusters is None

    def solve(self, start: int = 0, stop: int | None = None) -> PairTests:
        """The tests of a slice of the pairs; raises InvalidTest and PlanTooLarge."""
        pairs = self.general.pairs[start:stop]
        if self._signs:
            return self._sign_tests(pairs)
        first, last = start, start + len(pairs)
        blocks = range(first - first % _BLOCK, last, _BLOCK)
        rows = [row for block in blocks for row in self._rows(block, first, last)]
        return from_rows(rows, two_sided=self.general.options.alternative == "two-sided")

    def _rows(self, block: int, first: int, last: int) -> list[PairTest]:
        """The tests from `first` to `last` of the pairs of a block: large p-values at once, the others one by one."""
        pairs = [(u, v) for u, v in self.general.pairs[block : block + _BLOCK].tolist()]
        effects = [self.systems.effects(u, v) for u, v in pairs]
        known: Sequence[Probability | None] = [None] * len(pairs)
        if self.general.options.alternative == "two-sided":
            known = at_once(effects, self._fractions)
        asked = range(max(first - block, 0), min(last - block, len(pairs)))
        return [self._row(*pairs[at], effects[at], known[at]) for at in asked]

    @property
    def _fractions(self) -> int:
        """Coefficients times limbs up to which a fraction is computed."""
        return ANY_FRACTION if self.with_nulls else _QUICK_FRACTION

    def _keeps(self, form: CanonicalForm) -> bool:
        """Whether all attainable p-values can be listed."""
        return self.with_nulls and form.range // 2 * (form.nonzero // 64 + 1) <= ANY_FRACTION

    def _sign_tests(self, pairs: Integers) -> PairTests:
        counts = np.zeros((len(pairs), 3), dtype=np.int64)
        for at, (u, v) in enumerate(pairs.tolist()):
            signs = self.systems.effects(u, v)
            counts[at] = np.count_nonzero(signs > 0), np.count_nonzero(signs < 0), len(signs)
        more, less, n = counts.T
        difference = (more - less).astype(np.float64)
        return binomial_tests(
            (pairs[:, 0], pairs[:, 1]),
            n,
            n,
            (more, less),
            difference,
            self.general.options,
            len(self.general.pairs),
        )

    def _row(self, u: int, v: int, effects: Integers, known: Probability | None) -> PairTest:
        systems, options = self.systems, single(self.general.options)
        items = systems.items(u, v)
        form, observed = form_and_sum(effects)
        method = "fft"
        if known is None:
            tail = region(form, observed, options.alternative)
            limbs = form.nonzero // 64 + 1
            if rational.coefficients(form, tail) * limbs <= self._fractions:
                method = "rational"
            elif _is_long(form):
                return self.general.row(u, v)
            known = methods.exactly(method, form, tail)
        answer = certified(known)
        if items == 0 or flaw_of(answer, exact=True, least_log10=-form.nonzero * LN2 / LN10) is not None:
            return self.general.row(u, v)
        attainable, _ = smallest_attainable(form, options.alternative, absolute=False)
        require(answer, exact=True, attainable=attainable)
        lower = self.general.options.higher_is_better is False
        more, less = int(np.count_nonzero(effects > 0)), int(np.count_nonzero(effects < 0))
        sign = (observed > 0) - (observed < 0)
        low, high = log10_bounds(answer)
        return PairTest(
            u=u,
            v=v,
            n=items,
            wins=less if lower else more,
            ties=len(effects) - more - less,
            losses=more if lower else less,
            difference=float(observed * systems.step(items)),
            sign=-sign if lower else sign,
            p=answer.p_value,
            p_low=answer.bounds[0],
            p_high=answer.bounds[1],
            log10_p=answer.log10_p_value,
            log10_low=low,
            log10_high=high,
            attainable=_log10(attainable, form, two_sided=options.alternative == "two-sided"),
            method=method,
            exact=True,
            sampled=False,
            fraction=answer.fraction,
            null=null_of(form) if self._keeps(form) else None,
        )


def _is_long(form: CanonicalForm) -> bool:
    """Whether the transform is so long that methods, their prices and the budget are compared, as for single tests.

    The window may be long; and of a few dozen units, such as clusters, nearly all of its frequencies count.
    """
    split = best_split(form)
    if split.nanoseconds > _LONG_NANOSECONDS:
        return True
    most = split.combinations * split.length * len(form.weights) * _PER_FACTOR
    return most > _LONG_NANOSECONDS and 1e9 * fft_cost(form).seconds > _LONG_NANOSECONDS


def _log10(attainable: float, form: CanonicalForm, *, two_sided: bool) -> float:
    """log10 of the least attainable p-value, also where it underflows."""
    if attainable > SMALLEST:
        return math.log10(attainable)
    return (int(two_sided) - form.nonzero) * (LN2 / LN10)
