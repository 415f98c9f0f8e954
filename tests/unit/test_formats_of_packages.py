"""A package that is installed beside this one adds a format, as docs/formats.md says it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "formats.md"


def installed(folder: Path, *, entry: str = "acme_exactperm:SHAPE", name: str = "acme") -> dict[str, str]:
    """The environment of a process that has the guide's package: its module, and what an installer writes of it."""
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    code = code.replace('Shape("acme"', f'Shape("{name}"')
    (folder / "acme_exactperm.py").write_text(code)
    about = folder / "acme_exactperm-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-exactperm\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[exactperm.formats]\nacme = {entry}\n")
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT / "app")))}


def answered(folder: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    files = []
    for role, scores in (("new", (0.75, 0.5, 1.0, 0.5)), ("old", (0.5, 0.5, 0.25, 0.25))):
        cases = [{"case": f"q{n}", "result": {"quality": one}} for n, one in enumerate(scores)]
        files.append(folder / f"{role}.json")
        files[-1].write_text(json.dumps({"acme": 1, "run": role, "cases": cases}))
    command = [sys.executable, "-m", "exactperm", "test", *map(str, files), "--format", "json", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_the_format_of_an_installed_package_is_guessed_and_read(tmp_path: Path) -> None:
    done = answered(tmp_path, installed(tmp_path))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["p_value"] == 0.25  # three of four differences, all of one sign
    assert said["reading"]["format"] == "acme"
    assert said["names"] == {"u": "new", "v": "old"}
    assert said["statistic"]["metric"] == "quality"


@pytest.mark.parametrize(
    ("entry", "name", "word"),
    [("acme_exactperm:marks", "acme", "is no Shape"), ("acme_exactperm:SHAPE", "comet", "called comet")],
)
def test_what_is_no_format_or_takes_a_name_stops_the_start(
    entry: str, name: str, word: str, tmp_path: Path
) -> None:
    done = answered(tmp_path, installed(tmp_path, entry=entry, name=name))
    assert done.returncode != 0
    assert word in done.stderr
