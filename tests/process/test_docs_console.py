"""Test that console, Python and JavaScript lines of README.md and docs/ do what the pages say."""

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.docs_pages import GUIDE, ROOT, blocks, rewrite
from tests.process import foreign

COMMAND = ".venv/bin/exactperm"
PATIENCE_S = 120.0


def shown() -> list[tuple[str, str, str]]:
    """Pages with their commands and the output shown below each."""
    return [
        (page, command, output)
        for page in GUIDE
        for block in blocks(page, "console")
        for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    ]


def test_there_are_examples_of_both_commands() -> None:
    commands = " ".join(command for _, command, _ in shown())
    assert f"{COMMAND} test" in commands
    assert f"{COMMAND} gate" in commands


@pytest.mark.parametrize(
    ("page", "command", "output"), shown(), ids=[f"line {n}" for n in range(len(shown()))]
)
def test_a_command_prints_the_shown_output(
    page: str, command: str, output: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    assert COMMAND in command
    result = run(command.replace(COMMAND, "exactperm"), ROOT, tmp_path)
    lines = [
        line for line in result.stdout.splitlines() if not re.match(r"exactperm: (reading|computing)…", line)
    ]
    if request.config.getoption("rewrite") and lines != output.splitlines():
        rewrite(page, f"$ {command}\n{output}", f"$ {command}\n" + "".join(f"{line}\n" for line in lines))
        return
    assert lines == output.splitlines()


def run(command: str, folder: Path, path: Path) -> subprocess.CompletedProcess[str]:
    """Run a line in bash, with an `exactperm` that is this checkout in front of its PATH."""
    launcher = path / "exactperm"
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m exactperm.cli "$@"\n')
    launcher.chmod(0o755)
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "app"), "PATH": f"{path}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    lines = [line for block in blocks("README.md", "sh") for line in block.splitlines()]
    commands = [line for line in lines if line.startswith("exactperm ")]
    assert len(commands) == 3
    for name, scores in (("new", "1 1 0 1"), ("old", "1 0 0 1")):
        rows = [f'{{"id": {number}, "score": {score}}}\n' for number, score in enumerate(scores.split())]
        (tmp_path / f"{name}.jsonl").write_text("".join(rows))
    for command in commands:
        result = run(command, tmp_path, tmp_path)
        assert result.returncode == 0, result.stdout
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_python_lines_give_the_shown_output(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start(workers=1)
    monkeypatch.chdir(ROOT)
    examples = [block for page in GUIDE for block in blocks(page, "pycon")]
    assert examples
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for number, block in enumerate(examples):
        lines = block.replace("http://localhost:8000", server.url)
        example = doctest.DocTestParser().get_doctest(lines, {}, f"example {number}", "docs/python.md", 0)
        result = runner.run(example, clear_globs=False)
        assert (result.failed, result.attempted >= 3) == (0, True)
        if "client" in example.globs:
            example.globs["client"].close()


def test_the_javascript_lines_print_the_shown_output(start: Callable[..., Any], tmp_path: Path) -> None:
    interpreter, shown_below = foreign.node(), foreign.examples("js")
    assert shown_below
    server = start(workers=1)
    module = (foreign.CLIENTS / "typescript/exactperm.js").as_uri()
    for script, output in shown_below:
        path = tmp_path / "example.mjs"
        lines = script.replace("http://localhost:8000", server.url).replace("exactperm-client", module)
        path.write_text(lines, encoding="utf-8")
        result = foreign.run([interpreter, str(path)], tmp_path)
        assert (result.stdout, result.stderr, result.returncode) == (output, "", 0)
