"""F1 at depths where doubles have long underflowed: against double sums of binomials, and against the test of one sum."""

import functools
import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any, cast

import numpy as np
from hypothesis import example, given, strategies as st
from numpy.typing import NDArray

from exactperm.answers.test import TestRecord
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.paired import Counts, Scores, StatisticSpec
from tests.fuzz.asgi import GENERATED, examples

LongReals = NDArray[np.longdouble]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Deep:
    """`flips` items that one system has right and the other wrong, `won` of them by U; `beside` items that both have
    right, where one has an error more, `against` of them U.

    U's sums are those of two independent binomials, so that the null is known in closed form, and of rank two.
    """

    flips: int
    won: int
    beside: int
    against: int
    side: str

    def counts(self) -> tuple[dict[str, Whole], dict[str, Whole]]:
        """tp and incorrect of every item, of U and of V."""
        won, lost = self.won, self.flips - self.won
        u_tp = np.repeat([1, 0, 1, 1], [won, lost, self.against, self.beside - self.against])
        v_tp = np.repeat([0, 1, 1, 1], [won, lost, self.against, self.beside - self.against])
        u_wrong = np.repeat([0, 2, 1, 0], [won, lost, self.against, self.beside - self.against])
        v_wrong = np.repeat([2, 0, 0, 1], [won, lost, self.against, self.beside - self.against])
        return ({"tp": u_tp, "incorrect": u_wrong}, {"tp": v_tp, "incorrect": v_wrong})

    def log10_p(self) -> float:
        """log10 of the p-value, right to some 1e-12."""
        upper, lower = log_tails(self.flips)
        log_against = log_binomial(self.beside)
        observed = self._difference(self.won, self.against)
        parts = [np.longdouble(-np.inf)]
        for against in range(self.beside + 1):
            # The difference of the F1 grows with `won`: both tails begin where exact fractions say.
            at_least, at_most = self._tails(against, observed)
            if at_least <= self.flips:
                parts.append(upper[at_least] + log_against[against])
            if at_most >= 0:
                parts.append(lower[at_most] + log_against[against])
        logs = np.array(parts)
        peak = logs.max()
        return float((peak + np.log(np.exp(logs - peak).sum())) / np.log(np.longdouble(10)))

    def _tails(self, against: int, observed: Fraction) -> tuple[int, int]:
        """The least `won` of the upper tail and the largest of the lower; flips + 1 and -1 where there is none."""
        every = range(self.flips + 1)
        aim = abs(observed) if self.side == "two-sided" else observed
        at_least, at_most = self.flips + 1, -1
        if self.side != "less":
            at_least = bisect_left(every, aim, key=lambda won: self._difference(won, against))
        if self.side != "greater":
            below = -aim if self.side == "two-sided" else aim
            at_most = bisect_right(every, below, key=lambda won: self._difference(won, against)) - 1
        return at_least, min(at_most, at_least - 1)

    def _difference(self, won: int, against: int) -> Fraction:
        """F1 of U less F1 of V."""
        top_u, top_v = 2 * (won + self.beside), 2 * (self.flips - won + self.beside)
        below_u = top_u + 2 * (self.flips - won) + against
        return Fraction(top_u, below_u) - Fraction(top_v, top_v + 2 * won + self.beside - against)


@functools.lru_cache(maxsize=8)
def log_binomial(n: int) -> LongReals:
    """log of the masses of Binomial(n, 1/2), in 64 bits of mantissa."""
    factorials = np.concatenate(
        ([np.longdouble(0)], np.cumsum(np.log(np.arange(1, n + 1, dtype=np.longdouble))))
    )
    k = np.arange(n + 1)
    return np.asarray(factorials[n] - factorials[k] - factorials[n - k] - n * np.log(np.longdouble(2)))


@functools.lru_cache(maxsize=8)
def log_tails(n: int) -> tuple[LongReals, LongReals]:
    """log P(X >= k) and log P(X <= k) of Binomial(n, 1/2) for k = 0 .. n."""
    masses = log_binomial(n)
    upper = np.logaddexp.accumulate(masses[::-1])[::-1]
    return np.asarray(upper), np.asarray(np.logaddexp.accumulate(masses))


def deep_case(random: Random) -> Deep:
    """Of 2,000 to 100,000 items, with p from 1e-20 to about 1e-5000 (and now and then 1e-20000)."""
    flips = int(10 ** random.uniform(3.3, 5.0))
    beside = random.choice([1, 7, 60, 400, min(flips // 4, 2000)])
    decades = 10 ** random.uniform(1.3, 3.7)
    # A deviation of d standard ones has a tail of about exp(-d^2 / 2).
    away = min((decades * 2.302585 * 2.0) ** 0.5 * flips**0.5 / 2.0, flips / 2.0)
    if random.random() < 0.1:
        away = flips / 2.0 - random.randint(0, 20)
    won = round(flips / 2.0 + away)
    if random.random() < 0.3:
        won = flips - won
    against = random.randint(0, beside)
    side = random.choice(["two-sided", "two-sided", "greater" if 2 * won > flips else "less"])
    return Deep(flips, won, beside, against, side)


# Nine digits of log10 p, at any depth.
DIGITS = 1e-9


def f1(u: dict[str, Any], v: dict[str, Any], side: str) -> TestRecord:
    """The test of F1 as the service runs it, without its picture."""
    options = Options(alternative=cast("Any", side), pmf="none")
    return run_test(Counts(u, v), StatisticSpec("f1"), options, Budget())


@examples(3)
@given(st.integers(0, 2**63))
@example(474620)
def test_f1_of_rank_two_equals_a_double_sum_of_binomials(seed: int) -> None:
    case = deep_case(Random(seed))
    record = f1(*case.counts(), case.side)
    GENERATED["deep F1 tails"] += 1
    assert record.method.exact, case
    bound = record.method.relative_error_bound
    assert bound is not None
    # A subnormal p is rounded to a multiple of the smallest double: that is part of its bound.
    assert bound <= 1e-6 + math.ulp(0.0) / record.p_value, case
    truth = case.log10_p()
    assert abs(record.log10_p_value - truth) <= max(DIGITS, 1e-13 * abs(truth)), (case, record.method.name)


@examples(2)
@given(st.integers(0, 2**63))
def test_f1_where_it_equals_accuracy_is_the_test_of_accuracy(seed: int) -> None:
    """tp = 1 - fp = 1 - fn for every item: F1 is the share of right ones, a mean of one sum."""
    random = Random(seed)
    generator = np.random.default_rng(seed)
    items = int(10 ** random.uniform(3.5, 5.0))
    better = random.uniform(0.55, 0.99)
    u, v = (generator.random(items) < better), (generator.random(items) < random.uniform(0.05, better))
    side = random.choice(["two-sided", "greater"])
    named = [
        {"tp": x.astype(np.int64), "fp": (~x).astype(np.int64), "fn": (~x).astype(np.int64)} for x in (u, v)
    ]
    record = f1(named[0], named[1], side)
    options = Options(alternative=cast("Any", side), pmf="none")
    scores = Scores(u.astype(np.int64), v.astype(np.int64))
    mean = run_test(scores, StatisticSpec("mean_difference"), options, Budget())
    GENERATED["deep F1 tails"] += 1
    assert record.method.exact
    assert abs(record.log10_p_value - mean.log10_p_value) <= max(DIGITS, 1e-13 * abs(mean.log10_p_value))
