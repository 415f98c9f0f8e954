"""How results show themselves in a notebook, and as data frames."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from exactperm import (
    GateResult,
    TestResult,
    compare,
    compare_files,
    files,
    gate,
    metric,
    scores,
    test as run,
)
from exactperm.client import Client
from exactperm.client.notebook import test_sentence as sentence
from exactperm.local.transport import InProcess
from exactperm.settings import Settings

U, V = [0.85, 0.90, 0.78, 0.92, 0.88], [0.80, 0.85, 0.75, 0.88, 0.82]
HOSTILE = "<script>alert('&\"')</script>"
SVG = "{http://www.w3.org/2000/svg}"


def page(result: Any) -> ET.Element:
    """Its HTML; well-formed, so that nothing in it was left unescaped."""
    return ET.fromstring(result._repr_html_())


def text(element: ET.Element) -> str:
    return " ".join(element.itertext())


@pytest.fixture(scope="module")
def result() -> TestResult:
    return run(U, V, names=(HOSTILE, "old"), confidence_level=0.9)


@pytest.fixture(scope="module")
def verdict() -> GateResult:
    one = scores(U, V)
    return gate([metric(HOSTILE, one), metric("b", one)], policy="improve", alpha=0.1)


def test_a_sentence_a_table_and_a_picture(result: TestResult) -> None:
    shown = page(result)
    paragraph, table, picture = shown
    assert paragraph.text is not None
    assert "p = 0.0625 (exact, enumeration, two-sided), not significant at 0.05" in paragraph.text
    assert HOSTILE in paragraph.text  # as text: parsed, it is no element
    assert shown.find(".//script") is None
    assert "5 wins, 0 ties, 0 losses" in text(table)
    assert "0.03 to 0.06" in text(table)
    assert picture.tag == SVG + "svg"


def test_the_bars_are_the_null_and_those_of_the_tail_stand_out(result: TestResult) -> None:
    bars = page(result).findall(f".//{SVG}rect")
    assert result.null.pmf is not None
    assert len(bars) == len(result.null.pmf)
    colours = [bar.attrib["fill"] for bar in bars]
    assert colours.count(colours[0]) == 2  # both ends: p is 2/32
    assert colours[0] == colours[-1] != colours[1]
    heights = [float(bar.attrib["height"]) for bar in bars]
    assert heights == pytest.approx([96 * mass.probability / 0.09375 for mass in result.null.pmf], abs=0.01)
    one_sided = page(run(U, V, alternative="greater")).findall(f".//{SVG}rect")
    assert [bar.attrib["fill"] == colours[0] for bar in one_sided] == [False] * 19 + [True]


def test_without_probabilities_there_is_no_picture() -> None:
    assert page(run(U, V, pmf="none")).find(f".//{SVG}svg") is None


def test_what_is_not_exact_is_not_called_exact() -> None:
    sampled = run(list(range(40)), [0, 40] * 20, method="monte_carlo", samples=999)
    shown = text(page(sampled))
    assert "exact" not in shown
    low, high = map(float, re.findall(r"bounds ([\d.]+) to ([\d.]+)", shown)[0])
    assert 0.99999 * sampled.p_value_bounds[0] <= low <= sampled.p_value_bounds[0]  # rounded outwards
    assert sampled.p_value_bounds[1] <= high <= 1.00001 * sampled.p_value_bounds[1]
    margin = gate([1, 2, 3, 4, 5] * 20, [1, 1, 3, 4, 4] * 20, policy="non_inferior", margin=0.1)
    decision = margin.metrics[0].decision
    assert ("exact" in text(page(margin)[1][1])) == decision.exact


@pytest.mark.parametrize(
    ("p", "log10_p", "shown"),
    [
        (0.05000000001, -1.3, "0.05000000001"),
        (0.05, math.log10(0.05), "0.05 "),
        (0.0, -400.5, "3.162e-401"),
        (0.99999999, -4.3e-9, "0.99999999"),
    ],
)
def test_p_values_stand_on_their_own_side_of_alpha(
    result: TestResult, p: float, log10_p: float, shown: str
) -> None:
    assert f"p = {shown}" in sentence(replace(result, p_value=p, log10_p_value=log10_p))


def test_two_scores_that_differ_look_different(result: TestResult) -> None:
    close = run([0.12345671, 0.12345675, 0.1], [0.12345672, 0.12345671, 0.1])
    scores = re.findall(r"\(U ([\d.]+), V ([\d.]+)\)", text(page(close)))[0]
    assert float(scores[0]) > float(scores[1])


def test_a_gate_says_its_verdict_and_every_metric(verdict: GateResult) -> None:
    shown = page(verdict)
    assert text(shown[0]).startswith("PASS: ")
    assert shown.find(".//script") is None
    assert text(shown[1]).count("p = 0.0625 (exact") == 2
    assert shown[2].tag == SVG + "svg"


def test_a_frame_has_the_columns_and_values_of_the_report(result: TestResult, verdict: GateResult) -> None:
    pytest.importorskip("pandas")
    one = scores(U, V)
    gated = [metric(HOSTILE, one), metric("b", one)]
    with Client("http://here", transport=InProcess(Settings())) as client:
        tested = client.report(scores(U, V, names=(HOSTILE, "old"), confidence_level=0.9), "csv")
        decided = client.report(client_gate(gated), "csv")
    for answer, report in ((result, tested), (verdict, decided)):
        rows = list(csv.DictReader(io.StringIO(report)))
        frame = json.loads(answer.to_frame().to_json(orient="records", double_precision=15))
        assert len(frame) == len(rows)
        for record, row in zip(frame, rows, strict=True):
            assert list(record) == list(row)
            for name in set(row) - {
                "name_u",
                "metric",
                "reason",
            }:  # texts of others are made safe for spreadsheets
                assert same(record[name], row[name]), name


def client_gate(metrics: Any) -> Any:
    from exactperm.client.requests import gate as request

    return request(metrics, policy="improve", alpha=0.1)


def same(value: Any, written: str) -> bool:
    if value is None or isinstance(value, bool):
        return written == {None: "", True: "true", False: "false"}[value]
    return written == value if isinstance(value, str) else float(written) == pytest.approx(value, abs=1e-14)


def test_without_pandas_the_line_that_installs_it(
    result: TestResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        result.to_frame()


def test_the_metric_its_direction_and_what_was_read_are_shown() -> None:
    paths = ("tests/data/asr/amazon.tsv", "tests/data/asr/google.tsv")
    two = files(u=paths[0], v=paths[1])
    tested, board = run(two), compare(compare_files(list(paths)))
    for made in (tested, gate(two), board):
        shown = text(ET.fromstring(made._repr_html_()))
        assert "wer (lower is better): " in shown
        assert "The format was guessed from the files' first bytes: asr" in shown
    frame = tested.to_frame()
    assert (frame["metric"][0], frame["higher_is_better"][0]) == ("wer", False)
    assert "asr" in json.loads(frame["notes"][0])[0]
    assert json.loads(board.systems_frame()["notes"][0])
