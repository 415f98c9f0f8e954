"""Several data sets through the front door: overall boards, what they leave out, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from exactperm.api.openapi.schemas import CompareAnswer
from tests.api.conftest import error_of, errors_of

SETS: dict[str, dict[str, list[int]]] = {
    "mmlu": {"A": [1, 0, 1, 1, 1], "B": [0, 0, 1, 0, 0], "C": [0, 1, 1, 1, 0]},
    "gsm": {"A": [1, 1, 0], "B": [0, 1, 0], "C": [1, 1, 1]},
}


def body(sets: Mapping[str, Mapping[str, Any]] = SETS, **options: Any) -> dict[str, Any]:
    return {
        "kind": "scores",
        "datasets": {name: {"systems": columns} for name, columns in sets.items()},
        **options,
    }


def answer(service: Any, request: dict[str, Any]) -> dict[str, Any]:
    answered = service.post("/v1/compare", json=request)
    assert answered.status_code == 200, answered.text[:800]
    CompareAnswer.model_validate_json(answered.content)
    said: dict[str, Any] = answered.json()
    return said


def macro_p(u: str, v: str, weights: Mapping[str, list[Fraction]]) -> float:
    units = []
    for name, columns in SETS.items():
        below = 2 * sum(weights[name])
        units += [w / below * (a - b) for w, a, b in zip(weights[name], columns[u], columns[v], strict=True)]
    observed, extreme = abs(sum(units, Fraction(0))), 0
    for signs in product((1, -1), repeat=len(units)):
        extreme += abs(sum((s * x for s, x in zip(signs, units, strict=True)), Fraction(0))) >= observed
    return float(Fraction(extreme, 2 ** len(units)))


def test_the_overall_board_is_one_exact_test(service: Any) -> None:
    said = answer(service, body())
    ones = {name: [Fraction(1)] * len(columns["A"]) for name, columns in SETS.items()}
    for pair in said["overall"]["pairs"]:
        assert pair["p_value"] == pytest.approx(macro_p(pair["u"], pair["v"], ones), rel=1e-12)
        assert pair["exact"]
    assert set(said["datasets"]) == set(SETS)
    assert said["systems"] is None or said["systems"] == []


def test_items_with_weights(service: Any) -> None:
    """By position or by id, as numbers or fractions: the same."""
    request = body()
    written: dict[str, list[Any]] = {"mmlu": ["1/3", 2, 0.1, 1, 5], "gsm": [3, "0.25", 1]}
    for name, own in written.items():
        request["datasets"][name]["weights"] = own
    said = answer(service, request)
    weights = {name: [Fraction(str(w)) for w in own] for name, own in written.items()}
    for pair in said["overall"]["pairs"]:
        assert pair["p_value"] == pytest.approx(macro_p(pair["u"], pair["v"], weights), rel=1e-12)
    keyed = body()
    for name, own in written.items():
        keyed["datasets"][name] = {
            "systems": {
                system: {f"q{i}": x for i, x in enumerate(column)} for system, column in SETS[name].items()
            },
            "weights": {f"q{i}": w for i, w in reversed(list(enumerate(own)))},
        }
    again = answer(service, keyed)
    assert again["overall"] == said["overall"]
    assert answer(service, body())["id"] != said["id"]


def test_a_system_that_a_data_set_lacks(service: Any) -> None:
    sets = {"mmlu": SETS["mmlu"], "gsm": {name: SETS["gsm"][name] for name in "AB"}}
    said = answer(service, body(sets))
    assert [system["name"] for system in said["overall"]["systems"]] == ["A", "B"]
    assert "not_in_all_datasets" in [warning["code"] for warning in said["overall"]["warnings"]]
    assert len(said["datasets"]["mmlu"]["systems"]) == 3


def test_no_overall_board_of_one_system(service: Any) -> None:
    sets = {
        "mmlu": {name: SETS["mmlu"][name] for name in "AB"},
        "gsm": {name: SETS["gsm"][name] for name in "AC"},
    }
    said = answer(service, body(sets))
    assert said["overall"] is None
    assert [warning["code"] for warning in said["warnings"]] == ["not_in_all_datasets"]
    assert error_of(service.post("/v1/compare", json=body(sets, aggregate="micro")))[0] == "/datasets"


@pytest.mark.parametrize(
    ("options", "pointer", "code"),
    [
        ({"statistic": {"name": "sign"}}, "/aggregate", "no_macro"),
        ({"combine": "fisher", "aggregate": "micro"}, "/combine", "combine_needs_macro"),
        ({"combine": "stouffer", "adjust": "holm_discrete"}, "/combine", "combine_and_adjust"),
    ],
)
def test_refusals(service: Any, options: dict[str, Any], pointer: str, code: str) -> None:
    assert errors_of(service.post("/v1/compare", json=body(**options))) == [(pointer, code)]


@pytest.mark.parametrize(
    ("dataset", "kind", "pointer"),
    [
        ({"weights": [1, 2, 0]}, "scores", "/datasets/gsm/weights/2"),
        ({"weights": [1, 2]}, "scores", "/datasets/gsm/weights"),
        ({"weights": {"a": 1}}, "scores", "/datasets/gsm/weights"),
        ({"weights": [1, 2, 3], "gold": [1, 1, 1]}, "predictions", "/datasets/gsm/weights"),
    ],
)
def test_wrong_weights(service: Any, dataset: dict[str, Any], kind: str, pointer: str) -> None:
    request = body({"gsm": SETS["gsm"]}, kind=kind)
    request["datasets"]["gsm"] |= dataset
    assert error_of(service.post("/v1/compare", json=request))[0] == pointer


def test_a_plan_names_the_overall_board(service: Any) -> None:
    planned = service.post("/v1/plan", json={"kind": "compare", "request": body()})
    assert planned.status_code == 200, planned.text[:500]
    said = planned.json()
    assert [board["dataset"] for board in said["boards"]] == ["gsm", "mmlu", None]
    assert said["tests"] == 9
