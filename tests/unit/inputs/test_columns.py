from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from exactperm.errors import InvalidTest
from exactperm.inputs.columns import keys, labels, numbers
from tests.refusals import refused

INT64 = st.integers(-(2**63), 2**63 - 1)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(INT64))
def test_integers_stay_integers_exactly(values: list[int]) -> None:
    column = numbers(values)
    assert column.dtype == np.int64
    assert column.tolist() == values


@given(
    st.lists(st.one_of(FINITE, st.integers(-(2**53), 2**53)), min_size=1).filter(
        lambda v: float in map(type, v)
    )
)
def test_a_mixture_of_decimals_and_small_integers_loses_nothing(values: list[float]) -> None:
    column = numbers(values)
    assert column.dtype == np.float64
    assert column.tolist() == values


@pytest.mark.parametrize(
    ("values", "index", "code"),
    [
        ([1, True], 1, "not_a_number"),
        ([1.5, False], 1, "not_a_number"),
        ([1, "2"], 1, "not_a_number"),
        ([1, 2.5, None], 2, "not_a_number"),
        ([{}, 1], 0, "not_a_number"),
        ([1.0, float("nan")], 1, "not_finite"),
        ([float("-inf"), 1], 0, "not_finite"),
        ([1, 2**63], 1, "integer_too_large"),
        ([10**400, 1.5], 0, "integer_too_large"),
        ([1.5, 10**400], 1, "integer_too_large"),
        ([0.5, 2**53 + 1], 1, "integer_too_large"),
        ([[1, 0], [1, 1]], 0, "not_a_number"),
    ],
)
def test_what_is_not_an_exact_finite_number_is_named_by_its_index(
    values: list[Any], index: int, code: str
) -> None:
    with refused(code, f"/{index}"):
        numbers(values)


def test_only_the_first_few_culprits_are_named() -> None:
    with pytest.raises(InvalidTest) as caught:
        numbers(["x"] * 100_000)
    assert [flaw.pointer for flaw in caught.value.flaws] == [f"/{index}" for index in range(5)]


@pytest.mark.parametrize("values", [["a", 1, "1"], [["a"], [], [1, "b"]], []])
def test_labels_are_strings_or_integers_or_lists_of_them(values: list[Any]) -> None:
    assert labels(values) is values


@pytest.mark.parametrize(
    ("values", "pointer", "code"),
    [
        (["a", None], "/1", "not_a_label"),
        (["a", True], "/1", "not_a_label"),
        (["a", 1.0], "/1", "not_a_label"),
        (["a", ["b"]], "/1", "mixed_items"),
        ([["a"], "b"], "/1", "mixed_items"),
        ([["a"], ["b", ["c"]]], "/1/1", "not_a_label"),
        ([["a"], ["b", None]], "/1/1", "not_a_label"),
    ],
)
def test_what_is_not_a_label_is_named_by_its_place(values: list[Any], pointer: str, code: str) -> None:
    with refused(code, pointer):
        labels(values)


def test_keys_are_strings_or_integers() -> None:
    assert keys(["a", 1]) == ["a", 1]
    with refused(None, "/1"):
        keys(["a", 1.5])
