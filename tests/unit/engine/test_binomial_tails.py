"""Tails of fair coins are within their error bounds of the exact fractions, wherever they are computed."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from scipy import stats

from exactperm.engine.binomial_tails import MOST_BY_RULE, exact_tail, exact_tails, upper_tails


def exactly(n: int, k: int) -> Fraction:
    ways, term = 0, 1
    for i in range(n - k + 1):
        ways, term = ways + term, term * (n - i) // (i + 1)
    return Fraction(ways, 1 << n)


def log10_of(value: Fraction) -> flint.arb:
    return (flint.arb(value.numerator) / flint.arb(value.denominator)).log() / flint.arb(10).log()


@pytest.mark.parametrize("n", [0, 1, 2, 7, 53, 54, 200, 999, 1000, 1001, 1500, 3000])
def test_every_tail_is_within_its_bounds(n: int) -> None:
    step = max(n // 25, 1)
    heads = np.unique([*range(0, n + 1, step), *range(max(n // 2 - 3, 0), min(n // 2 + 4, n + 1)), n])
    tails = upper_tails(np.full(len(heads), n, dtype=np.int64), heads)
    with flint.ctx.workprec(300):
        for at, k in enumerate(heads.tolist()):
            true = exactly(n, k)
            if true >= Fraction(1, 1 << 1022):
                off = abs(Fraction(float(tails.p[at])) / true - 1)
                assert off <= Fraction(float(tails.error[at]))
                assert tails.error[at] <= 1.2e-13
            else:
                assert abs(float(tails.p[at]) - float(true)) <= 5e-324 * 1.01
            off_log = abs(flint.arb(float(tails.log10_p[at])) - log10_of(true))
            assert float(off_log.mid()) <= tails.log_error[at] / math.log(10.0)
            assert tails.log_error[at] <= 1e-12 + 1e-15 * abs(float(tails.log10_p[at])) * math.log(10.0) * 2


def test_a_million_coins_agree_with_scipy() -> None:
    n, heads = 1_000_000, np.array([500_000, 500_500, 502_000, 505_000, 515_000, 499_000])
    tails = upper_tails(np.full(len(heads), n, dtype=np.int64), heads)
    np.testing.assert_allclose(tails.p, stats.binom.sf(heads - 1, n, 0.5), rtol=1e-7)
    assert tails.error.max() < 1e-12


def test_rule_and_series_meet() -> None:
    n = np.array([MOST_BY_RULE, MOST_BY_RULE + 1, MOST_BY_RULE + 1], dtype=np.int64)
    k = np.array([560, 560, 561], dtype=np.int64)
    at, beyond, farther = upper_tails(n, k).p
    # Pascal's rule in the other direction: P(X' >= 561) + P(X >= 560) is twice P(X' >= 561) of one more coin.
    one_less = float(exactly(MOST_BY_RULE, 561))
    assert farther == pytest.approx(0.5 * (at + one_less), rel=1e-12)
    assert beyond > farther


def test_a_million_of_one_kind_has_a_logarithm_where_p_has_none() -> None:
    tails = upper_tails(np.array([1_000_000]), np.array([1_000_000]))
    assert tails.p[0] == 5e-324
    assert tails.log10_p[0] == pytest.approx(-1_000_000 * math.log10(2.0), rel=1e-14)


@pytest.mark.parametrize("n", [0, 1, 6, 31])
def test_exact_tails(n: int) -> None:
    listed = exact_tails(n)
    assert [Fraction(tail, 1 << n) for tail in listed] == [exactly(n, n - i) for i in range(n + 1)]
    assert [exact_tail(n, k) for k in range(n, -1, -1)] == listed
