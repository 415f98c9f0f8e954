"""Missing outcomes and items: null, NaN, ids that one system lacks, in bodies, files, boards, gates and reports."""

import csv
import io
import json
import random
import re
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from click.testing import CliRunner

from exactperm.cli.commands import cli
from exactperm.client import scores
from exactperm.client.requests import TestRequest
from exactperm.client.responses import decode
from exactperm.client.results import GateResult, TestResult
from tests.api.conftest import answer_to, error_of
from tests.binary import npy
from tests.enumeration import by_signs

PATH = "/v1/tests/scores"
U, V = [1, 1, None, 1, 1, 0], [0, 0, 0, None, 0, 0]


def test_nulls_and_ids_and_lines_are_one_request(service: Any) -> None:
    asked = {"on_missing": "bounds", "alternative": "greater"}
    listed = service.post(PATH, json={"u": U, "v": V, **asked}).json()
    assert listed["missing"] == {"n": 2, "difference": [0.5, 5 / 6], "p_value": [1 / 32, 1 / 8]}
    assert (listed["items"]["n"], listed["p_value"], listed["significant"]) == (4, 1 / 8, False)
    assert "missing_outcomes" in {one["code"] for one in listed["warnings"]}
    keyed: dict[str, Any] = {
        name: {f"q{index}": one for index, one in enumerate(side) if one is not None}
        for name, side in (("u", U), ("v", V))
    }
    by_id = service.post(PATH, json={**keyed, **asked}).json()
    keyed["u"]["q2"] = None
    with_null = service.post(PATH, json={**keyed, **asked}).json()
    assert by_id["missing"] == with_null["missing"] == listed["missing"]
    assert by_id["id"] == with_null["id"] == listed["id"]


def test_tables_and_junit_have_fields_for_missing_outcomes(service: Any) -> None:
    request = {"u": U, "v": V, "on_missing": "bounds", "alternative": "greater"}
    found = service.post(PATH, json=request).json()["missing"]
    wanted = {
        "missing": str(found["n"]),
        "missing_difference_worst": repr(found["difference"][0]),
        "missing_difference_best": repr(found["difference"][1]),
        "missing_p_value_least": repr(found["p_value"][0]),
        "missing_p_value_greatest": repr(found["p_value"][1]),
    }

    def row_of(path: str, body: dict[str, Any]) -> dict[str, str]:
        (row,) = csv.DictReader(io.StringIO(service.post(f"{path}format=csv", json=body).text))
        return {name: row[name] for name in wanted}

    gate: dict[str, Any] = {
        "kind": "scores",
        "request": {**request, "alternative": "two-sided"},
        "policy": "improve",
    }
    gate["higher_is_better"] = True
    assert row_of(f"{PATH}?", request) == wanted
    assert row_of("/v1/gate?fail_status=200&", gate)["missing_difference_worst"] == "0.5"
    assert set(row_of(f"{PATH}?", {"u": [1, 0], "v": [0, 0]}).values()) == {""}
    suite = ET.fromstring(service.post("/v1/gate?fail_status=200&format=junit", json=gate).content)
    said = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert (said["missing"], said["missing_difference_best"]) == ("2", repr(5 / 6))


def test_samples_clusters_and_a_range(service: Any) -> None:
    request = {
        "u": [[80, 90], [70, 60], None, [50, 50]], "v": [[50, 60], [40, 50], [50, 50], [50, 45]],
        "clusters": ["a", "b", "a", "c"], "on_missing": "bounds", "missing_range": [0, 100],
    }  # fmt: skip
    said = service.post(PATH, json=request).json()
    # Cluster a: 30 + [-50, 50]; b: 20; c: 2.5.
    assert said["missing"]["difference"] == pytest.approx([(30 - 50 + 22.5) / 4, (30 + 50 + 22.5) / 4])
    assert said["missing"]["p_value"] == [0.25, 1.0]


def test_complete_data_have_no_bounds(service: Any) -> None:
    said = service.post(PATH, json={"u": [1, 0], "v": [0, 0], "on_missing": "bounds"}).json()
    assert (said["missing"], said["p_value"]) == (None, 1.0)


def gate_of(service: Any, test: TestRequest, **terms: Any) -> GateResult:
    """A gate by the client's request, read by the client."""
    return decode(
        GateResult,
        service.post(
            "/v1/gate?fail_status=200", json={"kind": test.kind, "request": test.body, **terms}
        ).json(),
    )


def test_a_gate_reports_whether_missing_outcomes_decide(service: Any) -> None:
    undecided = gate_of(
        service, scores([1] * 5 + [None] * 3, [0] * 8, on_missing="bounds"), policy="improve", alpha=0.01
    )
    assert (undecided.verdict, undecided.passed) == ("inconclusive", True)
    shown = gate_of(service, scores([1] * 8 + [None] * 4, [0] * 12, on_missing="bounds"), policy="improve")
    assert shown.verdict == "pass"


@pytest.mark.parametrize(
    ("given", "pointer", "code"),
    [
        ({"u": U, "v": V}, "/u/2", "not_a_number"),
        ({"u": [1, None], "v": [None, 1], "on_missing": "drop"}, "/u", "no_common_ids"),
        ({"u": [1, None], "v": [0, 0, 0], "on_missing": "drop"}, "/v", "length_mismatch"),
        ({"u": [1, None, "x"], "v": [0, 0, 0], "on_missing": "drop"}, "/u/2", "not_a_number"),
        ({"u": [1, None, "x"], "v": [0, 0, 0], "on_missing": "bounds"}, "/u/2", "not_a_number"),
        ({"u": [1, None], "v": [0, 0, 0], "on_missing": "bounds"}, "/v", "length_mismatch"),
        ({"u": [1, None], "v": [None, 1], "on_missing": "bounds"}, "/u", "no_common_ids"),
        ({"u": [7, None], "v": [0, 1], "on_missing": "bounds"}, "/missing_range", "scores_outside_range"),
        ({"u": [1, None], "v": [0, 1], "on_missing": "bounds", "missing_range": [1, 0]}, "/missing_range", "not_a_range"),
        ({"u": [1, None], "v": [0, 1], "on_missing": "bounds", "missing_range": [0, 10**400]}, "/missing_range", "not_a_range"),
        ({"u": [1, 0], "v": [0, 1], "missing_range": [0, 1]}, "/missing_range", "redundant"),
        ({"u": [1, None], "v": [0, 1], "on_missing": "bounds", "weights": [1, 2]}, "/weights", "no_missing_bounds"),
        (
            {"u": [1, None], "v": [0, 1], "on_missing": "bounds", "statistic": {"name": "signed_rank"}},
            "/on_missing", "no_missing_bounds",
        ),
    ],
)  # fmt: skip
def test_refusals(service: Any, given: Any, pointer: str, code: str) -> None:
    assert error_of(service.post(PATH, json=given)) == (pointer, code)


def test_other_kinds_have_none(service: Any) -> None:
    refused = service.post(
        "/v1/tests/predictions", json={"gold": {"a": 1}, "u": {"a": 1}, "v": {"a": 0}, "on_missing": "bounds"}
    )
    assert refused.json()["errors"][0]["code"] == "no_missing_bounds"


def test_equivalence_repeats_and_mid_p_from_the_client(service: Any) -> None:
    near = [0.5, 0.51, 0.49, 0.52, 0.48, 0.5, 0.51, 0.49]
    answer = gate_of(service, scores(near, near[::-1]), policy="equivalent", margin=0.1)
    assert answer.verdict == "pass"
    assert answer.policy == "equivalent"
    assert answer.metrics[0].decision.equivalence is not None
    assert answer.metrics[0].decision.equivalence.p_value_above == 1 / 256
    statistic = {"name": "mean_difference", "repeats": "all"}
    request = scores([[1, 1], [1, 0]], [[0, 0], [0, 1]], statistic=statistic, significance="mid_p")
    test = decode(TestResult, service.post(PATH, json=request.body).json())
    assert test.repeats is not None
    assert test.repeats.u is not None
    assert (test.repeats.repeats, test.repeats.u.flip_rate, test.mid_p_value) == ("all", 0.5, 0.5)


LISTED_U, LISTED_V = ([1, None, 0, 1, 1, None, 1, 1], [0, 1, 0, None, 0, None, 0, 0])
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
        ("scores", {"u": LISTED_U, "v": LISTED_V}, {}),
        ("scores", {"u": LISTED_U, "v": LISTED_V}, {"weights": [1, 2, 3, 4, 5, 6, 7, 8]}),
        ("scores", {"u": LISTED_U, "v": LISTED_V}, {"clusters": list("aabbccdd")}),
        ("scores", {"u": [[x, 1] if x is not None else None for x in LISTED_U], "v": [[0, 1]] * 8}, {}),
        ("effects", {"stay": [None if x is None or y is None else x - y for x, y in zip(LISTED_U, LISTED_V, strict=True)]}, {}),
        (
            "counts",
            {
                role: [None if x is None else {"correct": x, "total": 1} for x in column]
                for role, column in (("u", LISTED_U), ("v", LISTED_V))
            },
            {"statistic": {"name": "accuracy"}},
        ),
        ("predictions", {"gold": [1] * 8, "u": LISTED_U, "v": LISTED_V}, {"statistic": {"name": "accuracy"}}),
        (
            "predictions",
            {"gold": [1, 0, 0, 1, 1, 0, 0, 1], "u": [None if x is None else x / 2 for x in LISTED_U], "v": [None if x is None else x / 3 for x in LISTED_V]},
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


def test_omitted_items_are_counted(service: Any) -> None:
    answer = service.post(
        "/v1/tests/scores", json={"u": LISTED_U, "v": LISTED_V, "on_missing": "drop"}
    ).json()
    assert answer["pairing"] == {"matched": 5, "only_u": 1, "only_v": 1}
    named = service.post(
        "/v1/tests/scores",
        json={
            "u": LISTED_U,
            "v": LISTED_V,
            "ids": list("abcdefgh"),
            "on_missing": "drop",
            "confidence_level": 0.9,
        },
    ).json()
    assert named["moved"]["toward_u"] == ["a", "e", "g", "h"]


def test_objects_may_have_nulls_like_lists(service: Any) -> None:
    by_id = {
        role: dict(zip("abcdefgh", column, strict=True))
        for role, column in (("u", LISTED_U), ("v", LISTED_V))
    }
    same(
        service.post("/v1/tests/scores", json={**by_id, "on_missing": "drop"}),
        service.post("/v1/tests/scores", json={"u": some(LISTED_U), "v": some(LISTED_V)}),
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


def test_null_is_refused_without_on_missing(service: Any) -> None:
    refused = service.post("/v1/tests/scores", json={"u": LISTED_U, "v": LISTED_V}).json()
    flaw = refused["errors"][0]
    assert (flaw["pointer"], flaw["code"]) == ("/u/1", "not_a_number")


def test_nan_in_an_array_is_missing_with_on_missing(service: Any) -> None:
    content = npy(np.array([LISTED_U, LISTED_V], dtype=float).T)
    headers = {"Content-Type": "application/x-npy"}
    answer = service.post("/v1/tests/scores?on_missing=drop", content=content, headers=headers)
    same(answer, service.post("/v1/tests/scores", json={"u": some(LISTED_U), "v": some(LISTED_V)}))
    refused = service.post("/v1/tests/scores", content=content, headers=headers).json()
    assert refused["errors"][0] | {"detail": ""} == {"pointer": "/1/0", "code": "not_finite", "detail": ""}


def board(service: Any, **request: Any) -> Any:
    return answer_to(service.post("/v1/compare", json={"kind": "scores", **request}))


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


@pytest.mark.parametrize("column", [None, 3, True, "abc"])
@pytest.mark.parametrize("name", ["id", "seed", ""])
def test_a_scalar_with_the_name_of_ids_is_refused(service: Any, name: str, column: Any) -> None:
    body = {"kind": "scores", "systems": {"A": [1, 0], "B": [0, 1], name: column}}
    assert error_of(service.post("/v1/compare", body)) == (f"/systems/{name}", "not_a_column")


def test_ids_with_a_null_are_not_a_system(service: Any) -> None:
    systems = {"id": [1, 2, None, 4], "A": [1, 0, None, 1], "B": [0, 1, 1, 0]}
    request = {"kind": "scores", "systems": systems, "on_missing": "pairwise"}
    refused = service.post("/v1/compare", json=request).json()["errors"][0]
    assert (refused["pointer"], refused["code"]) == ("/systems/id", "no_system")


def test_every_baseline_of_a_gate_may_have_nulls(service: Any) -> None:
    request = {"u": [1, None, 1, 1, 1, 1, 1, 1], "on_missing": "drop"}
    baselines = {"A": [0, 0, 0, None, 0, 0, 0, 0], "B": [None, *[0] * 7]}
    asked = {"kind": "scores", "policy": "improve", "request": request, "against": baselines}
    assert [
        metric["test"]["pairing"] for metric in answer_to(service.post("/v1/gate", json=asked))["metrics"]
    ] == [{"matched": 6, "only_u": 1, "only_v": 1}] * 2


OPEN_U, OPEN_V = [1, 1, None, 1, 1, 0, None], [0, 0, 0, None, 0, 0, None]
ASKED = "on_missing=bounds&alternative=greater"


def table_of(header: bool, ids: bool = False, lacking: str = "") -> bytes:
    rows = [
        ",".join([*([f"q{i}"] if ids else []), *(lacking if x is None else str(x) for x in pair)])
        for i, pair in enumerate(zip(OPEN_U, OPEN_V, strict=True))
    ]
    names = ["id,u,v" if ids else "u,v"] if header else []
    return ("\n".join([*names, *rows]) + "\n").encode()


def over_fillings(low: Fraction, high: Fraction) -> list[float]:
    """The least and the greatest one-sided p over fillings with the ends of the range and its middle."""
    found = []
    gaps = [index for index, x in enumerate((*OPEN_U, *OPEN_V)) if x is None]
    for filling in product((low, (low + high) / 2, high), repeat=len(gaps)):
        values = [Fraction(0 if x is None else x) for x in (*OPEN_U, *OPEN_V)]
        for index, value in zip(gaps, filling, strict=True):
            values[index] = value
        found.append(by_signs(values[: len(OPEN_U)], values[len(OPEN_U) :], "greater"))
    return [float(min(found)), float(max(found))]


def test_a_table_with_empty_fields_is_a_list_with_nulls(service: Any) -> None:
    body = {"u": OPEN_U, "v": OPEN_V, "on_missing": "bounds", "alternative": "greater"}
    listed = service.post("/v1/tests/scores", body).json()
    assert listed["missing"]["p_value"] == over_fillings(Fraction(0), Fraction(1))
    assert listed["missing"]["n"] == 4
    for content, media in (
        (table_of(header=True), "text/csv"),
        (table_of(header=False), "text/csv"),
        (table_of(header=True).replace(b",", b"\t"), "text/tab-separated-values"),
        (
            b"".join(
                json.dumps({"u": u, "v": v}).encode() + b"\n" for u, v in zip(OPEN_U, OPEN_V, strict=True)
            ),
            "application/x-ndjson",
        ),
    ):
        said = service.body(f"/v1/tests/scores?{ASKED}", content, media).json()
        assert said["id"] == listed["id"], (media, said)
        assert said["missing"] == listed["missing"]
    ranged = service.body(
        f"/v1/tests/scores?{ASKED}&missing_range=-1,2", table_of(header=True), "text/csv"
    ).json()
    assert ranged["missing"]["p_value"] == over_fillings(Fraction(-1), Fraction(2))


def read(service: Any, files: dict[str, bytes], **fields: str) -> Any:
    return service.request(
        "POST",
        "/v1/tests/files",
        files={role: (f"{role}.csv", own) for role, own in files.items()},
        data=fields,
    )


@pytest.mark.parametrize("lacking", ["", "NA"])
@pytest.mark.parametrize("ids", [True, False])
def test_a_file_with_empty_fields(service: Any, ids: bool, lacking: str) -> None:
    asked = {"on_missing": "bounds", "alternative": "greater"}
    said = read(service, {"file": table_of(header=True, ids=ids, lacking=lacking)}, **asked).json()
    assert said["missing"]["n"] == 4, said
    assert said["missing"]["p_value"] == over_fillings(Fraction(0), Fraction(1))
    assert (said["items"]["n"], said["p_value"]) == (4, 1 / 8)
    assert any("4 outcomes are missing" in note for note in said["reading"]["notes"])


def test_ids_that_one_file_lacks(service: Any) -> None:
    """Items in one file only and items without a value are missing; clusters include all items."""
    u = b"id,score,cluster\na,1,x\nb,1,y\nc,,y\nd,1,z\n"
    v = b"id,score,cluster\nd,0,z\nb,0,y\na,0,x\ne,0,x\n"
    asked = {"on_missing": "bounds", "missing_range": "0,1"}
    said = read(service, {"u": u, "v": v}, **asked).json()
    keyed = {
        "u": {"a": 1, "b": 1, "c": None, "d": 1}, "v": {"d": 0, "b": 0, "a": 0, "e": 0},
        "clusters": {"a": "x", "b": "y", "c": "y", "d": "z", "e": "x"}, "on_missing": "bounds",
    }  # fmt: skip
    as_json = service.post("/v1/tests/scores", keyed).json()
    assert said["missing"] == as_json["missing"]
    assert said["missing"]["n"] == 3
    assert (said["p_value"], said["items"]) == (as_json["p_value"], as_json["items"])
    nothing = read(service, {"u": u.replace(b"c,,y\n", b""), "v": v.replace(b"e,0,x\n", b"")}, **asked).json()
    assert nothing["missing"] is None


@pytest.mark.parametrize(
    ("files", "fields", "pointer", "code"),
    [
        ({"file": b"id,u,v\na,1,0\nb,,1\n"}, {"missing_range": "0,1"}, "/options/missing_range", "redundant"),
        ({"file": b"id,u,v\na,1,0\nb,,1\n"}, {"on_missing": "bounds", "missing_range": "1,0"}, "/options/missing_range", "not_a_range"),
        ({"file": b"id,u,v\na,1,0\nb,,1\n"}, {"on_missing": "bounds", "missing_range": "1"}, "/options/missing_range", "not_a_range"),
        ({"file": b"id,u,v\na,7,0\nb,,1\n"}, {"on_missing": "bounds"}, "/options/missing_range", "scores_outside_range"),
        ({"file": b"id,u,v\na,1,0\nb,,1\n"}, {"on_missing": "bounds", "statistic": "signed_rank"}, "/options/on_missing", "no_missing_bounds"),
        ({"file": b"id,u,v\na,1,0\nb,,1\n"}, {"on_missing": "bounds", "test": "bootstrap"}, "/options/on_missing", "no_missing_bounds"),
        ({"file": b"id,u,v,weight\na,1,0,1\nb,,1,2\n"}, {"on_missing": "bounds"}, "/options/on_missing", "no_missing_bounds"),
        ({"file": b"id,u,v\na,,0\nb,,1\n"}, {"on_missing": "bounds"}, "/files/file", "no_common_ids"),
        ({"file": b"tp_u,incorrect_u,tp_v,incorrect_v\n1,0,1,0\n0,1,1,1\n"}, {"on_missing": "bounds"}, "/options/on_missing", "no_missing_bounds"),
        ({"u": b"score\n1\n\n0\n1\n", "v": b"score\n1\n0\n\n0\n"}, {"on_missing": "bounds"}, "/files/v", "no_ids"),
    ],
)  # fmt: skip
def test_statistics_without_bounds_are_refused(
    service: Any, files: dict[str, bytes], fields: dict[str, str], pointer: str, code: str
) -> None:
    assert error_of(read(service, files, format="csv", **fields)) == (pointer, code)


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("on_missing=bounds&missing_range=a,1", "/?missing_range"),
        ("on_missing=bounds&missing_range=1", "/?missing_range"),
        ("missing_range=0,1", "/?missing_range"),
    ],
)
def test_a_range_in_the_query(service: Any, query: str, pointer: str) -> None:
    refused = service.body(f"/v1/tests/scores?{query}", b"u,v\n1,0\n0,1\n", "text/csv")
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"].startswith(pointer)


def test_without_bounds_an_empty_field_is_refused_or_left_out(service: Any) -> None:
    refused = service.body("/v1/tests/scores", table_of(header=True), "text/csv")
    assert refused.json()["errors"][0]["code"] == "missing_value"
    dropped = service.body("/v1/tests/scores?on_missing=drop", table_of(header=True), "text/csv").json()
    as_file = service.request(
        "POST",
        "/v1/tests/files",
        files={"file": ("f.csv", table_of(header=True))},
        data={"on_missing": "drop"},
    )
    assert dropped["items"] == as_file.json()["items"]


@pytest.mark.parametrize("complete", [5, 9])
def test_a_gate_of_files_is_undecided_where_the_bounds_do_not_decide(service: Any, complete: int) -> None:
    rows = b"".join(b"q%d,1,0\n" % i for i in range(complete)) + b"x,,0\ny,,0\n"
    terms = {"on_missing": "bounds", "policy": "improve", "alpha": "0.02"}
    answered = service.request(
        "POST",
        "/v1/gate",
        files={"file": ("file.csv", b"id,u,v\n" + rows)},
        data={**terms, "on_inconclusive": "fail"},
    )
    said = answered.json()
    low, high = said["metrics"][0]["decision"]["p_value_bounds"]
    # With both gaps filled by 1 all items are wins; by 0, ties.
    assert (low, high) == (2.0 ** -(complete + 2), 2.0**-complete)
    assert said["verdict"] == ("pass" if high <= 0.02 else "inconclusive")
    assert answered.status_code == (200 if high <= 0.02 else 409)
    if high > 0.02:
        assert "depends on the missing outcomes" in said["reason"]


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_reports_show_the_effect_of_missing_outcomes(service: Any, form: str) -> None:
    wins = [1] * 6
    open_ = {"u": [*wins, None, None], "v": [0] * 8, "on_missing": "bounds", "alpha": 0.01}
    sure = {**open_, "alpha": 0.2}

    def said(body: dict[str, Any], gate: bool = False) -> str:
        request = {"kind": "scores", "policy": "improve", "request": body} if gate else body
        path = "/v1/gate?fail_status=200&" if gate else "/v1/tests/scores?"
        answer = service.post(f"{path}format={form}", request)
        assert answer.status_code == 200, answer.text
        text = str(answer.text)
        return " ".join((re.sub(r"<[^>]*>", " ", text) if form == "html" else text).split())

    # p = 2 / 2**6 of the complete items; over the fillings 2 / 2**8 to 2 / 2**6.
    undecided, decided = said(open_), said(sure)
    for text in (undecided, decided):
        assert "0.0078125" in text
        assert "missing" in text
    assert {"text": "undecided at 0.01", "markdown": "Not settled at 0.01", "html": "Not settled at 0.01"}[
        form
    ] in undecided
    assert not re.search(r"(?<!whether it is )\bsignificant at 0\.01", undecided)
    assert re.search(r"\b[Ss]ignificant at 0\.2", decided)
    if form != "text":
        assert "whether it is significant depends on them" in undecided
        assert "whatever they are, it is significant at 0.2" in decided
    assert "missing" in said({**open_, "alpha": 0.01}, gate=True)


def test_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_bytes(table_of(header=True, ids=True))
    asked = ["test", str(file), "--on-missing", "bounds", "--alternative", "greater"]
    ran = CliRunner().invoke(cli, [*asked, "--format", "json"])
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["missing"]["p_value"] == over_fillings(Fraction(0), Fraction(1))
    wide = CliRunner().invoke(cli, [*asked, "-O", "missing_range=-1,2", "--format", "json"])
    assert json.loads(wide.stdout)["missing"]["p_value"] == over_fillings(Fraction(-1), Fraction(2))
    wrong = CliRunner().invoke(cli, [*asked, "-O", "missing_range=2"])
    assert wrong.exit_code == 2
    assert "-O missing_range" in wrong.output
