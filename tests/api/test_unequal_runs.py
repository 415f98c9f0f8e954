"""Test that unequal numbers of runs of an item are refused at every entrance, with the same code, and equal ones accepted."""

import json
from pathlib import Path
from typing import Any

import pytest

from exactperm import compare, gate, scores, test
from exactperm.client.errors import InvalidTest
from tests.unit.cli_asking import run

CODE = "unequal_repeats"
# The last item: 10 runs of the one, 1 of the other. Items may differ from each other.
U, V = [[1, 0], [1], [1] * 10], [[0, 1], [1], [1]]
EQUAL = [[0, 1], [1], [1, 0] * 5]
BY_ID = [dict(zip("abc", side, strict=True)) for side in (U, V)]


def lines(side: list[Any], **more: Any) -> str:
    rows = ({"id": key, **more, "score": runs} for key, runs in zip("abc", side, strict=True))
    return "".join(json.dumps(row) + "\n" for row in rows)


def rows(u: list[Any], v: list[Any]) -> str:
    return "".join(
        json.dumps({"id": key, "u": a, "v": b}) + "\n" for key, a, b in zip("abc", u, v, strict=True)
    )


def flaws(answered: Any) -> list[tuple[str, str]]:
    assert answered.status_code == 422, answered.text[:500]
    return [(flaw["pointer"], flaw["code"]) for flaw in answered.json()["errors"]]


@pytest.mark.parametrize(
    "statistic",
    [
        {"name": "mean_difference"},
        {"name": "sum_difference"},
        {"name": "sign"},
        {"name": "signed_rank"},
        {"name": "median_difference"},
        {"name": "quantile_difference", "q": 0.9},
        {"name": "mean_difference", "repeats": "all"},
        {"name": "mean_difference", "repeats": "any"},
    ],
    ids=lambda statistic: "-".join(map(str, statistic.values())),
)
def test_every_statistic_of_scores(service: Any, statistic: dict[str, Any]) -> None:
    asked = {"u": U, "v": V, "statistic": statistic}
    assert flaws(service.post("/v1/tests/scores", json=asked)) == [("/v/2", CODE)]
    assert service.post("/v1/tests/scores", json={**asked, "v": EQUAL}).status_code == 200


@pytest.mark.parametrize(
    "more",
    [
        {"test": "bootstrap"},
        {"confidence_level": 0.9},
        {"clusters": ["x", "x", "y"]},
        {"weights": [1, 2, 3]},
        {"alternative": "greater"},
        {"method": "monte_carlo"},
    ],
    ids=str,
)
def test_every_option_of_scores(service: Any, more: dict[str, Any]) -> None:
    assert flaws(service.post("/v1/tests/scores", json={"u": U, "v": V, **more})) == [("/v/2", CODE)]


def test_ids_lines_and_one_system_of_single_scores(service: Any) -> None:
    by_id = dict(zip(("u", "v"), BY_ID, strict=True))
    assert flaws(service.post("/v1/tests/scores", json=by_id)) == [("/v/c", CODE)]
    for on_missing in ("drop", "bounds"):
        more = {"u": {**BY_ID[0], "d": [1]}, "on_missing": on_missing}
        assert flaws(service.post("/v1/tests/scores", json={**by_id, **more})) == [("/v/c", CODE)]
    assert flaws(service.post("/v1/tests/scores", json={"u": U, "v": [1, 0, 1]})) == [("/v/0", CODE)]
    ndjson = rows(U, V).encode()
    assert flaws(service.body("/v1/tests/scores", ndjson, "application/x-ndjson")) == [("/line/3/v", CODE)]


@pytest.mark.parametrize("policy", ["improve", "no_regression", "non_inferior", "equivalent"])
def test_gates(service: Any, policy: str) -> None:
    margin = {"margin": 0.1} if policy in ("non_inferior", "equivalent") else {}
    asked = {"kind": "scores", "policy": policy, "request": {"u": U, "v": V}, **margin}
    assert flaws(service.post("/v1/gate", json=asked)) == [("/request/v/2", CODE)]
    asked["request"] = {"u": U, "v": EQUAL}
    assert service.post("/v1/gate", json=asked).json()["metrics"]


def test_a_gate_that_looks_again_and_again(service: Any) -> None:
    asked = {
        "kind": "scores",
        "policy": "improve",
        "request": {"u": U, "v": V},
        "sequential": {"mode": "anytime"},
    }
    assert [code for _, code in flaws(service.post("/v1/gate", json=asked))] == [CODE]


def test_boards_have_as_many_runs_of_an_item_in_all_systems(service: Any) -> None:
    asked = {"kind": "scores", "systems": {"A": U, "B": EQUAL, "C": V}}
    assert flaws(service.post("/v1/compare", json=asked)) == [("/systems/C/2", CODE)]
    boards = {"one": asked, "two": asked}
    asked = {"kind": "scores", "datasets": boards}
    for board in boards.values():
        board.pop("kind", None)
    assert flaws(service.post("/v1/compare", json=asked))[0] == ("/datasets/one/systems/C/2", CODE)


def test_boards_of_systems_that_lack_items(service: Any) -> None:
    """Only items that both have are compared: B and C are, on an item that A lacks."""
    systems = {"A": {"a": [1, 0], "b": [1]}, "B": BY_ID[0], "C": BY_ID[1]}
    asked = {"kind": "scores", "systems": systems, "on_missing": "pairwise"}
    assert flaws(service.post("/v1/compare", json=asked)) == [("/systems/C/c", CODE)]
    asked["on_missing"] = "complete"
    assert service.post("/v1/compare", json=asked).status_code == 200


def test_plans_pilots_and_lists(service: Any) -> None:
    request = {"u": U, "v": V}
    assert flaws(service.post("/v1/plan", json={"kind": "scores", "request": request})) == [
        ("/request/v/2", CODE)
    ]
    pilot = {
        "design": {"kind": "pilot", "request_kind": "scores", "request": request},
        "effect": 1,
        "solve": "power",
    }
    assert [code for _, code in flaws(service.post("/v1/power", json=pilot))] == [CODE]
    batch = {"tests": [{"kind": "scores", "request": request}]}
    answered = service.post("/v1/batch", json=batch)
    assert CODE in answered.text


def test_files(service: Any) -> None:
    files = {"u": ("u.jsonl", lines(U)), "v": ("v.jsonl", lines(V))}
    answered = service.post("/v1/tests/files", files=files)
    assert flaws(answered) == [("/files/v/line/3", CODE)]
    assert "leave out the surplus" in answered.json()["detail"]
    three = [("system", (f"{name}.jsonl", lines(side))) for name, side in (("A", U), ("B", EQUAL), ("C", V))]
    assert flaws(service.post("/v1/compare", files=three)) == [("/files/A/line/3", CODE)]
    frames = {
        role: (f"{role}.json", json.dumps({"items": [{"item_id": "a", "score": runs}]}))
        for role, runs in (("u", [1, 0]), ("v", [1]))
    }
    assert flaws(service.post("/v1/tests/files", files=frames)) == [("/files/v/items/0/score", CODE)]
    objects = {role: (f"{role}.json", json.dumps(side)) for role, side in zip("uv", BY_ID, strict=True)}
    assert flaws(service.post("/v1/tests/files", files=objects)) == [("/files/v/c", CODE)]


def inspect_log(name: str, epochs: int) -> str:
    samples = [
        {"id": key, "epoch": epoch, "scores": {"match": {"value": "CI"[(key + epoch) % 2]}}}
        for key in range(4)
        for epoch in range(1, epochs + 1)
    ]
    return json.dumps(
        {"version": 2, "status": "success", "eval": {"task": "t", "model": name}, "samples": samples}
    )


def test_the_way_out_of_inspect_logs_is_enough_for_tests_and_boards(service: Any) -> None:
    logs = {name: inspect_log(name, epochs) for name, epochs in (("A", 3), ("B", 1), ("C", 3))}
    two = {"u": ("u.json", logs["A"]), "v": ("v.json", logs["B"])}
    three = [("system", (f"{name}.json", log)) for name, log in logs.items()]
    for path, files in (("/v1/tests/files", two), ("/v1/compare", three)):
        refused = service.post(path, files=files).json()["errors"]
        assert [flaw["code"] for flaw in refused] == [CODE]
        fields = [choice["fields"] for choice in refused[0]["choices"]]
        assert [next(iter(each)) for each in fields] == ["reduce_epochs", "exchange"]
        for each in fields:
            answered = service.post(path, files=files, data=each)
            assert answered.status_code == 200, answered.text


def test_the_package() -> None:
    for ask in (lambda: test(scores(U, V)), lambda: gate(scores(U, V)), lambda: compare({"A": U, "B": V})):
        with pytest.raises(InvalidTest) as refused:
            ask()
        assert [flaw.code for flaw in refused.value.errors] == [CODE]
    assert test(scores(U, EQUAL)).repeats is not None


def test_the_command_line(tmp_path: Path) -> None:
    paths = [tmp_path / "new.jsonl", tmp_path / "old.jsonl"]
    for path, side in zip(paths, (U, V), strict=True):
        path.write_text(lines(side))
    for command in (["test"], ["gate", "--policy", "improve"], ["compare"], ["plan"]):
        refused = run(*command, *map(str, paths))
        assert refused.exit_code == 2, refused.output
        assert 'the item "c" at line 3 has 1' in refused.output
        assert "give both systems the same number of runs of every item" in refused.output
