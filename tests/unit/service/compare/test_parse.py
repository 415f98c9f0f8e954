"""A JSON request becomes a comparison: items by id, choices, directions, warnings, pointers back."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from pydantic_core import from_json

from exactperm.statistics.paired import Repeated
from tests.unit.service.compare.shorthands import by_id, of_body, only, parsed

A, B = [1, 0, 1], [1, 1, 0]


def random_board(seed: int) -> dict[str, dict[str, int]]:
    """Systems by id, each in an order of its own, some without some items."""
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
    columns = only(comparison).columns
    assert np.asarray(columns["B"]["tp"]).tolist() == [3, 0]  # type: ignore[call-overload,index]


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
    pairing = only(parsed(request)).pairing
    assert pairing.clusters is not None
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
