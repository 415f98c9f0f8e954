"""Every exact method against the definition, on anything hypothesis comes up with."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exactperm.engine import methods
from exactperm.engine.lattice import canonical_form, sum_by_cluster
from exactperm.engine.one_sum import rational
from exactperm.engine.one_sum.planner import EXACT_METHODS, FRACTION_METHODS
from exactperm.engine.probability import Probability, Region, region, ties_of
from tests.unit.engine.cases import cases, posed
from tests.unit.engine.exact_null import Case, Sums, check, enumerated, exact_p

CLOSE = 1e-12
# Up to here the windows stay short, so that trying every method of a case stays quick.
RANGE = 300_000


@pytest.mark.slow
@pytest.mark.parametrize("method", EXACT_METHODS)
@settings(max_examples=150)
@given(case=cases(max_items=10))
def test_a_method_gives_the_proportion_of_assignments(method: str, case: Case) -> None:
    form, tail = posed(case)
    check(methods.exactly(method, form, tail), enumerated(case), within=CLOSE)


@pytest.mark.parametrize("method", ["fft", "dp", "rational"])
@settings(max_examples=100)
@given(case=cases(max_items=60))
def test_a_method_gives_the_counted_proportion_for_more_items(method: str, case: Case) -> None:
    form, tail = posed(case)
    if form.range <= RANGE:
        check(methods.exactly(method, form, tail), exact_p(case), within=CLOSE)


@pytest.mark.parametrize("method", FRACTION_METHODS)
@settings(max_examples=60)
@given(case=cases(max_items=14))
def test_the_exact_methods_carry_the_fraction_in_lowest_terms(method: str, case: Case) -> None:
    form, tail = posed(case)
    result = methods.exactly(method, form, tail)
    assert result.fraction is not None
    numerator, log2_denominator = result.fraction
    truth = exact_p(case)
    assert (numerator, 2**log2_denominator) == (truth.numerator, truth.denominator)
    # Division of integers rounds once, which is the nearest double to the truth.
    assert result.p == float(truth)


@pytest.mark.parametrize("method", ["fft", "dp"])
@settings(max_examples=100)
@given(
    weights=st.lists(st.integers(0, 30), min_size=1, max_size=14),
    ends=st.tuples(st.integers(0, 400), st.integers(0, 400)),
)
def test_a_single_interval_anywhere_in_the_null_is_right(
    method: str, weights: list[int], ends: tuple[int, int]
) -> None:
    form = canonical_form(np.array(weights, dtype=np.int64))
    low, high = sorted(end % (form.range + 1) for end in ends)
    truth = between(weights, form.offset + form.step * low, form.offset + form.step * high)
    if truth:
        check(methods.exactly(method, form, Region(((low, high),))), truth, within=CLOSE)


def between(weights: list[int], low: int, high: int) -> Fraction:
    sums = Sums([(w, -w) for w in weights])
    return Fraction(sums.at_least(low) - sums.at_least(high + 1), sums.all)


@settings(max_examples=100)
@given(cases(max_items=12))
def test_the_one_sided_tails_share_the_observed_sum_and_nothing_else(case: Case) -> None:
    """P(S >= x) + P(S <= x) = 1 + P(S = x)."""
    p = {}
    for alternative in ("greater", "less"):
        posed_case = dataclasses.replace(case, alternative=alternative, absolute=False)
        form, tail = posed(posed_case)
        fraction = methods.exactly("enumeration", form, tail).fraction
        assert fraction is not None
        p[alternative] = Fraction(fraction[0], 2 ** fraction[1])
    at = sum(1 for total in all_sums(case) if total == case.observed)
    assert p["greater"] + p["less"] == 1 + Fraction(at, 2 ** len(case.stay))


def all_sums(case: Case) -> list[int]:
    sums = [0]
    for stay, swap in case.pairs:
        sums = [total + stay for total in sums] + [total + swap for total in sums]
    return sums


@settings(max_examples=150)
@given(st.data())
def test_items_of_a_cluster_swap_together(data: st.DataObject) -> None:
    case = data.draw(cases(max_items=14))
    codes = data.draw(st.lists(st.integers(0, 5), min_size=len(case.stay), max_size=len(case.stay)))
    names = sorted(set(codes))
    together = [
        (
            sum(pair[0] for pair, code in zip(case.pairs, codes, strict=True) if code == name),
            sum(pair[1] for pair, code in zip(case.pairs, codes, strict=True) if code == name),
        )
        for name in names
    ]
    merged = dataclasses.replace(
        case, stay=tuple(pair[0] for pair in together), swap=tuple(pair[1] for pair in together)
    )
    index = np.array([names.index(code) for code in codes], dtype=np.int64)
    stay, swap = (
        sum_by_cluster(np.array(column, dtype=np.int64), index, len(names))
        for column in zip(*case.pairs, strict=True)
    )
    form = canonical_form(stay, swap)
    tail = region(form, case.observed, case.alternative, absolute=case.absolute)
    for method in ("fft", "dp", "rational") if form.range <= RANGE else ("enumeration",):
        check(methods.exactly(method, form, tail), enumerated(merged), within=CLOSE)


@pytest.mark.parametrize("coins", [1, 2, 3, 64, 488, rational.FEW_COINS, rational.FEW_COINS + 1])
def test_coins_alone_have_binomial_tails_and_ties(coins: int) -> None:
    form = canonical_form(np.ones(coins, dtype=np.int64))
    near = {0, min(7, coins - 1), *((coins // 3, coins // 2) if coins < 500 else ())}
    for high in {*near, coins - 1 - min(near), coins - 1 - max(near)}:
        below, above = range(high + 1), range(high + 1, coins + 1)
        few = sum(math.comb(coins, heads) for heads in min(below, above, key=len))
        tail = few if len(below) <= len(above) else 2**coins - few
        inside, tied = rational.with_ties(form, Region(((0, high),)), (high,))
        assert fraction_of(inside) == Fraction(tail, 2**coins)
        assert fraction_of(tied) == Fraction(math.comb(coins, high), 2**coins)


def fraction_of(probability: Probability) -> Fraction:
    assert probability.fraction is not None
    return Fraction(probability.fraction[0], 2 ** probability.fraction[1])


@given(
    light=st.lists(st.integers(-3, 3), min_size=1, max_size=6),
    heavy=st.lists(st.integers(10**6, 10**12), min_size=1, max_size=4),
    alternative=st.sampled_from(["two-sided", "greater"]),
)
def test_ties_of_a_certain_value_cost_no_window_of_the_heavy_weights(
    light: list[int], heavy: list[int], alternative: Any
) -> None:
    """p = 1 costs nothing, and its mid-p-value no more than the planned transform: a window of 10**12 would not be answered."""
    effects = np.array([*light, *heavy, *(-weight for weight in heavy)], dtype=np.int64)
    form = canonical_form(effects)
    observed = 0 if alternative == "two-sided" else form.offset
    if (observed - form.offset) % form.step:
        observed = form.offset + form.step * (form.range // 2)
    extreme, ties = region(form, observed, alternative), ties_of(form, observed, alternative)
    found, tied = methods.with_ties("fft", form, extreme, ties)
    expected = methods.with_ties("enumeration", form, extreme, ties)
    assert found.p == pytest.approx(expected[0].p, rel=1e-9)
    # A single assignment may be below what a window resolves; then it says so.
    assert abs(tied.p - expected[1].p) <= 1e-12 + tied.relative_error_bound * tied.p
