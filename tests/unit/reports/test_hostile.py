"""Test that hostile labels are inert in all reports, by independent parsers."""

import csv
import io
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st

from exactperm.answers.board import BoardRecord, CompareRecord
from exactperm.answers.gate import GateRecord
from exactperm.answers.test import (
    Moved,
    NamesRecord,
    ReadingRecord,
    StatisticRecord,
    TestRecord,
    WarningRecord,
)
from exactperm.cli.commands import cli
from exactperm.presentation.escaping import (
    LONGEST,
    for_csv,
    for_line,
    for_markdown,
    for_sentence,
    for_xml,
    prose_for_markdown,
    single_line,
)
from exactperm.reports.csv_tables import gate_rows, row
from exactperm.reports.html import gate_html, html
from exactperm.reports.junit import junit
from exactperm.reports.markdown import gate_markdown, markdown
from exactperm.reports.representations import BY_NAME, ReportContext
from exactperm.reports.sentences import metric_sentences, sentences, summary
from exactperm.reports.text import gate_line, line

from .compare_records import compared, some_scores

Gate = Callable[..., GateRecord]
ID = "t_9f86d081884c7d65"
PICTURE = '<svg viewBox="0 0 1 1"><title>p</title></svg>'
FORMULA = re.compile(r"[\s]*[=+\-@＝＋－＠]")


def labelled(record: TestRecord, label: str) -> TestRecord:
    """Every field that a caller writes is the label."""
    return replace(
        record,
        names=NamesRecord(label, label + "2"),
        statistic=replace(record.statistic, name=label, metric=label + "3"),
        reading=ReadingRecord("auto", False, (f"u is {label}.", f"v is {label}.")),
        moved=Moved((label, label), (label,)),
        warnings=(WarningRecord("note", f"Of {label} much is said."),),
    )


def labelled_gate(gate: Gate, record: TestRecord, label: str) -> GateRecord:
    made = gate((label, "fail"), ("second", "inconclusive"), ("third", "pass"), test=labelled(record, label))
    metrics = tuple(
        replace(metric, hypothesis=f"{label} is better.", reason=f"{label}.") for metric in made.metrics
    )
    return replace(made, metrics=metrics, reason=f"Failed on {label}")


class Outline(HTMLParser):
    """The elements and attributes of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def harmless(text: str) -> bool:
    """No control, no override of direction, no surrogate."""
    return all(char.isprintable() or char == "\n" for char in text)


def test_no_element_and_no_attribute_of_a_page_comes_from_a_label(
    described: TestRecord, hostile: str
) -> None:
    plain = Outline(html(labelled(described, "plain"), ID, "sig", PICTURE))
    page = html(labelled(described, hostile), ID, "sig", PICTURE)
    outline = Outline(page)
    assert outline.elements == plain.elements
    assert harmless(page)
    page.encode()
    assert single_line(hostile)[: LONGEST - 1] in " ".join(outline.text)


def test_no_element_and_no_attribute_of_a_gate_comes_from_a_label(
    described: TestRecord, gate: Gate, hostile: str
) -> None:
    pages = [
        gate_html(labelled_gate(gate, described, label), "g_1", [(PICTURE, "")] * 3)
        for label in ("plain", hostile)
    ]
    assert Outline(pages[0]).elements == Outline(pages[1]).elements
    assert harmless(pages[1])
    pages[1].encode()


def test_xml_parses_and_gives_the_label_back(described: TestRecord, gate: Gate, hostile: str) -> None:
    plain, root = (
        ET.fromstring(junit(labelled_gate(gate, described, label), "g_1")) for label in ("plain", hostile)
    )
    assert [each.tag for each in root.iter()] == [each.tag for each in plain.iter()]
    assert [sorted(each.keys()) for each in root.iter()] == [sorted(each.keys()) for each in plain.iter()]
    name = root[0][1].get("name")
    assert name == (single_line(hostile) or "(unnamed)")
    statistic: Any = root[0].find("properties/property[@name='statistic']")
    assert statistic.get("value") == single_line(hostile)


def cells(text: str) -> list[dict[str, str]]:
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert all(None not in each and None not in each.values() for each in rows)
    return rows


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_no_cell_of_a_spreadsheet_starts_a_formula(described: TestRecord, gate: Gate, hostile: str) -> None:
    tables = (
        row(labelled(described, hostile), ID),
        gate_rows(labelled_gate(gate, described, hostile), "g_1"),
    )
    for text, expected in zip(tables, (1, 3), strict=True):
        read = cells(text)
        assert len(read) == expected
        for cell in (cell for each in read for cell in each.values()):
            assert is_number(cell) or not FORMULA.match(cell), cell
            assert harmless(cell)
            assert "\n" not in cell
        assert read[0]["name_u"].removeprefix("'") == single_line(hostile).removeprefix("'")


def lines_of(text: str) -> list[int]:
    """For every line, how many cells it would have as a row of a table."""
    return [each.count("|") for each in text.split("\n")]


def without_code(text: str) -> str:
    return re.sub(r"(?<![`\\])`[^`]*`(?!`)", "CODE", text)


MARKUP = re.compile(r"(?<!\\)(<[a-zA-Z/!?]|\[|\]|\*\*\*|(?<!\w)@\w|https?://)")


def test_a_label_stays_in_its_cell_and_marks_nothing_up(
    described: TestRecord, gate: Gate, hostile: str
) -> None:
    def tests(label: str) -> str:
        return markdown(labelled(described, label), ID)

    def gates(label: str) -> str:
        return gate_markdown(labelled_gate(gate, described, label), "g_1")

    for render in (tests, gates):
        plain, text = render("plain"), render(hostile)
        assert lines_of(text) == lines_of(plain)
        assert text.count("<") >= plain.count("<")
        left = re.sub(r"</?(?:details|summary|sub)>", "", without_code(text))
        assert not MARKUP.search(left), MARKUP.search(left)
        assert harmless(text)


def test_a_line_is_one_line(described: TestRecord, gate: Gate, hostile: str) -> None:
    said = (line(labelled(described, hostile), ID), gate_line(labelled_gate(gate, described, hostile), "g_1"))
    for text in said:
        assert text.isprintable()
        assert len(text.splitlines()) <= 1


def test_a_sentence_is_one_line(described: TestRecord, gate: Gate, hostile: str) -> None:
    made = gate((hostile, "pass"), ("b", "pass"), test=labelled(described, hostile))
    every = (
        *sentences(labelled(described, hostile)),
        summary(made),
        *(sentence for metric in made.metrics for sentence in metric_sentences(metric)),
    )
    for text in every:
        assert text.isprintable()
        assert len(text) < 1000


@given(st.text())
def test_no_label_has_more_than_one_line(text: str) -> None:
    ways = (single_line, for_line, for_markdown, for_csv, for_sentence, for_xml, prose_for_markdown)
    for way in ways:
        written = way(text)
        assert len(written.splitlines()) <= 1
        assert harmless(written)
        written.encode()


@given(st.text(alphabet="`|*_<>[]\\a @\n", max_size=20))
def test_a_code_span_cannot_be_left(text: str) -> None:
    written = for_markdown(text)
    assert written[0] == written[-1] == "`"
    assert "`" not in written[1:-1]
    assert "|" not in written


@given(st.text(alphabet="“”\"' a=<\n", max_size=20))
def test_a_quotation_cannot_be_left(text: str) -> None:
    written = for_sentence(text)
    assert written == single_line(text) or (written[0], written[-1]) == ("“", "”")
    assert "“" not in written[1:-1]
    assert "”" not in written[1:-1]


def test_our_own_code_spans_stay_and_other_markup_does_not() -> None:
    said = prose_for_markdown(
        "See `method.reason`: p_value_bounds of *x* <b> | [y](z) @me https://a.b 1 < 2 <= 3"
    )
    assert (
        said
        == "See `method.reason`: p_value_bounds of \\*x\\* \\<b> ¦ \\[y\\](z) ＠me https\\://a.b 1 < 2 <= 3"
    )


def test_an_unknown_statistic_is_shown_as_a_label(described: TestRecord) -> None:
    formula = replace(described, statistic=StatisticRecord("hits/(hits+misses)", 0.1, 0.5, 0.4))
    assert "“hits/(hits+misses)”" in sentences(formula)[0]


# Names of systems and data sets by strangers do nothing in any report or picture of a comparison.


NAMES = ("A", "B", "C", "D")
PICTURES: tuple[Literal["leaderboard", "heatmap", "bars", "forest"], ...] = (
    "leaderboard", "heatmap", "bars", "forest",
)  # fmt: skip
DESIGNS: dict[str, dict[str, Any]] = {
    "all pairs": {},
    "baseline": {"design": "baseline", "baseline": "B"},
    "pairs": {"design": "pairs", "pairs": (("A", "B"), ("C", "B"))},
}


def render(record: CompareRecord, form: str, **context: Any) -> str:
    renderer = BY_NAME[form].compare
    assert renderer is not None
    return renderer(record, ReportContext("c_1", "sig", **context)).decode()


def labelled_board(record: CompareRecord, label: str) -> CompareRecord:
    """The same answer, in which all that a caller writes is the label."""
    names = {name: label + ("" if name == "B" else name) for name in NAMES}
    boards = {label: _renamed(record.main_board, names, label)}
    return replace(
        record,
        statistic=label,
        metric=label + "3",
        baseline=None if record.baseline is None else names[record.baseline],
        systems=None,
        pairs=None,
        groups=None,
        family=None,
        datasets={**boards, label + "2": boards[label]},
        overall=boards[label],
        reading=ReadingRecord("auto", False, (f"The file of {label} was read.",)),
        warnings=(WarningRecord("note", f"Of {label} much is said."),),
    )


def _renamed(board: BoardRecord, names: dict[str, str], label: str) -> BoardRecord:
    def of(group: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names[name] for name in group)

    groups = board.groups
    if groups is not None:
        letters = {letter: of(group) for letter, group in (groups.letters or {}).items()}
        clusters, tiers = (tuple(map(of, sets)) for sets in (groups.clusters, groups.tiers))
        groups = replace(
            groups, letters=letters, clusters=clusters, tiers=tiers, best_set=of(groups.best_set)
        )
    return replace(
        board,
        systems=tuple(replace(system, name=names[system.name]) for system in board.systems),
        pairs=tuple(replace(pair, u=names[pair.u], v=names[pair.v]) for pair in board.pairs),
        groups=groups,
        warnings=(WarningRecord("own", f"{label} is odd."),),
    )


@pytest.fixture(scope="module", params=DESIGNS, ids=str)
def record(request: pytest.FixtureRequest) -> CompareRecord:
    return compared(NAMES, some_scores(4), **DESIGNS[request.param])


@pytest.fixture(scope="module")
def all_pairs() -> CompareRecord:
    return compared(NAMES, some_scores(4))


def test_no_element_and_no_attribute_of_a_page_comes_from_a_label_of_compare_hostile(
    record: CompareRecord, hostile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other labels need other widths, so that lines wrap elsewhere: the pictures are the subject of another test.
    monkeypatch.setattr("exactperm.reports.picture.pictures.Picture.inline", lambda _: "")
    plain, page = (render(labelled_board(record, label), "html") for label in ("plain", hostile))
    assert Outline(page).elements == Outline(plain).elements
    assert harmless(page)


@pytest.mark.parametrize("table", ["systems", "pairs"])
def test_no_cell_of_a_spreadsheet_starts_a_formula_of_compare_hostile(
    record: CompareRecord, hostile: str, table: str
) -> None:
    rows = cells(render(labelled_board(record, hostile), "csv", table=table))
    assert len(rows) == 3 * len(cells(render(record, "csv", table=table)))
    for cell in (cell for cells_of in rows for cell in cells_of.values()):
        assert is_number(cell) or not FORMULA.match(cell), cell
        assert harmless(cell)
        assert "\n" not in cell
    names = {row.get("name", row.get("v", "")).removeprefix("'") for row in rows}
    assert single_line(hostile).removeprefix("'") in names


def test_a_label_stays_in_its_cell_and_marks_nothing_up_of_compare_hostile(
    record: CompareRecord, hostile: str
) -> None:
    plain, text = (render(labelled_board(record, label), "markdown") for label in ("plain", hostile))
    assert lines_of(text) == lines_of(plain)
    left = re.sub(r"</?(?:details|summary|sub)>", "", without_code(text))
    assert not MARKUP.search(left), MARKUP.search(left)
    assert harmless(text)


def test_a_line_is_one_line_of_compare_hostile(record: CompareRecord, hostile: str) -> None:
    (text,) = render(labelled_board(record, hostile), "text").splitlines()
    assert text.isprintable()


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_has_text_and_nothing_else_of_a_label(
    all_pairs: CompareRecord, hostile: str, picture: str
) -> None:
    text = render(labelled_board(all_pairs, hostile), "svg", picture=picture)
    assert harmless(text)
    root = ET.fromstring(text)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    known = {
        "svg", "title", "desc", "g", "path", "text", "defs", "circle", "pattern",
    }  # fmt: skip
    assert tags <= known
    names = {name.rpartition("}")[2] for element in root.iter() for name in element.attrib}
    assert not [name for name in names if name.startswith("on")]
    links = [value for each in root.iter() for name, value in each.attrib.items() if name.endswith("href")]
    assert all(link.startswith("#") for link in links)
    said: Any = root.find("{http://www.w3.org/2000/svg}desc")
    assert single_line(hostile)[:60] in (said.text or "")


def test_a_png_is_drawn_of_any_name(all_pairs: CompareRecord, hostile: str) -> None:
    renderer = BY_NAME["png"].compare
    assert renderer is not None
    assert renderer(labelled_board(all_pairs, hostile), ReportContext("c_1")).startswith(b"\x89PNG")


# What reports print in a step of a workflow is no command to its runner, whatever was named.


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
    for printed_line in printed.splitlines():
        begun = printed_line.lstrip()
        assert not begun.startswith("::"), printed_line
        assert not begun.startswith(name.strip()) or set(begun) <= set("|-: "), printed_line
        assert "##[" not in printed_line, printed_line


@pytest.fixture(scope="module", params=DESIGNS)
def board(request: pytest.FixtureRequest) -> CompareRecord:
    return compared(list(NAMES), some_scores(4), **DESIGNS[request.param])


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("form", FORMS)
def test_no_line_of_a_test_or_a_gate_begins_with_a_name(
    described: TestRecord, gate: Gate, form: str, name: str
) -> None:
    render = BY_NAME[form]
    assert render.test is not None
    assert render.gate is not None
    quiet(render.test(labelled(described, name), CONTEXT).decode(), name)
    quiet(render.gate(labelled_gate(gate, described, name), CONTEXT).decode(), name)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("form", FORMS)
def test_no_line_of_a_board_begins_with_a_name(board: CompareRecord, form: str, name: str) -> None:
    quiet(render(labelled_board(board, name), form), name)


@pytest.mark.parametrize("name", [name for name in NAMED if name != "@"])
@pytest.mark.parametrize(
    "more", [[], ["-f", "text"], ["-f", "markdown"], ["--baseline"], ["--pair"]], ids=str
)
def test_no_line_of_the_command_line_begins_with_a_name(tmp_path: Path, name: str, more: list[str]) -> None:
    """The names of a system, a data set, a file, and missing items."""
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
