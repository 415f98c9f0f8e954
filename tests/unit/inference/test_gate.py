"""The gate as a whole: what it refuses, extremes, its sentences and its identity."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import asdict, replace

import numpy as np
import pytest

from exactperm.engine.plan import Budget
from exactperm.errors import InvalidTest, PlanTooLarge
from exactperm.inference.gate.gate import Metric, finish_gate, prepare_metric
from exactperm.inference.gate.sentences import short
from exactperm.statistics.paired import Counts, Effects
from tests.refusals import refused
from tests.unit.inference.gate_shorthands import decide, metric, of_data

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
def test_margins_are_numbers_of_at_least_nought(margin: float) -> None:
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


def test_nothing_compared_is_never_a_pass() -> None:
    with refused(None, "/metrics"):
        finish_gate([], "pass", "1")


def test_what_does_not_fit_the_budget_is_refused_by_either_test() -> None:
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
def test_sentences_say_what_was_asked_and_found(asked: Metric, hypothesis: str, reason: str | None) -> None:
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
    assert len(gate.digest) == 64
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
    assert len({gate.digest, *(other.digest for other in others)}) == 1 + len(others)


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
    shifted = prepare_metric(metric(u.tolist(), v.tolist(), margin=0.013), Budget())
    assert shifted.margin is not None
    assert shifted.sensitivity is not None
    own = shifted.margin.seconds + shifted.sensitivity.seconds
    assert shifted.seconds == pytest.approx(plain.test.seconds + own)
    assert shifted.seconds > plain.test.seconds
