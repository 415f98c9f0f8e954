"""`against`: one candidate and several baselines are one decision, adjusted by Holm over all of them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pytest
from statsmodels.stats.multitest import multipletests

from exactperm.api.openapi.schemas import GateAnswer
from tests.api.conftest import errors_of, problem

CANDIDATE = [1, 1, 1, 1, 1, 1, 0, 1, 1, 0]
BETTER = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]  # than these the candidate is better: 8 of 8
CLOSE = [0, 0, 0, 1, 1, 1, 1, 0, 1, 0]  # 4 against 1
SAME = list(CANDIDATE)
ABOVE = [1] * 10  # 0 against 2
LOW = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
HIGH = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]


def ask(
    service: Any, against: Mapping[str, Any], query: str = "", u: Any = None, **gate: Any
) -> httpx.Response:
    body = {"kind": "scores", "request": {"u": CANDIDATE if u is None else u}, "against": against, **gate}
    response: httpx.Response = service.post(f"/v1/gate{query}", body)
    return response


def one_sided(u: Sequence[int], v: Sequence[int], *, worse: bool) -> Fraction:
    """P(sum of swaps at least as far out as observed), by listing them."""
    differences = [a - b for a, b in zip(u, v, strict=True)]
    sums = [
        sum(s * d for s, d in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(u))
    ]
    observed = sum(differences)
    return Fraction(sum(one <= observed if worse else one >= observed for one in sums), len(sums))


def holm(p: Sequence[Fraction]) -> list[Fraction]:
    """max over j <= i of (m - j + 1) p(j), in fractions."""
    order = sorted(range(len(p)), key=p.__getitem__)
    adjusted, largest = [Fraction(0)] * len(p), Fraction(0)
    for rank, index in enumerate(order):
        largest = max(largest, min((len(p) - rank) * p[index], Fraction(1)))
        adjusted[index] = largest
    return adjusted


@pytest.mark.parametrize("policy", ["improve", "no_regression"])
def test_p_values_are_those_of_each_baseline_adjusted_by_holm(service: Any, policy: str) -> None:
    against = {"main": BETTER, "v1.2": CLOSE, "old": SAME, "new": ABOVE}
    response = ask(service, against, policy=policy)
    GateAnswer.model_validate_json(response.content)
    said = response.json()
    p = [one_sided(CANDIDATE, v, worse=policy == "no_regression") for v in against.values()]
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
    against = {"main": BETTER, "v1.2": CLOSE}
    together = ask(service, against).json()["metrics"]
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
    lenient = ask(service, against, u=LOW)
    said = lenient.json()
    assert [metric["verdict"] for metric in said["metrics"]] == [each[id(v)] for v in baselines]
    assert said["verdict"] == lenient.headers["x-verdict"] == verdict
    assert lenient.status_code == (409 if verdict == "fail" else 200)
    strict = ask(service, against, u=LOW, on_inconclusive="fail")
    assert strict.status_code == (200 if verdict == "pass" else 409)
    deciding = next(metric for metric in said["metrics"] if metric["verdict"] == verdict)
    assert f'the baseline "{deciding["against"]}"' in said["reason"]
    assert all(f'the baseline "{metric["against"]}"' in metric["reason"] for metric in said["metrics"])


def test_improve_has_to_be_shown_against_every_baseline(service: Any) -> None:
    assert ask(service, {"main": BETTER, "old": BETTER}, policy="improve").status_code == 200
    for other in (SAME, CLOSE, ABOVE):
        assert ask(service, {"main": BETTER, "other": other}, policy="improve").json()["verdict"] == "fail"


def test_holm_counts_the_other_baselines(service: Any) -> None:
    """5 of 5 is 1/32: enough alone, and not beside a second baseline."""
    five = [*CANDIDATE[:0], 0, 0, 0, 0, 0, 1, 0, 1, 1, 0]
    assert ask(service, {"a": five}, policy="improve").json()["verdict"] == "pass"
    assert ask(service, {"a": five, "b": SAME}, policy="improve").json()["metrics"][0]["verdict"] == "fail"


def test_lower_can_be_better_and_the_margin_holds_for_all(service: Any) -> None:
    straight = ask(service, {"main": BETTER, "v1.2": CLOSE}, policy="improve").json()
    mirrored = ask(
        service,
        {name: [-value for value in v] for name, v in {"main": BETTER, "v1.2": CLOSE}.items()},
        u=[-value for value in CANDIDATE],
        policy="improve",
        higher_is_better=False,
    ).json()
    p = [
        [metric["decision"]["p_value_adjusted"] for metric in one["metrics"]] for one in (straight, mirrored)
    ]
    assert p[0] == p[1]
    margins = ask(service, {"main": BETTER, "v1.2": CLOSE}, margin=0.1).json()["metrics"]
    assert [metric["margin"] for metric in margins] == [0.1, 0.1]


def test_metrics_have_baselines_of_their_own_in_one_family(service: Any) -> None:
    metrics = [
        {"name": "accuracy", "kind": "scores", "request": {"u": CANDIDATE}, "against": {"a": BETTER, "b": CLOSE}},
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
    main = {f"q{n}": value for n, value in reversed(list(enumerate(BETTER)))}
    by_id = ask(service, {"main": main, "old": dict(u)}, u=u, policy="improve").json()
    by_order = ask(service, {"main": BETTER, "old": SAME}, policy="improve").json()
    decisions = [[metric["decision"] for metric in one["metrics"]] for one in (by_id, by_order)]
    assert decisions[0] == decisions[1]


def test_ids_that_do_not_match_are_named_for_each_baseline(service: Any) -> None:
    u = {"q1": 1, "q2": 0, "q3": 1}
    against = {"main": {"q1": 1, "q2": 0}, "fine": u, "v1/2": {"q1": 1, "q2": 0, "q4": 1}}
    said = problem(ask(service, against, u=u), 422)
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
    ({"against": {"main": BETTER, "old": [1, "x", *BETTER[2:]]}}, "/against/old/1", "not_a_number"),
    ({"against": {"main": [1, None, *BETTER[2:]]}}, "/against/main/1", "not_a_number"),
    ({"against": {"main": BETTER, "a~/b": [1]}}, "/against/a~0~1b", "length_mismatch"),
    ({"against": {"main": 3}}, "/against/main", "not_a_column"),
    ({"against": {"main": {"q": 1}}}, "/request/u", "mixed_forms"),
    ({"against": {"": BETTER}}, "/against/", "empty_name"),
    ({"against": {"\u200b": BETTER}}, "/against/\u200b", "empty_name"),
    ({"against": {"a": BETTER, "a ": BETTER}}, "/against/a ", "similar_names"),
    ({"against": {"x" * 201: BETTER}}, f"/against/{'x' * 40}", "name_too_long"),
    ({"against": {str(n): [1] for n in range(33)}}, "/against", "too_many_metrics"),
    ({"request": {"u": CANDIDATE, "v": SAME}}, "/request/v", "redundant"),
    ({"request": {"u": CANDIDATE, "names": {"v": "x"}}}, "/request/names/v", "redundant"),
    ({"request": {}}, "/request/u", "missing"),
    ({"request": {"u": [1, "x", *SAME[2:]]}}, "/request/u/1", "not_a_number"),
    ({"kind": "effects", "request": {"stay": [1, 2]}}, "/against", "no_baseline"),
    (
        {"margin": 0.1, "request": {"u": CANDIDATE, "statistic": {"name": "sign"}}},
        "/margin",
        "margin_not_available",
    ),
]


@pytest.mark.parametrize(("body", "pointer", "code"), REFUSED)
def test_what_cannot_be_decided_is_refused_with_its_pointer(
    service: Any, body: dict[str, Any], pointer: str, code: str
) -> None:
    whole = {"kind": "scores", "request": {"u": CANDIDATE}, "against": {"main": SAME}, **body}
    flaws = problem(service.post("/v1/gate", whole), 422)["errors"]
    assert (pointer, code) in [(flaw["pointer"], flaw["code"]) for flaw in flaws], flaws
    metric = {name: value for name, value in whole.items() if name != "margin"}
    rest = {"margin": whole["margin"]} if "margin" in whole else {}
    inside = problem(service.post("/v1/gate", {"metrics": [metric], **rest}), 422)["errors"]
    expected = "/metrics" if code == "too_many_metrics" else f"/metrics/0{pointer}"
    expected = pointer if pointer == "/margin" else expected
    assert (expected, code) in [(flaw["pointer"], flaw["code"]) for flaw in inside], inside


def test_baselines_beside_metrics_are_refused(service: Any) -> None:
    metrics = [{"kind": "scores", "request": {"u": CANDIDATE, "v": SAME}}]
    assert errors_of(service.post("/v1/gate", {"metrics": metrics, "against": {"a": SAME}})) == [
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
    said = ask(service, against, policy="improve").json()
    assert [metric["against"] for metric in said["metrics"]] == HOSTILE
    reasons = [metric["reason"] for metric in said["metrics"]]
    assert all(reason.count('"') == 2 and "\n" not in reason and "\u202e" not in reason for reason in reasons)
    text = ask(service, against, "?format=text", policy="improve").text
    assert text.count("\n") == 1
    assert text.count(" against=") == len(HOSTILE)
    markdown = ask(service, against, "?format=markdown", policy="improve").text
    assert not any(line.startswith("✅") for line in markdown.splitlines())
    assert markdown.splitlines()[2].startswith("| metric | against | verdict |")
    html = ask(service, against, "?format=html", policy="improve").text
    assert "<script>alert" not in html
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 2
    rows = list(csv.DictReader(io.StringIO(ask(service, against, "?format=csv", policy="improve").text)))
    assert rows[0]["against"] == HOSTILE[0]
    assert not any(row["against"].startswith("=") for row in rows)
    junit = ET.fromstring(ask(service, against, "?format=junit", policy="improve").content)
    named = [one.get("value") for one in junit.iter("property") if one.get("name") == "against"]
    assert named[:3] == HOSTILE[:3]
    assert junit.get("failures") == str(len(HOSTILE))


def test_reports_name_the_baselines_and_count_comparisons(service: Any) -> None:
    against = {"main": BETTER, "v1.2": list(BETTER)}
    reports = {name: ask(service, against, f"?format={name}").text for name in ("text", "markdown", "html")}
    assert "PASS: 2 comparisons, Holm; " in reports["text"]
    assert " against=v1.2 " in reports["text"]
    assert "2 of 2 comparisons pass: `mean_difference against main`" in reports["markdown"]
    assert 'candidate</bdi> <span class="against">against</span> <bdi>main, v1.2</bdi>' in reports["html"]
    assert reports["html"].count(">Baseline<") == 2


def rows(values: Sequence[int]) -> bytes:
    return ("id,score\n" + "".join(f"q{n},{value}\n" for n, value in enumerate(values))).encode()


def send(service: Any, files: list[tuple[str, tuple[str, bytes]]], **fields: str) -> httpx.Response:
    response: httpx.Response = service.post("/v1/gate", files=files, data=fields)
    return response


FILES = [
    ("u", ("new.csv", rows(CANDIDATE))),
    ("against", ("main.csv", rows(BETTER))),
    ("against", ("v1.2.csv", rows(CLOSE))),
]


def test_files_of_baselines_are_named_by_their_files(service: Any) -> None:
    said = send(service, FILES, policy="improve").json()
    expected = ask(service, {"main": BETTER, "v1.2": CLOSE}, policy="improve").json()
    assert [metric["against"] for metric in said["metrics"]] == ["main", "v1.2"]
    keys = ("p_value", "p_value_adjusted", "significant")
    assert [[metric["decision"][key] for key in keys] for metric in said["metrics"]] == [
        [metric["decision"][key] for key in keys] for metric in expected["metrics"]
    ]
    assert [metric["test"]["names"]["v"] for metric in said["metrics"]] == ["main", "v1.2"]
    named = send(service, FILES, policy="improve", names='["A, B", "C"]').json()
    assert [metric["against"] for metric in named["metrics"]] == ["A, B", "C"]
    fields = {"metrics": json.dumps([{"name": "a"}, {"name": "b", "statistic": "sign"}])}
    both = send(service, FILES, **fields).json()
    assert [metric["name"] for metric in both["metrics"]] == [
        "a against main",
        "a against v1.2",
        "b against main",
        "b against v1.2",
    ]


REFUSED_FILES: list[tuple[list[tuple[str, tuple[str, bytes]]], dict[str, str], str, str]] = [
    ([*FILES, ("v", ("v.csv", rows(SAME)))], {}, "/files/v", "unused_file"),
    ([*FILES[1:], ("file", ("f.csv", rows(SAME)))], {}, "/files/file", "unused_file"),
    (FILES[1:], {}, "/files/u", "missing_file"),
    ([*FILES, ("against", ("main.csv", rows(SAME)))], {}, "/files/against/2", "duplicate_name"),
    (FILES, {"names": "A"}, "/options/names", "wrong_number"),
    (FILES, {"names": "A,A"}, "/options/names", "duplicate_name"),
    (FILES, {"names": ",B"}, "/options/names", "empty_name"),
    (FILES, {"name_v": "A"}, "/options/name_v", "redundant"),
    ([FILES[0], ("v", ("v.csv", rows(SAME)))], {"names": "A"}, "/options/names", "wrong_number"),
    ([*FILES, ("against", ("x.csv", b"id,score\nq0,1\nq1,y\n"))], {}, "/files/against/2/line/3/2", "not_a_number"),
    ([*FILES, ("against", ("x.csv", rows(SAME[:9])))], {}, "/files/against/2", "unmatched_ids"),
    ([FILES[0], *[("against", (f"{n}.csv", rows(SAME))) for n in range(33)]], {}, "/files/against", "too_many_metrics"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "fields", "pointer", "code"), REFUSED_FILES)
def test_files_that_cannot_be_compared_are_refused(
    service: Any, files: Any, fields: dict[str, str], pointer: str, code: str
) -> None:
    flaws = problem(send(service, files, **fields), 422)["errors"]
    assert (pointer, code) in [(flaw["pointer"], flaw["code"]) for flaw in flaws], flaws


def test_a_request_with_baselines_can_be_a_file(service: Any) -> None:
    body = {"kind": "scores", "request": {"u": CANDIDATE}, "against": {"main": BETTER, "v1.2": CLOSE}}
    sent = [("file", ("gate.json", json.dumps(body).encode()))]
    said = send(service, sent, policy="improve").json()
    assert [metric["against"] for metric in said["metrics"]] == ["main", "v1.2"]
    body["against"]["v1.2"] = [1, "x"]  # type: ignore[index]
    flaws = send(service, [("file", ("gate.json", json.dumps(body).encode()))]).json()["errors"]
    assert flaws[0]["pointer"] == "/files/file/against/v1.2/1"


def test_a_test_takes_no_baselines(service: Any) -> None:
    response = service.post("/v1/tests/files", files=FILES)
    assert problem(response, 422)["errors"][0]["pointer"].startswith("/files/against")
