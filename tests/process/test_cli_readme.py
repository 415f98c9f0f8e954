"""The README's console lines and Python lines do what the README says."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMAND = ".venv/bin/exactperm"
PATIENCE_S = 120.0


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def shown() -> list[tuple[str, str]]:
    """Commands and what is shown below each."""
    return [
        (command, output)
        for block in blocks("console")
        for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    ]


pytestmark = pytest.mark.process


def test_there_are_examples_of_both_commands() -> None:
    commands = " ".join(command for command, _ in shown())
    assert f"{COMMAND} test" in commands
    assert f"{COMMAND} gate" in commands
    assert blocks("pycon")


@pytest.mark.parametrize(("command", "output"), shown(), ids=[f"line {n}" for n in range(len(shown()))])
def test_a_command_prints_what_is_shown(command: str, output: str, tmp_path: Path) -> None:
    launcher = tmp_path / "exactperm"
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m app.cli "$@"\n')
    launcher.chmod(0o755)
    assert COMMAND in command
    found = subprocess.run(
        ["bash", "-c", command.replace(COMMAND, str(launcher))],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    said = [
        line for line in found.stdout.splitlines() if not re.match(r"exactperm: (reading|computing)…", line)
    ]
    assert said == output.splitlines()


def test_the_python_lines_answer_what_is_shown(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start(workers=1)
    monkeypatch.chdir(ROOT)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for number, block in enumerate(blocks("pycon")):
        lines = block.replace("http://localhost:8000", server.url)
        example = doctest.DocTestParser().get_doctest(lines, {}, f"README {number}", "README.md", 0)
        found = runner.run(example, clear_globs=False)
        assert (found.failed, found.attempted > 3) == (0, True)
        example.globs["client"].close()
