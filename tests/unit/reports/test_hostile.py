"""Labels of strangers do nothing in any report: parsers that know nothing of ours read what comes out."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

from hypothesis import given, strategies as st

from exactperm.answers.gate import GateRecord
from exactperm.answers.test import (
    Moved,
    NamesRecord,
    ReadingRecord,
    StatisticRecord,
    TestRecord,
    WarningRecord,
)
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
from exactperm.reports.sentences import metric_sentences, sentences, summary
from exactperm.reports.text import gate_line, line

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
        gate_html(labelled_gate(gate, described, label), "g_1", [PICTURE] * 3) for label in ("plain", hostile)
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
    statistic = root[0].find("properties/property[@name='statistic']")
    assert statistic is not None
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
    said = (
        line(labelled(described, hostile), ID),
        gate_line(labelled_gate(gate, described, hostile), "g_1"),
    )
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
    ways = (
        single_line,
        for_line,
        for_markdown,
        for_csv,
        for_sentence,
        for_xml,
        prose_for_markdown,
    )
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


def test_an_unknown_statistic_is_said_as_a_label(described: TestRecord) -> None:
    formula = replace(described, statistic=StatisticRecord("hits/(hits+misses)", 0.1, 0.5, 0.4))
    assert "“hits/(hits+misses)”" in sentences(formula)[0]
