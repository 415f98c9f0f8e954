"""What reports print in a step of a workflow is no command to its runner, whatever was named.

GitHub's runner takes for a command a line whose first characters after blanks are `::`, and `##[` anywhere in a line.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from exactperm.answers.board import CompareRecord
from exactperm.answers.test import TestRecord
from exactperm.cli.commands import cli
from exactperm.reports.representations import BY_NAME, ReportContext
from tests.unit.reports import test_compare_hostile as boards, test_hostile as tests
from tests.unit.reports.compare_records import compared, some_scores

NAMED = [
    "::error::x",
    "::add-mask::",
    " ::stop-commands::x",
    "##[error]",
    "a ##[add-mask]x",
    "-----",
    "=",
    "@",
    "::",
]
FORMS = ["text", "markdown", "csv"]
CONTEXT = ReportContext("x_1", "the signature")


def quiet(printed: str, name: str) -> None:
    """No line is a command, and none begins with the name."""
    assert printed.strip()
    for line in printed.splitlines():
        begun = line.lstrip()
        assert not begun.startswith("::"), line
        assert not begun.startswith(name.strip()) or set(begun) <= set("|-: "), line
        assert "##[" not in line, line


@pytest.fixture(scope="module", params=boards.DESIGNS)
def board(request: pytest.FixtureRequest) -> CompareRecord:
    return compared(list(boards.NAMES), some_scores(4), **boards.DESIGNS[request.param])


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("form", FORMS)
def test_no_line_of_a_test_or_a_gate_begins_with_a_name(
    described: TestRecord, gate: tests.Gate, form: str, name: str
) -> None:
    render = BY_NAME[form]
    assert render.test is not None
    assert render.gate is not None
    quiet(render.test(tests.labelled(described, name), CONTEXT).decode(), name)
    quiet(render.gate(tests.labelled_gate(gate, described, name), CONTEXT).decode(), name)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("form", FORMS)
def test_no_line_of_a_board_begins_with_a_name(board: CompareRecord, form: str, name: str) -> None:
    quiet(boards.render(boards.labelled(board, name), form), name)


@pytest.mark.parametrize("name", [name for name in NAMED if name != "@"])
@pytest.mark.parametrize(
    "more", [[], ["-f", "text"], ["-f", "markdown"], ["--baseline"], ["--pair"]], ids=str
)
def test_no_line_of_the_command_line_begins_with_a_name(tmp_path: Path, name: str, more: list[str]) -> None:
    """The names of a system, of a data set, of a file, and of what is missing."""
    path, name = tmp_path / f"{name.strip()}.csv".replace("/", "_"), name.strip()
    rows = [
        f"{name} d{d},q{n},{name} {s},{(n * s + d) % 3}"
        for d in range(2)
        for n in range(9)
        for s in (1, 2, 3)
    ]
    path.write_text("\n".join(["dataset,id,system,score", *rows]) + "\n")
    names = {"--baseline": [f"{name} 1"], "--pair": [f"{name} 1", f"{name} 2"]}.get((*more, "")[0], [])
    answered = CliRunner().invoke(cli, ["compare", str(path), "--quiet", "--higher-is-better", *more, *names])
    assert answered.exit_code == 0, answered.stderr
    quiet(answered.stdout, name)
    path.write_text("\n".join(["dataset,id,system,score", *rows, f"{name},{name},{name}"]) + "\n")
    refused = CliRunner().invoke(cli, ["compare", str(path), "--quiet"])
    assert refused.exit_code == 2
    quiet(refused.stderr, name)


def test_every_form_of_lines_is_among_these() -> None:
    """HTML, XML and pictures are for files."""
    assert set(BY_NAME) - {"json", "ndjson", "html", "junit", "svg", "png", "pdf"} == set(FORMS)
