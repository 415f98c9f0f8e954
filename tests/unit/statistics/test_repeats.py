"""Repeated samples per item: right every time, right at least once, and their spread, against plain Python."""

from __future__ import annotations

import statistics
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exactperm.answers.test import TestRecord
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.statistics.paired import Repeated, Scores, StatisticSpec
from tests.refusals import refused_alone


def repeated(samples: list[list[int]]) -> Repeated:
    return Repeated(
        np.array([x for item in samples for x in item]), np.array([len(item) for item in samples])
    )


def run(
    u: list[list[int]], v: list[list[int]], repeats: str, name: str = "mean_difference", **options: Any
) -> TestRecord:
    data = Scores(repeated(u), repeated(v))
    return run_test(data, StatisticSpec(name, {"repeats": repeats}), Options(pmf="none", **options), Budget())


def two_sided(d: list[Fraction]) -> Fraction:
    sums = [
        abs(sum((s * x for s, x in zip(signs, d, strict=True)), Fraction(0)))
        for signs in product((1, -1), repeat=len(d))
    ]
    return Fraction(sum(one >= abs(sum(d, Fraction(0))) for one in sums), len(sums))


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]]]:
    lengths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=8))
    right = draw(st.sampled_from([1, 100]))
    sides = [
        [draw(st.lists(st.sampled_from([0, right]), min_size=k, max_size=k)) for k in lengths] for _ in "uv"
    ]
    return sides[0], sides[1]


ONE: dict[str, Any] = {"mean": lambda item: Fraction(sum(item), len(item)), "all": min, "any": max}


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(runs(), st.sampled_from(["mean", "all", "any"]))
def test_items_are_right_every_time_or_once(
    sides: tuple[list[list[int]], list[list[int]]], repeats: str
) -> None:
    u, v = ([Fraction(ONE[repeats](item)) for item in side] for side in sides)
    record = run(*sides, repeats)
    assert record.p_value == pytest.approx(
        float(two_sided([a - b for a, b in zip(u, v, strict=True)])), rel=1e-12
    )
    assert record.statistic.u == pytest.approx(float(sum(u) / len(u)), rel=1e-12, abs=1e-300)
    assert record.repeats is not None
    assert record.repeats.repeats == repeats
    for side, spread in zip(sides, (record.repeats.u, record.repeats.v), strict=True):
        several = [item for item in side if len(item) > 1]
        assert spread is not None
        assert spread.samples == sum(map(len, side))
        if not several:
            assert (spread.within_item_variance, spread.flip_rate) == (None, None)
            continue
        pooled = sum(statistics.variance(item) * (len(item) - 1) for item in several)
        assert spread.within_item_variance == pytest.approx(
            pooled / sum(len(item) - 1 for item in several), rel=1e-12
        )
        assert spread.flip_rate == pytest.approx(sum(len(set(item)) > 1 for item in several) / len(several))


def test_right_every_time_is_right_or_wrong_with_discordant_items() -> None:
    record = run([[1, 1], [1, 1], [1, 0]], [[1, 0], [0, 0], [1, 1]], "all", confidence_level=0.9)
    assert record.confidence_interval is not None
    assert record.confidence_interval.method == "tango_score"
    assert record.effect_size is not None
    assert record.effect_size.discordant is not None
    assert (record.effect_size.discordant.only_u, record.effect_size.discordant.only_v) == (2, 1)


def test_without_repeated_samples_there_is_no_spread_and_nothing_changes() -> None:
    data = Scores(np.array([1, 0, 1]), np.array([0, 0, 1]))
    records = [
        run_test(data, StatisticSpec("sign", {"repeats": one}), Options(), Budget())
        for one in ("mean", "all")
    ]
    assert [record.repeats for record in records] == [None, None]
    assert records[0].p_value == records[1].p_value


@pytest.mark.parametrize("repeats", ["mean", "all", "any"])
def test_another_number_of_samples_is_refused_whatever_they_become(repeats: str) -> None:
    with refused_alone("unequal_repeats", "/v/1"):
        run([[1, 0], [1]], [[1, 0], [1, 1]], repeats)


@pytest.mark.parametrize(
    ("u", "v", "pointer", "code"),
    [
        ([[1, 2]], [[0, 1]], "/statistic/repeats", "not_right_or_wrong"),
        ([[1, 100]], [[0, 1]], "/statistic/repeats", "not_right_or_wrong"),
    ],
)
def test_what_cannot_be_right_or_wrong_is_refused(u: Any, v: Any, pointer: str, code: str) -> None:
    with refused_alone(code, pointer):
        run(u, v, "all")
    run(u, v, "mean")
