"""Tables, lines, arrays: the same systems as in JSON, and refusals that point to lines and fields."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from exactperm.errors import InputError, InvalidTest, MalformedBody
from tests.unit.service.compare.shorthands import (
    CSV,
    NDJSON,
    NPY,
    TSV,
    by_id,
    flaws,
    npy,
    of_body,
    only,
    parsed,
)


@pytest.mark.parametrize("seed", range(12))
def test_one_board_in_every_media_type(seed: int) -> None:
    chance = random.Random(seed)
    names = chance.sample(["A", "B", "C, the third", "D"], 3)
    ids = [f"q{index}" for index in range(9)]
    board = {name: {key: chance.choice([0, 1, 0.25, -3]) for key in ids} for name in names}
    wanted = only(parsed({"kind": "scores", "systems": board}))
    header = [f'"{name}"' for name in names]
    wide = "\n".join(
        [",".join(["id", *header]), *(",".join([key, *(str(board[n][key]) for n in names)]) for key in ids)]
    )
    rows = [(key, name) for key in ids for name in names]
    long = "\r\n".join(["score,id,system", *(f'{board[name][key]},{key},"{name}"' for key, name in rows)])
    shuffled = chance.sample(rows, len(rows))
    tabs = "\n".join(["id\tsystem\tscore", *(f"{key}\t{name}\t{board[name][key]}" for key, name in shuffled)])
    lines = "\n".join(
        f'{{"id": "{key}", "system": "{name}", "score": {board[name][key]}}}' for key, name in shuffled
    )
    for media_type, body in (
        (CSV, wide),
        (CSV, long),
        (TSV, tabs),
        (NDJSON, lines),
        (NDJSON, lines + "\n\n"),
    ):
        systems = only(of_body(media_type, body))
        assert by_id(systems) == by_id(wanted) == board
        assert list(systems.columns) == sorted(names)
        assert not systems.present
    matrix = np.array([[board[name][key] for name in names] for key in ids])
    import json

    array = only(of_body(NPY, npy(matrix), systems=json.dumps(names)))
    assert {name: list(own.values()) for name, own in by_id(array).items()} == {
        name: list(own.values()) for name, own in board.items()
    }


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "<f4", ">f8", "?", "f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_type(dtype: str, order: str) -> None:
    matrix = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1]], dtype=dtype, order=order)  # type: ignore[call-overload]
    systems = only(of_body(NPY, npy(matrix), systems="C,A,B"))
    for name, column in zip("CAB", matrix.T, strict=True):
        assert np.asarray(systems.columns[name]).tolist() == column.tolist()
    tenths = only(of_body(NPY, npy(np.array([[0.1, 0.2]], dtype=np.float32)), systems="A,B"))
    assert by_id(tenths) == {"A": {"0": 0.1}, "B": {"0": 0.2}}  # as they print, not as doubles


def test_missing_values_of_tables_and_arrays() -> None:
    wide = "id,A,B\nx,1,2\ny,,3\nz,4,NaN\n"
    with pytest.raises(InvalidTest) as refused:
        of_body(CSV, wide)
    assert flaws(refused.value) == [("/line/1/2", "unmatched_ids"), ("/line/1/3", "unmatched_ids")]
    pairwise = of_body(CSV, wide, on_missing="pairwise")
    assert by_id(only(pairwise)) == {"A": {"x": 1, "z": 4}, "B": {"x": 2, "y": 3}}
    assert pairwise.pointer_map("/systems/A/1") == "/line/4/2"
    assert by_id(only(of_body(CSV, wide, on_missing="complete"))) == {"A": {"x": 1}, "B": {"x": 2}}
    gaps = only(of_body(CSV, "A,B,cluster\n1,2,k\n,3,l\n4,5,k\n", on_missing="complete"))
    assert [np.asarray(column).tolist() for column in gaps.columns.values()] == [[1, 4], [2, 5]]
    assert gaps.pairing.n_clusters == 1
    holes = npy(np.array([[1, np.nan], [2, 3]]))
    with pytest.raises(InvalidTest) as infinite:
        of_body(NPY, holes, systems="A,B")
    assert flaws(infinite.value) == [("/0/1", "not_finite")]
    array = of_body(NPY, holes, systems="A,B", on_missing="pairwise")
    assert by_id(only(array)) == {"A": {"row 0": 1, "row 1": 2}, "B": {"row 1": 3}}
    assert array.pointer_map("/systems/B/0") == "/1/1"
    lines = '{"id": 1, "system": "A", "score": null}\n{"id": 1, "system": "B", "score": 1}\n{"id": 2, "system": "A", "score": 0}'
    assert by_id(only(of_body(NDJSON, lines, on_missing="pairwise"))) == {"A": {"2": 0}, "B": {"1": 1}}


def test_large_integers_stay_exact_beside_gaps() -> None:
    wide = f"id,A,B\nx,{2**62 + 1},2\ny,,3\nz,{2**62 + 3},1\n"
    assert by_id(only(of_body(CSV, wide, on_missing="pairwise")))["A"] == {"x": 2**62 + 1, "z": 2**62 + 3}


def test_data_sets_and_clusters_of_tables() -> None:
    long = (
        "dataset,id,system,score,cluster\ne,x,A,1,k\nd,x,A,2,m\nd,x,B,3,m\ne,y,B,5,k\ne,x,B,4,k\ne,y,A,6,k\n"
    )
    comparison = of_body(CSV, long)
    boards = comparison.comparison.datasets
    assert list(boards) == ["d", "e"]
    assert by_id(boards["e"]) == {"A": {"x": 1, "y": 6}, "B": {"x": 4, "y": 5}}
    assert boards["e"].pairing.n_clusters == 1
    assert comparison.pointer_map("/datasets/e/systems/A/1") == "/line/7/4"
    wide = "dataset,id,A,B,C\nd,x,2,3,\ne,x,1,4,7\ne,y,6,5,8\n"
    boards = of_body(CSV, wide).comparison.datasets
    assert by_id(boards["d"]) == {"A": {"x": 2}, "B": {"x": 3}}  # C was not run on d
    assert by_id(boards["e"])["C"] == {"x": 7, "y": 8}
    assert of_body(CSV, wide).comparison.aggregate == "macro"


def test_columns_are_chosen_and_metrics_known() -> None:
    comparison = of_body(CSV, "id,A,B,note,mean\nx,1,2,hm,1\ny,2,1,ah,1\n", systems="B,A")
    assert by_id(only(comparison)) == {"A": {"x": 1, "y": 2}, "B": {"x": 2, "y": 1}}
    assert comparison.reading is not None
    assert comparison.reading.notes == ('2 other columns were skipped: "note", "mean".',)
    wer = of_body(CSV, "id,wer_a,wer_b\nx,1,2\n").comparison.options
    assert (wer.metric, wer.higher_is_better) == ("wer", False)


def test_columns_that_are_no_systems_are_left_out() -> None:
    """An index, runs, other keys, more columns of a long table, and systems that were not chosen."""
    plain = by_id(only(of_body(CSV, "A,B\n1,2\n2,1\n")))
    for table in (",A,B\n0,1,2\n1,2,1\n", "Unnamed: 0,A,B\n0,1,2\n1,2,1\n", "A,B,seed\n1,2,7\n2,1,7\n"):
        assert by_id(only(of_body(CSV, table))) == plain
    keyed = {"A": {"x": 1, "y": 2}, "B": {"x": 2, "y": 1}}
    long = "id,system,score,time\nx,A,1,2\ny,A,2,2\nx,B,2,2\ny,B,1,2\n"
    lines = "\n".join(
        f'{{"question_id": "{key}", "model": "{name}", "correct": {value}, "text": "a: b"}}'
        for name, column in (keyed | {"C": keyed["A"]}).items() for key, value in column.items()
    )  # fmt: skip
    assert by_id(only(of_body(CSV, long))) == keyed
    assert by_id(only(of_body(NDJSON, lines, systems="B,A"))) == keyed
    assert by_id(only(of_body(CSV, "query_id,qid,A,B\nx,7,1,2\ny,9,2,1\n"))) in (
        keyed,
        {"A": {"7": 1, "9": 2}, "B": {"7": 2, "9": 1}},
    )


def test_runs_of_tables_are_samples_of_their_items() -> None:
    """Long and wide, with a column of runs and without."""
    rows = [
        (key, run, name, value)
        for run in (1, 2)
        for key, values in (("x", (1, 0)), ("y", (0, 0)), ("z", (1, 1)))
        for name, value in zip("AB", values, strict=True)
    ]
    long = "id,run,system,score\n" + "".join(
        f"{key},{run},{name},{value}\n" for key, run, name, value in rows
    )
    wide = "id,run,A,B\n" + "".join(
        f"{k},{r},{v},{w}\n" for (k, r, _, v), (*_, w) in zip(rows[::2], rows[1::2], strict=True)
    )
    for table in (long, wide, long.replace("run", "note")):
        systems: Any = only(of_body(CSV, table))
        assert list(systems.pairing.ids) == ["x", "y", "z"]
        assert {name: [column.values.tolist(), column.lengths.tolist()] for name, column in systems.columns.items()} == {
            "A": [[1, 1, 0, 0, 1, 1], [2, 2, 2]], "B": [[0, 0, 0, 0, 1, 1], [2, 2, 2]],
        }  # fmt: skip
    assert [one.code for one in of_body(CSV, long.replace("run", "note")).warnings] == ["choose_runs"]


def test_options_in_the_query() -> None:
    body = "id,A,B\nx,1,2\ny,2,1\n"
    comparison = of_body(
        CSV, body, compare='[["B", "A"]]', alternative="greater", statistic="signed_rank", zero_method="pratt", adjust="bh",
        alpha="0.01", higher_is_better="false", timeout_s="9", pairs="none",
    )  # fmt: skip
    chosen = comparison.comparison
    assert (chosen.pairs, chosen.adjust, chosen.listed) == ((("B", "A"),), "bh", "none")
    assert (chosen.options.alpha, chosen.options.higher_is_better, comparison.timeout_s) == (0.01, False, 9)
    assert (chosen.spec.name, chosen.spec.parameters["zero_method"]) == ("signed_rank", "pratt")
    sets = "dataset,id,A,B\nd,x,1,2\ne,x,2,1\n"
    assert of_body(CSV, sets, aggregate="null").comparison.aggregate is None
    assert of_body(CSV, sets, family="all").comparison.family == "all"


REFUSED: dict[str, tuple[str, str, dict[str, str], str, str]] = {
    "empty": (CSV, "", {}, "", "no_items"),
    "only a header": (CSV, "id,A,B\n", {}, "", "no_items"),
    "no header": (CSV, "1,2\n3,4\n", {}, "/line/1", "no_header"),
    "one system": (CSV, "id,A\nx,1\n", {}, "", "too_few_systems"),
    "no system": (CSV, "id,trial\nx,1\nx,2\ny,1\n", {}, "", "too_few_systems"),
    "a short line": (CSV, "id,A,B\nx,1\n", {}, "/line/2", "wrong_field_count"),
    "a text": (CSV, "id,A,B\nx,1,2\ny,1,b\n", {}, "/line/3/3", "not_a_number"),
    "a text below an empty line": (CSV, "id,A,B\nx,1,2\n\ny,b,1\n", {}, "/line/4/2", "not_a_number"),
    "a text in quotes": (CSV, 'id,A,B\n"x",1,2\n"y",b,1\n', {}, "/line/3/2", "not_a_number"),
    "infinite": (CSV, "id,A,B\nx,1,inf\n", {}, "/line/2/3", "not_a_number"),
    "two columns of one name": (CSV, "id,A,A\nx,1,2\n", {}, "/line/1/3", "duplicate_column"),
    "two ids": (CSV, "id,ID,A,B\nx,1,2,3\n", {}, "/line/1/2", "duplicate_column"),
    "names that look the same": (CSV, "id,\u00e9,e\u0301\nx,1,2\n", {}, "/line/1/2", "similar_names"),
    "an id twice": (CSV, "id,A,B\nx,1,2\nx,1,2\n", {}, "/line/3/1", "duplicate_id"),
    "an id twice, and a gap": (CSV, "id,A,B\nx,1,2\nx,,2\n", {}, "/line/3/1", "duplicate_id"),
    "a data set with one system": (
        CSV, "id,dataset,system,score\nx,d,A,1\nx,d,B,1\nx,e,A,1\n", {}, "", "too_few_systems"
    ),
    "rows missing of a data set": (
        CSV, "id,dataset,system,score\nx,d,A,1\ny,d,A,1\nx,d,B,1\nx,e,A,1\nx,e,B,1\n", {}, "/line/4", "unmatched_ids"
    ),
    "numbers of rows": (CSV, "row,A,B\n1,1,2\n2,2,1\n3,1,0\n4,0,1\n5,1,1\n", {}, "/line/1/1", "index_column"),
    "a column of means": (CSV, "id,A,B,Average\nx,1,2,1.5\n", {}, "/line/1/4", "summary_column"),
    "metrics": (CSV, "id,accuracy,latency\nx,1,2\n", {}, "/line/1", "columns_are_metrics"),
    "a long table without ids": (CSV, "system,score\nA,1\nB,2\n", {}, "/line/1", "choose_id_column"),
    "two values": (CSV, "id,system,score\nx,A,1\nx,B,1\nx,A,1\n", {}, "/line/4", "duplicate_value"),
    "two values, but for blanks": (CSV, "id,system,score\nx,A,1\nx,B,1\nx , A,1\n", {}, "/line/4", "duplicate_value"),
    "two clusters": (CSV, "id,system,score,cluster\nx,A,1,k\nx,B,1,l\n", {}, "/line/3", "cluster_mismatch"),
    "a system without a name": (CSV, "id,system,score\nx,,1\nx,B,1\n", {}, "/line/2", "empty_name"),
    "missing rows": (CSV, "id,system,score\nx,A,1\nx,B,1\ny,A,1\n", {}, "/line/3", "unmatched_ids"),
    "a column that is not there": (CSV, "id,A,B\nx,1,2\n", {"systems": "A,C"}, "/?systems", "unknown_system"),
    "another system of a long table": (CSV, "id,system,score\nx,A,1\n", {"systems": "B"}, "/?systems", "unknown_system"),
    "a column twice": (CSV, "id,A,B\nx,1,2\n", {"systems": "A,A"}, "/?systems", "duplicate_name"),
    "an unknown option": (CSV, "id,A,B\nx,1,2\n", {"pmf": "full"}, "/?pmf", "unknown_parameter"),
    "a wrong option": (CSV, "id,A,B\nx,1,2\n", {"alpha": "2"}, "/?alpha", "less_than"),
    "a wrong statistic": (CSV, "id,A,B\nx,1,2\n", {"statistic": "bleu"}, "/?statistic", "literal_error"),
    "no gold for the statistic": (CSV, "id,A,B\nx,1,2\n", {"statistic": "f1"}, "/line/1", "missing_column"),
    "a wrong parameter": (CSV, "id,A,B\nx,1,2\n", {"zero_method": "no"}, "/?zero_method", "literal_error"),
    "an unknown baseline": (CSV, "id,A,B\nx,1,2\n", {"compare": "baseline", "baseline": "C"}, "/?baseline", "unknown_system"),
    "an unknown name in a pair": (CSV, "id,A,B\nx,1,2\n", {"compare": '[["A", "C"]]'}, "/?compare", "unknown_system"),
    "one-sided": (CSV, "id,A,B\nx,1,2\n", {"alternative": "less"}, "/?alternative", "one_sided_all_pairs"),
    "counts": (CSV, "id,A,B\nx,1,2\n", {"kind": "counts"}, "/?kind", "kind_not_here"),
    "lines without a score": (
        NDJSON, '{"id": 1, "system": "A"}\n{"id": 1, "system": "B"}', {}, "/line/1", "choose_metric"
    ),
    "a line without a score": (
        NDJSON, '{"id": 1, "system": "A", "score": 1}\n{"id": 1, "system": "B"}', {}, "/line/2/score", "missing_field"
    ),
    "another line with more": (
        NDJSON, '{"id": 1, "system": "A", "score": 1}\n\n{"id": 1, "system": "B", "score": 1, "cluster": 3}', {},
        "/line/1/cluster", "not_a_key",
    ),
    "a text for a score": (
        NDJSON, '{"id": 1, "system": "A", "score": 1}\n{"id": 1, "system": "B", "score": "x"}', {},
        "/line/2/score", "not_a_number",
    ),
    "an id that is a list": (NDJSON, '{"id": [1], "system": "A", "score": 1}', {}, "/line/1/id", "not_a_key"),
    "a key twice": (NDJSON, '{"id": 1, "id": 2, "system": "A", "score": 1}', {}, "/line/1", "duplicate_key"),
    "two lines of one item": (
        NDJSON, '{"id": 1, "system": "A", "score": 1}\n{"id": "1", "system": "A", "score": 2}', {},
        "/line/2", "duplicate_value",
    ),
    "another system of lines": (NDJSON, '{"id": 1, "system": "A", "score": 1}', {"systems": "B"}, "/?systems", "unknown_system"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_pointer(case: str) -> None:
    media_type, body, query, pointer, code = REFUSED[case]
    with pytest.raises(InputError) as refused:
        of_body(media_type, body, **query)
    assert flaws(refused.value)[0] == (pointer, code)


def test_arrays_refused() -> None:
    array = npy(np.ones((3, 2)))
    for query, pointer, code in (
        ({}, "/?systems", "missing"),
        ({"systems": "A,B,C"}, "", "wrong_shape"),
        ({"systems": "A"}, "", "wrong_shape"),
        ({"systems": "[1, 2]"}, "/?systems", "not_names"),
        ({"systems": "A, A"}, "/?systems", "duplicate_name"),
        ({"systems": "A, "}, "/?systems", "empty_name"),
    ):
        with pytest.raises(InvalidTest) as refused:
            of_body(NPY, array, **query)
        assert flaws(refused.value) == [(pointer, code)]
    with pytest.raises(InvalidTest) as large:
        of_body(NPY, npy(np.array([[1, 2**63]], dtype=np.uint64)), systems="A,B")
    assert flaws(large.value) == [("/0/1", "integer_too_large")]
    with pytest.raises(MalformedBody):
        of_body(NPY, array[:-3], systems="A,B")


def test_not_text() -> None:
    for media_type in (CSV, NDJSON):
        with pytest.raises(MalformedBody):
            of_body(media_type, b"id,A,B\nx,\xff,2\n")
    with pytest.raises(MalformedBody):
        of_body(CSV, b'id,A,B\nx,"1,2\n')
