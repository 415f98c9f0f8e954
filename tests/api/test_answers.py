"""Test answers to valid requests."""

import json
from typing import Any

import numpy as np
import pytest

from exactperm.api.openapi.schemas import PlanAnswer, TestAnswer
from tests.api.conftest import answer_to

U, V = [0.85, 0.90, 0.78, 0.92, 0.88], [0.80, 0.85, 0.75, 0.88, 0.82]
SCORES = {"u": U, "v": V}
EXACT = 0.0625
PATHS: dict[str, dict[str, Any]] = {
    "/v1/tests/effects": {"stay": [3, -1, 0, 2]},
    "/v1/tests/scores": SCORES,
    "/v1/tests/counts": {
        "u": {"tp": [8, 3, 7], "incorrect": [2, 3, 1]},
        "v": {"tp": [6, 5, 7], "incorrect": [1, 2, 1]},
    },
    "/v1/tests/predictions": {"gold": ["N", "V", "N"], "u": ["N", "V", "V"], "v": ["V", "V", "V"]},
}


def without_runtime(content: bytes) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(content)
    del said["runtime"]
    return said


def test_the_handout_example_has_its_exact_p_value(service: Any) -> None:
    said = answer_to(service.post("/v1/tests/scores", SCORES))
    assert said["p_value"] == EXACT
    assert said["p_value_bounds"][0] <= EXACT <= said["p_value_bounds"][1]
    assert said["items"] == {"n": 5, "nonzero": 5, "clusters": None, "wins": 5, "ties": 0, "losses": 0}
    assert said["statistic"]["name"] == "mean_difference"
    assert (
        service.post("/v1/tests/scores", {**SCORES, "alternative": "greater"}).json()["p_value"] == EXACT / 2
    )


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("pmf", ["none", "summary", "full"])
def test_an_answer_has_every_field_of_the_contract_and_no_other(service: Any, path: str, pmf: str) -> None:
    response = service.post(path, {**PATHS[path], "pmf": pmf, "exact_fraction": True})
    assert response.status_code == 200, response.text
    said: Any = TestAnswer.model_validate_json(response.content)
    assert list(response.json()) == list(TestAnswer.model_fields)
    assert said.p_value_fraction is not None
    assert int(said.p_value_fraction.numerator) / 2**said.p_value_fraction.log2_denominator == said.p_value
    assert said.id.removeprefix("t_").startswith(said.signature.rpartition("sha:")[2])


@pytest.mark.parametrize("path", PATHS)
def test_the_same_request_gives_the_same_bytes_but_runtime(
    service: Any, worker_service: Any, path: str
) -> None:
    first, second = service.post(path, PATHS[path]), service.post(path, PATHS[path])
    elsewhere = worker_service.post(path, PATHS[path])
    assert first.status_code == 200
    runtime = json.dumps(first.json()["runtime"], separators=(",", ":"))
    other = json.dumps(elsewhere.json()["runtime"], separators=(",", ":"))
    assert first.text.replace(runtime, "") == elsewhere.text.replace(other, "")
    assert without_runtime(first.content) == without_runtime(second.content)
    assert first.headers["etag"] == elsewhere.headers["etag"] == f'W/"{first.json()["id"]}"'
    assert first.headers["x-p-value"] == repr(first.json()["p_value"])


def test_an_answer_carries_the_headers_of_the_contract(service: Any) -> None:
    response = service.post("/v1/tests/scores", SCORES, headers={"x-request-id": "my-run.7"})
    assert response.headers["x-request-id"] == "my-run.7"
    assert response.headers["vary"] == "Accept"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["server-timing"].startswith("queue;dur=")
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("name", "media", "start"),
    [
        ("text", "text/plain", "p=0.0625 (exact, "),
        ("markdown", "text/markdown", "**Not significant at 0.05**, p = 0.0625 "),
        ("csv", "text/csv", "id,p_value,"),
    ],
)
def test_an_answer_can_be_had_as_text_by_accept_or_by_format(
    service: Any, name: str, media: str, start: str
) -> None:
    asked = service.post("/v1/tests/scores", SCORES, headers={"accept": media})
    forced = service.post(f"/v1/tests/scores?format={name}", SCORES)
    assert asked.text == forced.text
    assert asked.text.startswith(start)
    assert asked.headers["content-type"] == forced.headers["content-type"] == f"{media}; charset=utf-8"


def test_hostile_names_stay_inert_everywhere(service: Any) -> None:
    names = {"u": "=cmd()\r\nX-Injected: 1 <script>", "v": "a|b`"}
    for accept in ("text/plain", "text/markdown", "text/csv", "application/json"):
        response = service.post("/v1/tests/scores", {**SCORES, "names": names}, headers={"accept": accept})
        assert response.status_code == 200
        assert "x-injected" not in response.headers
        assert not any(text.startswith("X-Injected") for text in response.text.splitlines())


@pytest.mark.parametrize(
    ("body", "media", "query"),
    [
        (b"1,0\n1,1\n0,0\n1,0\n1,0\n", "text/csv", ""),
        (b"1,0\r\n1,1\r\n0,0\r\n1,0\r\n1,0", "text/csv; charset=utf-8", ""),
        (b"1\t0\n1\t1\n0\t0\n1\t0\n1\t0\n", "text/tab-separated-values", ""),
        (b"id,u,v\na,1,0\nb,1,1\nc,0,0\nd,1,0\ne,1,0\n", "text/csv", ""),
        (b'"v","u"\n0,"1"\n1,1\n0,0\n0,1\n0,1\n', "text/csv", ""),
    ],
)
def test_a_table_is_the_same_test_as_the_json(service: Any, body: bytes, media: str, query: str) -> None:
    table = service.body("/v1/tests/scores?statistic=sum_difference&alternative=greater", body, media)
    assert table.status_code == 200, table.text
    request = {
        "u": [1, 1, 0, 1, 1],
        "v": [0, 1, 0, 0, 0],
        "statistic": {"name": "sum_difference"},
        "alternative": "greater",
    }
    same = service.post("/v1/tests/scores", request).json()
    said = table.json()
    assert said["p_value"] == same["p_value"] == 1 / 8
    assert said["statistic"] == same["statistic"]


def test_every_option_of_a_table_goes_into_the_query(service: Any) -> None:
    query = (
        "statistic=signed_rank&zero_method=pratt&alternative=less&method=monte_carlo&test=permutation&on_missing=drop"
        "&pmf=none&samples=500&seed=7&precision=0.01&alpha=0.1&exact_fraction=false&timeout_s=5&name_u=A&name_v=B"
        "&format=json"
    )
    said = answer_to(service.body(f"/v1/tests/scores?{query}", b"1,0\n1,2\n0,5\n", "text/csv"))
    assert said["method"]["name"] == "monte_carlo"
    assert (said["method"]["monte_carlo"]["samples"], said["method"]["monte_carlo"]["seed"]) == (500, 7)
    assert (said["alternative"], said["alpha"], said["null"]["pmf"]) == ("less", 0.1, None)
    assert said["statistic"]["name"] == "signed_rank"


def test_clusters_in_a_table_swap_together(service: Any) -> None:
    table = b"id,u,v,cluster\na,1,0,x\nb,1,0,x\nc,1,0,y\n"
    said = service.body("/v1/tests/scores?statistic=sum_difference", table, "text/csv").json()
    assert said["items"]["clusters"] == 2
    request = {"u": [1, 1, 1], "v": [0, 0, 0], "clusters": ["x", "x", "y"]}
    assert service.post("/v1/tests/scores", request).json()["p_value"] == said["p_value"] == 0.5


def test_a_clustered_answer_has_the_item_level_p_value(service: Any) -> None:
    request = {"u": [1] * 8, "v": [0] * 8}
    alone = service.post("/v1/tests/scores", request).json()
    said = service.post("/v1/tests/scores", {**request, "clusters": [1, 1, 1, 1, 2, 2, 3, 3]}).json()
    assert alone["item_level"] is None
    assert said["p_value"] == 0.25
    assert said["item_level"]["p_value"] == alone["p_value"] == 2**-7
    assert "clusters_decide" in [warning["code"] for warning in said["warnings"]]


def test_systems_keyed_by_id_are_paired_by_id(service: Any) -> None:
    ids = ["a", "b", "c", "d", "e"]
    keyed = {"u": dict(zip(ids, U, strict=True)), "v": dict(sorted(zip(ids, V, strict=True), reverse=True))}
    said = service.post("/v1/tests/scores", keyed).json()
    assert said["p_value"] == EXACT
    assert said["pairing"] == {"matched": 5, "only_u": 0, "only_v": 0}
    keyed["v"].pop("a")
    dropped = service.post("/v1/tests/scores", {**keyed, "on_missing": "drop"}).json()
    assert dropped["items"]["n"] == 4
    assert dropped["pairing"] == {"matched": 4, "only_u": 1, "only_v": 0}


def test_sequences_can_be_items_and_documents_clusters(service: Any) -> None:
    request = {
        "gold": [["N", "V"], ["N"], ["V", "V"]],
        "u": [["N", "V"], ["N"], ["V", "V"]],
        "v": [["V", "V"], ["V"], ["N", "V"]],
        "statistic": {"name": "token_accuracy"},
        "clusters": ["d1", "d1", "d2"],
    }
    said = service.post("/v1/tests/predictions", request).json()
    assert said["items"]["clusters"] == 2
    assert said["p_value"] == 0.5
    assert (said["statistic"]["u"], said["statistic"]["v"]) == (1.0, 0.4)


@pytest.mark.parametrize("path", PATHS)
def test_a_plan_predicts_the_method_of_the_test(service: Any, path: str) -> None:
    kind = path.rpartition("/")[2]
    response = service.post("/v1/plan", {"kind": kind, "request": PATHS[path]})
    assert response.status_code == 200, response.text
    plan: Any = PlanAnswer.model_validate_json(response.content)
    assert plan.kind == kind
    assert plan.method == service.post(path, PATHS[path]).json()["method"]["name"]


def test_a_small_p_value_is_never_zero(service: Any) -> None:
    said = service.post("/v1/tests/effects", {"stay": [1] * 2000}).json()
    assert said["p_value"] > 0
    assert said["log10_p_value"] == pytest.approx(-601.7588, abs=1e-3)


def test_a_large_body_is_answered_by_a_worker_like_a_small_one(service: Any) -> None:
    n = 45_000
    request = {"u": [1] * n, "v": [0] * (n - 1) + [1]}
    response = service.post("/v1/tests/scores", request)
    assert len(response.request.content) > service.app.state.settings.inplace_body_bytes
    assert response.status_code == 200, response.text
    assert response.json()["items"]["n"] == n


def test_real_scores_get_a_bracket_that_contains_the_enumerated_p(service: Any) -> None:
    generator = np.random.default_rng(3)
    request = {"u": generator.normal(0.2, 1, 18).tolist(), "v": generator.normal(0, 1, 18).tolist()}
    exact = service.post("/v1/tests/scores", {**request, "method": "enumeration"}).json()
    response = service.post("/v1/tests/scores", {**request, "method": "bounds", "precision": 0.01})
    assert response.status_code == 200, response.text
    said = response.json()
    TestAnswer.model_validate_json(response.content)
    low, high = said["p_value_bounds"]
    assert low <= exact["p_value"] <= high
    assert low <= said["p_value"] <= high
    assert (said["method"]["name"], said["method"]["exact"]) == ("bounds", False)
    assert said["p_value_bounds_kind"] == "certified"
