"""The tests of pairs of systems, by the fastest way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from ...answers.test import Alternative, ConfidenceInterval, Fraction2, WarningRecord
from ...engine.lattice import CanonicalForm, Integers, canonical_form, exact_total, form_and_sum
from ...engine.one_sum import many, methods, rational
from ...engine.one_sum.heavy_weights import best_split
from ...engine.one_sum.methods import fft_cost
from ...engine.one_sum.summary import smallest_attainable
from ...engine.plan import Budget
from ...engine.probability import LN2, LN10, SMALLEST, UNIT_ROUNDOFF, Probability, region
from ...errors import InvalidTest, mapped
from ...statistics.effects import Additive, Joint
from ...statistics.paired import Predictions, StatisticSpec, Systems
from ...statistics.pairwise.correlation import Correlation, joined
from ...statistics.pairwise.data import seconds_of
from ...statistics.pairwise.reduce import correlation_of
from ...statistics.reducers import Problem, mean_of, reduce
from ...statistics.runs import Runs, require_exchange
from ...statistics.scores import Quantiles
from ..additive import AdditiveTest, RoundedTest
from ..certificate import Answer, PlannedTest, Result, certified, flaw_of, require
from ..intervals import PlannedInterval, interval_of, planned_interval
from ..joint import JointTest
from ..options import Options
from ..paired import planned_problem, planned_test
from ..runs import BothTest, RunsTest, refuse_beside_runs
from .board import about_pairs
from .integer_systems import (
    BinarySystems,
    IntegerSystems,
    binary_systems,
    binomial_seconds,
    binomial_tests,
    integer_systems,
    quotients,
)
from .pair_tests import PairTest, PairTests, from_rows, null_of, pair_test
from .systems import Score, counted_systems, pair_data, pointers, system_scores

# Pairs tested one by one, as single tests are


BRACKETED = (
    "weights_too_fine",
    (
        "The weights of the items, 1 / (data sets x items of the set), take more than 60 bits together: the p-value is a "
        "rigorous bracket for the weights as they are, and narrower with a smaller precision."
    ),
)
# Cost of planning a pair, besides its test: reduction, canonical form, prices.
_SECONDS_PER_GENERAL_PAIR = 1.5e-3
_SECONDS_PER_ITEM = 4e-7
# And more for corpus scores, which are priced by trials: BLEU took 7 ms a pair of 4 items, chrF 10.
_SECONDS_PER_CORPUS_SCORE = 7e-3
_CORPUS_SCORES = ("bleu", "chrf")
# Time for exact methods of all pairs together, and at least of a pair, before faster inexact ones replace them.
_PATIENCE_S, _LEAST_PATIENCE_S = 20.0, 0.1
# So many pairs are planned before the others: the price of all follows from theirs.
_SAMPLED_GENERAL_PAIRS = 6
# Floats with a relative difference this small may be equal: that is decided exactly.
_NEARLY = 1e-6
_FLIPPED: dict[Alternative, Alternative] = {"two-sided": "two-sided", "greater": "less", "less": "greater"}


@dataclass(frozen=True)
class GeneralPairs:
    """The pairs of a board, each with a separate test; `pairs`, shape (m, 2), are positions in the systems by code point.

    With `sets` the statistic is the mean over these data sets of the same systems, and `systems` are those of all items.
    `with_nulls` asks for the exact null distribution of every pair of such a mean, as far as a lattice is not too long.
    """

    systems: Systems
    spec: StatisticSpec
    options: Options
    pairs: Integers
    budget: Budget
    sets: tuple[Systems, ...] = ()
    with_nulls: bool = False

    @property
    def seconds(self) -> float:
        """Predicted time of all pairs, from the plans of some."""
        each = [plan.seconds for plan in self._sampled]
        return len(self.pairs) * (self.planning_seconds + sum(each) / max(len(each), 1))

    @property
    def longest_seconds(self) -> float:
        """Its time at most, if no pair takes longer than the longest planned one."""
        each = [_longest(plan) for plan in self._sampled]
        return len(self.pairs) * (self.planning_seconds + max(each, default=0.0))

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of the pairs that were planned."""
        return tuple(sorted({plan.plan.chosen.method for plan in self._sampled}))

    @property
    def planning_seconds(self) -> float:
        """Of one pair."""
        items = max((plan.problem.items for plan in self._sampled), default=0)
        corpus_score = _SECONDS_PER_CORPUS_SCORE if self.spec.name in _CORPUS_SCORES else 0.0
        ordered = seconds_of(items, self.spec)
        return _SECONDS_PER_GENERAL_PAIR + _SECONDS_PER_ITEM * items + corpus_score + ordered

    @cached_property
    def _sampled(self) -> tuple[PlannedTest, ...]:
        """The plans of some pairs; raises InvalidTest and PlanTooLarge."""
        plans = (self.planned(*pair) for pair in some_of(self.pairs, _SAMPLED_GENERAL_PAIRS))
        return tuple(plan for plan in plans if plan is not None)

    @cached_property
    def _each(self) -> Budget:
        """The budget of a pair: all pairs of a data set share what patience there is with exact methods that take long."""
        if self.sets:
            return self.budget
        patience = max(_PATIENCE_S / max(len(self.pairs), 1), _LEAST_PATIENCE_S)
        return replace(self.budget, patience_s=min(self.budget.patience_s, patience))

    @cached_property
    def _counted(self) -> tuple[tuple[Systems, StatisticSpec], ...]:
        return tuple(counted_systems(systems, self.spec) for systems in self.sets or (self.systems,))

    def planned(self, u: int, v: int) -> PlannedTest | None:
        """The planned test of one pair; see `test`."""
        return self.test(u, v, single(self.options), self._each)

    def test(self, u: int, v: int, options: Options, budget: Budget) -> PlannedTest | None:
        """The test of one pair with its options; None if a data set has no common item. Raises InvalidTest and PlanTooLarge."""
        names = self.systems.names[u], self.systems.names[v]
        if self.sets:
            problem = _mean(self._counted, *names)
            return None if problem is None else planned_problem(problem, options, budget)
        ((systems, spec),) = self._counted
        data = pair_data(systems, *names)
        return None if data is None else mapped(pointers(*names), planned_test, data, spec, options, budget)

    def solve(self, start: int = 0, stop: int | None = None) -> PairTests:
        """The tests of a slice of the pairs; raises InvalidTest and PlanTooLarge."""
        rows = [self.row(*pair) for pair in self.pairs[start:stop].tolist()]
        return from_rows(rows, two_sided=self.options.alternative == "two-sided")

    def row(self, u: int, v: int) -> PairTest:
        """The test of one pair; raises InvalidTest and PlanTooLarge."""
        planned = self.planned(u, v)
        lower = self.options.higher_is_better is False
        if planned is None:
            # Without an observed difference, p is 1.
            certain = Answer(1.0, 0.0, (1.0, 1.0), 0.0, Fraction2(1, 0))
            by, null = ("enumeration", True), ((), ())
            return pair_test(
                (u, v), (0, 0, 0, 0), (0.0, 0), certain, 0.0, by, lower_is_better=lower, null=null
            )
        result = planned.solve()
        answer, items = result.answer, result.items
        require(answer, exact=result.exact, attainable=result.attainable_between[0])
        notes = result.warnings
        if self.sets:  # not the scores: their weights
            notes = tuple(BRACKETED if code == "scores_rounded" else (code, detail) for code, detail in notes)
        sign = _sign(planned.problem, result.statistic.observed)
        row = pair_test(
            (u, v),
            (items.n, items.wins, items.ties, items.losses),
            (result.statistic.observed if sign else 0.0, sign),
            answer,
            _log10_attainable(planned, result),
            (result.by.method, result.exact),
            lower_is_better=lower,
            notes=notes,
        )
        if not self.with_nulls or not isinstance(planned, AdditiveTest) or not is_listable(planned.form):
            return row
        exact = certified(methods.exact_probability("rational", planned.form, planned.region))
        return replace(row, fraction=exact.fraction, null=null_of(planned.form))


def some_of(pairs: Integers, most: int) -> list[tuple[int, int]]:
    """The most pairs to plan, spread over the board; the plans of others follow from these."""
    some = np.unique(np.linspace(0, len(pairs) - 1, min(len(pairs), most)).astype(int))
    return [(u, v) for u, v in pairs[some].tolist()]


def is_listable(form: CanonicalForm) -> bool:
    """Whether all attainable p-values of a sum can be listed."""
    return form.range // 2 * (form.nonzero // 64 + 1) <= _ANY_FRACTION


def _mean(
    sets: Sequence[tuple[Systems, StatisticSpec]], u: str, v: str
) -> Additive | Joint | Correlation | None:
    """The mean over data sets of the statistic of two systems; None where a data set has no item that both have."""
    read = [(pair_data(systems, u, v), spec) for systems, spec in sets]
    sums: list[Additive | Joint] = []
    pairwise: list[Correlation] = []
    for data, spec in read:
        if data is None:
            return None
        problem = reduce(data, spec)
        if isinstance(problem, Quantiles):
            raise TypeError(f"{spec.name} has no mean over data sets")  # refused by `overall`
        if isinstance(problem, Correlation):
            pairwise.append(problem)
        else:
            sums.append(problem)
    if not pairwise:
        return mean_of(sums)
    return joined([correlation_of(data, spec) for data, spec in read if isinstance(data, Predictions)])


def single(options: Options) -> Options:
    """The options of one pair's test: `greater` means better, which is `less` if lower is better."""
    lower = options.higher_is_better is False
    alternative = _FLIPPED[options.alternative] if lower else options.alternative
    return replace(options, alternative=alternative, pmf="none", confidence_level=None)


def _longest(planned: PlannedTest) -> float:
    if planned.plan.chosen.method == "bounds":
        return math.inf
    return planned.longest_seconds if isinstance(planned, JointTest) else planned.seconds


def _sign(problem: Problem | Runs, observed: float) -> int:
    """The sign of the statistic as observed, exactly."""
    u, v = problem.score_u, problem.score_v
    if u is not None and v is not None:
        difference = u - v
        if not isinstance(difference, float) or abs(difference) > _NEARLY * max(abs(float(u)), abs(float(v))):
            return int(difference > 0) - int(difference < 0)
    if isinstance(problem, Additive | Quantiles | Runs):
        return int(observed > 0) - int(observed < 0)
    if isinstance(problem, Correlation):
        return problem.sign
    # With the systems exchanged t changes its sign: it is at most t0 iff t0 >= 0.
    stay, swap = problem.stay.sum(axis=0), list(problem.swap.sum(axis=0)[:, None])
    up = bool(problem.function.extreme(swap, stay, "less").all())
    down = bool(problem.function.extreme(swap, stay, "greater").all())
    return int(up) - int(down)


def _log10_attainable(planned: PlannedTest, result: Result) -> float:
    """log10 of the least attainable p-value; NaN if unknown.

    On underflow it is that of one sum, and for other statistics the share of one assignment, a lower bound.
    """
    if result.attainable is None:
        return math.nan
    if result.attainable > SMALLEST:
        return math.log10(result.attainable)
    if isinstance(planned, RunsTest | BothTest):
        return math.log10(SMALLEST)
    if not isinstance(planned, AdditiveTest | RoundedTest):
        return -result.items.nonzero * math.log10(2.0)
    return (int(planned.options.alternative == "two-sided") - planned.form.nonzero) * math.log10(2.0)


# P-values of many pairs at once where the sizes of their differences are few


# Sizes of differences, their common divisor, and points of a window, at the most.
_MOST_SIZES, _LARGEST_STEP, _MOST_POINTS = 128, 100, 1 << 14
# Standard deviations within which it is tried, and what relative error is good enough.
_FARTHEST, _SURE = 4.0, 1e-8


def at_once(effects: Sequence[Integers], quick_fraction: int) -> list[Probability | None]:
    """The two-sided p-values that are proven without a tilt, None for the others; `effects` of shape (M,) each.

    None also if the fraction takes at most `quick_fraction` coefficients times limbs: it is computed instead.
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
# The same if every null distribution is needed, and the seconds of a coefficient per limb.
_ANY_FRACTION, _PER_LIMB = 200_000, 6e-7
# Of the transform; and of one weight at one frequency, at the most.
_LONG_NANOSECONDS, _PER_FACTOR = 5_000_000, 120
# Differences of at most this size have short windows.
_NARROW = 1_000
# Pairs at a time, grouped in the same way for any part of a board.
_BLOCK = 256
# Seconds: for each pair, and each of its items.
_PER_PAIR, _PER_ITEM = 2.5e-4, 2e-8
_SAMPLED_INTEGER_PAIRS = 5


@dataclass(frozen=True)
class BinomialPairs:
    """Sign tests of `pairs`, shape (m, 2): of systems that are right or wrong, or of the signs of differences."""

    systems: BinarySystems | IntegerSystems
    options: Options
    pairs: Integers

    @property
    def seconds(self) -> float:
        """Predicted time of all pairs."""
        systems, count = self.systems, len(self.pairs)
        if isinstance(systems, BinarySystems):
            return systems.seconds + binomial_seconds(count, int(systems.right.shape[1]))
        items = int(systems.values.shape[1])
        return binomial_seconds(count, items) + count * (_PER_ITEM * items + 2e-5)

    @property
    def longest_seconds(self) -> float:
        """A bound on it: no step depends on the values."""
        return 3.0 * self.seconds

    @property
    def methods(self) -> tuple[str, ...]:
        """One for all pairs."""
        return ("binomial",)

    def solve(self, start: int = 0, stop: int | None = None) -> PairTests:
        """The tests of a slice of the pairs."""
        pairs, systems = self.pairs[start:stop], self.systems
        n, more, less = counts = systems.signs(*pairs.T)
        if isinstance(systems, BinarySystems) and not systems.counted:
            step = systems.right_value - systems.wrong_value
            differences = quotients(more - less, step, n if systems.mean else np.ones_like(n))
        else:
            differences = (more - less).astype(np.float64)
        return binomial_tests(pairs, counts, differences, self.options, len(self.pairs))


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
        return pairs * (_PER_PAIR + _PER_ITEM * items + sum(self._sampled))

    @property
    def longest_seconds(self) -> float:
        """A bound on it; infinite where pairs may go to `general`."""
        values = self.systems.swapping
        spread = int(values.max(initial=0)) - int(values.min(initial=0))
        # Doubled ranks reach twice the number of items.
        widest = spread if self.systems.linear else 2 * int(values.shape[1])
        return 3.0 * self.seconds if widest <= _NARROW else math.inf

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of some pairs."""
        alternative = single(self.general.options).alternative
        effects = [self.systems.effects(u, v) for u, v in self._some]
        known: Sequence[Probability | None] = [None] * len(effects)
        if alternative == "two-sided":
            known = at_once(effects, self._fractions)
        some = zip(self._some, effects, known, strict=True)
        return tuple(sorted({self._method(*one, alternative) for one in some}))

    def _method(
        self, pair: tuple[int, int], effects: Integers, known: Probability | None, alternative: Alternative
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
            return (sum(min(work, _ANY_FRACTION) * _PER_LIMB for work in limbs) / max(len(each), 1),)
        known = at_once(each, _QUICK_FRACTION)
        alone = 0.0
        for pair, one, answer in zip(self._some, each, known, strict=True):
            form = canonical_form(one)
            if answer is None and form.nonzero:
                cost = self.general.planned(*pair) if _is_long(form) else None
                alone += fft_cost(form).seconds if cost is None else cost.seconds
        return (alone / max(len(each), 1),)

    @property
    def _some(self) -> list[tuple[int, int]]:
        return some_of(self.general.pairs, _SAMPLED_INTEGER_PAIRS)

    def solve(self, start: int = 0, stop: int | None = None) -> PairTests:
        """The tests of a slice of the pairs; raises InvalidTest and PlanTooLarge."""
        pairs = self.general.pairs[start:stop]
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
        wanted = range(max(first - block, 0), min(last - block, len(pairs)))
        return [self._row(*pairs[at], effects[at], known[at]) for at in wanted]

    @property
    def _fractions(self) -> int:
        """Coefficients times limbs up to which a fraction is computed."""
        return _ANY_FRACTION if self.with_nulls else _QUICK_FRACTION

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
            known = methods.exact_probability(method, form, tail)
        answer = certified(known)
        if items == 0 or flaw_of(answer, exact=True, least_log10=-form.nonzero * LN2 / LN10) is not None:
            return self.general.row(u, v)
        attainable, _ = smallest_attainable(form, options.alternative, absolute=False)
        require(answer, exact=True, attainable=attainable)
        more, less = int(np.count_nonzero(effects > 0)), int(np.count_nonzero(effects < 0))
        return pair_test(
            (u, v),
            (items, more, len(effects) - more - less, less),
            (float(observed * systems.step(items)), (observed > 0) - (observed < 0)),
            answer,
            _log10(attainable, form, two_sided=options.alternative == "two-sided"),
            (method, True),
            lower_is_better=self.general.options.higher_is_better is False,
            null=null_of(form) if self.with_nulls and is_listable(form) else None,
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


# Confidence intervals of the listed pairs: those that single tests have


# To plan a test and its interval.
_SECONDS_PER_INTERVAL = 2e-3
_SAMPLED_INTERVALS = 4


@dataclass(frozen=True)
class PairIntervals:
    """The intervals of a board's pairs, in the statistic's own sign, of the test's u minus its v.

    Of a mean over data sets every data set is shifted by the same difference.
    """

    general: GeneralPairs

    @cached_property
    def seconds(self) -> float:
        """Predicted time if all pairs are listed, from the plans of some; raises InvalidTest and PlanTooLarge."""
        pairs = self.general.pairs
        planned = [self.planned(*pair) for pair in some_of(pairs, _SAMPLED_INTERVALS)]
        each = [test.seconds + interval.seconds for test, interval in filter(None, planned)]
        return len(pairs) * (_SECONDS_PER_INTERVAL + sum(each) / max(len(each), 1))

    @property
    def pair_options(self) -> Options:
        """The options of one pair's test with its interval."""
        options = self.general.options
        return replace(single(options), confidence_level=options.confidence_level)

    def planned(self, u: int, v: int) -> tuple[PlannedTest, PlannedInterval] | None:
        """The test of one pair and its interval; None without a common item."""
        options, budget = self.pair_options, self.general.budget
        test = self.general.test(u, v, options, budget)
        interval = None if test is None else planned_interval(options, budget, test)
        return None if test is None or interval is None else (test, interval)


class ComputedIntervals:
    """The interval of the i-th pair, None if there is none, and its warnings."""

    def __init__(self, intervals: PairIntervals) -> None:
        self.intervals = intervals
        self.notes: list[tuple[int, str, str]] = []

    def __call__(self, test: int) -> ConfidenceInterval | None:
        """Compute one."""
        u, v = self.intervals.general.pairs[test].tolist()
        planned = self.intervals.planned(u, v)
        if planned is None:
            return None
        one, interval = planned
        result = interval_of(interval, self.intervals.pair_options, one.solve())
        self.notes.extend((test, *warning) for warning in result.warnings)
        return result.interval

    def warnings(self, names: Sequence[str], tests: PairTests) -> tuple[WarningRecord, ...]:
        """Why there is none, or why one disagrees with its p-value."""
        return about_pairs(names, tests, self.notes)


__all__ = ["PlannedPairs", "Reduced", "plan_pairs", "reduced"]

Reduced = BinarySystems | IntegerSystems


class PlannedPairs(Protocol):
    """The tests of pairs that were planned and have not run; picklable."""

    @property
    def seconds(self) -> float:
        """Predicted time of all of them."""
        ...

    @property
    def longest_seconds(self) -> float:
        """The highest predicted cost, infinite if unknown."""
        ...

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that will run; where pairs are planned one by one, those of some of them."""
        ...

    def solve(self, start: int = 0, stop: int | None = None) -> PairTests:
        """The tests of the pairs from `start` to `stop`; parts are put together by `columns.concatenated`."""
        ...


def reduced(systems: Systems, spec: StatisticSpec) -> Reduced | None:
    """The systems in a form from which all pairs are tested together; None if each pair has a separate test."""
    binary = binary_systems(systems, spec)
    return integer_systems(systems, spec) if binary is None else binary


def scores_of(systems: Systems, spec: StatisticSpec, once: Reduced | None) -> tuple[Score, ...]:
    """The score of each system, see `system_scores`; `once` are the same systems, `reduced`."""
    return system_scores(systems, spec) if once is None else once.scores


def plan_pairs(
    systems: Systems,
    spec: StatisticSpec,
    options: Options,
    pairs: Integers,
    budget: Budget,
    once: Reduced | None = None,
    *,
    with_nulls: bool = False,
) -> PlannedPairs:
    """Plan the tests of `pairs`, shape (m, 2): positions (u, v) in the systems' names.

    `once` are the systems as `reduced` gives them, if that is known; `with_nulls` asks for exact null
    distributions (`PairTests.attained`) where they can be had. Raises InvalidTest and PlanTooLarge.
    """
    if options.test != "permutation":
        raise InvalidTest.at("/test", "not_a_permutation", "Systems are compared by permutation tests only.")
    if options.exchange != "items":
        require_exchange(systems.kind, spec.name)
        refuse_beside_runs(options)
        return GeneralPairs(systems, spec, options, pairs, budget)
    once = reduced(systems, spec) if once is None else once
    # A method requested by name is run.
    if isinstance(once, BinarySystems) and options.method == "auto":
        return BinomialPairs(once, options, pairs)
    general = GeneralPairs(systems, spec, options, pairs, budget)
    if isinstance(once, IntegerSystems) and options.method == "auto" and not options.exact_fraction:
        if once.are_signs:
            return BinomialPairs(once, options, pairs)
        return IntegerPairs(once, general, with_nulls)
    return general
