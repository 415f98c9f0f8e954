"""Gates with margins: absolute and relative ones, equivalence, quantiles, Tango's interval."""

import math
import random
import statistics
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import optimize, special, stats
from scipy.special import ndtr

from exactperm.answers.gate import Decision, GateRecord, GateTerms
from exactperm.engine.paired_proportions import tango_test
from exactperm.engine.plan import Budget
from exactperm.errors import InvalidTest
from exactperm.inference.gate import Metric, finish_gate, prepare_metric
from exactperm.inference.options import Options
from exactperm.statistics.paired import (
    Counts,
    Effects,
    Paired,
    Pairing,
    Predictions,
    Repeated,
    Scores,
    StatisticSpec,
)
from tests.enumeration import share, signed_sums, swaps
from tests.refusals import refused, refused_alone

from .gate_shorthands import by_definition, decide, metric, of_data
from .run_shorthands import clusters

# The test of a margin against its definition, in fractions; Tango's against its own arithmetic.


POLICIES = ("no_regression", "non_inferior", "improve")
MARGINS = ("0.01", "0.05", "0.1", "0.3", "1.5", "0.125", "1e-05")


def hundredths(values: list[int]) -> tuple[list[Fraction], list[float]]:
    """As fractions, and as the doubles that a reader makes of the same decimals."""
    return [Fraction(value, 100) for value in values], [float(f"{value / 100:.2f}") for value in values]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[int], list[int], list[int] | None]:
    items = draw(st.integers(1, 9))
    scores = st.lists(st.integers(-200, 200), min_size=items, max_size=items)
    codes = draw(st.none() | st.lists(st.integers(0, 4), min_size=items, max_size=items))
    return draw(scores), draw(scores), codes


@pytest.mark.slow
@settings(max_examples=150)
@given(
    cases(),
    st.sampled_from(POLICIES),
    st.sampled_from(MARGINS),
    st.booleans(),
    st.sampled_from(["mean_difference", "sum_difference"]),
)
def test_p_value_of_a_margin_is_that_of_the_shifted_signs(
    case: tuple[list[int], list[int], list[int] | None],
    policy: str,
    margin: str,
    higher_is_better: bool,
    statistic: str,
) -> None:
    (exact_u, u), (exact_v, v), codes = hundredths(case[0]), hundredths(case[1]), case[2]
    if set(u) | set(v) <= {0.0, 1.0} and (codes is None or len(set(codes)) == len(u)):
        return  # Tango's test, below
    asked: dict[str, Any] = {"policy": policy, "margin": float(margin), "higher_is_better": higher_is_better}
    found: Any = decide(metric(u, v, statistic, codes=codes, **asked)).metrics[0].decision
    per_item = Fraction(margin) / (len(u) if statistic == "sum_difference" else 1)
    truth = by_definition(
        exact_u, exact_v, policy=policy, margin=per_item, higher_is_better=higher_is_better, codes=codes
    )
    assert found.procedure == "permutation"
    assert found.exact
    low, high = found.p_value_bounds
    assert Fraction(low) <= truth <= Fraction(high)
    assert found.p_value == pytest.approx(float(truth), rel=1e-12)
    assert found.log10_p_value == pytest.approx(math.log10(truth), abs=1e-12)
    assert found.significant == (truth <= Fraction("0.05"))
    assert found.min_attainable_p <= found.p_value
    down = (policy == "improve") != higher_is_better
    assert found.difference == (-1 if down else 1) * float(margin)


@pytest.mark.parametrize("policy", POLICIES)
def test_differences_equal_to_the_margin_are_ties_though_their_doubles_differ(policy: str) -> None:
    u, v = [0.1, 0.2, 0.5], [0.4, 0.5, 0.8]
    assert {b - a for a, b in zip(u, v, strict=True)} != {0.3}
    if policy == "improve":
        u, v = v, u
    found = decide(metric(u, v, policy=policy, margin=0.3)).metrics[0].decision
    assert (found.p_value, found.log10_p_value, found.min_attainable_p) == (1.0, 0.0, 1.0)


def test_a_margin_counts_as_the_decimal_that_was_written() -> None:
    """Five items are exactly 0.1 + 0.2 worse: shifted by 0.3 nothing is left; by its neighbour everything is."""
    u, v = [0.1] * 5, [0.4] * 5
    assert decide(metric(u, v, margin=0.3)).metrics[0].decision.p_value == 1.0
    # 0.30000000000000004 is another decimal: every candidate's item is better than that margin by 4e-17.
    assert (
        decide(metric(u, v, policy="non_inferior", margin=0.1 + 0.2)).metrics[0].decision.p_value == 2.0**-5
    )


@pytest.mark.parametrize("higher_is_better", [True, False])
@pytest.mark.parametrize("policy", POLICIES)
def test_clusters_shift_by_their_number_of_items(policy: str, higher_is_better: bool) -> None:
    u = [1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0]
    v = [0, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1]
    codes = [0, 0, 0, 0, 0, 1, 1, 2, 3, 3, 4, 5]
    found = decide(
        metric(u, v, codes=codes, policy=policy, margin=0.25, higher_is_better=higher_is_better)
    ).metrics[0]
    truth = by_definition(
        [Fraction(x) for x in u],
        [Fraction(x) for x in v],
        policy=policy,
        margin=Fraction(1, 4),
        higher_is_better=higher_is_better,
        codes=codes,
    )
    assert found.decision.procedure == "permutation"
    assert found.decision.p_value == pytest.approx(float(truth), rel=1e-12)
    assert "clusters' summed differences" in found.reason


def test_repeated_samples_shift_as_their_means() -> None:
    """Three items of two and one samples; every mean is 0.25 to 0.5 worse, less than the margin."""
    lengths = np.array([2, 1, 2])
    u = Repeated(np.array([0.0, 0.5, 0.5, 0.25, 0.75]), lengths)
    v = Repeated(np.array([0.5, 0.5, 1.0, 0.75, 0.75]), lengths)
    asked = of_data(Scores(u, v), "mean_difference", policy="non_inferior", margin=0.75)
    assert decide(asked).metrics[0].decision.p_value == 2.0**-3


def test_a_shifted_test_is_sampled_when_asked_and_says_so() -> None:
    rng = np.random.default_rng(5)
    u, v = rng.integers(0, 100, 40) / 100, rng.integers(0, 100, 40) / 100
    asked: dict[str, Any] = {"policy": "non_inferior", "margin": 0.1}
    exact = decide(metric(u.tolist(), v.tolist(), **asked)).metrics[0].decision
    drawn = decide(metric(u.tolist(), v.tolist(), **asked, method="monte_carlo")).metrics[0].decision
    assert (drawn.p_value_bounds_kind, drawn.exact) == ("confidence", False)
    assert drawn.p_value_bounds[0] <= exact.p_value <= drawn.p_value_bounds[1]


RIGHT_OR_WRONG_U = [1] * 30 + [0] * 4 + [1] * 2 + [0] * 4
RIGHT_OR_WRONG_V = [1] * 30 + [1] * 4 + [0] * 2 + [0] * 4


@pytest.mark.parametrize(
    ("policy", "higher_is_better", "difference", "upper"),
    [
        ("no_regression", True, -0.1, False), ("no_regression", False, 0.1, True),
        ("non_inferior", True, -0.1, True), ("non_inferior", False, 0.1, False), ("improve", True, 0.1, True),
        ("improve", False, -0.1, False),
    ],
)  # fmt: skip
def test_single_right_or_wrong_items_take_tangos_score_test(
    policy: str, higher_is_better: bool, difference: float, upper: bool
) -> None:
    z = tango_test(2, 4, 40, difference)
    expected = float(ndtr(-z if upper else z))
    if upper and difference < 0:  # two net losses of 40 items, each lost with 0.1
        expected = max(expected, sum(math.comb(40, k) * 0.1**k * 0.9 ** (40 - k) for k in range(3)))
    gold, wrong = ["x"] * 40, "y"
    predictions = Predictions(
        gold,
        ["x" if right else wrong for right in RIGHT_OR_WRONG_U],
        ["x" if right else wrong for right in RIGHT_OR_WRONG_V],
    )
    asked: dict[str, Any] = {"policy": policy, "higher_is_better": higher_is_better}
    ways = [
        metric(RIGHT_OR_WRONG_U, RIGHT_OR_WRONG_V, margin=0.1, **asked),
        metric(RIGHT_OR_WRONG_U, RIGHT_OR_WRONG_V, "sum_difference", margin=4.0, **asked),
        of_data(predictions, "accuracy", margin=0.1, **asked),
        of_data(predictions, "exact_match", margin=0.1, **asked),
        of_data(predictions, "token_accuracy", margin=0.1, **asked),
    ]
    for way in ways:
        found = decide(way).metrics[0].decision
        assert (found.procedure, found.p_value_bounds_kind, found.exact) == (
            "tango_score",
            "asymptotic",
            False,
        )
        assert found.p_value == pytest.approx(expected, rel=1e-12)
        assert found.log10_p_value == pytest.approx(math.log10(expected), abs=1e-12)
        assert found.p_value_bounds == (found.p_value, found.p_value)
        assert found.alternative == ("greater" if upper else "less")


@pytest.mark.parametrize("higher_is_better", [True, False])
@pytest.mark.parametrize(("margin", "least"), [(0.1, 0.25), (0.9, float(ndtr(-math.sqrt(2 * 0.1 / 1.9))))])
def test_too_few_right_or_wrong_items_to_show_a_regression_are_inconclusive(
    higher_is_better: bool, margin: float, least: float
) -> None:
    """All n items lost: z**2 = n (1 - d) / (1 + d) by hand; and never less than 2**-n, McNemar's test of 0."""
    u, v = ([0, 0], [1, 1]) if higher_is_better else ([1, 1], [0, 0])
    gate = decide(metric(u, v, margin=margin, higher_is_better=higher_is_better))
    assert gate.metrics[0].decision.min_attainable_p == pytest.approx(least, rel=1e-12)
    assert gate.metrics[0].decision.p_value == gate.metrics[0].decision.min_attainable_p
    assert gate.verdict == "inconclusive"
    # Half as bad is no regression, and no outcome of two items could have shown one.
    even = decide(metric([0, 1], [1, 0], margin=margin, higher_is_better=higher_is_better))
    assert even.metrics[0].decision.min_attainable_p == pytest.approx(least, rel=1e-12)
    assert even.verdict == "inconclusive"


def test_tangos_logarithm_outlives_the_double() -> None:
    n = 200_000
    found = decide(metric([0] * n, [1] * n, margin=0.01)).metrics[0].decision
    z = tango_test(0, n, n, -0.01)
    # The leading terms of the normal tail (Abramowitz & Stegun 26.2.12).
    expected = (-z * z / 2 - math.log(-z * math.sqrt(2 * math.pi)) - 1 / (z * z)) / math.log(10)
    assert found.p_value == math.ulp(0.0)
    assert found.log10_p_value == pytest.approx(expected, rel=1e-9)


SCORES = ([0.5, 0.25, 1.0], [0.25, 0.5, 0.75])
ROWS = np.array([[1, 2], [3, 4]])


@pytest.mark.parametrize(
    "asked",
    [
        metric(*SCORES, "sign", margin=0.1),
        metric([0, 1], [1, 0], "sign", margin=0.1),
        metric(*SCORES, "signed_rank", margin=0.1),
        metric(*SCORES, test="bootstrap", margin=0.1),
        metric([0, 1], [1, 0], test="bootstrap", margin=0.1),
        metric(*SCORES, margin=1e-40),
        metric([0.5, 1.0], [0.5, 1.0], margin=1e-40),
        metric([3, 1], [3, 1], margin=1e-40),
        of_data(Effects(np.array([3, -1, 2]), np.array([1, 0, 2])), "expression", margin=1.0),
        of_data(
            Counts({"tp": ROWS[0], "incorrect": ROWS[1]}, {"tp": ROWS[1], "incorrect": ROWS[0]}),
            "f1",
            margin=0.01,
        ),
    ],
)
def test_margins_without_a_test_are_refused_and_never_a_pass(asked: Metric) -> None:
    with pytest.raises(InvalidTest) as caught:
        prepare_metric(asked, Budget())
    (flaw,) = caught.value.flaws
    assert (flaw.pointer, flaw.code) == ("/margin", "margin_not_available")
    assert len(flaw.detail) > 40


@pytest.mark.parametrize(("statistic", "margin"), [("mean_difference", 1.0), ("sum_difference", 3.0)])
def test_margins_that_proportions_cannot_reach_are_refused(statistic: str, margin: float) -> None:
    with refused(None, "/margin"):
        decide(metric([0, 1, 1], [1, 1, 0], statistic, margin=margin))
    assert decide(metric([0, 1, 1], [1, 1, 0], statistic, margin=margin * 0.99)).verdict == "inconclusive"


def test_clustered_right_or_wrong_items_do_not_take_tangos_test() -> None:
    predictions = Predictions(["a"] * 4, ["a", "b", "a", "a"], ["a", "a", "b", "a"], clusters([0, 0, 1, 1]))
    found = decide(of_data(predictions, "accuracy", margin=0.1)).metrics[0].decision
    assert found.procedure == "permutation"


# A margin of a ratio over a shared denominator (WER, recall over gold) shifts every item by its share of it.


WER = StatisticSpec("ratio", {"numerator": "errors", "denominator": "words"})


def decision(data: Paired, spec: StatisticSpec, margin: float, *, higher: bool) -> Decision:
    terms = GateTerms("non_inferior", margin, 0.05, higher)
    prepared = prepare_metric(Metric("m", data, spec, Options(), terms), Budget(10**10, 10**9))
    return finish_gate([prepared], "pass", "1").metrics[0].decision


def listed(effects: list[Fraction], *, at_most: bool) -> float:
    return float(share(signed_sums(effects), "less" if at_most else "greater"))


@pytest.mark.parametrize("seed", range(5))
def test_word_error_rate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    words, u, v = rng.integers(1, 20, 11), rng.integers(0, 6, 11), rng.integers(0, 6, 11)
    data = Counts({"errors": u, "words": words}, {"errors": v, "words": words})
    shifted = [int(a - b) - Fraction("0.05") * int(w) for a, b, w in zip(u, v, words, strict=True)]
    assert decision(data, WER, 0.05, higher=False).p_value == pytest.approx(
        listed(shifted, at_most=True), rel=1e-12
    )


def test_word_error_rate_by_call() -> None:
    rng = np.random.default_rng(7)
    words, u, v = rng.integers(1, 20, 24), rng.integers(0, 6, 24), rng.integers(0, 6, 24)
    calls = np.repeat(np.arange(8), 3)
    pairing = Pairing(clusters=calls, n_clusters=8)
    data = Counts({"errors": u, "words": words}, {"errors": v, "words": words}, pairing)
    shifted = [
        int((u - v)[calls == call].sum()) - Fraction("0.1") * int(words[calls == call].sum())
        for call in range(8)
    ]
    assert decision(data, WER, 0.1, higher=False).p_value == pytest.approx(
        listed(shifted, at_most=True), rel=1e-12
    )


def test_recall_over_gold() -> None:
    gold, u, v = np.array([5, 3, 4, 6, 2, 7]), np.array([4, 3, 4, 5, 2, 6]), np.array([5, 2, 4, 6, 1, 7])
    counts: Any = [{"tp": column, "gold": gold} for column in (u, v)]
    shifted = [int(a - b) + Fraction("0.2") * int(g) for a, b, g in zip(u, v, gold, strict=True)]
    found = decision(Counts(*counts), StatisticSpec("recall"), 0.2, higher=True)
    assert found.p_value == pytest.approx(listed(shifted, at_most=False), rel=1e-12)


def test_effects_that_are_their_own_mirror_image() -> None:
    stay = np.array([3, -1, 2, 4, 0, -2, 1])
    shifted = [int(effect) + Fraction(7, 2) / 7 for effect in stay]
    found = decision(Effects(stay), StatisticSpec("expression", {"expression": "x1"}), 3.5, higher=True)
    assert found.p_value == pytest.approx(listed(shifted, at_most=False), rel=1e-12)


# The policy equivalent against its definition: both one-sided tests of the margin, in fractions.


def one_sided(d: Sequence[Fraction], shift: Fraction, codes: Sequence[int], *, greater: bool) -> Fraction:
    """P(sum of signed (d - shift) at least, or at most, as observed); shifted on every item, then summed by cluster."""
    sums: dict[int, Fraction] = {}
    for value, code in zip(d, codes, strict=True):
        sums[code] = sums.get(code, Fraction(0)) + value - shift
    return share(signed_sums(sums.values()), "greater" if greater else "less")


def verdict_by_definition(
    d: Sequence[Fraction], margin: Fraction, codes: Sequence[int], alpha: Fraction
) -> tuple[str, Fraction, Fraction]:
    above = one_sided(d, -margin, codes, greater=True)
    below = one_sided(d, margin, codes, greater=False)
    beyond = one_sided(d, margin, codes, greater=True)
    short = one_sided(d, -margin, codes, greater=False)
    different = min(Fraction(1), 2 * min(beyond, short))
    if above <= alpha and below <= alpha:
        return "pass", max(above, below), different
    if beyond <= alpha / 2 or short <= alpha / 2:
        return "fail", max(above, below), different
    return "inconclusive", max(above, below), different


@st.composite
def cases_of_gate_equivalent(draw: st.DrawFn) -> tuple[list[int], list[int], list[int] | None]:
    items = draw(st.integers(4, 9))
    near = draw(st.sampled_from([0, 0, 25, 60]))
    scores = st.lists(st.integers(-9, 9), min_size=items, max_size=items)
    codes = draw(st.none() | st.lists(st.integers(0, 6), min_size=items, max_size=items))
    v = draw(st.lists(st.integers(30, 90), min_size=items, max_size=items))
    return [one + near + other for one, other in zip(draw(scores), v, strict=True)], v, codes


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    cases_of_gate_equivalent(),
    st.sampled_from(["0.05", "0.1", "0.3"]),
    st.sampled_from([0.05, 0.1, 0.25]),
    st.booleans(),
)
def test_verdict_and_p_values_are_those_of_the_definition(
    case: tuple[list[int], list[int], list[int] | None], margin: str, alpha: float, higher: bool
) -> None:
    u, v, codes = case
    d = [Fraction(a - b, 100) for a, b in zip(u, v, strict=True)]
    expected = verdict_by_definition(d, Fraction(margin), codes or range(len(d)), Fraction(repr(alpha)))
    columns = [[float(f"{x / 100:.2f}") for x in side] for side in (u, v)]
    terms: dict[str, Any] = {"policy": "equivalent", "margin": float(margin), "alpha": alpha}
    gate = decide(metric(columns[0], columns[1], codes=codes, higher_is_better=higher, **terms))
    decision: Any = gate.metrics[0].decision
    assert (gate.verdict, decision.exact) == (expected[0], True)
    assert decision.p_value == pytest.approx(float(expected[1]), rel=1e-12)
    assert decision.p_value == max(decision.equivalence.p_value_above, decision.equivalence.p_value_below)
    assert decision.equivalence.p_value_different == pytest.approx(float(expected[2]), rel=1e-12)
    for name in ("above", "below", "different"):
        p, log10_p = (
            getattr(decision.equivalence, f"{kind}_{name}") for kind in ("p_value", "log10_p_value")
        )
        assert log10_p == pytest.approx(math.log10(p), abs=1e-12)
    low, high = decision.p_value_bounds
    assert Fraction(low) <= expected[1] <= Fraction(high)


NEAR = [0.5, 0.51, 0.49, 0.52, 0.48, 0.5, 0.51, 0.49]
FAR = [x + 0.3 for x in NEAR]


def gate_of(*pairs: tuple[list[float], list[float]], **terms: Any) -> GateRecord:
    asked = {"policy": "equivalent", "margin": 0.1, **terms}
    return decide(*(metric(u, v, name=f"m{index}", **asked) for index, (u, v) in enumerate(pairs)))


def test_three_verdicts_and_their_sentences() -> None:
    passed = gate_of((NEAR, NEAR[::-1]))
    assert (passed.verdict, passed.passed) == ("pass", True)
    assert "is shown to differ from the baseline by less than 0.1" in passed.reason
    failed = gate_of((FAR, NEAR))
    assert (failed.verdict, failed.passed) == ("fail", False)
    assert "is shown to differ from the baseline by 0.1 or more" in failed.reason
    undecided = gate_of((NEAR[:3], NEAR[1:4]))
    assert undecided.verdict == "inconclusive"
    assert (
        "neither a difference below 0.1 from the baseline is shown, nor one of at least that"
        in undecided.reason
    )


def test_p_values_below_the_smallest_double_have_logarithms() -> None:
    """2,000 items that are all 0.5 above, or below, the margin: p is 2**-2000."""
    n = 2_000
    passed: Any = gate_of(([3.0] * n, [3.0] * n), margin=0.5).metrics[0].decision.equivalence
    failed: Any = gate_of(([3.0] * n, [2.0] * n), margin=0.5).metrics[0].decision.equivalence
    assert passed.log10_p_value_above == pytest.approx(-n * math.log10(2), rel=1e-12)
    assert passed.log10_p_value_below == pytest.approx(-n * math.log10(2), rel=1e-12)
    assert failed.log10_p_value_different == pytest.approx((1 - n) * math.log10(2), rel=1e-12)


def test_of_several_metrics_passes_are_adjusted_by_holm_and_failures_by_bonferroni() -> None:
    """Eight items: 2/256 for a failure; three metrics make that 6/256, which is at most alpha; seven make it 14/256."""
    three = gate_of((FAR, NEAR), (NEAR, NEAR), (NEAR, NEAR))
    assert [each.verdict for each in three.metrics] == ["fail", "pass", "pass"]
    assert "Bonferroni-adjusted over 3 metrics" in three.metrics[0].reason
    seven: Any = gate_of((FAR, NEAR), *[(NEAR, NEAR)] * 6)
    assert seven.metrics[0].verdict == "inconclusive"
    assert seven.metrics[0].decision.equivalence.p_value_different == 2 / 256


def test_right_or_wrong_items_are_tested_by_tangos_score() -> None:
    u, v = [1.0, 0.0] * 200, [1.0, 0.0] * 199 + [0.0, 1.0]
    gate = gate_of((u, v), margin=0.05)
    decision = gate.metrics[0].decision
    assert (gate.verdict, decision.procedure, decision.exact) == ("pass", "tango_score", False)
    assert gate_of(([1.0] * 60, [0.0] * 60), margin=0.05).verdict == "fail"
    assert gate_of(([1.0, 0.0] * 3, [1.0, 0.0] * 3), margin=0.05).verdict == "inconclusive"


def test_an_alpha_so_large_that_both_are_shown_decides_nothing() -> None:
    gate = gate_of(([0.6, 0.6, 0.6, 0.7], [0.5, 0.5, 0.5, 0.6]), alpha=0.999)
    assert gate.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("given", "pointer", "code"),
    [
        ({"margin": 0.0}, "/margin", "margin_needed"),
        ({"statistic": "signed_rank"}, "/margin", "margin_not_available"),
        ({"test": "bootstrap"}, "/margin", "margin_not_available"),
    ],
)
def test_refusals_point_to_the_margin(given: dict[str, Any], pointer: str, code: str) -> None:
    with refused_alone(code, pointer):
        prepare_metric(metric(NEAR, FAR, **{"policy": "equivalent", "margin": 0.1, **given}), Budget())


# Gates on medians and quantiles: margins shift U's scores, against all swaps in fractions.


def place(values: list[Fraction]) -> Fraction:
    """The median, halfway between two middle values."""
    return statistics.median(values)


def shifted(
    u: list[float], v: list[float], difference: Fraction, side: str, codes: list[int] | None
) -> Fraction:
    """p of U less the difference against V, by all swaps."""
    first, second = [Fraction(repr(x)) - difference for x in u], [Fraction(repr(x)) for x in v]
    return share([place(one) - place(other) for one, other in swaps(first, second, codes)], side)


@pytest.mark.parametrize("policy", ["no_regression", "non_inferior", "improve"])
@pytest.mark.parametrize("margin", ["0.01", "0.3", "0.125"])
def test_a_margin_is_a_shift_of_all_scores_of_u(policy: str, margin: str) -> None:
    chance = random.Random(f"{policy} {margin}")
    for case in range(12):
        n, higher = chance.randint(3, 8), bool(case % 3)
        u, v = ([chance.randint(-100, 100) / 100 for _ in range(n)] for _ in range(2))
        codes = [chance.randint(0, 4) for _ in range(n)] if case % 2 else None
        terms: dict[str, Any] = {"policy": policy, "margin": float(margin), "higher_is_better": higher}
        found = decide(metric(u, v, "median_difference", codes=codes, **terms)).metrics[0].decision
        wanted = shifted(u, v, Fraction(str(found.difference)), found.alternative, codes)
        assert abs(found.difference) == float(margin)
        assert found.exact
        assert found.procedure == "permutation"
        low, high = found.p_value_bounds
        assert Fraction(low) <= wanted <= Fraction(high)
        assert found.significant == (wanted <= Fraction("0.05"))


def test_a_gate_passes_a_median_that_did_not_fall_by_the_margin() -> None:
    u, v = [5.0 + i / 10 for i in range(30)], [5.0 + i / 10 for i in range(30)]
    asked: dict[str, Any] = {"policy": "non_inferior", "margin": 0.5, "higher_is_better": True}
    assert decide(metric(u, v, "median_difference", **asked)).verdict == "pass"
    assert decide(metric([x - 3 for x in u], v, "median_difference", **asked)).verdict != "pass"


def test_right_or_wrong_has_no_margin_of_a_median() -> None:
    asked = metric([1, 0, 1], [0, 0, 1], "median_difference", margin=0.1)
    with refused("margin_not_available", "/margin"):
        prepare_metric(asked, Budget())


# What a gate with a margin could have found: against all tables of right and wrong items, with Tango's statistic by its definition.


@cache
def score(b: int, c: int, n: int, delta: float) -> float:
    """(b - c - n delta) over its standard deviation at the likeliest q under p_u - p_v = delta, found by maximizing the likelihood."""

    def unlikely(q: float) -> float:
        return -float(
            special.xlogy(b, q + delta) + special.xlogy(c, q) + special.xlogy(n - b - c, 1 - 2 * q - delta)
        )

    low, high = max(0.0, -delta), (1.0 - delta) / 2.0
    found = optimize.minimize_scalar(
        unlikely, (low, high), bounds=(low, high), method="bounded", options={"xatol": 1e-13}
    )
    q = min((low, high, float(found.x)), key=unlikely)
    variance = n * (2 * q + delta - delta * delta)
    excess = b - c - n * delta
    return (
        excess / math.sqrt(variance)
        if variance > 1e-12
        else math.copysign(math.inf, excess)
        if excess
        else 0.0
    )


def power(n: int, delta: float, share: float, difference: float, alpha: float) -> float:
    """The probability of all tables that reject p_u - p_v <= delta."""
    up, down = (share + difference) / 2, (share - difference) / 2
    total = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            p = stats.norm.sf(score(b, c, n, delta))
            if delta > 0:
                p = max(p, stats.binomtest(b, b + c, alternative="greater").pvalue if b + c else 1.0)
            if p <= alpha:
                total += stats.multinomial.pmf([b, c, n - b - c], n, [up, down, 1 - up - down])
    return float(total)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "margin"), [("non_inferior", 0.1), ("non_inferior", 0.25), ("improve", 0.05)]
)
def test_the_difference_has_its_power(policy: str, margin: float) -> None:
    n = 20
    u, v = [1] * 11 + [0] * 9, [1] * 8 + [0] * 3 + [1] * 2 + [0] * 7
    gate = decide(metric(u, v, policy=policy, margin=margin))
    found: Any = gate.metrics[0].sensitivity
    assert (found.method, found.exact, found.power) == ("tango_score", False, 0.8)
    delta = margin if policy == "improve" else -margin
    beyond: Any = found.minimum_detectable_effect
    seen = float(np.mean(np.array(u) != np.array(v)))
    for more, above in ((1e-6, True), (-1e-3, False)):
        difference = delta + beyond + more
        had = power(n, delta, max(seen, abs(difference)), difference, 0.05)
        assert (had >= 0.8) is above, (more, had)
    critical: Any = found.critical_difference
    wins = round((critical + delta) * n + 5) // 2
    for b, rejects in ((wins, True), (wins - 1, False)):
        p = stats.norm.sf(score(b, 5 - b, n, delta))
        p = max(p, stats.binomtest(b, 5, alternative="greater").pvalue) if delta > 0 else p
        assert bool(p <= 0.05) is rejects


def test_both_directions_and_scales_are_mirrored() -> None:
    u, v = [1] * 30 + [0] * 10, [0] * 4 + [1] * 30 + [0] * 6
    up: Any = decide(metric(u, v, policy="non_inferior", margin=0.1)).metrics[0].sensitivity
    flipped = [1 - one for one in u], [1 - one for one in v]
    down: Any = (
        decide(metric(*flipped, policy="non_inferior", margin=0.1, higher_is_better=False))
        .metrics[0]
        .sensitivity
    )
    assert up.minimum_detectable_effect == pytest.approx(down.minimum_detectable_effect, rel=1e-9)
    assert up.critical_difference == pytest.approx(down.critical_difference, rel=1e-9)
