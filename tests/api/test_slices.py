"""Slices through every entrance: bodies, files, forms, batches, plans, the command line, tables of Python, and reports."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pandas as pd
import pytest

import exactperm
from exactperm import files
from tests.api.conftest import Service, answer_to, problem
from tests.unit.cli_asking import answer as of_command, refuses

U, V = [0, 0, 0, 0, 0, 0, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1, 0, 1, 1, 1]
LABELS = ["fr"] * 6 + ["en"] * 4
REQUEST = {"u": U, "v": V, "slices": LABELS, "alternative": "less"}
# By slice: items, p-value and adjusted p-value.
KNOWN = {"fr": (6, 1 / 64, 1 / 64), "en": (4, 5 / 16, 5 / 16)}
ROWS = [[f"q{at}", *row] for at, row in enumerate(zip(U, V, LABELS, strict=True))]


def rows_of(answer: Any) -> dict[str, tuple[int, float, float]]:
    slices = answer["slices"] if isinstance(answer, dict) else answer.slices
    listed = slices["items"] if isinstance(slices, dict) else slices.items
    rows = [
        one if isinstance(one, dict) else {name: getattr(one, name) for name in one.__slots__}
        for one in listed
    ]
    return {one["slice"]: (one["n"], one["p_value"], one["p_adjusted"]) for one in rows}


def csv(header: str, rows: Sequence[Sequence[Any]]) -> bytes:
    def cell(value: Any) -> str:
        text = str(value)
        return '"' + text.replace('"', '""') + '"' if '"' in text or "," in text else text

    return "\n".join([header, *(",".join(map(cell, row)) for row in rows)]).encode()


def lines(rows: Sequence[dict[str, Any]]) -> bytes:
    return "\n".join(map(json.dumps, rows)).encode()


@pytest.mark.parametrize("items", [30, 35])
def test_alpha_is_the_decimal_as_written(service: Service, items: int) -> None:
    # 2**-30 is above the decimal that its double is written as, 2**-35 below.
    columns = {"u": [1] * items, "v": [0] * items, "slices": ["all"] * items}
    answered = answer_to(
        service.post("/v1/tests/scores", json=columns | {"alternative": "greater", "alpha": 2.0**-items})
    )
    (one,) = answered["slices"]["items"]
    assert one["p_adjusted"] == 2.0**-items
    assert one["significant"] is answered["significant"] is (items == 35)


def test_a_body_a_batch_and_a_plan(service: Service) -> None:
    answered = answer_to(service.post("/v1/tests/scores", json=REQUEST))
    assert rows_of(answered) == KNOWN
    assert (answered["slices"]["method"], answered["slices"]["exact"]) == ("exact_minimum", True)
    batch = answer_to(service.post("/v1/batch", json={"tests": [{"kind": "scores", "request": REQUEST}]}))
    assert batch["results"][0]["answer"]["slices"] == answered["slices"]
    plan = answer_to(service.post("/v1/plan", json={"kind": "scores", "request": REQUEST}))
    without = {name: value for name, value in REQUEST.items() if name != "slices"}
    alone = answer_to(service.post("/v1/plan", json={"kind": "scores", "request": without}))
    assert plan["seconds"] > alone["seconds"]
    assert answered["id"] != answer_to(service.post("/v1/tests/scores", json=without))["id"]


def test_a_csv_body_names_its_column_in_the_query(service: Service) -> None:
    response = service.request(
        "POST", "/v1/tests/scores?slices=language&alternative=less", content=csv("id,u,v,language", ROWS),
        headers={"content-type": "text/csv"},
    )  # fmt: skip
    assert rows_of(answer_to(response)) == KNOWN


SIDES = [[(row[0], row[1 + at], row[3]) for row in ROWS] for at in (0, 1)]
LOGS = [
    lines(
        [
            {
                "doc_id": row[0],
                "doc": {"language": row[3]},
                "target": "x",
                "acc": row[1 + at],
                "metrics": ["acc"],
            }
            for row in ROWS
        ]
    )
    for at in (0, 1)
]
FORMS: dict[str, dict[str, Any]] = {
    "a wide table": {"file": ("a.csv", csv("id,u,v,language", ROWS))},
    "a table of labels that look like lists": {
        "file": ("a.csv", csv("id,u,v,language", [[*row[:3], json.dumps([row[3]])] for row in ROWS]))
    },
    "a long table": {
        "file": ("a.csv", csv("id,system,score,language", [(one, s, x, y) for s, side in zip("uv", SIDES, strict=True) for one, x, y in side]))
    },
    "two tables": {
        role: (f"{role}.csv", csv("id,score,language", side)) for role, side in zip("uv", SIDES, strict=True)
    },
    "a column in one of two tables": {
        "u": ("u.csv", csv("id,score,language", SIDES[0])), "v": ("v.jsonl", lines([{"id": one, "score": x, "language": y} for one, x, y in SIDES[1]])),
    },
    "lines of JSON": {"file": ("a.jsonl", lines([{"id": row[0], "u": row[1], "v": row[2], "language": row[3]} for row in ROWS]))},
    "logs of lm-evaluation-harness": {role: (f"{role}.jsonl", log) for role, log in zip("uv", LOGS, strict=True)},
    "counts": {
        "file": ("a.csv", csv("id,correct_u,total_u,correct_v,total_v,language", [[a, b, 1, c, 1, d] for a, b, c, d in ROWS]))
    },
    "labels beside gold": {
        "file": ("a.csv", csv("id,gold,u,v,language", [[a, "yes", "yes" if b else "no", "yes" if c else "no", d] for a, b, c, d in ROWS]))
    },
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_files_have_a_column_or_a_field_of_slices(name: str) -> None:
    given = FORMS[name]
    of_counts = {"statistic": "accuracy"} if name in ("counts", "labels beside gold") else {}
    answer = exactperm.test(files(**given, **of_counts, slices="language", alternative="less"))
    found = rows_of(answer)
    assert {slice_: own[0] for slice_, own in found.items()} == {"fr": 6, "en": 4}
    assert found["fr"][1] == 1 / 64
    if not of_counts:
        assert found == KNOWN


def test_tasks_are_slices() -> None:
    sides = {
        role: [(f"{task}.csv", csv("id,score", [row[:2] for row in side if row[2] == task])) for task in ("fr", "en")]
        for role, side in zip("uv", SIDES, strict=True)
    }  # fmt: skip
    answer = exactperm.test(files(**sides, slices="task", alternative="less"))
    assert rows_of(answer) == KNOWN
    assert answer.items.clusters is None


def test_a_table_of_python_names_its_column_or_gets_one() -> None:
    frame = pd.DataFrame({"u": U, "v": V, "language": LABELS})
    assert rows_of(exactperm.test(frame, slices="language", alternative="less")) == KNOWN
    del frame["language"]
    assert rows_of(exactperm.test(frame, slices=LABELS, alternative="less")) == KNOWN
    columns = pd.Series(U), pd.Series(V)
    assert rows_of(exactperm.test(*columns, slices=pd.Series(LABELS), alternative="less")) == KNOWN


def test_a_column_that_is_not_there_is_listed(service: Service) -> None:
    form = {"file": ("a.csv", csv("id,u,v,language", ROWS))}
    refused = problem(service.request("POST", "/v1/tests/files", files=form, data={"slices": "nope"}), 422)
    (error,) = refused["errors"]
    assert error["code"] == "choose_slices"
    assert {"title": "language", "fields": {"slices": "language"}} in error["choices"]


def test_a_board_has_no_slices(service: Service) -> None:
    form = {"file": ("a.csv", csv("id,A,B,language", ROWS))}
    problem(service.request("POST", "/v1/compare", files=form, data={"slices": "language"}), 422)


def test_forms_and_json_fail_by_any_slice_alike(service: Service) -> None:
    terms = {"slices": "language", "fail_if_any_slice": "true"}
    form = {"file": ("a.csv", csv("id,u,v,language", ROWS))}
    of_form = problem_or_answer(service.request("POST", "/v1/gate", files=form, data=terms))
    request = {"u": U, "v": V, "slices": LABELS}
    body = {"kind": "scores", "request": request, "slices": "fail_if_any"}
    of_body = problem_or_answer(service.post("/v1/gate", json=body))
    assert of_form["verdict"] == of_body["verdict"] == "fail"
    several = {"metrics": [{"name": "a", **body}, {"name": "b", "kind": "scores", "request": request}]}
    of_several = problem_or_answer(service.post("/v1/gate", json=several))
    assert [one["slices"]["decision"] is None for one in of_several["metrics"]] == [False, True]
    both = problem_or_answer(service.post("/v1/gate", json={**several, "slices": "fail_if_any"}))
    assert [one["slices"]["decision"] is None for one in both["metrics"]] == [False, False]
    for gate in (of_form, of_body):
        decision = gate["metrics"][0]["slices"]["decision"]
        assert decision["p_value"] == 1 / 64
        assert decision["p_value_adjusted"] == min(2 * 11 / 1024, 2 / 64)


def problem_or_answer(response: Any) -> Any:
    assert response.status_code in (200, 409), response.text
    return response.json()


def test_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(csv("id,u,v,language", ROWS))
    said = of_command("test", str(path), "--slices", "language", "--alternative", "less")
    assert rows_of(said) == KNOWN
    refuses(["No such option"], "compare", str(path), "--slices", "language")


def report(service: Service, path: str, body: dict[str, Any], format_: str) -> str:
    response = service.post(f"{path}?format={format_}", json=body)
    assert response.status_code in (200, 409), response.text
    return response.text


HOSTILE = '<script>&"\N{RIGHT-TO-LEFT OVERRIDE}|`'


def test_reports_list_the_slices(service: Service) -> None:
    answered = {}
    for format_ in ("text", "markdown", "html"):
        answered[format_] = report(
            service, "/v1/tests/scores", {**REQUEST, "slices": [HOSTILE] * 6 + ["en"] * 4}, format_
        )
    assert "slices=2" in answered["text"]
    assert "p_slices=0.015625" in answered["text"]
    assert "| 6 | -1 | 0.015625 | 0.015625 | yes |" in answered["markdown"]
    page = answered["html"]
    assert "<script>" not in page
    assert page.count("<svg") == 2
    assert re.search(r"<td>0\.3125</td>", page)
    assert "Differences in 2 slices" in page


def test_reports_of_gates_list_the_slices(service: Service) -> None:
    body = {"kind": "scores", "request": {"u": U, "v": V, "slices": LABELS}, "slices": "fail_if_any"}
    suite = ET.fromstring(report(service, "/v1/gate", body, "junit"))
    properties = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert (properties["worst_slice"], properties["slices_p_value"]) == ("fr", "0.015625")
    assert properties["p_adjusted of slice en"] == "0.3125"
    assert 'the slice "fr" is significantly worse' in report(service, "/v1/gate", body, "markdown")
    assert "p_slices_adjusted=0.0214844" in report(service, "/v1/gate", body, "text")
    assert report(service, "/v1/gate", body, "html").count("<svg") == 2
