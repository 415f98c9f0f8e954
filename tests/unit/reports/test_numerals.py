from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from exactperm.presentation.numbers import apart, counted, enclosing, exactly, number, percent, probability

finite = st.floats(allow_nan=False, allow_infinity=False)
p_values = st.floats(min_value=1e-300, max_value=1.0)
alphas = st.floats(min_value=1e-12, max_value=0.999)


def order(left: float, right: float) -> int:
    return (left > right) - (left < right)


def near(center: float) -> st.SearchStrategy[float]:
    """Doubles a few units in the last place to a few per mille away."""
    steps = st.integers(-2_000_000, 2_000_000).map(lambda k: center * (1.0 + k * 1e-9))
    few = st.integers(-50, 50).map(lambda k: center + k * math.ulp(center))
    return st.one_of(steps, few)


@given(st.one_of(p_values, near(0.05)), st.one_of(alphas, st.just(0.05)))
def test_a_written_p_value_stands_where_the_true_one_does(p: float, alpha: float) -> None:
    written = float(probability(p, math.log10(p), alpha))
    assert order(written, float(exactly(alpha))) == order(p, alpha)
    assert (written == 1.0) == (p == 1.0)
    assert written > 0.0


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0499996, "0.0499996"),
        (0.04999999996, "0.04999999996"),
        (0.05, "0.05"),
        (0.0500000001, "0.0500000001"),
    ],
)
def test_alpha_is_never_reached_by_rounding(p: float, text: str) -> None:
    assert probability(p, math.log10(p), 0.05) == text


@pytest.mark.parametrize(
    ("p", "log10_p", "text"),
    [
        (0.0625, math.log10(0.0625), "0.0625"),
        (5e-324, -400.25, "5.623e-401"),
        (5e-324, -399.999999999, "1e-400"),
        (1.0, 0.0, "1"),
        (0.9999999999, math.log10(0.9999999999), "0.9999999999"),
    ],
)
def test_a_p_value_too_small_for_a_double_is_still_told(p: float, log10_p: float, text: str) -> None:
    assert probability(p, log10_p) == text


@given(st.floats(min_value=-1e6, max_value=-300.5))
def test_no_p_value_is_nought_however_small(log10_p: float) -> None:
    written = Decimal(probability(5e-324, log10_p))
    assert written > 0
    assert float(written.log10()) == pytest.approx(log10_p, abs=1e-3)


@given(finite)
def test_only_nought_is_written_as_nought_and_a_sign_is_kept(value: float) -> None:
    assert order(float(number(value)), 0.0) == order(value, 0.0)
    assert number(value) != "-0"


@given(finite, finite)
def test_a_number_compares_with_its_landmark_as_it_does_in_truth(value: float, landmark: float) -> None:
    assert order(float(number(value, landmark)), landmark) == order(value, landmark)


@given(finite)
def test_six_digits_are_right(value: float) -> None:
    assert float(number(value)) == pytest.approx(value, rel=5.000001e-6, abs=0.0)


@given(st.integers(-(10**14), 10**14))
def test_whole_numbers_are_written_in_full(value: int) -> None:
    assert number(float(value)) == str(value)


@given(
    st.one_of(st.tuples(finite, finite), st.floats(0.1, 1).flatmap(lambda x: st.tuples(st.just(x), near(x))))
)
def test_two_scores_look_different_exactly_when_they_are(pair: tuple[float, float]) -> None:
    first, second = map(float, apart(*pair))
    assert order(first, second) == order(*pair)


def test_scores_that_agree_to_six_digits_are_told_apart() -> None:
    assert apart(0.9386309, 0.9386311) == ("0.9386309", "0.9386311")
    assert apart(0.866, 0.82) == ("0.866", "0.82")


@given(finite, finite, st.sampled_from([0.0, 0.05, 1.0]))
def test_what_encloses_for_certain_is_never_drawn_tighter(a: float, b: float, landmark: float) -> None:
    low, high = min(a, b), max(a, b)
    below, above = enclosing(low, high, landmark)
    assert Fraction(below) <= Fraction(repr(low))
    assert Fraction(above) >= Fraction(repr(high))
    assert order(float(below), landmark) == order(low, landmark)
    assert order(float(above), landmark) == order(high, landmark)


def test_an_end_beside_nought_is_not_nought() -> None:
    assert enclosing(1e-9, 0.0700000001, 0.0) == ("1e-09", "0.0700001")
    assert enclosing(-0.02, 0.0, 0.0) == ("-0.02", "0")


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.95, "95 %"),
        (0.9, "90 %"),
        (0.975, "97.5 %"),
        (0.9000000000000001, "90 %"),
        (0.9999999999, "99.99999999 %"),
    ],
)
def test_a_level_is_said_in_percent(share: float, text: str) -> None:
    assert percent(share) == text


def test_one_item_is_one_item() -> None:
    assert [counted(n, "item") for n in (0, 1, 2077)] == ["0 items", "1 item", "2,077 items"]
