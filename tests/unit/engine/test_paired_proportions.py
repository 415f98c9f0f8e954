"""Tango's test against the likelihood maximised by hand, published intervals and its own duality."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import bdtr, bdtrc, ndtr, ndtri

from exactperm.engine.paired_proportions import (
    clopper_pearson,
    restricted_estimate,
    tango_interval,
    tango_test,
)


@st.composite
def tables(draw: st.DrawFn, most: int = 300) -> tuple[int, int, int]:
    items = draw(st.integers(1, most))
    only_u = draw(st.integers(0, items))
    return only_u, draw(st.integers(0, items - only_u)), items


def log_likelihood(q: float, only_u: int, only_v: int, items: int, difference: float) -> float:
    """Of the multinomial with cells q + difference, q and the rest; 0 log 0 is 0."""
    cells = ((only_u, q + difference), (only_v, q), (items - only_u - only_v, 1.0 - 2.0 * q - difference))
    return math.fsum(count * math.log(max(chance, 1e-300)) for count, chance in cells if count)


def by_maximisation(only_u: int, only_v: int, items: int, difference: float) -> float:
    """The restricted estimate by a golden-section search, with no formula of Tango's in it."""
    low, high = max(0.0, -difference), 0.5 * (1.0 - difference)
    result = minimize_scalar(
        lambda q: -log_likelihood(q, only_u, only_v, items, difference),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-12},
    )
    ends = [low, high, float(result.x)]
    return max(ends, key=lambda q: log_likelihood(q, only_u, only_v, items, difference))


def fisher_score(only_u: int, only_v: int, items: int, difference: float, q: float) -> float:
    """The score of the difference over its standard error, information about q projected out.

    The general recipe for a score test with a nuisance parameter (Cox & Hinkley 1974, section 9.3), with none of
    Tango's algebra in it: cells (q + d, q, 1 - 2q - d).
    """
    p12, p21, rest = q + difference, q, 1.0 - 2.0 * q - difference
    concordant = items - only_u - only_v
    score = only_u / p12 - concordant / rest
    in_d = items * (1.0 / p12 + 1.0 / rest)
    mixed = items * (1.0 / p12 + 2.0 / rest)
    in_q = items * (1.0 / p12 + 1.0 / p21 + 4.0 / rest)
    return score / math.sqrt(in_d - mixed * mixed / in_q)


@given(tables(), st.floats(0.0, 0.95))
def test_restricted_estimate_maximises_the_likelihood(table: tuple[int, int, int], difference: float) -> None:
    estimate = restricted_estimate(*table, difference)
    assert 0.0 <= estimate <= 0.5 * (1.0 - difference) + 1e-12
    best = by_maximisation(*table, difference)
    assert log_likelihood(estimate, *table, difference) >= log_likelihood(best, *table, difference) - 1e-7


@pytest.mark.parametrize("difference", [-0.6, -0.25, -0.01, 0.0, 0.01, 0.25, 0.6])
@pytest.mark.parametrize("table", [(3, 5, 20), (40, 20, 160), (7, 1, 21), (1, 1, 3), (6, 16, 161)])
def test_statistic_is_the_general_score_test(table: tuple[int, int, int], difference: float) -> None:
    estimate = by_maximisation(*table, difference)
    expected = fisher_score(*table, difference, estimate)
    assert tango_test(*table, difference) == pytest.approx(expected, rel=1e-5, abs=1e-6)


@given(tables())
def test_at_zero_it_is_mcnemar(table: tuple[int, int, int]) -> None:
    only_u, only_v, _ = table
    expected = (only_u - only_v) / math.sqrt(only_u + only_v) if only_u + only_v else 0.0
    assert tango_test(*table, 0.0) == pytest.approx(expected, rel=1e-14)


@given(tables(), st.floats(-1.0, 1.0))
def test_swapping_the_systems_mirrors(table: tuple[int, int, int], difference: float) -> None:
    only_u, only_v, items = table
    assert tango_test(only_v, only_u, items, -difference) == -tango_test(only_u, only_v, items, difference)
    low, high = tango_interval(only_u, only_v, items, 0.9)
    assert tango_interval(only_v, only_u, items, 0.9) == (-high, -low)


def test_statistic_falls_as_the_hypothesis_grows_on_every_small_table() -> None:
    grid = np.linspace(-1.0, 1.0, 401)
    for items in range(1, 13):
        for only_u in range(items + 1):
            for only_v in range(items - only_u + 1):
                result = [tango_test(only_u, only_v, items, float(d)) for d in grid]
                assert all(after < before for before, after in pairwise(result)), (
                    only_u,
                    only_v,
                    items,
                )


@given(tables(), st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.9999]))
def test_interval_ends_where_the_test_begins_to_reject(table: tuple[int, int, int], level: float) -> None:
    low, high = tango_interval(*table, level)
    only_u, only_v, items = table
    assert -1.0 <= low <= (only_u - only_v) / items <= high <= 1.0
    alpha = 1.0 - level
    for end, outwards in ((low, -1.0), (high, 1.0)):
        assert 2.0 * ndtr(-abs(tango_test(*table, end))) >= alpha * (1 - 1e-9)
        if abs(end) < 1.0:
            outside = min(max(end + outwards * 1e-9, -1.0), 1.0)
            assert 2.0 * ndtr(-abs(tango_test(*table, outside))) <= alpha * (1 + 1e-9)


@given(tables(), st.floats(-0.99, 0.99), st.sampled_from([0.8, 0.95]))
def test_interval_holds_a_difference_exactly_when_the_test_keeps_it(
    table: tuple[int, int, int], difference: float, level: float
) -> None:
    low, high = tango_interval(*table, level)
    z, critical = abs(tango_test(*table, difference)), -float(ndtri(0.5 * (1.0 - level)))
    if abs(z - critical) > 1e-9:
        assert (low <= difference <= high) == (z < critical)


@pytest.mark.parametrize("items", [1, 2, 7, 100, 100_000])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_edges_have_their_closed_forms(items: int, level: float) -> None:
    """Solved by hand: z(d)**2 is n d / (1 - d) without discordant items and n (1 - d) / (1 + d) when U alone is right."""
    square = float(ndtri(0.5 * (1.0 - level))) ** 2
    low, high = tango_interval(0, 0, items, level)
    assert high == pytest.approx(square / (items + square), rel=1e-12)
    assert low == -high
    low, high = tango_interval(items, 0, items, level)
    assert low == pytest.approx((items - square) / (items + square), rel=1e-9, abs=1e-12)
    assert high == 1.0


def test_interval_agrees_with_the_contingencytables_package() -> None:
    """R's `contingencytables` (Fagerland, Lydersen & Laake) tests itself on the data of Cavo et al. 2012."""
    low, high = tango_interval(6, 16, 59 + 6 + 16 + 80, 0.95)
    assert (round(low, 4), round(high, 4)) == (-0.1240, -0.0054)


def test_differences_of_one_are_certain_or_impossible() -> None:
    assert tango_test(5, 0, 5, 1.0) == 0.0
    assert tango_test(0, 5, 5, -1.0) == 0.0
    assert tango_test(4, 0, 5, 1.0) == -math.inf
    assert tango_test(5, 0, 5, -1.0) == math.inf
    assert tango_test(0, 0, 5, 0.0) == 0.0


@given(
    st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from([0.9, 0.95, 0.99]),
)
def test_clopper_pearson_ends_have_half_of_alpha_in_each_tail(case: tuple[int, int], level: float) -> None:
    successes, trials = case
    low, high = clopper_pearson(successes, trials, level)
    tail = 0.5 * (1.0 - level)
    if successes == 0:
        assert low == 0.0
    else:
        assert float(bdtrc(successes - 1, trials, low)) == pytest.approx(tail, rel=1e-9)
    if successes == trials:
        assert high == 1.0
    else:
        assert float(bdtr(successes, trials, high)) == pytest.approx(tail, rel=1e-9)


@pytest.mark.parametrize(("trials", "level"), [(1, 0.95), (10, 0.95), (43, 0.99)])
def test_clopper_pearson_of_nothing_but_successes(trials: int, level: float) -> None:
    """p**n = alpha/2 by hand."""
    low, high = clopper_pearson(trials, trials, level)
    assert high == 1.0
    assert low == pytest.approx(
        float(Fraction(1, 2) * (1 - Fraction(str(level)))) ** (1.0 / trials), rel=1e-12
    )
    assert clopper_pearson(0, trials, level)[1] == pytest.approx(1.0 - low, rel=1e-12)


@pytest.mark.parametrize(
    ("only_u", "only_v", "items", "difference"),
    [(1, 1, 1, 0.0), (-1, 0, 3, 0.0), (0, -1, 3, 0.0), (0, 0, 0, 0.0), (1, 0, 3, 1.5), (1, 0, 3, math.nan)],
)
def test_nonsense_is_refused(only_u: int, only_v: int, items: int, difference: float) -> None:
    with pytest.raises(ValueError, match=r"between -1 and 1|discordant items"):
        tango_test(only_u, only_v, items, difference)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 2.0, math.nan])
def test_levels_outside_zero_and_one_are_refused(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        tango_interval(1, 0, 3, level)
    with pytest.raises(ValueError, match="level"):
        clopper_pearson(1, 3, level)
