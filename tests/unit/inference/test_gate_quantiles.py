"""Gates on medians and quantiles: margins shift U's scores, against all swaps in fractions."""

from __future__ import annotations

import random
import statistics
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from exactperm.engine.plan import Budget
from exactperm.inference.gate.gate import prepare_metric
from tests.refusals import refused
from tests.unit.inference.gate_shorthands import decide, metric


def place(values: list[Fraction]) -> Fraction:
    """The median, halfway between two middle values."""
    return statistics.median(values)


def shifted(
    u: list[float], v: list[float], difference: Fraction, side: str, codes: list[int] | None
) -> Fraction:
    """p of U less the difference against V, by all swaps."""
    first, second = [Fraction(repr(x)) - difference for x in u], [Fraction(repr(x)) for x in v]
    units = list(range(len(u))) if codes is None else codes
    order = sorted(set(units))
    found = []
    for choice in product((False, True), repeat=len(order)):
        swaps = [choice[order.index(unit)] for unit in units]
        one = [b if swap else a for a, b, swap in zip(first, second, swaps, strict=True)]
        other = [a if swap else b for a, b, swap in zip(first, second, swaps, strict=True)]
        found.append(place(one) - place(other))
    reached = [t >= found[0] if side == "greater" else t <= found[0] for t in found]
    return Fraction(sum(reached), len(found))


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
