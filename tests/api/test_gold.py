"""Labels and scores beside gold in tables and files: every way of writing them is the same test, gate and board as the JSON request."""

import csv
import io
import json
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from tests.api.conftest import answer_to, error_of, problem
from tests.binary import workbook

FILES, PREDICTIONS, COMPARE = "/v1/tests/files", "/v1/tests/predictions", "/v1/compare"
CSV = {"content-type": "text/csv"}
TSV = {"content-type": "text/tab-separated-values"}
N = 40


def data(gold: str) -> dict[str, Any]:
    generator = np.random.default_rng(13)
    truth = generator.integers(0, 2 if gold == "label" else 5, N)
    systems = {
        name: np.round(truth + generator.normal(0.0, sigma, N), 1).tolist()
        for name, sigma in (("B", 1.5), ("A", 0.8), ("C", 3.0))
    }
    return {
        "gold": truth.tolist(),
        "systems": systems,
        "groups": generator.integers(0, 4, N).tolist(),
        "event": generator.integers(0, 2, N).tolist(),
    }


def table(given: dict[str, Any], gold: str, extra: dict[str, list[Any]], delimiter: str = ",") -> bytes:
    columns = {gold: given["gold"], **given["systems"], **extra}
    rows = zip(*columns.values(), strict=True)
    lines = [delimiter.join(columns), *(delimiter.join(map(str, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def board_of(answer: Any) -> tuple[Any, Any, Any]:
    assert answer.status_code == 200, answer.text
    record = answer.json()
    return record["statistic"], record["systems"], record["pairs"]


@pytest.mark.parametrize(
    ("gold", "statistic", "extra"),
    [
        ("label", {"name": "auc"}, {}),
        ("label", {"name": "auc", "scale": "raw", "positive": 0}, {"group": "groups"}),
        ("mqm", {"name": "kendall", "group_average": "sum"}, {"group": "groups"}),
        ("mqm", {"name": "pairwise_accuracy", "epsilon": 0.5}, {}),
        ("time", {"name": "concordance"}, {"event": "event"}),
        ("human", {"name": "spearman"}, {"cluster": "groups"}),
    ],
)
def test_every_way_gives_the_board_of_the_json_request(
    service: Any, gold: str, statistic: dict[str, Any], extra: dict[str, str]
) -> None:
    given = data(gold)
    named = {"group": "groups", "event": "event", "cluster": "clusters"}
    beside = {named[name]: given[field] for name, field in extra.items()}
    request = {name: given[name] for name in ("gold", "systems")} | beside
    by_json = board_of(service.post(COMPARE, json={**request, "kind": "predictions", "statistic": statistic}))
    columns = {name: given[field] for name, field in extra.items()}
    fields = {("statistic" if name == "name" else name): str(value) for name, value in statistic.items()}
    content = table(given, gold, columns)
    by_form = service.post(COMPARE, files={"file": ("t.csv", content)}, data=fields)
    by_query = service.post(COMPARE, content=content, headers=CSV, params=fields)
    by_tabs = service.post(
        COMPARE,
        content=table(given, gold, columns, "\t"),
        headers=TSV,
        params={**fields, "gold_column": gold},
    )
    assert by_json == board_of(by_form) == board_of(by_query) == board_of(by_tabs)
    assert f'gold is the column "{gold}"' in by_form.json()["reading"]["notes"][-1]


def labels(words: tuple[Any, ...]) -> dict[str, Any]:
    generator = np.random.default_rng(7)
    gold = generator.integers(0, len(words), N)
    systems = {
        name: np.where(generator.random(N) < right, gold, generator.integers(0, len(words), N))
        for name, right in (("B", 0.4), ("A", 0.9), ("C", 0.6))
    }
    return {
        "gold": [words[one] for one in gold],
        "systems": {name: [words[one] for one in column] for name, column in systems.items()},
        "clusters": generator.integers(0, 9, N).tolist(),
    }


@pytest.mark.parametrize("words", [("cat", "dog", "emu"), (0, 1, 2), (0, 1)], ids=str)
@pytest.mark.parametrize(
    "statistic",
    [
        {"name": "accuracy"},
        {"name": "f1", "average": "macro"},
        {"name": "mcc"},
        {"name": "kappa"},
        {"name": "balanced_accuracy"},
        {"name": "g_mean", "positive": 1},
    ],
    ids=lambda statistic: str(statistic["name"]),
)
def test_labels_of_every_kind_are_compared_where_the_statistic_is_one_of_labels(
    service: Any, words: tuple[Any, ...], statistic: dict[str, Any]
) -> None:
    given = labels(words)
    if "positive" in statistic:
        statistic = {**statistic, "positive": words[1]}
    by_json = board_of(service.post(COMPARE, json={**given, "kind": "predictions", "statistic": statistic}))
    fields = {("statistic" if name == "name" else name): str(value) for name, value in statistic.items()}
    content = table(given, "label", {"cluster": given["clusters"]})
    other = table(given, "truth", {"cluster": given["clusters"]}, "\t")
    by_form = service.post(COMPARE, files={"file": ("t.csv", content)}, data=fields)
    by_query = service.post(COMPARE, content=content, headers=CSV, params=fields)
    by_tabs = service.post(COMPARE, content=other, headers=TSV, params={**fields, "gold_column": "truth"})
    assert by_json == board_of(by_form) == board_of(by_query) == board_of(by_tabs)


def test_text_beside_gold_is_labels_without_a_statistic(service: Any) -> None:
    given = labels(("cat", "dog"))
    content = table(given, "label", {})
    sent = service.post(COMPARE, content=content, headers=CSV, params={"gold_column": "label"})
    assert board_of(sent)[0] == "accuracy"


@pytest.mark.parametrize(
    ("words", "scores"), [((0, 1), "auc"), ((0, 1, 2), "kendall"), ((0, 1.0, 2), "kendall")], ids=str
)
def test_whole_numbers_that_gold_has_too_need_a_statistic(
    service: Any, words: tuple[Any, ...], scores: str
) -> None:
    """Tables in which gold is named, but the other columns may be classes or scores."""
    content = table(labels(words), "label", {})
    fields = {"gold_column": "label"}
    two = {**fields, "system_u": "A", "system_v": "B"}
    sent = {
        "/?statistic": service.post(COMPARE, content=content, headers=CSV, params=fields),
        "/options/statistic": service.post(COMPARE, files={"file": ("t.csv", content)}, data=fields),
        "/options/statistic of two": service.post(
            "/v1/tests/files", files={"file": ("t.csv", content)}, data=two
        ),
    }
    for pointer, answer in sent.items():
        flaw = answer.json()["errors"][0]
        assert (flaw["pointer"], flaw["code"]) == (pointer.split()[0], "choose_statistic")
        assert [one["fields"]["statistic"] for one in flaw["choices"]] == ["accuracy", scores]
    for chosen in ("accuracy", scores):
        answer = service.post(COMPARE, content=content, headers=CSV, params={**fields, "statistic": chosen})
        assert board_of(answer)[0] == chosen


def test_without_a_statistic_gold_tells_it_and_scores_are_scikit_learns(service: Any) -> None:
    given = data("label")
    answer = service.post(
        COMPARE, content=table(given, "label", {}), headers=CSV, params={"gold_column": "label"}
    )
    statistic, systems, _ = board_of(answer)
    assert statistic == "auc"
    for one in systems:
        assert one["score"] == pytest.approx(roc_auc_score(given["gold"], given["systems"][one["name"]]))


@pytest.mark.parametrize("on_missing", ["complete", "pairwise"])
@pytest.mark.parametrize("ids", [False, True])
def test_items_without_a_score_are_as_in_the_json_request(service: Any, on_missing: str, ids: bool) -> None:
    given = data("label")
    keys = [f"q{row}" for row in range(N)]
    gaps = {"A": (3, 7), "C": (7, 11)}
    systems = {
        name: {key: value for row, (key, value) in enumerate(zip(keys, column, strict=True)) if row not in gaps.get(name, ())}
        for name, column in given["systems"].items()
    }  # fmt: skip
    request = {
        "kind": "predictions",
        "statistic": {"name": "auc"},
        "on_missing": on_missing,
        "systems": systems,
        "gold": dict(zip(keys, given["gold"], strict=True)),
        "groups": dict(zip(keys, given["groups"], strict=True)),
    }
    for name, rows in gaps.items():
        given["systems"][name] = [
            "" if row in rows else one for row, one in enumerate(given["systems"][name])
        ]
    content = table(given, "label", {"group": given["groups"], **({"id": keys} if ids else {})})
    fields = {"statistic": "auc", "on_missing": on_missing}
    refused = service.post(COMPARE, content=content, headers=CSV, params={"statistic": "auc"})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/line/5/3")
    assert board_of(service.post(COMPARE, json=request)) == board_of(
        service.post(COMPARE, content=content, headers=CSV, params=fields)
    )


@pytest.mark.parametrize(
    ("header", "query", "pointer", "code"),
    [
        ("label,A,B", {}, "/line/1/1", "gold_column"),  # gold is no system
        ("truthful,A,B", {"statistic": "auc"}, "/line/1", "missing_column"),  # no gold is guessed
        ("label,A,B", {"statistic": "auc", "systems": "A,label"}, "/line/1", "choose_systems"),
        ("label,A,mean", {"statistic": "auc"}, "/line/1/3", "summary_column"),
        ("label,,B", {"statistic": "auc"}, "/line/1/2", "index_column"),
        ("label,A,B", {"gold_column": "gold"}, "/line/1", "choose_gold_column"),
        ("label,A,B", {"gold_column": "label", "statistic": "ratio"}, "/?statistic", "unknown_statistic"),
        ("label,A,B", {"gold_column": "label", "scheme": "BIO"}, "/?scheme", "unused_option"),
        ("label,A", {"statistic": "auc"}, "", "too_few_systems"),
        ("truthful,A,B", {"statistic": "accuracy"}, "/line/1", "missing_column"),
        ("label,A,B,group", {"statistic": "accuracy", "groups": "group"}, "/?groups", "unused_option"),
    ],
)
def test_ambiguous_labels_are_refused(
    service: Any, header: str, query: dict[str, str], pointer: str, code: str
) -> None:
    width = header.count(",") + 1
    rows = [",".join(str((row * (column + 2)) % 3 % 2) for column in range(width)) for row in range(12)]
    answer = service.post(COMPARE, content="\n".join([header, *rows]), headers=CSV, params=query)
    flaw = answer.json()["errors"][0]
    assert (answer.status_code, flaw["pointer"], flaw["code"]) == (422, pointer, code), flaw["detail"]


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


def written(columns: dict[str, list[Any]], turned: bool = False) -> bytes:
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
        "csv each": {
            role: (f"{role}.csv", written(own, turned=role == "v")) for role, own in by_role.items()
        },
        "jsonl each": {role: (f"{role}.jsonl", lines(own)) for role, own in by_role.items()},
        "csv and jsonl": {
            "gold": ("gold.csv", written(by_role["gold"])),
            "u": ("u.jsonl", lines({"id": ids, "prediction": data["u"]})),
            "v": ("v.tsv", written(by_role["v"]).replace(b",", b"\t")),
        },
        "gold in each": {role: (f"{role}.jsonl", lines(own)) for role, own in beside.items()},
        "gold in each table": {role: (f"{role}.csv", written(own)) for role, own in beside.items()},
        "one table": {"file": ("all.csv", written({key: data[key] for key in ("id", "gold", "u", "v")}))},
        "one table of pred": {
            "file": ("a", written({"y_true": gold, "item": ids, "pred_v": data["v"], "pred_u": data["u"]}))
        },
        "one array": {"file": ("all.json", b"[" + b",".join(lines(data).splitlines()) + b"]")},
        "no ids": {role: (f"{role}.csv", written({"label": data[role]})) for role in ("gold", "u", "v")},
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
    said = answer_to(service.post(FILES, files=ways(data)[way], data=fields))
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


def test_accuracy_is_the_default(service: Any) -> None:
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


def sheet_of(columns: dict[str, list[Any]]) -> bytes:
    return workbook(Sheet=[list(columns), *zip(*columns.values(), strict=True)])


def test_boards_of_workbooks_are_those_of_the_same_tables(service: Any) -> None:
    data = labelled("xyz")
    wanted = board_of(service.post(COMPARE, files=[("file", ("all.csv", written(data)))]))
    answer = service.post(COMPARE, files=[("file", ("all.xlsx", sheet_of(data)))], data={"sheet": "Sheet"})
    assert board_of(answer) == wanted
    assert 'the sheet "Sheet" was read' in answer.json()["reading"]["notes"][0]
    each = [
        ("system", (f"{name}.xlsx", sheet_of({"id": data["id"], "gold": data["gold"], "pred": data[name]})))
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
    each = [("system", (f"{name}.csv", written({"id": data["id"], "label": data[name]}))) for name in "uvw"]
    gold = ("gold", ("gold.csv", written({"id": data["id"], "label": data["gold"]})))
    beside = {name: {"id": data["id"], "gold": data["gold"], "pred": data[name]} for name in "uvw"}
    for files in (
        [gold, *each],
        [("system", (f"{name}.jsonl", lines(own))) for name, own in beside.items()],
        [("file", ("all.csv", written(data)))],
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
        ("system", (f"{name}.csv", written(dict(zip(("id", "gold", "pred"), own, strict=True)))))
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
def test_ambiguous_bodies_are_refused_at_their_place(
    service: Any, files: dict[str, bytes], pointer: str, code: str
) -> None:
    assert refusal(service, files) == (pointer, code)


def test_scores_are_not_labels_and_numbers_may_be_either(service: Any) -> None:
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
        written({"id": data["id"], "label": data["gold"], "cluster": [k // 4 for k in range(N)]}),
    )
    assert service.post(FILES, files=files).json()["items"]["clusters"] == N // 4
