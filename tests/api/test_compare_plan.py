"""The plan of a comparison: what its boards would test, how, and in what time."""

from __future__ import annotations

from typing import Any

import pytest

from exactperm.api.openapi.schemas import ComparePlanAnswer, PlanAnswer

SYSTEMS = {"A": [1, 0, 1, 1], "B": [0, 0, 1, 0], "C": [1, 1, 1, 0]}
DECIMALS = {
    name: [0.125 * score + 0.01 * item for item, score in enumerate(own)] for name, own in SYSTEMS.items()
}


def planned(service: Any, request: dict[str, Any]) -> dict[str, Any]:
    answered = service.post("/v1/plan", json={"kind": "compare", "request": request})
    assert answered.status_code == 200, answered.text[:500]
    ComparePlanAnswer.model_validate_json(answered.content)
    said: dict[str, Any] = answered.json()
    return said


def test_the_plan_of_one_board(service: Any) -> None:
    said = planned(service, {"kind": "scores", "systems": SYSTEMS})
    assert (said["kind"], said["tests"]) == ("compare", 3)
    assert 0 < said["seconds"] <= said["longest_seconds"] < 1
    (board,) = said["boards"]
    assert {**board, "seconds": 0} == {
        "dataset": None, "systems": 3, "tests": 3, "methods": ["binomial"], "seconds": 0
    }  # fmt: skip
    assert "pairs" not in said


def test_the_plan_names_the_method_that_the_answer_has(service: Any) -> None:
    request = {"kind": "scores", "systems": DECIMALS}
    answered = service.post("/v1/compare", json=request).json()
    (board,) = planned(service, request)["boards"]
    assert board["methods"] == sorted({pair["method"] for pair in answered["pairs"]})


def test_the_plan_of_several_data_sets(service: Any) -> None:
    two = {"A": SYSTEMS["A"], "B": SYSTEMS["B"]}
    said = planned(
        service,
        {"kind": "scores", "datasets": {"y": {"systems": SYSTEMS}, "x": {"systems": two}}, "aggregate": None},
    )
    assert [(board["dataset"], board["systems"], board["tests"]) for board in said["boards"]] == [
        ("x", 2, 1),
        ("y", 3, 3),
    ]
    assert said["tests"] == 4


def test_more_pairs_take_longer(service: Any) -> None:
    few = {f"s{number}": SYSTEMS["A"] for number in range(5)}
    many = {f"s{number}": SYSTEMS["A"] for number in range(50)}
    seconds = [planned(service, {"kind": "scores", "systems": own})["seconds"] for own in (few, many)]
    assert seconds[0] < seconds[1]


def test_a_data_set_costs_something_however_small(service: Any) -> None:
    """300 boards of one pair take far longer than one board of 300 pairs."""
    two = {"systems": {"A": [1, 0, 1, 1], "B": [0, 0, 1, 0]}}
    sets = {"kind": "scores", "datasets": {f"d{number}": two for number in range(300)}, "aggregate": None}
    board = {"kind": "scores", "systems": {f"s{number}": SYSTEMS["A"] for number in range(25)}}
    many, one = planned(service, sets), planned(service, board)
    assert many["tests"] == one["tests"] == 300
    assert many["seconds"] > 10 * one["seconds"]


@pytest.mark.parametrize("name", ["bleu", "chrf"])
def test_pairs_of_corpus_scores_take_longer_than_those_of_class_f1(service: Any, name: str) -> None:
    texts = ["a cat on a mat", "the cat sat on the mat", "on the mat sat a cat", "a mat"]
    systems = {f"s{place}": texts[place:] + texts[:place] for place in range(4)}
    request = {"kind": "predictions", "gold": texts, "systems": systems}
    macro, micro = ({"name": "f1", "average": average} for average in ("macro", "micro"))
    corpus, of_classes, of_sums = (
        planned(service, {**request, "statistic": each})["seconds"] for each in ({"name": name}, macro, micro)
    )
    assert corpus > 1.5 * of_classes  # the least p of any outcome is a part of both prices
    assert corpus > 5 * of_sums


def test_a_test_is_planned_as_before(service: Any) -> None:
    answered = service.post("/v1/plan", json={"kind": "scores", "request": {"u": [1, 0, 1], "v": [0, 0, 1]}})
    assert answered.status_code == 200
    PlanAnswer.model_validate_json(answered.content)
