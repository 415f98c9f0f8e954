"""Effects of mixed magnitude, given as such: ties are those of the decimals, against brute force in fractions."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tests.unit.inference.run_shorthands import effects, score

TEXTS = [
    "1e12",
    "1e-12",
    "0.1",
    "0.2",
    "0.3",
    "-0.3",
    "7e9",
    "1e22",
    "2e22",
    "-1e22",
    "5e-324",
    "0",
    "3",
    "1e-300",
]


@pytest.mark.parametrize("seed", range(150))
def test_effects_tie_as_written(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randint(2, 9)
    stay = [rng.choice(TEXTS) for _ in range(n)]
    swap = [rng.choice([text, rng.choice(TEXTS)]) for text in stay] if rng.random() < 0.5 else None
    expression, factor, absolute = rng.choice(
        [("x1", Fraction(1), False), ("-2*x1/3", Fraction(-2, 3), False), ("abs(x1)", Fraction(1), True)]
    )
    alternative = rng.choice(["two-sided", "greater", "less"])
    own = [factor * Fraction(text) for text in stay]
    other = [-x for x in own] if swap is None else [factor * Fraction(text) for text in swap]
    sums = [Fraction(0)]
    for a, b in zip(own, other, strict=True):
        sums = [s + x for s in sums for x in (a, b)]
    seen = sum(own, Fraction(0))
    if absolute:
        sums, seen = [abs(s) for s in sums], abs(seen)
    inside = {
        "greater": [s >= seen for s in sums],
        "less": [s <= seen for s in sums],
        "two-sided": [abs(s) >= abs(seen) for s in sums],
    }[alternative]
    record = effects(
        [float(text) for text in stay],
        None if swap is None else [float(text) for text in swap],
        expression,
        alternative=alternative,
    )
    assert record.p_value == sum(inside) / len(inside)
    assert record.method.exact
    assert record.statistic.observed == pytest.approx(float(seen), rel=1e-12, abs=1e-320)


def test_scores_of_systems_are_exact_sums_beyond_doubles() -> None:
    u = [2**53 + 1, -(2**53) + 2, 2**58 + 3, 0]
    v = [-(2**58) - 3, 1, 2**53 - 1, -1]
    answer = score(u, v)
    assert answer.statistic.u == float(Fraction(sum(u), 4))
    assert answer.statistic.v == float(Fraction(sum(v), 4))
