from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.errors import InputError
from app.statistics.paired import Repeated, Scores

from .conftest import Read

Refusal = Callable[..., InputError]


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_the_flags_of_two_models_by_id(read_files: Read, excerpts: Path) -> None:
    paths = [excerpts / "eus_trivia" / f"{model}.jsonl" for model in ("gpt-4-0613", "gpt-3.5-turbo-0125")]
    reading = read_files("jsonl", dict(zip("uv", paths, strict=True)))
    assert isinstance(reading.data, Scores)
    for column, path in zip((reading.data.u, reading.data.v), paths, strict=True):
        assert isinstance(column, np.ndarray)
        assert column.sum() == path.read_text().count('"correct": true')
        assert column.dtype == np.int64


def test_clusters_are_a_field(read_files: Read, refusal: Refusal, excerpts: Path) -> None:
    paths = dict.fromkeys("uv", excerpts / "eus_trivia" / "gpt-4-0613.jsonl")
    categories = {json.loads(line)["category"] for line in paths["u"].read_text().splitlines()}
    assert read_files("jsonl", paths, clusters="category").data.pairing.n_clusters == len(categories)
    assert refusal("jsonl", paths, clusters="kategoria").flaws[0].pointer == "/files/u/line/1/kategoria"


def test_one_file_wide_long_or_an_array(read_files: Read) -> None:
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


def test_arrays_of_plain_numbers_pair_by_order(read_files: Read, refusal: Refusal) -> None:
    assert read_files("jsonl", {"u": "[1, 0, 1]", "v": "[0, 0, 1]"}).data.pairing.matched == 3
    assert refusal("jsonl", {"u": "[1, 0, 1]", "v": "[0, 0]"}).flaws[0].code == "length_mismatch"


def test_several_samples_of_an_item_are_kept_apart(read_files: Read) -> None:
    u = lines({"id": 1, "score": [1, 0, 1]}, {"id": 2, "score": [0.5]})
    v = lines({"id": 2, "score": [1, 1]}, {"id": 1, "score": 0})
    data = read_files("jsonl", {"u": u, "v": v}).data
    assert isinstance(data, Scores)
    assert isinstance(data.u, Repeated)
    assert isinstance(data.v, Repeated)
    assert (data.u.values.tolist(), data.u.lengths.tolist()) == ([1, 0, 1, 0.5], [3, 1])
    assert (data.v.values.tolist(), data.v.lengths.tolist()) == ([0, 1, 1], [1, 2])


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
def test_a_bad_record_is_named(record: dict[str, Any], pointer: str, code: str, refusal: Refusal) -> None:
    good = {"id": 0, "score": 1}
    error = refusal("jsonl", {"u": lines(good, record), "v": lines(good, {"id": 1, "score": 0})})
    assert [(flaw.pointer, flaw.code) for flaw in error.flaws] == [(pointer, code)]


def test_several_fields_that_may_be_scores_must_be_chosen(refusal: Refusal, read_files: Read) -> None:
    u = lines({"id": 0, "score": 0.5, "correct": True})
    assert refusal("jsonl", {"u": u, "v": u}).flaws[0].code == "choose_metric"
    assert read_files("jsonl", {"u": u, "v": u}, metric="correct").kind == "scores"
