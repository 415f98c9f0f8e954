"""Parts of an answer: missing outcomes, effect sizes, mid-p, two classes, p at alpha."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from scipy import stats
from scipy.stats import binom

from exactperm.answers.test import Discordant, EffectSize, Moved, TestRecord
from exactperm.engine.plan import Budget
from exactperm.inference.gate import prepare_metric
from exactperm.inference.options import Options, request_digest
from exactperm.inference.paired import prepare, run_test
from exactperm.inference.record import cliffs_delta, cohens_d_z, most_moved
from exactperm.statistics.paired import (
    Counts,
    Effects,
    Gaps,
    Paired,
    Pairing,
    Predictions,
    Scores,
    StatisticSpec,
)
from tests.levels import DESIGNS, LIMIT, REFUSED, SETS, Design, rejections
from tests.refusals import refused_alone

from .gate_shorthands import decide, metric, of_data
from .run_shorthands import clusters, column, effects, score

# Missing outcomes against listing all fillings, and for each of them all swaps by tables of counts.


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
    missing: Any = record.missing
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
    assert "depends on the missing outcomes" in gate.reason


def test_graded_scores_clusters_and_a_margin_by_listing_a_grid_of_fillings() -> None:
    """Differences in tenths; every filling by 0, 0.5 and 1 lies within the bounds, and the ends are attained."""
    gaps = Gaps(np.array([0.5]), np.array([0.2]), 1, 0.0, 1.0, np.array([0, 1, 2, 0, 1, 2]), 3)
    data = Scores(np.array([0.6, 0.7, 0.9]), np.array([0.5, 0.5, 0.6]), gaps=gaps)
    options = Options(pmf="none", alternative="greater")
    record: Any = run_test(data, StatisticSpec("mean_difference"), options, Budget())
    ps = []
    for x, y, a, b in product([0, 5, 10], repeat=4):
        sums = [6 - 5 + 5 - x, 7 - 5 + y - 2, 9 - 6 + a - b]
        totals = [
            sum(s * d for s, d in zip(signs, sums, strict=True)) for signs in product((1, -1), repeat=3)
        ]
        ps.append(Fraction(sum(total >= sum(sums) for total in totals), 8))
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
def test_statistics_without_bounds_are_refused(
    data: Scores, statistic: str, options: Any, pointer: str, code: str
) -> None:
    with refused_alone(code, pointer):
        prepare(data, StatisticSpec(statistic), Options(**options), Budget())


def test_a_margin_of_right_or_wrong_items_has_no_proven_bounds() -> None:
    with refused_alone("margin_not_available", "/margin"):
        prepare_metric(of_data(data_of([1, 1, None], [0, 1, 1]), "mean_difference", margin=0.1), Budget())


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
    record: Any = run_test(data, StatisticSpec("accuracy"), LEVEL, Budget())
    assert record.effect_size.cliffs_delta is None
    found: Any = record.effect_size.discordant
    assert found == Discordant(1, 0, None, found.odds_low, None)
    assert found.odds_low == pytest.approx(0.025 / 0.975)


def test_discordant_odds_have_the_exact_interval_of_their_proportion() -> None:
    found: Any = sizes([1] * 9 + [0] * 4 + [1] * 7, [0] * 9 + [1] * 4 + [1] * 7).discordant
    assert (found.only_u, found.only_v, found.odds) == (9, 4, 2.25)
    proportion = stats.binomtest(9, 13).proportion_ci(0.95, "exact")
    expected = [end / (1 - end) for end in (proportion.low, proportion.high)]
    assert [found.odds_low, found.odds_high] == pytest.approx(expected, rel=1e-9)
    assert sizes([1, 0, 1, 1], [1, 0, 1, 1]).discordant is None
    none: Any = sizes([0, 0, 1, 0], [1, 0, 1, 1]).discordant
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


def test_items_of_every_kind_are_ranked_by_how_far_they_moved() -> None:
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
        return run_test(data, StatisticSpec("mean_difference"), options, Budget()).id

    assert digest(["a", "b", "c"]) == digest(["x", "y", "z"])
    named = digest(["a", "b", "c"], confidence_level=0.95)
    assert named != digest(["x", "b", "c"], confidence_level=0.95)
    assert named == digest(["a", "b", "unmoved"], confidence_level=0.95)
    assert named != digest(["a", "b", "c"])


def test_a_digest_without_moved_items_stays_the_same() -> None:
    data, spec = Scores(column([1, 2]), column([0, 5])), StatisticSpec("mean_difference")
    assert request_digest(data, spec, Options(), "1") == request_digest(data, spec, Options(), "1", None)
    assert request_digest(data, spec, Options(), "1") != request_digest(
        data, spec, Options(), "1", Moved((), ())
    )


# The mid-p-value against listing all swaps, and how it decides.


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


# Scores of two classes are exact at thousands of items: the oracle is the law of two independent binomials.


Array = Any  # of NumPy
Score = Callable[
    [Array, Array, int, int], Array
]  # of how many are right of each class, and how many there are


def mcc(tp: Array, tn: Array, positive: int, negative: int) -> Array:
    fp, fn = negative - tn, positive - tp
    return (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tn + fn) * float(positive) * negative)


def macro_f1(tp: Array, tn: Array, positive: int, negative: int) -> Array:
    wrong = positive + negative - tp - tn
    return (2 * tp / (2 * tp + wrong) + 2 * tn / (2 * tn + wrong)) / 2


def weighted_f1(tp: Array, tn: Array, positive: int, negative: int) -> Array:
    wrong, n = positive + negative - tp - tn, positive + negative
    return positive / n * 2 * tp / (2 * tp + wrong) + negative / n * 2 * tn / (2 * tn + wrong)


def kappa(tp: Array, tn: Array, positive: int, negative: int) -> Array:
    said, n = tp + negative - tn, positive + negative
    chance = (said * positive + (n - said) * negative) / n**2
    return ((tp + tn) / n - chance) / (1 - chance)


def g_mean(tp: Array, tn: Array, positive: int, negative: int) -> Array:
    return np.sqrt(tp / positive * (tn / negative))


def by_binomials(gold: Array, u: Array, v: Array, score: Score) -> float:
    """The two-sided p-value."""
    sizes, shared, moving, ahead = [], [], [], []
    for label in (1, 0):
        mask = gold == label
        right_u, right_v = (u == label)[mask], (v == label)[mask]
        sizes.append(int(mask.sum()))
        shared.append(int((right_u & right_v).sum()))
        moving.append(int((right_u != right_v).sum()))
        ahead.append(int((right_u & ~right_v).sum()))
    grid = np.meshgrid(np.arange(moving[0] + 1), np.arange(moving[1] + 1), indexing="ij")
    ours = [grid[k].astype(float) + shared[k] for k in (0, 1)]
    theirs = [moving[k] - grid[k].astype(float) + shared[k] for k in (0, 1)]
    t = np.abs(score(ours[0], ours[1], *sizes) - score(theirs[0], theirs[1], *sizes))
    mass = np.multiply.outer(*(binom.pmf(np.arange(m + 1), m, 0.5) for m in moving))
    return float(mass[t >= t[ahead[0], ahead[1]] - 1e-12].sum())


def labels(n: int) -> tuple[Array, Array, Array]:
    generator = np.random.default_rng(n)
    gold = (generator.random(n) < 0.3).astype(int)
    u, v = (np.where(generator.random(n) < share, gold, 1 - gold) for share in (0.80, 0.785))
    return gold, u, v


CASES: list[tuple[StatisticSpec, Score]] = [
    (StatisticSpec("mcc"), mcc),
    (StatisticSpec("f1", {"average": "macro"}), macro_f1),
    (StatisticSpec("f1", {"average": "weighted"}), weighted_f1),
    (StatisticSpec("kappa"), kappa),
    (StatisticSpec("g_mean", {"positive": 1}), g_mean),
]


@pytest.mark.parametrize("n", [300, 4_000])
@pytest.mark.parametrize(("spec", "score"), CASES, ids=[score.__name__ for _, score in CASES])
def test_it_is_exact_and_the_law_of_two_binomials(spec: StatisticSpec, score: Score, n: int) -> None:
    gold, u, v = labels(n)
    data = Predictions(gold.tolist(), u.tolist(), v.tolist())
    said = run_test(data, spec, Options(pmf="none"), Budget())
    assert said.method.exact
    assert said.p_value == pytest.approx(by_binomials(gold, u, v, score), rel=1e-9)
    assert 1e-9 < said.p_value < 0.99


@pytest.mark.parametrize("spec", [spec for spec, _ in CASES], ids=[score.__name__ for _, score in CASES])
def test_a_hundred_thousand_items_are_planned_exactly(spec: StatisticSpec) -> None:
    gold, u, v = labels(100_000)
    data = Predictions(gold.tolist(), u.tolist(), v.tolist())
    assert prepare(data, spec, Options(pmf="none"), Budget()).test.plan.chosen.method in ("grid", "fft")


# `significant` where alpha is an attainable p-value: certain, or said not to be.


@pytest.mark.parametrize("seed", range(12))
def test_alpha_at_the_p_value_is_certain_or_warned_of(seed: int) -> None:
    random = Random(seed)
    stay = [random.choice([-1, 1]) * random.randint(1, 50) for _ in range(60)]
    exact: Any = effects(stay, method="rational").p_value_fraction
    truth = exact.value
    for alpha in (float(truth), float(truth) * (1 - 1e-15), float(truth) * (1 + 1e-6)):
        if not 0 < alpha < 1:
            continue
        level = Fraction(repr(alpha))  # alpha is the decimal that was written
        for method in ("rational", "fft", "dp"):
            record = effects(stay, method=method, alpha=alpha)
            warned = "alpha_within_bounds" in {warning.code for warning in record.warnings}
            if record.significant:
                assert truth <= level
                assert not warned
            else:
                assert warned or truth > level
            if method == "rational":
                assert record.significant == (truth <= level)


# A system does not differ from itself more often than alpha says, whatever shape its data have (`tests/levels.py`).


@pytest.mark.parametrize("design", [one for one in DESIGNS if not one.listed], ids=lambda one: one.name)
def test_one_system_differs_from_itself_in_at_most_alpha_of_data_sets(design: Design) -> None:
    assert rejections(design) <= LIMIT * SETS


@pytest.mark.parametrize("design", REFUSED, ids=lambda one: one.name)
def test_refused_shapes_would_differ_far_more_often(design: Design) -> None:
    """Other numbers of runs: so much would be found here if they were taken."""
    assert rejections(design, 300) > 0.2 * 300
