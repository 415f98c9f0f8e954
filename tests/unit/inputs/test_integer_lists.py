from __future__ import annotations

import itertools
import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pydantic_core import from_json

from exactperm.inputs import json_text
from exactperm.inputs.json_text import decode

LONG = [-3, 0, 12] * 5_000
WRITTEN = re.compile("(0|-?[1-9][0-9]*)(,(0|-?[1-9][0-9]*))*")  # as integers are written, -0 is not
INT64 = st.integers(-(2**63) + 1, 2**63 - 2)


@given(st.lists(INT64, min_size=1), st.sampled_from([",", ", "]))
def test_a_list_of_integers_is_read_exactly(values: list[int], comma: str) -> None:
    array = json_text.integers(comma.join(map(str, values)).encode())
    assert array is not None
    assert array.tolist() == values


def test_every_short_text_is_taken_as_json_reads_it_or_left_to_the_parser() -> None:
    """All texts of up to five of these characters: wherever a sign, a zero or a comma is one too many or too few."""
    for length in range(1, 6):
        for text in map("".join, itertools.product("019-,", repeat=length)):
            array = json_text.integers(text.encode())
            if array is not None:
                assert array.tolist() == from_json(f"[{text}]"), text
            else:
                assert WRITTEN.fullmatch(text) is None, text


@pytest.mark.slow
@settings(max_examples=2_000)
@given(st.text("0019,,--  .e", max_size=8))
def test_what_is_taken_is_what_the_parser_reads(text: str) -> None:
    array = json_text.integers(text.encode())
    if array is not None:
        assert array.tolist() == from_json(f"[{text}]")


@pytest.mark.parametrize(
    "text",
    ["", " ", "01", "-01", "1,01", "-", "-,1", "- 1", "1,,2", "1,", ",1", "1 2", "+1", "1-2", "--1", "1.0", "1e3", "[1", "true",
     str(2**63 - 1), str(-(2**63)), str(2**63), "9" * 400],
)  # fmt: skip
def test_what_json_refuses_or_64_bits_cannot_hold_is_left_to_the_parser(text: str) -> None:
    assert json_text.integers(text.encode()) is None
    assert json_text.integers(f"1,{text}".encode()) is None


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_long_columns_become_arrays_and_the_rest_stays(separators: tuple[str, str]) -> None:
    request = {"u": LONG, "names": {"u": "[1,2]"}, "v": LONG[::-1], "ids": [1, 2], "alpha": 0.1}
    value = decode(json.dumps(request, separators=separators).encode()).value
    assert isinstance(value["u"], np.ndarray)
    assert value["u"].tolist() == LONG
    assert value["v"].tolist() == LONG[::-1]
    assert {**value, "u": 0, "v": 0} == {**request, "u": 0, "v": 0}


def test_long_columns_of_a_plan_become_arrays_too() -> None:
    value = decode(json.dumps({"kind": "effects", "request": {"stay": LONG}}).encode()).value
    assert value["request"]["stay"].tolist() == LONG


@pytest.mark.parametrize(
    "value",
    [
        {"names": {"u": "x: " + json.dumps(LONG)}, "u": [1]},
        {"names": {"u": json.dumps({"u": LONG})}},
        {"alpha": LONG},
        {"gold": {"a": LONG}, "u": {"a": LONG}},
        {"u": [LONG, LONG]},
        [LONG],
        {"u": LONG, "x": {"u": LONG}},
    ],
    ids=["string", "escaped", "not a column", "by id", "nested", "no object", "too deep"],
)
def test_a_list_that_is_no_column_is_left_to_the_parser(value: Any) -> None:
    for separators in ((",", ":"), (", ", ": ")):
        body = json.dumps(value, separators=separators).encode()
        assert decode(body).value == value


def test_long_lists_of_named_counts_come_as_arrays() -> None:
    value = {"request": {"u": {"tp": LONG, "fp": [1]}, "v": {"tp": LONG, "fp": [2]}}}
    found = decode(json.dumps(value).encode()).value["request"]
    assert found["u"]["tp"].tolist() == found["v"]["tp"].tolist() == LONG
    assert found["v"]["fp"] == [2]
