"""Missing outcomes over HTTP and from the client: null in lists, ids that only one system has, lines, gates."""

from __future__ import annotations

import csv
import io
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from exactperm.client import scores
from exactperm.client.decode import decode
from exactperm.client.gate_results import GateResult
from exactperm.client.requests import TestRequest
from exactperm.client.results import TestResult
from tests.api.conftest import error_of

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


def test_tables_and_junit_have_fields_for_what_is_missing(service: Any) -> None:
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


def test_nothing_missing_has_no_bounds(service: Any) -> None:
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


def test_a_gate_says_what_the_verdict_hangs_on(service: Any) -> None:
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
