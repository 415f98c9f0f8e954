"""A report is one file that runs nothing, fetches nothing, and says everything without its picture."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from exactperm.answers.gate import GateRecord
from exactperm.answers.test import TestRecord
from exactperm.reports.html import gate_html, html
from exactperm.reports.sentences import metric_sentences, sentences
from tests.unit.reports.conftest import GATE_TEST, metric_of

Make = Callable[..., TestRecord]
Gate = Callable[..., GateRecord]
ROOT = Path(__file__).resolve().parents[3]
ID, SIGNATURE = (
    "t_9f86d081884c7d65",
    "exactperm|alg:1|permutation|mean_difference|two-sided|fft|n:5|sha:9f86d081",
)
PICTURE = '<svg role="img" viewBox="0 0 9 9"><title>the null</title></svg>'
VOID = {"meta", "br", "img", "link", "hr", "input"}


class Page(HTMLParser):
    """What a browser would make of a page, as far as it matters here."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.unclosed: list[str] = []
        self.feed(text)
        self.close()
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open.pop() != tag:
            self.unclosed.append(tag)

    def handle_data(self, data: str) -> None:
        if not {"style", "title"} & set(self.open):
            self.words.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def page(described: TestRecord) -> Page:
    return Page(html(described, ID, SIGNATURE, PICTURE))


@pytest.fixture
def gates(gate: Gate) -> Page:
    made = gate(("f1", "fail"), ("bleu", "pass"), ("chrf", "inconclusive"))
    return Page(gate_html(made, "g_1", [PICTURE] * 3))


@pytest.mark.parametrize("which", ["page", "gates"])
def test_it_is_well_formed_runs_nothing_and_fetches_nothing(
    request: pytest.FixtureRequest, which: str
) -> None:
    page: Page = request.getfixturevalue(which)
    assert page.unclosed == page.open == []
    assert {"script", "link", "iframe", "object", "form", "base"}.isdisjoint(tag for tag, _ in page.elements)
    for tag, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in {"src", "href", "action", "data"} or str(value).startswith(("#", "data:"))
    policies = [each["content"] for each in page.named("meta") if each.get("http-equiv")]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]


@pytest.mark.parametrize("which", ["page", "gates"])
def test_it_can_be_found_through_by_headings_landmarks_and_names(
    request: pytest.FixtureRequest, which: str
) -> None:
    page: Page = request.getfixturevalue(which)
    assert page.named("html") == [{"lang": "en"}]
    for once in ("main", "h1", "footer"):
        assert len(page.named(once)) == 1
    levels = [int(tag[1]) for tag, _ in page.elements if tag in {"h1", "h2", "h3", "h4"}]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    ids = [str(attributes["id"]) for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    labels = [str(section["aria-labelledby"]) for section in page.named("section")]
    assert len(labels) == len(set(labels))
    assert {name for label in labels for name in label.split()} <= set(ids)
    for link in page.named("a"):
        assert str(link["href"])[1:] in ids


def test_it_says_everything_in_words_and_numbers(page: Page, described: TestRecord) -> None:
    for said in (*sentences(described), *(warning.detail for warning in described.warnings)):
        assert said in page.text
    assert "Not significant at 0.05" in page.text
    assert SIGNATURE in page.text
    assert ID in page.text
    for number in (
        "0.866",
        "0.81",
        "+0.056",
        "0.0625",
        "0.02 to 0.07",
        "2.18",
        "0.68",
        "U 6, V 1",
        "5 / 0 / 0",
        "fft",
    ):
        assert number in page.text, number
    for item in ("q-17", "q-3", "q-5"):
        assert item in page.text
    assert (
        "Exact: computed by fft; the rounding error is certified to be at most 3.1e-14 of the value."
        in page.text
    )


def test_it_reads_without_the_picture(described: TestRecord, page: Page) -> None:
    without = Page(html(described, ID, SIGNATURE, ""))
    assert not without.named("figure")
    assert len(page.named("figure")) == len(page.named("figcaption")) == 1
    for said in sentences(described):
        assert said in without.text


def test_what_was_not_asked_for_leaves_no_empty_section(record: Make) -> None:
    page = Page(html(record(warnings=()), ID, SIGNATURE, PICTURE))
    assert "moved most" not in page.text
    assert "Warning" not in page.text
    assert "interval" not in page.text


def test_every_verdict_of_a_gate_is_a_word(gates: Page) -> None:
    assert gates.text.count("PASS") >= 2
    assert gates.text.count("INCONCLUSIVE") >= 2
    assert gates.text.index("FAIL") < gates.text.index("PASS")
    assert "1 of 3 metrics fails: f1." in gates.text
    assert len(gates.named("figure")) == 3


def test_a_gate_says_every_sentence(gate: Gate) -> None:
    made = gate(metric_of(GATE_TEST, name="f1", margin=0.01, kind="asymptotic"))
    text = Page(gate_html(made, "g_1", [PICTURE])).text
    for sentence in (made.metrics[0].reason, *metric_sentences(made.metrics[0])):
        assert sentence in text
    assert "the p-value behind the verdict is asymptotic" in text
    assert "The verdict rests on the test of the margin, not on this one" in text


def test_a_picture_that_is_missing_is_an_error_and_not_another_metrics(gate: Gate) -> None:
    with pytest.raises(ValueError, match="shorter"):
        gate_html(gate(("a", "pass"), ("b", "pass")), "g_1", [PICTURE])


def test_the_same_record_gives_the_same_page(described: TestRecord) -> None:
    assert html(described, ID, SIGNATURE, PICTURE) == html(replace(described), ID, SIGNATURE, PICTURE)


def test_templates_are_read_when_a_report_is_asked_for() -> None:
    code = "import exactperm.reports.html, sys; print('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
