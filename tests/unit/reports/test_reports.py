"""Reports of tests: CSV, Markdown, JUnit, HTML."""

import csv
import io
import itertools
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from exactperm.answers.gate import GateRecord
from exactperm.answers.test import (
    ConfidenceInterval,
    EffectSize,
    ItemLevel,
    NamesRecord,
    StatisticRecord,
    TestRecord,
    WarningRecord,
)
from exactperm.reports.csv_tables import gate_rows, row
from exactperm.reports.html import gate_html, html
from exactperm.reports.junit import junit
from exactperm.reports.markdown import gate_markdown, markdown
from exactperm.reports.sentences import metric_sentences, sentences
from exactperm.reports.text import gate_line, line

from .conftest import GATE_TEST, metric_of

# Line, Markdown and CSV, of tests and of gates.


Make = Callable[..., TestRecord]
Gate = Callable[..., GateRecord]
ID = "t_9f86d081884c7d65"


def table(text: str) -> list[dict[str, str]]:
    """The first table of a Markdown text."""
    rows = [
        [cell.strip() for cell in each.strip("|").split("|")]
        for each in text.split("\n")
        if each.startswith("|")
    ]
    head, rule, *body = rows
    assert all(set(cell) <= {"-", ":"} for cell in rule)
    assert {len(each) for each in rows} == {len(head)}
    return [dict(zip(head, each, strict=True)) for each in body]


def one(text: str) -> dict[str, str]:
    (found,) = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    return found


def test_the_line_has_the_facts_for_a_log(record: Make) -> None:
    assert line(record(), ID) == (
        "p=0.0625 (exact, fft) two-sided mean_difference=0.056 U=0.866 V=0.81 n=5 not significant at 0.05 "
        "[alpha_unattainable] t_9f86d081884c7d65"
    )


def test_the_line_has_interval_and_effect_size_when_they_were_asked_for(described: TestRecord) -> None:
    assert " n=5 ci0.95=[0.02,0.07] d_z=2.18 not significant " in line(described, ID)
    unbounded = ConfidenceInterval(0.9, None, None, "test_inversion", "exact", 0.0)
    assert " ci0.9=[-inf,inf] " in line(replace(described, confidence_interval=unbounded), ID)
    assert "q-17" not in line(described, ID)


def test_markdown_is_verdict_table_and_sentences(record: Make) -> None:
    text = markdown(record(), ID)
    first, _, *rest = text.split("\n")
    assert first == "**Not significant at 0.05**, p = 0.0625 (two-sided, exact)"
    assert table(text) == [
        {
            "statistic": "`mean_difference`",
            "`U`": "0.866",
            "`V`": "0.81",
            "difference": "+0.056",
            "p-value": "0.0625",
            "items": "5",
            "wins / ties / losses": "5 / 0 / 0",
        }
    ]
    assert "`U` scored 0.866 and `V` 0.81 in mean over 5 items: `U` is higher by 0.056." in "\n".join(rest)
    assert "> **alpha_unattainable**: No result could be significant." in rest
    assert rest[-2:] == ["<sub>exactperm t_9f86d081884c7d65, method `fft`</sub>", ""]


def test_markdown_has_the_requested_additions(described: TestRecord) -> None:
    text = markdown(described, ID)
    (cells,) = table(text)
    assert (cells["95 % interval"], cells["d_z"]) == ("0.02 to 0.07", "2.18")
    assert "* toward `U`: `q-17`, `q-3`\n* toward `V`: `q-5`\n" in text
    assert text.count("<details>") == text.count("</details>") == 1


def test_the_verdict_is_open_where_the_bounds_are(record: Make) -> None:
    made = record(p_value=0.0499, p_value_bounds=(0.048, 0.052), significant=True)
    assert markdown(made, ID).startswith("**Not settled at 0.05**, p = 0.0499 ")


def test_systems_of_one_name_have_their_own_columns(record: Make) -> None:
    (cells,) = table(markdown(record(names=NamesRecord("gpt", "gpt")), ID))
    assert (cells["`gpt` (U)"], cells["`gpt` (V)"]) == ("0.866", "0.81")


def test_a_statistic_without_own_scores_has_a_value(record: Make) -> None:
    (cells,) = table(markdown(record(statistic=StatisticRecord("x1", 6.0, None, None)), ID))
    assert (cells["statistic"], cells["value"]) == ("`x1`", "6")


def test_the_row_loses_no_digit(record: Make) -> None:
    p = 0.1 + 0.2
    said = one(row(record(p_value=p), ID))
    assert float(said["p_value"]) == p
    assert (said["clusters"], said["exact"], said["significant"]) == ("", "true", "false")


def test_every_column_is_always_there(record: Make, described: TestRecord) -> None:
    without, full = one(row(record(), ID)), one(row(described, ID))
    assert list(without) == list(full)
    assert (full["interval_low"], full["interval_high"], full["interval_kind"]) == ("0.02", "0.07", "exact")
    assert (full["cohens_d_z"], full["only_u"], full["odds_high"]) == ("2.18", "6", "276.0")
    assert json.loads(full["moved_toward_u"]) == ["q-17", "q-3"]
    assert {without[name] for name in full if name.startswith(("interval", "moved", "odds", "only"))} == {""}


def test_an_end_that_no_data_can_set_is_empty_beside_its_method(described: TestRecord) -> None:
    interval = ConfidenceInterval(0.9, None, 0.2, "test_inversion", "exact", 0.0)
    said = one(
        row(replace(described, confidence_interval=interval, effect_size=EffectSize(None, None, None)), ID)
    )
    assert (said["interval_low"], said["interval_high"], said["interval_method"]) == (
        "",
        "0.2",
        "test_inversion",
    )
    assert (said["cohens_d_z"], said["only_u"]) == ("", "")


def test_the_p_value_by_item_stands_beside_that_of_the_clusters(record: Make) -> None:
    level = ItemLevel(0.001, -3.0, "fft", exact=True)
    assert " p_by_item=0.001 " in line(record(item_level=level), ID)
    assert table(markdown(record(item_level=level), ID))[0]["p-value by item"] == "0.001"
    assert one(row(record(item_level=level), ID))["item_level_p_value"] == "0.001"
    assert "by item" not in markdown(record(), ID)


def test_a_p_value_just_below_alpha_is_not_written_as_alpha(record: Make, gate: Gate) -> None:
    p = 0.04999999996
    made = record(p_value=p, log10_p_value=math.log10(p), p_value_bounds=(p, p), significant=True)
    assert line(made, ID).startswith("p=0.04999999996 ")
    assert table(markdown(made, ID))[0]["p-value"] == "0.04999999996"
    decided = gate(metric_of(GATE_TEST, p=p, verdict="fail"))
    assert " p=0.04999999996 " in gate_line(decided, "g_1")
    assert table(gate_markdown(decided, "g_1"))[0]["p"] == "0.04999999996 (exact)"


def test_the_line_of_a_gate_begins_with_its_verdict(gate: Gate) -> None:
    assert gate_line(gate(metric_of(GATE_TEST, margin=0.01, kind="asymptotic")), "g_1") == (
        "PASS: no_regression margin=0.01 higher_is_better p=0.03125 (asymptotic, tango_score, greater) alpha=0.05 mean_difference=0.056 "
        "candidate=0.866 baseline=0.81 n=5 ci0.95=[0.02,0.07] d_z=2.18 g_1"
    )
    several = gate_line(gate(("f1", "pass"), ("a b", "fail")), "g_1")
    assert several.startswith("FAIL: 2 metrics, Holm; f1 PASS: no_regression ")
    assert '; "a b" FAIL: no_regression ' in several
    lenient = gate_line(gate(("f1", "inconclusive")), "g_1")
    assert lenient.startswith("INCONCLUSIVE, counted as a pass: ")


def test_the_line_of_a_gate_says_when_lower_is_better(gate: Gate) -> None:
    assert " lower_is_better " in gate_line(gate(metric_of(GATE_TEST, higher_is_better=False)), "g_1")
    assert " higher_is_better " in gate_line(gate(metric_of(GATE_TEST)), "g_1")


@pytest.mark.parametrize(
    ("verdict", "start"),
    [
        ("pass", "✅ **PASS** – p"),
        ("fail", "❌ **FAIL** – p"),
        ("inconclusive", "⚠️ **INCONCLUSIVE, counted as a pass** – p"),
    ],
)
def test_the_markdown_of_a_gate_begins_with_its_verdict_in_words(
    gate: Gate, verdict: str, start: str
) -> None:
    assert gate_markdown(gate(("f1", verdict)), "g_1").startswith(start)


def test_the_markdown_of_a_gate_has_a_row_for_every_metric(gate: Gate) -> None:
    plain = replace(GATE_TEST, confidence_interval=None, effect_size=None, moved=None)
    text = gate_markdown(
        gate(
            metric_of(
                GATE_TEST, name="f1", verdict="fail", p=0.02, adjusted=0.04, policy="improve", margin=0.01
            ),
            metric_of(plain, name="mean_difference", p=0.04),
        ),
        "g_1",
    )
    first, second = table(text)
    assert (first["metric"], first["verdict"], second["verdict"]) == (
        "`f1` (higher is better)",
        "✗ FAIL",
        "✓ PASS",
    )
    assert (first["policy"], second["policy"]) == ("`improve`, margin 0.01", "`no_regression`")
    assert first["p adjusted"] == "0.04 (exact)"
    assert (first["95 % interval"], second["95 % interval"]) == ("0.02 to 0.07", "")
    assert {first["statistic"], second["statistic"]} == {"`mean_difference`"}
    assert "* `f1`, toward `candidate`: `q-17`, `q-3`" in text


def test_a_warning_of_several_metrics_is_shown_once(gate: Gate) -> None:
    warned = replace(GATE_TEST, warnings=(WarningRecord("sampled", "It was sampled."),))
    text = gate_markdown(gate(metric_of(warned, name="a"), metric_of(warned, name="b")), "g_1")
    assert text.count("> **sampled**: It was sampled.") == 1


def test_a_gate_has_one_row_for_each_metric_with_all_digits(gate: Gate) -> None:
    p = 0.1 + 0.2
    made = gate(metric_of(GATE_TEST, name="a", p=p, adjusted=2 * p, verdict="fail"), ("b", "pass"))
    first, second = csv.DictReader(io.StringIO(gate_rows(made, "g_1"), newline=""), strict=True)
    assert (first["id"], first["metric"], second["metric"]) == ("g_1", "a", "b")
    assert (first["verdict"], second["verdict"], second["gate_verdict"]) == ("fail", "pass", "fail")
    assert (first["gate_passed"], first["correction"]) == ("false", "holm")
    assert (float(first["p_value"]), float(first["p_value_adjusted"])) == (p, 2 * p)
    assert first["reason"] == made.metrics[0].reason


# A report is one file that runs nothing, fetches nothing, and says everything without its picture.


ROOT = Path(__file__).resolve().parents[3]
ID_OF_HTML, SIGNATURE = (
    "t_9f86d081884c7d65",
    "exactperm|alg:1|permutation|mean_difference|two-sided|fft|n:5|sha:9f86d081",
)
PICTURE = '<svg role="img" viewBox="0 0 9 9"><title>the null</title></svg>'
VOID = {"meta", "br", "img", "link", "hr", "input"}


class Page(HTMLParser):
    """A page as a browser parses it, as far as needed here."""

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
    return Page(html(described, ID_OF_HTML, SIGNATURE, PICTURE))


@pytest.fixture
def gates(gate: Gate) -> Page:
    made = gate(("f1", "fail"), ("bleu", "pass"), ("chrf", "inconclusive"))
    return Page(gate_html(made, "g_1", [(PICTURE, "")] * 3))


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
    assert ID_OF_HTML in page.text
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
    without = Page(html(described, ID_OF_HTML, SIGNATURE, ""))
    assert not without.named("figure")
    assert len(page.named("figure")) == len(page.named("figcaption")) == 1
    for said in sentences(described):
        assert said in without.text


def test_missing_parts_leave_no_empty_section(record: Make) -> None:
    page = Page(html(record(warnings=()), ID_OF_HTML, SIGNATURE, PICTURE))
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
    text = Page(gate_html(made, "g_1", [(PICTURE, "")])).text
    for sentence in (made.metrics[0].reason, *metric_sentences(made.metrics[0])):
        assert sentence in text
    assert "the p-value behind the verdict is asymptotic" in text
    assert "The verdict rests on the test of the margin, not on this one" in text


def test_a_picture_that_is_missing_is_an_error_and_not_another_metrics(gate: Gate) -> None:
    with pytest.raises(ValueError, match="shorter"):
        gate_html(gate(("a", "pass"), ("b", "pass")), "g_1", [(PICTURE, "")])


def test_the_same_record_gives_the_same_page(described: TestRecord) -> None:
    assert html(described, ID_OF_HTML, SIGNATURE, PICTURE) == html(
        replace(described), ID_OF_HTML, SIGNATURE, PICTURE
    )


def test_templates_are_read_when_a_report_is_asked_for() -> None:
    code = "import exactperm.reports.html, sys; print('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# JUnit XML against what Jenkins' xUnit plugin validates (junit-10.xsd), and what it says of a gate.


COUNTS = {"name", "tests", "failures", "errors", "time"}
# Element: attributes it needs, attributes it may have besides, elements it may hold. From the schema's declarations.
SCHEMA: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), COUNTS, {"testsuite"}),
    "testsuite": (
        COUNTS - {"time"},
        {"time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url", "group"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": (
        {"name"},
        {"time", "classname", "group"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}


def read(gate: GateRecord) -> ET.Element:
    return ET.fromstring(junit(gate, "g_1"))


def require_valid(element: ET.Element) -> None:
    needed, allowed, children = SCHEMA[element.tag]
    assert needed <= set(element.keys()) <= needed | allowed, element.tag
    assert {child.tag for child in element} <= children, element.tag
    if "time" in element.keys():  # noqa: SIM118  # an element is no mapping
        assert re.fullmatch(r"[0-9]{0,3}(\.[0-9]*)?", str(element.get("time")))
    for child in element:
        require_valid(child)


@pytest.mark.parametrize("on_inconclusive", ["pass", "fail"])
@pytest.mark.parametrize("verdicts", [*product(["pass", "fail", "inconclusive"], repeat=2), ("pass",)])
def test_there_is_a_failure_exactly_when_the_gate_does_not_pass(
    gate: Gate, verdicts: tuple[str, ...], on_inconclusive: str
) -> None:
    made = gate(*((f"m{n}", each) for n, each in enumerate(verdicts)), on_inconclusive=on_inconclusive)
    root = read(made)
    require_valid(root)
    assert (root.find(".//failure") is None) == made.passed
    cases = root.findall(".//testcase")
    assert [case.get("name") for case in cases] == [metric.name for metric in made.metrics]
    for case, verdict in zip(cases, verdicts, strict=True):
        failed = verdict == "fail" or (verdict == "inconclusive" and on_inconclusive == "fail")
        assert (case.find("failure") is not None) == failed
        assert (case.find("skipped") is not None) == (verdict == "inconclusive" and not failed)


def test_the_counts_are_those_of_the_cases(gate: Gate) -> None:
    root = read(gate(("a", "fail"), ("b", "inconclusive"), ("c", "pass"), ("d", "fail")))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "2", "0")
    for element in (root, *root):
        assert int(str(element.get("tests"))) == len(element.findall(".//testcase"))
        assert int(str(element.get("failures"))) == len(element.findall(".//failure"))
    for suite in root:
        assert int(str(suite.get("skipped"))) == len(suite.findall(".//skipped"))


def test_a_failure_says_why_and_how_large_the_difference_is(gate: Gate) -> None:
    failure: Any = read(gate(("a", "fail"))).find(".//failure")
    assert failure.get("message") == GATE_REASON
    assert failure.get("type") == "no_regression"
    assert "The candidate scored 0.866 and the baseline 0.81 in mean over 5 items" in str(failure.text)


GATE_REASON = "p = 0.03125 <= alpha = 0.05: the candidate is significantly better than the baseline."


def test_the_properties_are_question_and_result(gate: Gate) -> None:
    root = read(
        gate(metric_of(GATE_TEST, policy="improve", margin=0.01, p=0.02, adjusted=0.04), ("b", "pass"))
    )
    found = {str(each.get("name")): each.get("value") for each in root[0].iter("property")}
    assert found["id"] == "g_1"
    assert (found["policy"], found["margin"], found["alpha"]) == ("improve", "0.01", "0.05")
    assert (found["p_value"], found["p_value_adjusted"], found["correction"]) == ("0.02", "0.04", "holm")


def test_the_same_gate_gives_the_same_bytes_in_utf_8(gate: Gate) -> None:
    made = gate(("accuracy é", "pass"))
    assert junit(made, "g_1") == junit(made, "g_1")
    assert junit(made, "g_1").startswith(b"<?xml version='1.0' encoding='UTF-8'?>")
    assert "accuracy é".encode() in junit(made, "g_1")
