"""A margin of a ratio over a shared denominator (WER, recall over gold) shifts every item by its share of it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from exactperm.answers.gate import Decision, GateTerms
from exactperm.engine.plan import Budget
from exactperm.inference.gate.gate import Metric, finish_gate, prepare_metric
from exactperm.inference.options import Options
from exactperm.statistics.paired import Counts, Effects, Paired, Pairing, StatisticSpec

WER = StatisticSpec("ratio", {"numerator": "errors", "denominator": "words"})


def decision(data: Paired, spec: StatisticSpec, margin: float, *, higher: bool) -> Decision:
    terms = GateTerms("non_inferior", margin, 0.05, higher)
    prepared = prepare_metric(Metric("m", data, spec, Options(), terms), Budget(10**10, 10**9))
    return finish_gate([prepared], "pass", "1").metrics[0].decision


def listed(effects: list[Fraction], *, at_most: bool) -> float:
    observed = sum(effects)
    sums = [
        sum(s * e for s, e in zip(signs, effects, strict=True))
        for signs in product((1, -1), repeat=len(effects))
    ]
    return sum(total <= observed if at_most else total >= observed for total in sums) / len(sums)


@pytest.mark.parametrize("seed", range(5))
def test_word_error_rate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    words, u, v = rng.integers(1, 20, 11), rng.integers(0, 6, 11), rng.integers(0, 6, 11)
    data = Counts({"errors": u, "words": words}, {"errors": v, "words": words})
    shifted = [int(a - b) - Fraction("0.05") * int(w) for a, b, w in zip(u, v, words, strict=True)]
    assert decision(data, WER, 0.05, higher=False).p_value == pytest.approx(
        listed(shifted, at_most=True), rel=1e-12
    )


def test_word_error_rate_by_call() -> None:
    rng = np.random.default_rng(7)
    words, u, v = rng.integers(1, 20, 24), rng.integers(0, 6, 24), rng.integers(0, 6, 24)
    calls = np.repeat(np.arange(8), 3)
    pairing = Pairing(clusters=calls, n_clusters=8)
    data = Counts({"errors": u, "words": words}, {"errors": v, "words": words}, pairing)
    shifted = [
        int((u - v)[calls == call].sum()) - Fraction("0.1") * int(words[calls == call].sum())
        for call in range(8)
    ]
    assert decision(data, WER, 0.1, higher=False).p_value == pytest.approx(
        listed(shifted, at_most=True), rel=1e-12
    )


def test_recall_over_gold() -> None:
    gold, u, v = np.array([5, 3, 4, 6, 2, 7]), np.array([4, 3, 4, 5, 2, 6]), np.array([5, 2, 4, 6, 1, 7])
    counts: Any = [{"tp": column, "gold": gold} for column in (u, v)]
    shifted = [int(a - b) + Fraction("0.2") * int(g) for a, b, g in zip(u, v, gold, strict=True)]
    found = decision(Counts(*counts), StatisticSpec("recall"), 0.2, higher=True)
    assert found.p_value == pytest.approx(listed(shifted, at_most=False), rel=1e-12)


def test_effects_that_are_their_own_mirror_image() -> None:
    stay = np.array([3, -1, 2, 4, 0, -2, 1])
    shifted = [int(effect) + Fraction(7, 2) / 7 for effect in stay]
    found = decision(Effects(stay), StatisticSpec("expression", {"expression": "x1"}), 3.5, higher=True)
    assert found.p_value == pytest.approx(listed(shifted, at_most=False), rel=1e-12)
