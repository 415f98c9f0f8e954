"""`python -m tests.docs_tables` (`make docs`): write the tables of docs/ that the code knows, between their marks.

A table stands between `<!-- table: NAME -->` and `<!-- /table -->`. `tests/unit/test_documentation.py` compares them.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import click

from exactperm.cli.commands import cli
from exactperm.cli.options import RARE, SECTIONS
from exactperm.inputs.formats.catalogue import FORMATS
from exactperm.main import create_app
from exactperm.service import problems
from exactperm.service.schema.fields import STATISTIC_MODELS, entries
from exactperm.settings import Settings
from exactperm.statistics.catalogue import ENTRIES, Parameter
from tests import docs_exactness
from tests.tool_files import TOOLS

DOCS = Path(__file__).resolve().parents[1] / "docs"
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- /table -->)", re.DOTALL)
COMPUTED = {
    "workers": "one per processor",
    "web_processes": "one per four workers, 1 to 16",
}  # defaults that are not constants
COMMANDS_WITH_OPTIONS = ("test", "gate", "compare", "plan")
_PARAMETERS = {parameter.name for entry in ENTRIES for parameter in entry.parameters}


def settings() -> list[str]:
    """Environment variables, their defaults and meanings."""
    rows = []
    for name, field in Settings.model_fields.items():
        if field.default_factory:
            default = COMPUTED[name]
        else:
            default = f"`{str(field.default).lower()}`" if field.default != "" else "none"
        rows.append(_row(f"`EXACTPERM_{name.upper()}`", default, field.description or ""))
    return _table(["variable", "default", "meaning"], rows)


def problem_types() -> list[str]:
    """Problem types by status, with the remedy for each."""
    rows = [
        _row(f"`{kind.code}`", str(kind.status), kind.title, kind.advice) for kind in problems.all_types()
    ]
    return _table(["type", "status", "title", "what to do"], rows)


def metrics() -> list[str]:
    """Metrics of our own, without those of the process."""
    names = create_app(Settings(workers=1)).state.metrics.names()
    rows = [_row(f"`{name}`", text) for name, text in names.items() if not name.startswith("process_")]
    return _table(["metric", "meaning"], rows)


def statistics() -> list[str]:
    """Every statistic by endpoint, with its parameters."""
    rows = [
        _row(
            f"`/v1/tests/{kind}`",
            f"`{entry.name}`",
            entry.meaning,
            _codes(each.name for each in entry.parameters),
            _codes(entry.known_as),
        )
        for kind in STATISTIC_MODELS
        for entry in entries(kind)
    ]
    return _table(["endpoint", "name", "meaning", "parameters", "known as"], rows)


def parameters() -> list[str]:
    """Every parameter of a statistic, with the statistics that take it."""
    users: dict[Parameter, dict[str, list[str]]] = {}  # statistics by endpoint
    for kind in STATISTIC_MODELS:
        for entry in entries(kind):
            for parameter in entry.parameters:
                users.setdefault(parameter, {}).setdefault(kind, []).append(entry.name)
    rows = [
        _row(
            f"`{each.name}`",
            "; ".join(f"{kind}: {_codes(names)}" for kind, names in by_kind.items()),
            "" if each.default is None else f"`{each.default}`",
            each.meaning + (f": {_codes(each.choices)}" if each.choices else ""),
        )
        for each, by_kind in sorted(users.items(), key=lambda item: item[0].name)
    ]
    return _table(["parameter", "of", "default", "meaning"], rows)


def exactness() -> list[str]:
    """The certainty of each statistic at several sizes; equal rows are merged."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for row in docs_exactness.rows():
        groups.setdefault((row.data, row.outcomes), []).append(row.statistic)
    head = ["data", "statistic", *(f"{n:,} items" for n in docs_exactness.SIZES)]
    return _table(head, [_row(data, _codes(names), *said) for (data, said), names in groups.items()])


def formats() -> list[str]:
    """Roles, options and statistics of file formats, with other names; formats that take the same share a row."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, each in FORMATS.items():
        also = f" ({_codes(each.aliases)})" if each.aliases else ""
        takes = (_codes(each.roles), _codes(sorted(each.uses)), _codes(each.statistics))
        groups.setdefault(takes, []).append(f"`{name}`{also}")
    rows = [_row("; ".join(names), *takes) for takes, names in groups.items()]
    return _table(["`format`", "files", "options", "`statistic`"], rows)


def options() -> list[str]:
    """Options of the command line, as click knows them, by the commands that take them; `parameters` has those of statistics."""
    users: dict[tuple[str, str], list[str]] = {}  # an option may mean something else to another command
    for command in COMMANDS_WITH_OPTIONS:
        for option in cli.commands[command].params:
            if (
                isinstance(option, click.Option)
                and not option.hidden
                and option.opts[0][2:] not in _PARAMETERS | {"option"}
            ):
                flags = _codes((*option.opts, *option.secondary_opts))
                users.setdefault((flags, " ".join((option.help or "").split())), []).append(command)
    groups: dict[str, list[str]] = {}
    for (flags, text), commands in users.items():
        groups.setdefault(_codes(commands), []).append(_row(flags, text))
    rare = {
        field.name: field
        for fields in SECTIONS.values()
        for field in fields
        if field.name in RARE - _PARAMETERS
    }
    groups[_codes(COMMANDS_WITH_OPTIONS)] += [
        _row(f"`-O {name}=…`", " ".join(field.help.split())) for name, field in rare.items()
    ]
    lines = []
    for which, rows in groups.items():
        lines += ["", f"Options of {which}:", "", *_table(["option", "meaning"], rows)]
    return lines[1:]


def tools() -> list[str]:
    """The tested files of tools: the source of each, and the options it needs."""
    rows = [
        _row(
            name,
            f"`{tool.file}`",
            tool.read_at,
            ", ".join(f"`{option}={value}`" for option, value in tool.asked.items()),
        )
        for name, tool in TOOLS.items()
    ]
    return _table(["tool", "file", "written by", "needs"], rows)


TABLES: dict[str, Callable[[], list[str]]] = {
    "exactness": exactness,
    "formats": formats,
    "metrics": metrics,
    "options": options,
    "parameters": parameters,
    "problems": problem_types,
    "settings": settings,
    "statistics": statistics,
    "tools": tools,
}


def written(page: str) -> str:
    """A page with its tables as the code has them; KeyError where a mark names no table."""

    def table(match: re.Match[str]) -> str:
        return f"{match[1]}" + "\n".join(TABLES[match[2]]()) + f"\n{match[3]}"

    return TABLE.sub(table, page)


def main() -> None:
    """Rewrite the pages that have tables."""
    for path in sorted(DOCS.rglob("*.md")):
        page = path.read_text(encoding="utf-8")
        if TABLE.search(page):
            path.write_text(written(page), encoding="utf-8")


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _table(head: list[str], rows: list[str]) -> list[str]:
    return [_row(*head), "|" + "---|" * len(head), *rows]


if __name__ == "__main__":
    main()
