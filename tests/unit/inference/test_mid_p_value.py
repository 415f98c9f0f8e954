"""The mid-p-value against listing all swaps, and how it decides."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exactperm.answers.test import TestRecord
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired_test import prepare, run_test
from exactperm.statistics.paired import Counts, Effects, Scores, StatisticSpec
from tests.refusals import refused_alone
from tests.unit.inference.gate_shorthands import decide, metric

METHODS = ("auto", "fft", "dp", "rational", "enumeration", "meet_in_the_middle")


def run(u: list[Any], v: list[Any], statistic: str = "mean_difference", **options: Any) -> TestRecord:
    data = Scores(np.array(u), np.array(v))
    return run_test(data, StatisticSpec(statistic), Options(pmf="none", **options), Budget())


def by_listing(d: list[int], alternative: str) -> tuple[Fraction, Fraction]:
    """p and mid-p of the sum of signed differences."""
    observed = sum(d)
    sums = [sum(s * x for s, x in zip(signs, d, strict=True)) for signs in product((1, -1), repeat=len(d))]
    if alternative == "two-sided":
        sums, observed = [abs(one) for one in sums], abs(observed)
    beyond = sum(one < observed if alternative == "less" else one > observed for one in sums)
    ties = sum(one == observed for one in sums)
    return Fraction(beyond + ties, len(sums)), Fraction(2 * beyond + ties, 2 * len(sums))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(-30, 30), min_size=2, max_size=9),
    st.sampled_from(["two-sided", "greater", "less"]),
    st.sampled_from(METHODS),
)
def test_it_is_p_less_half_of_the_ties(d: list[int], alternative: Any, method: Any) -> None:
    if method == "meet_in_the_middle" and sum(x != 0 for x in d) < 2:
        return
    record = run(d, [0] * len(d), alternative=alternative, method=method)
    p, mid = by_listing(d, alternative)
    assert record.p_value == pytest.approx(float(p), rel=1e-12)
    assert record.mid_p_value == pytest.approx(float(mid), rel=1e-9)


def test_mcnemars_mid_p_is_that_of_the_binomial() -> None:
    """Fagerland, Lydersen & Laake 2013: 1 and 9 discordant pairs, p = 22/1024, mid-p = p less the mass of 1."""
    record = run([1] * 9 + [0] * 11, [0] * 9 + [1] + [0] * 10)
    assert (record.p_value, record.mid_p_value) == (22 / 1024, 12 / 1024)


def test_it_is_null_where_p_is_not_exact() -> None:
    u, v = [1, 2, 3, 5, 8], [2, 2, 1, 4, 4]
    assert run(u, v, method="monte_carlo").mid_p_value is None
    assert run(u, v, test="bootstrap").mid_p_value is None
    median = run(u, v, "median_difference")
    assert (median.method.exact, median.mid_p_value) == (True, None)
    counts = {"tp": np.array([3, 4, 5]), "incorrect": np.array([1, 2, 0])}
    others = {"tp": np.array([2, 4, 3]), "incorrect": np.array([2, 1, 3])}
    data = Counts(counts, others)
    assert run_test(data, StatisticSpec("f1"), Options(pmf="none"), Budget()).mid_p_value is None


def test_effects_without_a_mirrored_tie_and_all_kinds_of_alternative() -> None:
    stay, swap = [3, 1, 4, 1, 5], [0, 2, -2, 4, 1]
    totals = [sum(choice) for choice in product(*zip(stay, swap, strict=True))]
    data = Effects(np.array(stay), np.array(swap))
    record = run_test(data, StatisticSpec("expression"), Options(pmf="none"), Budget())
    sizes, own = [abs(total) for total in totals], abs(sum(stay))
    mid = Fraction(2 * sum(s > own for s in sizes) + sum(s == own for s in sizes), 2 * len(sizes))
    assert record.mid_p_value == pytest.approx(float(mid), rel=1e-12)


# Five wins of six: p = 7/64, mid-p = 4/64.
WINS = ([1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 1])


def test_it_decides_only_where_it_is_asked_for() -> None:
    options: dict[str, Any] = {"alternative": "greater", "alpha": 0.0625}
    plain, asked = run(*WINS, **options), run(*WINS, **options, significance="mid_p")
    assert (plain.p_value, plain.mid_p_value, plain.significant) == (7 / 64, 4 / 64, False)
    assert (asked.p_value, asked.mid_p_value, asked.significant) == (7 / 64, 4 / 64, True)


@pytest.mark.parametrize(("significance", "verdict"), [("p", "fail"), ("mid_p", "pass")])
def test_a_gate_decides_by_it_only_where_it_is_asked_for(significance: str, verdict: str) -> None:
    gate = decide(metric(*WINS, policy="improve", alpha=0.0625, significance=significance))
    assert gate.verdict == verdict
    assert gate.p_value == (7 / 64 if significance == "p" else 4 / 64)


def test_of_a_margin_it_is_the_shifted_tests() -> None:
    u, v = [0.6, 0.7, 0.5, 0.9], [0.5, 0.5, 0.5, 0.5]
    found = decide(metric(u, v, policy="non_inferior", margin=0.05, significance="mid_p")).metrics[0].decision
    assert found.p_value == 1 / 32


def test_where_it_is_not_known_it_is_between_half_of_p_and_p() -> None:
    """Of five sampled wins of six p is about 0.11 and mid-p is 0.0625, which the samples do not show."""
    gate = decide(
        metric(*WINS, alpha=0.07, method="monte_carlo", significance="mid_p", higher_is_better=False)
    )
    low, high = gate.metrics[0].decision.p_value_bounds
    assert low < 0.07 < high
    assert gate.verdict == "inconclusive"
    record = run(*WINS, alternative="greater", alpha=0.07, method="monte_carlo", significance="mid_p")
    assert not record.significant
    assert "mid_p_not_known" in {warning.code for warning in record.warnings}


def test_the_bootstrap_has_none() -> None:
    data = Scores(np.array([1, 2]), np.array([2, 4]))
    with refused_alone("mid_p_not_available", "/significance"):
        prepare(
            data, StatisticSpec("mean_difference"), Options(test="bootstrap", significance="mid_p"), Budget()
        )
