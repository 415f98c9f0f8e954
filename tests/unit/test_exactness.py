"""Test that statistics documented as exact are exact in answers, not only in plans."""

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from exactperm.engine.plan import Budget
from exactperm.inference.correlation import CorrelationTest
from exactperm.inference.joint import JointTest
from exactperm.inference.options import Options
from exactperm.inference.paired import prepare, run_test
from exactperm.inputs.alignment import coded
from exactperm.service.kinds import TestKind
from exactperm.statistics.catalogue import ENTRIES
from exactperm.statistics.paired import Pairing, Predictions, StatisticSpec
from tests.docs_exactness import BUDGET, SIZES, Row, outcome, rows
from tests.docs_pages import section

ROWS = list(rows())
MEANT = {
    "exact, at thousands of items": {"exact"},
    "exact, though a bracket comes first where that takes long": {"exact", "exact if asked"},
    "exact or bracketed": {"exact", "bracketed"},
    "bracketed, or sampled with a control variate": {"bracketed", "controlled"},
}
# How the README calls the data of a part of a cell, and how the table does.
CALLED = {
    "decimals": "two decimals",
    "real scores": "real scores",
    "two classes": "two classes",
    "many classes": "ten classes",
    "labels": "labels",
    "without ties": "without ties",
    "that tie": "two decimals, gold",
}


def table() -> list[tuple[str, str, str]]:
    """Claims of the README: the words of a row, a statistic, and its data."""
    claims = []
    for words, cell in re.findall(
        r"^\| (\w.*?) \| (.*`.*) \|$", section("README.md", "How exact?"), re.MULTILINE
    ):
        for part in cell.split(";"):
            data = next((of for called, of in CALLED.items() if called in part), "")
            claims += [(words, name, data) for name in re.findall(r"`([^`]+)`", part)]
    return claims


@pytest.mark.parametrize(("words", "statistic", "data"), table())
def test_the_readme_agrees_with_the_table(words: str, statistic: str, data: str) -> None:
    found = [row.outcomes for row in ROWS if row.statistic == statistic and data in row.data]
    assert found
    outcomes = {one for each in found for one in each}
    # In the first row that holds for it: a later one would say too little, and could hardly be wrong.
    assert next(row for row, meant in MEANT.items() if outcomes <= meant) == words


def test_each_row_of_the_readme_claims_something() -> None:
    assert {words for words, _, _ in table()} == set(MEANT)


def test_each_statistic_has_a_row() -> None:
    known = {row.statistic.split()[0] for row in ROWS}
    assert {entry.name for entry in ENTRIES} == known


@pytest.mark.slow
def test_no_statistic_with_a_linear_part_is_sampled_without_it() -> None:
    """Sums and quantiles are never sampled at these sizes."""
    assert {row.statistic for row in ROWS if "sampled" in row.outcomes} == set()


@pytest.mark.parametrize("samples", [1, 200, 20_000, 100_000])
@pytest.mark.parametrize(
    ("kind", "statistic", "data"),
    [
        ("predictions", "f1 macro", "labels of ten classes"),
        ("predictions", "mcc", "labels of ten classes"),
        ("predictions", "precision macro", "labels of ten classes"),
        ("predictions", "kendall", "scores of two decimals, gold of two classes"),
        ("predictions", "spearman", "scores of two decimals, gold of two classes"),
        ("counts", "bleu", "counts of segments"),
        ("counts", "kappa", "counts against a gold of each system"),
    ],
)
def test_samples_of_any_number_have_a_control_variate(
    kind: TestKind, statistic: str, data: str, samples: int
) -> None:
    row = next(one for one in ROWS if (one.kind, one.statistic, one.data) == (kind, statistic, data))
    options = Options(pmf="none", method="monte_carlo", samples=samples)
    test = prepare(row.made(1_000), row.spec, options, BUDGET).test
    assert isinstance(test, JointTest | CorrelationTest)
    assert (test.control if isinstance(test, JointTest) else test.line) is not None


@pytest.mark.slow
def test_exact_on_request_is_exact_and_inside_the_bracket() -> None:
    row = next(row for row in ROWS if row.statistic == "spearman" and row.outcomes[1] == "exact if asked")
    bracketed = run_test(row.made(SIZES[1]), row.spec, Options(pmf="none"), BUDGET)
    exact = run_test(row.made(SIZES[1]), row.spec, Options(pmf="none", method="fft"), BUDGET)
    assert (bracketed.method.exact, exact.method.exact) == (False, True)
    (low, high), p = bracketed.p_value_bounds, exact.p_value
    assert low < p < high <= 1.001 * low


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row.kind}-{row.statistic}-{row.data}".replace(" ", "-")
)
def test_an_answer_for_few_items_follows_its_plan(row: Row) -> None:
    """No exact method lost its certificate, and no bracket is called exact."""
    data = row.made(SIZES[0])
    said = run_test(data, row.spec, Options(pmf="none", samples=200), BUDGET)
    word = {"bounds": "bracketed", "monte_carlo": "sampled"}.get(said.method.name, "exact")
    assert word == outcome(data, row.spec).replace("controlled", "sampled")
    assert said.method.exact == (word == "exact")


@pytest.mark.slow
def test_a_deep_tail_of_kappa_of_ten_classes_is_exact() -> None:
    """Against importance sampling: a window of more than 2**27 cells used to be given up, after seconds."""
    row = next(row for row in ROWS if row.statistic == "kappa" and row.data == "labels of ten classes")
    data = row.made(6_000)
    assert isinstance(data, Predictions)
    exact = run_test(data, row.spec, Options(pmf="none"), BUDGET)
    gold, u, v = (np.array(column) for column in (data.gold, data.u, data.v))
    sizes, n = np.bincount(gold), len(gold)
    right = np.array([u == gold, v == gold]).astype(float)
    chance = np.array([sizes[u], sizes[v]]).astype(float)

    def kappa(hits: Any, expected: Any) -> Any:
        return (n * hits - expected) / (n * n - expected)

    hits, expected = right.sum(axis=1).mean(), chance.sum(axis=1).mean()
    slopes = n / (n * n - expected), n * (hits - n) / (n * n - expected) ** 2
    lean = slopes[0] * (right[0] - right[1]) + slopes[1] * (chance[0] - chance[1])
    theta = brentq(lambda x: (lean * np.tanh(x * lean)).sum() - abs(lean.sum()), 0.0, 1e6)
    source, found = np.random.default_rng(0), []
    observed = kappa(right.sum(axis=1), chance.sum(axis=1))
    for _ in range(20_000):
        first = source.random(n) < expit(2.0 * theta * lean)
        mine, other = (
            kappa(np.where(keep, *right).sum(), np.where(keep, *chance).sum()) for keep in (first, ~first)
        )
        log_ratio = np.log(np.cosh(theta * lean)).sum() - theta * (np.where(first, 1.0, -1.0) * lean).sum()
        found.append(np.exp(log_ratio) * (mine - other >= abs(observed[0] - observed[1]) - 1e-15))
    p, error = 2.0 * np.mean(found), 2.0 * np.std(found) / np.sqrt(len(found))
    assert exact.method.exact
    assert abs(exact.p_value - p) < 5.0 * error < 0.2 * p


# What the documentation says of metrics that are ranked against people: its figures, and what its tests are called.


ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "mtme"
Scores = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def scores(text: str) -> Scores:
    """Of a metric's file, shape (systems, segments), NaN where there is none."""
    by_system: dict[str, list[float]] = {}
    for line in text.splitlines():
        system, score = line.split("\t")
        by_system.setdefault(system, []).append(float("nan") if score == "None" else float(score))
    return np.array(list(by_system.values()))


def test_the_shares_of_pairs_that_are_ordered_and_tied() -> None:
    gold, chrf, ter = (
        scores(gzip.decompress((DATA / f"{name}.seg.score.gz").read_bytes()).decode())
        for name in ("en-de.mqm", "chrF-refA", "TER-refA")
    )
    first, second = np.triu_indices(len(gold), 1)
    order, *orders = (np.sign(one[first] - one[second]) for one in (gold, chrf, ter))
    rated = ~np.isnan(order)
    agreed = [((own == order) & (order != 0))[rated].mean() for own in orders]
    tied = [(own == 0)[rated].mean() for own in (order, orders[1], orders[0])]
    text = (ROOT / "docs" / "rankings.md").read_text(encoding="utf-8")
    sentence = next(line for line in text.split("\n\n") if "orders more pairs as the raters do" in line)
    said = [float(number) for number in re.findall(r"([\d.]+) %", sentence)]
    assert said[:2] == [round(100 * share, 1) for share in agreed]
    assert said[2:] == [round(100 * share) for share in tied]


def _matrices(segments: int) -> list[Any]:
    """Gold, chrF and BLEU of the first segments."""
    texts = [
        (DATA / "small" / f"{name}.seg.score").read_text("utf-8")
        for name in ("en-de.mqm", "chrF-refA", "BLEU-refA")
    ]
    return [scores(text)[:, :segments] for text in texts]


@pytest.mark.parametrize(("method", "segments"), [("PERM-BOTH", 3), ("PERM-INPUTS", 10)])
def test_the_permutations_are_those_of_deutsch_dror_and_roth(method: str, segments: int) -> None:
    """PERM-BOTH exchanges each score of the matrix by itself, PERM-INPUTS all scores of an input (2021)."""
    gold, chrf, bleu = _matrices(segments)
    assert not np.isnan(gold).any()
    system, segment = np.indices(gold.shape)
    codes, n_clusters = coded(segment.ravel().tolist())
    pairing = Pairing(clusters=codes, n_clusters=n_clusters) if method == "PERM-INPUTS" else Pairing()
    groups = coded(system.ravel().tolist())[0]
    data = Predictions(gold.ravel(), chrf.ravel(), bleu.ravel(), pairing, groups)
    said = run_test(
        data, StatisticSpec("kendall", {"scale": "raw", "variant": "a"}), Options(pmf="none"), Budget()
    )
    coins = gold.size if method == "PERM-BOTH" else segments
    swapped = (np.arange(1 << coins)[:, None] >> np.arange(coins) & 1).astype(bool)
    drawn = swapped.reshape(-1, *gold.shape) if method == "PERM-BOTH" else swapped[:, None, :]
    u, v = np.where(drawn, bleu, chrf), np.where(drawn, chrf, bleu)
    i, j = np.triu_indices(segments, 1)
    wanted = np.sign(gold[:, i] - gold[:, j])
    # The difference of concordant less discordant pairs: as many in every system, so that tau's mean is this over a constant.
    moved = sum(
        sign * (np.sign(one[..., i] - one[..., j]) * wanted).sum(axis=(1, 2))
        for sign, one in ((1, u), (-1, v))
    )
    assert said.p_value == pytest.approx((np.abs(moved) >= abs(moved[0])).mean(), rel=1e-12)
