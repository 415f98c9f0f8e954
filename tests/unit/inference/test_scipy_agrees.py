"""SciPy's own tests, where SciPy is right: enumeration for small n, Wilcoxon without ties, the binomial."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats as scipy_stats

from exactperm.answers.test import TestRecord
from exactperm.engine.probability import Alternative
from tests.unit.engine.cases import ALTERNATIVES
from tests.unit.inference.run_shorthands import score

stats: Any = scipy_stats  # its stubs know neither method="asymptotic" nor infinitely many resamples
ZERO_METHODS = ("wilcox", "pratt", "zsplit")
sides = st.sampled_from(ALTERNATIVES)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=2, max_size=8),
    sides,
)
def test_enumeration_by_permutation_test_gives_our_p_value(
    rows: list[tuple[int, int]], alternative: Alternative
) -> None:
    u, v = [row[0] for row in rows], [row[1] for row in rows]

    def difference(x: Any, y: Any, axis: int = -1) -> Any:
        return (x - y).sum(axis=axis)

    theirs = stats.permutation_test(
        (np.array(u), np.array(v)),
        difference,
        permutation_type="samples",
        n_resamples=math.inf,
        vectorized=True,
        alternative=alternative,
    )
    ours = score(u, v, "sum_difference", alternative=alternative)
    assert ours.p_value == pytest.approx(float(theirs.pvalue), rel=1e-13)
    assert ours.statistic.observed == theirs.statistic


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [1, 2, 5, 12, 25, 50])
def test_wilcoxon_without_ties_or_zeros_is_the_signed_rank_test(n: int, alternative: Alternative) -> None:
    rng = random.Random(f"wilcoxon {n}")
    for _ in range(8):
        ranks = rng.sample(range(1, 10 * n + 1), n)
        favoured = rng.choice([0.5, 0.7, 0.9])
        d = [r if rng.random() < favoured else -r for r in ranks]
        theirs = stats.wilcoxon(d, method="exact", alternative=alternative)
        ours = score([max(x, 0) for x in d], [max(-x, 0) for x in d], "signed_rank", alternative=alternative)
        assert ours.p_value == pytest.approx(float(theirs.pvalue), rel=1e-11)
        assert ours.statistic.u is not None
        assert ours.statistic.v is not None
        wanted = min(ours.statistic.u, ours.statistic.v) if alternative == "two-sided" else ours.statistic.u
        assert wanted == theirs.statistic


@pytest.mark.parametrize("zero_method", ZERO_METHODS)
@settings(max_examples=60)
@given(d=st.lists(st.integers(-4, 4), min_size=1, max_size=30).filter(any))
def test_the_rank_sums_with_ties_and_zeros_are_wilcoxons(zero_method: str, d: list[int]) -> None:
    theirs = stats.wilcoxon(
        d,
        zero_method=zero_method,
        method="asymptotic",
        alternative="greater",
    )
    ours = ranked(d, zero_method, "greater")
    assert ours.statistic.u == theirs.statistic
    mirrored = ranked([-x for x in d], zero_method, "greater")
    assert ours.statistic.v == mirrored.statistic.u


@pytest.mark.slow
@pytest.mark.parametrize("zero_method", ZERO_METHODS)
@settings(max_examples=25)
@given(d=st.lists(st.integers(-4, 4), min_size=2, max_size=9).filter(any), alternative=sides)
def test_with_ties_and_zeros_flipping_every_sign_of_wilcoxons_statistic_gives_our_p_value(
    zero_method: str, d: list[int], alternative: Alternative
) -> None:
    """The exact null of SciPy's own rank sum, by giving the differences every pattern of signs."""
    ours = ranked(d, zero_method, alternative)
    magnitudes = np.abs(d)
    patterns = np.array(np.meshgrid(*[[-1, 1]] * len(d))).reshape(len(d), -1).T
    sums = np.array([rank_sum(pattern * magnitudes, zero_method) for pattern in patterns])
    centre, observed = (sums.max() + sums.min()) / 2.0, rank_sum(np.array(d), zero_method)
    inside = {
        "two-sided": np.abs(sums - centre) >= abs(observed - centre),
        "greater": sums >= observed,
        "less": sums <= observed,
    }[alternative]
    assert ours.p_value == pytest.approx(float(inside.mean()), rel=1e-13)


def ranked(d: Sequence[int], zero_method: str, alternative: Alternative) -> TestRecord:
    u, v = [max(x, 0) for x in d], [max(-x, 0) for x in d]
    return score(u, v, "signed_rank", zero_method=zero_method, alternative=alternative)


def rank_sum(d: Any, zero_method: str) -> float:
    found = stats.wilcoxon(d, zero_method=zero_method, method="asymptotic", alternative="greater")
    return float(found.statistic)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@settings(max_examples=60)
@given(wins=st.integers(0, 300), losses=st.integers(0, 300), ties=st.integers(0, 20))
def test_the_sign_test_and_mcnemars_exact_test_are_the_binomial_test(
    alternative: Alternative, wins: int, losses: int, ties: int
) -> None:
    if wins + losses + ties == 0:
        return
    u = [1] * wins + [0] * losses + [1] * ties
    v = [0] * wins + [1] * losses + [1] * ties
    wanted = 1.0
    if wins + losses:
        wanted = float(stats.binomtest(wins, wins + losses, alternative=alternative).pvalue)
    for statistic in ("sign", "mean_difference"):
        record = score(u, v, statistic, alternative=alternative)
        assert record.p_value == pytest.approx(wanted, rel=1e-11)
        assert (record.items.wins, record.items.ties, record.items.losses) == (wins, ties, losses)


def test_the_sign_test_does_not_look_at_sizes() -> None:
    u, v = [1000, 3, 5, 2, 9, 1], [0, 4, 4, 1, 8, 0]
    assert score(u, v, "sign").p_value == stats.binomtest(5, 6).pvalue
    assert score(u, v, "sum_difference").p_value != score(u, v, "sign").p_value
