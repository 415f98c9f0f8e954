"""The real boards of docs/leaderboards.md are what the command line and the package print, where the data is."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.docs_pages import ROOT, blocks, read
from tests.process.test_docs_console import run

PAGE, PICTURE = "docs/leaderboards.md", "docs/leaderboard-wmt20.svg"
PACK = ROOT.parent / "shared" / "data"
COMMANDS = blocks(PAGE, "bash")
MOST_BYTES = 60_000

pytestmark = [
    pytest.mark.process,
    pytest.mark.pack,
    pytest.mark.skipif(not PACK.is_dir(), reason="the evaluation data is not in ../shared/data"),
]


@pytest.mark.parametrize("command", [command for command in COMMANDS if "-f markdown" in command])
def test_a_board_of_the_page_is_what_its_command_prints(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATA", str(PACK))
    result = run(f"set -e; {command.rstrip()} --quiet", ROOT, tmp_path)
    assert result.returncode == 0, result.stdout
    printed = result.stdout.partition("\n\nRank ranges hold")[0]
    shown = read(PAGE).partition(command)[2].removeprefix("```\n\n")
    assert printed.count("\n| ") >= 4
    assert shown.startswith(f"{printed}\n\n")


def test_the_picture_of_the_page_is_the_one_that_its_command_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (command,) = [command for command in COMMANDS if "-o leaderboard-wmt20.svg" in command]
    monkeypatch.setenv("DATA", str(PACK))
    result = run(command, tmp_path, tmp_path)
    assert result.returncode == 0, result.stdout
    drawn, kept = tmp_path / "leaderboard-wmt20.svg", ROOT / PICTURE
    assert texts(drawn) == texts(kept)
    assert "10 systems" in " ".join(texts(kept))
    assert "45 exact" in " ".join(texts(kept))
    assert kept.stat().st_size < MOST_BYTES


def texts(picture: Path) -> list[str]:
    """Every text of a picture, its description among them."""
    return [text.strip() for text in ET.parse(picture).getroot().itertext() if text.strip()]


def test_the_data_sets_of_the_page_print_what_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ((script, output),) = re.findall(
        r"^```python\n(.*?)```\n\n```text\n(.*?)```$", read(PAGE), re.MULTILINE | re.DOTALL
    )
    exec(compile(script, PAGE, "exec"), {"DATA": PACK})
    assert capsys.readouterr().out == output
    assert [line.split(",")[0].split()[-1] for line in output.splitlines()].count("tied") == 3
    alone = [float(p) for p in re.findall(r", p ([\d.e-]+)", output)][1:]
    assert sum(p > 0.05 for p in alone) == 2  # the largest of three is not adjusted by a family of its own
