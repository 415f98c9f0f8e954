"""Holm's adjustment against worked figures and its definition, and how a gate uses it."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from exactperm.inference.gate.decision import holm, holm_log10
from tests.unit.inference.gate_shorthands import decide, metric

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


def test_what_is_attainable_depends_on_what_the_other_metrics_found() -> None:
    """Beside a clear regression the second metric is multiplied by one, so that 1/32 was within reach."""
    clear = metric([0.3] * 9, [0.5] * 9, name="a")
    mixed = metric([0.3, 0.3, 0.3, 0.3, 0.6], [0.5] * 5, name="b")
    verdicts = [each.verdict for each in decide(clear, mixed).metrics]
    assert verdicts == ["fail", "pass"]
    even = metric([0.3, 0.7] * 5, [0.5] * 10, name="a")
    assert [each.verdict for each in decide(even, mixed).metrics] == ["pass", "inconclusive"]
