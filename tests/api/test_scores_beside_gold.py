"""Files of scores beside gold over HTTP: they are the JSON request, in tests, gates, plans and boards."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import answer_to, error_of

ROOT = Path(__file__).resolve().parents[2]
FILES = "/v1/tests/files"
PREDICTIONS = "/v1/tests/predictions"
SMALL = ROOT / "tests" / "data" / "mtme" / "small"
METRICS = {"u": "chrF-refA", "v": "BLEU-refA", "gold": "en-de.mqm"}
HEADER = "id,time,event,group,cluster"
# All swaps of forty items take ten seconds.
SAMPLED: dict[str, Any] = {"method": "monte_carlo", "samples": 2_000}


def sent(paths: dict[str, Path]) -> dict[str, tuple[str, bytes]]:
    return {role: (path.name, path.read_bytes()) for role, path in paths.items()}


def metric_files() -> dict[str, tuple[str, bytes]]:
    return sent({role: SMALL / f"{name}.seg.score" for role, name in METRICS.items()})


def rows_of(name: str) -> list[tuple[str, int, float]]:
    """System, segment and score of the segments that people rated."""
    counts: dict[str, int] = {}
    rows = []
    for line in (SMALL / f"{name}.seg.score").read_text(encoding="utf-8").splitlines():
        system, score = line.split("\t")
        counts[system] = counts.get(system, 0) + 1
        if score != "None":
            rows.append((system, counts[system], float(score)))
    return rows


def as_request(groups: str, clusters: str | None) -> dict[str, Any]:
    rows = {role: rows_of(name) for role, name in METRICS.items()}
    keys = {"segment": [row[1] for row in rows["gold"]], "system": [row[0] for row in rows["gold"]]}
    ids = [f"{system}/{segment}" for system, segment, _ in rows["gold"]]
    # Items are sampled in the order of their ids.
    body: dict[str, Any] = {role: [row[2] for row in own] for role, own in rows.items()} | {"ids": ids}
    if groups != "none":
        body["groups"] = keys[groups]
    if clusters is not None:
        body["clusters"] = keys[clusters]
    return body


@pytest.mark.parametrize("groups", ["segment", "system", "none"])
@pytest.mark.parametrize("clusters", [None, "segment", "system"])
@pytest.mark.parametrize(
    "statistic",
    [
        {"name": "kendall"},
        {"name": "kendall", "scale": "standardized", "group_average": "sum"},
        {"name": "pairwise_accuracy", "epsilon": 2.5},
        {"name": "spearman", "scale": "raw"},
    ],
)
def test_segment_scores_are_the_request(
    service: Any, groups: str, clusters: str | None, statistic: dict[str, Any]
) -> None:
    fields: dict[str, Any] = {key: str(value) for key, value in statistic.items() if key != "name"}
    fields |= {"statistic": statistic["name"], "groups": groups}
    fields |= SAMPLED if clusters is None else {"clusters": clusters}
    said = answer_to(service.request("POST", FILES, files=metric_files(), data=fields))
    sampled: dict[str, Any] = SAMPLED if clusters is None else {}
    wanted = service.post(
        PREDICTIONS, {**as_request(groups, clusters), "statistic": statistic, **sampled}
    ).json()
    assert said["reading"] | {"notes": []} == {"format": "mt-metrics-eval", "guessed": True, "notes": []}
    assert (said["p_value"], said["p_value_bounds"]) == (wanted["p_value"], wanted["p_value_bounds"])
    assert said["statistic"] == wanted["statistic"]
    for count in ("n", "clusters"):
        assert said["items"][count] == wanted["items"][count]


def test_a_gate_of_metrics_decides_by_the_same_p_value(service: Any) -> None:
    fields = {"statistic": "kendall", "policy": "no_regression", **SAMPLED}
    answered = service.request("POST", "/v1/gate", files=metric_files(), data=fields)
    assert answered.status_code == 200, answered.text
    body = {**as_request("segment", None), "statistic": {"name": "kendall"}, **SAMPLED}
    wanted = service.post("/v1/gate", {"kind": "predictions", "request": body, "policy": "no_regression"})
    assert answered.json()["verdict"] == wanted.json()["verdict"]
    assert answered.json()["p_value"] == wanted.json()["p_value"]


def survival(n: int = 24) -> dict[str, list[Any]]:
    return {
        "id": [f"p{k:02}" for k in range(n)],
        "time": [(7 * k * k + 3) % 31 for k in range(n)],
        "event": [int(k % 3 > 0) for k in range(n)],
        "group": [f"site {k % 2}" for k in range(n)],
        "u": [(5 * k + 2) % 23 / 4 for k in range(n)],
        "v": [(11 * k + 7) % 29 / 8 for k in range(n)],
        "w": [(3 * k + 1) % 17 / 2 for k in range(n)],
    }


def written(columns: dict[str, list[Any]], names: tuple[str, ...], turned: bool = False) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["score" if name in "uvw" else name for name in names])
    rows = list(zip(*(columns[name] for name in names), strict=True))
    writer.writerows(rows[::-1] if turned else rows)
    return stream.getvalue().encode()


def test_boards_of_separate_files_keep_groups_and_events(service: Any) -> None:
    data = survival()
    gold = ("gold.csv", written(data, ("id", "time", "event", "group")))
    parts: list[tuple[str, tuple[str, bytes]]] = [("gold", gold)]
    parts += [
        ("system", (f"{name}.csv", written(data, ("id", name), turned=name == "v")))
        for name in ("u", "v", "w")
    ]
    answered = service.request("POST", "/v1/compare", files=parts, data={})
    assert answered.status_code == 200, answered.text
    pairs = {(pair["u"], pair["v"]): pair for pair in answered.json()["pairs"]}
    assert len(pairs) == 3
    for (u, v), pair in pairs.items():
        body = {
            "gold": data["time"], "event": data["event"], "groups": data["group"], "u": data[u], "v": data[v],
            "statistic": {"name": "concordance"},
        }  # fmt: skip
        assert pair["p_value"] == pytest.approx(service.post(PREDICTIONS, body).json()["p_value"], rel=1e-12)
        single = service.request(
            "POST", FILES, data={}, files={
                "gold": gold, "u": ("u.csv", written(data, ("id", u))), "v": ("v.csv", written(data, ("id", v), turned=True)),
            },
        )  # fmt: skip
        assert single.json()["p_value"] == pytest.approx(pair["p_value"], rel=1e-12)


def test_one_file_of_json_lines_is_the_table(service: Any) -> None:
    data = survival()
    rows = [
        {"id": i, "time": t, "event": bool(e), "group": g, "score_u": u, "score_v": v}
        for i, t, e, g, u, v in zip(
            *(data[n] for n in ("id", "time", "event", "group", "u", "v")), strict=True
        )
    ]
    lines = "\n".join(map(json.dumps, rows)).encode()
    one = service.request("POST", FILES, files={"file": ("scores.jsonl", lines)}, data={})
    assert one.status_code == 200, one.text
    header = f"{HEADER},score_u,score_v\n".replace(",cluster", "")
    table = header + "".join(",".join(str(row[name]) for name in row) + "\n" for row in rows)
    other = service.request(
        "POST", FILES, files={"file": ("scores.csv.gz", gzip.compress(table.encode()))}, data={}
    )
    assert other.status_code == 200, other.text
    assert one.json()["p_value"] == other.json()["p_value"]
    assert one.json()["statistic"]["name"] == "concordance"


@pytest.mark.parametrize(
    ("options", "pointer", "code"),
    [
        ({"groups": "sentence"}, "/options/groups", "invalid_option"),
        ({"gold_column": "label"}, "/options/gold_column", "unused_option"),
        ({"statistic": "auc"}, "/files/gold", "not_binary"),
        ({"statistic": "kendall", "epsilon": "1"}, "/options/epsilon", "unknown_parameter"),
        ({"statistic": "concordance", "test": "bootstrap"}, "/options/test", "not_bootstrapped"),
    ],
)
def test_inapplicable_options_are_refused(
    service: Any, options: dict[str, str], pointer: str, code: str
) -> None:
    assert error_of(service.request("POST", FILES, files=metric_files(), data=options)) == (pointer, code)


def test_a_missing_interval_is_reported(service: Any) -> None:
    said = service.request("POST", FILES, files=metric_files(), data={"confidence_level": "0.95"}).json()
    assert said["confidence_interval"] is None
    assert "interval_not_available" in {warning["code"] for warning in said["warnings"]}


def test_raw_scores_of_two_scales_are_a_warning_and_no_gate(service: Any) -> None:
    data = survival()
    body: dict[str, Any] = {"gold": data["time"], "u": data["u"], "v": [x + 50 for x in data["v"]]}
    raw = {**body, "statistic": {"name": "pairwise_accuracy"}}
    fair = {**body, "statistic": {"name": "pairwise_accuracy", "scale": "standardized"}}
    codes = [{w["code"] for w in service.post(PREDICTIONS, each).json()["warnings"]} for each in (raw, fair)]
    assert "scales_differ" in codes[0]
    assert "scales_differ" not in codes[1]
    gates = [
        service.post("/v1/gate", {"kind": "predictions", "request": each, "policy": "no_regression"})
        for each in (raw, fair)
    ]
    assert [gate.status_code for gate in gates] == [422, 200]
    assert gates[0].json()["errors"][0]["code"] == "scales_differ"
    # Nor where the numbers mean the same.
    same = {**body, "v": data["v"], "statistic": {"name": "pairwise_accuracy"}}
    assert "scales_differ" not in {w["code"] for w in service.post(PREDICTIONS, same).json()["warnings"]}


def test_a_table_whose_column_of_gold_is_named_is_read_beside_it(service: Any) -> None:
    table = b"txn,is_fraud,new,old\na,1,0.9,0.4\nb,0,0.3,0.5\nc,0,0.2,0.1\nd,1,0.7,0.6\n"
    files = {"file": ("fraud.csv", table)}
    refused = service.post(FILES, files=files, data={"statistic": "auc"})
    assert error_of(refused) == ("/files/file/line/1", "missing_column")
    assert {"gold_column": "is_fraud"} in [each["fields"] for each in refused.json()["errors"][0]["choices"]]
    read = service.post(FILES, files=files, data={"statistic": "auc", "gold_column": "is_fraud"}).json()
    direct = service.post(
        PREDICTIONS,
        json={
            "gold": [1, 0, 0, 1],
            "u": [0.9, 0.3, 0.2, 0.7],
            "v": [0.4, 0.5, 0.1, 0.6],
            "statistic": {"name": "auc"},
        },
    ).json()
    assert read["p_value"] == direct["p_value"]
    assert (read["statistic"]["u"], read["statistic"]["v"]) == (1.0, 0.75)


@pytest.mark.parametrize(("labels", "positive"), [("01", "0"), ("ft", "f"), (("false", "true"), "false")])
def test_the_positive_label_is_read_as_gold_is(service: Any, labels: Any, positive: str) -> None:
    rows = [(row % 3 == 0, row * 7 % 5, row * 3 % 7) for row in range(20)]
    content = "label,score_u,score_v\n" + "".join(f"{labels[one]},{u},{v}\n" for one, u, v in rows)
    fields = {"statistic": "auc", "positive": positive}
    answer = service.post(FILES, files={"file": ("t.csv", content)}, data=fields)
    request = {"gold": [int(not one) for one, _, _ in rows], "statistic": {"name": "auc"}}
    request |= {"u": [u for _, u, _ in rows], "v": [v for _, _, v in rows]}
    assert answer.json()["p_value"] == service.post(PREDICTIONS, json=request).json()["p_value"]
