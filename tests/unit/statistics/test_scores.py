"""What each statistic of scores adds up, in exact units, and what the systems' own scores are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from exactperm.statistics.additive_problem import Additive
from exactperm.statistics.catalogue import STATISTICS
from exactperm.statistics.numbers import on_lattice
from exactperm.statistics.paired import Effects, Pairing, Predictions, Scores, StatisticSpec
from exactperm.statistics.reducers import reduce
from exactperm.statistics.scores import doubled_midranks, reduce_scores
from tests.refusals import refused_alone

pairs = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=1, max_size=30)
Rows = list[tuple[int, int]]


def reduced(rows: Rows, name: str, places: int = 0, **parameters: str) -> Additive:
    u, v = ([float(f"{row[side]}e-{places}") for row in rows] for side in (0, 1))
    return reduce_scores(Scores(np.array(u), np.array(v)), StatisticSpec(name, parameters))


@pytest.mark.parametrize("name", ["mean_difference", "sum_difference"])
@given(rows=pairs, places=st.integers(0, 4))
def test_a_difference_is_that_of_the_exact_decimals(name: str, rows: Rows, places: int) -> None:
    problem = reduced(rows, name, places)
    divisor = 10**places * (len(rows) if name == "mean_difference" else 1)
    for side, reported in ((0, problem.score_u), (1, problem.score_v)):
        assert reported == Fraction(sum(row[side] for row in rows), divisor)
    assert problem.score_u is not None
    assert problem.score_v is not None
    assert problem.unit * int(problem.stay.sum()) == problem.score_u - problem.score_v
    assert [problem.unit * int(x) for x in problem.stay] == [Fraction(a - b, divisor) for a, b in rows]
    assert problem.swap is None


@given(pairs)
def test_the_sign_test_counts_wins_and_losses(rows: Rows) -> None:
    problem = reduced(rows, "sign")
    assert problem.stay.tolist() == [(a > b) - (a < b) for a, b in rows]
    assert problem.score_u == Fraction(sum(a > b for a, b in rows))
    assert problem.score_v == Fraction(sum(a < b for a, b in rows))


@given(st.lists(st.integers(0, 8), max_size=40))
def test_doubled_midranks_are_twice_scipys_average_ranks(values: list[int]) -> None:
    ours = doubled_midranks(np.array(values, dtype=np.int64))
    assert ours.tolist() == (2 * stats.rankdata(values, method="average")).tolist()


@pytest.mark.parametrize("zero_method", ["wilcox", "pratt", "zsplit"])
@given(rows=pairs)
def test_rank_sums_follow_their_definition(zero_method: str, rows: Rows) -> None:
    d = [a - b for a, b in rows]
    kept = [x for x in d if x != 0 or zero_method != "wilcox"]
    ranks = stats.rankdata(np.abs(kept)).tolist() if kept else []
    plus = sum(Fraction(r) for r, x in zip(ranks, kept, strict=True) if x > 0)
    minus = sum(Fraction(r) for r, x in zip(ranks, kept, strict=True) if x < 0)
    zeros = sum(Fraction(r) for r, x in zip(ranks, kept, strict=True) if x == 0)
    shared = zeros / 2 if zero_method == "zsplit" else Fraction(0)
    problem = reduced(rows, "signed_rank", zero_method=zero_method)
    assert (problem.score_u, problem.score_v) == (plus + shared, minus + shared)
    assert problem.unit * int(problem.stay.sum()) == plus - minus


def test_decimals_that_differ_by_as_much_share_a_rank() -> None:
    """0.3 - 0.2 and 0.2 - 0.1 differ in doubles and not on paper."""
    data = Scores(np.array([0.3, 0.2, 0.9]), np.array([0.2, 0.1, 0.1]))
    problem = reduce_scores(data, StatisticSpec("signed_rank"))
    assert problem.stay.tolist() == [3, 3, 6]


@settings(max_examples=60)
@given(rows=pairs, codes=st.lists(st.integers(0, 3), min_size=30, max_size=30))
@pytest.mark.parametrize("name", STATISTICS["scores"])
def test_clusters_add_up_the_effects_of_their_items(name: str, rows: Rows, codes: list[int]) -> None:
    used = np.array(codes[: len(rows)], dtype=np.int64)
    columns = [np.array([row[side] for row in rows], dtype=np.int64) for side in (0, 1)]
    single = reduce_scores(Scores(columns[0], columns[1]), StatisticSpec(name))
    joined = reduce_scores(Scores(columns[0], columns[1], Pairing(used, 4)), StatisticSpec(name))
    assert joined.stay.tolist() == [int(single.stay[used == code].sum()) for code in range(4)]
    assert (joined.score_u, joined.score_v, joined.unit) == (single.score_u, single.score_v, single.unit)
    assert (joined.items, joined.clusters) == (len(rows), 4)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12))
def test_no_number_is_moved_by_more_than_2_to_the_minus_58_of_the_sum_of_all(values: list[float]) -> None:
    column = np.array(values)
    found = on_lattice(column)
    unit, whole = found.unit, found.columns[0]
    total = sum((abs(Fraction(x)) for x in values), Fraction(0))
    for x, top in zip(values, whole.tolist(), strict=True):
        moved = abs(unit * top - Fraction(x))
        # A decimal is what its double prints as, which is within half a unit of the double's last place.
        assert moved <= max(total / 2**58, Fraction(abs(x)) / 2**52)


@given(st.lists(st.integers(-(2**30), 2**30), min_size=1, max_size=20), st.integers(-60, 60))
def test_dyadic_numbers_are_taken_exactly(tops: list[int], power: int) -> None:
    column = np.ldexp(np.array(tops, dtype=np.float64), power)
    if any(
        Fraction(repr(x)) != Fraction(x) and len(repr(x).partition("e")[0]) <= 18 for x in column.tolist()
    ):
        return  # some print with so few digits that they are taken for decimals
    if float(np.abs(column).sum()) >= 2.0**59:
        return
    found = on_lattice(column)
    unit, whole = found.unit, found.columns[0]
    total = sum(abs(top) for top in tops)
    if total < 2**59:
        assert [unit * top for top in whole.tolist()] == [
            Fraction(top) * Fraction(2) ** power for top in tops
        ]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (Scores(np.array([1]), np.array([2])), "accuracy"),
        (Effects(np.array([1])), "mean_difference"),
        (Predictions(["a"], ["a"], ["b"]), "sign"),
    ],
)
def test_a_statistic_of_another_kind_of_data_is_refused(
    data: Scores | Effects | Predictions, name: str
) -> None:
    with refused_alone(None, "/statistic/name"):
        reduce(data, StatisticSpec(name))
