"""pass@k and pass^k of `k` runs at every entrance, with refusals and their places."""

import random
from pathlib import Path
from typing import Any

import pytest

import exactperm
from tests.api.test_runs import lines, refusal
from tests.unit.cli_asking import run

TRIES_U = [[1, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 1, 0]]
TRIES_V = [[0, 1, 0, 0, 1], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1], [1, 1, 0, 0, 1], [0, 0, 0, 0, 0]]
AS_MANY = [row[:4] for row in TRIES_V]
OF_TWO: dict[str, Any] = {"name": "mean_difference", "repeats": "any", "k": 2}


def test_k_runs_in_bodies_gates_boards_plans_and_lists(service: Any) -> None:
    asked = {"u": TRIES_U, "v": TRIES_V, "statistic": OF_TWO, "exchange": "runs"}
    answer = service.post("/v1/tests/scores", asked).json()
    assert (answer["repeats"]["repeats"], answer["repeats"]["k"]) == ("any", 2)
    assert answer["statistic"]["u"] == pytest.approx((1 + 1 + 5 / 6 + 1 + 1 / 2) / 5)
    assert answer["null"]["mean"] == 0
    beside = {**asked, "statistic": "mean_difference", "repeats": "any", "k": 2}
    assert service.post("/v1/tests/scores", beside).json()["id"] == answer["id"]
    gate = service.post("/v1/gate", {"kind": "scores", "policy": "no_regression", "request": asked}).json()
    assert gate["metrics"][0]["test"]["repeats"]["k"] == 2
    systems = {"A": TRIES_U, "B": TRIES_V, "C": AS_MANY}
    board = service.post(
        "/v1/compare", {"kind": "scores", "systems": systems, "statistic": OF_TWO, "exchange": "runs"}
    )
    assert board.json()["pairs"][0]["u"] == "A"
    for pair in board.json()["pairs"]:
        alone = {**asked, "u": systems[pair["u"]], "v": systems[pair["v"]]}
        assert pair["p_value"] == service.post("/v1/tests/scores", alone).json()["p_value"]
    assert service.post("/v1/plan", {"kind": "scores", "request": asked}).json()["method"] in (
        "rational",
        "fft",
    )
    listed = service.post("/v1/batch", {"tests": [{"kind": "scores", "request": asked}]}).json()
    assert listed["results"][0]["answer"]["p_value"] == answer["p_value"]


@pytest.mark.parametrize("name", ["mean_difference", "sum_difference", "sign", "signed_rank"])
def test_k_runs_on_boards_that_exchange_items(service: Any, name: str) -> None:
    systems = {"A": TRIES_U, "B": AS_MANY}
    statistic = {**OF_TWO, "name": name}
    board = service.post("/v1/compare", {"kind": "scores", "systems": systems, "statistic": statistic}).json()
    alone = service.post("/v1/tests/scores", {"u": TRIES_U, "v": AS_MANY, "statistic": statistic}).json()
    assert board["pairs"][0]["p_value"] == alone["p_value"]
    max_t = service.post(
        "/v1/compare", {"kind": "scores", "systems": systems, "statistic": statistic, "adjust": "max_t"}
    )
    assert max_t.status_code == 200
    with_size = {"u": TRIES_U, "v": AS_MANY, "statistic": statistic, "confidence_level": 0.9}
    assert service.post("/v1/tests/scores", with_size).status_code == 200


@pytest.mark.parametrize(
    ("more", "place", "code"),
    [
        ({"statistic": {"k": 2}}, "/statistic/k", "k_needs_all_or_any"),
        ({"statistic": {"repeats": "any", "k": 5}}, "/statistic/k", "k_too_large"),
        ({"statistic": {"repeats": "any", "k": 0}}, "/statistic/k", "out_of_range"),
        ({"statistic": {"repeats": "any", "k": "2"}}, "/statistic/k", "int_type"),
        ({"statistic": {"name": "median_difference", "k": 2}, "exchange": "items", "v": AS_MANY}, "/statistic/k", "unknown_parameter"),
        ({"statistic": OF_TWO, "u": [[0.5, 1]] * 5}, "/statistic/repeats", "not_right_or_wrong"),
        ({"statistic": OF_TWO, "exchange": "items"}, "/v/0", "unequal_repeats"),
        ({"statistic": OF_TWO, "exchange": "both"}, "/v/0", "unequal_repeats"),
        ({"statistic": OF_TWO, "clusters": [1] * 5}, "/clusters", "exchange_needs_means"),
        ({"statistic": OF_TWO, "exchange": "items", "v": AS_MANY, "covariates": {"x": {"u": [1, 2, 3, 4, 5], "v": [2, 1, 3, 3, 3]}}},
         "/statistic/k", "correction_needs_means"),
    ],
    ids=str,
)  # fmt: skip
def test_refusals_of_k(service: Any, more: dict[str, Any], place: str, code: str) -> None:
    asked = {"u": TRIES_U, "v": TRIES_V, "exchange": "runs", **more}
    answered = service.post("/v1/tests/scores", asked)
    assert refusal(answered) == (place, code)
    for choice in answered.json()["errors"][0].get("choices", ()):
        assert service.post("/v1/tests/scores", {**asked, **choice["fields"]}).status_code == 200
    gate = {"kind": "scores", "policy": "no_regression", "request": asked}
    assert refusal(service.post("/v1/gate", gate)) == (f"/request{place}", code)


def test_missing_items_of_k_runs_are_filled_with_as_many(service: Any) -> None:
    u, v = (dict(zip("abcde", side, strict=True)) for side in (TRIES_U, AS_MANY))
    del u["b"]
    answer = service.post(
        "/v1/tests/scores", {"u": u, "v": v, "statistic": OF_TWO, "on_missing": "bounds"}
    ).json()
    low, high = answer["missing"]["p_value"]
    for filling in (0, 1):
        full = {"u": {**u, "b": [filling] * 4}, "v": v, "statistic": OF_TWO}
        assert low <= service.post("/v1/tests/scores", full).json()["p_value"] <= high


def test_files_and_the_command_line_of_k_runs(service: Any, tmp_path: Path) -> None:
    alone = service.post(
        "/v1/tests/scores", {"u": TRIES_U, "v": TRIES_V, "statistic": OF_TWO, "exchange": "runs"}
    ).json()
    files = {"u": ("u.jsonl", lines(TRIES_U)), "v": ("v.jsonl", lines(TRIES_V))}
    asked = {"exchange": "runs", "repeats": "any", "k": "2"}
    read = service.post("/v1/tests/files", files=files, data=asked).json()
    assert (read["p_value"], read["repeats"]["k"]) == (alone["p_value"], 2)
    refused = service.post("/v1/tests/files", files=files, data={**asked, "k": "9"})
    assert refusal(refused) == ("/options/k", "k_too_large")
    paths = [tmp_path / "new.jsonl", tmp_path / "old.jsonl"]
    for path, side in zip(paths, (TRIES_U, TRIES_V), strict=True):
        path.write_text(lines(side))
    for command in ("test", "gate", "compare", "plan"):
        done = run(command, *map(str, paths), "--exchange", "runs", "--repeats", "any", "--k", "2")
        assert done.exit_code in (0, 1), done.output
    done = run("test", *map(str, paths), "--exchange", "runs", "--k", "2")
    assert "--repeats any" in done.output
    gated = exactperm.gate(exactperm.scores(TRIES_U, TRIES_V, repeats="all", k=3, exchange="runs"))
    assert gated.metrics[0].test.repeats is not None
    assert gated.metrics[0].test.repeats.k == 3


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_reports_say_the_standard_error(service: Any, form: str) -> None:
    """And what would lower it: more items, or more runs."""
    asked = {"u": TRIES_U, "v": AS_MANY}
    advice = service.post("/v1/tests/scores", asked).json()["repeats"]["advice"]
    assert advice["say"] in ("items", "either")
    says = service.post(f"/v1/tests/scores?format={form}", asked).text
    assert "The difference has a standard error of" in says
    assert "with twice the items it would be" in says
    says = service.post(f"/v1/tests/scores?format={form}", {**asked, "exchange": "runs"}).text
    assert "with twice the runs of these items it would be" in says


def test_draws_of_very_many_runs_are_refused(service: Any) -> None:
    runs = [[1, 0] * 10_000]
    asked: dict[str, Any] = {"u": runs, "v": runs, "exchange": "runs", "statistic": OF_TWO | {"k": 10_000}}
    assert refusal(service.post("/v1/tests/scores", asked)) == ("/statistic/k", "k_too_large")
    few = {**asked, "exchange": "items", "statistic": OF_TWO | {"k": 20}}
    assert service.post("/v1/plan", {"kind": "scores", "request": few}).status_code == 200


def test_a_threshold_of_pass_rates(service: Any) -> None:
    request = {"u": TRIES_U * 6, "statistic": OF_TWO}
    asked = {"kind": "scores", "policy": "at_least", "threshold": 0.5, "range": [0, 1], "request": request}
    answer = service.post("/v1/gate", asked).json()
    assert answer["metrics"][0]["test"]["statistic"]["u"] == pytest.approx((4 + 5 / 6 - 1 / 2) / 5)
    assert answer["metrics"][0]["decision"]["procedure"] == "convex_bound"


def test_rates_that_all_but_coincide_are_bounded_and_pass_no_gate(service: Any) -> None:
    # pass@50 of 100 runs: the rates of all likely numbers of right runs are equal to 28 digits, as no lattice is.
    chance = random.Random(3)
    u, v = ([[chance.randint(0, 1) for _ in range(100)] for _ in range(2)] for _ in "uv")
    asked = {"u": u, "v": v, "statistic": {**OF_TWO, "k": 50}, "exchange": "runs"}
    exact = service.post("/v1/tests/scores", asked).json()
    assert exact["method"]["name"] == "enumeration"
    drawn = service.post("/v1/tests/scores", {**asked, "method": "monte_carlo"}).json()
    low, high = drawn["p_value_bounds"]
    assert low <= exact["p_value"] <= high
    assert {"scores_rounded", "sampled"} <= {warning["code"] for warning in drawn["warnings"]}
    gate = {"kind": "scores", "policy": "no_regression", "on_inconclusive": "fail"}
    decided = service.post("/v1/gate", {**gate, "request": {**asked, "method": "monte_carlo"}})
    assert decided.json()["verdict"] == "inconclusive"


def test_long_rates_have_no_picture(service: Any) -> None:
    chance = random.Random(3)
    u, v = ([[chance.randint(0, 1) for _ in range(60)] for _ in range(20)] for _ in "uv")
    answer = service.post(
        "/v1/tests/scores", {"u": u, "v": v, "statistic": {**OF_TWO, "k": 30}, "exchange": "runs"}
    ).json()
    assert answer["p_value_bounds"][0] <= answer["p_value"] <= answer["p_value_bounds"][1]
    assert answer["null"]["quantiles"] is None
