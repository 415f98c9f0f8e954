from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from exactperm.inputs.alignment import ById, align

from .reading import read_files

CSV = "id,u,v\nfirst,1,0\nsecond,0.5,1\nthird,1,1\n"


def ids(u: Any, v: Any, **options: Any) -> Any:
    return align({"/u": u, "/v": v}, **options).pairing.ids


def test_ids_are_those_that_were_given_and_none_where_there_are_none() -> None:
    u, v = np.array([1, 2, 3]), np.array([3, 2, 1])
    assert ids(u, v) is None
    given = ["x", 5, "z"]
    assert ids(u, v, ids=given) is given


def test_keyed_columns_have_the_ids_that_both_have_in_the_order_of_the_first() -> None:
    u, v = ById(["a", "b", "c"], np.arange(3)), ById(["c", "x", "a"], np.arange(3))
    assert ids(u, v, on_missing="drop") == ["a", "c"]
    same = ById(["a", "b", "c"], np.arange(3))
    assert ids(u, same) is u.ids  # nothing is copied


@pytest.mark.parametrize("content", [CSV, CSV.replace(",", "\t"), CSV.replace("first", '"first"')])
def test_tables_hand_their_ids_on(content: str) -> None:
    reading = read_files("tsv" if "\t" in content else "csv", {"file": content})
    assert list(reading.data.pairing.ids or ()) == ["first", "second", "third"]


def test_counts_in_tables_hand_their_ids_on() -> None:
    content = "id,tp_u,incorrect_u,tp_v,incorrect_v\na,1,0,1,1\nb,2,0,1,1\n"
    assert list(read_files("csv", {"file": content}).data.pairing.ids or ()) == ["a", "b"]


def test_records_hand_their_ids_on() -> None:
    lines = "".join(json.dumps({"id": f"q{k}", "score": k}) + "\n" for k in range(3))
    reversed_lines = "".join(json.dumps({"id": f"q{k}", "score": 1}) + "\n" for k in (2, 0, 1))
    reading = read_files("jsonl", {"u": lines, "v": reversed_lines})
    assert list(reading.data.pairing.ids or ()) == ["q0", "q1", "q2"]


def test_sentences_hand_their_ids_on_where_all_have_one() -> None:
    word = "1\ta\ta\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    files = dict.fromkeys(("gold", "u", "v"), f"# sent_id = s1\n{word}# sent_id = s2\n{word}")
    assert read_files("conllu", files, metric="upos").data.pairing.ids == ["s1", "s2"]
    assert read_files("conllu", files, metric="upos", items="word").data.pairing.ids is None
    some = dict.fromkeys(("gold", "u", "v"), f"# sent_id = s1\n{word}{word}")
    assert read_files("conllu", some, metric="upos").data.pairing.ids is None
