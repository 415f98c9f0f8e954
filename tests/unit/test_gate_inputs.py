"""The inputs of the action and the variables of the GitLab template are fields of a gate, and messages name them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from exactperm.cli.output import INPUTS

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
DECIDE = ROOT / ".ci" / "gate" / "decide"
# Inputs that are no fields of a form and no files.
OF_THE_STEP = {"name", "comment", "token", "url", "api-key", "options", "metrics"}
RIGHT = {"candidate": "new.csv", "baseline": "old.csv"}

pytestmark = pytest.mark.skipif(
    not (ROOT / ".venv" / "bin" / "exactperm").exists() or sys.platform == "win32",
    reason="decide runs the checkout's own .venv",
)


def test_messages_name_the_inputs_that_there_are() -> None:
    named = {name.replace("_", "-") for name in INPUTS}
    assert set(ACTION["inputs"]) - OF_THE_STEP == named - {"metrics"}
    (step,) = [one for one in ACTION["runs"]["steps"] if one.get("id") == "gate"]
    assert {f"GATE_{name.upper().replace('-', '_')}" for name in ACTION["inputs"]} == set(step["env"])


def decide(folder: Path, spelling: str, **variables: str) -> tuple[int, str]:
    """The exit status and the messages of a gate with these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GATE_", "EXACTPERM_"))}
    given = {f"GATE_{name.upper()}": value for name, value in variables.items()}
    ran = subprocess.run(
        ["bash", str(DECIDE), str(folder)],
        cwd=folder,
        env={**kept, **given, "GATE_SPELLING": spelling, "GATE_COMMENT": "true"},
        check=False,
    )
    return ran.returncode, (folder / "messages").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of two metrics each, where the new one is worse by `loss` alone."""
    for name, worse in (("new.csv", 1), ("old.csv", 0)):
        rows = "".join(f"q{n},{n % 2},{n % 5 + worse}\n" for n in range(20))
        (tmp_path / name).write_text("q,acc,loss\n" + rows)
    (tmp_path / "one.csv").write_text("id,score\na,1\nb,0\n")
    return tmp_path


@pytest.mark.parametrize(
    ("variables", "status"),
    [
        ({**RIGHT, "score_column": "acc"}, 0),
        ({**RIGHT, "score_column": "loss"}, 1),
        ({**RIGHT, "options": "score_column=loss\nalpha=0.01", "higher_is_better": "true"}, 0),
    ],
)
def test_every_field_is_a_variable(folder: Path, variables: dict[str, str], status: int) -> None:
    assert decide(folder, "gitlab", **variables)[0] == status


@pytest.mark.parametrize(
    ("variables", "github", "gitlab"),
    [
        (RIGHT, "score-column", "GATE_SCORE_COLUMN"),
        ({**RIGHT, "scor_column": "acc"}, "did you mean score-column", "did you mean GATE_SCORE_COLUMN"),
        ({"candidate": "one.csv"}, "Give a baseline (baseline)", "Give a baseline (GATE_BASELINE)"),
        ({**RIGHT, "against": "old.csv"}, "Give baseline or against, not both.", "Give baseline or against, not both."),
        ({**RIGHT, "score_column": "acc", "policy": "best"}, "at policy", "at GATE_POLICY"),
    ],
)  # fmt: skip
def test_messages_spell_fields_as_the_file_of_the_job_does(
    folder: Path, variables: dict[str, str], github: str, gitlab: str
) -> None:
    for spelling, said in (("github", github), ("gitlab", gitlab)):
        status, messages = decide(folder, spelling, **variables)
        assert status == 2
        assert said in messages
        assert not re.search(r"`|--\w", messages), messages
