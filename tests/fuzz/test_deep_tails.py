"""F1 at depths where doubles have long underflowed: against closed forms, and against the test of one sum."""

from __future__ import annotations

import math
from random import Random
from typing import Any, cast

import numpy as np
from hypothesis import example, given, strategies as st

from exactperm.answers.test import TestRecord
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.paired import Counts, Scores, StatisticSpec
from tests.fuzz.amount import GENERATED, examples
from tests.fuzz.deep_cases import deep_case

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
