"""A statistic by its name alone, and its parameters beside it: the same request as `{"name": …, …}`, in every body."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api.conftest import errors_of

SCORES: dict[str, Any] = {"u": {"a": 5, "b": 3, "c": 9, "d": 1}, "v": {"d": 0, "c": 2, "b": 3, "a": 4}}
LISTS: dict[str, Any] = {"u": [5, 3, 9, 1], "v": [4, 3, 2, 0], "clusters": ["x", "x", "y", "z"]}
LABELS: dict[str, Any] = {"gold": ["a", "b", "c", "a"], "u": ["a", "b", "a", "a"], "v": ["b", "b", "c", "c"]}
COUNTS: dict[str, Any] = {
    "u": {"tp": [8, 3], "fp": [1, 2], "fn": [1, 1]},
    "v": {"tp": [6, 5], "fp": [0, 1], "fn": [1, 1]},
}
WAYS = [
    ("scores", SCORES, "quantile_difference", {"q": 0.75}),
    ("scores", LISTS, "signed_rank", {"zero_method": "pratt"}),
    ("predictions", LABELS, "f1", {"average": "macro"}),
    ("predictions", LABELS, "accuracy", {}),
    ("counts", COUNTS, "fbeta", {"beta": 2}),
]


def identity(answer: Any) -> Any:
    """The id of an answer, or of that in a batch; a plan has none, and is compared whole."""
    if "results" in answer:
        return answer["results"][0]["answer"]["id"]
    return answer.get("id") or {name: value for name, value in answer.items() if name != "runtime"}


@pytest.mark.parametrize(("kind", "data", "name", "parameters"), WAYS, ids=lambda value: str(value)[:20])
def test_parameters_beside_the_name_are_those_inside(
    service: Any, kind: str, data: dict[str, Any], name: str, parameters: dict[str, Any]
) -> None:
    inside = {**data, "statistic": {"name": name, **parameters}}
    flat = {**data, "statistic": name, **parameters}
    half = {**data, "statistic": {"name": name}, **parameters}
    for wrapped, path in (
        (lambda one: one, f"/v1/tests/{kind}"),
        (lambda one: {"kind": kind, "request": one}, "/v1/gate"),
        (lambda one: {"kind": kind, "request": one}, "/v1/plan"),
        (lambda one: {"tests": [{"kind": kind, "request": one}]}, "/v1/batch"),
    ):
        said = [service.post(path, wrapped(one)) for one in (inside, flat, half)]
        assert {one.status_code for one in said} in ({200}, {409}), said[1].text
        first, *others = (identity(one.json()) for one in said)
        assert others == [first, first]


def test_a_board_takes_them_too(service: Any) -> None:
    board = {"kind": "predictions", "gold": LABELS["gold"], "systems": {"A": LABELS["u"], "B": LABELS["v"]}}
    inside = service.post("/v1/compare", {**board, "statistic": {"name": "f1", "average": "macro"}}).json()
    flat = service.post("/v1/compare", {**board, "statistic": "f1", "average": "macro"}).json()
    assert flat["id"] == inside["id"]
    assert flat["statistic"] == "f1"


REFUSED = [
    ({"statistic": "quantile_difference", "q": 2}, "/q", "out_of_range"),
    ({"statistic": "quantile_difference", "q": "half"}, "/q", "float_type"),
    ({"statistic": {"name": "quantile_difference"}, "q": 2}, "/q", "out_of_range"),
    ({"statistic": {"name": "quantile_difference", "q": 2}}, "/statistic/q", "out_of_range"),
    ({"statistic": {"name": "quantile_difference", "q": 0.5}, "q": 0.75}, "/q", "given_twice"),
    ({"statistic": "sign", "zero_method": "pratt"}, "/zero_method", "unknown_parameter"),
    ({"statistic": "sing"}, "/statistic", "literal_error"),
    ({"statistic": 5, "q": 0.5}, "/statistic", "model_type"),
    ({"statistic": "sign", "average": "macro"}, "/average", "unknown_field"),
]


@pytest.mark.parametrize(("options", "pointer", "code"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_wrong_parameter_is_where_it_was_written(
    service: Any, options: dict[str, Any], pointer: str, code: str
) -> None:
    for path, inside, body in (
        ("/v1/tests/scores", "", {**SCORES, **options}),
        ("/v1/gate", "/request", {"kind": "scores", "request": {**SCORES, **options}}),
        ("/v1/plan", "/request", {"kind": "scores", "request": {**SCORES, **options}}),
    ):
        assert errors_of(service.post(path, body)) == [(inside + pointer, code)]


def test_a_request_file_holds_them(service: Any) -> None:
    content = json.dumps({**SCORES, "statistic": "quantile_difference", "q": 0.75}).encode()
    files = {"file": ("request.json", content)}
    said = service.request("POST", "/v1/tests/files", files=files).json()
    wanted = service.post(
        "/v1/tests/scores", {**SCORES, "statistic": {"name": "quantile_difference", "q": 0.75}}
    )
    assert (said["p_value"], said["statistic"]) == (wanted.json()["p_value"], wanted.json()["statistic"])
    named = service.request("POST", "/v1/tests/files", files=files, data={"q": "0.5"})
    assert named.json()["errors"][0]["code"] == "given_twice"
