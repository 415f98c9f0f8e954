"""What a gate with a margin could have found: against all tables of right and wrong items, with Tango's statistic by its definition."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy import optimize, special, stats

from tests.unit.inference.gate_shorthands import decide, metric


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
    found = gate.metrics[0].sensitivity
    assert found is not None
    assert (found.method, found.exact, found.power) == ("tango_score", False, 0.8)
    delta = margin if policy == "improve" else -margin
    beyond = found.minimum_detectable_effect
    assert beyond is not None
    seen = float(np.mean(np.array(u) != np.array(v)))
    for more, above in ((1e-6, True), (-1e-3, False)):
        difference = delta + beyond + more
        had = power(n, delta, max(seen, abs(difference)), difference, 0.05)
        assert (had >= 0.8) is above, (more, had)
    critical = found.critical_difference
    assert critical is not None
    wins = round((critical + delta) * n + 5) // 2
    for b, rejects in ((wins, True), (wins - 1, False)):
        p = stats.norm.sf(score(b, 5 - b, n, delta))
        p = max(p, stats.binomtest(b, 5, alternative="greater").pvalue) if delta > 0 else p
        assert bool(p <= 0.05) is rejects


def test_both_directions_and_scales_are_mirrored() -> None:
    u, v = [1] * 30 + [0] * 10, [0] * 4 + [1] * 30 + [0] * 6
    up = decide(metric(u, v, policy="non_inferior", margin=0.1)).metrics[0].sensitivity
    flipped = [1 - one for one in u], [1 - one for one in v]
    down = (
        decide(metric(*flipped, policy="non_inferior", margin=0.1, higher_is_better=False))
        .metrics[0]
        .sensitivity
    )
    assert up is not None
    assert down is not None
    assert up.minimum_detectable_effect == pytest.approx(down.minimum_detectable_effect, rel=1e-9)
    assert up.critical_difference == pytest.approx(down.critical_difference, rel=1e-9)
