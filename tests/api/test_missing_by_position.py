"""A null in a list, or NaN in an array, is missing where on_missing says what to do about it: without ids as well."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import numpy as np
import pytest

U, V = [1, None, 0, 1, 1, None, 1, 1], [0, 1, 0, None, 0, None, 0, 0]
BOTH = [0, 2, 4, 6, 7]
SAME = ("p_value", "statistic", "items", "method")


def same(answer: Any, other: Any) -> None:
    assert answer.status_code == other.status_code == 200, (answer.text, other.text)
    for name in SAME:
        assert answer.json()[name] == other.json()[name], name


def some(values: list[Any]) -> list[Any]:
    return [values[index] for index in BOTH]


@pytest.mark.parametrize(
    ("kind", "columns", "more"),
    [
        ("scores", {"u": U, "v": V}, {}),
        ("scores", {"u": U, "v": V}, {"weights": [1, 2, 3, 4, 5, 6, 7, 8]}),
        ("scores", {"u": U, "v": V}, {"clusters": list("aabbccdd")}),
        ("scores", {"u": [[x, 1] if x is not None else None for x in U], "v": [[0, 1]] * 8}, {}),
        ("effects", {"stay": [None if x is None or y is None else x - y for x, y in zip(U, V, strict=True)]}, {}),
        (
            "counts",
            {
                role: [None if x is None else {"correct": x, "total": 1} for x in column]
                for role, column in (("u", U), ("v", V))
            },
            {"statistic": {"name": "accuracy"}},
        ),
        ("predictions", {"gold": [1] * 8, "u": U, "v": V}, {"statistic": {"name": "accuracy"}}),
        (
            "predictions",
            {"gold": [1, 0, 0, 1, 1, 0, 0, 1], "u": [None if x is None else x / 2 for x in U], "v": [None if x is None else x / 3 for x in V]},
            {"statistic": {"name": "auc"}, "groups": list("aaaaaabb")},
        ),
    ],
)  # fmt: skip
def test_dropping_by_position_is_the_test_of_the_items_that_are_left(
    service: Any, kind: str, columns: dict[str, list[Any]], more: dict[str, Any]
) -> None:
    kept = [index for index in range(8) if all(column[index] is not None for column in columns.values())]
    left = {name: [column[index] for index in kept] for name, column in columns.items()}
    of_items = {
        name: [value[i] for i in kept] if isinstance(value, list) else value for name, value in more.items()
    }
    same(
        service.post(f"/v1/tests/{kind}", json={**columns, **more, "on_missing": "drop"}),
        service.post(f"/v1/tests/{kind}", json={**left, **of_items}),
    )


def test_what_was_left_out_is_counted(service: Any) -> None:
    answer = service.post("/v1/tests/scores", json={"u": U, "v": V, "on_missing": "drop"}).json()
    assert answer["pairing"] == {"matched": 5, "only_u": 1, "only_v": 1}
    named = service.post(
        "/v1/tests/scores",
        json={"u": U, "v": V, "ids": list("abcdefgh"), "on_missing": "drop", "confidence_level": 0.9},
    ).json()
    assert named["moved"]["toward_u"] == ["a", "e", "g", "h"]


def test_objects_may_have_nulls_like_lists(service: Any) -> None:
    by_id = {role: dict(zip("abcdefgh", column, strict=True)) for role, column in (("u", U), ("v", V))}
    same(
        service.post("/v1/tests/scores", json={**by_id, "on_missing": "drop"}),
        service.post("/v1/tests/scores", json={"u": some(U), "v": some(V)}),
    )


def test_a_gate_does_not_decide_when_most_items_were_left_out(service: Any) -> None:
    request = {"u": [1, *[None] * 9], "v": [0] * 10, "on_missing": "drop"}
    refused = service.post("/v1/gate", json={"kind": "scores", "request": request, "policy": "improve"})
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "mostly_dropped")


def test_errors_point_to_positions_in_all_of_a_list(service: Any) -> None:
    refused = service.post("/v1/tests/scores", json={"u": [1, None, "x"], "v": [0] * 3, "on_missing": "drop"})
    assert refused.json()["errors"][0]["pointer"] == "/u/2"
    weights = {"u": [1, None, 1], "v": [0] * 3, "weights": [1, 2, -3], "on_missing": "drop"}
    assert service.post("/v1/tests/scores", json=weights).json()["errors"][0]["pointer"] == "/weights/2"
    ids = {"u": [1, None, 1], "v": [0] * 3, "weights": {"a": 1, "b": 2, "c": -3}, "ids": list("abc")}
    answer = service.post("/v1/tests/scores", json={**ids, "on_missing": "drop"})
    assert answer.json()["errors"][0]["pointer"] == "/weights/c"


def test_nothing_is_missing_unless_that_is_said(service: Any) -> None:
    refused = service.post("/v1/tests/scores", json={"u": U, "v": V}).json()
    flaw = refused["errors"][0]
    assert (flaw["pointer"], flaw["code"]) == ("/u/1", "not_a_number")


def test_nan_in_an_array_is_missing_where_that_is_said(service: Any) -> None:
    content = io.BytesIO()
    np.save(content, np.array([U, V], dtype=float).T)
    headers = {"Content-Type": "application/x-npy"}
    answer = service.post("/v1/tests/scores?on_missing=drop", content=content.getvalue(), headers=headers)
    same(answer, service.post("/v1/tests/scores", json={"u": some(U), "v": some(V)}))
    refused = service.post("/v1/tests/scores", content=content.getvalue(), headers=headers).json()
    assert refused["errors"][0] | {"detail": ""} == {"pointer": "/1/0", "code": "not_finite", "detail": ""}


def board(service: Any, **request: Any) -> Any:
    answer = service.post("/v1/compare", json={"kind": "scores", **request})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("on_missing", ["pairwise", "complete"])
def test_lists_of_a_board_may_have_nulls_as_objects_lack_ids(service: Any, on_missing: str) -> None:
    rng = random.Random(4)
    systems = {name: [rng.choice([0, 1, 1, None]) for _ in range(30)] for name in ("A", "B", "C")}
    by_id = {
        name: {f"q{index:02}": value for index, value in enumerate(column) if value is not None}
        for name, column in systems.items()
    }
    listed = board(service, systems=systems, on_missing=on_missing)
    keyed = board(service, systems=by_id, on_missing=on_missing)
    assert listed["pairs"] == keyed["pairs"]
    assert listed["systems"] == keyed["systems"]
    assert [warning["code"] for warning in listed["warnings"]] == [
        warning["code"] for warning in keyed["warnings"]
    ]


TABLE = "id,score\nq1,1\nq2,0\nq3,\n"


@pytest.mark.parametrize(
    "tables", [[TABLE] * 3, [TABLE, TABLE.replace("q3,\n", ""), TABLE.replace("q3,\n", "")]]
)
def test_an_item_that_no_file_has_a_value_of_is_not_left_out_unasked(service: Any, tables: list[str]) -> None:
    parts = [("system", (f"{name}.csv", table.encode())) for name, table in zip("ABC", tables, strict=True)]
    refused = service.request("POST", "/v1/compare", files=parts)
    flaw = refused.json()["errors"][0]
    assert (refused.status_code, flaw["code"]) == (422, "missing_value")
    assert flaw["pointer"].endswith("/line/4")
    asked = service.request("POST", "/v1/compare", files=parts, data=flaw["choices"][0]["fields"])
    assert asked.status_code == 200
    notes = asked.json()["reading"]["notes"]
    assert "A: 1 items without a value were left out (on_missing: complete)." in notes


def test_an_item_that_no_system_of_a_file_has_is_not_left_out_unasked(service: Any) -> None:
    lines = [
        {"id": f"q{index}", "system": name, "score": None if index == 3 else index % 2}
        for index in range(5)
        for name in "AB"
    ]
    parts = [("file", ("t.jsonl", "\n".join(map(json.dumps, lines)).encode()))]
    refused = service.request("POST", "/v1/compare", files=parts).json()["errors"]
    assert [flaw["code"] for flaw in refused] == ["unmatched_ids", "unmatched_ids"]
    asked = service.request("POST", "/v1/compare", files=parts, data={"on_missing": "pairwise"}).json()
    assert asked["pairs"][0]["n"] == 4


def test_ids_with_a_null_are_no_system(service: Any) -> None:
    systems = {"id": [1, 2, None, 4], "A": [1, 0, None, 1], "B": [0, 1, 1, 0]}
    request = {"kind": "scores", "systems": systems, "on_missing": "pairwise"}
    refused = service.post("/v1/compare", json=request).json()["errors"][0]
    assert (refused["pointer"], refused["code"]) == ("/systems/id", "no_system")


def test_every_baseline_of_a_gate_may_have_nulls(service: Any) -> None:
    request = {"u": [1, None, 1, 1, 1, 1, 1, 1], "on_missing": "drop"}
    baselines = {"A": [0, 0, 0, None, 0, 0, 0, 0], "B": [None, *[0] * 7]}
    asked = {"kind": "scores", "policy": "improve", "request": request, "against": baselines}
    said = service.post("/v1/gate", json=asked)
    assert said.status_code == 200, said.text
    assert [metric["test"]["pairing"] for metric in said.json()["metrics"]] == [
        {"matched": 6, "only_u": 1, "only_v": 1}
    ] * 2
