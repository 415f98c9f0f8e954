"""The one-sided tests of gates: of no difference, of a margin, of equivalence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Protocol

import numpy as np
from scipy import special

from ..answers.gate import EquivalenceRecord, GateTerms, OneSidedTest
from ..answers.test import (
    Alternative,
    BinaryFraction,
    ExactFraction,
    OtherFraction,
    Ratio,
    SensitivityRecord,
    TestRecord,
)
from ..engine.lattice import Integers, Reals
from ..engine.paired_proportions import tango_test
from ..engine.plan import Budget
from ..engine.power.paired_binary import binomial_masses, lower_tail
from ..engine.probability import LN10, SMALLEST
from ..engine.root import root
from ..errors import InvalidTest, PlanTooLarge
from ..statistics.effects import Joint
from ..statistics.scores import (
    NotShiftableError,
    PairedBinary,
    Quantiles,
    binary_of,
    shifted,
    shifted_quantiles,
)
from .additive import AdditiveTest, RoundedTest, additive_test
from .bootstrap import BootstrapTest, JointBootstrap, bootstrap_test
from .certificate import MOST_ERROR, Answer, PlannedTest, mid_p_value, require
from .correlation import CorrelationTest, correlation_test
from .intervals import NOT_SHIFTED
from .joint import JointTest, joint_test
from .options import Options, Significance
from .paired import Prepared, engine_errors
from .quantile import QuantileTest, quantile_test
from .runs import BothTest, RunsTest, runs_test

# The outcome of a metric's one-sided test, before policies and adjustments


@dataclass(frozen=True, slots=True)
class Outcome(OneSidedTest):
    """The one-sided test of one metric.

    `attainable_at_most` bounds the least p-value of all outcomes where `min_attainable_p` is None. `equivalence` has the other tests of the
    policy equivalent; `missing`: bounds hold for any missing outcomes; `waiting`: evidence is still coming in (`anytime`). `decides_from`:
    what the exact p-value is at least, where the bounds do not say so. `ratio`: the p-value where it is known as a fraction that is no
    double, so that one equal to alpha is decided.
    """

    attainable_at_most: float = 1.0
    equivalence: EquivalenceRecord | None = None
    missing: bool = False
    waiting: bool = False
    decides_from: float | None = None
    ratio: Fraction | None = None

    @property
    def high(self) -> float | Fraction:
        """The upper bound of the p-value, which decides."""
        return self.p_value_bounds[1] if self.ratio is None else self.ratio


class MarginTest(Protocol):
    """The test of a margin, validated and planned."""

    @property
    def seconds(self) -> float:
        """Predicted time of `run`."""
        ...

    def run(self) -> Outcome:
        """Run it."""
        ...


def greatest_known(*attainable: float | None) -> float | None:
    """The greatest of several least p-values, None where one is not known."""
    known = [one for one in attainable if one is not None]
    return max(known) if len(known) == len(attainable) else None


# Data with missing outcomes: both extreme fillings, so that the verdict holds for every filling


@dataclass(frozen=True, slots=True)
class OverFillings:
    """One question put to the filling that is worst for U and to the one that is best.

    One-sided p-values are monotone in every outcome (`statistics.columns`), so that those of all fillings lie between the two.
    """

    worst: MarginTest
    best: MarginTest
    # What could be attained on the complete items alone: a filling may make all others ties.
    attainable: float

    @property
    def seconds(self) -> float:
        """Predicted time of both."""
        return self.worst.seconds + self.best.seconds

    def run(self) -> Outcome:
        """The outcome with the larger p-value, and bounds that hold under every filling."""
        outcomes = self.worst.run(), self.best.run()
        larger = max(outcomes, key=lambda outcome: outcome.log10_p_value)
        lows, highs = zip(*(outcome.p_value_bounds for outcome in outcomes), strict=True)
        return replace(
            larger,
            p_value_bounds=(min(lows), max(highs)),
            exact=all(outcome.exact for outcome in outcomes),
            min_attainable_p=greatest_known(
                self.attainable, *(outcome.min_attainable_p for outcome in outcomes)
            ),
            missing=True,
            ratio=None,
        )


def over_fillings(prepared: Prepared, put: Callable[[Prepared], MarginTest]) -> OverFillings:
    """The question that `put` makes of a prepared test, of both fillings."""
    fillings = prepared.fillings
    assert fillings is not None
    assert isinstance(
        prepared.test, AdditiveTest | RoundedTest
    )  # the statistics that have bounds are additive
    worst, best = (
        put(replace(prepared, test=test, fillings=None)) for test in (fillings.worst, fillings.best)
    )
    return OverFillings(worst, best, math.ldexp(1.0, -prepared.test.form.nonzero))


# The one-sided test of a gate's policy, of a difference of 0 or of a margin


# Multiples of 2**-52 below 1 are doubles; mid-p-values have one bit more than p.
_EXACT_BITS = 52
# A fraction whose denominator has more digits equals no alpha that one writes.
_LONGEST_DENOMINATOR = 40
# Below this, doubles have lost digits: p itself decides.
_DIGITS_LEFT = 1e-300


@dataclass(frozen=True, slots=True)
class Question:
    """The exact difference between null and alternative, and the side that a small p-value shows."""

    alternative: Alternative
    difference: Fraction


def question_of(terms: GateTerms) -> Question:
    """The hypothesis that the policy tests. The margin is the decimal as written, not its double.

    U - V is tested against -margin (no_regression, non_inferior) or +margin (improve) where higher is better, and
    everything is mirrored where lower is. Of equivalence there are several questions; this is the one of no difference.
    """
    if terms.policy == "equivalent":
        return Question("two-sided", Fraction(0))
    size = Fraction(repr(float(terms.margin)))
    difference = size if terms.policy == "improve" else -size
    upwards = (terms.policy != "no_regression") == terms.higher_is_better
    return Question("greater" if upwards else "less", difference if terms.higher_is_better else -difference)


def without_margin(question: Question, record: TestRecord, significance: Significance = "p") -> Outcome:
    """With a margin of 0 the ordinary one-sided test decides."""
    outcome = Outcome(
        procedure=record.test,
        alternative=question.alternative,
        difference=float(question.difference),
        p_value=record.p_value,
        log10_p_value=record.log10_p_value,
        p_value_bounds=record.p_value_bounds,
        p_value_bounds_kind=record.p_value_bounds_kind,
        exact=record.method.exact,
        min_attainable_p=record.min_attainable_p,
        ratio=ratio_of(record.p_value_fraction),
    )
    if significance == "p":
        return outcome
    outcome = by_mid_p(outcome, record.mid_p_value, record.p_value_fraction)
    low, high = outcome.p_value_bounds
    # The test was decided by the fraction itself.
    return replace(outcome, p_value_bounds=(low, min(high, record.alpha) if record.significant else high))


def by_mid_p(
    outcome: Outcome, mid: float | None, fraction: BinaryFraction | OtherFraction | ExactFraction | None
) -> Outcome:
    """The outcome with the mid-p-value in the place of p, whose `fraction` is known or not.

    Where it is not known it lies between p / 2 and p, which may leave open on which side of alpha it is; then p has to reach
    alpha. Else the outcome with the least p has half of it as its mid-p-value.
    """
    outcome, (low, high) = replace(outcome, ratio=None), outcome.p_value_bounds
    if mid is None:
        return replace(outcome, p_value_bounds=(0.5 * low, high))
    least = None if outcome.min_attainable_p is None else max(0.5 * outcome.min_attainable_p, SMALLEST)
    if mid < _DIGITS_LEFT:
        return replace(outcome, p_value_bounds=(0.5 * low, high), min_attainable_p=least)
    bounds = (mid, mid)
    if (
        fraction is None
        or isinstance(fraction, OtherFraction | Ratio)
        or fraction.log2_denominator >= _EXACT_BITS
    ):
        bounds = (
            math.nextafter(mid * (1.0 - MOST_ERROR), 0.0),
            min(math.nextafter(mid * (1.0 + MOST_ERROR), 2.0), 1.0),
        )
    return replace(
        outcome, p_value=mid, log10_p_value=math.log10(mid), p_value_bounds=bounds, min_attainable_p=least
    )


def ratio_of(fraction: BinaryFraction | OtherFraction | ExactFraction | None) -> Fraction | None:
    """A p-value as a fraction where its denominator is no power of two; None of a long one, which no alpha equals."""
    if isinstance(fraction, OtherFraction):
        digits = len(fraction.denominator)
    elif isinstance(fraction, Ratio):
        digits = int(fraction.denominator.bit_length() * math.log10(2.0)) + 1  # or one less
    else:
        return None
    return fraction.value if digits <= _LONGEST_DENOMINATOR else None


@dataclass(frozen=True, slots=True)
class ShiftedTest:
    """The paired-permutation test of effects, or of scores, shifted by the margin; exact under the shift model."""

    question: Question
    test: AdditiveTest | RoundedTest | QuantileTest | RunsTest | BothTest

    @property
    def seconds(self) -> float:
        """Predicted time."""
        return self.test.seconds

    def run(self) -> Outcome:
        """Solve the shifted problem."""
        result, question = self.test.solve(), self.question
        answer = result.answer
        require(answer, exact=result.exact, attainable=result.attainable_between[0])
        outcome = Outcome(
            procedure="permutation",
            alternative=question.alternative,
            difference=float(question.difference),
            p_value=answer.p_value,
            log10_p_value=answer.log10_p_value,
            p_value_bounds=answer.bounds,
            p_value_bounds_kind="confidence" if answer.monte_carlo else "certified",
            exact=result.exact,
            min_attainable_p=result.attainable,
            ratio=ratio_of(answer.fraction),
        )
        if self.test.options.significance == "p":
            return outcome
        return by_mid_p(outcome, mid_p_value(answer), answer.fraction)


@dataclass(frozen=True, slots=True)
class TangoTest:
    """Tango's score test of a difference of two paired proportions; asymptotic.

    `proportion` is the hypothesised difference as a proportion of the items, inside (-1, 1). To show a difference
    beyond a margin is to show one beyond 0, so that p is never below McNemar's exact one there: of few items a normal
    tail would pass what the test without a margin does not. To show that one side is not worse by the margin is to show it
    also of a side that never wins, so that p is never below the chance of as few net losses then: it would pass a few items
    that all tie.
    """

    question: Question
    table: PairedBinary
    proportion: Fraction

    @property
    def seconds(self) -> float:
        """A formula."""
        return 0.0

    def run(self) -> Outcome:
        """The upper or lower tail of a standard normal at the score statistic."""
        table, upwards = self.table, self.question.alternative == "greater"
        p_value, log10_p_value = self.tail(table.only_u, table.only_v)
        most_extreme = (table.items, 0) if upwards else (0, table.items)
        return Outcome(
            procedure="tango_score",
            alternative=self.question.alternative,
            difference=float(self.question.difference),
            p_value=p_value,
            log10_p_value=log10_p_value,
            p_value_bounds=(p_value, p_value),
            p_value_bounds_kind="asymptotic",
            exact=False,
            min_attainable_p=self.tail(*most_extreme)[0],
        )

    def tail(self, only_u: int, only_v: int) -> tuple[float, float]:
        """p and log10 p of a table with these discordant items."""
        z = tango_test(only_u, only_v, self.table.items, float(self.proportion))
        upwards = self.question.alternative == "greater"
        log_p = float(special.log_ndtr(-z if upwards else z))
        wins, losses = (only_u, only_v) if upwards else (only_v, only_u)
        beyond = self.proportion if upwards else -self.proportion
        if beyond > 0:
            log_p = max(log_p, _log_mcnemar(wins, losses))
        elif beyond < 0:
            log_p = max(log_p, _log_few_losses(losses - wins, self.table.items, float(-beyond)))
        return max(math.exp(log_p), SMALLEST), log_p / LN10


def _log_mcnemar(wins: int, losses: int) -> float:
    """log P(at least so many wins) of the exact one-sided test, each discordant item a fair coin."""
    if wins == 0:
        return 0.0
    p = float(special.betainc(wins, losses + 1, 0.5))
    return math.log(p) if p > 0.0 else -math.inf


def _log_few_losses(net: int, items: int, share: float) -> float:
    """log P(at most so many losses), each item lost with probability `share` and none won; of net wins it says nothing.

    It is a lower bound of the exact p-value (the largest over all hypotheses of so large a difference, of tables with at
    least the observed score): at this hypothesis a table has no wins, and with at most `net` losses no smaller score.
    """
    p = float(special.bdtr(net, items, share)) if net >= 0 else 0.0
    return math.log(p) if p > 0.0 else -math.inf


# The differences that Tango's test of a margin could have found


# Numbers of discordant items within so many standard deviations of the expected one are looked at.
_FAR = 8.5
_TOLERANCE = 1e-12
_SECONDS_PER_TABLE = 8e-6


@dataclass(frozen=True, slots=True)
class TangoSensitivity:
    """The test of the gate, and the question; not exact, as the test is not, and the share of discordant items is the observed one."""

    test: TangoTest
    power: float
    alpha: float

    @property
    def seconds(self) -> float:
        """Predicted time: a search among the tables of every number of discordant items."""
        items = self.test.table.items
        return _SECONDS_PER_TABLE * (2 * _FAR * math.sqrt(items) + 30) * math.log2(items + 2)

    def solve(self) -> SensitivityRecord:
        """Both numbers count from the margin on, in the direction of the test."""
        table = self.test.table
        items, sign = table.items, 1 if self.test.question.alternative == "greater" else -1
        margin = sign * float(self.test.proportion)
        seen = (table.only_u + table.only_v) / items
        least = cache(self._least)
        least_critical = least(table.only_u + table.only_v)
        critical = (
            None
            if least_critical is None
            else (2 * least_critical - table.only_u - table.only_v) / items - margin
        )

        def power(beyond: float) -> float:
            difference = margin + beyond
            share = min(1.0, max(seen, abs(difference)))
            first, masses = binomial_masses(items, share)
            discordant = np.arange(first, first + len(masses))
            least_wins = [least(one) for one in discordant.tolist()]
            most_losses = np.array(
                [-1 if least_win is None else d - least_win for d, least_win in enumerate(least_wins, first)]
            )
            losing = 0.5 if share == 0.0 else (1.0 - difference / share) / 2.0
            return float((masses * lower_tail(most_losses, discordant, min(max(losing, 0.0), 1.0))).sum())

        widest = 1.0 - margin
        if power(widest) < self.power:
            return self._record(critical, None)
        if power(0.0) >= self.power:  # the test is asymptotic: its level may be above alpha
            return self._record(critical, 0.0)
        return self._record(
            critical, root(lambda beyond: power(beyond) - self.power, 0.0, widest, tolerance=_TOLERANCE)
        )

    def _record(self, critical: float | None, detectable: float | None) -> SensitivityRecord:
        whole = float(self.test.table.all_right)
        critical, detectable = (None if one is None else one * whole for one in (critical, detectable))
        return SensitivityRecord(self.power, critical, detectable, "tango_score", exact=False)

    def _least(self, discordant: int) -> int | None:
        """The fewest items that only the tested side has right, of so many discordant ones, for p <= alpha; None if all do not do."""
        if not self._rejects(discordant, discordant):
            return None
        low, high = -1, discordant
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._rejects(middle, discordant) else (middle, high)
        return high

    def _rejects(self, wins: int, discordant: int) -> bool:
        upwards = self.test.question.alternative == "greater"
        u, v = (wins, discordant - wins) if upwards else (discordant - wins, wins)
        return self.test.tail(u, v)[0] <= self.alpha


# The test of a margin


def margin_test(prepared: Prepared, question: Question, budget: Budget) -> MarginTest:
    """Plan the test of a margin; raises InvalidTest at /margin if there is no such test, and PlanTooLarge."""
    if prepared.options.test == "bootstrap":
        raise _not_available("The bootstrap tests a difference of 0 only: use the permutation test")
    test = prepared.test
    options = prepared.options.alone(alternative=question.alternative)
    if options.exchange != "items":
        with engine_errors():
            runs = runs_test(prepared.data, prepared.spec, options, budget, question.difference)
        if not isinstance(test, BothTest):
            return ShiftedTest(question, runs)
        items = replace(prepared, test=test.items, options=replace(options, exchange="items"))
        shifted_items = margin_test(items, question, budget)
        assert isinstance(shifted_items, ShiftedTest)
        return ShiftedTest(question, BothTest(shifted_items.test, runs))
    if isinstance(test, QuantileTest):
        if len(test.form.values) <= 2:
            raise _not_available(
                "The scores have no more than two values, to which no constant difference can be added: compare means"
            )
        with engine_errors():
            moved = shifted_quantiles(test.problem, question.difference)
            return ShiftedTest(question, quantile_test(moved, options, budget))
    if isinstance(test, AdditiveTest | RoundedTest) and test.problem.corrected is not None:
        raise _not_available(f"The difference is corrected, and {NOT_SHIFTED}: leave the margin out")
    if not isinstance(test, AdditiveTest | RoundedTest) or not test.problem.shiftable:
        raise _not_available(
            f"{_KINDS.get(prepared.spec.name, 'This statistic')} has no margin in its own units: {_ADVICE}"
        )
    table = binary_of(test.problem)
    if prepared.fillings is not None:
        if table is not None:
            raise _not_available(
                "Tango's score test of right-or-wrong items has no proven bounds over missing outcomes: leave the margin out, or "
                "set `on_missing=drop`"
            )
        return over_fillings(prepared, lambda filled: margin_test(filled, question, budget))
    if table is not None:
        return _tango(table, question)
    try:
        problem = shifted(test.problem, question.difference)
    except (NotShiftableError, OverflowError) as error:
        # Shiftable effects that cannot be shifted have too fine a lattice.
        raise _not_available(
            "The scores and the margin have too many digits to be summed exactly: round them"
        ) from error
    with engine_errors():
        return ShiftedTest(question, additive_test(problem, options, budget))


_ADVICE = (
    "a margin needs mean_difference, sum_difference, median_difference or quantile_difference of scores, or accuracy, exact_match or token_accuracy of "
    "predictions; leave it out, or give one score per item"
)
_KINDS = {"sign": "The sign test", "signed_rank": "The signed-rank test"}


def _tango(table: PairedBinary, question: Question) -> TangoTest:
    proportion = question.difference / table.all_right
    if abs(proportion) >= 1:
        detail = f"Right-or-wrong items cannot differ by so much: the margin must be below {float(table.all_right):g}."
        raise InvalidTest.at("/margin", "out_of_range", detail)
    return TangoTest(question, table, proportion)


def _not_available(detail: str) -> InvalidTest:
    return InvalidTest.at("/margin", "margin_not_available", f"{detail}.")


# The outcome that is most in favour of a test's alternative: it bounds the least attainable p-value


# Seconds that it may take at least, and as a multiple of the test's.
_SECONDS, _TIMES = 1.0, 1.5
# Use a bound that a sampled p-value exceeds once in 10^12.
_UNSURE = 1e-12
# Standard deviations of a linear part in steps.
_STEPS = 1 << 16
# So many rounds of swaps that improve the statistic one by one.
_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Favoured:
    """The test of such an outcome; None where bounds without it are as good."""

    test: PlannedTest | None
    bound: float = 1.0

    @property
    def seconds(self) -> float:
        """Predicted time of `p_value`."""
        return 0.0 if self.test is None else self.test.seconds

    def p_value(self) -> float:
        """An upper bound of the outcome's p-value, 1 where nothing is known."""
        if self.test is None:
            return self.bound
        try:
            return min(self.bound, _at_most(self.test.solve().answer))
        except (InvalidTest, PlanTooLarge):
            return self.bound


def favoured(test: PlannedTest, budget: Budget) -> Favoured | None:
    """Plan it; None where the least p-value of all outcomes is known without it."""
    if isinstance(test, RoundedTest):
        return Favoured(None, test.attainable_at_most)
    if isinstance(test, BothTest):
        return None if isinstance(test.items, AdditiveTest) else Favoured(None)
    if isinstance(test, AdditiveTest | RunsTest) or (
        isinstance(test, JointTest | QuantileTest | CorrelationTest) and test.knows_attainable
    ):
        return None
    assert isinstance(test, JointTest | QuantileTest | CorrelationTest | BootstrapTest | JointBootstrap)
    options = test.options.alone(method="auto", power=None)
    seconds = max(_SECONDS, _TIMES * test.plan.chosen.seconds)
    less = replace(budget, operations=min(budget.operations, int(1e9 * seconds)))
    try:
        return Favoured(_planned(test, options, less))
    except (InvalidTest, PlanTooLarge):
        return Favoured(None)


def _planned(
    test: JointTest | QuantileTest | CorrelationTest | BootstrapTest | JointBootstrap,
    options: Options,
    budget: Budget,
) -> PlannedTest:
    side = options.alternative
    if isinstance(test, QuantileTest):
        return quantile_test(_quantiles(test.problem, side), options, budget)
    if isinstance(test, CorrelationTest):
        effects, _ = test.problem.line(_STEPS)
        swaps = effects > 0 if side == "less" else effects < 0
        return correlation_test(test.problem.exchanged(np.asarray(swaps)), options, budget)
    if isinstance(test, JointTest):
        return joint_test(_joint(test.problem, side), options, budget)
    if isinstance(test, JointBootstrap):
        return bootstrap_test(_joint(test.problem, side), options, budget)
    problem = test.problem
    swap = -problem.stay if problem.swap is None else problem.swap
    largest, least = np.maximum(problem.stay, swap), np.minimum(problem.stay, swap)
    stay, other = (least, largest) if side == "less" else (largest, least)
    return bootstrap_test(
        replace(problem, stay=stay, swap=None if problem.swap is None else other), options, budget
    )


def _quantiles(problem: Quantiles, side: Alternative) -> Quantiles:
    """Of every unit U has the values with the larger sum, of `less` V."""
    above = problem.u - problem.v
    if problem.codes is not None:
        order = np.argsort(problem.codes, kind="stable")
        sums = np.add.reduceat(above[order], np.flatnonzero(np.diff(problem.codes[order], prepend=-1)))
        above = sums[np.unique(problem.codes, return_inverse=True)[1].reshape(-1)]
    swaps = np.asarray(above > 0 if side == "less" else above < 0, dtype=bool)
    return replace(problem, u=np.where(swaps, problem.v, problem.u), v=np.where(swaps, problem.u, problem.v))


def _joint(problem: Joint, side: Alternative) -> Joint:
    """Swaps that improve the statistic one by one, all together, as often as that improves it."""
    stay, swap = problem.stay.copy(), problem.swap.copy()
    sign = -1.0 if side == "less" else 1.0

    def worth(sums: Integers) -> Reals:
        columns = list(sums.T)
        values = sign * np.asarray(problem.function.values(columns))
        return np.where(problem.function.undefined(columns), -np.inf, values)

    for _ in range(_ROUNDS):
        sums, moves = stay.sum(axis=0), swap - stay
        reached, one_by_one = float(worth(sums[None])[0]), worth(sums + moves)
        order = np.argsort(-one_by_one, kind="stable")
        count = int(np.count_nonzero(one_by_one > reached))
        while count and not worth((sums + moves[order[:count]].sum(axis=0))[None])[0] > reached:
            count //= 2
        if not count:
            break
        chosen = order[:count]
        stay[chosen], swap[chosen] = swap[chosen], stay[chosen]
    return replace(problem, stay=stay, swap=swap)


def _at_most(answer: Answer) -> float:
    """The upper end of a certified p-value, or of a sampled one at much more than its 99 %."""
    drawn = answer.monte_carlo
    if drawn is None:
        return answer.bounds[1]
    beyond, below = drawn.exceedances + 1, drawn.samples - drawn.exceedances
    return float(special.betainccinv(beyond, below, _UNSURE)) if below > 0 else 1.0
