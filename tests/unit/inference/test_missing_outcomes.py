"""Missing outcomes against listing all fillings, and for each of them all swaps by tables of counts."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exactperm.engine.plan import Budget
from exactperm.inference.gate.gate import prepare_metric
from exactperm.inference.options import Options
from exactperm.inference.paired_test import prepare, run_test
from exactperm.statistics.paired import Gaps, Scores, StatisticSpec
from tests.refusals import refused_alone
from tests.unit.inference.gate_shorthands import decide, of_data

Outcomes = list[int | None]


def data_of(u: Outcomes, v: Outcomes, low: float = 0.0, high: float = 1.0) -> Scores:
    pairs = list(zip(u, v, strict=True))
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    only_u = [a for a, b in pairs if a is not None and b is None]
    only_v = [b for a, b in pairs if a is None and b is not None]
    gaps = Gaps(
        np.array(only_u, dtype=int), np.array(only_v, dtype=int), pairs.count((None, None)), low, high
    )
    return Scores(np.array([a for a, _ in both]), np.array([b for _, b in both]), gaps=gaps)


@cache
def sign_test(wins: int, losses: int, alternative: str) -> Fraction:
    """The exact p-value of right-or-wrong items: each discordant one is a fair coin."""
    n = wins + losses
    at_least = Fraction(sum(comb(n, k) for k in range(wins, n + 1)), 2**n)
    at_most = Fraction(sum(comb(n, k) for k in range(wins + 1)), 2**n)
    if alternative == "two-sided":
        return min(Fraction(1), 2 * min(at_least, at_most))
    return at_least if alternative == "greater" else at_most


def all_fillings(u: Outcomes, v: Outcomes) -> list[tuple[int, int]]:
    """Wins and losses of U under every filling by 0 and 1."""
    free = [[0, 1] if x is None else [x] for x in (*u, *v)]
    found = []
    for chosen in product(*free):
        pairs = list(zip(chosen[: len(u)], chosen[len(u) :], strict=True))
        found.append((pairs.count((1, 0)), pairs.count((0, 1))))
    return found


@st.composite
def outcomes(draw: st.DrawFn) -> tuple[Outcomes, Outcomes]:
    n = draw(st.integers(4, 16))
    rate = draw(st.sampled_from([[0, 1], [1, 1, 1, 0], [0, 0, 0, 1]]))
    u = draw(st.lists(st.sampled_from(rate), min_size=n, max_size=n))
    v = draw(st.lists(st.sampled_from([0, 1, 0]), min_size=n, max_size=n))
    cells: list[Any] = [*u, *v]
    for place in draw(st.sets(st.integers(1, 2 * n - 1), max_size=12)):
        if place != n:  # the first item is complete
            cells[place] = None
    return cells[:n], cells[n:]


@settings(max_examples=60, deadline=None)
@given(outcomes(), st.sampled_from(["two-sided", "greater", "less"]))
def test_bounds_are_those_of_all_fillings(case: tuple[Outcomes, Outcomes], alternative: Any) -> None:
    u, v = case
    options = Options(pmf="none", alternative=alternative, alpha=0.2)
    record = run_test(data_of(u, v), StatisticSpec("mean_difference"), options, Budget())
    fillings = all_fillings(u, v)
    every = [sign_test(*one, alternative) for one in set(fillings)]
    differences = [Fraction(wins - losses, len(u)) for wins, losses in fillings]
    missing = record.missing
    assert missing is not None
    assert missing.n == [*u, *v].count(None)
    assert missing.difference == pytest.approx([float(min(differences)), float(max(differences))])
    least, greatest = missing.p_value
    assert least == pytest.approx(float(min(every)), rel=1e-9)
    if alternative == "two-sided" and min(differences) < 0 < max(differences):
        assert greatest == 1.0  # outcomes between 0 and 1 reach a difference of 0
        assert not record.significant
    else:
        assert greatest == pytest.approx(float(max(every)), rel=1e-9)
        assert record.significant == (max(every) <= Fraction("0.2"))
    assert least <= record.p_value * (1 + 1e-9)
    assert record.p_value <= greatest * (1 + 1e-9)


def verdict_of_filling(policy: str, wins: int, losses: int, alpha: Fraction) -> str:
    if policy == "improve":
        return "pass" if sign_test(wins, losses, "greater") <= alpha else "fail"
    if sign_test(wins, losses, "less") <= alpha:
        return "fail"
    too_few = Fraction(1, 2 ** (wins + losses)) > alpha
    return "inconclusive" if too_few and wins < losses else "pass"


@settings(max_examples=80, deadline=None)
@given(outcomes(), st.sampled_from(["no_regression", "improve"]), st.sampled_from([0.05, 0.3]))
def test_a_gate_passes_or_fails_only_under_every_filling(
    case: tuple[Outcomes, Outcomes], policy: str, alpha: float
) -> None:
    u, v = case
    gate = decide(of_data(data_of(u, v), "mean_difference", policy=policy, alpha=alpha))
    verdicts = {verdict_of_filling(policy, *one, Fraction(repr(alpha))) for one in set(all_fillings(u, v))}
    expected = verdicts.pop() if len(verdicts) == 1 else "inconclusive"
    complete = [(a, b) for a, b in zip(u, v, strict=True) if a is not None and b is not None]
    differing = sum(a != b for a, b in complete)
    if policy == "no_regression" and expected == "pass" and Fraction(1, 2**differing) > Fraction(repr(alpha)):
        assert gate.verdict in {"pass", "inconclusive"}  # outcomes between 0 and 1 may tie
    else:
        assert gate.verdict == expected


def test_a_verdict_that_depends_on_them_says_so() -> None:
    u: Outcomes = [1] * 8 + [None] * 4
    gate = decide(of_data(data_of(u, [0] * 12), "mean_difference", policy="improve"))
    assert gate.verdict == "pass"
    gate = decide(
        of_data(data_of([1] * 5 + [None] * 3, [0] * 8), "mean_difference", policy="improve", alpha=0.01)
    )
    assert gate.verdict == "inconclusive"
    assert "depends on what the missing outcomes are" in gate.reason


def test_graded_scores_clusters_and_a_margin_by_listing_a_grid_of_fillings() -> None:
    """Differences in tenths; every filling by 0, 0.5 and 1 lies within the bounds, and the ends are attained."""
    gaps = Gaps(np.array([0.5]), np.array([0.2]), 1, 0.0, 1.0, np.array([0, 1, 2, 0, 1, 2]), 3)
    data = Scores(np.array([0.6, 0.7, 0.9]), np.array([0.5, 0.5, 0.6]), gaps=gaps)
    options = Options(pmf="none", alternative="greater")
    record = run_test(data, StatisticSpec("mean_difference"), options, Budget())
    ps = []
    for x, y, a, b in product([0, 5, 10], repeat=4):
        sums = [6 - 5 + 5 - x, 7 - 5 + y - 2, 9 - 6 + a - b]
        totals = [
            sum(s * d for s, d in zip(signs, sums, strict=True)) for signs in product((1, -1), repeat=3)
        ]
        ps.append(Fraction(sum(total >= sum(sums) for total in totals), 8))
    assert record.missing is not None
    least, greatest = record.missing.p_value
    assert (least, greatest) == (float(min(ps)), float(max(ps)))
    margin = decide(of_data(data, "mean_difference", policy="non_inferior", margin=0.9, alpha=0.2))
    assert margin.verdict == "pass"
    assert (
        decide(of_data(data, "mean_difference", policy="equivalent", margin=0.9, alpha=0.2)).verdict == "pass"
    )


@pytest.mark.parametrize(
    ("data", "statistic", "options", "pointer", "code"),
    [
        (data_of([1, None], [0, 1]), "signed_rank", {}, "/on_missing", "no_missing_bounds"),
        (
            data_of([1, None], [0, 1]),
            "mean_difference",
            {"test": "bootstrap"},
            "/on_missing",
            "no_missing_bounds",
        ),
        (data_of([37, None], [0, 1]), "mean_difference", {}, "/missing_range", "scores_outside_range"),
        (data_of([1, None], [0, 7]), "mean_difference", {}, "/missing_range", "scores_outside_range"),
    ],
)
def test_what_has_no_bounds_is_refused(
    data: Scores, statistic: str, options: Any, pointer: str, code: str
) -> None:
    with refused_alone(code, pointer):
        prepare(data, StatisticSpec(statistic), Options(**options), Budget())


def test_a_margin_of_right_or_wrong_items_has_no_proven_bounds() -> None:
    with refused_alone("margin_not_available", "/margin"):
        prepare_metric(of_data(data_of([1, 1, None], [0, 1, 1]), "mean_difference", margin=0.1), Budget())
