"""Test the gate as a whole: refusals, extremes, sentences and identity."""

import json
import math
import pickle
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import gammaln

from exactperm.answers.gate import GateRecord, GateTerms, MetricRecord, Policy, Verdict, deciding
from exactperm.engine.plan import Budget
from exactperm.errors import InvalidTest, PlanTooLarge
from exactperm.inference.gate import Metric, finish_gate, prepare_metric
from exactperm.inference.one_sided import Question, TangoTest
from exactperm.inference.options import members
from exactperm.inference.verdict import holm, holm_log10, short
from exactperm.statistics.paired import Counts, Effects
from exactperm.statistics.scores import PairedBinary
from tests.refusals import refused

from .gate_shorthands import decide, metric, of_data

WORSE = ([0.4] * 8, [0.5] * 8)


def refusal(asked: Metric) -> tuple[str, str]:
    with pytest.raises(InvalidTest) as caught:
        prepare_metric(asked, Budget())
    (flaw,) = caught.value.flaws
    return flaw.pointer, flaw.code


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_the_policy_decides_the_alternative(alternative: str) -> None:
    assert refusal(metric(*WORSE, alternative=alternative)) == ("/alternative", "alternative_by_policy")


@pytest.mark.parametrize("margin", [-0.1, math.nan, math.inf, -math.inf])
def test_margins_are_at_least_0(margin: float) -> None:
    assert refusal(metric(*WORSE, margin=margin)) == ("/margin", "out_of_range")


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1.0, math.nan])
def test_alpha_is_a_probability(alpha: float) -> None:
    assert refusal(metric(*WORSE, alpha=alpha)) == ("/alpha", "out_of_range")


def test_unknown_policies_are_refused() -> None:
    assert refusal(metric(*WORSE, policy="hope")) == ("/policy", "unknown_policy")


def test_flaws_of_the_request_keep_their_pointers() -> None:
    assert refusal(metric([], [])) == ("/u", "empty")
    assert refusal(metric(*WORSE, "mode"))[0] == "/statistic/name"
    with refused("length_mismatch"):
        prepare_metric(metric([1, 2, 3], [1, 2]), Budget())


@pytest.mark.parametrize("text", ["abs(x1)", "abs(x1 / x2)", " abs ( x1 - x2 )", "(abs(x1))"])
@pytest.mark.parametrize("policy", ["no_regression", "improve"])
def test_an_absolute_value_has_no_direction_and_is_refused(text: str, policy: str) -> None:
    """no_regression would look for a small |S| and call the most different systems the best."""
    rows = np.array([[1, 2], [-3, 4], [2, 5]])
    stay, swap = (rows[:, 0], None) if text == "abs(x1)" else (rows, -rows[::-1])
    asked = of_data(Effects(stay, swap), "expression", parameters={"expression": text}, policy=policy)
    assert refusal(asked) == ("/statistic/expression", "no_direction")


def test_an_empty_comparison_is_never_a_pass() -> None:
    with refused(None, "/metrics"):
        finish_gate([], "pass", "1")


def test_data_beyond_the_budget_is_refused_by_either_test() -> None:
    rng = np.random.default_rng(3)
    u, v = rng.normal(size=300), rng.normal(size=300)
    for margin in (0.0, 0.1):
        with pytest.raises(PlanTooLarge):
            prepare_metric(metric(u.tolist(), v.tolist(), margin=margin), Budget(operations=10, bytes=10))


def test_joint_statistics_decide_without_a_margin() -> None:
    u = {"tp": np.array([1, 2, 0, 3, 1, 2]), "incorrect": np.array([5, 4, 6, 3, 5, 4])}
    v = {"tp": np.array([5, 6, 5, 6, 4, 6]), "incorrect": np.array([1, 0, 1, 1, 2, 0])}
    assert decide(of_data(Counts(u, v), "f1")).verdict == "fail"
    assert decide(of_data(Counts(u, v), "f1", policy="improve", higher_is_better=False)).verdict == "pass"
    assert decide(of_data(Counts(v, u), "f1", policy="improve")).metrics[0].decision.p_value == 2.0**-6


def test_hopeless_regressions_keep_their_logarithm() -> None:
    n = 5000
    rng = np.random.default_rng(1)
    v = rng.integers(200, 300, n) / 100
    u = v - rng.integers(100, 150, n) / 100
    for margin in (0.0, 0.5):
        (found,) = decide(metric(np.round(u, 2).tolist(), v.tolist(), margin=margin)).metrics
        decision = found.decision
        assert found.verdict == "fail"
        assert decision.log10_p_value == pytest.approx(-n * math.log10(2), rel=1e-12)
        assert decision.p_value == decision.p_value_adjusted == math.ulp(0.0)
        assert "p = 7.08e-1506 <= alpha = 0.05" in found.reason


def test_hopeless_regressions_stay_apart_after_holm() -> None:
    """2**-5000 of two and 2**-4000 of one: Holm's factors act on the logarithms."""
    low, high = [0.25] * 5000, [0.75] * 5000
    gate = decide(metric(low, high, name="a"), metric(low[:4000], high[:4000], name="b"))
    logs = [each.decision.log10_p_value_adjusted for each in gate.metrics]
    assert logs == pytest.approx([-4999 * math.log10(2), -4000 * math.log10(2)], rel=1e-12)
    assert [each.decision.p_value_adjusted for each in gate.metrics] == [math.ulp(0.0)] * 2
    assert gate.deciding.name == "a"


@pytest.mark.parametrize(
    ("asked", "hypothesis", "reason"),
    [
        (
            metric(*WORSE),
            "The candidate is not worse than the baseline (mean score; higher is better), unless shown otherwise.",
            "p = 0.00390625 <= alpha = 0.05: the candidate is significantly worse than the baseline.",
        ),
        (
            metric(*WORSE, policy="non_inferior", margin=0.01, higher_is_better=False, alpha=0.01),
            (
                "The candidate is shown not to be worse than the baseline by more than 0.01 "
                "(mean score; lower is better)."
            ),
            (
                "p = 0.00390625 <= alpha = 0.01: the candidate is shown not to be worse than the baseline by more "
                "than 0.01. By the exact permutation test of the items' differences shifted by the margin; it takes "
                "them to scatter symmetrically round their mean."
            ),
        ),
        (
            metric([0, 1, 1, 1], [1, 1, 1, 1], policy="improve", margin=0.5),
            "The candidate is shown to be better than the baseline by more than 0.5 (mean score; higher is better).",
            None,
        ),
        (
            metric([0.4] * 3, [0.5] * 3),
            "The candidate is not worse than the baseline (mean score; higher is better), unless shown otherwise.",
            (
                "p = 0.125 > alpha = 0.05: the candidate is not significantly worse than the baseline. No outcome on "
                "these items could have had p below 0.125: too few of them differ."
            ),
        ),
    ],
)
def test_sentences_have_question_and_result(asked: Metric, hypothesis: str, reason: str | None) -> None:
    (found,) = decide(asked).metrics
    assert found.hypothesis == hypothesis
    if reason is None:
        assert found.reason.endswith("By Tango's score test of paired proportions, which is asymptotic.")
    else:
        assert found.reason == reason


def test_rounding_never_puts_p_on_the_other_side_of_alpha() -> None:
    """Ten of twelve worse: p = 79/4096 = 0.019287109375, which is 0.0192871 at six digits."""
    u, v = [1.0] * 12, [1.5] * 10 + [0.5, 0.5]
    assert "p = 0.0192871 > alpha = 0.01:" in decide(metric(u, v, alpha=0.01)).reason
    assert "p = 0.01928711 > alpha = 0.0192871:" in decide(metric(u, v, alpha=0.0192871)).reason


def test_rounding_never_makes_p_certain() -> None:
    """Forty better items: P(S <= s) is 1; with the least of them worse instead, only one outcome is greater."""
    assert "p = 1 > alpha" in decide(metric([0.5] * 40, [0.25] * 40)).reason
    found = decide(metric([*[0.5] * 39, 0.24], [0.25] * 40)).metrics[0]
    assert found.decision.p_value == 1 - 2.0**-40
    assert "p = 0.999999999999 > alpha" in found.reason  # as many digits as it takes, and no more


HOSTILE = "<script>\r\nSet-Cookie: x\u202e=cmd()" + "y" * 200


def test_names_of_systems_stay_out_of_sentences_and_names_of_metrics_are_cut() -> None:
    gate = decide(
        metric(*WORSE, name=HOSTILE, name_u="EVIL_U", name_v="EVIL_V"),
        metric(*WORSE, name="\x00\n", name_u="EVIL_U", name_v="EVIL_V"),
    )
    said = [gate.reason, *(each.reason for each in gate.metrics), *(each.hypothesis for each in gate.metrics)]
    assert not any("EVIL" in text for text in said)
    assert all(text.isprintable() for text in said)
    assert gate.reason.startswith("Failed on <script> Set-Cookie: x =cmd()yyy")
    assert "…" in gate.reason
    assert "(unnamed)" in gate.reason
    assert gate.metrics[0].name == HOSTILE
    assert len(short(HOSTILE)) == 80


def test_the_reason_names_the_metrics_that_decided() -> None:
    same = ([0.5] * 8, [0.5] * 8)
    gate = decide(metric(*WORSE, name="LAS"), metric(*WORSE, name="UAS"), metric(*same, name="speed"))
    assert gate.reason == (
        "Failed on LAS and UAS (2 of 3 metrics). LAS: p = 0.0117188 <= alpha = 0.05 (Holm-adjusted over 3 "
        "metrics): the candidate is significantly worse than the baseline."
    )
    one = decide(metric(*WORSE, name="LAS"))
    assert one.reason == f"Failed on LAS: {one.metrics[0].reason}"
    few = decide(metric([0.4] * 3, [0.5] * 3, name="LAS"), on_inconclusive="fail")
    assert few.reason.startswith("Inconclusive on LAS: p = 0.125 > ")
    assert few.reason.endswith(" Counted as a fail, as asked.")
    many = decide(*(metric(*same, name=f"m{index}") for index in range(14)))
    assert "m9 and 4 more (14 of 14 metrics)" in many.reason


def test_digest_is_of_everything_that_was_asked() -> None:
    asked = metric(*WORSE, name="LAS")
    gate = decide(asked)
    assert len(gate.id) == len("g_") + 64
    assert gate == decide(asked)
    others = [
        decide(asked, on_inconclusive="fail"),
        decide(replace(asked, name="UAS")),
        decide(metric(*WORSE, name="LAS", margin=0.01)),
        decide(metric(*WORSE, name="LAS", alpha=0.01)),
        decide(metric(*WORSE, name="LAS", policy="improve")),
        decide(metric(*WORSE, name="LAS", higher_is_better=False)),
        decide(metric(WORSE[1], WORSE[0], name="LAS")),
        decide(asked, replace(asked, name="UAS")),
        finish_gate([prepare_metric(asked, Budget())], "pass", "2"),
    ]
    assert len({gate.id, *(other.id for other in others)}) == 1 + len(others)


def test_a_prepared_gate_crosses_to_a_worker_and_its_record_comes_back() -> None:
    for margin in (0.0, 0.05):
        prepared = prepare_metric(metric(*WORSE, margin=margin), Budget())
        assert prepared.seconds > 0.0
        moved = pickle.loads(pickle.dumps(prepared))
        gate = finish_gate([moved], "pass", "1")
        assert pickle.loads(pickle.dumps(gate)) == finish_gate([prepared], "pass", "1")
        assert json.loads(json.dumps(asdict(gate), allow_nan=False))["verdict"] == "fail"


def test_the_margins_own_test_is_part_of_the_predicted_time() -> None:
    rng = np.random.default_rng(2)
    u, v = rng.integers(0, 100, 2000) / 100, rng.integers(0, 100, 2000) / 100
    plain = prepare_metric(metric(u.tolist(), v.tolist()), Budget())
    shifted: Any = prepare_metric(metric(u.tolist(), v.tolist(), margin=0.013), Budget())
    own = shifted.margin.seconds + shifted.sensitivity.seconds
    assert shifted.seconds == pytest.approx(plain.test.seconds + own)
    assert shifted.seconds > plain.test.seconds


# Which metric's p-value stands for the gate's.


def parts(*kinds: tuple[Policy, Verdict, float]) -> tuple[MetricRecord, ...]:
    (blank,) = decide(metric([1], [0])).metrics
    return tuple(
        replace(
            blank,
            name=str(index),
            **members(GateTerms(policy=policy)),
            verdict=verdict,
            decision=replace(blank.decision, log10_p_value_adjusted=log10),
        )
        for index, (policy, verdict, log10) in enumerate(kinds)
    )


@pytest.mark.parametrize(
    ("verdict", "kinds", "expected"),
    [
        ("fail", [("no_regression", "fail", -2.0), ("no_regression", "fail", -3.0)], "1"),
        ("fail", [("improve", "fail", -0.1), ("improve", "fail", -0.01), ("improve", "pass", 0.0)], "1"),
        ("fail", [("improve", "fail", -0.1), ("no_regression", "fail", -2.0)], "1"),
        ("inconclusive", [("no_regression", "inconclusive", -0.5), ("no_regression", "pass", -9.0)], "0"),
        ("pass", [("no_regression", "pass", -0.5), ("no_regression", "pass", -1.0)], "1"),
        ("pass", [("improve", "pass", -5.0), ("improve", "pass", -2.0), ("no_regression", "pass", 0.0)], "1"),
        ("fail", [("improve", "fail", -0.5), ("improve", "fail", -0.5)], "0"),
    ],
)
def test_the_deciding_metric_is_the_one_the_verdict_hung_on(
    verdict: Verdict, kinds: list[tuple[Policy, Verdict, float]], expected: str
) -> None:
    found = parts(*kinds)
    assert deciding(found, verdict).name == expected
    assert (
        GateRecord.of(
            digest="0", verdict=verdict, reason="", on_inconclusive="pass", metrics=found
        ).deciding.name
        == expected
    )


# Holm's adjustment against worked figures and its definition, and how a gate uses it.


p_values = st.lists(st.integers(1, 10**6).map(lambda k: k / 10**6), min_size=1, max_size=12)


def test_worked_by_hand() -> None:
    """0.01, 0.02, 0.03, 0.005 of four: 4 x 0.005, 3 x 0.01, then 2 x 0.02 and 1 x 0.03, which may not fall."""
    assert holm([0.01, 0.02, 0.03, 0.005]) == pytest.approx([0.03, 0.04, 0.04, 0.02], rel=1e-15)


def by_rejection(p: list[Fraction], index: int) -> Fraction:
    """The least level at which the step-down procedure rejects hypothesis `index`, by trying every breakpoint."""
    levels = sorted({min(k * value, Fraction(1)) for k in range(1, len(p) + 1) for value in p})
    for level in levels:
        order = sorted(range(len(p)), key=p.__getitem__)
        rejected = []
        for rank, candidate in enumerate(order):
            if p[candidate] * (len(p) - rank) > level:
                break
            rejected.append(candidate)
        if index in rejected:
            return level
    return Fraction(1)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=7))
def test_adjusted_is_the_least_level_at_which_the_steps_reject(thousandths: list[int]) -> None:
    exact = [Fraction(k, 1000) for k in thousandths]
    truth = [float(by_rejection(exact, index)) for index in range(len(exact))]
    assert holm([float(p) for p in exact]) == pytest.approx(truth, rel=1e-12)
    assert holm_log10([math.log10(p) for p in exact]) == pytest.approx(
        [math.log10(p) for p in truth], abs=1e-12
    )


@given(p_values, st.data())
def test_order_is_kept_and_does_not_matter(values: list[float], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(values))))
    shuffled = holm([values[index] for index in order])
    assert shuffled == [holm(values)[index] for index in order]
    pairs = sorted(zip(values, holm(values), strict=True))
    assert [after for _, after in pairs] == sorted(after for _, after in pairs)
    assert all(before <= after <= 1.0 for before, after in pairs)


def test_logarithms_do_not_underflow() -> None:
    assert holm_log10([-1500.0, -1600.0, -0.5]) == pytest.approx(
        [-1500 + math.log10(2), -1600 + math.log10(3), -0.5]
    )


def test_one_metric_is_not_adjusted_at_all() -> None:
    gate = decide(metric([0.3] * 7, [0.5] * 7))
    decision = gate.metrics[0].decision
    assert gate.correction is None
    assert decision.p_value_adjusted == decision.p_value == 2.0**-7
    assert decision.log10_p_value_adjusted == decision.log10_p_value


def test_a_regression_that_does_not_survive_holm_does_not_fail_the_gate() -> None:
    """p = 1/32 alone is significant; beside two metrics that do not differ it is 3/32."""
    worse = metric([0.3] * 5, [0.5] * 5, name="a")
    assert decide(worse).verdict == "fail"
    same = [metric([0.5] * 5, [0.5] * 5, name=name) for name in "bc"]
    gate = decide(worse, *same)
    assert gate.correction == "holm"
    assert [each.decision.p_value_adjusted for each in gate.metrics] == pytest.approx([3 / 32, 1.0, 1.0])
    # Five items cannot reach 0.05 beside the other two: nobody can tell. Where no item differs, nothing became worse.
    assert [each.verdict for each in gate.metrics] == ["inconclusive", "pass", "pass"]


def test_attainability_depends_on_the_other_metrics() -> None:
    """Beside a clear regression the second metric is multiplied by one, so that 1/32 was within reach."""
    clear = metric([0.3] * 9, [0.5] * 9, name="a")
    mixed = metric([0.3, 0.3, 0.3, 0.3, 0.6], [0.5] * 5, name="b")
    verdicts = [each.verdict for each in decide(clear, mixed).metrics]
    assert verdicts == ["fail", "pass"]
    even = metric([0.3, 0.7] * 5, [0.5] * 10, name="a")
    assert [each.verdict for each in decide(even, mixed).metrics] == ["pass", "inconclusive"]


# How often a gate errs at the boundary of its margin: at most alpha where it is exact, near it where asymptotic.


RUNS, ITEMS, MARGIN = 250, 12, 0.25


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize("policy", ["no_regression", "non_inferior", "improve"])
def test_type_one_error_of_the_shifted_test_is_at_most_alpha(policy: str, alpha: float) -> None:
    """Differences symmetric about the margin's boundary, of widely different spreads."""
    rng = np.random.default_rng(20260101)
    boundary = MARGIN if policy == "improve" else -MARGIN
    wrong = 0
    for _ in range(RUNS):
        v = np.round(rng.uniform(0.0, 1.0, ITEMS), 2)
        noise = np.round(rng.standard_t(2, ITEMS) * rng.uniform(0.01, 1.0, ITEMS), 2)
        u = np.round(v + boundary + noise, 2)
        gate = decide(metric(u.tolist(), v.tolist(), policy=policy, margin=MARGIN, alpha=alpha))
        wrong += gate.metrics[0].decision.significant
    error = math.sqrt(alpha * (1 - alpha) / RUNS)
    assert alpha - 5 * error <= wrong / RUNS <= alpha + 3 * error


@pytest.mark.slow
def test_type_one_error_with_right_or_wrong_items_in_clusters() -> None:
    """Asymptotic only: 0/1 differences do not scatter symmetrically, but the sums of clusters nearly do."""
    rng = np.random.default_rng(7)
    codes = np.repeat(np.arange(20), 10)
    wrong = 0
    for _ in range(300):
        v = rng.random(200) < 0.8
        u = np.where(rng.random(200) < 0.25, rng.random(200) < 0.4, v)
        margin = 0.25 * 0.4  # a quarter is drawn anew, right at 0.4 instead of 0.8
        gate = decide(
            metric(
                u.astype(int).tolist(),
                v.astype(int).tolist(),
                codes=codes.tolist(),
                policy="non_inferior",
                margin=margin,
            )
        )
        wrong += gate.metrics[0].decision.significant
    assert wrong / 300 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)


def exact_size(items: int, only_v: float, margin: Fraction, alpha: float, *, upper: bool) -> float:
    """P(Tango's p <= alpha) over all tables, p_u - p_v being exactly -margin: multinomial chances added up."""
    only_u = only_v - float(margin)
    question = Question("greater" if upper else "less", -margin)
    size = 0.0
    for b in range(items + 1):
        for c in range(items - b + 1):
            if TangoTest(question, PairedBinary(items, b, c), -margin).run().p_value <= alpha:
                rest = items - b - c
                ways = gammaln(items + 1) - gammaln(b + 1) - gammaln(c + 1) - gammaln(rest + 1)
                size += math.exp(
                    ways + b * math.log(only_u) + c * math.log(only_v) + rest * math.log1p(-only_u - only_v)
                )
    return size


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("only_v", [0.12, 0.2, 0.3])
def test_tangos_size_is_near_alpha(only_v: float, upper: bool) -> None:
    assert exact_size(80, only_v, Fraction(1, 10), 0.05, upper=upper) == pytest.approx(0.05, abs=0.02)


@pytest.mark.parametrize(
    "margin", [Fraction(1, 10), Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)], ids=str
)
def test_few_right_or_wrong_items_are_not_shown_to_be_equivalent_too_often(margin: Fraction) -> None:
    """Both tests of `equivalent` together, over all tables of few items, at differences of exactly the margin."""
    for items in (1, 2, 3, 4, 5, 6, 8, 10, 12, 20, 25):
        passing = [
            (b, c)
            for b in range(items + 1)
            for c in range(items + 1 - b)
            if max(both(b, c, items, margin)) <= 0.05
        ]
        for share in range(11):
            only_u = float(1 - margin) / 2 * share / 10
            chances = [only_u, only_u + float(margin), 1 - 2 * only_u - float(margin)]
            size = sum(_chance((b, c, items - b - c), chances) for b, c in passing)
            assert size <= 0.075, (items, only_u)


def both(only_u: int, only_v: int, items: int, margin: Fraction) -> tuple[float, float]:
    """The p-values of a difference above -margin, and of one below it."""
    table = PairedBinary(items, only_u, only_v)
    above = TangoTest(Question("greater", -margin), table, -margin).run().p_value
    return above, TangoTest(Question("less", margin), table, margin).run().p_value


def _chance(counts: tuple[int, int, int], chances: list[float]) -> float:
    """Multinomial."""
    ways = math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))
    return ways * math.prod(max(chance, 0.0) ** count for count, chance in zip(counts, chances, strict=True))


def test_items_that_all_tie_show_equivalence_only_where_that_is_unlikely() -> None:
    """Systems that differ by the margin tie on all with (1 - margin)^n at most: Tango's p of three is 0.042, for 1/8."""
    for items, margin in ((3, Fraction(1, 2)), (25, Fraction(1, 10)), (29, Fraction(1, 10))):
        least = (1 - margin) ** items
        assert both(0, 0, items, margin) == pytest.approx((float(least), float(least)))
    one = both(0, 1, 10, Fraction(1, 5))
    assert one[0] == pytest.approx(0.8**10 + 10 * 0.2 * 0.8**9)
    assert one[1] < one[0]  # a net loss is no reason to doubt that U is not better
