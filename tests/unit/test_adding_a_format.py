"""CONTRIBUTING.md says that a file format is a reader and a line of the catalogue: tried in a copy of the code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow  # processes that import everything

READER = '''"""A score a line: `item = score`."""

from __future__ import annotations

from collections.abc import Mapping

from .format import FirstLook, Format, Sign
from .number_text import NumberReader
from .outputs_by_id import SystemOutputs, scores_reading
from .reader import ReaderOptions, Reading, Source
from .roles import needed


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two systems."""
    notes: list[str] = []
    number_reader = NumberReader.of(options)
    systems = []
    for role in ("u", "v"):
        source = needed(files, role, format_)
        system = SystemOutputs(source)
        for number, line in enumerate(source.text(notes).splitlines(), 1):
            key, _, value = line.partition(" = ")
            system.add(key, number_reader.of_text(value, source.line(number, "value")), f"line/{number}")
        systems.append(system)
    return scores_reading(systems[0], systems[1], options, notes, format_)


def _sign(look: FirstLook) -> Sign:
    return Sign.SHAPE if look.rows and all(" = " in row for row in look.rows) else Sign.NONE


FORMAT = Format(
    "assignments", read, ("u", "v"), frozenset(("on_missing",)), "a score a line: item = score",
    kinds=("scores",), aliases=("ini",), sign=_sign,
)
'''
DESCRIBE = """
import json
from exactperm.api.meta import meta_of
from exactperm.main import create_app
from exactperm.settings import Settings
print(json.dumps([meta_of(Settings())["formats"], create_app().openapi()]))
"""


def run(folder: Path, *arguments: str) -> str:
    """What a process of its own prints, with the copy as its code."""
    done = subprocess.run(
        [sys.executable, "-B", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(folder / "app")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code with one reader and one line more."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "app", folder / "app", ignore=shutil.ignore_patterns("__pycache__"))
    formats = folder / "app" / "exactperm" / "inputs" / "formats"
    (formats / "assignments.py").write_text(READER, encoding="utf-8")
    catalogue = formats / "catalogue.py"
    text = catalogue.read_text(encoding="utf-8")
    text = text.replace("    asr,\n", "    asr,\n    assignments,\n", 1).replace(
        "    asr.FORMAT, ", "    asr.FORMAT, assignments.FORMAT, ", 1
    )
    catalogue.write_text(text, encoding="utf-8")
    (folder / "new.txt").write_text("a = 3\nb = 2\nc = 4\n", encoding="utf-8")
    (folder / "old.txt").write_text("b = 1\na = 1\nc = 1\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("option", [[], ["--input-format", "assignments"], ["--input-format", "ini"]])
def test_files_of_the_new_format_are_read_and_recognised(copy: Path, option: list[str]) -> None:
    printed = run(copy, "-m", "exactperm.cli", "test", "new.txt", "old.txt", *option, "--format", "json")
    answer = json.loads(printed)
    assert answer["p_value"] == 2 / 2**3  # three items, all better
    assert answer["reading"]["format"] == "assignments"
    assert answer["reading"]["guessed"] is (option == [])


def test_the_document_and_the_page_know_it(copy: Path) -> None:
    formats, document = json.loads(run(copy, "-c", DESCRIBE))
    entry = next(entry for entry in formats["known"] if entry["name"] == "assignments")
    assert entry["kinds"] == ["scores"]
    assert entry["aliases"] == ["ini"]
    assert '"assignments"' in json.dumps(document)
