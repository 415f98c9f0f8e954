"""Test the policies of gates: a truth table, and impossible verdicts."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exactperm.answers.gate import Policy, Verdict
from exactperm.statistics.paired import Effects, Pairing, Scores
from tests.unit.inference.gate_shorthands import decide, metric, of_data

# Eight items: all better, all worse, half each, equal; three items can never reach 0.05, and items that tie neither.
BASE = [0.5] * 8
DATA = {
    "better": ([0.6] * 8, BASE),
    "worse": ([0.4] * 8, BASE),
    "mixed": ([0.6, 0.4] * 4, BASE),
    "same": (BASE, BASE),
    "few_worse": ([0.4] * 3, BASE[:3]),
    "few_better": ([0.6] * 3, BASE[:3]),
}
# A policy, its margin, and the verdict on each of DATA.
TABLE: list[tuple[Policy, float, str]] = [
    ("no_regression", 0.0, "pass fail pass pass inconclusive inconclusive"),
    # 0.1 worse is not more than 0.2 worse; and of three items no outcome could show it.
    ("no_regression", 0.2, "pass pass pass pass inconclusive inconclusive"),
    ("no_regression", 0.05, "pass fail pass pass inconclusive inconclusive"),
    ("non_inferior", 0.0, "pass fail fail fail fail fail"),
    # Shifted by 0.2 every difference of +-0.1 is positive: p = 2**-8, or 2**-3 of three items.
    ("non_inferior", 0.2, "pass pass pass pass fail fail"),
    ("improve", 0.0, "pass fail fail fail fail fail"),
    ("improve", 0.05, "pass fail fail fail fail fail"),
    ("improve", 0.1, "fail fail fail fail fail fail"),
]


@pytest.mark.parametrize("higher_is_better", [True, False])
@pytest.mark.parametrize(
    ("policy", "margin", "data", "expected"),
    [
        (policy, margin, data, verdict)
        for policy, margin, verdicts in TABLE
        for data, verdict in zip(DATA, verdicts.split(), strict=True)
    ],
)
def test_truth_table(
    policy: Policy, margin: float, data: str, expected: Verdict, higher_is_better: bool
) -> None:
    u, v = DATA[data]
    if not higher_is_better:
        u, v = [1 - x for x in u], [1 - x for x in v]
    gate = decide(metric(u, v, policy=policy, margin=margin, higher_is_better=higher_is_better))
    assert gate.verdict == gate.metrics[0].verdict == expected


scores = st.integers(1, 14).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 9), min_size=n, max_size=n)] * 2)
)


@pytest.mark.slow
@settings(max_examples=120)
@given(
    scores, st.sampled_from([0.0, 0.5, 1.25]), st.booleans(), st.sampled_from([0.01, 0.05, 0.2]), st.data()
)
def test_must_show_policies_pass_exactly_when_significant_in_the_right_direction(
    data: tuple[list[int], list[int]], margin: float, higher: bool, alpha: float, draw: st.DataObject
) -> None:
    policy = draw.draw(st.sampled_from(["non_inferior", "improve"]))
    u, v = data
    gate = decide(metric(u, v, policy=policy, margin=margin, alpha=alpha, higher_is_better=higher))
    (found,) = gate.metrics
    assert gate.verdict in {"pass", "fail"}
    assert (gate.verdict == "pass") == (found.decision.p_value <= alpha) == found.decision.significant
    if gate.verdict == "pass":
        gain = (np.mean(u) - np.mean(v)) * (1 if higher else -1)
        assert gain > (margin if policy == "improve" else -margin)


@settings(max_examples=100)
@given(scores, st.sampled_from([0.0, 0.5]), st.booleans())
def test_candidate_and_baseline_exchanged_turn_improvement_into_regression(
    data: tuple[list[int], list[int]], margin: float, higher: bool
) -> None:
    u, v = data
    asked: dict[str, Any] = {"margin": margin, "higher_is_better": higher}
    improve = decide(metric(u, v, policy="improve", **asked)).metrics[0]
    regress = decide(metric(v, u, policy="no_regression", **asked)).metrics[0]
    assert (improve.verdict == "pass") == (regress.verdict == "fail")
    one, other = improve.decision, regress.decision
    assert (one.p_value, one.log10_p_value) == (other.p_value, other.log10_p_value)
    assert (one.p_value_bounds, one.min_attainable_p) == (other.p_value_bounds, other.min_attainable_p)
    assert one.difference == -other.difference
    assert one.alternative != other.alternative


@pytest.mark.slow
@given(scores, st.sampled_from(["no_regression", "non_inferior", "improve"]), st.sampled_from([0.0, 0.5]))
def test_lower_is_better_is_higher_is_better_of_the_negated_scores(
    data: tuple[list[int], list[int]], policy: str, margin: float
) -> None:
    u, v = data
    asked: dict[str, Any] = {"policy": policy, "margin": margin}
    lower = decide(metric(u, v, higher_is_better=False, **asked))
    negated = decide(metric([-x for x in u], [-x for x in v], **asked))
    if {*u, *v} <= {0, 1} and margin:
        return  # -1 and 0 are not right and wrong
    assert lower.verdict == negated.verdict
    assert lower.metrics[0].decision.p_value == negated.metrics[0].decision.p_value


def test_without_a_margin_the_ordinary_test_decides() -> None:
    (found,) = decide(metric([3, 1, 4, 1, 5], [2, 7, 1, 8, 2])).metrics
    decision, test = found.decision, found.test
    assert (decision.p_value, decision.p_value_bounds) == (test.p_value, test.p_value_bounds)
    assert decision.alternative == test.alternative == "less"
    assert decision.difference == 0.0
    assert str(decision.difference) == "0.0"


def test_with_a_margin_the_shown_test_is_still_of_no_difference() -> None:
    u, v = [3, 1, 4, 1, 5], [2, 7, 1, 8, 2]
    plain = decide(metric(u, v, policy="improve")).metrics[0].test
    shifted = decide(metric(u, v, policy="improve", margin=1.0)).metrics[0].test
    assert shifted == plain


def test_sampled_p_values_must_clear_alpha_with_their_whole_interval() -> None:
    """Eight wins of ten: p is 56/1024 = 0.0547 exactly, and 200 samples cannot tell that from 0.05."""
    u, v = [1.5] * 8 + [0.5, 0.5], [1.0] * 10
    exact = decide(metric(v, u, method="enumeration")).metrics[0].decision.p_value
    assert exact == 56 / 1024
    for policy, swap, expected in (
        ("no_regression", True, "inconclusive"),
        ("improve", False, "fail"),
        ("non_inferior", False, "fail"),
    ):
        one, other = (v, u) if swap else (u, v)
        gate = decide(metric(one, other, policy=policy, method="monte_carlo", samples=200))
        assert gate.verdict == expected
        assert not gate.metrics[0].decision.significant
        assert "on both sides of alpha" in gate.reason
    clear = decide(metric([1.0] * 12, [2.0] * 12, method="monte_carlo", samples=5000))
    assert clear.verdict == "fail"


@pytest.mark.slow
def test_rigorous_bounds_decide_like_the_exact_test() -> None:
    rng = np.random.default_rng(11)
    u, v = rng.normal(size=60), rng.normal(size=60) + 0.8
    for margin, expected in ((0.0, "fail"), (0.25, "fail"), (3.0, "pass")):
        gate = decide(metric(u.tolist(), v.tolist(), method="bounds", margin=margin))
        assert gate.verdict == expected
        assert not gate.metrics[0].decision.exact
        assert gate.metrics[0].decision.p_value_bounds_kind == "certified"


@pytest.mark.parametrize("policy", ["no_regression", "non_inferior", "improve"])
def test_bootstrap_decides_without_a_margin(policy: str) -> None:
    u, v = [0.9, 0.8, 0.95, 0.7, 0.85, 0.9, 0.8, 0.9], [0.5, 0.6, 0.4, 0.3, 0.45, 0.6, 0.5, 0.4]
    gate = decide(metric(u, v, policy=policy, test="bootstrap"))
    assert gate.verdict == "pass"
    assert gate.metrics[0].decision.procedure == "bootstrap"


def test_on_inconclusive_decides_whether_it_may_go_on_and_nothing_else() -> None:
    few = metric(*DATA["few_worse"])
    lenient, strict = decide(few), decide(few, on_inconclusive="fail")
    assert lenient.verdict == strict.verdict == "inconclusive"
    assert (lenient.passed, strict.passed) == (True, False)
    assert lenient.metrics == strict.metrics
    assert lenient.id != strict.id


def test_identical_systems() -> None:
    same = [0.2, 0.5, 0.9, 0.1, 0.7]
    for scores in ([0.4], same):
        gate = decide(metric(scores, scores))
        assert (gate.verdict, gate.metrics[0].test.min_attainable_p) == ("pass", 1.0)
        assert "No item differs between the two." in gate.reason
    assert decide(metric(same, same, margin=0.1)).verdict == "pass"
    assert decide(metric(same, same, policy="improve")).verdict == "fail"
    assert (
        decide(metric(same, same, policy="non_inferior", margin=0.1)).metrics[0].decision.p_value == 2.0**-5
    )


def test_items_that_make_up_for_each_other_within_a_cluster_are_not_identical() -> None:
    """Whatever is swapped nothing changes, so that nothing could have failed; but items did become worse."""
    one = Pairing(np.zeros(4, dtype=np.int64), 1)
    for u, v, statistic in (
        ([1, 0, 1, 0], [0, 1, 0, 1], "mean_difference"),
        ([1, 2, 3, 4], [4, 3, 2, 1], "median_difference"),
    ):
        gate = decide(of_data(Scores(np.array(u), np.array(v), one), statistic))
        assert gate.verdict == "inconclusive"
        assert "could have had p below 1" in gate.reason
    same = np.array([1, 0, 1, 0])
    assert decide(of_data(Scores(same, same, one), "mean_difference")).verdict == "pass"


def test_effects_that_no_swap_changes_are_identical_systems_with_any_sum() -> None:
    effects = Effects(np.array([-3, -1]), np.array([-3, -1]))
    gate = decide(of_data(effects, "expression"))
    assert gate.metrics[0].test.statistic.observed == -4.0
    assert gate.metrics[0].test.min_attainable_p == 1.0
    assert gate.verdict == "inconclusive"


def test_alpha_of_the_terms_is_that_of_the_test_beside_the_decision() -> None:
    (found,) = decide(metric(*DATA["few_worse"], alpha=0.2)).metrics
    assert (found.test.alpha, found.test.significant, found.verdict) == (0.2, True, "fail")


def test_one_failure_fails_the_gate() -> None:
    metrics = [metric(*DATA[name], name=name) for name in ("better", "worse", "few_worse")]
    gate = decide(*metrics)
    assert [each.verdict for each in gate.metrics] == ["pass", "fail", "inconclusive"]
    assert gate.verdict == "fail"
    assert gate.deciding.name == "worse"
    assert decide(metrics[0], metrics[2]).verdict == "inconclusive"


def test_metrics_of_different_policies_share_one_family() -> None:
    gate = decide(
        metric(*DATA["better"], name="LAS", policy="improve"),
        metric(*DATA["mixed"], name="latency", higher_is_better=False),
    )
    assert gate.verdict == "pass"
    assert gate.metrics[0].decision.p_value_adjusted == 2.0**-7
    assert gate.deciding.name == "LAS"
