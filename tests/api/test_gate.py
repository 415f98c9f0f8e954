"""`POST /v1/gate`: verdict, status, headers and reports are one decision, and what cannot be compared never passes."""

from __future__ import annotations

import csv
import io
import json
from itertools import product
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pytest

from exactperm.api.openapi.schemas import GateAnswer
from tests.api.conftest import error_of, problem

BETTER = {"u": [1, 1, 1, 1, 1, 1, 0, 1], "v": [0, 0, 0, 0, 0, 0, 0, 1]}
WORSE = {"u": BETTER["v"], "v": BETTER["u"]}
SAME = {"u": [1, 0, 1], "v": [1, 0, 1]}


def ask(service: Any, request: dict[str, Any], query: str = "", **gate: Any) -> httpx.Response:
    response: httpx.Response = service.post(
        f"/v1/gate{query}", {"kind": "scores", "request": request, **gate}
    )
    return response


def one_sided(request: dict[str, list[int]], *, worse: bool) -> float:
    """P(sum of swaps at least as far out as observed), by listing them."""
    differences = [u - v for u, v in zip(request["u"], request["v"], strict=True)]
    observed = sum(differences)
    sums = [
        sum(s * d for s, d in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(total <= observed if worse else total >= observed for total in sums) / len(sums)


@pytest.mark.parametrize(
    ("request_", "policy", "verdict"),
    [
        (WORSE, "no_regression", "fail"),
        (BETTER, "no_regression", "pass"),
        (SAME, "no_regression", "pass"),
        (BETTER, "improve", "pass"),
        (WORSE, "improve", "fail"),
        (SAME, "improve", "fail"),
        (BETTER, "non_inferior", "pass"),
        (WORSE, "non_inferior", "fail"),
    ],
)
def test_the_verdict_follows_from_the_policy_and_the_one_sided_p_value(
    service: Any, request_: dict[str, list[int]], policy: str, verdict: str
) -> None:
    response = ask(service, request_, policy=policy)
    said = response.json()
    assert said["verdict"] == response.headers["x-verdict"] == said["metrics"][0]["verdict"] == verdict
    assert said["passed"] == (verdict == "pass")
    assert response.status_code == (200 if verdict == "pass" else 409)
    expected = one_sided(request_, worse=policy == "no_regression")
    assert float(response.headers["x-p-value"]) == said["p_value"] == pytest.approx(expected, rel=1e-12)
    assert said["metrics"][0]["decision"]["p_value"] == said["p_value"]
    assert response.headers["etag"] == f'W/"{said["id"]}"'
    GateAnswer.model_validate_json(response.content)


def test_lower_can_be_better(service: Any) -> None:
    for policy in ("no_regression", "improve", "non_inferior"):
        mirrored = ask(service, WORSE, policy=policy, higher_is_better=False).json()
        straight = ask(service, BETTER, policy=policy).json()
        assert (mirrored["verdict"], mirrored["p_value"]) == (straight["verdict"], straight["p_value"])


def test_too_few_items_are_inconclusive_and_the_caller_says_what_that_means(service: Any) -> None:
    few = {"u": [0, 0, 0, 1], "v": [1, 1, 1, 1]}
    lenient = ask(service, few)
    assert (lenient.status_code, lenient.headers["x-verdict"]) == (200, "inconclusive")
    assert lenient.json()["passed"] is True
    strict = ask(service, few, on_inconclusive="fail")
    assert (strict.status_code, strict.headers["x-verdict"]) == (409, "inconclusive")
    assert strict.json()["passed"] is False


@pytest.mark.parametrize("status", [200, 418])
def test_the_status_of_a_failure_can_be_chosen_in_the_query_and_in_the_body(
    service: Any, status: int
) -> None:
    assert ask(service, WORSE, f"?fail_status={status}").status_code == status
    response = ask(service, WORSE, fail_status=status)
    assert (response.status_code, response.headers["x-verdict"]) == (status, "fail")
    assert ask(service, BETTER, f"?fail_status={status}").status_code == 200


def test_a_status_that_means_success_or_a_fault_of_the_server_is_refused(service: Any) -> None:
    for bad in (500, 302, 0, 201):
        assert error_of(ask(service, WORSE, fail_status=bad))[0] == "/fail_status"
        assert error_of(ask(service, WORSE, f"?fail_status={bad}"))[0] == "/?fail_status"


def several(**second: Any) -> dict[str, Any]:
    return {
        "metrics": [
            {"name": "accuracy", "kind": "scores", "request": BETTER},
            {"name": "seconds", "kind": "scores", "request": WORSE, "higher_is_better": False, **second},
        ]
    }


def test_several_metrics_are_adjusted_by_holm_and_one_that_fails_is_enough(service: Any) -> None:
    p = one_sided(BETTER, worse=False)
    both = service.post("/v1/gate", {**several(), "policy": "improve"})
    said = both.json()
    assert said["correction"] == "holm"
    assert [metric["name"] for metric in said["metrics"]] == ["accuracy", "seconds"]
    assert [metric["decision"]["p_value"] for metric in said["metrics"]] == pytest.approx([p, p], rel=1e-12)
    adjusted = [metric["decision"]["p_value_adjusted"] for metric in said["metrics"]]
    assert adjusted == pytest.approx([2 * p, 2 * p], rel=1e-12)
    assert said["verdict"] == "pass"
    failing = service.post("/v1/gate", several(higher_is_better=True))
    assert failing.status_code == 409
    assert [metric["verdict"] for metric in failing.json()["metrics"]] == ["pass", "fail"]
    assert "seconds" in failing.json()["reason"]


def test_a_metric_may_differ_in_policy_and_margin(service: Any) -> None:
    said = service.post("/v1/gate", several(policy="non_inferior", margin=0.5)).json()
    terms = [(metric["policy"], metric["margin"]) for metric in said["metrics"]]
    assert terms == [("no_regression", 0.0), ("non_inferior", 0.5)]
    procedures = [metric["decision"]["procedure"] for metric in said["metrics"]]
    assert procedures == ["permutation", "tango_score"]
    assert said["metrics"][1]["decision"]["p_value_bounds_kind"] == "asymptotic"


@pytest.mark.parametrize(
    ("gate", "pointer", "code"),
    [
        ({"kind": "scores"}, "/request", "missing"),
        ({"request": BETTER}, "/kind", "missing"),
        ({"metrics": []}, "/metrics", "too_short"),
        ({**several(), "kind": "scores", "request": BETTER}, "/kind", "redundant"),
        ({"kind": "scores", "request": {"u": [1, 2], "v": [1]}}, "/request/v", "length_mismatch"),
        ({"kind": "scores", "request": {**BETTER, "alternative": "greater"}}, "/request/alternative", None),
        ({"kind": "scores", "request": BETTER, "margin": -1}, "/margin", "greater_than_equal"),
        ({"kind": "scores", "request": BETTER, "policy": "best"}, "/policy", "literal_error"),
        ({"kind": "scores", "request": BETTER, "polizy": "improve"}, "/polizy", "unknown_field"),
        ({"kind": "scores", "request": {**BETTER, "alpha": 0.1}, "alpha": 0.2}, "/request/alpha", None),
        (
            {"metrics": [{"kind": "scores", "request": BETTER}] * 2},
            "/metrics/1/name",
            "duplicate_name",
        ),
        (
            {"metrics": [{"kind": "scores", "request": {"u": [1, None], "v": [1, 2]}}]},
            "/metrics/0/request/u/1",
            None,
        ),
        (
            {
                "metrics": [
                    {
                        "kind": "scores",
                        "request": {**BETTER, "statistic": {"name": "sign"}},
                        "margin": 0.1,
                    }
                ]
            },
            "/metrics/0/margin",
            "margin_not_available",
        ),
        (
            {"kind": "scores", "request": {**BETTER, "statistic": {"name": "signed_rank"}}, "margin": 1},
            "/margin",
            "margin_not_available",
        ),
        (
            {"metrics": [{"name": str(n), "kind": "scores", "request": SAME} for n in range(33)]},
            "/metrics",
            "too_many_metrics",
        ),
    ],
)
def test_what_cannot_be_compared_is_a_problem_and_never_a_pass(
    service: Any, gate: dict[str, Any], pointer: str, code: str | None
) -> None:
    response = service.post("/v1/gate", gate)
    said = problem(response, 422)
    assert said["errors"][0]["pointer"] == pointer
    assert code is None or said["errors"][0]["code"] == code
    assert "x-verdict" not in response.headers


FILES = {
    "u": ("new.csv", b"id,score\n" + b"".join(b"%d,0\n" % n for n in range(9))),
    "v": ("old.csv", b"id,score\n" + b"".join(b"%d,1\n" % n for n in range(9))),
}


def test_files_are_the_same_gate_as_the_numbers_in_them(service: Any) -> None:
    said = service.request(
        "POST", "/v1/gate", files=FILES, data={"format": "csv", "policy": "no_regression", "alpha": "0.01"}
    )
    assert said.status_code == 409
    numbers = ask(service, {"u": [0] * 9, "v": [1] * 9}, alpha=0.01).json()
    assert said.json()["p_value"] == numbers["p_value"] == 2**-9
    assert said.json()["metrics"][0]["test"]["reading"]["format"] == "csv"
    assert said.json()["alpha"] == 0.01


def test_the_metrics_of_files_are_fields_that_differ(service: Any) -> None:
    metrics = [{"name": "mean"}, {"name": "wins", "statistic": "sign", "policy": "improve"}]
    form = {"metrics": json.dumps(metrics), "on_inconclusive": "fail", "fail_status": "499"}
    said = service.request("POST", "/v1/gate", files=FILES, data=form)
    assert said.status_code == 499
    answer = said.json()
    assert [metric["test"]["statistic"]["name"] for metric in answer["metrics"]] == [
        "mean_difference",
        "sign",
    ]
    assert [metric["policy"] for metric in answer["metrics"]] == ["no_regression", "improve"]


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"margin": "much"}, "/options/margin"),
        ({"policy": "best"}, "/options/policy"),
        ({"higher_is_better": "perhaps"}, "/options/higher_is_better"),
        ({"metrics": "upos"}, "/options/metrics/0/statistic"),
        ({"metrics": "[upos"}, "/options/metrics"),
        ({"metrics": "mean,"}, "/options/metrics/1"),
        ({"metrics": '["upos", 3]'}, "/options/metrics/1"),
        ({"metrics": '[{"u": "x"}]'}, "/options/metrics/0"),
        ({"metrics": '[{"statistic": "sign", "margin": 1}]'}, "/options/metrics/0/margin"),
        ({"metrics": '[{"statistic": "sine"}]'}, "/options/metrics/0/statistic"),
        ({"statistic": "sine"}, "/options/statistic"),
        ({"alternative": "less"}, "/options/alternative"),
        ({"polizy": "improve"}, "/options/polizy"),
    ],
)
def test_a_mistake_in_a_form_is_named_by_its_field(
    service: Any, fields: dict[str, str], pointer: str
) -> None:
    assert error_of(service.request("POST", "/v1/gate", files=FILES, data=fields))[0] == pointer


@pytest.mark.slow
def test_every_report_of_a_gate_has_the_same_verdict(worker_service: Any) -> None:
    for request, status, verdict in ((WORSE, 409, "fail"), (BETTER, 200, "pass")):
        reports = {
            format_: ask(worker_service, request, f"?format={format_}")
            for format_ in ("text", "markdown", "csv", "html", "junit", "svg", "png")
        }
        for format_, response in reports.items():
            assert (response.status_code, response.headers["x-verdict"]) == (status, verdict), format_
        assert reports["text"].text.lower().startswith(verdict)
        assert verdict in reports["markdown"].text.lower()
        assert next(csv.DictReader(io.StringIO(reports["csv"].text)))["verdict"] == verdict
        suites = ET.fromstring(reports["junit"].text)
        assert (suites.find(".//failure") is not None) == (verdict == "fail")
        assert reports["junit"].headers["content-type"] == "application/xml"
        assert reports["png"].content.startswith(b"\x89PNG\r\n")


def test_junit_is_for_gates_alone(service: Any) -> None:
    response = service.post("/v1/tests/scores?format=junit", BETTER)
    assert error_of(response)[1] == "unknown_format"
    xml = service.post(
        "/v1/gate", {"kind": "scores", "request": BETTER}, headers={"accept": "application/xml"}
    )
    assert xml.headers["content-type"] == "application/xml"


def test_the_interval_fits_the_one_sided_level_and_is_not_missed_where_there_is_none(service: Any) -> None:
    said = ask(service, {"u": [3, 1, 4, 1, 5, 9, 2, 6], "v": [2, 7, 1, 8, 2, 8, 1, 8]}, alpha=0.1).json()
    assert said["metrics"][0]["test"]["confidence_interval"]["level"] == pytest.approx(0.8)
    f1 = {"u": {"tp": [8, 3], "incorrect": [2, 3]}, "v": {"tp": [6, 5], "incorrect": [1, 2]}}
    test = service.post("/v1/gate", {"kind": "counts", "request": f1}).json()["metrics"][0]["test"]
    assert test["confidence_interval"] is None
    assert "interval_not_available" not in {warning["code"] for warning in test["warnings"]}
    asked = {**f1, "confidence_level": 0.9}
    test = service.post("/v1/gate", {"kind": "counts", "request": asked}).json()["metrics"][0]["test"]
    assert "interval_not_available" in {warning["code"] for warning in test["warnings"]}


def test_the_systems_are_candidate_and_baseline_unless_they_are_named(service: Any) -> None:
    assert "candidate" in ask(service, BETTER, "?format=markdown").text
    named = {**BETTER, "names": {"u": "new", "v": "old"}}
    assert "`new`" in ask(service, named, "?format=markdown").text


@pytest.mark.parametrize("alpha", [1e-300, 2.0**-56, 0.5, 0.999])
def test_an_alpha_that_leaves_no_level_leaves_the_interval_out(service: Any, alpha: float) -> None:
    """1 - 2 alpha is the level by default, and no level is 1, or 0."""
    request = {"u": [1, 1, 0, 1, 1], "v": [1, 0, 0, 1, 1]}
    asked = {"kind": "scores", "request": request, "margin": 0.1, "alpha": alpha}
    answered = service.post("/v1/gate?fail_status=200", asked)
    assert answered.status_code == 200, answered.text
    assert answered.json()["metrics"][0]["test"]["confidence_interval"] is None
