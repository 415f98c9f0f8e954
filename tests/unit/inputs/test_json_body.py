from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from exactperm.errors import MalformedBody
from exactperm.inputs.json_text import decode, may_hold_booleans
from tests.refusals import refused

TEXT = st.text(st.characters(codec="utf-8"), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : "), ("\n,", "\t:")]), st.booleans())
def test_every_json_value_is_read_as_the_standard_library_reads_it(
    value: Any, separators: tuple[str, str], ascii_only: bool
) -> None:
    body = json.dumps(value, separators=separators, ensure_ascii=ascii_only).encode()
    assert decode(body).value == value
    assert decode(bytearray(body)).value == value


@pytest.mark.parametrize(
    "body",
    [
        b'{"u":[1],"u":[2]}',
        b'{"u":{"a":1,"a":1},"v":{}}',
        b'{"u":{"a":1,"\\u0061":1}}',
        b'{"statistic":{"name":"x","name":"y"}}',
        b'{"u":[{"a":1,"a":2}]}',
        b'{"u" :1,"u"\n:2}',
        b'{"gold":[":","a\\":"],"u":1,"u":2}',
        b'{"a":{"b":{"c":1,"c":1}}}',
    ],
)
def test_a_key_that_stands_twice_is_refused_wherever_it_stands(body: bytes) -> None:
    with refused("duplicate_key"):
        decode(body)


def test_colons_in_labels_are_not_taken_for_keys() -> None:
    value = {"gold": [":", '":', "a : b", ' ":'], "u": {"x:y": 1, '":': 2}}
    assert decode(json.dumps(value).encode()).value == value


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[1,]",
        b"[01]",
        b"[1] x",
        b"\xef\xbb\xbf[1]",
        b'["\xff"]',
        b'["\\ud800"]',
        b'"\n"',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 5_000,
        "[1]".encode("utf-16"),
    ],
)
def test_what_is_not_json_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedBody) as caught:
        decode(body)
    assert len(caught.value.detail) < 200


@pytest.mark.parametrize("word", ["true", "false"])
def test_booleans_are_seen_when_they_stand_in_the_body(word: str) -> None:
    assert may_hold_booleans(f'{{"u":[{word}]}}'.encode())


def test_a_body_of_numbers_holds_no_booleans() -> None:
    assert not may_hold_booleans(b'{"u":[1,2.5e3],"v":[0,1],"names":{"u":"perceptron"}}')
