"""Which values of T are at least as extreme: the definition, value by value."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from exactperm.engine.probability import CERTAIN, Probability, add, from_fraction
from tests.unit.engine.cases import cases, posed
from tests.unit.engine.exact_null import Case, miss


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=8),
    st.sampled_from(["two-sided", "greater", "less"]),
    st.booleans(),
)
def test_a_value_is_in_the_region_exactly_when_it_is_as_extreme(
    pairs: list[tuple[int, int]], alternative: str, absolute: bool
) -> None:
    stay, swap = zip(*pairs, strict=True)
    case = Case(stay, swap, alternative, absolute)  # type: ignore[arg-type]
    form, tail = posed(case)
    for t in range(form.range + 1):
        inside = any(low <= t <= high for low, high in tail.intervals)
        assert inside == case.extreme(form.offset + form.step * t)


@given(cases(max_items=20))
def test_intervals_are_ascending_disjoint_and_inside_the_support(case: Case) -> None:
    form, tail = posed(case)
    assert tail.intervals
    ends = [end for interval in tail.intervals for end in interval]
    assert ends == sorted(ends)
    assert ends[0] >= 0
    assert ends[-1] <= form.range
    assert all(
        after[0] > before[1] + 1 for before, after in zip(tail.intervals, tail.intervals[1:], strict=False)
    )


@given(st.integers(1, 2**80), st.integers(0, 3000))
def test_a_fraction_is_reduced_and_its_logarithm_right(numerator: int, log2_denominator: int) -> None:
    log2_denominator = max(log2_denominator, numerator.bit_length())
    truth = Fraction(numerator, 2**log2_denominator)
    result = from_fraction(numerator, log2_denominator)
    assert result.fraction == (truth.numerator, truth.denominator.bit_length() - 1)
    assert miss(result, truth).relative <= result.relative_error_bound


@pytest.mark.parametrize("below_one", [1, 3, 2**40])
def test_a_fraction_next_to_one_keeps_its_distance_from_one(below_one: int) -> None:
    result = from_fraction(2**100 - below_one, 100)
    assert result.log_p == pytest.approx(-below_one / 2.0**100, rel=1e-9)


def test_p_is_never_zero_and_its_logarithm_says_how_small() -> None:
    tiny = Probability(-1e6, 1e-9)
    assert tiny.p == math.ulp(0.0)
    assert tiny.log10_p == pytest.approx(-1e6 / math.log(10), rel=1e-15)
    assert from_fraction(1, 10**6).p == math.ulp(0.0)
    assert CERTAIN.p == 1.0


@given(st.lists(st.tuples(st.integers(1, 2**60), st.integers(0, 1100)), min_size=1, max_size=5))
def test_sums_of_disjoint_events_stay_within_the_bound_of_the_sum(parts: list[tuple[int, int]]) -> None:
    truth = sum((Fraction(top, 2 ** (70 + depth)) for top, depth in parts), Fraction(0))
    exact = add([from_fraction(top, 70 + depth) for top, depth in parts])
    assert exact.fraction is not None
    assert Fraction(exact.fraction[0], 2 ** exact.fraction[1]) == truth
    rounded = [from_fraction(top, 70 + depth) for top, depth in parts]
    logs = [Probability(part.log_p, 2.0**-52 * (1 + abs(part.log_p))) for part in rounded]
    total = add(logs)
    assert miss(total, truth).relative <= total.relative_error_bound
