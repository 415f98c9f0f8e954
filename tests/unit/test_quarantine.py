"""Only tests that tests/quarantine.txt names are repeated in continuous integration, and none is named for long."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TODAY = dt.datetime.now(tz=dt.UTC).date()
LOG = "...F.\nFAILED tests/a.py::test_x[1-a b] - AssertionError: no\nERROR tests/a.py::test_y\n= 2 failed =\n"


def test_a_test_is_in_quarantine_with_a_reason_and_for_at_most_fourteen_days() -> None:
    lines = (ROOT / "tests" / "quarantine.txt").read_text("utf-8").splitlines()
    for line in (line for line in lines if not line.startswith("#")):
        name, date, reason = line.split(" | ")
        file, _, test = name.partition("::")
        assert f"def {test}(" in (ROOT / file).read_text("utf-8")
        assert TODAY - dt.date.fromisoformat(date) <= dt.timedelta(days=14), line
        assert reason


@pytest.mark.parametrize(
    ("log", "named", "repeated"),
    [
        (LOG, ["x", "y", "z"], True),
        (LOG, ["x"], False),
        (LOG, [], False),
        (LOG + "Interrupted", ["x", "y"], False),
        ("= 3 passed =\n", ["x"], False),
    ],
)
def test_what_nobody_named_is_a_failure(tmp_path: Path, log: str, named: list[str], repeated: bool) -> None:
    (tmp_path / "log").write_text(log)
    (tmp_path / "list").write_text(
        "".join(f"tests/a.py::test_{one} | 2026-11-28 | a race\n" for one in named)
    )
    command = [ROOT / ".ci" / "quarantined", tmp_path / "log"]
    environment = {**os.environ, "QUARANTINE": str(tmp_path / "list")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == repeated
    if log.startswith(LOG):
        assert done.stdout == "tests/a.py::test_x\ntests/a.py::test_y\n"
