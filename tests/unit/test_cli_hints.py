"""Sentences mark options (`id_column=q`); each entrance spells them as they are written there, and nothing else."""

from __future__ import annotations

import ast
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from exactperm.cli.commands import cli
from exactperm.cli.output import FIELDS, FILES, in_words
from exactperm.client.spelling import keyword, member, spelt
from tests.unit.cli_asking import run, scores

__all__ = ["scores"]  # a fixture

APP = Path(__file__).parents[2] / "app" / "exactperm"
MARK = re.compile(r"`([a-z]\w*)(?:=([^`]*))?`")
HINT = re.compile(r"(?<![\w?&`.])([a-z]\w*)=(?!=)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
# What has the form of a hint and is none: a header, a definition, and a canonical text.
NO_HINTS = {"dur", "index", "realm", "zero_division", "x"}
OPTIONS = {
    name
    for command in ("test", "gate", "compare")
    for one in cli.commands[command].params
    for name in (*one.opts, *one.secondary_opts)
}


def sentences() -> Iterator[tuple[str, str]]:
    """Every text of the rooms that refuse data, with its place; what is filled in is x, or a mark as `marked` makes it."""
    for room in ("inputs", "service", "statistics", "inference"):
        for path in sorted((APP / room).rglob("*.py")):
            nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
            skipped = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
            skipped |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
            for node in nodes:
                if isinstance(node, ast.JoinedStr):
                    text = "".join(
                        str(part.value) if isinstance(part, ast.Constant) else _filled(part)
                        for part in node.values
                    )
                    yield f"{path.name}:{node.lineno}", text
                elif (
                    isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped
                ):
                    yield f"{path.name}:{node.lineno}", node.value


def _filled(part: ast.expr) -> str:
    value = part.value if isinstance(part, ast.FormattedValue) else None
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "marked"):
        return "x"
    name = str(value.args[0].value) if isinstance(value.args[0], ast.Constant) else "id_column"
    return f"`{name}`" if len(value.args) == 1 else f"`{name}=x`"


SENTENCES = [(place, text) for place, text in sentences() if " " in text.strip()]
MARKED = [  # in answers and schemas their fields are marked
    (place, text)
    for place, text in SENTENCES
    if MARK.search(text)
    and {name for name, _ in MARK.findall(text)} <= FIELDS | FILES | {"higher_is_better", "metrics"}
    and "`null." not in text
]


def test_there_are_marks_to_walk() -> None:
    assert len(MARKED) > 60


def test_no_sentence_spells_an_option_as_one_entrance_does() -> None:
    unmarked = [
        (place, text) for place, text in SENTENCES if set(HINT.findall(MARK.sub("", text))) - NO_HINTS
    ]
    assert unmarked == []


@pytest.mark.parametrize(("place", "text"), MARKED, ids=[place for place, _ in MARKED])
def test_every_mark_becomes_an_option_that_there_is(place: str, text: str) -> None:
    said = in_words(text)
    assert "`" not in said.replace("`DOMAIN DOCUMENT`", "")
    options = set(OPTION.findall(said))
    assert options, said
    assert options <= OPTIONS


@pytest.mark.parametrize(
    ("text", "typed", "in_python", "in_json"),
    [
        (
            "Choose the scorer (`scorer`); there are: x.",
            "Choose the scorer (--scorer); there are: x.",
            "Choose the scorer (scorer); there are: x.",
            'Choose the scorer ("scorer"); there are: x.',
        ),
        ("give `id_column=my id`", "give --id-column 'my id'", 'give id_column="my id"', 'give "id_column": "my id"'),
        ('give `"on_missing": "drop"`', "give --on-missing drop", 'give on_missing="drop"', 'give "on_missing": "drop"'),
        (
            "give `allow_incomplete=true` to test",
            "give --allow-incomplete to test",
            "give allow_incomplete=True to test",
            'give "allow_incomplete": true to test',
        ),
        (
            "`higher_is_better=false` where lower",
            "--lower-is-better where lower",
            "higher_is_better=False where lower",
            '"higher_is_better": false where lower',
        ),
        (
            "name it with `format`, one of csv",
            "name it with --input-format, one of csv",
            "name it with format, one of csv",
            'name it with "format", one of csv',
        ),
    ],
)  # fmt: skip
def test_each_entrance_spells_marks(text: str, typed: str, in_python: str, in_json: str) -> None:
    assert (in_words(text), spelt(text, keyword), spelt(text, member)) == (typed, in_python, in_json)


@pytest.mark.parametrize(
    "text", ['There is no column "`id_column=x` \\" metric=".', "a = b, colour=red", "5 `ok"]
)
def test_what_is_quoted_or_not_marked_stays(text: str) -> None:
    assert in_words(text) == spelt(text, keyword) == spelt(text, member) == text


def test_a_table_with_a_name_of_ids_that_is_not_known_is_told_how_to_be_read(tmp_path: Path) -> None:
    new, old = tmp_path / "new.csv", tmp_path / "old.csv"
    new.write_text("question;new\nwhy;1\nhow;0\nwho;1\n")
    old.write_text("question;old\nwho;0\nwhy;1\nhow;0\n")
    for more in ([], ["--input-format", "csv"]):
        said = run("test", str(new), str(old), *more).stderr
        assert 'No column is known to hold ids, but "question" has the same values in u and in v' in said
        assert "Give --id-column question, or remove the column." in said
    result = run("test", str(new), str(old), "--input-format", "csv", "--id-column", "question", "-f", "json")
    assert result.exit_code == 0, result.stderr
    assert '"wins":1,"ties":2,"losses":0' in result.stdout


def test_tags_without_gold_are_told_how_to_give_it(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("u.conll", "v.conll")]
    for path in files:
        path.write_text("Rome B-LOC\nfell O\n\n")
    result = run("test", *map(str, files))
    assert result.exit_code == 2
    assert "Give the gold standard in a file of its own (--gold)" in result.stderr
    assert "--tag-column-gold and --tag-column-u choose the column" in result.stderr


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--alpha", "2%", "Write 0.02."),
        ("--alpha", "0,05", "Write 0.05, with a point."),
        ("--confidence-level", "97,5 %", "Write 0.975."),
        ("--samples", "1,000", "Write 1000."),
        ("--samples", "1e4", "Write 10000."),
        ("--alpha", "1,000", "Write decimals with a point, and nothing between thousands."),
    ],
)
def test_a_number_as_people_write_it_is_told_how_to_be_written(
    option: str, value: str, said: str, scores: str
) -> None:
    result = run("test", scores, option, value)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert f"  at {option}\n" in result.stderr


def test_a_margin_in_percent_and_a_word_for_a_number(scores: str) -> None:
    assert "Write 0.02." in run("gate", scores, "--margin", "2%").stderr
    assert "Write" not in run("test", scores, "--alpha", "often").stderr
    assert "Write" not in run("test", scores, "--samples", "1.5").stderr


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("Excel", "the workbook is damaged. Save its sheet as CSV"),
        ("XlsxWriter", "the workbook is damaged. Save its sheet as CSV"),
        ("LibreOffice", "this is a spreadsheet of a kind that is not read. Save its sheet as CSV (or .xlsx)"),
        ("xls", "this is a spreadsheet of a kind that is not read. Save its sheet as CSV (or .xlsx)"),
    ],
)
def test_a_spreadsheet_that_is_not_read_is_named_as_one(kind: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.xlsx"
    first = {
        "Excel": "[Content_Types].xml",
        "XlsxWriter": "xl/worksheets/sheet1.xml",
        "LibreOffice": "mimetype",
    }
    if kind == "xls":
        path.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(first[kind], "application/vnd.oasis.opendocument.spreadsheet")
    for more in ([], ["--input-format", "csv"]):
        result = run("test", str(path), *more)
        assert (result.exit_code, result.stdout) == (2, "")
        assert said in result.stderr


def test_percent_signs_in_a_file_are_left_out_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("id,u,v\na,50%,25%\nb,75%,50%\n")
    result = run("test", str(path))
    assert result.exit_code == 0
    assert "mean_difference=25 U=62.5 V=37.5 n=2" in result.stdout
    assert "percent signs were left out" in result.stdout
    path.write_text("id,u,v\na,50%,25%\nb,75%,50\n")
    result = run("test", str(path))
    assert (result.exit_code, result.stdout) == (2, "")
