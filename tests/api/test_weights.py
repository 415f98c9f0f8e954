"""Item weights in every body that has them: JSON, CSV, TSV and lines are one request."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import error_of, errors_of

PATH = "/v1/tests/scores"
U, V, WEIGHTS = [1, 0.5, 0, 1], [0, 0.25, 1, 1], ["1/3", "0.5", "2", "1e-1"]


def test_bodies_agree(service: Any) -> None:
    by_order = service.post(PATH, json={"u": U, "v": V, "weights": ["1/3", 0.5, 2, 0.1]}).json()
    ids = list("abcd")
    keyed = {
        "u": dict(zip(ids, U, strict=True)),
        "v": dict(zip(reversed(ids), reversed(V), strict=True)),
        "weights": dict(zip(ids, WEIGHTS, strict=True)) | {"unknown": 7},
    }
    rows = list(zip(ids, U, V, WEIGHTS, strict=True))
    answers = [service.post(PATH, json=keyed)]
    for separator, media_type in ((",", "text/csv"), ("\t", "text/tab-separated-values")):
        table = "\n".join(separator.join(map(str, row)) for row in [("id", "u", "v", "weight"), *rows])
        quoted = table.replace("1/3", '"1/3"')
        answers += [
            service.post(PATH, content=text, headers={"content-type": media_type}) for text in (table, quoted)
        ]
    lines = "\n".join(f'{{"id": "{i}", "u": {u}, "v": {v}, "weight": "{w}"}}' for i, u, v, w in rows)
    answers.append(service.post(PATH, content=lines, headers={"content-type": "application/x-ndjson"}))
    for answered in answers:
        assert answered.status_code == 200, answered.text[:500]
        said = answered.json()
        assert (said["id"], said["p_value"]) == (by_order["id"], by_order["p_value"])
        assert said["statistic"] == by_order["statistic"]
    assert service.post(PATH, json={"u": U, "v": V}).json()["id"] != by_order["id"]


def test_a_long_list_of_integers(service: Any) -> None:
    n = 3_000
    request = {"u": [1, 0, 1] * (n // 3), "v": [0, 1, 0] * (n // 3), "weights": [7, 1, 5] * (n // 3)}
    answered = service.post(PATH, json=request)
    assert answered.status_code == 200, answered.text[:500]
    assert answered.json()["statistic"]["observed"] == pytest.approx(11 / 13)


@pytest.mark.parametrize(
    ("given", "pointer", "code"),
    [
        ({"weights": [1, 2]}, "/weights", "length_mismatch"),
        ({"weights": [1, 2, 0, 1]}, "/weights/2", "not_a_weight"),
        ({"weights": [1, "two", 1, 1]}, "/weights/1", "not_a_weight"),
        ({"weights": {"a": 1}}, "/weights", "no_ids"),
        ({"weights": 3}, "/weights", "not_a_column"),
        ({"weights": {"a": 1, "b": 2}, "ids": ["a", "b", "c", "d"]}, "/weights", "unmatched_ids"),
        (
            {"weights": {"a": 1, "b": -1, "c": 1, "d": 1}, "ids": ["a", "b", "c", "d"]},
            "/weights/b",
            "not_a_weight",
        ),
        ({"weights": [1, 1, 1, 2], "statistic": {"name": "sign"}}, "/weights", "no_weights"),
        ({"weights": [1, 1, 1, 2], "test": "bootstrap"}, "/weights", "no_weights"),
    ],
)
def test_refusals(service: Any, given: dict[str, Any], pointer: str, code: str) -> None:
    assert errors_of(service.post(PATH, json={"u": U, "v": V, **given})) == [(pointer, code)]


def test_a_wrong_weight_in_a_table(service: Any) -> None:
    assert (
        error_of(
            service.post(
                PATH, content="id,weight,u,v\na,1,1,0\nb,x,0,1\n", headers={"content-type": "text/csv"}
            )
        )[0]
        == "/line/3/2"
    )


def test_counts_have_no_weights(service: Any) -> None:
    counts = {"tp": [1, 2], "incorrect": [0, 1]}
    assert (
        error_of(service.post("/v1/tests/counts", json={"u": counts, "v": counts, "weights": [1, 2]}))[0]
        == "/weights"
    )
