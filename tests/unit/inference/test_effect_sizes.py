from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from scipy import stats

from exactperm.answers.test import Discordant, EffectSize, Moved
from exactperm.engine.plan import Budget
from exactperm.inference.digest import request_digest
from exactperm.inference.effect_size import cliffs_delta, cohens_d_z
from exactperm.inference.items import most_moved
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.statistics.paired import Counts, Paired, Pairing, Predictions, Scores, StatisticSpec
from tests.unit.inference.run_shorthands import clusters, column, score

LEVEL = Options(confidence_level=0.95)
VALUES = st.lists(st.integers(-5, 5), min_size=2, max_size=30)


def sizes(u: Any, v: Any, statistic: str = "mean_difference", **asked: Any) -> EffectSize:
    found = score(u, v, statistic, confidence_level=0.95, **asked).effect_size
    assert found is not None
    return found


def moved_of(data: Paired, statistic: str, **parameters: Any) -> Moved:
    found = run_test(data, StatisticSpec(statistic, parameters), LEVEL, Budget()).moved
    assert found is not None
    return found


@given(VALUES)
def test_d_z_is_the_one_sample_t_over_the_root_of_n(values: list[int]) -> None:
    d_z = cohens_d_z(np.array(values))
    if len(set(values)) == 1:
        assert d_z is None
        return
    t = stats.ttest_1samp(values, 0.0).statistic
    assert d_z == pytest.approx(t / math.sqrt(len(values)), abs=1e-12)


def test_d_z_is_of_the_units_that_swap() -> None:
    u, v = [4, 2, 6, 1, 9, 3], [1, 1, 2, 3, 4, 4]
    together = sizes(u, v, codes=[0, 0, 1, 1, 2, 2])
    differences = np.array([4, 2, 4])
    assert together.cohens_d_z == pytest.approx(differences.mean() / differences.std(ddof=1))
    assert sizes(u, v, "signed_rank").cohens_d_z == sizes(u, v).cohens_d_z == sizes(u, v, "sign").cohens_d_z
    assert sizes([1.5], [0.5]).cohens_d_z is None


SHIFTS = st.sampled_from([1, 2.5, 0.1, 1e-3, 1e15, 1 / 3])
FRACTIONS = st.sampled_from([1, 3, 7, 100, 1000, 8191])


@given(st.lists(st.integers(1, 9999), min_size=2, max_size=12), FRACTIONS, SHIFTS, st.booleans())
@example([91, 56], 100, 1, False)
def test_a_constant_shift_computed_in_doubles_has_no_d_z(
    values: list[int], below: int, shift: float, grouped: bool
) -> None:
    v = [value / below for value in values]
    u = [value + shift for value in v]
    codes = [place // 2 for place in range(len(v))] if grouped and len(v) % 2 == 0 else None
    assert sizes(u, v, codes=codes).cohens_d_z is None


@given(st.lists(st.integers(-99, 99), min_size=3, max_size=12, unique=True), st.sampled_from([1, 10, 1000]))
def test_d_z_of_decimals_is_that_of_their_fractions(values: list[int], below: int) -> None:
    mean = Fraction(sum(values), len(values))
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    u = [round(3 + value / below, 3) for value in values]
    assert sizes(u, [3.0] * len(u)).cohens_d_z == pytest.approx(
        float(mean) / math.sqrt(variance), rel=1e-13, abs=1e-300
    )


def test_d_z_of_large_whole_numbers_is_exact() -> None:
    assert sizes([10**17 + 1, 10**17 + 3], [10**17, 10**17]).cohens_d_z == pytest.approx(math.sqrt(2))
    assert sizes([1e15 + 1, 1e15 + 3], [1e15, 1e15]).cohens_d_z == pytest.approx(math.sqrt(2))


@given(VALUES, VALUES)
def test_cliffs_delta_is_the_mann_whitney_u_on_another_scale(u: list[int], v: list[int]) -> None:
    found = cliffs_delta(np.array(u), np.array(v))
    mann_whitney = stats.mannwhitneyu(u, v).statistic
    assert found == pytest.approx(2 * mann_whitney / (len(u) * len(v)) - 1, abs=1e-12)


def test_cliffs_delta_is_of_scores_only() -> None:
    assert sizes([3, 4, 5], [0, 1, 2]).cliffs_delta == 1.0
    assert sizes([0, 1, 2], [3, 4, 5]).cliffs_delta == -1.0
    data = Predictions(["a", "b", "c"], ["a", "b", "x"], ["a", "x", "x"])
    record = run_test(data, StatisticSpec("accuracy"), LEVEL, Budget())
    assert record.effect_size is not None
    assert record.effect_size.cliffs_delta is None
    found = record.effect_size.discordant
    assert found is not None
    assert found == Discordant(1, 0, None, found.odds_low, None)
    assert found.odds_low == pytest.approx(0.025 / 0.975)


def test_discordant_odds_have_the_exact_interval_of_their_proportion() -> None:
    found = sizes([1] * 9 + [0] * 4 + [1] * 7, [0] * 9 + [1] * 4 + [1] * 7).discordant
    assert found is not None
    assert (found.only_u, found.only_v, found.odds) == (9, 4, 2.25)
    proportion = stats.binomtest(9, 13).proportion_ci(0.95, "exact")
    expected = [end / (1 - end) for end in (proportion.low, proportion.high)]
    assert [found.odds_low, found.odds_high] == pytest.approx(expected, rel=1e-9)
    assert sizes([1, 0, 1, 1], [1, 0, 1, 1]).discordant is None
    none = sizes([0, 0, 1, 0], [1, 0, 1, 1]).discordant
    assert none is not None
    assert none == Discordant(0, 2, 0.0, 0.0, none.odds_high)
    assert none.odds_high == pytest.approx(highest_odds(2))
    assert sizes([0.5, 0.25, 1.0], [1.0, 0.0, 1.0]).discordant is None


def highest_odds(trials: int) -> float:
    high = stats.binomtest(0, trials).proportion_ci(0.95, "exact").high
    return float(high / (1 - high))


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=40))
def test_the_ten_that_moved_most_are_those_of_a_plain_sort(values: list[int]) -> None:
    found = most_moved(np.array(values), Pairing())
    ranked = sorted((place for place, d in enumerate(values) if d), key=lambda place: -abs(values[place]))
    first = ranked[:10]
    assert found.toward_u == tuple(str(place) for place in first if values[place] > 0)
    assert found.toward_v == tuple(str(place) for place in first if values[place] < 0)


def test_items_that_moved_are_named_by_their_ids_and_counted_before_clustering() -> None:
    pairing = Pairing(column([0, 0, 1, 1]).astype(np.int64), 2, ids=["a", "b", 7, "d"])
    data = Scores(column([5, 1, 2, 2]), column([1, 6, 2, 1]), pairing)
    assert moved_of(data, "mean_difference") == Moved(toward_u=("a", "d"), toward_v=("b",))
    assert moved_of(data, "signed_rank") == Moved(toward_u=("a", "d"), toward_v=("b",))


def test_items_of_every_kind_are_ranked_by_what_they_say() -> None:
    gold = [["a", "b", "c"], ["a", "b"], ["a"]]
    u, v = [["a", "b", "c"], ["x", "x"], ["a"]], [["a", "x", "x"], ["a", "x"], ["a"]]
    assert moved_of(Predictions(gold, u, v), "token_accuracy") == Moved(("0",), ("1",))
    grouped = Predictions(gold, u, v, clusters([0, 0, 1]))
    assert moved_of(grouped, "exact_match") == Moved(("0",), ())
    counts = Counts(
        {"tp": column([8, 3, 7]), "incorrect": column([0, 3, 1])},
        {"tp": column([6, 5, 7]), "incorrect": column([1, 2, 1])},
    )
    # F1 of the items' own counts: 1 against 12/13, 2/3 against 5/6, and equal; the second moved more.
    assert moved_of(counts, "f1") == Moved(("0",), ("1",))
    same = Scores(column([1, 2]), column([1, 2]))
    assert moved_of(same, "mean_difference") == Moved((), ())


def test_ids_are_part_of_the_identity_only_where_the_answer_names_them() -> None:
    def digest(ids: list[str], **asked: Any) -> str:
        data = Scores(column([5, 1, 2]), column([1, 6, 2]), Pairing(ids=ids))
        options = Options(pmf="none", **asked)
        return run_test(data, StatisticSpec("mean_difference"), options, Budget()).digest

    assert digest(["a", "b", "c"]) == digest(["x", "y", "z"])
    named = digest(["a", "b", "c"], confidence_level=0.95)
    assert named != digest(["x", "b", "c"], confidence_level=0.95)
    assert named == digest(["a", "b", "unmoved"], confidence_level=0.95)
    assert named != digest(["a", "b", "c"])


def test_a_digest_without_items_that_moved_is_what_it_was() -> None:
    data, spec = Scores(column([1, 2]), column([0, 5])), StatisticSpec("mean_difference")
    assert request_digest(data, spec, Options(), "1") == request_digest(data, spec, Options(), "1", None)
    assert request_digest(data, spec, Options(), "1") != request_digest(
        data, spec, Options(), "1", Moved((), ())
    )
