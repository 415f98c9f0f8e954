"""Scores of two classes are exact at thousands of items: the oracle is the law of two independent binomials.

Given gold, the state of a swap is how many of the items on which the systems differ are right in each class, and each of
both is Binomial(n_k, 1/2). So p is a double sum, in doubles here, of no code of the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired_test import prepare, run_test
from exactperm.statistics.paired import Predictions, StatisticSpec

Array = Any  # of NumPy
Score = Callable[
    [Array, Array, int, int], Array
]  # of how many are right of each class, and how many there are


def mcc(tp: Array, tn: Array, positive: int, negative: int) -> Array:
    fp, fn = negative - tn, positive - tp
    return (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tn + fn) * float(positive) * negative)


def macro_f1(tp: Array, tn: Array, positive: int, negative: int) -> Array:
    wrong = positive + negative - tp - tn
    return (2 * tp / (2 * tp + wrong) + 2 * tn / (2 * tn + wrong)) / 2


def weighted_f1(tp: Array, tn: Array, positive: int, negative: int) -> Array:
    wrong, n = positive + negative - tp - tn, positive + negative
    return positive / n * 2 * tp / (2 * tp + wrong) + negative / n * 2 * tn / (2 * tn + wrong)


def kappa(tp: Array, tn: Array, positive: int, negative: int) -> Array:
    said, n = tp + negative - tn, positive + negative
    chance = (said * positive + (n - said) * negative) / n**2
    return ((tp + tn) / n - chance) / (1 - chance)


def g_mean(tp: Array, tn: Array, positive: int, negative: int) -> Array:
    return np.sqrt(tp / positive * (tn / negative))


def by_binomials(gold: Array, u: Array, v: Array, score: Score) -> float:
    """The two-sided p-value."""
    sizes, shared, moving, ahead = [], [], [], []
    for label in (1, 0):
        mask = gold == label
        right_u, right_v = (u == label)[mask], (v == label)[mask]
        sizes.append(int(mask.sum()))
        shared.append(int((right_u & right_v).sum()))
        moving.append(int((right_u != right_v).sum()))
        ahead.append(int((right_u & ~right_v).sum()))
    grid = np.meshgrid(np.arange(moving[0] + 1), np.arange(moving[1] + 1), indexing="ij")
    ours = [grid[k].astype(float) + shared[k] for k in (0, 1)]
    theirs = [moving[k] - grid[k].astype(float) + shared[k] for k in (0, 1)]
    t = np.abs(score(ours[0], ours[1], *sizes) - score(theirs[0], theirs[1], *sizes))
    mass = np.multiply.outer(*(binom.pmf(np.arange(m + 1), m, 0.5) for m in moving))
    return float(mass[t >= t[ahead[0], ahead[1]] - 1e-12].sum())


def labels(n: int) -> tuple[Array, Array, Array]:
    generator = np.random.default_rng(n)
    gold = (generator.random(n) < 0.3).astype(int)
    u, v = (np.where(generator.random(n) < share, gold, 1 - gold) for share in (0.80, 0.785))
    return gold, u, v


CASES: list[tuple[StatisticSpec, Score]] = [
    (StatisticSpec("mcc"), mcc),
    (StatisticSpec("f1", {"average": "macro"}), macro_f1),
    (StatisticSpec("f1", {"average": "weighted"}), weighted_f1),
    (StatisticSpec("kappa"), kappa),
    (StatisticSpec("g_mean", {"positive": 1}), g_mean),
]


@pytest.mark.parametrize("n", [300, 4_000])
@pytest.mark.parametrize(("spec", "score"), CASES, ids=[score.__name__ for _, score in CASES])
def test_it_is_exact_and_the_law_of_two_binomials(spec: StatisticSpec, score: Score, n: int) -> None:
    gold, u, v = labels(n)
    data = Predictions(gold.tolist(), u.tolist(), v.tolist())
    said = run_test(data, spec, Options(pmf="none"), Budget())
    assert said.method.exact
    assert said.p_value == pytest.approx(by_binomials(gold, u, v, score), rel=1e-9)
    assert 1e-9 < said.p_value < 0.99


@pytest.mark.parametrize("spec", [spec for spec, _ in CASES], ids=[score.__name__ for _, score in CASES])
def test_a_hundred_thousand_items_are_planned_exactly(spec: StatisticSpec) -> None:
    gold, u, v = labels(100_000)
    data = Predictions(gold.tolist(), u.tolist(), v.tolist())
    assert prepare(data, spec, Options(pmf="none"), Budget()).test.plan.chosen.method in ("grid", "fft")
