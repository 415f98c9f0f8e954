"""A pair of a board has the answer that a test of the two systems alone has, for every kind of data."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from exactperm.engine.plan import Budget
from exactperm.inference.compare.compare import finish_compare, prepare_compare
from exactperm.inference.compare.comparison import Comparison
from exactperm.inference.compare.general import GeneralPairs
from exactperm.inference.compare.pair_data import pair_data
from exactperm.inference.compare.pairs import plan_pairs
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.statistics.paired import Pairing, Repeated, StatisticSpec
from exactperm.statistics.systems import Systems

RNG = np.random.default_rng(20)
N = 60
LABELS = ("x", "y", "z")
GOLD = [LABELS[i] for i in RNG.integers(0, 3, N)]
WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "bird",
    "sat",
    "on",
    "mat",
    "barks",
    "at",
    "night",
    "in",
    "old",
    "house",
    "and",
    "sings",
]
REFERENCES = [[str(word) for word in RNG.choice(WORDS, 8)] for _ in range(N)]


def _some(kind: str) -> Any:
    """One system's column."""
    if kind == "right":
        return RNG.integers(0, 2, N)
    if kind == "grades":
        return RNG.integers(0, 21, N)
    if kind == "decimals":
        return np.round(RNG.random(N), 3)
    if kind == "reals":
        return RNG.random(N)
    if kind == "repeated":
        return Repeated(RNG.integers(0, 2, 3 * N), np.full(N, 3, dtype=np.int64))
    if kind == "counts":
        return {"tp": RNG.integers(0, 4, N), "fp": RNG.integers(0, 3, N), "fn": RNG.integers(0, 3, N)}
    if kind == "errors":
        return {"errors": RNG.integers(0, 4, N), "words": np.arange(N) % 7 + 3}
    if kind == "labels":
        return [gold if RNG.random() < 0.6 else LABELS[int(RNG.integers(0, 3))] for gold in GOLD]
    kept = RNG.random((N, 8)) < 0.9
    return [
        " ".join(
            word if keep else WORDS[(at + i) % len(WORDS)]
            for i, (word, keep) in enumerate(zip(words, of, strict=True))
        )
        for at, (words, of) in enumerate(zip(REFERENCES, kept.tolist(), strict=True))
    ]


def _systems(kind: str, of: str, clusters: bool = False, missing: bool = False) -> Systems:
    pairing = Pairing(np.arange(N, dtype=np.int64) // 4, N // 4) if clusters else Pairing()
    columns = {name: _some(of) for name in ("a", "b", "c")}
    present = {}
    if missing:
        present = {"b": np.flatnonzero(RNG.random(N) < 0.8)}
        column = columns["b"]
        if isinstance(column, Repeated):
            kept = np.repeat(np.isin(np.arange(N), present["b"]), 3)
            columns["b"] = Repeated(column.values[kept], column.lengths[present["b"]])
        elif isinstance(column, dict):
            columns["b"] = {name: values[present["b"]] for name, values in column.items()}
        elif isinstance(column, list):
            columns["b"] = [column[i] for i in present["b"].tolist()]
        else:
            columns["b"] = column[present["b"]]
    gold: Any = {"labels": GOLD, "texts": [(" ".join(words),) for words in REFERENCES]}.get(of)
    return Systems(kind, columns, gold, pairing, present)  # type: ignore[arg-type]


CASES = [
    ("scores", "right", StatisticSpec("mean_difference")),
    ("scores", "right", StatisticSpec("signed_rank")),
    ("scores", "grades", StatisticSpec("mean_difference")),
    ("scores", "grades", StatisticSpec("sign")),
    ("scores", "decimals", StatisticSpec("sum_difference")),
    ("scores", "decimals", StatisticSpec("mean_difference", {"unit": "0.001"})),
    ("scores", "decimals", StatisticSpec("signed_rank", {"zero_method": "pratt"})),
    ("scores", "decimals", StatisticSpec("median_difference")),
    ("scores", "repeated", StatisticSpec("quantile_difference", {"q": 0.9, "interpolation": "linear"})),
    ("scores", "reals", StatisticSpec("mean_difference")),
    ("scores", "repeated", StatisticSpec("mean_difference")),
    ("counts", "counts", StatisticSpec("f1")),
    ("counts", "errors", StatisticSpec("ratio", {"numerator": "errors", "denominator": "words"})),
    ("predictions", "labels", StatisticSpec("accuracy")),
    ("predictions", "labels", StatisticSpec("exact_match")),
    ("predictions", "labels", StatisticSpec("f1", {"average": "macro"})),
    ("segments", "texts", StatisticSpec("bleu")),
    ("segments", "texts", StatisticSpec("ter")),
]


@pytest.mark.parametrize("layout", [{}, {"missing": True}, {"clusters": True}], ids=str)
@pytest.mark.parametrize(("kind", "of", "spec"), CASES, ids=str)
def test_a_pair_has_the_answer_of_a_single_test(kind: str, of: str, spec: StatisticSpec, layout: Any) -> None:
    if kind == "segments":
        pytest.importorskip("sacrebleu")
    systems = _systems(kind, of, **layout)
    lower = spec.name in {"ratio", "ter"}
    options = Options(pmf="none", higher_is_better=not lower, samples=2_000)
    comparison = Comparison({None: systems}, spec, replace(options, confidence_level=0.9), adjust="none")
    board = finish_compare(prepare_compare(comparison, Budget())).board
    assert board is not None
    assert len(board.pairs) == 3
    for pair in board.pairs:
        data = pair_data(systems, pair.u, pair.v)
        assert data is not None
        alone = run_test(data, spec, replace(options, confidence_level=0.9), Budget())
        assert pair.n == alone.items.n
        assert (pair.wins, pair.ties, pair.losses) == (alone.items.wins, alone.items.ties, alone.items.losses)
        assert pair.difference == pytest.approx(alone.statistic.observed, rel=1e-12, abs=1e-15)
        assert pair.p_value == pytest.approx(alone.p_value, rel=1e-9)
        assert pair.log10_p_value == pytest.approx(alone.log10_p_value, rel=1e-9, abs=1e-12)
        assert pair.p_value_bounds_kind == alone.p_value_bounds_kind
        assert pair.exact == alone.method.exact
        assert pair.min_attainable_p == pytest.approx(alone.min_attainable_p)
        assert pair.confidence_interval == alone.confidence_interval
        if not layout.get("missing"):
            scores = {system.name: system.score for system in board.systems}
            own = (alone.statistic.u, alone.statistic.v)
            if spec.name not in {"sign", "signed_rank"} and None not in own:
                assert [scores[pair.u], scores[pair.v]] == pytest.approx(own)
        better = pair.difference <= 0 if lower else pair.difference >= 0
        assert better or layout.get("missing") or spec.name in {"sign", "signed_rank"}


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
@pytest.mark.parametrize("statistic", ["mean_difference", "signed_rank", "sign"])
@pytest.mark.parametrize("kind", ["grades", "hundredths", "right"])
def test_hundreds_of_items_keep_the_exact_fraction_in_bounds(
    kind: str, statistic: str, alternative: Any
) -> None:
    better = np.linspace(0.0, 5.0, 5)[:, None]
    grades = np.clip(np.rint(np.random.default_rng(3).normal(7.0 + better, 4.0, (5, 300))), 0, 20)
    rows = {
        "grades": grades.astype(np.int64),
        "hundredths": np.round(grades * 0.03, 2),
        "right": (grades > 9).astype(np.int64),
    }[kind]
    systems = Systems("scores", {f"s{at}": row for at, row in enumerate(rows)})
    spec, options = StatisticSpec(statistic), Options(higher_is_better=True, alternative=alternative)
    every = np.array([(u, v) for u in range(5) for v in range(5) if u != v], dtype=np.int64)
    tests = plan_pairs(systems, spec, options, every, Budget()).solve()
    known = GeneralPairs(systems, spec, replace(options, method="rational"), every, Budget()).solve()
    assert known.p.min() < 1e-10
    for at in range(len(every)):
        p = known.fraction(at)
        assert p is not None
        assert Fraction(float(tests.p_low[at])) <= p <= Fraction(float(tests.p_high[at]))
        assert tests.fraction(at) in {p, None}
    np.testing.assert_allclose(tests.p, known.p, rtol=1e-9)
    np.testing.assert_allclose(tests.log10_p, known.log10_p, rtol=1e-9, atol=1e-10)
    assert (tests.log10_low <= known.log10_p).all()
    assert (known.log10_p <= tests.log10_high).all()
