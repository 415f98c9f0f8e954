"""Folders and patterns on the command line and in Python: which files are taken, in which order, and what is never followed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import exactperm
from exactperm.client.errors import InvalidData
from exactperm.client.folders import several
from exactperm.client.requests import files
from tests.unit.cli_asking import run

DATES = {"a": "2026-05-17T13-25-31.291152", "b": "2026-05-18T01-02-03.000001"}


def sample(task: int, doc: int, right: bool) -> str:
    return json.dumps(
        {
            "doc_id": doc, "doc": {"question": f"{task} {doc}"}, "target": "A", "filter": "none", "metrics": ["acc"],
            "doc_hash": f"d{task}-{doc}", "prompt_hash": "p", "target_hash": "t", "acc": float(right),
        }
    )  # fmt: skip


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """The logs of two models on 57 tasks, as lm-evaluation-harness writes them."""
    for model, date in DATES.items():
        folder = tmp_path / "runs" / model / f"org__{model}"
        folder.mkdir(parents=True)
        (folder / f"results_{date}.json").write_text('{"results": {}}')
        for task in range(57):
            chance = random.Random(f"{model} {task}")
            lines = [sample(task, doc, chance.random() < 0.6) for doc in range(3 + task % 4)]
            (folder / f"samples_mmlu_t{task:02}_{date}.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path / "runs"


def test_two_folders_of_57_logs_are_one_command(runs: Path) -> None:
    a, b = str(runs / "a"), str(runs / "b")
    for command in (["test"], ["gate"], ["plan"], ["test", "--clusters", "item"]):
        done = run(*command, a, b, "-f", "json")
        assert done.exit_code in ({0, 1} if command == ["gate"] else {0}), done.stderr
        said = json.loads(done.stdout)
        if command[0] == "test":
            assert said["items"]["n"] == sum(3 + task % 4 for task in range(57))
            assert said["items"]["clusters"] == (57 if len(command) == 1 else None)
    said = json.loads(run("compare", a, b, "-f", "json").stdout)
    assert len(said["datasets"]) == 57
    assert set(said["datasets"]["mmlu_t00"]["systems"][0]) >= {"name"}
    assert {one["name"] for one in said["datasets"]["mmlu_t56"]["systems"]} == {"a", "b"}
    assert "of " + a + " 57 files are read, and not org__a/results_" in run("test", a, b).stderr


def test_python_reads_the_same_folders(runs: Path) -> None:
    folders = exactperm.test(files(u=runs / "a", v=runs / "b"))
    listed = exactperm.test(
        files(u=sorted(runs.glob("a/*/samples*")), v=sorted(runs.glob("b/*/samples*"), reverse=True))
    )
    pattern = exactperm.test(
        files(u=f"{runs}/a/**/samples_*.jsonl", v=f"{runs}/b/*/samples_*_t[0-9]?_*.jsonl")
    )
    assert folders.p_value == listed.p_value == pattern.p_value
    assert folders.items.clusters == 57


def test_a_task_that_one_folder_lacks_is_named_with_its_folder(runs: Path) -> None:
    next((runs / "b").glob("*/samples_mmlu_t03_*")).unlink()
    done = run("test", str(runs / "a"), str(runs / "b"))
    assert done.exit_code == 2
    assert 'There is no file of v for 1 of the tasks: "mmlu_t03"' in done.stderr
    assert "--on-missing drop to leave" in done.stderr
    assert f"at {runs / 'b'}" in done.stderr
    assert run("test", str(runs / "a"), str(runs / "b"), "--on-missing", "drop").exit_code == 0
    assert run("gate", str(runs / "a"), str(runs / "b")).exit_code == 2


def test_one_folder_and_a_folder_for_gold_alone_are_refused(runs: Path, tmp_path: Path) -> None:
    assert "give two folders" in run("test", str(runs / "a")).stderr
    assert "for each system" in run("compare", str(runs / "a")).stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    for path in (str(empty), f"{empty}/*.jsonl", f"{tmp_path}/nowhere/*.jsonl"):
        done = run("test", path, str(runs / "b"))
        assert done.exit_code == 2
        assert "names no file" in done.stderr


def names(path: Path | str) -> list[str]:
    found = several(path)
    assert found is not None
    return [name for name, _ in found.files]


def test_files_are_taken_in_the_order_of_their_names_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("z.csv", "a/b.csv", "a/.hidden", ".git/x.csv", "B.csv", "a.csv"):
        path = tmp_path / "run" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    assert names(tmp_path / "run") == ["run/B.csv", "run/a.csv", "run/a/b.csv", "run/z.csv"]
    assert names(f"{tmp_path}/run/*.csv") == ["run/B.csv", "run/a.csv", "run/z.csv"]
    assert names(f"{tmp_path}/run/**/*.csv") == ["run/B.csv", "run/a.csv", "run/a/b.csv", "run/z.csv"]
    assert names(f"{tmp_path}/run/[!aB]*") == ["run/z.csv"]
    assert names(f"{tmp_path}/r?n/a/b.csv") == [f"{tmp_path.name}/run/a/b.csv"]


def test_a_file_whose_name_is_a_pattern_is_that_file(tmp_path: Path) -> None:
    path = tmp_path / "mmlu[1].csv"
    path.write_text("1")
    assert several(path) is None


def test_no_link_is_followed_out_of_a_folder(tmp_path: Path) -> None:
    outside, home = tmp_path / "outside", tmp_path / "run"
    outside.mkdir()
    home.mkdir()
    (outside / "secret.csv").write_text("1")
    (home / "own.csv").write_text("1")
    (home / "link.csv").symlink_to(home / "own.csv")
    assert names(home) == ["run/link.csv", "run/own.csv"]
    for target, link in (
        (outside / "secret.csv", "out.csv"),
        (outside, "folder"),
        (home / ".." / "outside", "up"),
    ):
        (home / link).symlink_to(target)
        for path in (home, f"{home}/**/*", f"{home}/**/*.csv"):
            with pytest.raises(InvalidData, match="leads out of"):
                several(path)
        assert names(f"{home}/own*") == ["run/own.csv"]
        (home / link).unlink()
    (home / "loop").symlink_to(home)
    assert names(home) == ["run/link.csv", "run/own.csv"]


def test_a_folder_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("exactperm.client.folders.MAX_FILES", 3)
    for number in range(4):
        (tmp_path / f"{number}.csv").write_text("1")
    with pytest.raises(InvalidData, match="more than 3 files"):
        several(tmp_path)
    assert len(names(f"{tmp_path}/[012].csv")) == 3


def test_a_folder_of_helm_is_its_per_instance_stats(tmp_path: Path) -> None:
    helm = tmp_path / "mmlu:subject=law,model=a_b"
    helm.mkdir()
    for name in ("per_instance_stats.json", "stats.json", "run_spec.json"):
        (helm / name).write_text("[]")
    found = several(tmp_path)
    assert found is not None
    assert names(tmp_path) == [f"{tmp_path.name}/mmlu:subject=law,model=a_b/per_instance_stats.json"]
    assert len(found.left_out) == 2
