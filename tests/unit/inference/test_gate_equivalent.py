"""The policy equivalent against its definition: both one-sided tests of the margin, in fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from exactperm.answers.gate import GateRecord
from exactperm.engine.plan import Budget
from exactperm.inference.gate.gate import prepare_metric
from tests.refusals import refused_alone
from tests.unit.inference.gate_shorthands import decide, metric


def one_sided(d: Sequence[Fraction], shift: Fraction, codes: Sequence[int], *, greater: bool) -> Fraction:
    """P(sum of signed (d - shift) at least, or at most, as observed); shifted on every item, then summed by cluster."""
    sums: dict[int, Fraction] = {}
    for value, code in zip(d, codes, strict=True):
        sums[code] = sums.get(code, Fraction(0)) + value - shift
    units = list(sums.values())
    observed = sum(units, Fraction(0))
    totals = [
        sum((s * x for s, x in zip(signs, units, strict=True)), Fraction(0))
        for signs in product((1, -1), repeat=len(units))
    ]
    extreme = sum(total >= observed if greater else total <= observed for total in totals)
    return Fraction(extreme, len(totals))


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
def cases(draw: st.DrawFn) -> tuple[list[int], list[int], list[int] | None]:
    items = draw(st.integers(4, 9))
    near = draw(st.sampled_from([0, 0, 25, 60]))
    scores = st.lists(st.integers(-9, 9), min_size=items, max_size=items)
    codes = draw(st.none() | st.lists(st.integers(0, 6), min_size=items, max_size=items))
    v = draw(st.lists(st.integers(30, 90), min_size=items, max_size=items))
    return [one + near + other for one, other in zip(draw(scores), v, strict=True)], v, codes


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(cases(), st.sampled_from(["0.05", "0.1", "0.3"]), st.sampled_from([0.05, 0.1, 0.25]), st.booleans())
def test_verdict_and_p_values_are_those_of_the_definition(
    case: tuple[list[int], list[int], list[int] | None], margin: str, alpha: float, higher: bool
) -> None:
    u, v, codes = case
    d = [Fraction(a - b, 100) for a, b in zip(u, v, strict=True)]
    expected = verdict_by_definition(d, Fraction(margin), codes or range(len(d)), Fraction(repr(alpha)))
    columns = [[float(f"{x / 100:.2f}") for x in side] for side in (u, v)]
    terms: dict[str, Any] = {"policy": "equivalent", "margin": float(margin), "alpha": alpha}
    gate = decide(metric(columns[0], columns[1], codes=codes, higher_is_better=higher, **terms))
    decision = gate.metrics[0].decision
    assert decision.equivalence is not None
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
    passed = gate_of(([3.0] * n, [3.0] * n), margin=0.5).metrics[0].decision.equivalence
    failed = gate_of(([3.0] * n, [2.0] * n), margin=0.5).metrics[0].decision.equivalence
    assert passed is not None
    assert failed is not None
    assert passed.log10_p_value_above == pytest.approx(-n * math.log10(2), rel=1e-12)
    assert passed.log10_p_value_below == pytest.approx(-n * math.log10(2), rel=1e-12)
    assert failed.log10_p_value_different == pytest.approx((1 - n) * math.log10(2), rel=1e-12)


def test_of_several_metrics_passes_are_adjusted_by_holm_and_failures_by_bonferroni() -> None:
    """Eight items: 2/256 for a failure; three metrics make that 6/256, which is at most alpha; seven make it 14/256."""
    three = gate_of((FAR, NEAR), (NEAR, NEAR), (NEAR, NEAR))
    assert [each.verdict for each in three.metrics] == ["fail", "pass", "pass"]
    assert "Bonferroni-adjusted over 3 metrics" in three.metrics[0].reason
    seven = gate_of((FAR, NEAR), *[(NEAR, NEAR)] * 6)
    assert seven.metrics[0].verdict == "inconclusive"
    assert seven.metrics[0].decision.equivalence is not None
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
