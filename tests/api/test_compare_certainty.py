"""Test that sampled and bracketed p-values are marked in every representation, listed or not."""

import csv
import io
import math
import re
from typing import Any

import numpy as np
import pytest

from exactperm.client.responses import reader_of
from exactperm.client.results import CompareResult

RNG = np.random.default_rng(7)
SCORES = (RNG.random((60, 4)) < [0.8, 0.6, 0.5, 0.3]).astype(int)
# max T of six pairs: raw p-values are exact, some adjusted ones are bracketed, others sampled.
MAX_T = {"systems": ["A", "B", "C", "D"], "scores": SCORES.tolist(), "adjust": "max_t"}
FINE = {"systems": ["A", "B", "C"], "scores": (SCORES[:, :3] + RNG.normal(size=(60, 3))).tolist()}
FORMS = [f"?format={form}" for form in ("text", "markdown", "html", "csv")] + [
    f"?format=svg&picture={picture}" for picture in ("leaderboard", "heatmap", "bars")
]
# A heatmap draws all pairs, and is refused where they are not listed.
LISTED = [
    (form, listed)
    for form in FORMS
    for listed in (["all"] if "heatmap" in form else ["all", "significant", "none"])
]


def answer(service: Any, body: dict[str, Any], query: str = "") -> Any:
    response = service.post(f"/v1/compare{query}", {"kind": "scores", **body})
    assert response.status_code == 200, response.text
    return response


def in_words(text: str) -> str:
    """The visible text: no marks, one blank between words."""
    return " ".join(re.sub(r"<(style|script)\b.*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL).split())


def test_an_adjusted_p_value_is_as_certain_as_its_own_bounds(service: Any) -> None:
    board = answer(service, MAX_T).json()
    assert all(pair["exact"] for pair in board["pairs"])  # the tests
    widths = [high / low - 1 for low, high in (pair["p_adjusted_bounds"] for pair in board["pairs"])]
    sampled = [pair["p_adjusted_bounds_kind"] == "confidence" for pair in board["pairs"]]
    bracketed = [width > 1e-5 and not own for width, own in zip(widths, sampled, strict=True)]
    counts = {
        "exact": 6 - sum(sampled) - sum(bracketed),
        "bracketed": sum(bracketed),
        "sampled": sum(sampled),
    }
    assert min(counts.values()) > 0
    assert board["family"]["certainty"] == counts


@pytest.mark.parametrize(("query", "listed"), LISTED)
def test_a_sampled_adjustment_is_not_called_exact(service: Any, query: str, listed: str) -> None:
    said = in_words(answer(service, {**MAX_T, "pairs": listed}, query).text)
    assert "sampled" in said.replace("max_t_sampled", "")
    assert not re.search(r"pairs, exact\)|All 6 .{0,9}p-values are exact|6 exact", said)


@pytest.mark.parametrize(("method", "kind"), [("bounds", "bracketed"), ("monte_carlo", "sampled")])
@pytest.mark.parametrize(("query", "listed"), LISTED)
def test_every_representation_marks_inexact_p_values(
    service: Any, query: str, method: str, kind: str, listed: str
) -> None:
    body = {**FINE, "method": method, "pairs": listed}
    said = in_words(answer(service, body, query).text)
    assert re.search(rf"3 {kind}|, {kind}\)|{kind}:3", said), said[:400]


def test_each_p_value_in_markdown_shows_its_certainty(service: Any) -> None:
    board = answer(service, MAX_T).json()
    lines = answer(service, MAX_T, "?format=markdown").text.splitlines()
    marked = {cells[2].strip("` "): cells[-2] for line in lines if len(cells := line.split("|")) == 9}
    by_names = {(pair["u"], pair["v"]): pair["p_adjusted_bounds_kind"] for pair in board["pairs"]}
    neighbours = {"A": ("A", "B"), "B": ("B", "C"), "C": ("C", "D")}
    assert (
        {name for name in neighbours if "(sampled)" in marked[name]}
        == {name for name, pair in neighbours.items() if by_names[pair] == "confidence"}
        == {"C"}
    )


def test_both_tables_of_csv_count_unlisted_pairs(service: Any) -> None:
    for table in ("systems", "pairs"):
        text = answer(service, {**MAX_T, "pairs": "significant"}, f"?format=csv&table={table}").text
        assert {row["certainty"] for row in csv.DictReader(io.StringIO(text))} == {
            "exact:2 bracketed:2 sampled:2"
        }


def test_a_notebook_and_a_terminal_say_it(service: Any) -> None:
    result = reader_of(CompareResult)(answer(service, {**MAX_T, "pairs": "none"}))
    assert "2 exact, 2 bracketed, 2 sampled" in str(result)
    assert "2 sampled" in result._repr_html_()
    assert set(result.systems_frame()["certainty"]) == {"exact:2 bracketed:2 sampled:2"}


MANY = 2_500
RIGHT = {"tp": [1] * MANY, "fp": [0] * MANY, "fn": [0] * MANY, "tn": [1] * MANY}
WRONG = {"tp": [0] * MANY, "fp": [1] * MANY, "fn": [1] * MANY, "tn": [0] * MANY}
DEEP = {
    "mcc": ("counts", RIGHT, WRONG, {"name": "mcc"}),
    "kappa": ("counts", RIGHT, WRONG, {"name": "kappa"}),
    "f1": ("counts", RIGHT, WRONG, {"name": "f1"}),
    "mean": ("scores", [1] * MANY, [0] * MANY, {"name": "mean_difference"}),
    "median": ("scores", [1] * MANY, [0] * MANY, {"name": "median_difference"}),
}


@pytest.mark.parametrize("adjust", ["none", "holm"])
@pytest.mark.parametrize("name", DEEP)
def test_a_board_has_p_values_far_below_doubles_as_logarithms(service: Any, name: str, adjust: str) -> None:
    """For systems that are always right and always wrong, only two of all 2 ** N assignments are as extreme; for medians more are."""
    kind, u, v, statistic = DEEP[name]
    systems = {"a": u, "b": v, "c": v}
    body = {
        "kind": kind,
        "systems": systems,
        "statistic": statistic,
        "adjust": adjust,
        "higher_is_better": True,
    }
    response = service.post("/v1/compare", body)
    assert response.status_code == 200, response.text
    pair = next(pair for pair in response.json()["pairs"] if {pair["u"], pair["v"]} == {"a", "b"})
    single = service.post(f"/v1/tests/{kind}", {"u": u, "v": v, "statistic": statistic, "pmf": "none"}).json()
    if name != "median":
        assert single["log10_p_value"] == pytest.approx((1 - MANY) * math.log10(2), rel=1e-9)
    assert pair["log10_p_value"] == pytest.approx(single["log10_p_value"], rel=1e-9)
    assert 0 < pair["p_value"] <= 1
