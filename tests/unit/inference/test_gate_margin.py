"""The test of a margin against its definition, in fractions; Tango's against its own arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import ndtr

from exactperm.engine.paired_proportions import tango_test
from exactperm.engine.plan import Budget
from exactperm.errors import InvalidTest
from exactperm.inference.gate.gate import Metric, prepare_metric
from exactperm.statistics.paired import Counts, Effects, Predictions, Repeated, Scores
from tests.refusals import refused
from tests.unit.inference.gate_shorthands import by_definition, decide, metric, of_data
from tests.unit.inference.run_shorthands import clusters

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
    found = decide(metric(u, v, statistic, codes=codes, **asked)).metrics[0].decision
    per_item = Fraction(margin) / (len(u) if statistic == "sum_difference" else 1)
    truth = by_definition(
        exact_u,
        exact_v,
        policy=policy,
        margin=per_item,
        higher_is_better=higher_is_better,
        codes=codes,
    )
    assert found.procedure == "permutation"
    assert found.exact
    low, high = found.p_value_bounds
    assert Fraction(low) <= truth <= Fraction(high)
    assert found.p_value == pytest.approx(float(truth), rel=1e-12)
    assert found.log10_p_value == pytest.approx(math.log10(truth), abs=1e-12)
    assert found.significant == (truth <= Fraction("0.05"))
    assert found.min_attainable_p is not None
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
        ("no_regression", True, -0.1, False),
        ("no_regression", False, 0.1, True),
        ("non_inferior", True, -0.1, True),
        ("non_inferior", False, 0.1, False),
        ("improve", True, 0.1, True),
        ("improve", False, -0.1, False),
    ],
)
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
            Counts(
                {"tp": ROWS[0], "incorrect": ROWS[1]},
                {"tp": ROWS[1], "incorrect": ROWS[0]},
            ),
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
