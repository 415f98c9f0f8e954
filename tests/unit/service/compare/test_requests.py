"""Requests to compare systems: bodies, other bodies, refusals."""

import random
from typing import Any, Literal

import numpy as np
import pytest
from pydantic_core import from_json

from exactperm.errors import BodyTooLarge, InputError, InvalidTest, MalformedBody
from exactperm.statistics.paired import Repeated
from tests.binary import npy
from tests.settings_with import settings_with

from .shorthands import CSV, NDJSON, NPY, TSV, by_id, flaws, of_body, only, parsed

# A JSON request becomes a comparison: items by id, choices, directions, warnings, pointers back.


A, B = [1, 0, 1], [1, 1, 0]


def random_board(seed: int) -> dict[str, dict[str, int]]:
    """Systems by id, each in a different order, some lacking items."""
    chance = random.Random(seed)
    ids = [f"q{index}" for index in range(12)]
    board = {}
    for name in chance.sample("ABCDE", chance.randint(2, 5)):
        own = [key for key in ids if chance.random() < 0.8] or ids
        chance.shuffle(own)
        board[name] = {key: chance.randint(0, 9) for key in own}
    return board


@pytest.mark.parametrize("seed", range(40))
def test_missing_items_by_brute_force(seed: int) -> None:
    board = random_board(seed)
    request = {"kind": "scores", "systems": board}
    pairwise = parsed({**request, "on_missing": "pairwise"})
    systems = only(pairwise)
    assert list(systems.columns) == sorted(board)
    assert by_id(systems) == board
    assert all((np.diff(own) > 0).all() for own in systems.present.values())
    everything = set().union(*board.values())
    assert set(systems.present) == {name for name, own in board.items() if set(own) != everything}
    common = set.intersection(*(set(own) for own in board.values()))
    if common:
        complete = only(parsed({**request, "on_missing": "complete"}))
        assert by_id(complete) == {name: {key: own[key] for key in common} for name, own in board.items()}
        assert not complete.present
    shuffled = dict(sorted(board.items(), key=lambda item: hash((seed, item[0]))))
    again = only(parsed({"kind": "scores", "systems": shuffled, "on_missing": "pairwise"}))
    assert again.pairing.ids == systems.pairing.ids  # the order of the systems decides nothing
    assert by_id(again) == board


@pytest.mark.parametrize("seed", range(10))
def test_pointers_lead_back_to_the_ids(seed: int) -> None:
    board = random_board(seed)
    comparison = parsed({"kind": "scores", "systems": board, "on_missing": "pairwise"})
    systems = only(comparison)
    for name, column in systems.columns.items():
        for index, value in enumerate(np.asarray(column)):
            key = comparison.pointer_map(f"/systems/{name}/{index}").rpartition("/")[2]
            assert board[name][key] == value
    assert comparison.pointer_map("/adjust") == "/adjust"
    assert comparison.pointer_map("/systems/A") == "/systems/A"


def test_pointers_into_data_sets_and_counts() -> None:
    one = {
        "A": {"x": {"tp": 1, "fp": 0}, "y": {"tp": 1, "fp": 2}},
        "B": {"y": {"tp": 0, "fp": 0}, "x": {"tp": 3, "fp": 1}},
    }
    comparison = parsed(
        {"kind": "counts", "datasets": {"d/e": {"systems": one}}, "statistic": {"name": "precision"}}
    )
    assert comparison.pointer_map("/datasets/d~1e/systems/B/tp/0") == "/datasets/d~1e/systems/B/x/tp"
    columns: Any = only(comparison).columns
    assert np.asarray(columns["B"]["tp"]).tolist() == [3, 0]


def test_a_matrix_is_its_columns() -> None:
    matrix = [[1, 0.5], [0, 2], [1, 0.25]]
    comparison = parsed({"kind": "scores", "systems": ["B", "A"], "scores": matrix, "ids": [1, 2, 3]})
    systems = only(comparison)
    assert {name: np.asarray(column).tolist() for name, column in systems.columns.items()} == {
        "A": [0.5, 2, 0.25], "B": [1, 0, 1],
    }  # fmt: skip
    assert np.asarray(systems.columns["B"]).dtype == np.int64
    assert comparison.pointer_map("/systems/A/2") == "/scores/2/1"


def test_long_lists_of_integers_are_arrays_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from exactperm.inputs import json_text

    long = [index % 3 for index in range(9_000)]
    bodies: list[dict[str, Any]] = [
        {"systems": {"A": long, "B": long}},
        {"systems": {"A": {"tp": long}, "B": {"tp": long}}},
        {"datasets": {"d": {"systems": {"A": long, "B": {"tp": long}}, "clusters": long}}},
    ]
    for body in bodies:
        text = json_text.text_of(body).encode()
        rest, arrays = json_text.cut(text)
        assert len(arrays) == text.count(b"[")
        value = from_json(rest)
        assert json_text.put_back(value, arrays)
    labels = {"gold": {"a": [1]}, "systems": {"A": {"a": long}, "B": {"a": long}}}
    rest, arrays = json_text.cut(json_text.text_of(labels).encode())
    assert not json_text.put_back(from_json(rest), arrays)  # there a list is an item
    assert only(parsed({"kind": "predictions", **labels})).columns["A"] == [long]


def test_repeated_samples_and_decimals() -> None:
    systems = only(
        parsed({"kind": "scores", "systems": {"A": [[0.123, 1], [2]], "B": [[0, 0.456], [1]]}, "decimals": 1})
    )
    repeated = systems.columns["A"]
    assert isinstance(repeated, Repeated)
    assert (repeated.values.tolist(), repeated.lengths.tolist()) == ([0.1, 1, 2], [2, 1])
    other = systems.columns["B"]
    assert isinstance(other, Repeated)
    assert (other.values.tolist(), other.lengths.tolist()) == ([0, 0.5, 1], [2, 1])


def test_texts_become_segments() -> None:
    request = {
        "kind": "predictions",
        "systems": {"B": ["a b", "c"], "A": ["a", "d"]},
        "gold": [["a b", "b a"], ["c"]],
    }
    systems = only(parsed({**request, "statistic": {"name": "chrf"}}))
    assert systems.kind == "segments"
    assert systems.gold == [["a b", "b a"], ["c"]]
    assert systems.columns == {"A": ["a", "d"], "B": ["a b", "c"]}


def test_gold_by_id_takes_part_in_the_matching() -> None:
    request = {
        "kind": "predictions", "on_missing": "pairwise", "gold": {"p": "x", "q": "y"},
        "systems": {"A": {"q": "y", "p": "y", "r": "x"}, "B": {"q": "x"}},
    }  # fmt: skip
    systems = only(parsed(request))
    assert systems.pairing.ids == ["q", "p"]
    assert systems.gold == ["y", "x"]
    assert by_id(systems) == {"A": {"q": "y", "p": "y"}, "B": {"q": "x"}}


def test_clusters_by_id() -> None:
    request = {
        "kind": "scores", "systems": {"A": {"p": 1, "q": 2, "r": 3}, "B": {"r": 1, "q": 2, "p": 3}},
        "clusters": {"p": "k", "r": "k", "q": "l"},
    }  # fmt: skip
    pairing: Any = only(parsed(request)).pairing
    assert pairing.clusters.tolist() == [0, 1, 0]


def test_choices() -> None:
    plain = parsed({"kind": "scores", "systems": {"A": A, "B": B}}).comparison
    assert (plain.design, plain.adjust, plain.family, plain.aggregate, plain.listed) == (
        "all_pairs", "holm", "dataset", None, "all",
    )  # fmt: skip
    assert plain.options.higher_is_better is True
    two = {"d": {"systems": {"A": A, "B": B}}, "c": {"systems": {"A": [1], "B": [0]}}}
    both = parsed({"kind": "scores", "datasets": two}).comparison
    assert (list(both.datasets), both.aggregate) == (["c", "d"], "macro")
    without = parsed({"kind": "scores", "datasets": two, "aggregate": None, "family": "all"}).comparison
    assert (without.aggregate, without.family) == (None, "all")
    pairs = parsed(
        {"kind": "scores", "systems": {"A": A, "B": B}, "compare": [["B", "A"]], "alternative": "less"}
    ).comparison
    assert (pairs.design, pairs.pairs, pairs.options.alternative) == ("pairs", (("B", "A"),), "less")
    assert parsed({"kind": "scores", "systems": {"A": A, "B": B}, "timeout_s": 1e9}).timeout_s == 600


def test_directions() -> None:
    counts = {"A": {"errors": [1], "words": [2]}, "B": {"errors": [1], "words": [3]}}
    ratio = {"name": "ratio", "numerator": "errors", "denominator": "words"}
    lower = parsed({"kind": "counts", "systems": counts, "statistic": ratio})
    assert lower.comparison.options.higher_is_better is False
    against = parsed({"kind": "counts", "systems": counts, "statistic": ratio, "higher_is_better": True})
    assert against.comparison.options.higher_is_better is True
    assert [warning.code for warning in against.warnings] == ["direction_contradicts_name"]
    ter = {
        "kind": "predictions",
        "systems": {"A": ["a"], "B": ["b"]},
        "gold": ["a"],
        "statistic": {"name": "ter"},
    }
    assert parsed(ter).comparison.options.higher_is_better is False


def test_warnings() -> None:
    def codes(request: dict[str, Any]) -> list[str]:
        return [warning.code for warning in parsed(request).warnings]

    rows = {"A": {"p": 1, "q": 0, "mean": 0.5}, "B": {"p": 1, "q": 1, "mean": 1}}
    assert codes({"kind": "scores", "systems": rows}) == ["summary_row"]
    labels = {
        "kind": "predictions",
        "gold": ["yes", "no"],
        "systems": {"A": ["YES", "NO"], "B": ["yes", "yes"]},
    }
    assert codes(labels) == ["labels_never_match"]
    some = {"A": {"p": 1}, "B": {"p": 1, "q": 1}}
    assert codes({"kind": "scores", "systems": some, "on_missing": "pairwise"}) == ["items_differ"]
    assert codes({"kind": "scores", "systems": some, "on_missing": "complete"}) == ["items_left_out"]


def test_query_of_a_json_body() -> None:
    from exactperm.errors import InvalidTest

    body = '{"kind": "scores", "systems": {"A": [1], "B": [0]}}'
    of_body("application/json", body, format="json", picture="bars", timeout_s="3")
    with pytest.raises(InvalidTest, match="adjust"):
        of_body("application/json", body, adjust="bh")


# Tables, lines, arrays: the same systems as in JSON, and refusals that point to lines and fields.


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
def test_arrays_of_any_type(dtype: str, order: Literal["C", "F"]) -> None:
    matrix = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1]], dtype=dtype, order=order)
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
    comparison: Any = of_body(CSV, "id,A,B,note,mean\nx,1,2,hm,1\ny,2,1,ah,1\n", systems="B,A")
    assert by_id(only(comparison)) == {"A": {"x": 1, "y": 2}, "B": {"x": 2, "y": 1}}
    assert comparison.reading.notes == ('2 other columns were skipped: "note", "mean".',)
    wer = of_body(CSV, "id,wer_a,wer_b\nx,1,2\n").comparison.options
    assert (wer.metric, wer.higher_is_better) == ("wer", False)


def test_columns_that_are_not_systems_are_left_out() -> None:
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


# What is not a comparison is refused with a pointer, and a sentence that says what to do: beside those of
# tests/api/test_compare.py.


ROW_A, ROW_B, C = [1, 0, 1], [1, 1, 0], [0, 0, 0]
TWO = {"A": ROW_A, "B": ROW_B}
THREE = {**TWO, "C": C}
COUNTS = {"A": {"tp": [1], "fp": [0]}, "B": {"tp": [1], "fp": [1]}}
LABELS = {"A": ["x", "y"], "B": ["x", "x"]}


def scores(**members: Any) -> dict[str, Any]:
    return {"kind": "scores", "systems": TWO, **members}


def datasets(**boards: Any) -> dict[str, Any]:
    return {"kind": "scores", "datasets": boards}


MATRIX: dict[str, Any] = {"kind": "scores", "systems": ["A", "B"], "scores": [[1, 0], [0, 1]]}

NO_COMPARISONS: dict[str, tuple[Any, str, str]] = {
    "other kind": (scores(kind="effects"), "/kind", "literal_error"),
    "unknown field": (scores(u=[1]), "/u", "unknown_field"),
    "no systems": ({"kind": "scores"}, "/systems", "missing"),
    "systems are a number": (scores(systems=3), "/systems", "systems"),
    "no system": (scores(systems={}), "/systems", "too_few_systems"),
    "a column that is a number": (scores(systems={"A": ROW_A, "B": 1}), "/systems/B", "not_a_column"),
    "a boolean": (scores(systems={"A": ROW_A, "B": [1, True, 0]}), "/systems/B/1", "not_a_number"),
    "null": (scores(systems={"A": ROW_A, "B": [1, None, 0]}), "/systems/B/1", "not_a_number"),
    "NaN": (scores(systems={"A": ROW_A, "B": [1, float("nan"), 0]}), "/systems/B/1", "not_finite"),
    "NaN by id": (
        scores(systems={"A": {"q": 1}, "B": {"q": float("inf")}}), "/systems/B/q", "not_finite"
    ),
    "a name to escape": (scores(systems={"A": ROW_A, "a/b~c": [1, "x", 0]}), "/systems/a~1b~0c/1", "not_a_number"),
    "no items": (scores(systems={"A": [], "B": []}), "/systems/A", "no_items"),
    "other lengths": (scores(systems={"A": ROW_A, "B": [1]}), "/systems/B", "length_mismatch"),
    "lists and objects": (scores(systems={"A": ROW_A, "B": {"q": 1}}), "/systems/A", "mixed_forms"),
    "ids that do not match": (
        scores(systems={"A": {"p": 1, "q": 1}, "B": {"q": 1}}), "/systems/B", "unmatched_ids"
    ),
    "no common id": (
        scores(systems={"A": {"p": 1}, "B": {"q": 1}}, on_missing="complete"), "/systems/A", "no_common_ids"
    ),
    "ids twice": (scores(systems={"A": {"p": 1}, "B": {"p": 1}}, ids=["p"]), "/ids", "redundant_ids"),
    "repeated ids": (scores(ids=["p", "q", "p"]), "/ids/2", "duplicate_id"),
    "too few clusters": (scores(clusters=["k"]), "/clusters", "length_mismatch"),
    "clusters by id without ids": (scores(clusters={"p": 1}), "/clusters", "no_ids"),
    "clusters without an id": (
        scores(systems={"A": {"p": 1}, "B": {"p": 1}}, clusters={"q": 1}), "/clusters", "unmatched_ids"
    ),
    "clusters by order": (
        scores(systems={"A": {"p": 1}, "B": {"p": 1}}, clusters=["k"]), "/clusters", "mixed_forms"
    ),
    "empty name": (scores(systems={"": ROW_A, "B": ROW_B}), "/systems/", "empty_name"),
    "blank name": (scores(systems={" \u200b": ROW_A, "B": ROW_B}), "/systems/ \u200b", "empty_name"),
    "long name": (scores(systems={"A" * 201: ROW_A, "B": ROW_B}), "/systems/" + "A" * 40, "name_too_long"),
    "blanks around a name": (scores(systems={"A": ROW_A, "A ": ROW_B}), "/systems/A ", "similar_names"),
    "another Unicode form": (
        scores(systems={"\u00e9": ROW_A, "e\u0301": ROW_B}), "/systems/\u00e9", "similar_names"
    ),
    "scores without names": (scores(scores=[[1, 0]]), "/scores", "redundant"),
    "names without scores": (scores(systems=["A", "B"]), "/scores", "missing"),
    "a name twice": ({**MATRIX, "systems": ["A", "A"]}, "/systems/1", "duplicate_name"),
    "one column": ({**MATRIX, "systems": ["A"], "scores": [[1]]}, "/systems", "too_few_systems"),
    "an empty name of a column": ({**MATRIX, "systems": ["A", ""]}, "/systems/1", "empty_name"),
    "a ragged matrix": ({**MATRIX, "scores": [[1, 0], [1]]}, "/scores/1", "ragged"),
    "too wide a matrix": ({**MATRIX, "scores": [[1, 0, 1]]}, "/scores/0", "ragged"),
    "a row that is a number": ({**MATRIX, "scores": [[1, 0], 3]}, "/scores/1", "not_a_row"),
    "no rows": ({**MATRIX, "scores": []}, "/scores", "no_items"),
    "a text in a matrix": ({**MATRIX, "scores": [[1, 0], [1, "0"]]}, "/scores/1/1", "not_a_number"),
    "a boolean in a matrix": ({**MATRIX, "scores": [[1, 0], [True, 0]]}, "/scores/1/0", "not_a_number"),
    "NaN in a matrix": ({**MATRIX, "scores": [[1, float("nan")]]}, "/scores/0/1", "not_finite"),
    "a matrix of counts": ({**MATRIX, "kind": "counts"}, "/systems", "matrix_of_scores_only"),
    "a superfluous baseline": (scores(baseline="A"), "/baseline", "superfluous"),
    "a baseline beside pairs": (scores(compare=[["A", "B"]], baseline="A"), "/baseline", "superfluous"),
    "an unknown design": (scores(compare="some"), "/compare", "compare"),
    "no pairs": (scores(compare=[]), "/compare", "no_pairs"),
    "three of a pair": (scores(compare=[["A", "B", "C"]]), "/compare", "compare"),
    "an unknown name in a pair": (scores(compare=[["A", "B"], ["A", "D"]]), "/compare/1/1", "unknown_system"),
    "a pair with itself": (scores(compare=[["A", "A"]]), "/compare/0", "same_system"),
    "a pair twice": (scores(compare=[["A", "B"], ["A", "B"]]), "/compare/1", "duplicate_pair"),
    "a pair and its reverse": (scores(compare=[["A", "B"], ["B", "A"]]), "/compare/1", "duplicate_pair"),
    "sampled tests of holm_discrete": (
        scores(adjust="holm_discrete", method="monte_carlo"), "/adjust", "adjust_needs_exact_tests"
    ),
    "alpha of 0": (scores(alpha=0), "/alpha", "greater_than"),
    "confidence of 1": (scores(confidence_level=1), "/confidence_level", "less_than"),
    "confidence in per cent": (scores(confidence_level=95), "/confidence_level", "less_than"),
    "family of one data set": (scores(family="all"), "/family", "superfluous"),
    "aggregate of one data set": (scores(aggregate="macro"), "/aggregate", "superfluous"),
    "combine of one data set": (scores(combine="fisher"), "/combine", "superfluous"),
    "combine without an overall board": (
        {**datasets(d={"systems": TWO}), "aggregate": None, "combine": "fisher"}, "/combine", "superfluous"
    ),
    "gold of scores": (scores(gold=["x", "y", "x"]), "/gold", "superfluous"),
    "predictions without gold": ({"kind": "predictions", "systems": LABELS}, "/gold", "missing"),
    "gold of another length": (
        {"kind": "predictions", "systems": LABELS, "gold": ["x"]}, "/gold", "length_mismatch"
    ),
    "labels of another type": (
        {"kind": "predictions", "systems": {"A": ["1"], "B": [1]}, "gold": [1]}, "/systems/A", "other_label_type"
    ),
    "lists for labels": (
        {"kind": "predictions", "systems": {"A": [["x"], ["y"]], "B": ["x", "y"]}, "gold": ["x", "y"]},
        "/systems/A", "mixed_forms",
    ),
    "numbers for texts": (
        {"kind": "predictions", "systems": {"A": ["a"], "B": [1]}, "gold": ["a"], "statistic": {"name": "chrf"}},
        "/systems/B/0", "not_a_text",
    ),
    "no references": (
        {"kind": "predictions", "systems": {"A": [["a"]], "B": [["b"]]}, "gold": [[]], "statistic": {"name": "bleu"}},
        "/systems/A/0", "not_a_text",
    ),
    "other counts": (
        {"kind": "counts", "systems": {**COUNTS, "C": {"tp": [1], "fn": [0]}}, "statistic": {"name": "precision"}},
        "/systems/C", "different_counts",
    ),
    "a negative count": (
        {"kind": "counts", "systems": {**COUNTS, "C": {"tp": [-1], "fp": [0]}}}, "/systems/C/tp/0", "not_a_count"
    ),
    "a statistic of another kind": (scores(statistic={"name": "f1"}), "/statistic/name", "literal_error"),
    "a statistic that is a number": (scores(statistic=5), "/statistic", "model_type"),
    "decimals of counts": ({"kind": "counts", "systems": COUNTS, "decimals": 2}, "/decimals", "superfluous"),
    "an unknown direction": (
        {"kind": "counts", "systems": COUNTS, "statistic": {"name": "ratio", "numerator": "tp", "denominator": "fp"}},
        "/higher_is_better", "choose_direction",
    ),
    "systems named after a metric of unknown direction": (
        scores(systems={"wer old": ROW_A, "loss": ROW_B}), "/higher_is_better", "choose_direction"
    ),
    "too many samples": (scores(samples=10**9, method="monte_carlo"), "/samples", "too_many_samples"),
    "systems and datasets": (scores(datasets={"d": {"systems": TWO}}), "/systems", "redundant"),
    "no datasets": ({"kind": "scores", "datasets": {}}, "/datasets", "datasets"),
    "gold beside datasets": ({**datasets(d={"systems": TWO}), "gold": ["x"]}, "/gold", "superfluous"),
    "ids beside datasets": ({**datasets(d={"systems": TWO}), "ids": ["x"]}, "/ids", "superfluous"),
    "a data set without systems": (datasets(d={}), "/datasets/d/systems", "missing"),
    "a data set with one system": (
        datasets(d={"systems": {"A": ROW_A}}), "/datasets/d/systems", "too_few_systems"
    ),
    "an unknown field of a data set": (
        datasets(d={"systems": TWO, "weight": [1]}), "/datasets/d/weight", "unknown_field"
    ),
    "other lengths in a data set": (
        datasets(d={"systems": {"A": ROW_A, "B": [1]}}), "/datasets/d/systems/B", "length_mismatch"
    ),
    "a data set without a name": (datasets(**{" ": {"systems": TWO}}), "/datasets/ ", "empty_name"),
    "data sets without common systems": (
        datasets(d={"systems": TWO}, e={"systems": {"A": ROW_A, "C": C}}) | {"aggregate": "macro"},
        "/datasets", "no_common_systems",
    ),
    "a name written in two ways": (
        datasets(d={"systems": THREE}, e={"systems": {**TWO, "C ": C}}), "/datasets/e/systems/C ", "similar_names"
    ),
    "a baseline that is not everywhere": (
        {**datasets(d={"systems": THREE}, e={"systems": TWO}), "compare": "baseline", "baseline": "C"},
        "/baseline", "system_not_everywhere",
    ),
    "a pair that is not everywhere": (
        {**datasets(d={"systems": THREE}, e={"systems": TWO}), "compare": [["A", "C"]]},
        "/compare/0/1", "system_not_everywhere",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_COMPARISONS)
def test_refused_with_a_pointer_and_a_sentence(case: str) -> None:
    request, pointer, code = NO_COMPARISONS[case]
    with pytest.raises(InvalidTest) as refused:
        parsed(request)
    assert flaws(refused.value)[0] == (pointer, code)
    assert refused.value.detail.endswith((".", ")", "?"))


def test_two_keys_of_one_name_are_refused() -> None:
    from exactperm.service.compare.comparison import parse_compare
    from tests.unit.service.compare.shorthands import job

    with pytest.raises(InvalidTest, match='"A" occurs twice'):
        parse_compare(job(), b'{"kind": "scores", "systems": {"A": [1], "A": [0], "B": [1]}}')
    many = b", ".join(b'"s%d": {"q": 1}' % index for index in range(100))
    with pytest.raises(InvalidTest, match='"s7" occurs twice'):
        parse_compare(job(), b'{"kind": "scores", "systems": {"s7": {"q": 1}, ' + many + b"}}")
    inner = b", ".join(b'"s%d": {"q": 1, "r": 0}' % index for index in range(100))
    with pytest.raises(InvalidTest, match='"q" occurs twice'):
        parse_compare(job(), b'{"kind": "scores", "systems": {"x": {"q": 1, "q": 1}, ' + inner + b"}}")


def test_limits() -> None:
    settings = settings_with(max_systems=2, max_comparisons=2, max_items=3)
    with pytest.raises(InvalidTest) as many:
        parsed(scores(systems=THREE), settings)
    assert flaws(many.value) == [("/systems", "too_many_systems")]
    settings = settings_with(max_comparisons=2, max_items=3)
    with pytest.raises(InvalidTest) as pairs:
        parsed(scores(systems=THREE), settings)
    assert flaws(pairs.value) == [("/compare", "too_many_comparisons")]
    parsed(scores(systems=THREE, compare="baseline", baseline="A"), settings)
    with pytest.raises(InvalidTest) as overall:  # one of each data set, and the overall board's
        parsed(datasets(d={"systems": TWO}, e={"systems": TWO}), settings)
    assert flaws(overall.value) == [("/compare", "too_many_comparisons")]
    parsed({**datasets(d={"systems": TWO}, e={"systems": TWO}), "aggregate": None}, settings)
    with pytest.raises(BodyTooLarge):
        parsed(scores(systems={"A": [1] * 4, "B": [1] * 4}), settings)


def test_missing_parts_are_named() -> None:
    ids = [f"q{index}" for index in range(12)]
    request = scores(
        systems={"A": dict.fromkeys(ids, 1), "B": dict.fromkeys(ids[7:], 1), "C": dict.fromkeys(ids[1:], 1)}
    )
    with pytest.raises(InvalidTest) as refused:
        parsed(request)
    assert flaws(refused.value) == [("/systems/B", "unmatched_ids"), ("/systems/C", "unmatched_ids")]
    assert '"q0", "q1", "q2", "q3", "q4" and 2 more' in refused.value.flaws[0].detail
    assert refused.value.flaws[1].detail == '"C" lacks 1 of 12 items: "q0".'
