"""Rank correlations of tied scores against SciPy's own functions under all swaps, and samples of them against all swaps."""

from __future__ import annotations

import itertools
import warnings
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from exactperm.answers.test import Alternative, TestRecord
from exactperm.engine.plan import Budget
from exactperm.engine.quantiles.swaps import random_swaps
from exactperm.errors import InvalidTest
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.statistics.paired import Pairing, Predictions, StatisticSpec

ALTERNATIVES: tuple[Alternative, ...] = ("two-sided", "greater", "less")
SCORES: dict[str, tuple[dict[str, Any], Any]] = {
    "spearman": ({}, stats.spearmanr),
    "kendall": ({}, stats.kendalltau),
    "kendall c": ({"variant": "c"}, partial(stats.kendalltau, variant="c")),
}


def score(name: str, system: Any, gold: Any) -> float:
    """SciPy's value; 0 where it has none, as all scores tie."""
    return _score(name, tuple(np.asarray(system).tolist()), tuple(np.asarray(gold).tolist()))


@cache
def _score(name: str, system: tuple[float, ...], gold: tuple[float, ...]) -> float:
    """Kept, as V of a swap is U of the opposite one, and swaps of ties are alike."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = float(SCORES[name][1](system, gold).statistic)
    return 0.0 if np.isnan(value) else value


def answered(name: str, gold: Any, u: Any, v: Any, codes: Any = None, **given: Any) -> TestRecord:
    pairing = Pairing() if codes is None else Pairing(clusters=codes, n_clusters=int(codes.max()) + 1)
    spec = StatisticSpec(name.split(maxsplit=1)[0], {**SCORES[name][0], "scale": given.pop("scale", "ranks")})
    return run_test(Predictions(gold, u, v, pairing), spec, Options(**{"pmf": "none", **given}), Budget())


def swapped_scores(name: str, gold: Any, u: Any, v: Any, codes: Any) -> list[float]:
    """The difference under all swaps; the first is as observed."""
    found = []
    for choice in itertools.product((False, True), repeat=int(codes.max()) + 1):
        swaps = np.array(choice)[codes]
        found.append(score(name, np.where(swaps, v, u), gold) - score(name, np.where(swaps, u, v), gold))
    return found


@pytest.mark.parametrize("scale", ["ranks", "raw"])
@pytest.mark.parametrize("name", SCORES)
def test_p_is_that_of_scipy_s_function_under_all_swaps(name: str, scale: str) -> None:
    source = np.random.default_rng(len(name) + len(scale))
    for case in range(24):
        n = int(source.integers(4, 7))
        gold = np.append(source.integers(0, 5, n - 2), [0, 1])
        u, v = (source.integers(0, source.integers(2, n), n) for _ in range(2))
        codes = np.unique(source.integers(0, 5, n), return_inverse=True)[1] if case % 3 == 0 else np.arange(n)
        one, other = (u, v) if scale == "raw" else (stats.rankdata(u), stats.rankdata(v))
        values = np.array(swapped_scores(name, gold, one, other, codes))
        for side in ALTERNATIVES:
            extreme = {
                "two-sided": abs(values) >= abs(values[0]) - 1e-9,
                "greater": values >= values[0] - 1e-9,
            }
            share = extreme.get(side, values <= values[0] + 1e-9).mean()
            said = answered(name, gold, u, v, codes if case % 3 == 0 else None, scale=scale, alternative=side)
            assert said.method.exact
            assert said.p_value == pytest.approx(share, rel=1e-12)
            assert (said.statistic.u, said.statistic.v) == pytest.approx(
                (score(name, u, gold), score(name, v, gold)), abs=1e-12
            )


@pytest.mark.parametrize("name", SCORES)
def test_the_interval_of_samples_holds_the_p_of_all_swaps(name: str) -> None:
    """Of systems with like ties, and of a judge of two grades beside a fine metric."""
    source = np.random.default_rng(3)
    for grades in (2, 5, 14):
        gold = np.arange(14) // (1 + grades % 2)
        fine = gold + source.integers(-4, 5, 14)
        coarse = (gold + source.integers(-4, 5, 14)) * grades // 14
        exact = answered(name, gold, fine, coarse, method="enumeration")
        sampled = answered(name, gold, fine, coarse, method="monte_carlo", samples=2_000)
        low, high = sampled.p_value_bounds
        assert low <= exact.p_value <= high
        assert sampled.method.monte_carlo is not None
        assert sampled.method.monte_carlo.control == "midpoint"
        assert exact.statistic == sampled.statistic


@pytest.mark.parametrize("name", ["spearman", "kendall"])
def test_scores_without_ties_are_one_sum(name: str) -> None:
    source = np.random.default_rng(0)
    gold, u, v = source.integers(0, 9, 300), source.normal(size=300), source.normal(size=300)
    said = answered(name, gold, u, v, method="fft")
    assert said.method.exact
    assert (said.statistic.u, said.statistic.v) == pytest.approx(
        (score(name, u, gold), score(name, v, gold)), abs=1e-12
    )


def test_a_reversed_order_of_equal_size_ties_with_the_observed_one() -> None:
    """Roots of unlike ties that agree: swapping everything is as extreme, and no rounding may leave it out."""
    said = answered(
        "spearman", np.array([5, 4, 3, 2, 1]), np.array([1, 1, 1, 1, 2]), np.array([1, 2, 2, 2, 2])
    )
    assert said.statistic.observed == 0.0
    assert said.p_value == 1.0


def test_a_sum_over_groups_of_tau_c_is_refused() -> None:
    column: Any = np.array([1, 2, 1, 2])
    data = Predictions(column, column, column, Pairing(), np.array([0, 0, 1, 1]))
    spec = StatisticSpec("kendall", {"variant": "c", "group_average": "sum"})
    with pytest.raises(InvalidTest) as refused:
        run_test(data, spec, Options(), Budget())
    flaw = refused.value.flaws[0]
    assert (flaw.pointer, flaw.code) == ("/statistic/group_average", "not_available")


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("others", [False, True])
def test_scores_that_tie_throughout_count_as_zero_though_no_swap_changes_them(
    name: str, others: bool
) -> None:
    """A group where both systems are constant, by itself or beside one where they are not."""
    gold: Any = np.array([2, 1, 3, 1, 2, 3])
    u: Any = np.array([1, 1, 1, 2, 3, 4])
    v: Any = np.array([1, 1, 1, 6, 7, 5])
    groups = np.array([0, 0, 0, 1, 1, 1])
    if not others:
        gold, u, v, groups = gold[:3], u[:3], v[:3], groups[:3]
    spec = StatisticSpec(name.split(maxsplit=1)[0], {**SCORES[name][0], "scale": "raw"})
    said = run_test(Predictions(gold, u, v, Pairing(), groups), spec, Options(), Budget())
    own = [groups == code for code in np.unique(groups)]
    wanted = [np.mean([score(name, system[part], gold[part]) for part in own]) for system in (u, v)]
    assert (said.statistic.u, said.statistic.v) == pytest.approx(wanted, abs=1e-15)
    assert said.p_value == (0.5 if others else 1.0)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("name", ["spearman", "kendall"])
def test_sampled_swaps_are_counted_as_scipy_s_function_counts_them(name: str, clustered: bool) -> None:
    """Of fine scores, of grades, and of one beside the other, in three groups whose items come in turn."""
    source = np.random.default_rng(17)
    n, samples = 60, 100
    for grades, others in ((90, 70), (30, 4), (3, 4)):
        quality = source.normal(size=n)
        gold: Any = np.floor(4 * quality).astype(int)
        u: Any = np.argsort(np.argsort(quality + source.normal(size=n))) * grades // n
        v: Any = np.argsort(np.argsort(quality + source.normal(size=n))) * others // n
        v = v + (u == v)
        codes = np.unique(source.integers(0, 20, n), return_inverse=True)[1] if clustered else np.arange(n)
        count, groups = int(codes.max()) + 1, np.arange(n) % 3
        pairing = Pairing(clusters=codes, n_clusters=count) if clustered else Pairing()
        data = Predictions(gold, u, v, pairing, groups)
        options = Options(method="monte_carlo", samples=samples, seed=5, pmf="none")
        answer = run_test(data, StatisticSpec(name, {"scale": "raw"}), options, Budget())
        drawn = np.concatenate(list(random_swaps(count, 64, samples, 5)))[:, codes]
        values = []
        for row in np.concatenate([np.zeros((1, n), dtype=bool), drawn]):
            first, second = np.where(row, v, u), np.where(row, u, v)
            parts = [(first[g::3], second[g::3], gold[g::3]) for g in range(3)]
            values.append(sum(score(name, one, y) - score(name, other, y) for one, other, y in parts))
        extreme = sum(abs(value) >= abs(values[0]) - 1e-9 for value in values[1:])
        assert answer.items.nonzero == count
        assert answer.method.monte_carlo is not None
        assert answer.method.monte_carlo.exceedances == extreme


def test_tau_b_of_two_metrics_of_many_segments_is_planned_for_a_second() -> None:
    """Tables of all pairs of 13 systems would take long for every swap; sums decide on nearly all swaps."""
    source = np.random.default_rng(0)
    groups = np.repeat(np.arange(13), 529)
    quality = source.normal(size=len(groups))
    gold: Any = np.floor(6 * quality).astype(int)
    u: Any = np.round(quality + source.normal(size=len(groups)), 2)
    v: Any = np.round(quality + source.normal(size=len(groups)), 2)
    data = Predictions(gold, u, v, Pairing(), groups)
    answer = run_test(data, StatisticSpec("kendall", {}), Options(samples=20_000), Budget(operations=10**9))
    assert answer.method.monte_carlo is not None
    assert answer.method.monte_carlo.samples == 20_000


@pytest.mark.parametrize("name", ["spearman", "kendall"])
def test_p_of_small_groups_that_may_be_constant_is_that_of_all_swaps(name: str) -> None:
    """Swaps make all scores of a group tie in one system, whose value is 0 then."""
    source = np.random.default_rng(1)
    for _ in range(30):
        gold: Any = np.append(source.integers(0, 3, 3), [0, 1, 2])
        u: Any = source.integers(0, 2, 6)
        v: Any = source.integers(0, 3, 6)
        groups = np.array([0, 1, 0, 1, 0, 1])
        data = Predictions(gold, u, v, Pairing(), groups)
        answer = run_test(data, StatisticSpec(name, {"scale": "raw"}), Options(pmf="none"), Budget())
        values = []
        for choice in itertools.product((False, True), repeat=6):
            systems = np.where(choice, v, u), np.where(choice, u, v)
            one, other = (sum(score(name, x[g::2], gold[g::2]) for g in range(2)) for x in systems)
            values.append(abs(one - other))
        assert answer.p_value == pytest.approx(np.mean(np.array(values) >= values[0] - 1e-9), rel=1e-12)
