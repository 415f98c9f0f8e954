"""`POST /v1/gate`: verdict, status, headers and reports are one decision, against one baseline or several."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import comb
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pytest
from statsmodels.stats.multitest import multipletests

from exactperm.api.openapi.schemas import GateAnswer
from tests.api.conftest import Service, answer_to, error_of, errors_of, problem
from tests.enumeration import by_signs, holm

BETTER = {"u": [1, 1, 1, 1, 1, 1, 0, 1], "v": [0, 0, 0, 0, 0, 0, 0, 1]}
WORSE = {"u": BETTER["v"], "v": BETTER["u"]}
SAME = {"u": [1, 0, 1], "v": [1, 0, 1]}


def ask(service: Service, request: dict[str, Any], query: str = "", **gate: Any) -> httpx.Response:
    return service.post(f"/v1/gate{query}", {"kind": "scores", "request": request, **gate})


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
    side = "less" if policy == "no_regression" else "greater"
    expected = float(by_signs(request_["u"], request_["v"], side))
    assert float(response.headers["x-p-value"]) == said["p_value"] == pytest.approx(expected, rel=1e-12)
    assert said["metrics"][0]["decision"]["p_value"] == said["p_value"]
    assert response.headers["etag"] == f'W/"{said["id"]}"'
    GateAnswer.model_validate_json(response.content)


def test_lower_can_be_better(service: Any) -> None:
    for policy in ("no_regression", "improve", "non_inferior"):
        mirrored = ask(service, WORSE, policy=policy, higher_is_better=False).json()
        straight = ask(service, BETTER, policy=policy).json()
        assert (mirrored["verdict"], mirrored["p_value"]) == (straight["verdict"], straight["p_value"])


def test_too_few_items_are_inconclusive_and_the_option_decides(service: Any) -> None:
    few = {"u": [0, 0, 0, 1], "v": [1, 1, 1, 1]}
    lenient = ask(service, few)
    assert (lenient.status_code, lenient.headers["x-verdict"]) == (200, "inconclusive")
    assert lenient.json()["passed"] is True
    strict = ask(service, few, on_inconclusive="fail")
    assert (strict.status_code, strict.headers["x-verdict"]) == (409, "inconclusive")
    assert strict.json()["passed"] is False


@pytest.mark.parametrize("status", [200, 418])
def test_the_status_of_a_failure_can_be_chosen_in_the_query(service: Any, status: int) -> None:
    response = ask(service, WORSE, f"?fail_status={status}")
    assert (response.status_code, response.headers["x-verdict"]) == (status, "fail")
    assert ask(service, BETTER, f"?fail_status={status}").status_code == 200


def test_a_status_that_means_success_or_a_fault_of_the_server_is_refused(service: Any) -> None:
    for bad in (500, 302, 0, 201):
        assert error_of(ask(service, WORSE, f"?fail_status={bad}"))[0] == "/?fail_status"


def test_the_status_of_a_failure_has_one_place(service: Any) -> None:
    place = "fail_status is for HTTP only, in the query: ?fail_status=200."
    form = service.request("POST", "/v1/gate", files=FILES, data={"fail_status": "200"})
    for refused in (ask(service, WORSE, fail_status=200), form):
        assert problem(refused, 422)["detail"].endswith(place)


def several(**second: Any) -> dict[str, Any]:
    return {
        "metrics": [
            {"name": "accuracy", "kind": "scores", "request": BETTER},
            {"name": "seconds", "kind": "scores", "request": WORSE, "higher_is_better": False, **second},
        ]
    }


def test_several_metrics_are_adjusted_by_holm_and_one_that_fails_is_enough(service: Any) -> None:
    p = float(by_signs(BETTER["u"], BETTER["v"], "greater"))
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
        ({"metrics": [{"kind": "scores", "request": BETTER}] * 2}, "/metrics/1/name", "duplicate_name"),
        (
            {"metrics": [{"kind": "scores", "request": {"u": [1, None], "v": [1, 2]}}]},
            "/metrics/0/request/u/1",
            None,
        ),
        (
            {
                "metrics": [
                    {"kind": "scores", "request": {**BETTER, "statistic": {"name": "sign"}}, "margin": 0.1}
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
def test_incomparable_systems_are_a_problem_and_never_a_pass(
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
    form = {"metrics": json.dumps(metrics), "on_inconclusive": "fail"}
    said = service.request("POST", "/v1/gate?fail_status=499", files=FILES, data=form)
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


def test_the_interval_fits_the_one_sided_level_and_may_be_missing(service: Any) -> None:
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
    assert (
        answer_to(service.post("/v1/gate?fail_status=200", asked))["metrics"][0]["test"][
            "confidence_interval"
        ]
        is None
    )


U, V = [1, 0, 1, 1, 0, 1], [1, 0, 1, 0, 1, 1]
ONES = [1] * len(U)
RIGHT, WRONG = "a", "b"


def said(system: list[int]) -> list[str]:
    return [RIGHT if one else WRONG for one in system]


def forms(u: list[int], v: list[int]) -> dict[str, tuple[str, dict[str, Any], float]]:
    """The same items as kind, request, and the value of a right item."""
    gold, tokens = [RIGHT] * len(u), [[RIGHT]] * len(u)
    of_errors = {"name": "ratio", "numerator": "errors", "denominator": "words"}
    return {
        "scores": ("scores", {"u": u, "v": v}, 1),
        "clusters of one item": ("scores", {"u": u, "v": v, "clusters": list(range(len(u)))}, 1),
        "lists of one sample": ("scores", {"u": [[x] for x in u], "v": [[x] for x in v]}, 1),
        "three equal samples": ("scores", {"u": [[x] * 3 for x in u], "v": [[x] * 3 for x in v]}, 1),
        "per cent": ("scores", {"u": [100 * x for x in u], "v": [100 * x for x in v]}, 100),
        "with a unit": (
            "scores",
            {"u": [x + 0.01 for x in u], "v": v, "statistic": {"name": "mean_difference", "unit": 1}},
            1,
        ),
        "sum": ("scores", {"u": u, "v": v, "statistic": {"name": "sum_difference"}}, len(u)),
        "counts": (
            "counts",
            {
                "u": {"correct": u, "total": ONES},
                "v": {"correct": v, "total": ONES},
                "statistic": {"name": "accuracy"},
            },
            1,
        ),
        "ratio": (
            "counts",
            {"u": {"errors": u, "words": ONES}, "v": {"errors": v, "words": ONES}, "statistic": of_errors},
            1,
        ),
        "labels": ("predictions", {"gold": gold, "u": said(u), "v": said(v)}, 1),
        "sentences of one word": (
            "predictions",
            {
                "gold": tokens,
                "u": [[x] for x in said(u)],
                "v": [[x] for x in said(v)],
                "statistic": {"name": "token_accuracy"},
            },
            1,
        ),
        "micro recall": (
            "predictions",
            {"gold": gold, "u": said(u), "v": said(v), "statistic": {"name": "recall", "average": "micro"}},
            1,
        ),
    }


def decided(service: Service, form: str, u: list[int], v: list[int], **terms: Any) -> dict[str, Any]:
    kind, request, worth = forms(u, v)[form]
    terms["margin"] = terms["margin"] * worth
    answer = service.post(
        "/v1/gate?fail_status=200", {"kind": kind, "request": request, "higher_is_better": True, **terms}
    )
    assert answer.status_code == 200, answer.text
    metric: dict[str, Any] = answer.json()["metrics"][0]
    return metric


@pytest.mark.parametrize("form", forms(U, V))
def test_the_form_of_right_or_wrong_items_decides_nothing(service: Service, form: str) -> None:
    """By the test of shifted differences six equal items would be non-inferior by 0.1, "exactly" at p = 1/64."""
    same = decided(service, form, U, U, policy="non_inferior", margin=0.1)
    # Of systems that differ on a tenth of the items six are all the same with 0.9^6. (Tango's z is 0.816, p = 0.207.)
    assert same["verdict"] == "fail"
    assert same["decision"]["procedure"] == "tango_score"
    assert same["decision"]["exact"] is False
    assert same["decision"]["p_value"] == pytest.approx(0.9**6)
    differing = decided(service, form, U, V, policy="non_inferior", margin=0.1)
    as_scores = decided(service, "scores", U, V, policy="non_inferior", margin=0.1)
    worth = forms(U, V)[form][2]
    assert differing["decision"]["p_value"] == pytest.approx(as_scores["decision"]["p_value"], rel=1e-12)
    for end in ("low", "high"):
        expected = as_scores["test"]["confidence_interval"][end]
        assert differing["test"]["confidence_interval"][end] == pytest.approx(worth * expected, rel=1e-9)


@pytest.mark.parametrize("policy", ["improve", "no_regression"])
@pytest.mark.parametrize(("wins", "losses"), [(3, 0), (4, 0), (7, 1), (9, 2), (30, 12)])
def test_a_margin_never_makes_a_verdict_easier(service: Service, policy: str, wins: int, losses: int) -> None:
    """Three items won are p = 1/8 without a margin; a normal tail made 0.042 of them with a margin of 0.001."""
    better, worse = [1] * wins + [0] * losses, [0] * wins + [1] * losses
    u, v = (better, worse) if policy == "improve" else (worse, better)
    n = wins + losses
    exact = sum(comb(n, k) for k in range(wins, n + 1)) / 2**n
    for margin in (0.0, 0.001, 0.05):
        found = decided(service, "scores", u, v, policy=policy, margin=margin)
        assert found["decision"]["p_value"] >= exact * (1 - 1e-12)


@pytest.mark.parametrize("level", [None, 0.9])
def test_a_ratio_without_anything_to_divide_by_has_no_margin(service: Service, level: float | None) -> None:
    counts = {"tp": [0] * 4, "gold": [0] * 4}
    request = {
        "u": counts,
        "v": counts,
        "statistic": {"name": "recall"},
        **({} if level is None else {"confidence_level": level}),
    }
    assert (
        error_of(service.post("/v1/gate", {"kind": "counts", "request": request, "margin": 0.1}))[1]
        == "margin_not_available"
    )
    assert service.post("/v1/tests/counts", request).json()["p_value"] == 1.0


CANDIDATE = [1, 1, 1, 1, 1, 1, 0, 1, 1, 0]
BEATEN = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]  # than these the candidate is better: 8 of 8
CLOSE = [0, 0, 0, 1, 1, 1, 1, 0, 1, 0]  # 4 against 1
EQUAL = list(CANDIDATE)
ABOVE = [1] * 10  # 0 against 2
LOW = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
HIGH = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]


def ask_against(
    service: Service, against: Mapping[str, Any], query: str = "", u: Any = None, **gate: Any
) -> httpx.Response:
    body = {"kind": "scores", "request": {"u": CANDIDATE if u is None else u}, "against": against, **gate}
    return service.post(f"/v1/gate{query}", body)


@pytest.mark.parametrize("policy", ["improve", "no_regression"])
def test_p_values_are_those_of_each_baseline_adjusted_by_holm(service: Any, policy: str) -> None:
    against = {"main": BEATEN, "v1.2": CLOSE, "old": EQUAL, "new": ABOVE}
    response = ask_against(service, against, policy=policy)
    GateAnswer.model_validate_json(response.content)
    said = response.json()
    side = "less" if policy == "no_regression" else "greater"
    p = [by_signs(CANDIDATE, v, side) for v in against.values()]
    found = [metric["decision"] for metric in said["metrics"]]
    assert [metric["against"] for metric in said["metrics"]] == list(against)
    assert [metric["name"] for metric in said["metrics"]] == [
        f"mean_difference against {name}" for name in against
    ]
    assert said["correction"] == "holm"
    assert [one["p_value"] for one in found] == pytest.approx([float(one) for one in p], rel=1e-12)
    adjusted = [one["p_value_adjusted"] for one in found]
    assert adjusted == pytest.approx([float(one) for one in holm(p)], rel=1e-12)
    assert adjusted == pytest.approx(multipletests([float(one) for one in p], method="holm")[1], rel=1e-12)


def test_every_comparison_is_the_gate_with_that_baseline_alone(service: Any) -> None:
    against = {"main": BEATEN, "v1.2": CLOSE}
    together = ask_against(service, against).json()["metrics"]
    for (name, v), metric in zip(against.items(), together, strict=True):
        request = {"u": CANDIDATE, "v": v, "names": {"u": "candidate", "v": name}}
        alone = service.post("/v1/gate", {"kind": "scores", "request": request}).json()["metrics"][0]
        assert alone["against"] is None
        assert metric["test"] == alone["test"]
        assert metric["decision"]["p_value"] == alone["decision"]["p_value"]


# no_regression, 10 items each: worse on all of them, worse on two (nobody could tell), worse on half and better on half.
FAIL, OPEN, PASS = HIGH, [1, 1, *LOW[2:]], [1, -1] * 5


@pytest.mark.parametrize(
    ("baselines", "verdict"),
    [
        ([PASS, PASS], "pass"),
        ([PASS, OPEN], "inconclusive"),
        ([OPEN, PASS, OPEN], "inconclusive"),
        ([FAIL, PASS], "fail"),
        ([PASS, OPEN, FAIL], "fail"),
        ([FAIL], "fail"),
        ([PASS], "pass"),
    ],
)
def test_it_fails_against_any_and_passes_only_against_all(
    service: Any, baselines: list[list[int]], verdict: str
) -> None:
    against = {f"b{number}": v for number, v in enumerate(baselines)}
    each = {id(FAIL): "fail", id(OPEN): "inconclusive", id(PASS): "pass"}
    lenient = ask_against(service, against, u=LOW)
    said = lenient.json()
    assert [metric["verdict"] for metric in said["metrics"]] == [each[id(v)] for v in baselines]
    assert said["verdict"] == lenient.headers["x-verdict"] == verdict
    assert lenient.status_code == (409 if verdict == "fail" else 200)
    strict = ask_against(service, against, u=LOW, on_inconclusive="fail")
    assert strict.status_code == (200 if verdict == "pass" else 409)
    deciding = next(metric for metric in said["metrics"] if metric["verdict"] == verdict)
    assert f'the baseline "{deciding["against"]}"' in said["reason"]
    assert all(f'the baseline "{metric["against"]}"' in metric["reason"] for metric in said["metrics"])


def test_improve_has_to_be_shown_against_every_baseline(service: Any) -> None:
    assert ask_against(service, {"main": BEATEN, "old": BEATEN}, policy="improve").status_code == 200
    for other in (EQUAL, CLOSE, ABOVE):
        assert (
            ask_against(service, {"main": BEATEN, "other": other}, policy="improve").json()["verdict"]
            == "fail"
        )


def test_every_baseline_may_have_scores_with_decimals_beside_gold(service: Any) -> None:
    gold, u = [1, 0, 1, 0, 1, 0], [0.9, 0.1, 0.8, 0.2, 0.7, 0.3]
    against = {"a": [0.6, 0.5, 0.4, 0.3, 0.2, 0.1], "b": [0.6, 0.4, 0.45, 0.3, 0.25, 0.1]}
    request = {"gold": gold, "u": u, "statistic": "auc"}
    body = {"kind": "predictions", "request": request, "against": against}
    both = service.post("/v1/gate", body).json()["metrics"]
    for name, metric in zip(against, both, strict=True):
        single = service.post("/v1/tests/predictions", {**request, "v": against[name]}).json()
        assert metric["test"]["statistic"]["v"] == single["statistic"]["v"]


def test_holm_counts_the_other_baselines(service: Any) -> None:
    """5 of 5 is 1/32: enough alone, and not beside a second baseline."""
    five = [*CANDIDATE[:0], 0, 0, 0, 0, 0, 1, 0, 1, 1, 0]
    assert ask_against(service, {"a": five}, policy="improve").json()["verdict"] == "pass"
    assert (
        ask_against(service, {"a": five, "b": EQUAL}, policy="improve").json()["metrics"][0]["verdict"]
        == "fail"
    )


def test_lower_can_be_better_and_the_margin_holds_for_all(service: Any) -> None:
    straight = ask_against(service, {"main": BEATEN, "v1.2": CLOSE}, policy="improve").json()
    mirrored = ask_against(
        service,
        {name: [-value for value in v] for name, v in {"main": BEATEN, "v1.2": CLOSE}.items()},
        u=[-value for value in CANDIDATE],
        policy="improve",
        higher_is_better=False,
    ).json()
    p = [
        [metric["decision"]["p_value_adjusted"] for metric in one["metrics"]] for one in (straight, mirrored)
    ]
    assert p[0] == p[1]
    margins = ask_against(service, {"main": BEATEN, "v1.2": CLOSE}, margin=0.1).json()["metrics"]
    assert [metric["margin"] for metric in margins] == [0.1, 0.1]


def test_metrics_have_baselines_of_their_own_in_one_family(service: Any) -> None:
    metrics = [
        {"name": "accuracy", "kind": "scores", "request": {"u": CANDIDATE}, "against": {"a": BEATEN, "b": CLOSE}},
        {"name": "plain", "kind": "scores", "request": {"u": CANDIDATE, "v": ABOVE}},
        {
            "name": "labels", "kind": "predictions", "against": {"a": list("xyxy")},
            "request": {"gold": list("xxyy"), "u": list("xxyy"), "statistic": {"name": "accuracy"}},
        },
    ]  # fmt: skip
    said = service.post("/v1/gate", {"metrics": metrics, "policy": "improve"}).json()
    names = ["accuracy against a", "accuracy against b", "plain", "labels against a"]
    assert [metric["name"] for metric in said["metrics"]] == names
    assert [metric["against"] for metric in said["metrics"]] == ["a", "b", None, "a"]
    p = [Fraction(metric["decision"]["p_value"]) for metric in said["metrics"]]
    adjusted = [metric["decision"]["p_value_adjusted"] for metric in said["metrics"]]
    assert adjusted == pytest.approx([float(one) for one in holm(p)])
    assert "4 comparisons" in said["reason"]


def test_ids_pair_every_baseline_by_itself(service: Any) -> None:
    u = {f"q{n}": value for n, value in enumerate(CANDIDATE)}
    main = {f"q{n}": value for n, value in reversed(list(enumerate(BEATEN)))}
    by_id = ask_against(service, {"main": main, "old": dict(u)}, u=u, policy="improve").json()
    by_order = ask_against(service, {"main": BEATEN, "old": EQUAL}, policy="improve").json()
    decisions = [[metric["decision"] for metric in one["metrics"]] for one in (by_id, by_order)]
    assert decisions[0] == decisions[1]


def test_ids_that_do_not_match_are_named_for_each_baseline(service: Any) -> None:
    u = {"q1": 1, "q2": 0, "q3": 1}
    against = {"main": {"q1": 1, "q2": 0}, "fine": u, "v1/2": {"q1": 1, "q2": 0, "q4": 1}}
    said = problem(ask_against(service, against, u=u), 422)
    found = [(flaw["pointer"], flaw["code"], flaw["detail"]) for flaw in said["errors"]]
    assert [one[:2] for one in found] == [
        ("/against/main", "unmatched_ids"),
        ("/against/v1~12", "unmatched_ids"),
        ("/against/v1~12", "unmatched_ids"),
    ]
    assert '"q3"' in found[0][2]
    assert '"main"' in found[0][2]
    assert '"q4"' in found[2][2]


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"against": {}}, "/against", "too_short"),
    ({"against": [1, 0]}, "/against", "dict_type"),
    ({"against": {"main": BEATEN, "old": [1, "x", *BEATEN[2:]]}}, "/against/old/1", "not_a_number"),
    ({"against": {"main": [1, None, *BEATEN[2:]]}}, "/against/main/1", "not_a_number"),
    ({"against": {"main": BEATEN, "a~/b": [1]}}, "/against/a~0~1b", "length_mismatch"),
    ({"against": {"main": 3}}, "/against/main", "not_a_column"),
    ({"against": {"main": {"q": 1}}}, "/request/u", "mixed_forms"),
    ({"against": {"": BEATEN}}, "/against/", "empty_name"),
    ({"against": {"\u200b": BEATEN}}, "/against/\u200b", "empty_name"),
    ({"against": {"a": BEATEN, "a ": BEATEN}}, "/against/a ", "similar_names"),
    ({"against": {"x" * 201: BEATEN}}, f"/against/{'x' * 40}", "name_too_long"),
    ({"against": {str(n): [1] for n in range(33)}}, "/against", "too_many_metrics"),
    ({"request": {"u": CANDIDATE, "v": EQUAL}}, "/request/v", "redundant"),
    ({"request": {"u": CANDIDATE, "names": {"v": "x"}}}, "/request/names/v", "redundant"),
    ({"request": {}}, "/request/u", "missing"),
    ({"request": {"u": [1, "x", *EQUAL[2:]]}}, "/request/u/1", "not_a_number"),
    ({"kind": "effects", "request": {"stay": [1, 2]}}, "/against", "no_baseline"),
    (
        {"margin": 0.1, "request": {"u": CANDIDATE, "statistic": {"name": "sign"}}},
        "/margin",
        "margin_not_available",
    ),
]


@pytest.mark.parametrize(("body", "pointer", "code"), REFUSED)
def test_undecidable_gates_are_refused_with_a_pointer(
    service: Any, body: dict[str, Any], pointer: str, code: str
) -> None:
    whole = {"kind": "scores", "request": {"u": CANDIDATE}, "against": {"main": EQUAL}, **body}
    flaws = problem(service.post("/v1/gate", whole), 422)["errors"]
    assert (pointer, code) in [(flaw["pointer"], flaw["code"]) for flaw in flaws], flaws
    metric = {name: value for name, value in whole.items() if name != "margin"}
    rest = {"margin": whole["margin"]} if "margin" in whole else {}
    inside = problem(service.post("/v1/gate", {"metrics": [metric], **rest}), 422)["errors"]
    expected = "/metrics" if code == "too_many_metrics" else f"/metrics/0{pointer}"
    expected = pointer if pointer == "/margin" else expected
    assert (expected, code) in [(flaw["pointer"], flaw["code"]) for flaw in inside], inside


def test_baselines_beside_metrics_are_refused(service: Any) -> None:
    metrics = [{"kind": "scores", "request": {"u": CANDIDATE, "v": EQUAL}}]
    assert errors_of(service.post("/v1/gate", {"metrics": metrics, "against": {"a": EQUAL}})) == [
        ("/against", "redundant")
    ]


def test_the_limit_counts_metrics_times_baselines(service: Any) -> None:
    metric = {"kind": "scores", "request": {"u": [1]}, "against": {str(n): [1] for n in range(11)}}
    metrics = [{**metric, "name": str(number)} for number in range(3)]
    assert errors_of(service.post("/v1/gate", {"metrics": metrics})) == [("/metrics", "too_many_metrics")]


HOSTILE = [
    "<script>alert(1)</script>",
    '" PASSED, by far "',
    "=cmd()",
    "a|b`c",
    "x\n✅ **PASS**",
    "\u202eniam",
]


def test_hostile_names_stay_labels_in_every_report(service: Any) -> None:
    against = dict.fromkeys(HOSTILE, ABOVE)
    said = ask_against(service, against, policy="improve").json()
    assert [metric["against"] for metric in said["metrics"]] == HOSTILE
    reasons = [metric["reason"] for metric in said["metrics"]]
    assert all(reason.count('"') == 2 and "\n" not in reason and "\u202e" not in reason for reason in reasons)
    text = ask_against(service, against, "?format=text", policy="improve").text
    assert text.count("\n") == 1
    assert text.count(" against=") == len(HOSTILE)
    markdown = ask_against(service, against, "?format=markdown", policy="improve").text
    assert not any(line.startswith("✅") for line in markdown.splitlines())
    assert markdown.splitlines()[2].startswith("| metric | against | verdict |")
    html = ask_against(service, against, "?format=html", policy="improve").text
    assert "<script>alert" not in html
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 2
    rows = list(
        csv.DictReader(io.StringIO(ask_against(service, against, "?format=csv", policy="improve").text))
    )
    assert rows[0]["against"] == HOSTILE[0]
    assert not any(row["against"].startswith("=") for row in rows)
    junit = ET.fromstring(ask_against(service, against, "?format=junit", policy="improve").content)
    named = [one.get("value") for one in junit.iter("property") if one.get("name") == "against"]
    assert named[:3] == HOSTILE[:3]
    assert junit.get("failures") == str(len(HOSTILE))


def test_reports_name_the_baselines_and_count_comparisons(service: Any) -> None:
    against = {"main": BEATEN, "v1.2": list(BEATEN)}
    reports = {
        name: ask_against(service, against, f"?format={name}").text for name in ("text", "markdown", "html")
    }
    assert "PASS: 2 comparisons, Holm; " in reports["text"]
    assert " against=v1.2 " in reports["text"]
    assert "2 of 2 comparisons pass: `mean_difference against main`" in reports["markdown"]
    assert 'candidate</bdi> <span class="against">against</span> <bdi>main, v1.2</bdi>' in reports["html"]
    assert reports["html"].count(">Baseline<") == 2


def rows(values: Sequence[int]) -> bytes:
    return ("id,score\n" + "".join(f"q{n},{value}\n" for n, value in enumerate(values))).encode()


def send(service: Service, files: list[tuple[str, tuple[str, bytes]]], **fields: str) -> httpx.Response:
    return service.post("/v1/gate", files=files, data=fields)


BASELINES = [
    ("u", ("new.csv", rows(CANDIDATE))),
    ("against", ("main.csv", rows(BEATEN))),
    ("against", ("v1.2.csv", rows(CLOSE))),
]


def test_files_of_baselines_are_named_by_their_files(service: Any) -> None:
    said = send(service, BASELINES, policy="improve").json()
    expected = ask_against(service, {"main": BEATEN, "v1.2": CLOSE}, policy="improve").json()
    assert [metric["against"] for metric in said["metrics"]] == ["main", "v1.2"]
    keys = ("p_value", "p_value_adjusted", "significant")
    assert [[metric["decision"][key] for key in keys] for metric in said["metrics"]] == [
        [metric["decision"][key] for key in keys] for metric in expected["metrics"]
    ]
    assert [metric["test"]["names"]["v"] for metric in said["metrics"]] == ["main", "v1.2"]
    named = send(service, BASELINES, policy="improve", names='["A, B", "C"]').json()
    assert [metric["against"] for metric in named["metrics"]] == ["A, B", "C"]
    fields = {"metrics": json.dumps([{"name": "a"}, {"name": "b", "statistic": "sign"}])}
    both = send(service, BASELINES, **fields).json()
    assert [metric["name"] for metric in both["metrics"]] == [
        "a against main",
        "a against v1.2",
        "b against main",
        "b against v1.2",
    ]


REFUSED_FILES: list[tuple[list[tuple[str, tuple[str, bytes]]], dict[str, str], str, str]] = [
    ([*BASELINES, ("v", ("v.csv", rows(EQUAL)))], {}, "/files/v", "unused_file"),
    ([*BASELINES[1:], ("file", ("f.csv", rows(EQUAL)))], {}, "/files/file", "unused_file"),
    (BASELINES[1:], {}, "/files/u", "missing_file"),
    ([*BASELINES, ("against", ("main.csv", rows(EQUAL)))], {}, "/files/against/2", "duplicate_name"),
    (BASELINES, {"names": "A"}, "/options/names", "wrong_number"),
    (BASELINES, {"names": "A,A"}, "/options/names", "duplicate_name"),
    (BASELINES, {"names": ",B"}, "/options/names", "empty_name"),
    (BASELINES, {"name_v": "A"}, "/options/name_v", "redundant"),
    ([BASELINES[0], ("v", ("v.csv", rows(EQUAL)))], {"names": "A"}, "/options/names", "wrong_number"),
    ([*BASELINES, ("against", ("x.csv", b"id,score\nq0,1\nq1,y\n"))], {}, "/files/against/2/line/3/2", "not_a_number"),
    ([*BASELINES, ("against", ("x.csv", rows(EQUAL[:9])))], {}, "/files/against/2", "unmatched_ids"),
    ([BASELINES[0], *[("against", (f"{n}.csv", rows(EQUAL))) for n in range(33)]], {}, "/files/against", "too_many_metrics"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "fields", "pointer", "code"), REFUSED_FILES)
def test_files_that_cannot_be_compared_are_refused(
    service: Any, files: Any, fields: dict[str, str], pointer: str, code: str
) -> None:
    flaws = problem(send(service, files, **fields), 422)["errors"]
    assert (pointer, code) in [(flaw["pointer"], flaw["code"]) for flaw in flaws], flaws


def test_a_request_with_baselines_can_be_a_file(service: Any) -> None:
    body: Any = {"kind": "scores", "request": {"u": CANDIDATE}, "against": {"main": BEATEN, "v1.2": CLOSE}}
    sent = [("file", ("gate.json", json.dumps(body).encode()))]
    said = send(service, sent, policy="improve").json()
    assert [metric["against"] for metric in said["metrics"]] == ["main", "v1.2"]
    body["against"]["v1.2"] = [1, "x"]
    flaws = send(service, [("file", ("gate.json", json.dumps(body).encode()))]).json()["errors"]
    assert flaws[0]["pointer"] == "/files/file/against/v1.2/1"


def test_a_test_takes_no_baselines(service: Any) -> None:
    response = service.post("/v1/tests/files", files=BASELINES)
    assert problem(response, 422)["errors"][0]["pointer"].startswith("/files/against")
