"""A label per item in files: every way of writing them is the same test, gate and board as the JSON request."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import openpyxl
import pytest
from sklearn.metrics import f1_score

from .conftest import error_of, problem

FILES, PREDICTIONS, COMPARE = "/v1/tests/files", "/v1/tests/predictions", "/v1/compare"
N = 40
Content = tuple[str, bytes]


def labelled(names: str) -> dict[str, list[str]]:
    generator = np.random.default_rng(7)
    gold = generator.integers(0, len(names), N)
    columns = {"gold": gold}
    for role, wrong in (("u", 0.2), ("v", 0.5), ("w", 0.4)):
        other = generator.integers(0, len(names), N)
        columns[role] = np.where(generator.random(N) < wrong, other, gold)
    return {
        "id": [f"q{k}" for k in range(N)],
        **{role: [names[k] for k in own] for role, own in columns.items()},
    }


def table(columns: dict[str, list[Any]], turned: bool = False) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    rows = list(zip(*columns.values(), strict=True))
    writer.writerows(rows[::-1] if turned else rows)
    return stream.getvalue().encode()


def lines(columns: dict[str, list[Any]]) -> bytes:
    rows = zip(*columns.values(), strict=True)
    return "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows).encode()


def ways(data: dict[str, list[Any]]) -> dict[str, dict[str, Content]]:
    """The same labels in files of every shape."""
    ids, gold = data["id"], data["gold"]
    by_role = {role: {"id": ids, "label": data[role]} for role in ("gold", "u", "v")}
    beside = {role: {"id": ids, "gold": gold, "pred": data[role]} for role in "uv"}
    return {
        "csv each": {role: (f"{role}.csv", table(own, turned=role == "v")) for role, own in by_role.items()},
        "jsonl each": {role: (f"{role}.jsonl", lines(own)) for role, own in by_role.items()},
        "csv and jsonl": {
            "gold": ("gold.csv", table(by_role["gold"])),
            "u": ("u.jsonl", lines({"id": ids, "prediction": data["u"]})),
            "v": ("v.tsv", table(by_role["v"]).replace(b",", b"\t")),
        },
        "gold in each": {role: (f"{role}.jsonl", lines(own)) for role, own in beside.items()},
        "gold in each table": {role: (f"{role}.csv", table(own)) for role, own in beside.items()},
        "one table": {"file": ("all.csv", table({key: data[key] for key in ("id", "gold", "u", "v")}))},
        "one table of pred": {
            "file": ("a", table({"y_true": gold, "item": ids, "pred_v": data["v"], "pred_u": data["u"]}))
        },
        "one array": {"file": ("all.json", b"[" + b",".join(lines(data).splitlines()) + b"]")},
        "no ids": {role: (f"{role}.csv", table({"label": data[role]})) for role in ("gold", "u", "v")},
    }


@pytest.mark.parametrize("way", ways(labelled("xyz")))
@pytest.mark.parametrize(
    "statistic", [{"name": "accuracy"}, {"name": "f1", "average": "macro"}, {"name": "mcc"}]
)
def test_every_way_is_the_json_request(service: Any, way: str, statistic: dict[str, str]) -> None:
    data = labelled("xyz")
    body = {role: dict(zip(data["id"], data[role], strict=True)) for role in ("gold", "u", "v")}
    wanted = service.post(PREDICTIONS, {**body, "statistic": statistic}).json()
    fields = {key: value for key, value in statistic.items() if key != "name"} | {
        "statistic": statistic["name"]
    }
    answer = service.post(FILES, files=ways(data)[way], data=fields)
    assert answer.status_code == 200, answer.text
    said = answer.json()
    assert (said["reading"]["format"], said["reading"]["guessed"]) == ("labels", True)
    assert said["p_value_bounds"] == wanted["p_value_bounds"]
    assert said["statistic"] == wanted["statistic"]
    assert said["items"]["n"] == N


@pytest.mark.parametrize("way", ["csv each", "gold in each", "csv and jsonl"])
@pytest.mark.parametrize("positive", [None, "0"])
def test_two_classes_of_numbers_have_f1_and_a_positive_one(
    service: Any, way: str, positive: str | None
) -> None:
    data = labelled("01")
    numbers = {role: list(map(int, own)) if role != "id" else own for role, own in data.items()}
    fields = {"statistic": "f1", **({} if positive is None else {"positive": positive})}
    answer = service.post(FILES, files=ways(numbers)[way], data=fields)
    assert answer.status_code == 200, answer.text
    oracle = [
        f1_score(numbers["gold"], numbers[role], pos_label=1 if positive is None else 0) for role in "uv"
    ]
    record = answer.json()["statistic"]
    assert [record["u"], record["v"]] == pytest.approx(oracle)


def test_accuracy_is_what_is_asked_by_default(service: Any) -> None:
    data = labelled("ab")
    record = service.post(FILES, files=ways(data)["csv each"]).json()["statistic"]
    right = [np.mean([a == b for a, b in zip(data["gold"], data[role], strict=True)]) for role in "uv"]
    assert record["name"] == "accuracy"
    assert [record["u"], record["v"]] == pytest.approx(right)


def test_a_gate_decides_by_the_same_p_value(service: Any) -> None:
    data = labelled("xyz")
    body = {role: data[role] for role in ("gold", "u", "v")}
    wanted = service.post("/v1/gate", {"kind": "predictions", "request": body, "policy": "improve"}).json()
    for way in ("csv each", "one table"):
        answer = service.post("/v1/gate", files=ways(data)[way], data={"policy": "improve"})
        assert answer.json()["verdict"] == wanted["verdict"]
        assert answer.json()["p_value"] == wanted["p_value"]


def test_labels_that_never_match_are_a_warning_of_a_test_and_no_pass_of_a_gate(service: Any) -> None:
    data = labelled("xyz")
    odd = {**data, "u": [{"x": "cat", "y": "dog", "z": "cow"}[label] for label in data["u"]]}
    files = ways(odd)["csv each"]
    said = service.post(FILES, files=files).json()
    assert "labels_never_match" in [warning["code"] for warning in said["warnings"]]
    assert error_of(service.post("/v1/gate", files=files))[0] == "/files/u"
    capitals = {**data, "u": [label.upper() for label in data["u"]]}
    said = service.post(FILES, files=ways(capitals)["csv each"]).json()
    assert {"labels_never_match", "labels_written_otherwise"} & {
        warning["code"] for warning in said["warnings"]
    }


def board_of(answer: Any) -> tuple[Any, Any, Any]:
    assert answer.status_code == 200, answer.text
    record = answer.json()
    return record["statistic"], record["systems"], record["pairs"]


def workbook(columns: dict[str, list[Any]]) -> bytes:
    book = openpyxl.Workbook()
    book.active.append(list(columns))
    for row in zip(*columns.values(), strict=True):
        book.active.append(list(row))
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def test_boards_of_workbooks_are_those_of_the_same_tables(service: Any) -> None:
    data = labelled("xyz")
    wanted = board_of(service.post(COMPARE, files=[("file", ("all.csv", table(data)))]))
    answer = service.post(COMPARE, files=[("file", ("all.xlsx", workbook(data)))], data={"sheet": "Sheet"})
    assert board_of(answer) == wanted
    assert 'the sheet "Sheet" was read' in answer.json()["reading"]["notes"][0]
    each = [
        ("system", (f"{name}.xlsx", workbook({"id": data["id"], "gold": data["gold"], "pred": data[name]})))
        for name in "uvw"
    ]
    answer = service.post(COMPARE, files=each)
    assert board_of(answer) == wanted
    broken = [*each[:2], ("system", ("w.xlsx", each[2][1][1][:600]))]
    assert problem(service.post(COMPARE, files=broken), 400)["errors"][0]["pointer"].startswith("/files/w")


@pytest.mark.parametrize("statistic", [{"name": "accuracy"}, {"name": "f1", "average": "macro"}])
def test_boards_of_labels_are_those_of_the_json_request(service: Any, statistic: dict[str, str]) -> None:
    data = labelled("xyz")
    systems = {name: data[name] for name in "uvw"}
    request = {"kind": "predictions", "gold": data["gold"], "systems": systems, "statistic": statistic}
    wanted = board_of(service.post(COMPARE, request))
    fields = {key: value for key, value in statistic.items() if key != "name"} | {
        "statistic": statistic["name"]
    }
    each = [("system", (f"{name}.csv", table({"id": data["id"], "label": data[name]}))) for name in "uvw"]
    gold = ("gold", ("gold.csv", table({"id": data["id"], "label": data["gold"]})))
    beside = {name: {"id": data["id"], "gold": data["gold"], "pred": data[name]} for name in "uvw"}
    for files in (
        [gold, *each],
        [("system", (f"{name}.jsonl", lines(own))) for name, own in beside.items()],
        [("file", ("all.csv", table(data)))],
        [("file", ("all.jsonl", lines(data)))],
    ):
        answer = service.post(COMPARE, files=files, data=fields)
        assert board_of(answer) == wanted
        assert answer.json()["reading"]["format"] == "labels"


def test_gold_beside_each_system_is_known_of_all_items_on_a_board(service: Any) -> None:
    data = labelled("xyz")
    rows = {name: list(zip(data["id"], data["gold"], data[name], strict=True)) for name in "uvw"}
    rows["u"] = rows["u"][3:]
    rows["w"] = rows["w"][:-2]
    columns = {name: [list(column) for column in zip(*own, strict=True)] for name, own in rows.items()}
    files = [
        ("system", (f"{name}.csv", table(dict(zip(("id", "gold", "pred"), own, strict=True)))))
        for name, own in columns.items()
    ]
    systems = {name: {key: label for key, _, label in own} for name, own in rows.items()}
    gold = dict(zip(data["id"], data["gold"], strict=True))
    for on_missing in ("pairwise", "complete"):
        request = {"kind": "predictions", "gold": gold, "systems": systems, "on_missing": on_missing}
        wanted = board_of(service.post(COMPARE, request))
        assert board_of(service.post(COMPARE, files=files, data={"on_missing": on_missing})) == wanted


def refusal(service: Any, files: dict[str, bytes], **fields: str) -> tuple[str, str]:
    sent = {role: (f"{role}.csv", content) for role, content in files.items()}
    error = problem(service.post(FILES, files=sent, data=fields), 422)["errors"][0]
    return error["pointer"], error["code"]


G = b"id,label\na,x\nb,y\n"


@pytest.mark.parametrize(
    ("files", "pointer", "code"),
    [
        ({"gold": G, "u": G, "v": b"id,label\na,x\n"}, "/files/gold", "unmatched_ids"),
        ({"gold": G, "u": G, "v": b"id,label\na,x\nb,\n"}, "/files/v/line/3/2", "missing_value"),
        ({"gold": G, "u": G, "v": b"id,label\na,x\na,y\n"}, "/files/v/line/3/2", "duplicate_id"),
        ({"gold": G, "u": G, "v": b"label\nx\ny\n"}, "/files/v/line/1", "choose_id_column"),
        ({"gold": G, "u": G, "v": b"id,a,b\na,x,y\nb,x,y\n"}, "/files/v/line/1", "choose_score_column"),
        ({"gold": b"label\nx\n", "u": b"label\nx\n", "v": b"label\nx\ny\n"}, "/files/v", "length_mismatch"),
        ({"u": b"id,gold,pred\na,x,y\n", "v": b"id,gold,pred\na,z,y\n"}, "/files/v/line/2/2", "gold_mismatch"),
        ({"u": b"id,gold,pred\na,x,y\n", "v": b"id,pred\na,y\n"}, "/files/v/line/1", "choose_gold_column"),
        ({"file": b"id,gold,u,v\na,1,1,0\nb,0,0,0\n"}, "/options/format", "choose_format"),
        ({"file": b"id,gold,a,b,c\na,x,x,x,y\nb,y,x,y,y\n"}, "/files/file", "choose_system_u"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_refused_at_its_place(
    service: Any, files: dict[str, bytes], pointer: str, code: str
) -> None:
    assert refusal(service, files) == (pointer, code)


def test_scores_are_no_labels_and_numbers_may_be_either(service: Any) -> None:
    scores = {"gold": b"id,label\na,1\nb,0\n", "u": b"id,label\na,0.5\nb,0.2\n", "v": b"id,label\na,1\nb,0\n"}
    assert refusal(service, scores, format="labels") == ("/files/u/line/2/2", "not_a_label")
    both = {"file": ("t.csv", b"id,gold,u,v\na,1,1,0\nb,0,0,0\nc,1,0,1\n")}
    labels = service.post(FILES, files=both, data={"format": "labels"}).json()["statistic"]
    numbers = service.post(FILES, files=both, data={"format": "csv"}).json()["statistic"]
    assert (labels["u"], labels["v"]) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert (numbers["u"], numbers["v"]) == (pytest.approx(1 / 3), pytest.approx(1 / 3))


def test_none_is_a_class_and_an_empty_field_is_missing(service: Any) -> None:
    files = {
        "gold": ("g.csv", b"id,label\na,none\nb,y\nc,y\n"), "u": ("u.csv", b"id,label\na,none\nb,y\nc,y\n"),
        "v": ("v.csv", b"id,label\na,y\nb,none\nc,\n"),
    }  # fmt: skip
    said = service.post(FILES, files=files, data={"on_missing": "drop"}).json()
    assert (said["items"]["n"], said["statistic"]["u"], said["statistic"]["v"]) == (2, 1.0, 0.0)


def test_clusters_are_a_column_of_gold(service: Any) -> None:
    data = labelled("xyz")
    files = ways(data)["csv each"]
    files["gold"] = (
        "gold.csv",
        table({"id": data["id"], "label": data["gold"], "cluster": [k // 4 for k in range(N)]}),
    )
    assert service.post(FILES, files=files).json()["items"]["clusters"] == N // 4
