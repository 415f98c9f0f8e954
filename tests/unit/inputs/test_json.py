"""JSON: bodies, columns of integers, lines, nested columns, and files of records."""

import itertools
import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pydantic_core import from_json

from exactperm.errors import InputError, InvalidTest, MalformedBody
from exactperm.inputs import json_text
from exactperm.inputs.columns import MAX_COUNT_NAMES, counts_by_item, named_counts, samples, tuples
from exactperm.inputs.json_text import decode, items, may_hold_booleans, records
from exactperm.statistics.columns import taken
from exactperm.statistics.paired import Repeated, Scores
from tests.refusals import refused, refused_alone

from .reading import EXCERPTS, read_files, refuses, refuses_alone

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
        b'{"u":[1],"u":[2]}', b'{"u":{"a":1,"a":1},"v":{}}', b'{"u":{"a":1,"\\u0061":1}}',
        b'{"statistic":{"name":"x","name":"y"}}', b'{"u":[{"a":1,"a":2}]}', b'{"u" :1,"u"\n:2}',
        b'{"gold":[":","a\\":"],"u":1,"u":2}', b'{"a":{"b":{"c":1,"c":1}}}',
    ],
)  # fmt: skip
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
def test_invalid_json_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedBody) as caught:
        decode(body)
    assert len(caught.value.detail) < 200


@pytest.mark.parametrize("word", ["true", "false"])
def test_booleans_are_seen_when_they_stand_in_the_body(word: str) -> None:
    assert may_hold_booleans(f'{{"u":[{word}]}}'.encode())


def test_a_body_of_numbers_holds_no_booleans() -> None:
    assert not may_hold_booleans(b'{"u":[1,2.5e3],"v":[0,1],"names":{"u":"perceptron"}}')


LONG = [-3, 0, 12] * 5_000
WRITTEN = re.compile("(0|-?[1-9][0-9]*)(,(0|-?[1-9][0-9]*))*")  # as integers are written, -0 is not
INT64 = st.integers(-(2**63) + 1, 2**63 - 2)


@given(st.lists(INT64, min_size=1), st.sampled_from([",", ", "]))
def test_a_list_of_integers_is_read_exactly(values: list[int], comma: str) -> None:
    array: Any = json_text.integers(comma.join(map(str, values)).encode())
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
def test_fast_lists_match_the_parser(text: str) -> None:
    array = json_text.integers(text.encode())
    if array is not None:
        assert array.tolist() == from_json(f"[{text}]")


@pytest.mark.parametrize(
    "text",
    ["", " ", "01", "-01", "1,01", "-", "-,1", "- 1", "1,,2", "1,", ",1", "1 2", "+1", "1-2", "--1", "1.0", "1e3", "[1", "true",
     str(2**63 - 1), str(-(2**63)), str(2**63), "9" * 400],
)  # fmt: skip
def test_invalid_and_large_integers_are_left_to_the_parser(text: str) -> None:
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
def test_a_list_that_is_not_a_column_is_left_to_the_parser(value: Any) -> None:
    for separators in ((",", ":"), (", ", ": ")):
        body = json.dumps(value, separators=separators).encode()
        assert decode(body).value == value


def test_long_lists_of_named_counts_come_as_arrays() -> None:
    value = {"request": {"u": {"tp": LONG, "fp": [1]}, "v": {"tp": LONG, "fp": [2]}}}
    found = decode(json.dumps(value).encode()).value["request"]
    assert found["u"]["tp"].tolist() == found["v"]["tp"].tolist() == LONG
    assert found["v"]["fp"] == [2]


def test_lines_are_counted_from_one_and_empty_ones_too() -> None:
    found = list(records(['{"id": 1}', "", '{"id": 2.50}']))
    assert found == [(1, {"id": 1}), (3, {"id": 2.5})]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("{", MalformedBody),
        ("nonsense", MalformedBody),
        ('{"id": 1} {"id": 2}', MalformedBody),
        ("[" * 100_000, MalformedBody),
        ('{"id": ' + "1" * 10_000 + "}", MalformedBody),
        ("[1, 2]", InvalidTest),
        ("3", InvalidTest),
        ('{"id": 1, "id": 2}', InvalidTest),
        ('{"id": 1, "doc": {"a": 1, "a": 1}}', InvalidTest),
    ],
    ids=["cut", "text", "two", "deep", "long-integer", "array", "number", "key-twice", "inner-key-twice"],
)
def test_a_bad_line_is_named(line: str, error: type[InputError]) -> None:
    with refused_alone(None, "/files/u/line/2", error=error):
        list(records(['{"id": 0}', line], "/files/u"))


# Columns with several numbers per item.


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


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_the_flags_of_two_models_by_id() -> None:
    paths = [EXCERPTS / "eus_trivia" / f"{model}.jsonl" for model in ("gpt-4-0613", "gpt-3.5-turbo-0125")]
    reading = read_files("jsonl", dict(zip("uv", paths, strict=True)))
    assert isinstance(reading.data, Scores)
    for column, path in zip((reading.data.u, reading.data.v), paths, strict=True):
        assert isinstance(column, np.ndarray)
        assert column.sum() == path.read_text().count('"correct": true')
        assert column.dtype == np.int64


def test_clusters_are_a_field() -> None:
    paths = dict.fromkeys("uv", EXCERPTS / "eus_trivia" / "gpt-4-0613.jsonl")
    categories = {json.loads(line)["category"] for line in paths["u"].read_text().splitlines()}
    assert read_files("jsonl", paths, clusters="category").data.pairing.n_clusters == len(categories)
    refuses(None, "/files/u/line/1/kategoria", "jsonl", paths, clusters="kategoria")


def test_one_file_wide_long_or_an_array() -> None:
    wide = [{"id": 1, "u": 0.1, "v": 2}, {"id": 2, "u": 0.7, "v": 3}]
    long = [
        {"id": "a", "system": "x", "score": 1},
        {"id": "a", "system": "y", "score": 0},
        {"id": "b", "system": "y", "score": True},
        {"id": "b", "system": "x", "score": None},
    ]
    for content in (lines(*wide), json.dumps(wide), "\n" + lines(*wide)):
        data = read_files("jsonl", {"file": content}).data
        assert isinstance(data, Scores)
        assert isinstance(data.u, np.ndarray)
        assert data.u.tolist() == [0.1, 0.7]
    data = read_files("jsonl", {"file": lines(*long)}, on_missing="drop", system_u="x", system_v="y").data
    assert isinstance(data, Scores)
    assert len(data.u) == 1
    assert data.pairing.only_v == 1


def test_arrays_of_plain_numbers_pair_by_order() -> None:
    assert read_files("jsonl", {"u": "[1, 0, 1]", "v": "[0, 0, 1]"}).data.pairing.matched == 3
    refuses("length_mismatch", None, "jsonl", {"u": "[1, 0, 1]", "v": "[0, 0]"})
    refuses("no_items", None, "auto", {"file": "[{}]"})


def test_several_samples_of_an_item_are_kept_apart() -> None:
    u = lines({"id": 1, "score": [1, 0, 1]}, {"id": 2, "score": [0.5]})
    v = lines({"id": 2, "score": [1]}, {"id": 1, "score": [0, 1, 1]})
    data = read_files("jsonl", {"u": u, "v": v}).data
    assert isinstance(data, Scores)
    assert isinstance(data.u, Repeated)
    assert isinstance(data.v, Repeated)
    assert (data.u.values.tolist(), data.u.lengths.tolist()) == ([1, 0, 1, 0.5], [3, 1])
    assert (data.v.values.tolist(), data.v.lengths.tolist()) == ([0, 1, 1, 1], [3, 1])


def test_another_number_of_samples_is_refused_at_its_line() -> None:
    u = lines({"id": 1, "score": [1, 0, 1]}, {"id": 2, "score": [0.5]})
    v = lines({"id": 2, "score": 1}, {"id": 1, "score": [0, 1]})
    refuses(
        "unequal_repeats", "/files/v/line/2", "jsonl", {"u": u, "v": v}, "2 runs here and 3 in another system"
    )


@pytest.mark.parametrize(
    ("record", "pointer", "code"),
    [
        ({"id": 1, "score": "good"}, "/files/u/line/2/score", "not_a_number"),
        ({"id": 1, "score": {"a": 1}}, "/files/u/line/2/score", "not_a_number"),
        ({"id": 1, "score": None}, "/files/u/line/2", "missing_value"),
        ({"id": 1, "score": float("nan")}, "/files/u/line/2", "missing_value"),
        ({"id": 1, "score": []}, "/files/u/line/2", "missing_value"),
        ({"id": 1, "score": [1, None]}, "/files/u/line/2/score/1", "missing_value"),
        ({"id": 1, "score": float("inf")}, "/files/u/line/2/score", "not_finite"),
        ({"id": 1, "score": 2**63}, "/files/u/line/2/score", "integer_too_large"),
        ({"id": 0, "score": 1}, "/files/u/line/2", "duplicate_id"),
        ({"id": 1.5, "score": 1}, "/files/u/line/2/id", "not_a_key"),
        ({"score": 1}, "/files/u/line/2/id", "not_a_key"),
        ({"id": 1}, "/files/u/line/2/score", "missing_field"),
    ],
    ids=str,
)
def test_a_bad_record_is_named(record: dict[str, Any], pointer: str, code: str) -> None:
    good = {"id": 0, "score": 1}
    refuses_alone(code, pointer, "jsonl", {"u": lines(good, record), "v": lines(good, {"id": 1, "score": 0})})


def test_an_object_over_several_lines_is_refused() -> None:
    text = (
        '{"id":"a","score":1\n"x":2},{"id":"b","score":3}\n'  # two lines and two objects, if they are joined
    )
    refuses("not_json", "/files/u/line/1", "jsonl", {"u": text, "v": text})


def test_several_fields_that_may_be_scores_must_be_chosen() -> None:
    u = lines({"id": 0, "score": 0.5, "correct": True})
    refuses("choose_metric", None, "jsonl", {"u": u, "v": u})
    assert read_files("jsonl", {"u": u, "v": u}, metric="correct").kind == "scores"


def test_names_of_fields_are_those_of_columns_in_any_case() -> None:
    rows = [("b", 0.25, 0.5, "y"), ("a", 1.0, 0.0, "x")]
    table = "ID,U,V,Cluster\n" + "".join(f"{k},{u},{v},{c}\n" for k, u, v, c in rows)
    twin = lines(*({"ID": k, "U": u, "V": v, "Cluster": c} for k, u, v, c in rows))
    one, other = read_files("csv", {"file": table}), read_files("jsonl", {"file": twin})
    for reading in (one, other):
        assert isinstance(reading.data, Scores)
        assert reading.data.pairing.by_id
        assert reading.data.pairing.n_clusters == 2
        assert reading.names is None
        assert np.asarray(reading.data.u).tolist() == [0.25, 1.0]
    long = lines(
        *({"Item": k, "MODEL": s, "Score": x} for k, u, v, _ in rows for s, x in (("a", u), ("b", v)))
    )
    assert read_files("jsonl", {"file": long}, system_u="B").names == ("b", "a")


def test_the_only_field_besides_the_key_holds_the_scores() -> None:
    u, v = ([{"id": n, "bleu": n + more} for n in range(3)] for more in (0, 1))
    assert read_files("jsonl", {"u": lines(*u), "v": lines(*v)}).metric == "bleu"
    more = [{**record, "length": 7} for record in u]
    refuses("choose_metric", None, "jsonl", {"u": lines(*more), "v": lines(*v)})


@pytest.mark.parametrize(
    ("first", "second", "pointer", "code"),
    [
        ({"score": 1}, {"id": 1, "score": 0}, "/files/u/line/1/id", "not_a_key"),
        (
            {"id": 0, "score": 1},
            {"id": 1, "score": 0, "cluster": "x"},
            "/files/u/line/1/cluster",
            "not_a_key",
        ),
    ],
)
def test_a_key_that_only_later_records_have_is_not_overlooked(
    first: dict[str, Any], second: dict[str, Any], pointer: str, code: str
) -> None:
    """Else the items would be paired by their order, or be tested without their clusters."""
    both = lines(first, second)
    refuses_alone(code, pointer, "jsonl", {"u": both, "v": both})


def test_lines_of_several_systems_need_ids_as_tables_do() -> None:
    rows = [("a", 1), ("a", 0), ("b", 0), ("b", 1)]
    table = "system,score\n" + "".join(f"{system},{score}\n" for system, score in rows)
    twin = lines(*({"system": system, "score": score} for system, score in rows))
    for form, content in (("csv", table), ("jsonl", twin)):
        refuses("choose_id_column", None, form, {"file": content})


def test_a_score_beside_another_number_is_not_a_second_system() -> None:
    table = "id,score,latency,answer\nq1,1,0.3,yes\nq2,0,0.2,no\nq3,1,0.9,no\n"
    records = [{"id": f"q{row}", "score": row % 2, "latency": 0.3, "answer": "yes"} for row in range(3)]
    for form, content in (("csv", table), ("jsonl", lines(*records))):
        refuses("choose_system_u", None, form, {"file": content})


def test_three_numbers_or_counts_are_not_two_systems() -> None:
    for more in ({"length": 7}, {"tp_u": 1, "tp_v": 0}):
        record = {"id": 1, **({"gpt": 1, "llama": 0} if "tp_u" not in more else {}), **more}
        refuses("choose_system_u", None, "jsonl", {"file": lines(record)})
