"""Repeated runs of items."""

import json
import statistics
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exactperm.answers.test import TestRecord
from exactperm.engine.plan import Budget
from exactperm.errors import InvalidTest
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.effects import Additive, weights_of
from exactperm.statistics.paired import Repeated, Scores, StatisticSpec
from exactperm.statistics.reducers import reduce
from tests.enumeration import share, signed_sums
from tests.refusals import refused, refused_alone

# Repeated samples are averaged exactly; printed scores go back on the unit they were rounded from.


PACK = Path(__file__).parents[4] / "shared" / "data"
Samples = Sequence[Sequence[float]]


def repeated(items: Samples) -> Repeated:
    return Repeated(np.array([x for item in items for x in item]), np.array([len(item) for item in items]))


def additive(data: Scores, name: str = "mean_difference", **parameters: Any) -> Additive:
    problem = reduce(data, StatisticSpec(name, parameters))
    assert isinstance(problem, Additive)
    return problem


def effects(problem: Additive) -> list[Fraction]:
    return [int(x) * problem.unit for x in problem.stay]


tenths = st.integers(-20, 20).map(lambda x: x / 10)
# Each item has a number of samples of its own, the same in both systems.
ragged = st.lists(st.integers(1, 5), min_size=3, max_size=3).flatmap(
    lambda sizes: st.tuples(
        *(st.tuples(*(st.lists(tenths, min_size=k, max_size=k) for k in sizes)) for _ in "uv")
    )
)


def mean(item: Sequence[float]) -> Fraction:
    return sum((Fraction(repr(x)) for x in item), Fraction(0)) / len(item)


@given(ragged)
@settings(deadline=None, max_examples=150)
def test_ragged_samples_are_averaged_as_fractions(sides: tuple[Samples, Samples]) -> None:
    u, v = sides
    problem = additive(Scores(repeated(u), repeated(v)), "sum_difference")
    truth = [mean(a) - mean(b) for a, b in zip(u, v, strict=True)]
    assert effects(problem) == truth
    assert problem.score_u == sum(map(mean, u))
    assert problem.samples == (sum(map(len, u)), sum(map(len, v)))


def test_equal_means_tie_with_any_samples() -> None:
    # Thirds of 1 and of three parts of it, and 0.1 + 0.2 against 0.3: no double would say so.
    u, v = repeated([[1, 0, 0], [0.1, 0.2]]), repeated([[0.7, 0.2, 0.1], [0.3, 0]])
    assert effects(additive(Scores(u, v))) == [0, 0]


def test_both_systems_have_as_many_samples_of_an_item_and_items_may_differ() -> None:
    problem = additive(Scores(repeated([[1, 0], [1]]), repeated([[1, 1], [0]])))
    assert effects(problem) == [Fraction(-1, 4), Fraction(1, 2)]
    assert problem.samples == (3, 3)


SCORES = ["mean_difference", "sum_difference", "sign", "signed_rank", "median_difference"]


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(
    ("u", "v", "here"),
    [
        ([[1, 0], [1, 1]], [[0, 1], [1]], "1 run here and 2 in"),
        ([[1], [1, 1]], [[0], [1, 1, 1]], "3 runs here and 2 in"),
    ],
)
def test_another_number_of_samples_is_refused(name: str, u: Samples, v: Samples, here: str) -> None:
    """The mean of one run and the mean of ten are not exchangeable, even of the same system."""
    for data in (
        Scores(repeated(u), repeated(v)),
        Scores(repeated(u), repeated(v), weights=weights_of([1, 2])),
    ):
        if data.weights is not None and name not in SCORES[:2]:
            continue
        with pytest.raises(InvalidTest) as refused:
            reduce(data, StatisticSpec(name))
        flaw = refused.value.flaws[0]
        assert (flaw.pointer, flaw.code) == ("/v/1", "unequal_repeats")
        assert here in flaw.detail


def test_single_scores_against_several_samples_are_refused() -> None:
    for u, v in ((repeated([[1, 0], [1]]), np.array([1, 0])), (np.array([1, 0]), repeated([[1, 0], [1]]))):
        with refused(None, "/v/0"):
            reduce(Scores(u, v), StatisticSpec("mean_difference"))
    assert effects(additive(Scores(repeated([[1], [1]]), np.array([1, 0])), "sum_difference")) == [0, 1]


def test_one_score_per_item_records_no_samples() -> None:
    assert additive(Scores(np.array([1, 2]), np.array([2, 2]))).samples is None


def test_signed_ranks_rank_the_exact_means() -> None:
    problem = additive(
        Scores(repeated([[1, 0, 0], [3, 1, 2]]), repeated([[0, 0, 0], [2, 2, 1]])), "signed_rank"
    )
    assert problem.stay.tolist() == [3, 3]


def test_numbers_of_samples_without_a_common_multiple_keep_the_means_to_a_double() -> None:
    sizes = [47, 43, 41, 37, 31, 29, 23, 19, 17, 13, 11, 7, 5, 3]
    u = [[1.0] + [0.0] * (size - 1) for size in sizes]
    v = [[0.0] * size for size in sizes]
    problem = additive(Scores(repeated(u), repeated(v)), "sum_difference")
    for found, size in zip(effects(problem), sizes, strict=True):
        assert float(found) == pytest.approx(1 / size, rel=1e-15)


def test_thirds_printed_with_six_decimals_tie_again() -> None:
    u, v = np.array([-2.333333, 0.666667, 1.0]), np.array([-0.333333, -1.333333, 1.0])
    problem = additive(Scores(u, v), "sum_difference", unit="1/3")
    assert effects(problem) == [-2, 2, 0]
    assert additive(Scores(u, v), "sum_difference").stay.tolist() != problem.stay.tolist()


@pytest.mark.parametrize("unit", ["1/30", "0.5", 0.25, 1, 1e-5])
def test_a_unit_may_be_a_fraction_or_a_number(unit: object) -> None:
    step = Fraction(str(unit))
    values = np.array([float(step * 7), float(step * -2)])
    problem = additive(Scores(values, np.zeros(2)), "sum_difference", unit=unit)
    assert effects(problem) == [7 * step, -2 * step]


def test_a_unit_holds_for_every_sample() -> None:
    u, v = repeated([[0.333333, 0.666667], [1.0]]), repeated([[0.0, 0.0], [0.333333]])
    assert effects(additive(Scores(u, v), "sum_difference", unit="1/3")) == [Fraction(1, 2), Fraction(2, 3)]


@pytest.mark.parametrize(
    ("data", "parameters", "pointer", "code"),
    [
        (Scores(np.array([0.333333, 0.5]), np.zeros(2)), {"unit": "1/3"}, "/u/1", "off_unit"),
        (
            Scores(repeated([[0.0] * 3, [0.0]]), repeated([[0.0, 1.0, 0.5], [1.0]])),
            {"unit": 1},
            "/v/0/2",
            "off_unit",
        ),
        (
            Scores(repeated([[0.0], [1.0, 0.5]]), repeated([[0.0], [0.0] * 2])),
            {"unit": 1},
            "/u/1/1",
            "off_unit",
        ),
        (Scores(np.array([1e300]), np.zeros(1)), {"unit": "1/3"}, "/u/0", "off_unit"),
        (Scores(np.array([1e308]), np.zeros(1)), {"unit": "1/3"}, "/u/0", "off_unit"),
        *(
            (Scores(np.array([1.0]), np.zeros(1)), {"unit": unit}, "/statistic/unit", "not_a_unit")
            for unit in (
                "0",
                "-1",
                "1/0",
                "1e999999999",
                "x",
                "",
                True,
                0,
                float("nan"),
                float("inf"),
                "9" * 50,
                [1],
            )
        ),
        (Scores(repeated([[1.0]]), np.zeros(2)), {}, "/v", "length_mismatch"),
        (Scores(repeated([]), np.zeros(0)), {}, "/u", "empty"),
    ],
)
def test_invalid_tests_are_refused_at_their_place(
    data: Scores, parameters: dict[str, Any], pointer: str, code: str
) -> None:
    with refused(code, pointer):
        reduce(data, StatisticSpec("mean_difference", parameters))


@pytest.mark.pack
def test_real_scores_in_thirds_of_tenths_sum_as_published() -> None:
    scores: dict[str, list[float]] = {}
    for line in (PACK / "mqm/mqm_newstest2020_ende.avg_seg_scores.tsv").read_text().splitlines()[1:]:
        system, score, _ = line.split(" ")
        scores.setdefault(system, []).append(float(score) if score != "None" else np.nan)
    for test in json.loads((PACK / "expected/mqm_newstest2020_ende.json").read_text())["tests"]:
        data = Scores(np.array(scores[test["a"]]), np.array(scores[test["b"]]))
        problem = additive(data, "sum_difference", unit="1/30")
        assert (problem.score_u, problem.score_v) == (
            Fraction(test["sum_a"], 30),
            Fraction(test["sum_b"], 30),
        )
        assert int((problem.stay != 0).sum()) == test["n_nonzero_differences"]
        assert int(np.abs(problem.stay).sum()) == test["sum_abs_difference"]


# Repeated samples per item: right every time, right at least once, and their spread, against plain Python.


def run(
    u: list[list[int]], v: list[list[int]], repeats: str, name: str = "mean_difference", **options: Any
) -> TestRecord:
    data = Scores(repeated(u), repeated(v))
    return run_test(data, StatisticSpec(name, {"repeats": repeats}), Options(pmf="none", **options), Budget())


def two_sided(d: list[Fraction]) -> Fraction:
    return share(signed_sums(d))


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
    record: Any = run(*sides, repeats)
    assert record.p_value == pytest.approx(
        float(two_sided([a - b for a, b in zip(u, v, strict=True)])), rel=1e-12
    )
    assert record.statistic.u == pytest.approx(float(sum(u) / len(u)), rel=1e-12, abs=1e-300)
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
    record: Any = run([[1, 1], [1, 1], [1, 0]], [[1, 0], [0, 0], [1, 1]], "all", confidence_level=0.9)
    assert record.confidence_interval.method == "tango_score"
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
def test_unequal_numbers_of_samples_are_refused_for_any_reduction(repeats: str) -> None:
    with refused_alone("unequal_repeats", "/v/1"):
        run([[1, 0], [1]], [[1, 0], [1, 1]], repeats)


@pytest.mark.parametrize(
    ("u", "v", "pointer", "code"),
    [
        ([[1, 2]], [[0, 1]], "/statistic/repeats", "not_right_or_wrong"),
        ([[1, 100]], [[0, 1]], "/statistic/repeats", "not_right_or_wrong"),
    ],
)
def test_outcomes_that_are_neither_right_nor_wrong_are_refused(
    u: Any, v: Any, pointer: str, code: str
) -> None:
    with refused_alone(code, pointer):
        run(u, v, "all")
    run(u, v, "mean")
