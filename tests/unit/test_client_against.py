"""A gate against several baselines from the client, the package and the command line is the one over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exactperm import files, gate, metric, predictions, scores
from exactperm.client import InvalidData
from tests.unit.cli_asking import answer, run

NEW, MAIN, OLD = [1, 1, 1, 1, 1, 1, 0, 1], [0, 0, 0, 0, 0, 0, 0, 1], [1, 1, 1, 0, 1, 0, 0, 1]


def adjusted(result: Any) -> list[tuple[str | None, float]]:
    return [(one.against, one.decision.p_value_adjusted) for one in result.metrics]


# 6 of 6, and 2 of 2: 2/64 and 1/4 after Holm.
EXPECTED = [("main", 2 / 64), ("v1.2", 1 / 4)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, values in (("new", NEW), ("main", MAIN), ("v1.2", OLD)):
        lines = [f"q{n},{value}" for n, value in enumerate(values)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,score", *lines]) + "\n")
    return tmp_path


def test_data_requests_metrics_and_files_give_the_same(folder: Path) -> None:
    against = {"main": MAIN, "v1.2": OLD}
    assert adjusted(gate(NEW, against=against, policy="improve")) == EXPECTED
    assert adjusted(gate(scores(NEW), against=against, policy="improve")) == EXPECTED
    assert adjusted(gate([metric("a", scores(NEW), against=against)], policy="improve")) == EXPECTED
    paths = {name: folder / f"{name}.csv" for name in against}
    assert adjusted(gate(files(u=folder / "new.csv"), against=paths, policy="improve")) == EXPECTED
    renamed = {"a,b": paths["main"], "c": paths["v1.2"]}
    found = gate(files(u=folder / "new.csv"), against=renamed, policy="improve")
    assert [one.against for one in found.metrics] == ["a,b", "c"]
    labels = gate(predictions(NEW, NEW), against=against, policy="improve")
    assert [one.against for one in labels.metrics] == ["main", "v1.2"]


def test_frames_are_paired_by_their_index_and_never_by_chance() -> None:
    pd = pytest.importorskip("pandas")
    index = [f"q{n}" for n in range(8)]
    new, main, old = (pd.Series(values, index=index) for values in (NEW, MAIN, OLD))
    assert adjusted(gate(new, against={"main": main, "v1.2": old}, policy="improve")) == EXPECTED
    with pytest.raises(InvalidData):
        gate(new, against={"main": main, "v1.2": old[::-1]})
    with pytest.raises(InvalidData, match="index"):
        gate(new, against={"main": main, "v1.2": OLD})
    with pytest.raises(InvalidData, match="baseline already"):
        gate(pd.DataFrame({"u": NEW, "v": MAIN}), against={"main": MAIN})


def test_a_baseline_given_twice_is_refused() -> None:
    with pytest.raises(InvalidData, match="has a baseline already"):
        gate(NEW, MAIN, against={"v1.2": OLD})
    with pytest.raises(InvalidData, match="metric"):
        gate([metric("a", scores(NEW, MAIN))], against={"v1.2": OLD})


def test_the_command_line(folder: Path) -> None:
    new, main, old = (str(folder / f"{name}.csv") for name in ("new", "main", "v1.2"))
    said = answer("gate", new, "--against", main, "--against", old, "--policy", "improve")
    assert [(one["against"], one["decision"]["p_value_adjusted"]) for one in said["metrics"]] == EXPECTED
    assert run("gate", new, "--against", main, "--policy", "improve").exit_code == 0
    assert run("gate", new, "--against", main, "--against", old, "--policy", "improve").exit_code == 1
    assert run("gate", main, "--against", old, "--against", new, "-O", "names=a,b").exit_code == 1


def test_what_the_command_line_refuses(folder: Path) -> None:
    new, main, old = (str(folder / f"{name}.csv") for name in ("new", "main", "v1.2"))
    for wrong in (
        [new, main, "--against", old],
        ["--against", old],
        [new, "--against", old, "--names", "a", "b"],
    ):
        assert run("gate", *wrong).exit_code == 2
    twice = run("gate", new, "--against", main, "--against", main)
    assert twice.exit_code == 2
    assert "main" in twice.stderr
    Path(old).write_text("id,score\nq0,1\n")
    lacking = run("gate", new, "--against", main, "--against", old)
    assert lacking.exit_code == 2
    assert old in lacking.stderr
