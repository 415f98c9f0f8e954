"""Columns with several numbers per item."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from exactperm.inputs.columns import MAX_COUNT_NAMES, counts_by_item, named_counts, samples, tuples
from exactperm.inputs.json_text import items
from exactperm.statistics.item_order import taken
from exactperm.statistics.paired import Repeated
from tests.refusals import refused

RAGGED = st.lists(st.lists(st.integers(-9, 9), min_size=1, max_size=4), min_size=1, max_size=8)


@given(RAGGED, st.randoms())
def test_repeated_samples_keep_their_items_in_any_order(values: list[list[int]], random: Any) -> None:
    found = samples(values)
    assert isinstance(found, Repeated)
    order = list(range(len(values)))
    random.shuffle(order)
    moved = taken(found, np.array(order, dtype=np.int64))
    parts = np.split(moved.values, np.cumsum(moved.lengths)[:-1])
    assert [part.tolist() for part in parts] == [values[index] for index in order]


def test_one_number_per_item_is_a_plain_column() -> None:
    assert isinstance(samples([1, 2]), np.ndarray)
    assert tuples([1.5, 2]).shape == (2,)
    assert tuples([[1], [2]]).shape == (2,)
    assert tuples([[1, 2], [3, 4], [5, 6]]).tolist() == [[1, 2], [3, 4], [5, 6]]


def test_counts_are_the_same_by_name_and_by_item() -> None:
    by_name = named_counts({"tp": [1, 2], "fp": np.array([3, 4])})
    by_item = counts_by_item([{"tp": 1, "fp": 3}, {"fp": 4, "tp": 2.0}])
    assert len(by_name) == len(by_item) == 2
    for name in ("tp", "fp"):
        assert by_name.columns[name].tolist() == by_item.columns[name].tolist()
        assert by_item.columns[name].dtype == np.int64


@pytest.mark.parametrize(
    ("check", "values", "pointer", "code"),
    [
        (samples, [[1], 2], "/1", "mixed_items"),
        (samples, [1, [2]], "/1", "mixed_items"),
        (samples, [[1], []], "/1", "no_samples"),
        (samples, [[1, 2], [3, float("nan")]], "/1/1", "not_finite"),
        (tuples, [[1, 2], [3]], "/1", "wrong_width"),
        (tuples, [[], []], "/0", "wrong_width"),
        (tuples, [[1] * 101], "/0", "wrong_width"),
        (named_counts, {}, "", "no_counts"),
        (named_counts, {str(n): [1] for n in range(MAX_COUNT_NAMES + 1)}, "", "too_many_counts"),
        (named_counts, {"a/b": [1, -1]}, "/a~1b/1", "not_a_count"),
        (named_counts, {"a": [2**53 + 2]}, "/a/0", "not_a_count"),
        (counts_by_item, [{"a": 1}, {"a": 1, "b": 1}], "/1", "different_counts"),
        (counts_by_item, [{"a": 1}, {"a": True}], "/1/a", "not_a_number"),
    ],
)
def test_the_culprit_is_named_by_its_place(check: Any, values: Any, pointer: str, code: str) -> None:
    with refused(code, pointer):
        check(values)


def test_lines_are_items_and_remember_where_they_stand() -> None:
    columns, lines = items(b'{"id":1,"u":1,"v":0}\r\n\n{"v":[1],"id":"x","u":2}', ("u", "v"))
    assert columns == {"u": [1, 2], "v": [0, [1]], "ids": [1, "x"]}
    assert lines == [1, 3]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (b'{"u":1,"v":1}\n{"u":1}', "/line/2/v"),
        (b'{"u":1,"v":1}\n{"u":1,"v":1,"id":1}', "/line/2/id"),
        (b'{"u":1,"v":1,"id":1}\n{"u":1,"v":1}', "/line/2/id"),
        (b'{"u":1,"v":1,"w":1}', "/line/1/w"),
        (b"\n\n", ""),
    ],
)
def test_lines_of_other_fields_are_refused(body: bytes, pointer: str) -> None:
    with refused(None, pointer):
        items(body, ("u", "v"))
