"""The range of the null distribution: that of all swaps where it says so, and never without what was observed."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from exactperm.answers.test import TestRecord
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.statistics.paired import Effects, Predictions, Scores, StatisticSpec
from tests.unit.inference.run_shorthands import clusters

NO_PICTURE = Options(pmf="none")


def labels(
    items: int, seed: int, statistic: str, **parameters: str
) -> tuple[TestRecord, list[str], list[str], list[str]]:
    """U is right more often than V on two classes."""
    random = Random(seed)
    gold = [random.choice("ab") for _ in range(items)]
    u, v = ([one if random.random() < right else random.choice("ab") for one in gold] for right in (0.9, 0.3))
    record = run_test(Predictions(gold, u, v), StatisticSpec(statistic, parameters), NO_PICTURE, Budget())
    return record, gold, u, v


def reachable(gold: list[str], u: list[str], v: list[str]) -> set[tuple[int, int]]:
    """How many of class a U has right, and how often it says a, under any swaps."""
    states = {(0, 0)}
    for one, first, second in zip(gold, u, v, strict=True):
        moves = {(int(one == said == "a"), int(said == "a")) for said in (first, second)}
        states = {(hits + hit, told + tell) for hits, told in states for hit, tell in moves}
    return states


@pytest.mark.parametrize("average", ["binary", "macro"])
@pytest.mark.parametrize(("items", "seed"), [(60, 1), (150, 2), (300, 3)])
def test_two_classes_have_the_range_of_all_swaps(items: int, seed: int, average: str) -> None:
    """The law on a grid leaves out what is unlikely, and what was observed is."""
    parameters = {"average": "macro"} if average == "macro" else {"positive": "a"}
    record, gold, u, v = labels(items, seed, "f1", **parameters)
    of_a = gold.count("a")
    both = (
        sum(one == "a" for one in (*u, *v)),
        sum(one == said == "a" for system in (u, v) for one, said in zip(gold, system, strict=True)),
    )

    def score(hits: int, told: int) -> Fraction:
        first = Fraction(2 * hits, told + of_a)
        if average == "binary":
            return first
        # Of b: all that is not a, on both sides.
        others = items - of_a - told + hits
        return (first + Fraction(2 * others, 2 * items - told - of_a)) / 2

    values = [
        score(hits, told) - score(both[1] - hits, both[0] - told) for hits, told in reachable(gold, u, v)
    ]
    assert record.null.range_exact
    assert record.null.max == pytest.approx(float(max(values)), rel=1e-12)
    assert record.null.min == pytest.approx(float(min(values)), rel=1e-12)
    assert abs(record.statistic.observed) <= record.null.max


@pytest.mark.parametrize("seed", range(6))
def test_quantiles_of_clusters_say_whether_the_range_is_of_all_swaps(seed: int) -> None:
    random = Random(seed)
    units = random.choice([12, 40])
    u = np.array([random.randint(0, 30) for _ in range(3 * units)])
    v = np.minimum(u, np.array([random.randint(0, 30) for _ in range(3 * units)]))
    data = Scores(u, v, clusters([item % units for item in range(3 * units)]))
    record = run_test(data, StatisticSpec("median_difference", {}), NO_PICTURE, Budget())
    assert record.null.range_exact == (units == 12)
    assert record.null.min == -record.null.max <= record.statistic.observed <= record.null.max
    if units == 12:
        swaps = (np.arange(1 << units)[:, None] >> np.arange(units)) & 1 == 1
        each = np.tile(swaps, 3)
        medians = [np.median(np.where(each, *pair), axis=1) for pair in ((v, u), (u, v))]
        assert record.null.max == float((medians[0] - medians[1]).max())


def test_a_size_says_whether_its_least_value_is_known() -> None:
    """|S| of many sums next to zero: which of them can be reached is read off a law with noise."""
    few, many = (Effects(np.arange(1, items + 1) * 2 + 1) for items in (9, 30))
    spec = StatisticSpec("expression", {"expression": "abs(x1)"})
    small, large = (run_test(data, spec, NO_PICTURE, Budget()).null for data in (few, many))
    assert (small.range_exact, large.range_exact) == (True, False)
    sums = {0}
    for effect in range(3, 20, 2):
        sums = {total + sign * effect for total in sums for sign in (1, -1)}
    assert (small.min, small.max) == (min(map(abs, sums)), max(sums))
