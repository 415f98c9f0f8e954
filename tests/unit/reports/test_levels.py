"""Test that no p-value below a usual level is shown as that level, in any text, with any alpha."""

import json
import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any, cast, get_args

import httpx
import pytest

import exactperm
from exactperm.answers.board import CompareRecord
from exactperm.answers.gate import GateRecord
from exactperm.answers.test import (
    ItemLevel,
    MethodRecord,
    MissingRecord,
    MonteCarloRecord,
    NullRecord,
    PositionBiasRecord,
    TestRecord,
)
from exactperm.cli import run
from exactperm.client import notebook
from exactperm.presentation.numbers import LEVELS, enclosing_p, p_number, probability, short_p
from exactperm.presentation.words import cells_of, metric_rows, test_sentence as sentence_of_test
from exactperm.reports.representations import REPRESENTATIONS, BoardPicture, BoardTable, ReportContext

from .compare_records import compared, some_scores, with_costs
from .conftest import RECORD, metric_of

CLOSE = [0.04996, 0.0499996, 0.04999999996, 0.009996, 0.0099999996]
ALPHA = 0.2  # the levels themselves are in no text, nor is any other number that looks like them
A_LEVEL = re.compile(r"(?<![\d.<\N{MINUS SIGN}-])(0\.0[51]0*|[51]e[-\N{MINUS SIGN}]0?2)(?![\d.]*\d)")
NAMES = REPRESENTATIONS[1:-1]
DRAWN = MonteCarloRecord(20_000, 7, 624, 0.0012)


def seen(answer: str | bytes) -> str:
    """The visible texts and labels, without styles and coordinates."""
    text = re.sub(
        r"<style.*?</style>", " ", answer.decode() if isinstance(answer, bytes) else answer, flags=re.DOTALL
    )
    labels = re.findall(r'(?:aria-label|message|value|title)="([^"]*)"', text)
    return unescape(" ".join([re.sub(r"<[^>]*>", " ", text), *labels]))


def judge(answer: str | bytes) -> None:
    text = seen(answer)
    found = A_LEVEL.search(text)
    assert found is None, text[max(0, found.start() - 80) : found.end() + 20]


def states(p: float) -> Iterator[TestRecord]:
    """Tests whose p-value is known in every way."""
    common: dict[str, Any] = {
        "p_value": p, "log10_p_value": math.log10(p), "p_value_bounds": (0.8 * p, p), "alpha": ALPHA,
        "significant": True, "min_attainable_p": p, "null": NullRecord(0.0, 0.2, -0.56, 0.56, None, None, None),
        "warnings": (), "method": MethodRecord("fft", True, 3e-14, "r", None, None),
    }  # fmt: skip
    sampled = MethodRecord("monte_carlo", False, None, "r", None, DRAWN)
    control = replace(DRAWN, control="midpoint", control_p_value=p, gained=3, lost=2, p_value_plain=p)
    of_samples: dict[str, Any] = {**common, "p_value_bounds_kind": "confidence", "method": sampled}
    yield replace(RECORD, **common, item_level=ItemLevel(p, math.log10(p), "monte_carlo", False))
    yield replace(RECORD, **common, missing=MissingRecord(2, (-0.3, 0.3), (0.8 * p, p)))
    yield replace(RECORD, **{**common, "method": MethodRecord("bounds", False, 0.25, "r", None, None)})
    yield replace(RECORD, **common, position_bias=PositionBiasRecord(5, 15, 2, p))
    yield replace(RECORD, **of_samples)
    yield replace(RECORD, **{**of_samples, "method": replace(sampled, monte_carlo=control)})


def gates(p: float) -> Iterator[GateRecord]:
    for test in states(p):
        for own in (p, p / 2):
            metric = metric_of(
                test, p=own, adjusted=p, kind=test.p_value_bounds_kind, alpha=ALPHA, reason="The reason."
            )
            yield GateRecord.of(
                digest="ab" * 32, verdict="pass", reason="r", on_inconclusive="fail", metrics=(metric,)
            )


@pytest.fixture(scope="module")
def board() -> CompareRecord:
    return compared(["a", "b", "c"], some_scores(3), alpha=ALPHA)


def boards(record: CompareRecord, p: float) -> Iterator[CompareRecord]:
    """Boards all of whose p-values are close to a level."""
    for certainty in ("exact", "bracketed", "sampled"):
        changes: dict[str, Any] = {
            "p_value": p, "log10_p_value": math.log10(p), "p_adjusted": p, "log10_p_adjusted": math.log10(p),
            "p_value_bounds": (0.8 * p, p), "p_adjusted_bounds": (0.8 * p, p), "p_adjusted_certainty": certainty,
            "difference": 0.3,
        }  # fmt: skip
        pairs = tuple(replace(pair, **changes) for pair in record.main_board.pairs)
        yield record.with_board(replace(record.main_board, pairs=pairs))


@pytest.mark.parametrize("p", CLOSE)
def test_numbers(p: float) -> None:
    level = 0.05 if p > 0.01 else 0.01
    for digits in range(1, 8):
        assert 0.99 * level < float(p_number(p, digits=digits)) < level
        assert probability(p, math.log10(p), ALPHA, digits=digits) == p_number(p, digits=digits)
    assert all(float(end) < level for end in enclosing_p(p, p))


def test_p_values_at_or_above_a_level_are_shown_so() -> None:
    assert (p_number(0.05), p_number(0.01, digits=1), p_number(0.0500001, digits=3)) == (
        "0.05",
        "0.01",
        "0.0500001",
    )


@pytest.mark.parametrize("p", CLOSE)
@pytest.mark.parametrize(
    "shown", [one for one in NAMES if one.test and not one.is_binary], ids=lambda one: one.name
)
def test_reports_of_tests(shown: Any, p: float) -> None:
    for record in states(p):
        judge(shown.test(record, ReportContext("t_1")))


@pytest.mark.parametrize("p", CLOSE)
@pytest.mark.parametrize(
    "shown", [one for one in NAMES if one.gate and not one.is_binary], ids=lambda one: one.name
)
def test_reports_of_gates(shown: Any, p: float) -> None:
    for record in gates(p):
        judge(shown.gate(record, ReportContext("g_1")))


@pytest.mark.parametrize("p", CLOSE)
@pytest.mark.parametrize(
    "shown", [one for one in NAMES if one.compare and not one.is_binary], ids=lambda one: one.name
)
def test_reports_of_boards(board: CompareRecord, shown: Any, p: float) -> None:
    pictures = get_args(BoardPicture) if shown.is_themed else ("leaderboard",)
    tables = get_args(BoardTable) if shown.is_table else ("systems",)
    for record in map(with_costs, boards(board, p)):
        for picture in pictures:
            for table in tables:
                judge(shown.compare(record, ReportContext("c_1", picture=picture, table=table)))


@pytest.mark.parametrize("p", CLOSE)
def test_notebooks_and_terminals(board: CompareRecord, p: float) -> None:
    for record in states(p):
        judge(sentence_of_test(record))
        judge(notebook.test_html(cast("Any", record)))
    for gate in gates(p):
        judge(" ".join(text for row in metric_rows(gate.metrics[0]) for text in row))
        judge(notebook.gate_html(cast("Any", gate)))
    for many in boards(board, p):
        judge(" ".join(text for pair in many.main_board.pairs for text in cells_of(pair, ALPHA)))
    judge(run._p_value(httpx.Response(200, headers={"x-p-value": repr(p)}), {"field_alpha": "0.2"}))


@pytest.mark.parametrize(
    ("p", "shown"),
    [(0.0499999999, "<0.05"), (0.0500000001, ">0.05"), (0.05, "0.05"), (0.04996, "0.04996"), (0.0496, "0.0496"), (0.0504, "0.0504"), (0.009999999, "<0.01"), (0.9999999, "<1"), (1.0, "1"), (1.2e-7, "1.2e−7")],
)  # fmt: skip
def test_a_short_p_value_is_on_its_own_side_of_alpha(p: float, shown: str) -> None:
    assert short_p(p, math.log10(p), 0.05) == shown
    assert short_p(p, math.log10(p), 0.2) == shown  # a usual level is one also where another was chosen


def test_a_p_value_below_all_doubles_is_below_a_power_of_ten() -> None:
    assert short_p(5e-324, -500.0, 0.05) == "<1e−99"


PACKAGE = Path(exactperm.__file__).parent
PAGE_NUMBERS, R_NUMBERS = PACKAGE / "web/page/numbers.js", PACKAGE.parents[1] / "openapi/clients/r/R/test.R"


@pytest.mark.parametrize("source", [PAGE_NUMBERS, R_NUMBERS], ids=lambda source: source.name)
def test_the_page_and_r_have_the_levels_of_python(source: Path) -> None:
    (levels,) = re.findall(
        r"^(?:const )?LEVELS (?:=|<-) (?:c\(|\[)([^)\]]*)", source.read_text("utf-8"), flags=re.MULTILINE
    )
    assert sorted(map(float, levels.split(","))) == sorted((*LEVELS, 1.0)), source


SCRIPT = """
import { often, pNumber, probability, shortProbability } from %s;
console.log(%s.flatMap((p) => [1, 3, 6].flatMap((digits) => [pNumber(p, digits), probability(p, Math.log10(p), digits)])
  .concat(shortProbability(p, Math.log10(p), 0.2), often(p, Math.log10(p)))).join("\\n"));
"""


def test_the_page() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed (.ci/clients installs it)")
    script = SCRIPT % (json.dumps(PAGE_NUMBERS.as_uri()), json.dumps(CLOSE))
    written = subprocess.run(
        [node, "--input-type=module"], input=script, capture_output=True, text=True, check=True
    )
    lines = written.stdout.splitlines()
    assert len(lines) == 8 * len(CLOSE)
    judge(written.stdout)
    assert not [line for line in lines if re.search(r"in [51] % of cases", line)]


P_LIKE = r"(?:\bp|\blow|\bhigh|\bleast|bounds|attainable(?:_p)?|p_value|p_adjusted|p_anytime|p_plain)\b"
FORMATTED = re.compile(
    rf"(?<!\w)number\([^()]*{P_LIKE}(?:[^()]|\([^()]*\))*\)|\{{[^{{}}]*{P_LIKE}:[.\w]*[efg]\}}"
)


def test_no_p_value_goes_past_these_functions() -> None:
    """Sources that write a number with a p-value's usual name use the functions above; others are known here."""
    known = {
        ("presentation/numbers.py", "number(p, 1.0, *LEVELS, *landmarks, digits=digits)"),
        ("reports/sentences.py", "number(low, 0.0)"),  # ends of an interval of a difference
        ("reports/sentences.py", "number(high, 0.0)"),
        ("web/page/numbers.js", "number(p, enoughFor(p, digits))"),
        ("web/page/numbers.js", "number(100 * p, enoughFor(p, 3))"),
        ("reports/html.py", "number(record.log10_p_value)"),  # of which no level is a round number
    }
    found = {
        (str(path.relative_to(PACKAGE)), match[0])
        for folder in (
            "inference",
            "reports",
            "client",
            "cli",
            "presentation",
            "mcp_server",
            "service",
            "web/page",
        )
        for path in (PACKAGE / folder).rglob("*.*")
        if path.suffix in {".py", ".js"}
        for match in FORMATTED.finditer(path.read_text(encoding="utf-8"))
    }
    assert found - known == set()
