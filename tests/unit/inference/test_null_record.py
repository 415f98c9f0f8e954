"""The null distribution in the statistic's own units."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.statistics.paired import Effects, StatisticSpec
from tests.refusals import refused_alone
from tests.unit.inference.run_shorthands import effects, score

tenths = st.lists(st.integers(-30, 30), min_size=1, max_size=8)


def exact_null(values: list[Fraction], *, absolute: bool = False) -> dict[Fraction, Fraction]:
    ways: Counter[Fraction] = Counter()
    for signs in itertools.product((1, -1), repeat=len(values)):
        total = sum((s * x for s, x in zip(signs, values, strict=True)), Fraction(0))
        ways[abs(total) if absolute else total] += 1
    return {total: Fraction(ways[total], 2 ** len(values)) for total in sorted(ways)}


@settings(max_examples=80)
@given(tenths)
def test_the_full_null_of_a_mean_is_every_value_with_its_probability(tops: list[int]) -> None:
    u, v = [max(t, 0) / 10 for t in tops], [max(-t, 0) / 10 for t in tops]
    null = score(u, v, pmf="full").null
    truth = exact_null([Fraction(t, 10 * len(tops)) for t in tops])
    assert null.pmf is not None
    assert [value for value, _ in null.pmf] == [float(value) for value in truth]
    assert [p for _, p in null.pmf] == pytest.approx([float(p) for p in truth.values()], abs=1e-14)
    assert (null.min, null.max, null.mean) == (float(min(truth)), float(max(truth)), 0.0)
    variance = sum((x * x * p for x, p in truth.items()), Fraction(0))
    assert null.sd == pytest.approx(math.sqrt(variance), rel=1e-12)


@settings(max_examples=80)
@given(tenths, st.booleans())
def test_quantiles_are_the_smallest_values_that_reach_them_or_half_way_to_the_next(
    tops: list[int], absolute: bool
) -> None:
    record = effects([t / 10 for t in tops], expression="abs(x1)" if absolute else "x1", pmf="full")
    truth = exact_null([Fraction(t, 10) for t in tops], absolute=absolute)
    assert record.null.quantiles is not None
    for q, value in record.null.quantiles:
        reached = list(itertools.accumulate(truth.values()))
        low = next(x for x, sum_ in zip(truth, reached, strict=True) if sum_ >= Fraction(q))
        high = next(x for x, sum_ in zip(truth, reached, strict=True) if sum_ > Fraction(q))
        assert value == float((low + high) / 2)


@pytest.mark.parametrize("expression", ["x1", "abs(x1)"])
@settings(max_examples=60)
@given(pairs=st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=8))
def test_the_ends_of_the_null_are_values_it_takes(expression: str, pairs: list[tuple[int, int]]) -> None:
    null = effects([a for a, _ in pairs], [b for _, b in pairs], expression, pmf="full").null
    values = {abs(sum(c)) if expression == "abs(x1)" else sum(c) for c in itertools.product(*pairs)}
    assert (null.min, null.max) == (float(min(values)), float(max(values)))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=8))
def test_the_null_of_an_absolute_sum_of_unrelated_effects_is_right(pairs: list[tuple[int, int]]) -> None:
    stay, swap = [a for a, _ in pairs], [b for _, b in pairs]
    null = effects(stay, swap, "abs(x1)", pmf="full").null
    ways = Counter(abs(sum(chosen)) for chosen in itertools.product(*pairs))
    truth = {value: Fraction(ways[value], 2 ** len(pairs)) for value in sorted(ways)}
    assert null.pmf is not None
    assert [value for value, _ in null.pmf] == [float(value) for value in truth]
    assert [p for _, p in null.pmf] == pytest.approx([float(p) for p in truth.values()], abs=1e-14)
    mean = sum((x * p for x, p in truth.items()), Fraction(0))
    assert null.mean == pytest.approx(float(mean), abs=1e-12)
    variance = sum((x * x * p for x, p in truth.items()), Fraction(0)) - mean * mean
    assert null.sd == pytest.approx(math.sqrt(variance), rel=1e-6, abs=1e-6)
    assert null.max == float(max(truth))


@pytest.mark.parametrize("n", [1, 100, 5000])
def test_the_summary_has_at_most_201_bins_in_ascending_order(n: int) -> None:
    null = score([1] * n, [0] * n, pmf="summary").null
    assert null.pmf is not None
    assert null.pmf_bin_width is not None
    values = [value for value, _ in null.pmf]
    assert 1 <= len(values) <= 201
    assert values == sorted(values)
    assert math.fsum(p for _, p in null.pmf) == pytest.approx(1.0, abs=1e-11)
    steps = {round((b - a) / null.pmf_bin_width, 6) for a, b in itertools.pairwise(values)}
    assert all(step == round(step) >= 1 for step in steps)


def test_nothing_is_shown_where_nothing_was_asked_for() -> None:
    null = score([1, 2, 3], [0, 0, 0], pmf="none").null
    assert (null.pmf, null.quantiles, null.pmf_bin_width) == (None, None, None)
    assert (null.mean, null.min, null.max) == (0.0, -2.0, 2.0)


def test_a_full_null_of_millions_of_points_is_refused_by_its_pointer() -> None:
    with refused_alone(None, "/pmf"):
        score([7 * k + 1000 for k in range(3000)], [0] * 3000, pmf="full")


def test_the_null_is_the_same_whichever_way_the_items_went() -> None:
    """The null knows the sizes of the effects and not their signs."""
    one = score([3, 0, 2, 0], [0, 1, 0, 5], pmf="full").null
    other = score([0, 1, 2, 5], [3, 0, 0, 0], pmf="full").null
    assert one == other


def test_bins_of_the_least_doubles_have_their_values() -> None:
    least = 5e-324
    null = score([0.0, 0.0], [2 * least, 2 * least], "median_difference", pmf="summary").null
    assert null.pmf == ((-2 * least, 0.25), (0.0, 0.5), (2 * least, 0.25))
    assert null.pmf_bin_width == least


def test_a_null_whose_values_differ_by_rounding_alone_is_drawn() -> None:
    # exp(y) exp(-y) is one, or its neighbour among the doubles: the middle of the two is one of them.
    one = "exp(x2/1e3)*exp(-x2/1e3)"
    stay = np.array([[1, 1], [2, 1], [1, 2], [1, 2]])
    swap = np.array([[1, 1], [2, 2], [1, 2], [2, 2]])
    spec = StatisticSpec("expression", {"expression": f"{one}-7*{one}"})
    record = run_test(Effects(stay, swap), spec, Options(alternative="less", pmf="summary"), Budget())
    assert record.p_value == 1.0
    assert record.null.pmf is not None
    assert math.fsum(p for _, p in record.null.pmf) == pytest.approx(1.0, abs=1e-12)
    assert all(math.isclose(value, -6.0) for value, _ in record.null.pmf)
