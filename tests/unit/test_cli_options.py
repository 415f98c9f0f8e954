"""What can be typed: options against the fields of the form, help, and what needs no libraries."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import click
import pytest
from click.testing import CliRunner

from exactperm import __version__
from exactperm.answers.test import Alternative, Resampling
from exactperm.cli import arguments as form, options
from exactperm.cli.commands import cli
from exactperm.client.requests import ROLES as CLIENT_ROLES
from exactperm.inputs.formats.catalogue import FORMATS
from exactperm.inputs.formats.options import CHOICES
from exactperm.inputs.formats.roles import ROLES
from exactperm.reports.representations import OF_A_GATE, OF_A_TEST
from exactperm.service.gate.gate import FIELDS as GATE_FIELDS
from exactperm.service.parse_files import FIELDS
from exactperm.statistics.catalogue import ENTRIES
from exactperm.statistics.statistic import DATA, DATA_OF_KIND, QUESTIONS

ROOT = Path(__file__).parents[2]
COMMANDS = ("test", "gate", "plan")
ELSEWHERE = {"name_u", "name_v"}  # --names
OF_A_SERVER = {"store"}  # --store, which needs a server
FLAGS = {"higher_is_better"}  # --higher-is-better/--lower-is-better


def fields(*sections: str) -> set[str]:
    return {field.name for section in sections for field in options.SECTIONS[section]}


def test_every_field_of_the_form_has_an_option() -> None:
    assert fields("Test", "Statistic", "Reading the files") | ELSEWHERE | OF_A_SERVER == set(FIELDS)


def test_every_field_of_the_gate_has_an_option_but_the_status_which_is_ours() -> None:
    assert fields("Gate") | FLAGS == set(GATE_FIELDS) - form.KEPT - OF_A_SERVER


def test_every_role_of_a_file_can_be_given() -> None:
    assert set(ROLES) == set(CLIENT_ROLES) == {role for entry in FORMATS.values() for role in entry.roles}


def test_choices_are_those_of_the_service() -> None:
    offered = {
        field.name: set(field.choices)
        for section in options.SECTIONS.values()
        for field in section
        if field.choices
    }
    assert offered["alternative"] == set(get_args(Alternative))
    assert offered["test"] == set(get_args(Resampling))
    assert offered["on_missing"] == set(CHOICES["on_missing"])


def test_every_representation_can_be_typed_and_is_in_the_help() -> None:
    (typed,) = (one for one in cli.commands["gate"].params if one.name == "format_")
    assert isinstance(typed.type, click.Choice)
    assert tuple(typed.type.choices) == OF_A_GATE
    assert set(OF_A_TEST) < set(OF_A_GATE)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_every_option_in_a_section_with_a_text(command: str) -> None:
    shown = CliRunner().invoke(cli, [command, "--help"])
    assert shown.exit_code == 0
    for parameter in cli.commands[command].params:
        if isinstance(parameter, click.Option):
            assert parameter.help
            assert parameter.opts[0] in shown.stdout
    for section in ("Files:", "Test:", "Statistic:", "Reading the files:", "Output:", "Server:", "Examples:"):
        assert section in shown.stdout
    assert "Exit status: 0 pass, 1 fail, 2 could not be compared" in shown.stdout


def test_the_examples_in_help_use_options_that_there_are() -> None:
    for command in COMMANDS:
        known = {
            name
            for parameter in cli.commands[command].params
            for name in (*parameter.opts, *parameter.secondary_opts)
        }
        epilog = cli.commands[command].epilog or ""
        examples = [line for line in epilog.splitlines() if line.startswith("  exactperm ")]
        assert examples
        for line in examples:
            assert set(re.findall(r"(?<=\s)--?[a-z][\w-]*", line)) <= known, line


@pytest.mark.parametrize("arguments", [["--version"], ["version"]])
def test_the_version(arguments: list[str]) -> None:
    assert CliRunner().invoke(cli, arguments).stdout == f"exactperm {__version__}\n"


@pytest.mark.parametrize("arguments", ["version", "--help", "gate --help", "test"])
def test_what_only_says_something_loads_no_libraries(arguments: str) -> None:
    code = (
        "import sys\nfrom exactperm.cli import commands\n"
        f"commands._status({arguments.split()!r})\n"
        "print(sorted({'numpy', 'scipy', 'fastapi', 'pydantic', 'httpx'} & set(sys.modules)), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stderr.endswith("[]\n")


def test_the_statistics_are_listed_by_what_one_has_and_what_one_asks() -> None:
    lines = CliRunner().invoke(cli, ["statistics"]).output.splitlines()
    listed: set[tuple[str, str, str]] = set()
    data = question = ""
    for line in filter(None, lines):
        if not line.startswith(" "):
            data = line
        elif not line.startswith("    "):
            question = line.strip()
        else:
            listed.add((data, question, line.split()[0]))
            known = re.findall(r"[\w.]+", line.rpartition(" [")[2]) if line.endswith("]") else []
            assert all(name in known for name in _known_as(line.split()[0], data))
    with_data = {
        (DATA[data], QUESTIONS[entry.question], entry.name)
        for entry in ENTRIES
        for data in entry.data or DATA_OF_KIND[entry.kind]
        if entry.question is not None
    }
    assert listed == with_data
    assert {entry.name for entry in ENTRIES} == {name for _, _, name in listed}


def _known_as(name: str, title: str) -> tuple[str, ...]:
    """Other names of the statistic of such data."""
    return next(
        entry.known_as
        for entry in ENTRIES
        if entry.name == name and title in {DATA[data] for data in entry.data or DATA_OF_KIND[entry.kind]}
    )
