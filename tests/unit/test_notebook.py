"""Answers and plans as notebooks show them."""

import csv
import io
import json
import math
import re
import sys
from dataclasses import replace
from typing import Any, cast
from xml.etree import ElementTree as ET

import pytest

from exactperm import (
    GateResult,
    PowerResult,
    TestResult,
    compare,
    compare_files,
    files,
    gate,
    metric,
    power,
    scores,
    test as run,
)
from exactperm.answers.plan import BoardPlanRecord as BoardPlan
from exactperm.answers.test import WarningRecord as ResultWarning
from exactperm.client import Client, Plan, compare as comparison
from exactperm.client.requests import power as question
from exactperm.client.results import ComparePlan
from exactperm.local.transport import InProcess
from exactperm.presentation.words import test_sentence as sentence
from exactperm.settings import Settings

# How results show themselves in a notebook, and as data frames.


U, V = [0.85, 0.90, 0.78, 0.92, 0.88], [0.80, 0.85, 0.75, 0.88, 0.82]
HOSTILE = "<script>alert('&\"')</script>"
SVG = "{http://www.w3.org/2000/svg}"


def page(result: Any) -> ET.Element:
    """Its HTML, which must be well-formed, so that everything is escaped."""
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


def test_inexact_p_values_are_not_called_exact() -> None:
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


def test_the_metric_its_direction_and_the_reading_are_shown() -> None:
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


# How plans and answers about power show themselves in a notebook, and as data frames.


BINARY = {"kind": "binary", "p10": 0.08, "p01": 0.05}


def numbers(element: ET.Element, *names: str) -> list[float]:
    return [float(element.attrib[name]) for name in names]


@pytest.fixture(scope="module")
def client() -> Client:
    return Client("http://here", transport=InProcess(Settings()))


@pytest.fixture(scope="module")
def many() -> PowerResult:
    return power(BINARY, "n")


@pytest.fixture(scope="module")
def plan(client: Client) -> Plan:
    return client.plan(scores(list(range(40)), [0, 40] * 20))


@pytest.fixture(scope="module")
def board(client: Client) -> ComparePlan:
    columns = {"a": [1, 0, 1, 1], "b": [0, 0, 1, 0], HOSTILE: [0, 0, 0, 1]}
    return client.plan(comparison(datasets={HOSTILE: columns, "two\nlines": columns}))


def test_power_is_a_sentence_facts_points_and_a_curve(many: PowerResult) -> None:
    sentence, facts, points, picture = page(many)
    assert sentence.text is not None
    assert sentence.text.startswith("1,185 items find a true difference of 0.03 with probability 0.8;")
    assert many.method.given in sentence.text
    assert "exact, unconditional_binomial" in text(facts)
    assert "0.0219409" in text(facts)  # the least significant difference
    assert "0.0413827" in text(facts)  # false alarms
    assert len(points.findall(".//tr")) == 1 + len(many.curve)
    assert picture.tag == SVG + "svg"
    assert many.sentence in picture.attrib["aria-label"]


def test_the_curve_is_that_of_the_answer(many: PowerResult) -> None:
    picture = page(many)[-1]
    *dots, ring = picture.findall(f"{SVG}circle")
    assert len(dots) == len(many.curve)
    places = [numbers(dot, "cx", "cy") for dot in dots]
    few, most = many.curve[0], many.curve[-1]
    (left, low), (right, high) = places[0], places[-1]
    for point, (x, y) in zip(many.curve, places, strict=True):
        assert x == pytest.approx(left + (right - left) * (point.n - few.n) / (most.n - few.n), abs=0.02)
        assert y == pytest.approx(
            low + (high - low) * (point.power - few.power) / (most.power - few.power), abs=0.02
        )
    wanted, axis = picture.findall(f"{SVG}line")
    assert wanted.attrib["y1"] == wanted.attrib["y2"]
    x, y = numbers(ring, "cx", "cy")
    assert y == pytest.approx(float(wanted.attrib["y1"]), abs=0.1)  # it has the power wanted, hardly more
    assert x == pytest.approx(left + (right - left) * (1185 - few.n) / (most.n - few.n), abs=0.02)
    base = float(axis.attrib["y1"])
    assert (base - low) / (base - float(wanted.attrib["y1"])) == pytest.approx(few.power / 0.8, abs=1e-3)
    assert f"{few.n:,} items" in text(picture)
    assert f"{most.n:,}" in text(picture)


def test_of_several_numbers_of_items_the_differences_are_drawn_that_they_find() -> None:
    found = power(BINARY, "effect", n=[100, 300, 1000])
    picture = page(found)[-1]
    assert "True difference that is found" in picture.attrib["aria-label"]
    dots = [numbers(dot, "cy")[0] for dot in picture.findall(f"{SVG}circle")]
    (axis,) = picture.findall(f"{SVG}line")
    heights = [float(axis.attrib["y1"]) - dot for dot in dots]
    effects = [abs(point.effect) for point in found.curve]
    assert [one / heights[0] for one in heights] == pytest.approx(
        [one / effects[0] for one in effects], rel=1e-3
    )


def test_approximate_and_unattainable_power_is_marked() -> None:
    rough = power({"kind": "sd", "sd": 0.3}, "effect", n=100)
    assert "approximate, normal" in text(page(rough)[1])
    never = page(power(BINARY, "effect", n=3))
    assert never.find(f".//{SVG}svg") is None
    assert "no true difference" in text(never)
    assert "no outcome is significant" in text(never[1])
    single = page(power(BINARY, "power", n=100))
    assert all(math.isfinite(one) for dot in single.iter(f"{SVG}circle") for one in numbers(dot, "cx", "cy"))


def test_texts_of_an_answer_about_power_stay_texts(many: PowerResult) -> None:
    hostile = replace(
        many,
        sentence=HOSTILE,
        alternative=cast("Any", HOSTILE),
        method=replace(many.method, name=HOSTILE, given=HOSTILE),
        warnings=(ResultWarning(code="x", detail=HOSTILE),),
    )
    shown = page(hostile)
    assert shown.find(".//script") is None
    assert text(shown).count(HOSTILE) == 5
    assert str(replace(many, sentence="a\nb\x1b[1m")) == "a b [1m"


def test_a_plan_is_its_methods_and_their_seconds(plan: Plan) -> None:
    sentence, table, picture = page(plan)
    assert sentence.text == str(plan)
    methods: list[Any] = [plan, *plan.alternatives]
    rows = table.findall("tr")
    assert [row[0].text for row in rows] == [one.method for one in methods]
    for row, one in zip(rows, methods, strict=True):
        assert text(row[1]).startswith("exact, " if one.exact else "not exact, ")
        assert one.reason in text(row[1])
    widths = [float(bar.attrib["width"]) for bar in picture.findall(f"{SVG}rect")]
    per_power = (widths[0] - widths[1]) / math.log10(plan.seconds / plan.alternatives[0].seconds)
    for one, width in zip(methods, widths, strict=True):
        assert width - widths[0] == pytest.approx(per_power * math.log10(one.seconds / plan.seconds), abs=0.2)
    assert text(picture).count("not exact") == sum(not one.exact for one in methods) == 1


def test_texts_and_costs_of_a_plan_stay_texts_and_inside(plan: Plan) -> None:
    for seconds in (0.0, 1e300):
        shown = page(replace(plan, method=HOSTILE, reason=HOSTILE, seconds=seconds))
        assert shown.find(".//script") is None
        assert HOSTILE in text(shown[0])
        assert HOSTILE in text(shown[1])
        picture = shown[2]
        width = float(picture.attrib["width"])
        for bar in picture.findall(f"{SVG}rect"):
            assert 0 < float(bar.attrib["width"]) <= width - float(bar.attrib["x"])


def test_the_plan_of_a_comparison_is_its_boards(board: ComparePlan) -> None:
    sentence, table, picture = page(board)
    assert sentence.text == f"{board}."
    assert len(table.findall("tr")) == len(board.boards) == len(picture.findall(f"{SVG}rect")) == 3
    assert HOSTILE in text(table)
    assert "two lines" in text(table)
    assert page(board).find(".//script") is None
    large = replace(board, boards=(board.boards[-1],) * 100)
    assert "40 more data sets" in text(page(large))
    overall = BoardPlan(dataset=None, systems=2, tests=1, methods=("fft",), seconds=0.1)
    assert "all items" in text(page(replace(board, boards=(overall,))))


def test_frames_have_the_rows_of_the_answers(
    client: Client, many: PowerResult, plan: Plan, board: ComparePlan
) -> None:
    report = list(csv.DictReader(io.StringIO(client.report(question(BINARY, "n"), "csv"))))
    frame = many.to_frame()
    assert list(frame.columns) == list(report[0])
    for name in ("n", "effect", "power", "solution_n", "wanted_power"):
        assert [float(row[name]) for row in report] == list(frame[name])
    methods, planned = plan.to_frame(), [plan.raw, *plan.raw["alternatives"]]
    assert list(methods["method"]) == [one["method"] for one in planned]
    assert list(methods["seconds"]) == [one["seconds"] for one in planned]
    assert list(methods["chosen"]) == [True] + [False] * len(plan.alternatives)
    boards = board.to_frame()
    assert list(boards["dataset"].dropna()) == [HOSTILE, "two\nlines"]
    assert {one.dataset for one in board.boards} == {None, HOSTILE, "two\nlines"}
    assert list(boards["tests"]) == [one.tests for one in board.boards]


def test_without_pandas_the_line_that_installs_it_of_plan_notebook(
    many: PowerResult, plan: Plan, board: ComparePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    results: tuple[Any, ...] = (many, plan, board)
    for one in results:
        with pytest.raises(ImportError, match="pip install pandas"):
            one.to_frame()
