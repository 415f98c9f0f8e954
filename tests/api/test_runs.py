"""`exchange` and `average` at every entrance: refusals with their places and choices, gates, boards, files, plans and lists."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

import exactperm
from tests.api.conftest import errors_of
from tests.unit.cli_asking import run

U = [[1], [1], [1], [1], [1], [1]]
V = [[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 1], [0, 0], [0, 1]]
W = [[0], [0, 0], [0], [1], [0, 0], [0]]
EQUAL = {"u": [[1, 0], [1, 1], [0, 1]], "v": [[0, 0], [1, 0], [0, 0]]}
SCORES = {"u": [[3.5, 2], [4, 4.5]], "v": [[1, 0.5, 1], [2, 2.5]]}


def refusal(answered: Any) -> tuple[str, str]:
    assert answered.status_code == 422, answered.text[:500]
    (flaw,) = answered.json()["errors"]
    return flaw["pointer"], flaw["code"]


def lines(side: list[Any]) -> str:
    return "".join(json.dumps({"id": f"q{at}", "score": runs}) + "\n" for at, runs in enumerate(side))


@pytest.mark.parametrize(
    ("more", "place", "code"),
    [
        ({"confidence_level": 0.9}, "/confidence_level", "exchange_has_no_interval"),
        ({"power": 0.8}, "/power", "exchange_has_no_interval"),
        ({"test": "bootstrap"}, "/exchange", "exchange_needs_permutation"),
        ({"sequential": {}, "exchange": "both"}, "/sequential", "not_available"),
        ({"sequential": {}, "statistic": {"average": "runs"}}, "/sequential", "not_available"),
        ({"sequential": {}, "weights": [1, 2, 3, 4, 5, 6]}, "/sequential", "not_available"),
        ({"sequential": {}, "u": [[3], *U[1:]]}, "/sequential/scale", "missing"),
        ({"sequential": {"planned_n": 5}}, "/sequential/planned_n", "exceeded"),
        (
            {"sequential": {"planned_n": 9, "max_difference": 1}},
            "/sequential/max_difference",
            "not_available",
        ),
        (
            {"sequential": {}, "u": [[1e-30], *U[1:]], "v": [[1e9, 0, 3], *V[1:]]},
            "/sequential",
            "not_available",
        ),
        ({"statistic": "sign"}, "/exchange", "exchange_needs_means"),
        ({"statistic": "signed_rank"}, "/exchange", "exchange_needs_means"),
        ({"statistic": "median_difference"}, "/exchange", "exchange_needs_means"),
        ({"method": "dp"}, "/method", "method_not_applicable"),
        ({"clusters": [1] * 6}, "/clusters/0", "cluster_runs_differ"),
        ({"weights": [1, 2, 3, 4, 5, 6], "statistic": {"average": "runs"}}, "/weights", "no_weights"),
        ({"statistic": {"repeats": "all", "average": "runs"}}, "/statistic/average", "average_needs_means"),
        ({"statistic": {"repeats": "any"}}, "/v/0", "unequal_repeats"),
        ({"exchange": "both"}, "/v/0", "unequal_repeats"),
        ({"exchange": "seeds"}, "/exchange", "literal_error"),
        ({"on_missing": "bounds"}, "", ""),
    ],
    ids=str,
)
def test_statistics_without_a_test_that_exchanges_runs_are_refused(
    service: Any, more: dict[str, Any], place: str, code: str
) -> None:
    asked = {"u": U, "v": V, "exchange": "runs", **more}
    if not code:
        asked |= {"u": dict(zip("abcdef", U, strict=True)), "v": dict(zip("abcde", V, strict=False))}
        place, code = "/on_missing", "no_missing_bounds"
    assert refusal(service.post("/v1/tests/scores", asked)) == (place, code)


def test_other_kinds_of_data(service: Any) -> None:
    asked: dict[str, Any] = {"gold": ["a", "b"], "u": ["a", "b"], "v": ["a", "a"], "exchange": "runs"}
    assert refusal(service.post("/v1/tests/predictions", asked)) == ("/exchange", "exchange_needs_means")
    asked = {"stay": [1, -1, 2], "exchange": "both"}
    assert refusal(service.post("/v1/tests/effects", asked)) == ("/exchange", "exchange_needs_means")


def test_the_way_out_of_unequal_numbers(service: Any) -> None:
    asked = {"u": U, "v": V}
    answered = service.post("/v1/tests/scores", asked)
    assert refusal(answered) == ("/v/0", "unequal_repeats")
    (choice,) = answered.json()["errors"][0]["choices"]
    assert choice["fields"] == {"exchange": "runs"}
    assert service.post("/v1/tests/scores", {**asked, **choice["fields"]}).status_code == 200
    for name in ("sign", "median_difference"):
        errors = service.post("/v1/tests/scores", {**asked, "statistic": name}).json()["errors"]
        assert "choices" not in errors[0]


def test_answers_name_the_exchanged_units(service: Any) -> None:
    answer = service.post("/v1/tests/scores", EQUAL).json()
    assert (answer["exchange"], answer["generalises_to"]) == ("items", "new items")
    both = service.post("/v1/tests/scores", {**EQUAL, "exchange": "both", "exact_fraction": True}).json()
    assert both["generalises_to"] == "new runs and new items"
    assert both["p_value"] == max(both["exchanges"][one]["p_value"] for one in ("items", "runs"))
    single = service.post("/v1/tests/scores", {"u": [1, 0], "v": [0, 0]}).json()
    assert (single["exchange"], single["generalises_to"], single["exchanges"]) == (None, None, None)
    drawn = service.post("/v1/tests/scores", {**EQUAL, "test": "bootstrap"}).json()
    assert drawn["exchange"] is None


def test_a_default_written_out_is_the_same_request(service: Any) -> None:
    plain = service.post("/v1/tests/scores", EQUAL).json()
    said = {"exchange": "items", "statistic": {"name": "mean_difference", "average": "items"}}
    assert service.post("/v1/tests/scores", {**EQUAL, **said}).json()["id"] == plain["id"]
    assert service.post("/v1/tests/scores", {**EQUAL, "exchange": "runs"}).json()["id"] != plain["id"]


def test_all_runs_or_items_by_their_means(service: Any) -> None:
    """Exchanging items, `average` runs weighs an item by its runs."""
    data = {"u": [[1, 0, 0], [1]], "v": [[0, 0, 0], [0]]}
    by_runs = service.post("/v1/tests/scores", {**data, "statistic": {"average": "runs"}}).json()
    assert by_runs["statistic"]["observed"] == 0.5
    weighed = service.post("/v1/tests/scores", {**data, "weights": [3, 1]}).json()
    assert by_runs["p_value"] == weighed["p_value"]
    total = service.post(
        "/v1/tests/scores", {**data, "statistic": {"name": "sum_difference", "average": "runs"}}
    ).json()
    assert total["statistic"]["observed"] == 2


@pytest.mark.parametrize("policy", ["no_regression", "improve", "non_inferior", "equivalent"])
def test_gates(service: Any, policy: str) -> None:
    margin = {"margin": 0.5} if policy in ("non_inferior", "equivalent") else {}
    asked = {"kind": "scores", "policy": policy, "request": {**SCORES, "exchange": "runs"}, **margin}
    answered = service.post("/v1/gate", asked)
    metric = answered.json()["metrics"][0]
    assert metric["test"]["exchange"] == "runs"
    assert metric["test"]["confidence_interval"] is None
    assert metric["decision"]["procedure"] == "permutation"
    binary = {**asked, "request": {"u": U, "v": V, "exchange": "runs"}}
    if margin:
        assert refusal(service.post("/v1/gate", binary)) == ("/margin", "margin_needs_items")


def test_a_gate_of_one_run_against_several_baseline_runs(service: Any) -> None:
    old = [[1] * 9 + [0]] * 14
    asked: Any = {
        "kind": "scores",
        "policy": "no_regression",
        "request": {"u": [[0]] * 14, "v": old, "exchange": "runs"},
    }
    worse = service.post("/v1/gate", asked)
    assert worse.json()["verdict"] == "fail"
    asked["request"]["u"] = [[1]] * 14
    assert service.post("/v1/gate", asked).json()["verdict"] == "pass"


def test_a_gate_of_one_item_with_many_runs(service: Any) -> None:
    asked = {"kind": "scores", "request": {"u": [[0] * 8], "v": [[1] * 8], "exchange": "runs"}}
    assert service.post("/v1/gate", asked).json()["verdict"] == "fail"
    asked["request"] = {"u": [[0] * 8], "v": [[1] * 8]}
    assert refusal(service.post("/v1/gate", asked)) == ("/request/u", "one_item")


def test_boards(service: Any) -> None:
    systems = {"A": U, "B": V, "C": W}
    asked = {"kind": "scores", "systems": systems, "exchange": "runs"}
    board = service.post("/v1/compare", asked).json()
    for pair in board["pairs"]:
        alone = {"u": systems[pair["u"]], "v": systems[pair["v"]], "exchange": "runs"}
        assert pair["p_value"] == service.post("/v1/tests/scores", alone).json()["p_value"]
    answered = service.post("/v1/compare", {**asked, "exchange": "items"})
    assert answered.json()["errors"][0]["code"] == "unequal_repeats"
    assert answered.json()["errors"][0]["choices"][0]["fields"] == {"exchange": "runs"}
    assert refusal(service.post("/v1/compare", {**asked, "adjust": "max_t"})) == ("/adjust", "not_available")
    refused = service.post("/v1/compare", {**asked, "confidence_level": 0.9})
    assert refusal(refused) == ("/confidence_level", "exchange_has_no_interval")
    refused = service.post("/v1/compare", {**asked, "statistic": "sign"})
    assert refusal(refused) == ("/exchange", "exchange_needs_means")


def test_boards_of_several_data_sets(service: Any) -> None:
    sets = {"one": {"systems": {"A": U, "B": V}}, "two": {"systems": {"A": V[:4], "B": W[:4]}}}
    asked = {"kind": "scores", "datasets": sets, "exchange": "runs"}
    assert refusal(service.post("/v1/compare", asked)) == ("/aggregate", "no_macro")
    for more in ({"aggregate": "micro"}, {"aggregate": None}, {"combine": "fisher"}):
        assert service.post("/v1/compare", {**asked, **more}).status_code == 200


def test_files(service: Any) -> None:
    files = {"u": ("u.jsonl", lines(U)), "v": ("v.jsonl", lines(V))}
    asked = {"exchange": "runs", "alternative": "greater"}
    read = service.post("/v1/tests/files", files=files, data=asked).json()
    alone = service.post("/v1/tests/scores", {"u": U, "v": V, **asked}).json()
    assert (read["p_value"], read["exchange"]) == (alone["p_value"], "runs")
    pooled = service.post("/v1/tests/files", files=files, data={**asked, "average": "runs"}).json()
    assert pooled["statistic"]["observed"] == pytest.approx(1 - 7 / 16)
    three = [("system", (f"{name}.jsonl", lines(side))) for name, side in (("A", U), ("B", V), ("C", W))]
    assert service.post("/v1/compare", files=three, data={"exchange": "runs"}).status_code == 200


def test_means_of_runs_in_a_file_cannot_be_exchanged(service: Any) -> None:
    rows = [{"doc_id": at, "filter": "none", "acc": 1.0, "metrics": ["acc"], "resps": [["a"], ["b"]], "target": "a",
             "filtered_resps": ["a", "b"], "doc": {}} for at in range(3)]  # fmt: skip
    files = {
        role: (f"samples_{role}.jsonl", "".join(json.dumps(row) + "\n" for row in rows)) for role in "uv"
    }
    answered = service.post("/v1/tests/files", files=files, data={"exchange": "runs"})
    if answered.status_code == 422:
        assert [flaw["code"] for flaw in answered.json()["errors"]] == ["runs_averaged"]


def test_plans_and_lists(service: Any) -> None:
    request = {"u": U, "v": V, "exchange": "runs"}
    plan = service.post("/v1/plan", {"kind": "scores", "request": request}).json()
    assert plan["method"] in ("rational", "fft")
    listed = service.post("/v1/batch", {"tests": [{"kind": "scores", "request": request}]}).json()
    assert listed["results"][0]["answer"]["exchange"] == "runs"
    pilot = {"design": {"kind": "pilot", "request_kind": "scores", "request": {**EQUAL, "exchange": "both"}}}
    assert refusal(service.post("/v1/power", {**pilot, "effect": 1, "solve": "power"})) == (
        "/design/request/exchange",
        "exchange_has_no_interval",
    )


@pytest.mark.parametrize("form", ["text", "markdown", "html", "csv", "svg"])
def test_reports(service: Any, form: str) -> None:
    answered = service.post(f"/v1/tests/scores?format={form}", {**EQUAL, "exchange": "runs"})
    assert answered.status_code == 200
    if form in ("markdown", "html"):
        assert "new runs of these items" in answered.text


def test_the_package_and_the_command_line(tmp_path: Path) -> None:
    result = exactperm.test(U, V, exchange="runs", alternative="greater", exact_fraction=True)
    assert result.exchange == "runs"
    assert result.p_value_fraction is not None
    assert result.p_value == pytest.approx(float(result.p_value_fraction.value))
    gated = exactperm.gate(exactperm.scores(U, V, exchange="runs"))
    assert gated.metrics[0].test.exchange == "runs"
    board = exactperm.compare({"A": U, "B": V}, exchange="runs")
    assert board.pairs is not None
    paths = [tmp_path / "new.jsonl", tmp_path / "old.jsonl"]
    for path, side in zip(paths, (U, V), strict=True):
        path.write_text(lines(side))
    for command in (["test"], ["gate"], ["compare"], ["plan"]):
        done = run(*command, *map(str, paths), "--exchange", "runs", "--average", "runs")
        assert done.exit_code in (0, 1), done.output


@pytest.mark.parametrize("tiny", [5e-324, 1e-300, 1e-170])
def test_scores_of_too_many_magnitudes_are_refused_with_runs(service: Any, tiny: float) -> None:
    for data in ({"u": [1, 0], "v": [tiny, 0]}, {"u": [[tiny, 0], [0, tiny / 3]], "v": [[0, 0], [0, 1]]}):
        assert errors_of(service.post("/v1/tests/scores", {**data, "exchange": "runs"})) == [
            ("/u", "number_too_large")
        ]
        assert service.post("/v1/tests/scores", {**data, "exchange": "items"}).status_code == 200


# Runs in several files


def files_of(runs: list[list[int]]) -> list[tuple[str, bytes]]:
    """A file for each run of the items, whose lines are in another order in each."""
    made = []
    for at, run_ in enumerate(runs):
        rows = [json.dumps({"id": f"q{item}", "score": score}) for item, score in enumerate(run_)]
        made.append((f"run{at}.jsonl", "\n".join(rows[at:] + rows[:at]).encode()))
    return made


NEW = [1, 0, 0, 1, 0, 0, 1, 0]
OLD = [[1, 0, 1, 1, 0, 1, 1, 0], [1, 1, 1, 1, 0, 1, 0, 0], [1, 0, 1, 1, 1, 1, 1, 0]]
OF_NEW = files_of([NEW])[0]


def form(*old: tuple[str, bytes], new: tuple[str, bytes] = OF_NEW) -> list[tuple[str, tuple[str, bytes]]]:
    return [("u", ("new.jsonl", new[1])), *(("v", one) for one in old)]


def test_files_of_a_baselines_runs_equal_the_json_gate(service: Any, tmp_path: Path) -> None:
    request = {
        "u": [[one] for one in NEW],
        "v": [list(runs) for runs in zip(*OLD, strict=True)],
        "exchange": "runs",
    }
    alone = service.post("/v1/gate", {"kind": "scores", "request": request}).json()
    sent = service.post("/v1/gate", files=form(*files_of(OLD)), data={"exchange": "runs"}).json()
    assert sent["metrics"][0]["decision"] == alone["metrics"][0]["decision"]
    assert sent["metrics"][0]["test"]["exchange"] == "runs"
    assert any("3 files were read as runs" in note for note in sent["metrics"][0]["test"]["reading"]["notes"])
    test = service.post("/v1/tests/files", files=form(*files_of(OLD)), data={"exchange": "runs"}).json()
    assert test["p_value"] == service.post("/v1/tests/scores", request).json()["p_value"]

    for name, content in files_of(OLD):
        (tmp_path / "runs").mkdir(exist_ok=True)
        (tmp_path / "runs" / name).write_bytes(content)
    (tmp_path / "new.jsonl").write_bytes(OF_NEW[1])
    pattern = str(tmp_path / "runs" / "*.jsonl")
    done = run("gate", str(tmp_path / "new.jsonl"), "--baseline-runs", pattern, "-f", "json")
    assert json.loads(done.output)["metrics"][0]["decision"] == alone["metrics"][0]["decision"]
    gated = exactperm.gate(exactperm.files(u=tmp_path / "new.jsonl", v=pattern, exchange="runs"))
    assert gated.metrics[0].decision.p_value == alone["metrics"][0]["decision"]["p_value"]


def test_runs_of_both_systems_in_files_of_one_task(service: Any) -> None:
    """As lm-evaluation-harness names them: a date is no part of a task."""
    dates = [f"samples_gsm8k_2026-05-1{at}T13-25-31.291152.jsonl" for at in range(5)]
    u = [(name, content) for name, (_, content) in zip(dates, files_of([NEW, OLD[0]]), strict=False)]
    v = [(name, content) for name, (_, content) in zip(dates[2:], files_of(OLD), strict=True)]
    parts = [*(("u", one) for one in u), *(("v", one) for one in v)]
    read = service.post("/v1/tests/files", files=parts, data={"exchange": "runs"}).json()
    request = {"u": [*zip(NEW, OLD[0], strict=True)], "v": [*zip(*OLD, strict=True)], "exchange": "runs"}
    assert read["p_value"] == service.post("/v1/tests/scores", request).json()["p_value"]
    for exchanged in ("items", "both"):
        refused = service.post("/v1/tests/files", files=parts, data={"exchange": exchanged})
        assert refused.json()["errors"][0]["code"] == (
            "duplicate_task" if exchanged == "items" else "unequal_repeats"
        )
    alone = service.post("/v1/tests/files", files=parts[:3], data={"exchange": "runs"}).json()
    assert alone["statistic"]["u"] == (sum(NEW) + sum(OLD[0])) / 16


def test_items_that_a_run_lacks(service: Any) -> None:
    short = files_of(OLD)
    short[1] = ("run1.jsonl", short[1][1].replace(b'{"id": "q3", "score": 1}\n', b""))
    refused = service.post("/v1/gate", files=form(*short), data={"exchange": "runs"})
    assert refusal(refused) == ("/files/v/run1.jsonl", "unmatched_ids")
    assert '"run1.jsonl" lacks ids of u: "q3"' in refused.json()["errors"][0]["detail"]
    left = service.post(
        "/v1/tests/files", files=form(*short), data={"exchange": "runs", "on_missing": "drop"}
    ).json()
    rest = [at for at in range(8) if at != 3]
    request = {
        "u": [NEW[at] for at in rest],
        "v": [[one[at] for one in OLD] for at in rest],
        "exchange": "runs",
    }
    assert left["p_value"] == service.post("/v1/tests/scores", request).json()["p_value"]
    assert left["items"]["n"] == 7


@pytest.mark.parametrize(
    ("parts", "fields", "place", "code"),
    [
        (form(*files_of(OLD)), {"on_missing": "bounds"}, "/options/on_missing", "no_missing_bounds"),
        (form(*files_of(OLD)), {}, "/files/u", "unmatched_tasks"),
        (form(*files_of(OLD)), {"statistic": "sign"}, "/options/exchange", "exchange_needs_means"),
        (form(files_of(OLD)[0], ("run9.jsonl", b'{"id": "q0", "score": "x"}')), {"on_missing": "drop"},
         "/files/v/run9.jsonl/line/1/score", "not_a_number"),
        (form(files_of(OLD)[0], ("run9.csv", b"id,score\nz,1\ny,0\n")), {"on_missing": "drop"}, "/files/v/run9.csv", "no_common_ids"),
        (form(("a.csv", b"id,tp,incorrect\nq0,1,0\n"), ("b.csv", b"id,tp,incorrect\nq0,1,0\n"), new=("u", b"id,tp,incorrect\nq0,1,0\n")), {},
         "/options/exchange", "exchange_needs_means"),
    ],
)  # fmt: skip
def test_files_of_runs_are_refused(
    service: Any, parts: Any, fields: dict[str, str], place: str, code: str
) -> None:
    exchange = {} if code == "unmatched_tasks" else {"exchange": "runs"}
    answered = service.post("/v1/tests/files", files=parts, data={**exchange, **fields})
    assert (place, code) in errors_of(answered)


def test_one_file_is_not_several_runs(tmp_path: Path) -> None:
    for name, content in (OF_NEW, *files_of(OLD)):
        (tmp_path / name).write_bytes(content)
    new, pattern = str(tmp_path / "run0.jsonl"), str(tmp_path / "run*.jsonl")
    for more in (
        new,
        str(tmp_path / "run1*"),
        f"{pattern} --exchange items",
        f"{pattern} --against {new}",
        f"{pattern} {new}",
    ):
        done = run("gate", new, "--baseline-runs", *more.split())
        assert done.exit_code == 2
        assert "--baseline-runs" in done.stderr


# Runs in the rows of a table

OF_SEEDS = "id,seed,u,v\na,1,1,0\na,2,1,\na,3,0,0\nb,2,1,0\nb,1,1,0\nb,3,1,1\nc,1,0,0\nc,2,1,0\nc,3,,1\n"
AS_JSON = {"u": [[1, 1, 0], [1, 1, 1], [0, 1]], "v": [[0, 0], [0, 0, 1], [0, 0, 1]], "exchange": "runs"}


def table(text: str, **fields: str) -> dict[str, Any]:
    files = {"file": ("runs.csv", text)}
    return {"files": files, "data": {"exchange": "runs", **fields}}


def codes(answer: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in answer["warnings"]]


def test_an_empty_cell_among_an_items_runs_is_no_run(service: Any) -> None:
    read = service.post("/v1/tests/files", **table(OF_SEEDS)).json()
    assert read["p_value"] == service.post("/v1/tests/scores", AS_JSON).json()["p_value"]
    assert read["statistic"]["observed"] == pytest.approx((2 / 3 + 2 / 3 + 1 / 6) / 3)
    assert any("count as not made: 1" in note for note in read["reading"]["notes"])
    of_lines = "".join(
        json.dumps({"id": id_, "seed": seed, "score": score}) + "\n"
        for id_, seed, score in (("a", 1, 1), ("a", 2, None), ("b", 1, 0), ("b", 2, 1))
    )
    files = {"u": ("u.jsonl", of_lines), "v": ("v.jsonl", of_lines)}
    read = service.post("/v1/tests/files", files=files, data={"exchange": "runs"}).json()
    assert (read["repeats"]["u"]["samples"], read["p_value"]) == (3, 1)
    unequal = service.post("/v1/tests/files", **table(OF_SEEDS, exchange="items"))
    assert errors_of(unequal) == [("/files/file/line/2", "unequal_repeats")]
    empty = OF_SEEDS.replace("a,1,1,0\na,2,1,\na,3,0,0", "a,1,1,\na,2,1,\na,3,0,")
    assert errors_of(service.post("/v1/tests/files", **table(empty))) == [
        ("/files/file/line/2", "missing_value")
    ]
    assert service.post("/v1/tests/files", **table(empty, on_missing="drop")).json()["items"]["n"] == 2


def test_a_seed_of_all_items_may_be_one_run(service: Any) -> None:
    """A warning, and never the question of a gate: seeds of a sampling model are drawn for each item."""
    read = service.post("/v1/tests/files", **table(OF_SEEDS)).json()
    (warning,) = [one for one in read["warnings"] if one["code"] == "runs_may_be_shared"]
    assert "`clusters`" in warning["detail"]
    gate = service.post("/v1/gate", **table(OF_SEEDS))
    assert "runs_may_be_shared" in codes(gate.json()["metrics"][0]["test"])
    assert gate.json()["verdict"] != "fail"
    board = service.post("/v1/compare", **table(OF_SEEDS)).json()
    assert "runs_may_be_shared" in codes(board)
    others: tuple[tuple[str, dict[str, Any]], ...] = (
        (OF_SEEDS, {"exchange": "items", "on_missing": "drop"}),
        (OF_SEEDS.replace("seed", "epoch"), {}),
        (OF_SEEDS.replace("c,3,,1\n", ""), {}),
        ("id,seed,u,v\na,1,1,0\na,2,1,0\na,3,0,0\n", {}),
    )
    for text, fields in others:
        answered = service.post("/v1/tests/files", **table(text, **fields)).json()
        assert (
            "runs_may_be_shared" not in codes(answered)
            if "warnings" in answered
            else answered["status"] == 422
        )


def test_a_training_seed_is_one_cluster_by_the_names_of_its_runs(service: Any) -> None:
    """Run r of all items moves together, whatever the order of the rows."""
    rows = [f"{item},{seed},{u},{v},all" for item, seeds in (("a", "123"), ("b", "312"), ("c", "231")) for seed in seeds
            for u, v in [((int(seed) * 5) % 7, (int(seed) * 3) % 5)]]  # fmt: skip
    text = "id,seed,u,v,cluster\n" + "\n".join(rows) + "\n"
    read = service.post("/v1/tests/files", **table(text)).json()
    assert "runs_may_be_shared" not in codes(read)
    one = {
        "u": [[(seed * 5) % 7 for seed in (1, 2, 3)]] * 3,
        "v": [[(seed * 3) % 5 for seed in (1, 2, 3)]] * 3,
    }
    alone = service.post("/v1/tests/scores", {**one, "exchange": "runs", "clusters": [0, 0, 0]}).json()
    assert read["p_value"] == alone["p_value"]
    gap = text.replace("a,2,3,1,all", "a,2,,1,all")
    assert gap != text
    assert errors_of(service.post("/v1/tests/files", **table(gap))) == [
        ("/files/file/line/3/3", "missing_value")
    ]


def test_a_column_of_systems_by_another_name_is_a_choice(service: Any) -> None:
    rows = [(task, seed, agent) for task in "abc" for seed in (1, 2) for agent in ("new", "old")]
    text = "task_id,seed,agent,success\n" + "".join(f"{a},{b},{c},{int(c == 'new')}\n" for a, b, c in rows)
    for path in ("/v1/tests/files", "/v1/compare"):
        refused = service.post(path, **table(text))
        assert errors_of(refused) == [("/files/file/line/1", "choose_system_column")]
        (choice,) = refused.json()["errors"][0]["choices"]
        assert choice["fields"] == {"system_column": "agent"}
        assert service.post(path, **table(text, **choice["fields"])).status_code == 200


@pytest.mark.parametrize(("policy", "verdict"), [("improve", "pass"), ("no_regression", "fail")])
def test_a_mid_p_value_that_equals_alpha_as_a_fraction_decides(
    service: Any, policy: str, verdict: str
) -> None:
    """One run of ten is right: p is 1/10, all of it at the observed value, and the mid-p-value 1/20."""
    u, v = ([[1]], [[0] * 9]) if policy == "improve" else ([[0]], [[1] * 9])
    asked = {"u": u, "v": v, "exchange": "runs", "significance": "mid_p"}
    side = "greater" if policy == "improve" else "less"
    assert service.post("/v1/tests/scores", {**asked, "alternative": side}).json()["significant"]
    gate = service.post("/v1/gate", {"kind": "scores", "policy": policy, "request": asked}).json()
    assert gate["verdict"] == verdict
    assert "would decide" not in gate["reason"]


def test_e_values_of_reassigned_runs(service: Any) -> None:
    """By hand: of one item, whose two runs of U are right and whose run of V is wrong, one way in three."""
    asked = {"u": [[1, 1]], "v": [[0]], "exchange": "runs", "alternative": "greater", "sequential": {}}
    tilts = [2.0 ** (half / 2) for half in range(-14, 3)]
    e = sum(3 * math.exp(x) / (math.exp(x) + 2 * math.exp(-x / 2)) for x in tilts) / 17
    answer = service.post("/v1/tests/scores", asked).json()
    assert answer["e_value"] == pytest.approx(e, rel=1e-14)
    assert answer["p_anytime"] == pytest.approx(1 / e, rel=1e-14)
    assert answer["curtailed"] is None
    reached = {**asked, "u": [[1, 1]] * 20, "v": [[0]] * 20}
    assert service.post("/v1/tests/scores", reached).json()["significant"]


@pytest.mark.parametrize(
    ("policy", "swapped", "verdict"),
    [
        ("improve", False, "pass"),
        ("improve", True, "continue"),
        ("no_regression", True, "fail"),
        ("no_regression", False, "continue"),
    ],
)
def test_gates_that_look_again_at_reassigned_runs(
    service: Any, policy: str, swapped: bool, verdict: str
) -> None:
    u, v = [[1, 1]] * 9, [[0, 1, 0]] * 9
    u, v = (v, u) if swapped else (u, v)
    asked: dict[str, Any] = {
        "kind": "scores",
        "policy": policy,
        "request": {"u": u, "v": v, "exchange": "runs"},
        "sequential": {"planned_n": 20},
    }
    answered = service.post("/v1/gate?fail_status=200", asked).json()
    (metric,) = answered["metrics"]
    assert (answered["verdict"], metric["decision"]["procedure"]) == (verdict, "e_value")
    side = "greater" if policy == "improve" else "less"
    alone = service.post(
        "/v1/tests/scores", {**asked["request"], "alternative": side, "sequential": {}}
    ).json()
    assert metric["e_value"] == alone["e_value"]
    low, high = metric["decision"]["p_value_bounds"]
    assert low <= alone["p_anytime"] <= high
    waits = service.post("/v1/gate?fail_status=200", {**asked, "sequential": {"planned_n": 9}}).json()
    assert (waits["verdict"] == "continue") is False
    for form in ("html", "text", "markdown", "csv", "junit"):
        shown = service.post(f"/v1/gate?fail_status=200&format={form}", asked)
        assert verdict in shown.text.lower()


def test_a_margin_is_taken_off_every_run_before_its_e_value(service: Any) -> None:
    u, v = [[3.5, 2], [4, 4.5]], [[1, 0.5, 1], [2, 2.5]]
    terms = {"policy": "non_inferior", "margin": 0.5, "sequential": {"scale": 5}}
    request = {"u": u, "v": v, "exchange": "runs"}
    gate = service.post("/v1/gate?fail_status=200", {"kind": "scores", "request": request, **terms}).json()
    more = {"u": [[run + 0.5 for run in row] for row in u], "v": v, "exchange": "runs"}
    asked = {**more, "alternative": "greater", "sequential": {"scale": 5}}
    assert gate["e_value"] == service.post("/v1/tests/scores", asked).json()["e_value"]
    missing = {"kind": "scores", "request": request, **terms, "sequential": {}}
    assert refusal(service.post("/v1/gate", missing)) == ("/sequential/scale", "missing")


def test_both_exchanges_offer_one_of_them_with_e_values(service: Any) -> None:
    asked = {"u": [[1, 1], [0, 1]], "v": [[0, 1], [0, 0]], "exchange": "both", "sequential": {}}
    choices = service.post("/v1/tests/scores", asked).json()["errors"][0]["choices"]
    assert [choice["fields"] for choice in choices] == [{"exchange": "items"}, {"exchange": "runs"}]
    for choice in choices:
        assert service.post("/v1/tests/scores", {**asked, **choice["fields"]}).json()["e_value"] > 0


@pytest.mark.parametrize("names", [("1", "2"), ("a", "b"), ("", "2"), ("r-1", "r-2")])
def test_runs_of_a_wide_table_may_have_any_names(names: tuple[str, str], tmp_path: Path) -> None:
    first, second = names
    rows = f"1,{first},1,0\n1,{second},0,0\n2,{first},1,1\n2,{second},1,0\n"
    path = tmp_path / "runs.csv"
    path.write_text(f"id,run,u,v\n{rows}", encoding="utf-8")
    answer = json.loads(run("test", str(path), "--exchange", "runs", "--format", "json").stdout)
    assert answer["repeats"]["u"]["samples"] == answer["repeats"]["v"]["samples"] == 4
    assert answer["statistic"]["observed"] == 0.5


def test_a_run_of_an_item_twice_is_told_from_a_table_without_runs(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    for column, words in (("run", 'the values of "run" of an item'), ("other", "say so in a column run")):
        path.write_text(f"id,{column},u,v\n1,1,1,0\n1,1,1,0\n", encoding="utf-8")
        assert words in " ".join(run("test", str(path)).output.split())
