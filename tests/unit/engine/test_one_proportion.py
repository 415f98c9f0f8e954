"""One system by itself: binomial tails, the bound of bounded scores, and both as intervals, against fractions and SciPy."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest
from scipy import stats

from exactperm.engine.one_proportion import binomial_interval, convex_bound, convex_interval, upper_tail

CASES = 2_000


def masses(n: int, chance: Fraction) -> list[Fraction]:
    return [math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n + 1)]


def bound(n: int, total: Fraction, chance: Fraction) -> Fraction:
    """By the definition: the least over all whole h."""
    law, best = masses(n, chance), Fraction(1)
    for h in range(math.ceil(total)):
        excess = sum(((k - h) * law[k] for k in range(h + 1, n + 1)), Fraction(0))
        best = min(best, excess / (total - h))
    return best


def test_binomial_tails_are_those_of_fractions() -> None:
    rng = random.Random(1)
    for _ in range(CASES):
        n, chance = rng.randint(1, 60), Fraction(rng.randint(1, 999), 1_000)
        k = rng.randint(0, n)
        exact = sum(masses(n, chance)[k:], Fraction(0))
        found = upper_tail(n, k, chance)
        assert abs(Fraction(found.p) - exact) <= exact * Fraction(found.relative_error_bound)
        assert found.relative_error_bound < 1e-11


@pytest.mark.parametrize(
    ("n", "k", "chance"), [(200, 188, "0.935"), (10_000, 9_000, "0.9"), (300_000, 151_000, "0.5")]
)
def test_binomial_tails_are_those_of_scipy(n: int, k: int, chance: str) -> None:
    scipy = stats.binomtest(k, n, float(chance), alternative="greater").pvalue
    assert upper_tail(n, k, Fraction(chance)).p == pytest.approx(scipy, rel=1e-9)


def test_the_worked_tail() -> None:
    assert upper_tail(200, 188, Fraction("0.935")).p == pytest.approx(0.4593921, abs=1.5e-7)


def test_a_tail_below_the_smallest_double_keeps_its_logarithm() -> None:
    assert upper_tail(5_000, 5_000, Fraction(1, 10)).log10_p == pytest.approx(-5_000.0, rel=1e-12)


def test_the_convex_bound_is_that_of_fractions() -> None:
    rng = random.Random(2)
    for _ in range(CASES):
        n, chance = rng.randint(1, 25), Fraction(rng.randint(1, 99), 100)
        total = Fraction(rng.randint(0, 20 * n), 20)
        expected = bound(n, total, chance)
        if total <= n * chance:
            expected = Fraction(1)
        assert convex_bound(n, total, chance).p == pytest.approx(float(expected), rel=1e-12)


def test_the_convex_bound_holds_for_every_small_law() -> None:
    """P(bound <= alpha) <= alpha where the mean is the threshold, of laws on {0, 1/4, 1/2, 3/4, 1} and of unequal items."""
    rng, atoms = random.Random(3), [Fraction(k, 4) for k in range(5)]
    for _ in range(60):
        n = rng.randint(1, 4)
        laws = []
        for _ in range(n):
            shares = [rng.choice((0, 0, 1, 2, 5)) for _ in atoms]
            shares[rng.randrange(5)] += 1
            laws.append([Fraction(share, sum(shares)) for share in shares])
        chance = sum(atom * h for law in laws for atom, h in zip(atoms, law, strict=True)) / Fraction(n)
        if not 0 < chance < 1:
            continue
        law: dict[Fraction, Fraction] = {}
        for picked in itertools.product(range(5), repeat=n):
            mass = math.prod((laws[i][k] for i, k in enumerate(picked)), start=Fraction(1))
            total = sum((atoms[k] for k in picked), Fraction(0))
            law[total] = law.get(total, Fraction(0)) + mass
        for total in law:
            level = bound(n, total, chance) if total > n * chance else Fraction(1)
            rejected = sum((mass for value, mass in law.items() if value >= total), Fraction(0))
            assert rejected <= level
            assert convex_bound(n, total, chance).p == pytest.approx(float(level), rel=1e-12)


def test_intervals_hold_every_mean_that_is_not_rejected() -> None:
    rng = random.Random(4)
    for _ in range(100):
        n, tail = rng.randint(1, 40), Fraction(rng.choice((5, 25, 50)), 1_000)
        k, total = rng.randint(0, n), Fraction(rng.randint(0, 8 * n), 8)
        low, high = binomial_interval(k, n, tail)
        scipy = stats.binomtest(k, n).proportion_ci(float(1 - 2 * tail), method="exact")
        assert (low, high) == pytest.approx(scipy, abs=1e-12)
        if k:
            assert sum(masses(n, Fraction(low))[k:], Fraction(0)) <= tail
        if k < n:
            assert sum(masses(n, Fraction(high))[: k + 1], Fraction(0)) <= tail
        low, high = convex_interval(total, n, tail)
        assert 0.0 <= low <= total / n <= high <= 1.0
        for end, mirrored in ((low, total), (high, n - total)):
            chance = Fraction(end) if mirrored == total and end == low else 1 - Fraction(end)
            if 0 < chance < 1:
                assert bound(n, mirrored, chance) <= tail
                inside = min(chance * Fraction(1_000_001, 1_000_000), Fraction(mirrored) / n)
                assert inside < chance or bound(n, mirrored, inside) > tail * Fraction(999, 1_000)


def test_the_worked_interval() -> None:
    low, high = binomial_interval(9, 9, Fraction(1, 40))
    assert (low, high) == pytest.approx((0.66373, 1.0), abs=5e-6)


def test_intervals_of_proportions_are_those_of_statsmodels() -> None:
    from statsmodels.stats import proportion

    for k, n, level in ((0, 7, 0.95), (3, 7, 0.9), (188, 200, 0.95), (9_100, 10_000, 0.99)):
        expected = proportion.proportion_confint(k, n, alpha=1 - level, method="beta")
        tail = (1 - Fraction(repr(level))) / 2
        assert binomial_interval(k, n, tail) == pytest.approx(expected, rel=1e-10)
