"""How often a gate errs at the boundary of its margin: at most alpha where it is exact, near it where asymptotic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import gammaln

from exactperm.inference.gate.margin import Question, TangoTest
from exactperm.statistics.paired_binary import PairedBinary
from tests.unit.inference.gate_shorthands import decide, metric

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
