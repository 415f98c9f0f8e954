"""The tests of a board's pairs are the exact ones: against all 2**n exchanges, in fractions."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from exactperm.engine.plan import Budget
from exactperm.inference.compare.binary import BinaryPairs
from exactperm.inference.compare.general import GeneralPairs
from exactperm.inference.compare.integer_pairs import IntegerPairs
from exactperm.inference.compare.pair_tests import PairTests
from exactperm.inference.compare.pairs import plan_pairs
from exactperm.inference.options import Options
from exactperm.statistics.paired import StatisticSpec
from exactperm.statistics.systems import Systems

from .pair_shorthands import STATISTICS, Exchanged, every_pair, pairs_of, systems_of

N = 7
BINARY = [[0, 1, 1, 0, 1, 1, 1], [1, 1, 0, 0, 1, 0, 0], [0, 1, 1, 0, 1, 1, 1], [0] * N]
HALVES = [[0.2 if x else 0.7 for x in column] for column in BINARY]
GRADES = [[3, 0, 2, 5, 1, 1, 4], [0, 0, 1, 5, 2, 0, 0], [3, 0, 2, 5, 1, 1, 4]]
TENTHS = [[0.1, 0.3, 0.2, 1.5, 0.1, 0.7, 0.4], [0.2, 0.1, 0.5, 0.3, 0.1, 0.2, 0.3]]
CLUSTERS = [0, 0, 1, 2, 2, 3, 4]
SINGLES = list(range(N))


def require_exact(tests: PairTests, systems: Systems, statistic: str, options: dict[str, Any]) -> None:
    higher, alternative = options.get("higher_is_better", True), options.get("alternative", "two-sided")
    assert len(tests) == len(pairs_of(systems))
    for i, (u, v) in enumerate(pairs_of(systems).tolist()):
        known = Exchanged(systems, STATISTICS[statistic], u, v)
        p = known.p(alternative, higher_is_better=higher)
        assert (tests.u[i], tests.v[i], tests.n[i]) == (u, v, known.n)
        assert tests.difference[i] == float(known.observed)
        better = known.observed if higher else -known.observed
        assert tests.sign[i] == (better > 0) - (better < 0)
        assert Fraction(float(tests.p_low[i])) <= p <= Fraction(float(tests.p_high[i]))
        assert tests.p[i] == pytest.approx(float(p), rel=1e-12)
        assert tests.log10_low[i] <= math.log10(p) <= tests.log10_high[i]
        assert tests.log10_high[i] - tests.log10_low[i] < 1e-9
        assert tests.fraction(i) in {p, None}
        assert 10.0 ** tests.attainable[i] == pytest.approx(
            float(known.attainable(alternative, higher_is_better=higher)[0])
        )
        assert tests.exact[i]
        assert not tests.sampled[i]


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("statistic", ["mean_difference", "sum_difference", "sign"])
@pytest.mark.parametrize("columns", [BINARY, HALVES], ids=["zero or one", "two decimals"])
def test_right_or_wrong(columns: Any, statistic: str, missing: float, higher: bool, alternative: Any) -> None:
    systems, options = (
        systems_of(columns, missing=missing),
        {"higher_is_better": higher, "alternative": alternative},
    )
    plan = plan_pairs(systems, StatisticSpec(statistic), Options(**options), pairs_of(systems), Budget())
    assert isinstance(plan, BinaryPairs)
    tests = plan.solve()
    require_exact(tests, systems, statistic, options)
    assert all(tests.fraction(i) is not None for i in range(len(tests)))


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize(("clusters", "missing"), [(None, 0.0), (None, 0.3), (CLUSTERS, 0.0)])
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("columns", [GRADES, TENTHS], ids=["grades", "tenths"])
def test_scores_on_a_lattice(
    columns: Any, statistic: str, clusters: Any, missing: float, higher: bool, alternative: Any
) -> None:
    systems = systems_of(columns, clusters, missing=missing)
    options = {"higher_is_better": higher, "alternative": alternative}
    plan = plan_pairs(systems, StatisticSpec(statistic), Options(**options), pairs_of(systems), Budget())
    assert isinstance(plan, IntegerPairs)
    require_exact(plan.solve(), systems, statistic, options)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize(("clusters", "missing"), [(CLUSTERS, 0.0), (CLUSTERS, 0.3), (SINGLES, 0.0)])
def test_one_by_one(statistic: str, clusters: Any, missing: float) -> None:
    systems = systems_of(TENTHS, clusters, missing=missing)
    plan = GeneralPairs(systems, StatisticSpec(statistic), Options(), pairs_of(systems), Budget())
    require_exact(plan.solve(), systems, statistic, {})


def test_clusters_of_right_or_wrong_swap_as_a_whole() -> None:
    systems = systems_of(BINARY, CLUSTERS)
    require_exact(every_pair(systems), systems, "mean_difference", {})


def test_clusters_of_single_items_are_none() -> None:
    alone, single = systems_of(BINARY), systems_of(BINARY, SINGLES)
    assert every_pair(single).method == every_pair(alone).method == ("binomial",) * 12
    require_exact(every_pair(single), single, "mean_difference", {})


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("listed", [True, False])
def test_attainable_p_values_of_right_or_wrong(alternative: Any, listed: bool, monkeypatch: Any) -> None:
    systems = systems_of(BINARY)
    tests = every_pair(systems, alternative=alternative)
    draw = random.Random(1)
    if not listed:
        monkeypatch.setattr("exactperm.inference.compare.binomial_values._MOST_LISTED", -1)
    for i, (u, v) in enumerate(pairs_of(systems).tolist()):
        known = Exchanged(systems, STATISTICS["mean_difference"], u, v).attainable(alternative)
        assert tests.attained is not None
        assert tests.support is not None
        assert tests.support(i) == (known if listed else None)
        for x in [*known, *(Fraction(draw.random()) for _ in range(20)), Fraction(1, 1 << 40)]:
            assert tests.attained(i, x) == max((p for p in known if p <= x), default=Fraction(0))


def test_the_same_null_has_the_same_key() -> None:
    tests = every_pair(systems_of(BINARY))
    assert tests.null_key is not None
    differ = tests.wins + tests.losses
    for i in range(len(tests)):
        for j in range(len(tests)):
            assert (tests.null_key(i) == tests.null_key(j)) == (differ[i] == differ[j])


def test_nothing_in_common_decides_nothing() -> None:
    halves = {"a": np.array([0, 2, 3], dtype=np.int64), "b": np.array([1, 4, 5], dtype=np.int64)}
    for values in ([1, 0, 1], [3, 0, 7], [0.1, 0.25, 1 / 3]):
        systems = Systems("scores", {name: np.array(values) for name in halves}, present=halves)
        tests = every_pair(systems)
        assert tests.n.tolist() == [0, 0]
        assert tests.p.tolist() == tests.p_low.tolist() == [1.0, 1.0]
        assert tests.attainable.tolist() == [0.0, 0.0]
        assert [tests.fraction(i) for i in range(2)] == [1, 1]


@pytest.mark.parametrize("alternative", ["two-sided", "less"])
@pytest.mark.parametrize("clusters", [None, CLUSTERS])
@pytest.mark.parametrize("statistic", ["mean_difference", "signed_rank"])
def test_attainable_p_values_on_a_lattice(statistic: str, clusters: Any, alternative: Any) -> None:
    systems, pairs = systems_of(GRADES, clusters), pairs_of(systems_of(GRADES))
    options = Options(alternative=alternative)
    plan = plan_pairs(systems, StatisticSpec(statistic), options, pairs, Budget(), with_nulls=True)
    tests = plan.solve()
    assert tests.support is not None
    assert tests.attained is not None
    for i, (u, v) in enumerate(pairs.tolist()):
        known = Exchanged(systems, STATISTICS[statistic], u, v)
        values = known.attainable(alternative)
        assert list(tests.support(i)) == values  # type: ignore[arg-type]
        assert tests.fraction(i) == known.p(alternative)
        for x in [*values, Fraction(1, 3), Fraction(1, 1 << 40)]:
            assert tests.attained(i, x) == max((p for p in values if p <= x), default=Fraction(0))


def counted(effects: list[int]) -> Fraction:
    """The two-sided p-value of a sum of signed integers, by a product of 1 + x**w with x = 2**64 in one whole number."""
    sizes, product_ = [abs(effect) for effect in effects if effect], 1
    for size in sizes:
        product_ += product_ << (64 * size)
    ways = np.frombuffer(product_.to_bytes(8 * (sum(sizes) + 1), "little"), dtype="<u8")
    reached = np.abs(2 * np.arange(len(ways)) - sum(sizes)) >= abs(sum(effects))
    return Fraction(int(ways[reached].astype(object).sum()), 2 ** len(sizes))


@pytest.mark.parametrize("digits", [1, 2])
def test_clusters_of_decimals_are_planned_like_single_tests_and_are_exact(digits: int) -> None:
    """Of a few dozen units nearly all frequencies of the transform count: it was taken for short, and was not."""
    rng = np.random.default_rng(digits)
    items, units, scale = 240, 48, 10**digits
    hard = rng.normal(70, 15, items)
    whole = [np.rint(scale * (hard + rng.normal(0.4 * k, 8, items))).astype(np.int64) for k in range(4)]
    clusters = (np.arange(items) % units).tolist()
    systems = systems_of([column / scale for column in whole], clusters)
    planned = plan_pairs(systems, StatisticSpec("mean_difference"), Options(), pairs_of(systems), Budget())
    assert planned.seconds < 1.0  # predicted, of twelve pairs
    tests = planned.solve()
    for u, v, p, low, high in zip(tests.u, tests.v, tests.p, tests.p_low, tests.p_high, strict=True):
        summed = np.zeros(units, dtype=np.int64)
        np.add.at(summed, clusters, whole[u] - whole[v])
        true = counted(summed.tolist())
        assert low <= true <= high
        assert float(true) == pytest.approx(p, rel=1e-9)
