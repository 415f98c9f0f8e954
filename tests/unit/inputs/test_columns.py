"""Columns of requests: numbers, labels, keys, and how they are paired."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from exactperm.errors import InvalidTest
from exactperm.inputs.alignment import Aligned, ById, align
from exactperm.inputs.columns import keys, labels, numbers
from exactperm.inputs.quoting import quoted
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
def test_inexact_and_infinite_numbers_are_named_by_index(values: list[Any], index: int, code: str) -> None:
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
def test_invalid_labels_are_named_by_place(values: list[Any], pointer: str, code: str) -> None:
    with refused(code, pointer):
        labels(values)


def test_keys_are_strings_or_integers() -> None:
    assert keys(["a", 1]) == ["a", 1]
    with refused(None, "/1"):
        keys(["a", 1.5])


def by_id(**values: int) -> ById:
    return ById(list(values), np.array(list(values.values())))


def paired(u: Any, v: Any, **options: Any) -> Any:
    return align({"/u": u, "/v": v}, **options)


def column(given: ById, aligned: Aligned, pointer: str) -> list[Any]:
    """The values of a column in the common order."""
    order = aligned.order[pointer]
    return list(given.values) if order is None else [given.values[index] for index in order]


@given(st.permutations(range(8)))
def test_pairing_by_id_does_not_depend_on_the_order_of_v(order: list[int]) -> None:
    u = ById([f"i{k}" for k in range(8)], np.arange(8))
    v = ById([f"i{k}" for k in order], np.array(order) * 10)
    result = paired(u, v)
    assert column(v, result, "/v") == [10 * k for k in range(8)]
    assert (result.pairing.matched, result.pairing.only_u, result.pairing.only_v) == (8, 0, 0)


def test_labels_are_reordered_like_numbers() -> None:
    gold, u = ById(["a", "b"], ["N", "V"]), ById(["b", "a"], ["x", "y"])
    result = align({"/gold": gold, "/u": u, "/v": gold})
    assert column(u, result, "/u") == ["y", "x"]


def test_unmatched_ids_are_counted_and_the_first_few_named() -> None:
    u = by_id(**{f"k{i}": i for i in range(10)})
    with pytest.raises(InvalidTest) as caught:
        paired(u, by_id(k0=1, other=2))
    assert "9 of 10 ids in u and 1 of 2 ids in v" in caught.value.detail
    assert [flaw.pointer for flaw in caught.value.flaws] == ["/u", "/v"]
    assert '"k1", "k2", "k3", "k4", "k5" and 4 more' in caught.value.flaws[0].detail
    assert '"other"' in caught.value.flaws[1].detail


def test_dropping_keeps_what_matches_and_counts_the_rest() -> None:
    u, v = by_id(a=1, b=2, c=3), by_id(c=30, d=40, a=10)
    result = paired(u, v, on_missing="drop")
    assert column(u, result, "/u") == [1, 3]
    assert column(v, result, "/v") == [10, 30]
    assert (result.pairing.matched, result.pairing.only_u, result.pairing.only_v) == (2, 1, 1)


@pytest.mark.parametrize(
    ("u", "v", "options", "pointer", "code"),
    [
        ([1, 2], [1], {}, "/v", "length_mismatch"),
        ([], [], {}, "/u", "no_items"),
        (ById([], []), ById([], []), {}, "/u", "no_items"),
        (by_id(a=1), by_id(b=1), {"on_missing": "drop"}, "/u", "no_common_ids"),
        (by_id(a=1), [1], {}, "/v", "mixed_forms"),
        ([1, 2], [1, 2], {"ids": ["a", "a"]}, "/ids/1", "duplicate_id"),
        ([1, 2], [1, 2], {"ids": ["a"]}, "/ids", "length_mismatch"),
        ([1, 2], [1, 2], {"clusters": ["a"]}, "/clusters", "length_mismatch"),
        ([1, 2], [1, 2], {"clusters": {"a": 1}}, "/clusters", "no_ids"),
        (by_id(a=1), by_id(a=1), {"clusters": {"b": 1}}, "/clusters", "unmatched_ids"),
        (by_id(a=1), by_id(a=1), {"clusters": [1]}, "/clusters", "mixed_forms"),
        (by_id(a=1), by_id(a=1), {"ids": ["a"]}, "/ids", "redundant_ids"),
    ],
)
def test_unpairable_columns_are_refused_with_a_pointer(
    u: Any, v: Any, options: dict[str, Any], pointer: str, code: str
) -> None:
    with refused(code, pointer):
        paired(u, v, **options)


@given(st.lists(st.one_of(st.integers(0, 5), st.sampled_from("012ab")), min_size=1))
def test_cluster_codes_follow_the_order_of_first_appearance(keys: list[Any]) -> None:
    pairing = paired(list(keys), list(keys), clusters=keys).pairing
    codes = pairing.clusters.tolist()
    assert pairing.n_clusters == len(set(keys)) == max(codes) + 1
    assert list(dict.fromkeys(codes)) == list(range(pairing.n_clusters))
    assert [codes[i] == codes[0] for i in range(len(keys))] == [key == keys[0] for key in keys]


def test_clusters_keyed_by_id_follow_the_items() -> None:
    result = paired(by_id(a=1, b=2, c=3), by_id(c=1, b=1, a=1), clusters={"c": "x", "a": "x", "b": "y"})
    assert result.pairing.clusters.tolist() == [0, 1, 0]
    listed = paired([1, 2], [1, 2], ids=["a", 7], clusters={"7": "x", "a": "y"})
    assert listed.pairing.clusters.tolist() == [0, 1]


def test_long_and_hostile_ids_are_named_short_and_escaped() -> None:
    text = quoted("\r\n<script>" + "x" * 10_000)
    assert len(text) < 70
    assert "\n" not in text
    assert json.loads(text).startswith("\r\n<script>")
