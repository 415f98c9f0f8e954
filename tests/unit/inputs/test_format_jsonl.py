from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from exactperm.statistics.paired import Repeated, Scores

from .reading import EXCERPTS, read_files, refuses, refuses_alone


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


def test_an_object_that_ends_on_another_line_is_no_line() -> None:
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


def test_the_only_field_that_is_no_key_holds_the_scores() -> None:
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


def test_a_score_beside_another_number_is_no_second_system() -> None:
    table = "id,score,latency,answer\nq1,1,0.3,yes\nq2,0,0.2,no\nq3,1,0.9,no\n"
    records = [{"id": f"q{row}", "score": row % 2, "latency": 0.3, "answer": "yes"} for row in range(3)]
    for form, content in (("csv", table), ("jsonl", lines(*records))):
        refuses("choose_system_u", None, form, {"file": content})


def test_three_numbers_or_counts_are_no_two_systems() -> None:
    for more in ({"length": 7}, {"tp_u": 1, "tp_v": 0}):
        record = {"id": 1, **({"gpt": 1, "llama": 0} if "tp_u" not in more else {}), **more}
        refuses("choose_system_u", None, "jsonl", {"file": lines(record)})
