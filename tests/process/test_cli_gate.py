"""Who is the candidate and what is better, from a shell: a ruined model never exits with 0."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process
ROOT = Path(__file__).parents[2]
PATIENCE_S = 180.0
PASSED, FAILED, REFUSED = 0, 1, 2


def gate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "exactperm.cli", "gate", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "app")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def table(path: Path, *names: str) -> None:
    """The first column is right on 180 of 200 items, the second on 100."""
    rows = [f"q{n},{int(n % 10 > 0)},{n % 2}" for n in range(200)]
    path.write_text("\n".join([",".join(["id", *names]), *rows]) + "\n")


@pytest.mark.parametrize("policy", ["no_regression", "non_inferior", "improve"])
def test_a_baseline_in_the_first_column_is_not_the_candidate(tmp_path: Path, policy: str) -> None:
    table(tmp_path / "t.csv", "baseline", "candidate")
    found = gate(tmp_path, "t.csv", "--policy", policy)
    assert found.returncode == FAILED, found.stdout
    assert found.stdout.startswith("FAIL: ")
    assert " candidate=0.5 baseline=0.9 " in found.stdout
    assert "u is candidate and v is baseline, by their names." in found.stdout
    table(tmp_path / "t.csv", "candidate", "baseline")
    assert gate(tmp_path, "t.csv", "--policy", policy).returncode == PASSED


def test_what_no_name_tells_is_refused_and_the_options_of_the_refusal_work(tmp_path: Path) -> None:
    table(tmp_path / "t.csv", "gpt-4", "llama")
    found = gate(tmp_path, "t.csv")
    assert (found.returncode, found.stdout) == (REFUSED, "")
    choices = ("--system-u gpt-4 and --system-v llama", "--system-u llama and --system-v gpt-4")
    for choice, status in zip(choices, (PASSED, FAILED), strict=True):
        assert choice in found.stderr
        words = choice.replace(" and ", " ").split()
        assert gate(tmp_path, "t.csv", *words).returncode == status


def test_fewer_errors_are_better_in_whatever_order_the_files_stand(tmp_path: Path) -> None:
    for name, words in (("ref", "a b c d"), ("good", "a b c d"), ("bad", "a b x d")):
        (tmp_path / f"{name}.trn").write_text("".join(f"{words} (s-{n})\n" for n in range(10, 30)))
    for u, v, status in (("good", "bad", PASSED), ("bad", "good", FAILED)):
        found = gate(tmp_path, f"{u}.trn", f"{v}.trn", "--ref", "ref.trn")
        assert found.returncode == status, found.stdout
        assert " lower_is_better " in found.stdout
        assert " metric=wer " in found.stdout


def test_an_unknown_direction_is_asked_for_as_an_option(tmp_path: Path) -> None:
    for name, score in (("u", 2), ("v", 1)):
        (tmp_path / f"{name}.csv").write_text(
            "id,helpfulness\n" + "".join(f"{n},{score}\n" for n in range(9))
        )
    found = gate(tmp_path, "u.csv", "v.csv", "--input-format", "csv")
    assert found.returncode == REFUSED
    assert "set --higher-is-better, or --lower-is-better where lower is better" in found.stderr
    assert (
        gate(tmp_path, "u.csv", "v.csv", "--input-format", "csv", "--higher-is-better").returncode == PASSED
    )
    assert gate(tmp_path, "u.csv", "v.csv", "--input-format", "csv", "--lower-is-better").returncode == FAILED
